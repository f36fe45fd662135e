//! The orders of passes as data, and the one runner for all of them.
//!
//! A pipeline is a list of [`Step`]s: our own passes by name, LLVM's passes, and what a target of
//! stage 2 does itself because it needs the launch. Stage 1 ([`stage1`](crate::stage1)), stage 2
//! and `schism-opt` run the same lists by the same runner. It verifies the module after each step,
//! measures each step, and prints the module after the passes that [`options`] name.
//!
//! ```
//! use schism_passes::pipeline::{self, STAGE1, Step};
//!
//! assert_eq!(pipeline::resolve("lower-unwind,simplify")?.len(), 2);
//! assert_eq!(pipeline::resolve("stage1")?.len(), STAGE1.len());
//! let error = pipeline::resolve("simplfy").unwrap_err();
//! assert!(error.to_string().contains("did you mean `simplify`?"));
//! # Ok::<(), schism_passes::registry::UnknownPass>(())
//! ```

use std::fmt;

use inkwell::module::Module;
use schism_llvm::{AsModule, IntoValue, ModuleRef};
use thiserror::Error;

use crate::analysis::{cold_paths, uses};
use crate::pass::{PassContext, PassError, PassOptions};
use crate::registry::{self, PASSES, UnknownPass, nearest};
use crate::spec::report::Report;
use crate::spec::target;
use crate::target_step::TargetStep;
use crate::variables::{DISABLE_PASSES, FAIL_PASSES, PRINT_AFTER, VERIFY_PASSES};

