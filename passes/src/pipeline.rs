//! The table of passes: one line each, in the order in which stage 1 runs them.
//!
//! Stage 1, the tool `schism-opt` and the tests all read this table. To add a pass, write its file and
//! add its line; a folder `tests/passes/<pass>/` with its cases is asked for by the tests.
//!
//! ```
//! use schism_passes::pipeline;
//!
//! let passes = pipeline::resolve("unwind,cleanup")?;
//! assert_eq!(passes.len(), 2);
//! assert_eq!(pipeline::resolve("stage1")?.len(), pipeline::STAGE1.len());
//! let error = pipeline::resolve("clean-up").unwrap_err();
//! assert!(error.to_string().contains("did you mean `cleanup`?"));
//! # Ok::<(), pipeline::UnknownPass>(())
//! ```

use inkwell::module::Module;
use thiserror::Error;

use crate::analysis::{call_sites, uses};
use crate::bounds::{loop_versioning, merge_checks, narrow_checks, strip_mine};
use crate::check::{capabilities, device_check, exports, performance_lints, recursion};
use crate::frontend::{
    allocate_local_memory, declare_spec_constants, fold_ir_constants, freeze_initialisers,
    inline_refused, kernel_reachability, launch_offset, link_std_bodies, lower_formatters,
    lower_panics, lower_scoped_atomics, lower_unwind, mark_convergent, outline_kernels, simplify,
    split_images, strip_host_attributes, strip_instrumentation,
};
use crate::gpu::{
    address_spaces, demote_private_atomics, demote_shared_loads, expand_mem_intrinsics,
    hoist_global_loads, infer_alignment, lower_local_memory, merge_panic_exits, narrow_division,
    panic_sites, superblocks, unroll_hints,
};
use crate::nvptx::{
    address_strides, circular_statics, launch_bounds, product_reuse, suppress_umax,
};
use crate::pass::{Job, Pass, PassError, pass};
use crate::spec::report::Report;
use crate::spec::target_library::Native;
use crate::specialize::dead_arguments::Kept;
use crate::specialize::{
    constant_buffer, dead_arguments, device_library, fast_math, spec_constants,
};

/// The passes of stage 1, in their order.
#[rustfmt::skip] // one line each
#[allow(clippy::unit_arg)] // some passes return nothing
pub static STAGE1: &[Pass] = &[
    pass("instrumentation", "takes out what an instrumented build adds to code", |module, _| Ok(strip_instrumentation::run(module))),
    pass("host-attributes", "drops what only means something to the host's code generator", |module, _| Ok(strip_host_attributes::run(module))),
    pass("convergence", "marks what may come to a barrier, so that LLVM leaves it where it is", |module, _| Ok(mark_convergent::run(module))),
    pass("spec-constants", "specialization constants become bytes that stay open until stage 2", |module, job| Ok(declare_spec_constants::run(module, &job.spec.spec_constants))),
    pass("unwind", "a device has no landing pads: invokes become calls", |module, _| Ok(lower_unwind::run(module)?)),
    pass("ir-constants", "gives IR constants their value and folds the branches on them", |module, job| Ok(fold_ir_constants::run(module, &job.spec.ir_constants, &job.spec.ir_constant_functions)?)),
    pass("formatters", "formatting functions become descriptions of what they format", |module, job| Ok(lower_formatters::run(module, &job.spec.formatters, &job.spec.types))),
    pass("panics", "calls of panic functions become `__schism_panic` or `__schism_panic_format`", |module, job| Ok(lower_panics::run(module, &job.spec.panics, &job.spec.types))),
    pass("kernel-entry", "makes the kernels: flattened parameters around the entry function", |module, job| Ok(outline_kernels::run(module, &job.spec.kernels)?)),
    pass("reachability", "keeps what kernels reach, through calls and through constants", |module, job| Ok(kernel_reachability::run(module, &job.roots())?)),
    pass("exports", "refuses exported functions that ask for what only a kernel has", |module, job| Ok(job.refuse(exports::run(module, job.spec)))),
    pass("scoped-atomics", "atomic accesses that say who they are for become those of LLVM", |module, _| Ok(lower_scoped_atomics::run(module))),
    pass("hold-statics", "keeps the simplification from folding statics whose value can change", |module, _| Ok(freeze_initialisers::run(module))),
    pass("implicit-offset", "kernels that read where their launch begins get a variant that is told", |module, job| { let refused = launch_offset::run(module, &mut job.kernels); job.refuse(refused); Ok(()) }),
    pass("cleanup", "target-neutral simplification, so that stage 2 starts from small IR", |module, _| Ok(simplify::run(module)?)),
    pass("local-memory", "gives the arrays in local memory their places", |module, job| Ok(allocate_local_memory::run(module, &mut job.kernels)?)),
    pass("import-bodies", "functions without MIR get the body that the standard library was compiled to", |module, job| Ok(link_std_bodies::run(module, job.spec.provider.as_deref(), &job.roots())?)),
    pass("inline-refused", "inlines modules that the device check would refuse: that may show what is dead", |module, job| Ok(inline_refused::run(module, &job.spec.imports)?)),
    pass("device-check", "refuses what no device has, with every use of it", |module, job| { job.refuse(device_check::run(module, &job.spec.imports)); Ok(freeze_initialisers::release(module)?) }),
    pass("aspects", "notes what each kernel needs of a device and of the runtime", |module, job| Ok(capabilities::run(module, job.spec, &mut job.kernels))),
    pass("costs", "finds what works and makes kernels slow, for warnings", |module, job| Ok(job.costs = performance_lints::run(module, job.spec.warnings, &job.sites)?)),
    pass("strip-debug", "drops debug information, which only the checks need, unless lines are asked for", |module, job| { if !job.spec.lines { module.strip_debug_info(); } Ok(()) }),
];

