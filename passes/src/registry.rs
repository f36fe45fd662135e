//! The registry of passes: one line each.
//!
//! Their orders are in [`pipeline`](crate::pipeline). To add a pass, write its file, add its line
//! here and its name to a pipeline; the tests ask for a folder `tests/passes/<pass>/` with its
//! cases.
//!
//! ```
//! use schism_passes::registry;
//!
//! assert!(registry::find("strip-mine")?.optional);
//! let error = registry::find("simplfy").unwrap_err();
//! assert!(error.to_string().contains("did you mean `simplify`?"));
//! # Ok::<(), registry::UnknownPass>(())
//! ```

use inkwell::module::Module;
use schism_llvm::{AsModule, Value};
use thiserror::Error;

use crate::analysis::call_sites;
use crate::bounds::{clamped_checks, loop_versioning, merge_checks, narrow_integers, strip_mine};
use crate::check::{capabilities, cleanup, device_check, exports, performance_lints, recursion};
use crate::cpu::{forward_group_memory, split_at_barriers, unique_backedges};
use crate::frontend::{
    allocate_local_memory, finish_module, fold_constants, freeze_initialisers, import_host_symbols,
    kernel_reachability, launch_offset, link_std_bodies, lower_assembly, lower_panics,
    lower_scoped_atomics, lower_unwind, outline_kernels, prepare_module, remove_refused, simplify,
    split_images,
};
use crate::gpu::merge_panic_exits::{Fences, Joins};
use crate::gpu::{
    address_spaces, demote_private_atomics, expand_mem_intrinsics, infer_alignment,
    lower_local_memory, merge_panic_exits, panic_sites, select_elements, superblocks,
    thread_headers, unroll_hints, unroll_policy,
};
use crate::nvptx::{circular_statics, nvptx_prepare};
use crate::pass::{Failure, Pass, PassContext, optional, pass};
use crate::spec::target;
use crate::specialize::dead_arguments::Kept;
use crate::specialize::{
    dead_arguments, device_library, fast_math, promote_locals, spec_constants,
};
use crate::vectorize::{self, split_clamps};