/// One step of a pipeline.
#[derive(Clone, Copy, Debug)]
pub enum Step {
    /// A pass of the [registry].
    Pass(&'static str),
    /// LLVM's passes.
    Llvm(Llvm),
    /// Work of a target of stage 2 that needs the launch. `schism-opt` leaves it out.
    Target(TargetStep),
    /// Steps that several pipelines have in this order.
    Group(&'static [Step]),
    /// Steps for modules that have panics.
    IfPanics(&'static [Step]),
}

/// LLVM's passes, as one step.
#[derive(Clone, Copy, Debug)]
pub struct Llvm {
    /// The step's name.
    pub name: &'static str,
    /// The passes, in the syntax of LLVM's `opt -passes=`.
    pub passes: &'static str,
    /// Whether they know the target machine.
    pub machine: bool,
}

const fn llvm(name: &'static str, passes: &'static str) -> Step {
    Step::Llvm(Llvm { name, passes, machine: false })
}

const fn llvm_for_machine(name: &'static str, passes: &'static str) -> Step {
    Step::Llvm(Llvm { name, passes, machine: true })
}

/// Stage 1: rustc's IR to a device image.
pub static STAGE1: &[Step] = &[
    // Before LLVM's passes, which remove the markers.
    Step::Pass("prepare-module"),
    Step::Pass("fold-constants"),
    Step::Pass("cleanup"),
    Step::Pass("lower-unwind"),
    Step::Pass("lower-assembly"),
    Step::Pass("lower-panics"),
    Step::Pass("outline-kernels"),
    Step::Pass("kernel-reachability"),
    Step::Pass("exports"),
    Step::Pass("lower-scoped-atomics"),
    Step::Pass("launch-offset"),
    Step::Pass("simplify"),
    Step::Pass("allocate-local-memory"),
    Step::Pass("link-std-bodies"),
    Step::Pass("remove-refused"),
    Step::Pass("device-check"),
    Step::Pass("finish-module"),
    Step::Pass("capabilities"),
    Step::Pass("performance-lints"),
];

/// [`STAGE1`] in two parts. Nothing in the second removes or adds kernels, and it is what tells which of
/// them no device can have.
pub fn stage1_in_two() -> (&'static [Step], &'static [Step]) {
    let first = STAGE1.iter().position(|step| step.name() == "link-std-bodies");
    STAGE1.split_at(first.unwrap_or_default())
}

/// Stage 1 for kernels that run in the program's process: they unwind as the host half does, and what
/// is not theirs is the host's. So nothing is lowered or refused.
pub static STAGE1_IN_PROCESS: &[Step] = &[
    Step::Pass("import-host-symbols"),
    Step::Pass("prepare-module"),
    Step::Pass("fold-constants"),
    Step::Pass("outline-kernels"),
    Step::Pass("kernel-reachability"),
    Step::Pass("lower-scoped-atomics"),
    Step::Pass("simplify"),
];

/// Brings together what a condition decides twice, such as an iterator's `next` and the loop around
/// it. Nothing becomes a `select` before jumps are threaded: whether an iterator's pointer is null
/// is known on each path, and not where two meet. So this stands before [`BOUNDS`], whose
/// `simplifycfg` makes selects.
const THREAD_JUMPS: Step = llvm(
    "llvm-thread-jumps",
    "function(sroa,early-cse<memssa>,instcombine<no-verify-fixpoint>,jump-threading,correlated-propagation,\
     instcombine<no-verify-fixpoint>,jump-threading,simplifycfg)",
);

/// Bounds checks out of loops. Before, loops get the form in which checks are seen: loop-invariant
/// code stands before them, and they are rotated. Checks that can never fail go before that:
/// no loop is cloned for those.
const BOUNDS: Step = Step::IfPanics(&[
    CANONICALIZE_LOOPS,
    Step::Pass("loop-versioning"),
    Step::Pass("merge-checks"),
]);

/// The form in which checks are seen. `correlated-propagation` for loops over `a..=b`: only the last
/// iteration does not count up, and no other one comes behind it.
const CANONICALIZE_LOOPS: Step = llvm_for_machine(
    "llvm-canonicalize-loops",
    "function<eager-inv>(lower-expect,sroa,early-cse<memssa>,instcombine<no-verify-fixpoint>,simplifycfg,constraint-elimination,\
     simplifycfg,loop-mssa(loop-instsimplify,licm,loop-rotate,licm),correlated-propagation,simplifycfg,\
     instcombine<no-verify-fixpoint>)",
);

/// LLVM's own pipeline.
const OPTIMIZE: Step = llvm_for_machine(LLVM_PIPELINE, "default<O3>");

/// The name of the step that runs LLVM's own pipeline.
pub const LLVM_PIPELINE: &str = "llvm-o3";

/// Stage 2 on the CPU: an image that was reduced to one kernel, to the module that code is
/// generated of.
pub static CPU: &[Step] = &[
    // Legalize: the kernel becomes the body of a loop nest.
    Step::Target(TargetStep::LinkDeviceLibrary),
    Step::Target(TargetStep::DefinePrint),
    Step::Target(TargetStep::DefineClock),
    Step::Target(TargetStep::DefinePause),
    Step::Target(TargetStep::NameAllocator),
    Step::Target(TargetStep::WrapKernel),
    Step::Target(TargetStep::ChooseInlining),
    llvm("llvm-inline", "always-inline,globaldce"),
    Step::Pass("promote-locals"),
    Step::Target(TargetStep::ResolveBuiltins),
    Step::Target(TargetStep::UnfuseMultiplyAdd),
    // Before loops are cloned: a region's loops have no barriers.
    Step::Pass("split-at-barriers"),
    Step::Target(TargetStep::MarkParallelLoop),
    THREAD_JUMPS,
    Step::Pass("thread-headers"),
    Step::Target(TargetStep::DumpLegalized),
    // Pre-optimize.
    Step::Pass("unique-backedges"),
    Step::Pass("unroll-policy"),
    // Indices without clamps can be checked for a whole loop.
    Step::Pass("split-clamps"),
    BOUNDS,
    // Before LLVM unrolls or vectorises a loop.
    Step::Pass("vectorize"),
    Step::Pass("forward-group-memory"),
    OPTIMIZE,
    // What must not be optimised.
    Step::Target(TargetStep::AddEntry),
    Step::Target(TargetStep::DefinePanicExit),
    Step::Target(TargetStep::ForgetUnwinding),
    Step::Target(TargetStep::ProbeStack),
    Step::Target(TargetStep::DumpOptimized),
];

/// What the kernels of GPUs call that their devices have not.
const DEVICE_LIBRARY: Step = Step::Group(&[
    Step::Target(TargetStep::LinkDeviceLibrary),
    Step::Target(TargetStep::DefineClock),
    Step::Target(TargetStep::DefinePause),
]);

/// The kernel of a GPU gets an entry.
const GPU_ENTRY: Step = Step::Group(&[
    llvm("llvm-inline", "always-inline"),
    Step::Pass("promote-locals"),
    Step::Pass("panic-sites"),
    Step::Target(TargetStep::WrapKernel),
    llvm("llvm-inline-entry", "always-inline,globaldce"),
    Step::Pass("promote-locals"),
    Step::Target(TargetStep::ResolveBuiltins),
    Step::Target(TargetStep::HideCode),
    Step::Target(TargetStep::UnfuseMultiplyAdd),
    Step::Target(TargetStep::NarrowAtomics),
    Step::Pass("demote-private-atomics"),
    Step::Pass("lower-local-memory"),
]);

/// Pointers of a GPU get their address spaces.
///
/// Jumps are threaded before: in an address space an address may be 0, so LLVM does
/// not know of an element's address that it is not null. For a GPU LLVM leaves it out, lest
/// work-items diverge that had converged; but then LLVM neither unrolls nor counts loops whose
/// condition was decided before. So it is done once, early and without the target.
/// `convergent` calls are not cloned by it.
const GENERIC_TO_ADDRESS_SPACES: Step = Step::Group(&[
    THREAD_JUMPS,
    Step::Pass("thread-headers"),
    Step::Target(TargetStep::CompareAddresses),
    Step::Target(TargetStep::NameKernel),
    Step::Pass("address-spaces"),
    Step::Target(TargetStep::DumpLegalized),
]);

/// For targets whose work-items end by a return of the entry.
const END_IN_ENTRY: Step = Step::Group(&[
    Step::Target(TargetStep::DropOwnFences),
    Step::Pass("demote-private-atomics"),
    Step::Pass("expand-mem-intrinsics"),
    Step::Target(TargetStep::TrimParameters),
    Step::Target(TargetStep::ExpandPanics),
    Step::Target(TargetStep::EndWorkItems),
]);

/// Stage 2 on NVIDIA's GPUs.
pub static PTX: &[Step] = &[
    // Legalize: the kernel gets an entry, and pointers their address spaces.
    DEVICE_LIBRARY,
    Step::Target(TargetStep::ChooseInlining),
    GPU_ENTRY,
    GENERIC_TO_ADDRESS_SPACES,
    // Pre-optimize.
    Step::Pass("unroll-policy"),
    BOUNDS,
    // Behind what takes checks out of loops: a loop that may panic stays as it is.
    Step::Pass("vectorize"),
    Step::Pass("clamped-checks"),
    llvm("llvm-loop-simplify", "function(loop-simplify)"),
    Step::Pass("unroll-hints"),
    OPTIMIZE,
    // For GPUs.
    Step::Target(TargetStep::DropOwnFences),
    Step::Pass("demote-private-atomics"),
    Step::Target(TargetStep::OrderAtomics),
    Step::Pass("strip-mine"),
    Step::Pass("select-elements"),
    Step::Pass("expand-mem-intrinsics"),
    Step::Target(TargetStep::TrimParameters),
    Step::Target(TargetStep::ExpandPanics),
    Step::Target(TargetStep::ForgetUnwinding),
    Step::Target(TargetStep::CompareAddresses),
    Step::Pass("infer-alignment"),
    Step::Target(TargetStep::UnmaskMultiples),
    Step::Pass("narrow-integers"),
    Step::Pass("superblocks"),
    Step::Pass("nvptx-prepare"),
    Step::Pass("circular-statics"),
    Step::Target(TargetStep::AdoptLines),
    Step::Target(TargetStep::DumpOptimized),
];

/// Stage 2 on OpenCL's devices: that of [`PTX`], without what depends on NVIDIA's, and with
/// everything in one function, where values are that only the entry has.
pub static SPIRV: &[Step] = &[
    // Legalize.
    DEVICE_LIBRARY,
    // Before anything is inlined: the functions that calls choose among, too.
    Step::Target(TargetStep::DispatchCalls),
    Step::Target(TargetStep::InlineAll),
    GPU_ENTRY,
    GENERIC_TO_ADDRESS_SPACES,
    // Pre-optimize.
    Step::Pass("unroll-policy"),
    BOUNDS,
    Step::Pass("vectorize"),
    OPTIMIZE,
    // For SPIR-V.
    END_IN_ENTRY,
    Step::Target(TargetStep::ForgetUnwinding),
    Step::Target(TargetStep::ExpandWideIntegers),
    Step::Target(TargetStep::ExpandAtomics),
    Step::Target(TargetStep::ExpandFills),
    Step::Target(TargetStep::ReorderBranches),
    Step::Target(TargetStep::SplitAggregates),
    Step::Target(TargetStep::CompareAddresses),
    Step::Target(TargetStep::DumpOptimized),
];

/// Stage 2 on AMD's GPUs: that of [`SPIRV`], and from `address-spaces` on for their processors.
pub static AMDGCN: &[Step] = &[
    // Legalize.
    DEVICE_LIBRARY,
    Step::Target(TargetStep::InlineAll),
    GPU_ENTRY,
    // Before barriers are several instructions.
    Step::Pass("vectorize"),
    // LLVM knows which of this target's registers differ between work-items.
    Step::Target(TargetStep::LowerRegisters),
    THREAD_JUMPS,
    Step::Target(TargetStep::CompareAddresses),
    Step::Target(TargetStep::NameKernel),
    Step::Pass("address-spaces"),
    Step::Target(TargetStep::DumpLegalized),
    // Pre-optimize.
    BOUNDS,
    OPTIMIZE,
    // For AMD's processors.
    END_IN_ENTRY,
    Step::Target(TargetStep::LeaveByReturn),
    Step::Target(TargetStep::LowerRegisters),
    Step::Target(TargetStep::NameScopes),
    Step::Target(TargetStep::ForgetUnwinding),
    Step::Target(TargetStep::CompareAddresses),
    Step::Pass("infer-alignment"),
    Step::Target(TargetStep::BoundLaunches),
    Step::Target(TargetStep::DumpOptimized),
];

/// The pipelines, by name.
pub static PIPELINES: &[(&str, &[Step])] = &[
    ("stage1", STAGE1),
    ("stage1-in-process", STAGE1_IN_PROCESS),
    ("cpu", CPU),
    ("ptx", PTX),
    ("spirv", SPIRV),
    ("amdgcn", AMDGCN),
];

impl Step {
    /// The step's name; that of steps with others inside is empty.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Step::Pass(name) => name,
            Step::Target(step) => step.name(),
            Step::Llvm(llvm) => llvm.name,
            Step::Group(_) | Step::IfPanics(_) => "",
        }
    }

    /// The steps inside.
    #[must_use]
    pub const fn inner(&self) -> Option<&'static [Step]> {
        match self {
            Step::Group(steps) | Step::IfPanics(steps) => Some(steps),
            Step::Pass(_) | Step::Target(_) | Step::Llvm(_) => None,
        }
    }
}

