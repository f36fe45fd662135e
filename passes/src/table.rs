//! The table of passes: one line each, in the order in which stage 1 runs them.
//!
//! Stage 1, the tool `schism-opt` and the tests all read this table. To add a pass, write its file and
//! add its line; a folder `tests/passes/<pass>/` with its cases is asked for by the tests.
//!
//! ```
//! use schism_passes::table;
//!
//! let passes = table::resolve("unwind,cleanup")?;
//! assert_eq!(passes.len(), 2);
//! assert_eq!(table::resolve("stage1")?.len(), table::STAGE1.len());
//! let error = table::resolve("clean-up").unwrap_err();
//! assert!(error.to_string().contains("did you mean `cleanup`?"));
//! # Ok::<(), table::UnknownPass>(())
//! ```

use std::collections::HashSet;
use std::time::{Duration, Instant};

use inkwell::module::Module;
use thiserror::Error;

use crate::call_sites::CallSite;
use crate::costs::Costs;
use crate::dead_arguments::Kept;
use crate::device_check::{Report, Violation};
use crate::emulate_constants::EmulateError;
use crate::import_bodies::ImportError;
use crate::kernel_entry::KernelEntryError;
use crate::library_calls::Native;
use crate::local_memory::LocalMemoryError;
use crate::spec::DeviceSpec;
use crate::specialise::SpecialiseError;
use crate::stage1::{KernelImage, Stage1Error};

/// The passes of stage 1, in their order.
#[rustfmt::skip] // one line each
#[allow(clippy::unit_arg)] // some passes return nothing
pub static STAGE1: &[Pass] = &[
    pass("instrumentation", "takes out what an instrumented build adds to code", |module, _| Ok(crate::instrumentation::run(module))),
    pass("host-attributes", "drops what only means something to the host's code generator", |module, _| Ok(crate::host_attributes::run(module))),
    pass("convergence", "marks what may come to a barrier, so that LLVM leaves it where it is", |module, _| Ok(crate::convergence::run(module))),
    pass("spec-constants", "specialization constants become bytes that stay open until stage 2", |module, job| Ok(crate::spec_constants::run(module, &job.spec.spec_constants))),
    pass("unwind", "a device has no landing pads: invokes become calls", |module, _| Ok(crate::unwind::run(module)?)),
    pass("ir-constants", "gives IR constants their value and folds the branches on them", |module, job| Ok(crate::ir_constants::run(module, &job.spec.ir_constants, &job.spec.ir_constant_functions)?)),
    pass("formatters", "formatting functions become descriptions of what they format", |module, job| Ok(crate::formatters::run(module, &job.spec.formatters, &job.spec.types))),
    pass("panics", "calls of panic functions become `__schism_panic` or `__schism_panic_format`", |module, job| Ok(crate::panics::run(module, &job.spec.panics, &job.spec.types))),
    pass("kernel-entry", "makes the kernels: flattened parameters around the entry function", |module, job| Ok(crate::kernel_entry::run(module, &job.spec.kernels)?)),
    pass("reachability", "keeps what kernels reach, through calls and through constants", |module, job| Ok(crate::reachability::run(module, &job.roots())?)),
    pass("exports", "refuses exported functions that ask for what only a kernel has", |module, job| Ok(job.refuse(crate::exports::run(module, job.spec)))),
    pass("scoped-atomics", "atomic accesses that say who they are for become those of LLVM", |module, _| Ok(crate::scoped_atomics::run(module))),
    pass("hold-statics", "keeps the simplification from folding statics whose value can change", |module, _| Ok(crate::device_check::hold_statics(module))),
    pass("implicit-offset", "kernels that read where their launch begins get a variant that is told", |module, job| { let refused = crate::implicit_offset::run(module, &mut job.kernels); job.refuse(refused); Ok(()) }),
    pass("cleanup", "target-neutral simplification, so that stage 2 starts from small IR", |module, _| Ok(crate::cleanup::run(module)?)),
    pass("local-memory", "gives the arrays in local memory their places", |module, job| Ok(crate::local_memory::run(module, &mut job.kernels)?)),
    pass("import-bodies", "functions without MIR get the body that the standard library was compiled to", |module, job| Ok(crate::import_bodies::run(module, job.spec.provider.as_deref(), &job.roots())?)),
    pass("inline-refused", "inlines modules that the device check would refuse: that may show what is dead", |module, job| Ok(crate::cleanup::inline_refused(module, &job.spec.imports)?)),
    pass("device-check", "refuses what no device has, with every use of it", |module, job| { job.refuse(crate::device_check::run(module, &job.spec.imports)); Ok(crate::device_check::release_statics(module)?) }),
    pass("aspects", "notes what each kernel needs of a device and of the runtime", |module, job| Ok(crate::aspects::run(module, job.spec, &mut job.kernels))),
    pass("costs", "finds what works and makes kernels slow, for warnings", |module, job| Ok(job.costs = crate::costs::run(module, job.spec.warnings, &job.sites)?)),
    pass("strip-debug", "drops debug information, which only the checks need, unless lines are asked for", |module, job| { if !job.spec.lines { module.strip_debug_info(); } Ok(()) }),
];