/// All passes, by folder.
#[rustfmt::skip] // one line each
#[allow(clippy::unit_arg)] // some passes return nothing
pub static PASSES: &[Pass] = &[
    // frontend
    pass("prepare-module", "removes what means something to the host's build alone, and lowers the markers of barriers and of `schism::unroll`", |module, cx| Ok(prepare_module::run(module, cx.spec.in_process))),
    pass("import-host-symbols", "makes statics, thread-local variables and assembly functions those of the host", |module, _| Ok(import_host_symbols::run(module))),
    pass("lower-unwind", "turns invokes into calls and removes landing pads, where the program would not notice them; what may panic loses `nounwind`", |module, cx| Ok(lower_unwind::run_for_kernels(module, cx.spec)?)),
    pass("fold-constants", "declares specialization constants, replaces IR constants and questions for the host's processor by their values, and folds the branches on them", |module, cx| Ok(fold_constants::run(module, cx.spec)?)),
    pass("lower-assembly", "replaces inline assembly of one well-known instruction by LLVM's intrinsic", |module, _| Ok(lower_assembly::run(module))),
    pass("lower-panics", "replaces calls of panic functions by `__schism_panic` or `__schism_panic_format`, and formatting functions by descriptions of the types that they format", |module, cx| Ok(lower_panics::run(module, &cx.spec.formatters, &cx.spec.panics, &cx.spec.types))),
    pass("outline-kernels", "makes the kernel functions: flattened parameters around the entry function", |module, cx| Ok(outline_kernels::run(module, &cx.spec.kernels)?)),
    pass("kernel-reachability", "removes what no kernel reaches through calls or constants", |module, cx| Ok(kernel_reachability::run(module, &cx.roots())?)),
    pass("lower-scoped-atomics", "replaces the builtins of scoped atomics by LLVM's atomics with a scope", |module, _| Ok(lower_scoped_atomics::run(module))),
    pass("launch-offset", "clones kernels that read the launch offset, with the offset as parameters", |module, cx| { let refused = launch_offset::run(module, &mut cx.kernels); cx.refuse(refused); Ok(()) }),
    pass("simplify", "promotes locals to registers and removes dead code, but for initialisers of mutable statics", |module, cx| { if !cx.spec.in_process { freeze_initialisers::run(module); } Ok(simplify::run(module)?) }),
    pass("allocate-local-memory", "assigns offsets to the arrays in local memory", |module, cx| Ok(allocate_local_memory::run(module, &mut cx.kernels)?)),
    pass("link-std-bodies", "links functions without MIR from the standard library's bitcode", |module, cx| Ok(link_std_bodies::run(module, cx.spec.std_bodies.as_deref(), &cx.roots())?)),
    pass("remove-refused", "removes what the device check would refuse and no kernel needs: an allocator that is the program's, cleanup, what inlining shows to be dead", |module, cx| Ok(remove_refused::run(module, cx.spec, &cx.roots())?)),
    pass("split-images", "keeps the kernels of one image of several, and what they reach", |module, cx| Ok(split_images::keep(module, &cx.spec.part.iter().map(String::as_str).collect())?)),
    // check
    pass("cleanup", "finds kernels whose unwinding the program would notice", |module, cx| Ok(cleanup::run(module, cx.spec, &mut cx.kernels))),
    pass("exports", "refuses exported functions that use what only a kernel has", |module, cx| Ok(cx.refuse(exports::run(module, cx.spec)))),
    pass("device-check", "refuses what no device has, with every use of it", |module, cx| Ok(cx.refuse(device_check::run(module, &cx.spec.imports)))),
    pass("finish-module", "removes unused statics and debug information, and lets kernels use copies of small values that they refer to", |module, cx| Ok(finish_module::run(module, cx)?)),
    pass("capabilities", "records what each kernel requires of a device and of the runtime", |module, cx| Ok(capabilities::run(module, cx.spec, &mut cx.kernels))),
    pass("performance-lints", "finds code that works and makes kernels slow, for warnings", |module, cx| Ok(cx.lints = performance_lints::run(module, cx.spec, &cx.sites)?)),
    pass("recursion", "refuses functions that call themselves, for targets without a stack", |module, cx| Ok(cx.refuse(recursion::run(module)))),
    // specialize
    pass("spec-constants", "gives specialization constants their values and folds what reads them", |module, cx| Ok(spec_constants::run(module.handle(), &cx.spec.constant_values)?)),
    pass("fast-math", "relaxes floating-point operations", |module, cx| Ok(fast_math::run(module.handle(), cx.spec.fast_math))),
    pass("device-library", "replaces mathematics that the target does not compute by calls of the device library", |module, cx| Ok(device_library::run(module.handle(), &target::library_of(&cx.spec.target)))),
    pass("promote-locals", "promotes locals to registers, each lifetime by itself", |module, _| try_each(module, promote_locals::run)),
    pass("dead-arguments", "removes the parameters that a kernel does not use", |module, cx| { let kept = dead_arguments::run(module, &cx.kernels()); note_passed(cx, kept); Ok(()) }),
    // bounds
    optional("loop-versioning", "clones loops without their checks, and decides before the loop which one runs", |module, _| try_each(module, loop_versioning::run)),
    optional("merge-checks", "merges successive range checks into one branch", |module, _| each(module, merge_checks::run)),
    optional("strip-mine", "strip-mines loops that check the indices they load, and loads a strip at once (GPUs; reads past slices)", |module, _| try_each(module, strip_mine::run)),
    optional("clamped-checks", "decides checks of clamped indices by the sizes that they are clamped to (GPUs)", |module, _| each(module, clamped_checks::run)),
    optional("narrow-integers", "computes in 32 bits what fits: comparisons of indices with lengths below 2^31, clamps, divisions of trip counts (GPUs)", |module, _| Ok(narrow_integers::run(module))),
    // cpu
    optional("split-at-barriers", "cuts kernels at barriers into loops over a group's work-items", |module, _| split_at_barriers::run(module)),
    optional("unique-backedges", "gives each loop one edge back to its header (CPU)", |module, _| each(module, unique_backedges::run)),
    optional("forward-group-memory", "keeps in registers what work-items of a group of known size leave in its memory for each other, and makes updates of it plain accesses (CPU)", |module, _| try_each(module, forward_group_memory::run)),
    // vectorize
    optional("split-clamps", "divides loops over work-items where clamps of indices begin and cease to matter (CPU)", |module, _| Ok(split_clamps::run(module)?)),
    optional("vectorize", "computes several work-items at once, in the lanes of vectors (CPU), or has the lanes of a group share out the loops of an item (GPUs)", |module, cx| Ok(cx.remarks.extend(vectorize::run(module, cx.spec.lanes.as_ref())?))),
    // gpu
    pass("lower-local-memory", "places the local memory of a work-group in one symbol, with offsets for pointers (CUDA)", |module, cx| { Ok(lower_local_memory::run(module.handle(), &cx.kernels(), cx.local_align())?) }),
    pass("panic-sites", "turns panics that show plain values into static descriptors and scalars", |module, _| Ok(panic_sites::run(module.handle()))),
    pass("merge-panic-exits", "lets all panics of a function leave by one block", |module, _| Ok(merge_panic_exits::run(module.handle(), Fences::Yes, Joins::All))),
    optional("thread-headers", "threads jumps across loop headers, where the state of an iterator is known", |module, _| try_each(module, thread_headers::run)),
    optional("superblocks", "requests global memory before roots and quotients, and speculates the fast paths of several rare-case operations in one straight-line block", |module, _| each(module, superblocks::run)),
    optional("infer-alignment", "raises the alignment of accesses at addresses that advance by constant steps", |module, _| try_each(module, infer_alignment::run)),
    optional("select-elements", "keeps private arrays in registers whose indices are one of a few constants (GPUs)", |module, _| try_each(module, select_elements::run)),
    optional("expand-mem-intrinsics", "expands large memset and memcpy intrinsics into loops of words", |module, _| each(module, expand_mem_intrinsics::run)),
    pass("demote-private-atomics", "turns atomic accesses of private memory into plain ones", |module, _| each(module, demote_private_atomics::run)),
    optional("unroll-hints", "adds unroll counts to small counted loops", |module, _| each(module, unroll_hints::run)),
    optional("unroll-policy", "unrolls loops over private arrays completely, and for OpenCL keeps loops around loops with barriers", |module, cx| try_each(module, |function| unroll_policy::run(function, &cx.spec.target))),
    pass("address-spaces", "moves pointers into the target's address spaces", |module, cx| Ok(address_spaces::run(module.handle(), &cx.spec.target, &cx.kernels())?)),
    // nvptx
    optional("nvptx-prepare", "loads bytes for loops apart, joins relaxed accesses, bounds registers, makes no-return atomics", |module, _| try_each(module, nvptx_prepare::run)),
    pass("circular-statics", "declares statics that refer to each other in a cycle before their definitions", |module, _| Ok(circular_statics::run(module.handle()))),
    // analysis
    pass("call-sites", "numbers every instruction, so that reports tell where each comes from", |module, cx| { cx.sites = call_sites::number(module); Ok(()) }),
];