/// The steps that a list of names stands for: passes and pipelines, separated by commas.
///
/// # Errors
/// The first name that is neither.
pub fn resolve(names: &str) -> Result<Vec<Step>, UnknownPass> {
    let mut steps = Vec::new();
    for name in names.split(',').map(str::trim).filter(|name| !name.is_empty()) {
        if let Ok(pass) = registry::find(name) {
            steps.push(Step::Pass(pass.name));
        } else if let Some((_, pipeline)) = PIPELINES.iter().find(|(known, _)| *known == name) {
            steps.extend(*pipeline);
        } else {
            let known = PASSES.iter().map(|pass| pass.name);
            let known = known.chain(PIPELINES.iter().map(|(name, _)| *name));
            return Err(UnknownPass { name: name.to_owned(), nearest: nearest(name, known) });
        }
    }
    Ok(steps)
}

/// The options of an environment; `variable` gives the value of one of its variables.
///
/// ```
/// use schism_passes::pipeline;
///
/// let of = |list: &'static str| {
///     pipeline::options(|name| (name == "SCHISM_DISABLE_PASSES").then(|| list.to_owned()))
/// };
/// assert_eq!(of("superblocks, strip-mine")?.disabled, ["strip-mine", "superblocks"]);
/// let error = of("super-blocks").unwrap_err().to_string();
/// assert!(error.contains("did you mean `superblocks`?"), "{error}");
/// let error = of("address-spaces").unwrap_err().to_string();
/// assert!(error.contains("`address-spaces` cannot be disabled"), "{error}");
/// # Ok::<(), schism_passes::pipeline::OptionsError>(())
/// ```
///
/// # Errors
/// See [`OptionsError`].
pub fn options(variable: impl Fn(&str) -> Option<String>) -> Result<PassOptions, OptionsError> {
    let list = |name: &'static str| {
        let value = variable(name).unwrap_or_default();
        let names = value.split(',').map(str::trim).filter(|name| !name.is_empty());
        names.map(str::to_owned).collect::<Vec<_>>()
    };
    let find = |name: &str, variable: &'static str| {
        registry::find(name).map_err(|unknown| OptionsError::Unknown { variable, unknown })
    };
    let mut disabled = Vec::new();
    for name in list(DISABLE_PASSES) {
        let pass = find(&name, DISABLE_PASSES)?;
        if !pass.optional {
            return Err(OptionsError::Required { pass: pass.name });
        }
        disabled.push(pass.name);
    }
    disabled.sort_unstable();
    disabled.dedup();
    let print_after = list(PRINT_AFTER);
    let known = || steps().chain(PASSES.iter().map(|pass| pass.name)).chain(["all"]);
    for name in &print_after {
        if !known().any(|known| known == name) {
            let unknown = UnknownPass { name: name.clone(), nearest: nearest(name, known()) };
            return Err(OptionsError::Unknown { variable: PRINT_AFTER, unknown });
        }
    }
    let mut failing = Vec::new();
    for name in list(FAIL_PASSES) {
        failing.push(find(&name, FAIL_PASSES)?.name);
    }
    let verify_each = variable(VERIFY_PASSES).is_some_and(|it| !it.is_empty() && it != "0")
        || cfg!(debug_assertions);
    Ok(PassOptions { disabled, print_after, verify_each, failing })
}