/// Passes that are not part of stage 1: for stage 2's targets, and for people at `schism-opt`.
#[rustfmt::skip] // one line each
#[allow(clippy::unit_arg)] // some passes return nothing
pub static OTHERS: &[Pass] = &[
    pass("call-sites", "numbers every instruction, so that reports tell where each comes from", |module, job| { job.sites = call_sites::number(module); Ok(()) }),
    pass("recursion", "refuses functions that call themselves, for targets without a stack", |module, job| Ok(job.refuse(recursion::run(module)))),
    pass("specialise", "gives specialization constants their values and folds what reads them", |module, job| Ok(spec_constants::run_on(module, &job.spec.constant_values)?)),
    pass("emulate-constants", "specialization constants become loads from a buffer that kernels take", |module, job| Ok(constant_buffer::run(module, &job.spec.spec_constants, &job.kernels())??)),
    pass("fast-math", "lets floating-point operations be inexact", |module, job| Ok(fast_math::run_on(module, job.spec.fast_math))),
    pass("library-calls", "what the target does not compute by itself becomes a call of the device library", |module, job| Ok(device_library::run_on(module, &Native::of_triple(&job.spec.target)))),
    pass("split", "keeps the kernels of one image of several, and what they reach", |module, job| Ok(split_images::keep(module, &job.spec.part.iter().map(String::as_str).collect())?)),
    pass("loop-checks", "loops in which nothing can panic run without their checks", |module, _| Ok(loop_versioning::run(module)?)),
    pass("group-checks", "checks that come one after another are decided together", |module, _| Ok(merge_checks::run(module))),
    pass("loop-chunks", "loops that check what they load make several turns at once (GPUs)", |module, _| Ok(strip_mine::run(module)?)),
    pass("early-loads", "loads from global memory come before stores to local memory (GPUs)", |module, _| Ok(hoist_global_loads::run(module))),
    pass("dead-arguments", "removes the parameters that a kernel does not use", |module, job| { let kept = dead_arguments::run(module, &job.kernels()); note_passed(job, kept); Ok(()) }),
    pass("local-to-shared", "one symbol for all memory of a work-group, with offsets for pointers (CUDA)", |module, job| { let align = job.kernels.iter().filter_map(|kernel| kernel.groups).map(|groups| groups.local_align).max(); Ok(lower_local_memory::run(module, &job.kernels(), align.unwrap_or(1))?) }),
    pass("panic-shapes", "panics that show plain values pass them on, and no memory (GPUs)", |module, _| Ok(panic_sites::run(module))),
    pass("panic-exits", "the panics of a function leave by one block (GPUs)", |module, _| Ok(merge_panic_exits::run(module))),
    pass("keep-comparisons", "comparisons of 64 bits that are joined stay comparisons (GPUs)", |module, _| Ok(suppress_umax::run(module))),
    pass("detours", "detours that few values take are decided once, behind what all others need (GPUs)", |module, _| Ok(superblocks::run(module))),
    pass("narrow-checks", "checks of indices against a length of 31 bits are made in 32 bits (GPUs)", |module, _| Ok(narrow_checks::run(module))),
    pass("aligned-steps", "accesses at addresses that go on by steps have the alignment of the first (GPUs)", |module, _| Ok(infer_alignment::run(module))),
    pass("shared-products", "products that differ by a constant times the same factor share one multiplication (GPUs)", |module, _| Ok(product_reuse::run(module))),
    pass("launch-bounds", "kernels with loops that load much may have more registers (NVIDIA)", |module, _| Ok(launch_bounds::run(module))),
    pass("narrow-steps", "addresses that differ by a number of 32 bits are one step from each other (NVIDIA)", |module, _| Ok(address_strides::run(module))),
    pass("short-divisions", "counts of turns that fit into 32 bits are divided in 32 bits (GPUs)", |module, _| Ok(narrow_division::run(module))),
    pass("wide-copies", "large fills and copies of memory become loops of words (GPUs)", |module, _| Ok(expand_mem_intrinsics::run(module))),
    pass("private-atomics", "atomic accesses of a work-item's own memory become plain ones (GPUs)", |module, _| Ok(demote_private_atomics::run_on(module))),
    pass("quiet-loads", "loads of the group's memory that nobody can store to meanwhile become plain ones (GPUs)", |module, _| Ok(demote_shared_loads::run(module))),
    pass("circular-statics", "statics that refer to each other in a circle are declared before they are defined (PTX)", |module, _| Ok(circular_statics::run(module))),
    pass("unroll-hints", "small loops that are counted have several turns made one (GPUs)", |module, _| Ok(unroll_hints::run(module))),
    pass("address-spaces", "tells accesses which of the target's memories they mean (GPUs)", |module, job| Ok(address_spaces::run(module, &job.spec.target, &job.kernels())?)),
];