/// Passes that are not part of stage 1: for stage 2's targets, and for people at `schism-opt`.
#[rustfmt::skip] // one line each
#[allow(clippy::unit_arg)] // some passes return nothing
pub static OTHERS: &[Pass] = &[
    pass("call-sites", "numbers every instruction, so that reports tell where each comes from", |module, job| { job.sites = crate::call_sites::number(module); Ok(()) }),
    pass("recursion", "refuses functions that call themselves, for targets without a stack", |module, job| Ok(job.refuse(crate::recursion::run(module)))),
    pass("specialise", "gives specialization constants their values and folds what reads them", |module, job| Ok(crate::specialise::run_on(module, &job.spec.constant_values)?)),
    pass("emulate-constants", "specialization constants become loads from a buffer that kernels take", |module, job| Ok(crate::emulate_constants::run(module, &job.spec.spec_constants, &job.kernels())??)),
    pass("fast-math", "lets floating-point operations be inexact", |module, job| Ok(crate::fast_math::run_on(module, job.spec.fast_math))),
    pass("library-calls", "what the target does not compute by itself becomes a call of the device library", |module, job| Ok(crate::library_calls::run_on(module, &Native::of_triple(&job.spec.target)))),
    pass("split", "keeps the kernels of one image of several, and what they reach", |module, job| Ok(crate::split::keep(module, &job.spec.part.iter().map(String::as_str).collect())?)),
    pass("loop-checks", "loops in which nothing can panic run without their checks", |module, _| Ok(crate::loop_checks::run(module)?)),
    pass("group-checks", "checks that come one after another are decided together", |module, _| Ok(crate::group_checks::run(module))),
    pass("loop-chunks", "loops that check what they load make several turns at once (GPUs)", |module, _| Ok(crate::loop_chunks::run(module)?)),
    pass("early-loads", "loads from global memory come before stores to local memory (GPUs)", |module, _| Ok(crate::early_loads::run(module))),
    pass("dead-arguments", "removes the parameters that a kernel does not use", |module, job| { let kept = crate::dead_arguments::run(module, &job.kernels()); job.note_passed(kept); Ok(()) }),
    pass("local-to-shared", "one symbol for all memory of a work-group, with offsets for pointers (CUDA)", |module, job| { let align = job.kernels.iter().filter_map(|kernel| kernel.groups).map(|groups| groups.local_align).max(); crate::local_to_shared::run(module, &job.kernels(), align.unwrap_or(1)) }),
    pass("panic-shapes", "panics that show plain values pass them on, and no memory (GPUs)", |module, _| Ok(crate::panic_shapes::run(module))),
    pass("panic-exits", "the panics of a function leave by one block (GPUs)", |module, _| Ok(crate::panic_exits::run(module))),
    pass("keep-comparisons", "comparisons of 64 bits that are joined stay comparisons (GPUs)", |module, _| Ok(crate::keep_comparisons::run(module))),
    pass("detours", "detours that few values take are decided once, behind what all others need (GPUs)", |module, _| Ok(crate::detours::run(module))),
    pass("narrow-checks", "checks of indices against a length of 31 bits are made in 32 bits (GPUs)", |module, _| Ok(crate::narrow_checks::run(module))),
    pass("aligned-steps", "accesses at addresses that go on by steps have the alignment of the first (GPUs)", |module, _| Ok(crate::aligned_steps::run(module))),
    pass("shared-products", "products that differ by a constant times the same factor share one multiplication (GPUs)", |module, _| Ok(crate::shared_products::run(module))),
    pass("launch-bounds", "kernels with loops that load much may have more registers (NVIDIA)", |module, _| Ok(crate::launch_bounds::run(module))),
    pass("narrow-steps", "addresses that differ by a number of 32 bits are one step from each other (NVIDIA)", |module, _| Ok(crate::narrow_steps::run(module))),
    pass("short-divisions", "counts of turns that fit into 32 bits are divided in 32 bits (GPUs)", |module, _| Ok(crate::short_divisions::run(module))),
    pass("wide-copies", "large fills and copies of memory become loops of words (GPUs)", |module, _| Ok(crate::wide_copies::run(module))),
    pass("private-atomics", "atomic accesses of a work-item's own memory become plain ones (GPUs)", |module, _| Ok(crate::private_atomics::run_on(module))),
    pass("quiet-loads", "loads of the group's memory that nobody can store to meanwhile become plain ones (GPUs)", |module, _| Ok(crate::quiet_loads::run(module))),
    pass("circular-statics", "statics that refer to each other in a circle are declared before they are defined (PTX)", |module, _| Ok(crate::circular_statics::run(module))),
    pass("unroll-hints", "small loops that are counted have several turns made one (GPUs)", |module, _| Ok(crate::unroll_hints::run(module))),
    pass("address-spaces", "tells accesses which of the target's memories they mean (GPUs)", |module, job| crate::address_spaces::run(module, &job.spec.target, &job.kernels())),
];