/// The optional passes of a pipeline.
pub fn optional_passes(pipeline: &[Step]) -> Vec<&'static str> {
    let mut names = Vec::new();
    for step in pipeline {
        match step {
            Step::Pass(name) if registry::find(name).is_ok_and(|pass| pass.optional) => {
                names.push(*name);
            }
            step => names.extend(optional_passes(step.inner().unwrap_or_default())),
        }
    }
    names
}

/// The names of all steps of all pipelines.
fn steps() -> impl Iterator<Item = &'static str> {
    fn flat(step: &'static Step) -> Vec<&'static str> {
        match step.inner() {
            Some(steps) => steps.iter().flat_map(flat).collect(),
            None => vec![step.name()],
        }
    }
    PIPELINES.iter().flat_map(|(_, pipeline)| *pipeline).flat_map(flat)
}

/// Options that cannot be followed.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum OptionsError {
    /// A name is no pass's.
    #[error("{variable}: {unknown}")]
    Unknown {
        /// The environment variable.
        variable: &'static str,
        /// The name.
        unknown: UnknownPass,
    },
    /// A pass that code needs.
    #[error(
        "{DISABLE_PASSES}: `{pass}` cannot be disabled, for code would be wrong without it; these can: {OptionalPasses}"
    )]
    Required {
        /// The pass.
        pass: &'static str,
    },
}

