//! Targets: what one kind of device adds to stage 2.
//!
//! [`lower`] compiles one kernel, the same for every target. The order of passes is a pipeline of
//! `schism_passes`; a [`Target`] runs the steps in it that need the launch. A new target is a new
//! implementation beside `cpu`, a pipeline, and an entry in the C interface.
//!
//! A pass that panics, fails or leaves invalid IR has a defect. Where code is right without it, the
//! kernel is compiled once more without it, which shows in no more than a line of
//! [`Lowered::failures`]. Where the step is needed, it may have met what an optional pass has left:
//! then the kernel is compiled once more without all of these.

use std::fmt::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};

use schism_passes::DeviceSpec;
use schism_passes::pass::{PassContext, PassOptions};
use schism_passes::pipeline::{self, Driver, LLVM_PIPELINE, Llvm, PipelineError, Step};
use schism_passes::spec::lanes::Lanes;
use schism_passes::target_step::TargetStep;

use crate::common::dump::Dump;
use crate::common::image;
use crate::common::module::Module;
use crate::common::settings::Settings;
use crate::common::times::Times;
use crate::{JitError, Request};
use schism_llvm::fatal::{self, panic_text};
use schism_llvm::{AsModule, Context, Machine, Value};

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

    /// Whether the kernel unwinds.
    fn unwinds(_: &Self::State) -> bool {
        false
    }

    /// Runs a step of the pipeline that belongs to the target.
    fn run_step<'c>(
        &'c self,
        step: TargetStep,
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

    /// Fails with the errors that LLVM has reported, if there are any.
    pub fn check_errors(&self) -> Result<(), JitError> {
        self.context.take_errors().map_or(Ok(()), |errors| Err(self.failed(errors)))
    }
}

/// Ends a compilation that was abandoned.
fn still_wanted() -> Result<(), JitError> {
    if fatal::is_abandoned() {
        return Err(JitError::Internal("this was abandoned".to_owned()));
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
    type Error = Failure;

    fn run_llvm(&mut self, step: &Llvm) -> Result<(), Failure> {
        still_wanted()?;
        let machine = step.machine.then_some(self.work.machine);
        self.work.module.run_passes(step.passes, machine).map_err(|reason| {
            if step.name == LLVM_PIPELINE {
                self.work.failed(reason).into()
            } else {
                JitError::Internal(reason).into()
            }
        })
    }

    fn run_target(&mut self, step: TargetStep, cx: &mut PassContext<'_>) -> Result<(), Failure> {
        still_wanted()?;
        match step {
            TargetStep::DumpLegalized => self.work.dump.module("2-legalized.ll", self.work.module),
            TargetStep::DumpOptimized => self.work.dump.module("3-optimized.ll", self.work.module),
            TargetStep::ForgetUnwinding
                if self.work.request.in_process || T::unwinds(&self.state) => {}
            TargetStep::ForgetUnwinding => self.work.module.forget_unwinding(),
            step => return Ok(self.target.run_step(step, self.work, &mut self.state, cx)?),
        }
        Ok(())
    }
}

/// Why one compilation of a kernel failed.
enum Failure {
    /// As another one would.
    Error(JitError),
    /// A step has a defect, or met what another one's defect has left.
    Defect { step: &'static str, reason: String },
    /// LLVM's verifier refuses the module after a step: the last one, unless it is asked after each.
    Invalid { step: &'static str, reason: String },
}

impl From<JitError> for Failure {
    fn from(error: JitError) -> Self {
        Self::Error(error)
    }
}

impl From<PipelineError> for Failure {
    fn from(error: PipelineError) -> Self {
        let reason = error.to_string();
        match error {
            PipelineError::Pass(error) => Self::Defect { step: error.pass, reason },
            PipelineError::Invalid { pass, .. } => Self::Invalid { step: pass, reason },
            PipelineError::NotForDevices(_) => Self::Error(JitError::Internal(reason)),
        }
    }
}

/// No target has such a step: the pipeline names one that its target does not know.
pub fn unknown_step(step: TargetStep) -> JitError {
    JitError::Internal(format!("the target has no step `{step}`"))
}

/// A kernel that was lowered.
pub struct Lowered<C> {
    /// Its code.
    pub code: C,
    /// What failed on the way and was left out, a line each.
    pub failures: String,
}

/// Lowers one kernel. Runs on the caller's thread; LLVM's fatal errors end the process unless the
/// thread is one of [`schism_llvm::fatal`]'s.
pub fn lower<T: Target>(
    target: &T,
    request: &Request,
    settings: &Settings,
) -> Result<Lowered<T::Code>, JitError> {
    request.check()?;
    let mut options = settings.passes.clone();
    let optional = pipeline::optional_passes(T::PIPELINE);
    let mut failures = String::new();
    loop {
        let failure = match attempt(target, request, settings, &options) {
            Ok(code) => return Ok(Lowered { code, failures }),
            Err(failure) => failure,
        };
        still_wanted()?;
        let (step, reason) = match failure {
            Failure::Error(error) => return Err(error),
            // The next attempt finds the step.
            Failure::Invalid { .. } if !options.verify_each => {
                options.verify_each = true;
                continue;
            }
            Failure::Invalid { step, reason } | Failure::Defect { step, reason } => (step, reason),
        };
        let left_out: Vec<_> = optional
            .iter()
            .filter(|pass| !options.disabled.contains(pass))
            .filter(|pass| **pass == step || !optional.contains(&step))
            .copied()
            .collect();
        if left_out.is_empty() {
            return Err(JitError::Internal(reason));
        }
        let reason = reason.split_whitespace().collect::<Vec<_>>().join(" ");
        let _ = writeln!(failures, "without {}: {reason}", left_out.join(", "));
        options.disabled.extend(left_out);
    }
}

/// Lowers one kernel with these options.
fn attempt<T: Target>(
    target: &T,
    request: &Request,
    settings: &Settings,
    options: &PassOptions,
) -> Result<T::Code, Failure> {
    let dump = Dump::new(settings.dump_dir.as_deref(), request, || target.to_text());
    let mut times = Times::new(settings.time_passes, request);
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
    cx.options = options.clone();
    cx.times = times.is_on().then(Vec::new);
    let work = Work {
        context: &context,
        module: &module,
        kernel: image::kernel_of(&module)?,
        machine: &machine,
        request,
        dump: &dump,
    };
    // After a panic the module is only given back.
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        let mut steps = Steps { target, work: &work, state: T::State::default() };
        let ran = module.run_pipeline(T::PIPELINE, &mut cx, &mut steps);
        times.passes(cx.times.as_deref().unwrap_or_default());
        times.remarks(&cx.remarks);
        dump.bytes("remarks", (cx.remarks.join("\n") + "\n").as_bytes());
        ran?;
        cx.step = "emit";
        let code = target.emit(&work, steps.state);
        times.done("emit");
        Ok(code?)
    }));
    match outcome {
        Ok(outcome) => outcome,
        Err(payload) => {
            let reason = panic_text(payload.as_ref());
            Err(Failure::Defect {
                step: cx.step,
                reason: format!("`{}` panicked: {reason}", cx.step),
            })
        }
    }
}
