//! What one kind of device adds to stage 2.
//!
//! [`lower`] is the order of events, the same for every target; a [`Target`] says what happens at each. A new kind of
//! device is a new implementation beside `cpu`, and an entry in the C interface.

use crate::dump::Dump;
use crate::module::Module;
use crate::times::Times;
use crate::{JitError, Request, image};
use schism_llvm::{Context, Machine, Value};

/// One kind of device.
pub trait Target {
    /// What comes out.
    type Code;

    /// What [`Target::flavour`] tells [`Target::finish`].
    type State;

    /// The device's name, for error texts.
    const DEVICE: &'static str;

    /// Whether code says what lines of the source it is from, if the image says that.
    const LINES: bool;

    /// All that code for this target may differ by, beside the request.
    fn to_text(&self) -> String {
        String::new()
    }

    /// The processor to generate code for.
    fn machine(&self) -> Result<Machine, JitError>;

    /// Turns a kernel into what the device starts: its parameters, its builtins, its panics.
    fn flavour<'c>(
        &'c self,
        context: &'c Context,
        module: &Module<'c>,
        kernel: Value,
        request: &Request,
    ) -> Result<Self::State, JitError>;

    /// Before optimisation, with checks out of loops: what the optimiser is told beside the code.
    fn advise(&self, _module: &Module<'_>) -> Result<(), JitError> {
        Ok(())
    }

    /// After optimisation: adds what must not be optimised, and generates code.
    fn finish<'c>(
        &self,
        context: &'c Context,
        module: &Module<'c>,
        machine: &Machine,
        request: &Request,
        state: Self::State,
        dump: &Dump,
    ) -> Result<Self::Code, JitError>;
}

/// Lowers one kernel: check, flavour, checks out of loops, optimise, generate. Runs on the caller's thread; LLVM's fatal errors end the
/// process unless the thread is one of [`schism_llvm::fatal`]'s.
pub fn lower<T: Target>(target: &T, request: &Request) -> Result<T::Code, JitError> {
    request.check()?;
    let dump = Dump::new(request, || target.to_text());
    let mut times = Times::new(request);
    let context = Context::new();
    let machine = target.machine()?;
    times.done("target");
    let module = image::load(&context, request, &machine, T::DEVICE, T::LINES)?;
    times.done("load");
    dump.module("1-image.ll", &module);
    let state = target.flavour(&context, &module, image::kernel_of(&module)?, request)?;
    times.done("flavour");
    dump.module("2-flavoured.ll", &module);
    module.lift_checks(&machine).map_err(JitError::Internal)?;
    target.advise(&module)?;
    times.done("checks");
    module
        .run_passes("default<O3>", Some(&machine))
        .map_err(|reason| JitError::BackendFailed { kernel: request.kernel.clone(), reason })?;
    times.done("optimise");
    let code = target.finish(&context, &module, &machine, request, state, &dump);
    times.done("generate");
    code
}