/// The names of the optional passes.
struct OptionalPasses;

impl fmt::Display for OptionalPasses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = PASSES.iter().filter(|pass| pass.optional).map(|pass| pass.name);
        f.write_str(&names.collect::<Vec<_>>().join(", "))
    }
}

/// Why a pipeline did not run to its end.
#[derive(Debug, Error)]
pub enum PipelineError {
    /// A pass could not do its work.
    #[error(transparent)]
    Pass(#[from] PassError),
    /// A step left IR that does not verify: a defect of that step.
    #[error("pass `{pass}` left invalid IR: {message}")]
    Invalid {
        /// The step.
        pass: &'static str,
        /// The verifier's message.
        message: String,
    },
    /// Kernels reach what no device has.
    #[error("{0}")]
    NotForDevices(Box<Report>),
}

/// What runs the steps that are not of the registry.
pub trait Driver {
    /// How it fails.
    type Error: From<PipelineError>;

    /// Runs LLVM's passes over the module.
    ///
    /// # Errors
    /// LLVM's, for the driver to explain.
    fn run_llvm(&mut self, step: &Llvm) -> Result<(), Self::Error>;

    /// Runs a step of the target's own.
    ///
    /// # Errors
    /// The target's.
    fn run_target(&mut self, step: TargetStep, cx: &mut PassContext<'_>)
    -> Result<(), Self::Error>;
}

/// A driver without a target: it leaves the target's steps out.
struct NoTarget<'m, 'c>(&'m Module<'c>);

impl Driver for NoTarget<'_, '_> {
    type Error = PipelineError;