/// Names that stand for several passes in a row.
pub static PIPELINES: &[(&str, &[Pass])] = &[("stage1", STAGE1)];

/// One pass: its name, what it does, and how to run it.
#[derive(Debug)]
pub struct Pass {
    /// Its name: that of its file, with `-` for `_`.
    pub name: &'static str,
    /// What it does, in one line.
    pub about: &'static str,
    run: fn(&Module<'_>, &mut Job<'_>) -> Result<(), PassError>,
}

const fn pass(
    name: &'static str,
    about: &'static str,
    run: fn(&Module<'_>, &mut Job<'_>) -> Result<(), PassError>,
) -> Pass {
    Pass { name, about, run }
}

/// What passes are given beside the module, and where they leave what they find out.
#[derive(Debug)]
pub struct Job<'a> {
    /// What stage 1 knows of the module.
    pub spec: &'a DeviceSpec,
    /// What no device has. A pass that adds to it is the last one to run.
    pub violations: Vec<Violation>,
    /// Where each instruction comes from, if the module is numbered.
    pub sites: Vec<CallSite>,
    /// What is known of each kernel, in the order of the specification.
    pub kernels: Vec<KernelImage>,
    /// What makes kernels slow.
    pub costs: Costs,
    /// Whether LLVM's verifier runs after each pass, not only at the end. On in builds with debug assertions.
    pub verify_each: bool,
    /// How long each pass took; nothing is measured without it.
    pub times: Option<Vec<(&'static str, Duration)>>,
}

impl<'a> Job<'a> {
    /// Work that has not begun.
    pub fn new(spec: &'a DeviceSpec) -> Self {
        let kernels = spec.kernels.iter().map(|kernel| KernelImage::new(&kernel.name)).collect();
        let verify_each = cfg!(debug_assertions);
        Job {
            spec,
            violations: Vec::new(),
            sites: Vec::new(),
            kernels,
            costs: Costs::default(),
            verify_each,
            times: None,
        }
    }

    /// The names of the kernels, and of their variants.
    pub fn kernels(&self) -> HashSet<&str> {
        let variants = self.kernels.iter().filter_map(|kernel| kernel.offset_variant.as_deref());
        self.kernels.iter().map(|kernel| kernel.name.as_str()).chain(variants).collect()
    }

    /// The names of all functions that other modules see: the kernels, their variants, and the functions that are exported.
    pub fn roots(&self) -> HashSet<&str> {
        let exports = self.spec.exports.iter().map(String::as_str);
        self.kernels().into_iter().chain(exports).collect()
    }

    /// The time, if times are asked for.
    pub(crate) fn start(&self) -> Option<Instant> {
        self.times.is_some().then(Instant::now)
    }

    /// Notes how long something took that began at `start`.
    pub(crate) fn note(&mut self, what: &'static str, start: Option<Instant>) {
        if let (Some(times), Some(start)) = (&mut self.times, start) {
            times.push((what, start.elapsed()));
        }
    }

    /// Notes which parameters kernels have left.
    fn note_passed(&mut self, kept: Vec<Kept>) {
        for Kept { kernel, parameters } in kept {
            if let Some(image) = self.kernels.iter_mut().find(|image| image.name == kernel) {
                image.passed = Some(parameters);
            }
        }
    }

    /// Notes what no device has.
    pub fn refuse(&mut self, violations: Vec<Violation>) {
        self.violations.extend(violations);
    }
}

