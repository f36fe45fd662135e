//! Targets: what one kind of device adds to stage 2.
//!
//! [`lower`] compiles one kernel, the same for every target. The order of passes is a pipeline of
//! `schism_passes`; a [`Target`] runs the steps in it that need the launch. A new kind of device is
//! a new implementation beside `cpu`, a pipeline, and an entry in the C interface.

use schism_passes::DeviceSpec;
use schism_passes::pass::PassContext;
use schism_passes::pipeline::{self, Driver, LLVM_PIPELINE, Llvm, PipelineError, Step};
use schism_passes::spec::lanes::Lanes;

use crate::dump::Dump;
use crate::module::Module;
use crate::times::Times;
use crate::{JitError, Request, image};
use schism_llvm::{AsModule, Context, Machine, Value, fatal};

/// One kind of device.
pub trait Target {
    /// What comes out.
    type Code;

    /// State that steps pass to later ones, and to [`Target::emit`].
    type State: Default;

    /// The device's name, for error texts.
    const DEVICE: &'static str;

    /// Whether code contains source lines, if the image has them.
    const LINES: bool;

    /// The passes, in their order.
    const PIPELINE: &'static [Step];

    /// The triple that passes know the target by; `None` for the machine's.
    const TRIPLE: Option<&'static str> = None;

    /// Everything that code for this target may depend on, besides the request.
    fn to_text(&self) -> String {
        String::new()
    }

    /// The processor to generate code for.
    fn machine(&self) -> Result<Machine, JitError>;

    /// The machine whose layout an image has until it is converted to the target's, if it is not
    /// the target's own.
    fn machine_of_images(&self) -> Result<Option<Machine>, JitError> {
        Ok(None)
    }

    /// The vectors in whose lanes work-items are computed, if they are.
    fn lanes(&self) -> Result<Option<Lanes>, JitError> {
        Ok(None)
    }

    /// Runs a step of the pipeline that belongs to the target.
    fn run_step<'c>(
        &'c self,
        step: &'static str,
        work: &Work<'_, 'c>,
        state: &mut Self::State,
        cx: &mut PassContext<'_>,
    ) -> Result<(), JitError>;

    /// Generates code.
    fn emit<'c>(&self, work: &Work<'_, 'c>, state: Self::State) -> Result<Self::Code, JitError>;
}

/// A kernel that is being lowered.
pub struct Work<'a, 'c> {
    /// LLVM's context.
    pub context: &'c Context,
    /// The module, reduced to the kernel.
    pub module: &'a Module<'c>,
    /// The kernel.
    pub kernel: Value<'a>,
    /// The processor.
    pub machine: &'a Machine,
    /// The request.
    pub request: &'a Request,
    /// Where intermediate forms go.
    pub dump: &'a Dump,
}

impl Work<'_, '_> {
    /// LLVM did not generate code.
    pub fn failed(&self, reason: String) -> JitError {
        JitError::BackendFailed { kernel: self.request.kernel.clone(), reason }
    }
}

/// Ends a compilation whose result nobody waits for.
fn still_wanted() -> Result<(), JitError> {
    if fatal::is_abandoned() {
        return Err(JitError::Internal("nobody waits for this".to_owned()));
    }
    Ok(())
}

/// Runs the steps of a pipeline that are not passes of `schism_passes`.
struct Steps<'a, 'c, T: Target> {
    target: &'c T,
    work: &'a Work<'a, 'c>,
    state: T::State,
}

impl<T: Target> Driver for Steps<'_, '_, T> {
    type Error = JitError;

    fn run_llvm(&mut self, step: &Llvm) -> Result<(), JitError> {
        still_wanted()?;
        let machine = step.machine.then_some(self.work.machine);
        self.work.module.run_passes(step.passes, machine).map_err(|reason| {
            if step.name == LLVM_PIPELINE {
                self.work.failed(reason)
            } else {
                JitError::Internal(reason)
            }
        })
    }

    fn run_target(&mut self, step: &'static str, cx: &mut PassContext<'_>) -> Result<(), JitError> {
        still_wanted()?;
        match step {
            "dump-legalized" => self.work.dump.module("2-legalized.ll", self.work.module),
            "dump-optimized" => self.work.dump.module("3-optimized.ll", self.work.module),
            "forget-unwinding" if self.work.request.in_process => {}
            "forget-unwinding" => self.work.module.forget_unwinding(),
            step => return self.target.run_step(step, self.work, &mut self.state, cx),
        }
        Ok(())
    }
}

/// No target has such a step: the pipeline names one that its target does not know.
pub fn unknown_step(step: &str) -> JitError {
    JitError::Internal(format!("no step is called `{step}`"))
}

impl From<PipelineError> for JitError {
    fn from(error: PipelineError) -> Self {
        Self::Internal(error.to_string())
    }
}

/// Lowers one kernel. Runs on the caller's thread; LLVM's fatal errors end the process unless the
/// thread is one of [`schism_llvm::fatal`]'s.
pub fn lower<T: Target>(target: &T, request: &Request) -> Result<T::Code, JitError> {
    request.check()?;
    let variable = |name: &str| schism_trust::variable(name)?.into_string().ok();
    let options =
        pipeline::options(variable).map_err(|error| JitError::InvalidOptions(error.to_string()))?;
    let dump = Dump::new(request, || target.to_text());
    let mut times = Times::new(request);
    let context = Context::new();
    let machine = target.machine()?;
    let of_images = target.machine_of_images()?;
    times.done("target");
    let for_image = of_images.as_ref().unwrap_or(&machine);
    let module = image::load(&context, request, for_image, T::DEVICE, T::LINES)?;
    times.done("load");
    dump.module("1-image.ll", &module);
    let lanes = target.lanes()?;
    let triple = T::TRIPLE.map_or_else(|| module.handle().triple(), str::to_owned);
    let spec = DeviceSpec { target: triple, lanes, ..DeviceSpec::default() };
    let mut cx = PassContext::new(&spec);
    cx.options = options;
    cx.times = times.is_on().then(Vec::new);
    let work = Work {
        context: &context,
        module: &module,
        kernel: image::kernel_of(&module)?,
        machine: &machine,
        request,
        dump: &dump,
    };
    let mut steps = Steps { target, work: &work, state: T::State::default() };
    let ran = module.run_pipeline(T::PIPELINE, &mut cx, &mut steps);
    times.passes(cx.times.as_deref().unwrap_or_default());
    times.remarks(&cx.remarks);
    dump.bytes("remarks", (cx.remarks.join("\n") + "\n").as_bytes());
    ran?;
    let code = target.emit(&work, steps.state);
    times.done("emit");
    code
}