    fn run_llvm(&mut self, step: &Llvm) -> Result<(), PipelineError> {
        // The oldest processor that the module's triple can mean.
        let machine = if step.machine { target::of_module(self.0).ok() } else { None };
        self.0
            .handle()
            .run_passes_for(step.passes, machine.as_ref())
            .map_err(|message| PassError { pass: step.name, source: message.into() }.into())
    }

    fn run_target(&mut self, _: TargetStep, _: &mut PassContext<'_>) -> Result<(), PipelineError> {
        Ok(())
    }
}

/// Runs steps over a module, one after the other, without those of a target.
///
/// # Errors
/// The step that failed or that left invalid IR; or what the passes refuse.
pub fn run(
    module: &Module<'_>,
    steps: &[Step],
    cx: &mut PassContext<'_>,
) -> Result<(), PipelineError> {
    run_raw(module.handle(), steps, cx, &mut NoTarget(module))
}

/// Runs steps over a module, one after the other.
///
/// # Errors
/// The step that failed or that left invalid IR; or what the passes refuse.
pub fn run_raw<D: Driver>(
    module: ModuleRef<'_>,
    steps: &[Step],
    cx: &mut PassContext<'_>,
    driver: &mut D,
) -> Result<(), D::Error> {
    let mut last = None;
    run_steps(module, steps, cx, driver, &mut last)?;
    match last {
        Some(step) if !cx.options.verify_each => Ok(verify(module, step)?),
        _ => Ok(()),
    }
}

fn run_steps<D: Driver>(
    module: ModuleRef<'_>,
    steps: &[Step],
    cx: &mut PassContext<'_>,
    driver: &mut D,
    last: &mut Option<&'static str>,
) -> Result<(), D::Error> {
    for step in steps {
        // The wrapper keeps what it has once seen of the module, so each step gets a new one.
        let view = module.view();
        let name = step.name();
        let start = cx.start();
        match step {
            Step::Pass(_) if cx.options.disabled.contains(&name) => continue,
            Step::Group(_) | Step::IfPanics(_) => {}
            _ => cx.step = name,
        }
        match step {
            Step::Pass(_) => {
                assert!(!cx.options.failing.contains(&name), "{FAIL_PASSES} names `{name}`");
                let pass = registry::find(name).expect("pipelines name passes of the registry");
                (pass.run)(&view, cx)
                    .map_err(|source| PipelineError::from(PassError { pass: name, source }))?;
            }
            Step::Llvm(llvm) => driver.run_llvm(llvm)?,
            Step::Target(step) => driver.run_target(*step, cx)?,
            Step::Group(steps) => {
                run_steps(module, steps, cx, driver, last)?;
                continue;
            }
            Step::IfPanics(steps) => {
                let mut functions = view.get_functions();
                if functions.any(|it| cold_paths::has_panics(it.value())) {
                    run_steps(module, steps, cx, driver, last)?;
                }
                continue;
            }
        }
        cx.note(name, start);
        if cx.options.prints_after(name) {
            eprintln!("; after {name}\n{}", view.print_to_string().to_string());
        }
        if cx.options.verify_each {
            verify(module, name)?;
        }
        if !cx.violations.is_empty() {
            let report = Report {
                violations: std::mem::take(&mut cx.violations),
                uses: uses::uses(&view),
                sites: std::mem::take(&mut cx.sites),
                kernels: cx.roots().into_iter().map(str::to_owned).collect(),
            };
            return Err(PipelineError::NotForDevices(Box::new(report)).into());
        }
        *last = Some(name);
    }
    Ok(())
}

/// LLVM's verifier.
fn verify(module: ModuleRef<'_>, pass: &'static str) -> Result<(), PipelineError> {
    module.verify().map_err(|message| PipelineError::Invalid { pass, message })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pipelines_name_passes_of_the_registry_and_every_optional_pass_runs_somewhere() {
        let registered: Vec<_> = PASSES.iter().map(|pass| pass.name).collect();
        fn check(steps: &[Step], registered: &[&str]) {
            for step in steps {
                if let Step::Pass(name) = step {
                    assert!(registered.contains(name), "{name}");
                }
                check(step.inner().unwrap_or_default(), registered);
            }
        }
        PIPELINES.iter().for_each(|(_, steps)| check(steps, &registered));
        for pass in PASSES.iter().filter(|pass| pass.optional) {
            assert!(steps().any(|step| step == pass.name), "{}", pass.name);
        }
        assert!(PIPELINES.iter().all(|(name, _)| registry::find(name).is_err()));
    }

    /// Without this option `instcombine` ends the process where one round leaves something to do, a
    /// check meant for LLVM's own tests.
    #[test]
    fn no_pass_of_llvm_may_end_the_process() {
        fn check(step: &Step) {
            if let Step::Llvm(llvm) = step {
                for (at, _) in llvm.passes.match_indices("instcombine") {
                    let pass = &llvm.passes[at..];
                    assert!(pass.starts_with("instcombine<no-verify-fixpoint>"), "{pass}");
                }
            }
            step.inner().unwrap_or_default().iter().for_each(check);
        }
        PIPELINES.iter().for_each(|(_, steps)| steps.iter().for_each(check));
    }

    #[test]
    fn a_misspelt_name_is_explained() {
        let error = resolve("lower-unwind,kernel-reachabilty").unwrap_err();
        assert_eq!(error.nearest, Some("kernel-reachability"));
        assert_eq!(resolve("frobnicate").unwrap_err().nearest, None);
        assert!(resolve(" ").unwrap().is_empty());
        let of =
            |value: &'static str| options(|name| (name == PRINT_AFTER).then(|| value.to_owned()));
        assert!(of("llvm-o3,strip-mine,all").is_ok());
        assert!(of("llvm-o2").unwrap_err().to_string().contains("did you mean `llvm-o3`?"));
    }

    #[test]
    fn disabled_passes_do_not_run() {
        use inkwell::context::Context;
        use inkwell::memory_buffer::MemoryBuffer;

        let source = "declare void @f()\n";
        let spec = crate::spec::device::DeviceSpec::default();
        let times = |disabled: Vec<&'static str>| {
            let context = Context::create();
            let buffer = MemoryBuffer::create_from_memory_range_copy(source.as_bytes(), "source");
            let module = context.create_module_from_ir(buffer).unwrap();
            let mut cx = PassContext::new(&spec);
            cx.options.disabled = disabled;
            cx.times = Some(Vec::new());
            let steps = resolve("superblocks,narrow-integers").unwrap();
            run(&module, &steps, &mut cx).unwrap();
            cx.times.unwrap().into_iter().map(|(name, _)| name).collect::<Vec<_>>()
        };
        assert_eq!(times(vec![]), ["superblocks", "narrow-integers"]);
        assert_eq!(times(vec!["superblocks"]), ["narrow-integers"]);
    }
}