/// Names that stand for several passes in a row.
pub static PIPELINES: &[(&str, &[Pass])] = &[("stage1", STAGE1)];

/// Notes which parameters kernels have left.
fn note_passed(job: &mut Job<'_>, kept: Vec<Kept>) {
    for Kept { kernel, parameters } in kept {
        if let Some(image) = job.kernels.iter_mut().find(|image| image.name == kernel) {
            image.passed = Some(parameters);
        }
    }
}

/// Why passes did not run to their end.
#[derive(Debug, Error)]
pub enum PipelineError {
    /// A pass could not do its work.
    #[error(transparent)]
    Pass(#[from] PassError),
    /// A pass left IR that does not verify: a defect of that pass.
    #[error("pass `{pass}` left invalid IR: {message}")]
    Invalid {
        /// The pass.
        pass: &'static str,
        /// The verifier's message.
        message: String,
    },
    /// Kernels reach what no device has.
    #[error("{0}")]
    NotForDevices(Box<Report>),
}

/// Runs passes over a module, one after the other.
///
/// # Errors
/// The pass that failed or that left invalid IR; or what the passes refuse.
pub fn run<'p>(
    module: &Module<'_>,
    passes: impl IntoIterator<Item = &'p Pass>,
    job: &mut Job<'_>,
) -> Result<(), PipelineError> {
    let mut last = None;
    for pass in passes {
        let start = job.start();
        (pass.run)(module, job).map_err(|source| PassError { pass: pass.name, source })?;
        job.note(pass.name, start);
        if job.verify_each {
            verify(module, pass.name)?;
        }
        if !job.violations.is_empty() {
            let report = Report {
                violations: std::mem::take(&mut job.violations),
                uses: uses::uses(module),
                sites: std::mem::take(&mut job.sites),
                kernels: job.roots().into_iter().map(str::to_owned).collect(),
            };
            return Err(PipelineError::NotForDevices(Box::new(report)));
        }
        last = Some(pass.name);
    }
    match last {
        Some(pass) if !job.verify_each => verify(module, pass),
        _ => Ok(()),
    }
}

/// LLVM's verifier.
fn verify(module: &Module<'_>, pass: &'static str) -> Result<(), PipelineError> {
    module.verify().map_err(|message| PipelineError::Invalid { pass, message: message.to_string() })
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
    use std::collections::HashSet;

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