/// The functions of a module that have a body.
fn bodies<'m>(module: &'m Module<'_>) -> impl Iterator<Item = Value<'m>> {
    module.handle().functions().into_iter().filter(|function| !function.is_declaration())
}

/// Runs a pass over each function that has a body.
fn each<'m>(module: &'m Module<'_>, run: impl FnMut(Value<'m>)) -> Result<(), Failure> {
    bodies(module).for_each(run);
    Ok(())
}

/// Runs a pass that may fail over each function that has a body.
fn try_each<'m>(
    module: &'m Module<'_>,
    run: impl FnMut(Value<'m>) -> Result<(), String>,
) -> Result<(), Failure> {
    Ok(bodies(module).try_for_each(run)?)
}

/// The pass of a name.
///
/// # Errors
/// There is none, with the name that may have been meant.
pub fn find(name: &str) -> Result<&'static Pass, UnknownPass> {
    PASSES.iter().find(|pass| pass.name == name).ok_or_else(|| UnknownPass {
        name: name.to_owned(),
        nearest: nearest(name, PASSES.iter().map(|pass| pass.name)),
    })
}

/// Notes which parameters kernels have left.
fn note_passed(cx: &mut PassContext<'_>, kept: Vec<Kept>) {
    for Kept { kernel, parameters } in kept {
        if let Some(image) = cx.kernels.iter_mut().find(|image| image.name == kernel) {
            image.passed = Some(parameters);
        }
    }
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

/// The known name that differs in the fewest letters, if that is not most of them.
pub(crate) fn nearest(
    name: &str,
    known: impl Iterator<Item = &'static str>,
) -> Option<&'static str> {
    let (distance, best) = known.map(|known| (strsim::levenshtein(name, known), known)).min()?;
    (distance <= 1 + name.len() / 3).then_some(best)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn names_are_unique() {
        let mut names = HashSet::new();
        for pass in PASSES {
            assert!(names.insert(pass.name), "two passes are called {}", pass.name);
        }
    }
}