/// Why a pass could not do its work.
#[derive(Debug, Error)]
pub enum PassError {
    /// LLVM's own passes failed.
    #[error("LLVM says: {0}")]
    Llvm(String),
    /// Other code calls a kernel or takes its address, and so relies on its parameters.
    #[error("the kernel `{0}` is used by other code, so its parameters cannot change")]
    KernelIsUsed(String),
    /// A kernel could not be made.
    #[error(transparent)]
    KernelEntry(#[from] KernelEntryError),
    /// The arrays in local memory have no place.
    #[error(transparent)]
    LocalMemory(#[from] LocalMemoryError),
    /// A specialization constant could not be given its value.
    #[error(transparent)]
    Specialise(#[from] SpecialiseError),
    /// Specialization constants cannot be read from a buffer.
    #[error(transparent)]
    Emulate(#[from] EmulateError),
    /// The body of a function could not be had.
    #[error(transparent)]
    Import(#[from] ImportError),
}

impl From<String> for PassError {
    fn from(message: String) -> Self {
        PassError::Llvm(message)
    }
}

/// Runs passes over a module, one after the other.
///
/// # Errors
/// The pass that failed or that left invalid IR; or what the passes refuse.
pub fn run<'p>(
    module: &Module<'_>,
    passes: impl IntoIterator<Item = &'p Pass>,
    job: &mut Job<'_>,
) -> Result<(), Stage1Error> {
    let mut last = None;
    for pass in passes {
        let start = job.start();
        (pass.run)(module, job).map_err(|cause| Stage1Error::Pass { pass: pass.name, cause })?;
        job.note(pass.name, start);
        if job.verify_each {
            verify(module, pass.name)?;
        }
        if !job.violations.is_empty() {
            let report = Report {
                violations: std::mem::take(&mut job.violations),
                uses: crate::device_check::uses(module),
                sites: std::mem::take(&mut job.sites),
                kernels: job.roots().into_iter().map(str::to_owned).collect(),
            };
            return Err(Stage1Error::NotForDevices(Box::new(report)));
        }
        last = Some(pass.name);
    }
    match last {
        Some(pass) if !job.verify_each => verify(module, pass),
        _ => Ok(()),
    }
}

/// LLVM's verifier.
fn verify(module: &Module<'_>, pass: &'static str) -> Result<(), Stage1Error> {
    module.verify().map_err(|message| Stage1Error::Invalid { pass, message: message.to_string() })
}

/// All passes, each once.
pub fn all() -> impl Iterator<Item = &'static Pass> {
    STAGE1.iter().chain(OTHERS)
}

/// A name that is neither a pass nor a pipeline.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("there is no pass `{name}`{}", .nearest.map_or(String::new(), |name| format!("; did you mean `{name}`?")))]
pub struct UnknownPass {
    /// The name.
    pub name: String,
    /// The name that it may have been meant to be.
    pub nearest: Option<&'static str>,
}

/// The passes that a list of names stands for; names are separated by commas.
///
/// # Errors
/// The first name that is neither a pass nor a pipeline.
pub fn resolve(names: &str) -> Result<Vec<&'static Pass>, UnknownPass> {
    let mut passes = Vec::new();
    for name in names.split(',').map(str::trim).filter(|name| !name.is_empty()) {
        if let Some(pass) = all().find(|pass| pass.name == name) {
            passes.push(pass);
        } else if let Some((_, pipeline)) = PIPELINES.iter().find(|(known, _)| *known == name) {
            passes.extend(*pipeline);
        } else {
            return Err(UnknownPass { name: name.to_owned(), nearest: nearest(name) });
        }
    }
    Ok(passes)
}

/// The known name that differs in the fewest letters, if that is not most of them.
fn nearest(name: &str) -> Option<&'static str> {
    let known = all().map(|pass| pass.name).chain(PIPELINES.iter().map(|(name, _)| *name));
    let distances = known.map(|known| (strsim::levenshtein(name, known), known));
    let (distance, best) = distances.min()?;
    (distance <= 1 + name.len() / 3).then_some(best)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_the_documentation_of_the_crate_lists_them() {
        let documentation = include_str!("lib.rs");
        let mut names = HashSet::new();
        for pass in all() {
            assert!(names.insert(pass.name), "two passes are called {}", pass.name);
            assert!(
                documentation.contains(&format!("//! | `{}` |", pass.name)),
                "the table in lib.rs has no line for {}",
                pass.name
            );
        }
        assert!(PIPELINES.iter().all(|(name, _)| names.insert(name)));
    }

    #[test]
    fn a_misspelt_name_is_explained() {
        let error = resolve("unwind,reachabilty").unwrap_err();
        assert_eq!((error.name.as_str(), error.nearest), ("reachabilty", Some("reachability")));
        assert_eq!(resolve("frobnicate").unwrap_err().nearest, None);
        assert!(resolve(" ").unwrap().is_empty());
    }
}
