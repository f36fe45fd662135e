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

use thiserror::Error;

use crate::analysis::call_sites;
use crate::bounds::{clamped_checks, loop_versioning, merge_checks, narrow_integers, strip_mine};
use crate::check::{capabilities, cleanup, device_check, exports, performance_lints, recursion};
use crate::cpu::{forward_group_memory, lower_group_updates, split_at_barriers, unique_backedges};
use crate::frontend::{
    allocate_local_memory, declare_spec_constants, drop_refused_cleanup, fold_cpu_features,
    fold_ir_constants, freeze_initialisers, import_host_symbols, inline_refused,
    kernel_reachability, launch_offset, link_std_bodies, lower_allocation, lower_assembly,
    lower_copy_markers, lower_formatters, lower_panics, lower_scoped_atomics, lower_unroll_markers,
    lower_unwind, mark_convergent, outline_kernels, prepare_module, simplify, split_images,
};
use crate::gpu::{
    address_spaces, demote_private_atomics, demote_shared_loads, expand_mem_intrinsics,
    infer_alignment, lower_local_memory, merge_panic_exits, panic_sites, select_elements,
    superblocks, thread_headers, unroll_hints, unroll_policy,
};
use crate::nvptx::{
    circular_statics, hoist_loads, launch_bounds, no_return_atomics, separate_bytes,
    vectorize_relaxed,
};
use crate::pass::{Pass, PassContext, optional, pass};
use crate::spec::target_library::TargetLibraryInfo;
use crate::specialize::dead_arguments::Kept;
use crate::specialize::{
    dead_arguments, device_library, fast_math, promote_locals, spec_constants,
};
use crate::vectorize::{self, expand_copies, split_clamps};

/// All passes, by folder.
#[rustfmt::skip] // one line each
#[allow(clippy::unit_arg)] // some passes return nothing
pub static PASSES: &[Pass] = &[
    // frontend
    pass("prepare-module", "removes what means something to the host's build alone: instrumentation, attributes for its code generator", |module, cx| Ok(prepare_module::run(module, cx.spec.in_process))),
    pass("import-host-symbols", "makes statics, thread-local variables and assembly functions those of the host", |module, _| Ok(import_host_symbols::run(module))),
    pass("mark-convergent", "marks calls that may reach a barrier as convergent", |module, _| Ok(mark_convergent::run(module))),
    pass("lower-unroll-markers", "turns markers of `schism::unroll` into metadata of the loops around them", |module, _| Ok(lower_unroll_markers::run(module))),
    pass("declare-spec-constants", "turns specialization constants into bytes that stay open until stage 2", |module, cx| Ok(declare_spec_constants::run(module, &cx.spec.spec_constants))),
    pass("lower-unwind", "turns invokes into calls and removes landing pads, where the program would not notice them; what may panic loses `nounwind`", |module, cx| Ok(lower_unwind::run_for_kernels(module, cx.spec)?)),
    pass("fold-ir-constants", "replaces IR constants by their values and folds the branches on them", |module, cx| Ok(fold_ir_constants::run(module, &cx.spec.ir_constants, &cx.spec.ir_constant_functions)?)),
    pass("fold-cpu-features", "answers what code asks of the host's processor at run time: it has no features", |module, cx| if cx.spec.host_memory.is_empty() { Ok(fold_cpu_features::run(module)?) } else { Ok(()) }),
    pass("lower-assembly", "replaces inline assembly of one well-known instruction by LLVM's intrinsic", |module, _| Ok(lower_assembly::run(module))),
    pass("lower-formatters", "replaces formatting functions by descriptions of the types that they format", |module, cx| Ok(lower_formatters::run(module, &cx.spec.formatters, &cx.spec.types))),
    pass("lower-panics", "replaces calls of panic functions by `__schism_panic` or `__schism_panic_format`", |module, cx| Ok(lower_panics::run(module, &cx.spec.panics, &cx.spec.types))),
    pass("outline-kernels", "makes the kernel functions: flattened parameters around the entry function", |module, cx| Ok(outline_kernels::run(module, &cx.spec.kernels)?)),
    pass("kernel-reachability", "removes what no kernel reaches through calls or constants", |module, cx| Ok(kernel_reachability::run(module, &cx.roots())?)),
    pass("lower-scoped-atomics", "replaces the builtins of scoped atomics by LLVM's atomics with a scope", |module, _| Ok(lower_scoped_atomics::run(module))),
    pass("freeze-initialisers", "keeps initialisers of mutable statics from being folded", |module, _| Ok(freeze_initialisers::run(module))),
    pass("launch-offset", "clones kernels that read the launch offset, with the offset as parameters", |module, cx| { let refused = launch_offset::run(module, &mut cx.kernels); cx.refuse(refused); Ok(()) }),
    pass("simplify", "promotes locals to registers and removes dead code", |module, _| Ok(simplify::run(module)?)),
    pass("allocate-local-memory", "assigns offsets to the arrays in local memory", |module, cx| Ok(allocate_local_memory::run(module, &mut cx.kernels)?)),
    pass("link-std-bodies", "links functions without MIR from the standard library's bitcode", |module, cx| Ok(link_std_bodies::run(module, cx.spec.std_bodies.as_deref(), &cx.roots())?)),
    pass("drop-refused-cleanup", "removes the landing pads of functions whose cleanup reaches what no device has", |module, cx| Ok(drop_refused_cleanup::run(module, cx.spec, &cx.roots())?)),
    pass("inline-refused", "inlines modules that the device check would refuse, to show what is dead", |module, cx| Ok(inline_refused::run(module, &cx.spec.imports)?)),
    pass("lower-allocation", "lets kernels that work in the program's own memory use the program's allocator", |module, cx| Ok(lower_allocation::run(module, cx.spec))),
    pass("strip-debug", "removes debug information, unless source lines are asked for", |module, cx| { if !cx.spec.lines { module.strip_debug_info(); } Ok(()) }),
    pass("split-images", "keeps the kernels of one image of several, and what they reach", |module, cx| Ok(split_images::keep(module, &cx.spec.part.iter().map(String::as_str).collect())?)),
    // check
    pass("cleanup", "finds kernels whose unwinding the program would notice", |module, cx| Ok(cleanup::run(module, cx.spec, &mut cx.kernels))),
    pass("exports", "refuses exported functions that use what only a kernel has", |module, cx| Ok(cx.refuse(exports::run(module, cx.spec)))),
    pass("device-check", "refuses what no device has, with every use of it", |module, cx| { cx.refuse(device_check::run(module, &cx.spec.imports)); Ok(freeze_initialisers::release(module)?) }),
    pass("lower-copy-markers", "lets kernels use copies of small values that they refer to, where that is not observable", |module, cx| Ok(lower_copy_markers::run(module, &cx.kernels)?)),
    pass("capabilities", "records what each kernel requires of a device and of the runtime", |module, cx| Ok(capabilities::run(module, cx.spec, &mut cx.kernels))),
    pass("performance-lints", "finds code that works and makes kernels slow, for warnings", |module, cx| Ok(cx.lints = performance_lints::run(module, cx.spec, &cx.sites)?)),
    pass("recursion", "refuses functions that call themselves, for targets without a stack", |module, cx| Ok(cx.refuse(recursion::run(module)))),
    // specialize
    pass("spec-constants", "gives specialization constants their values and folds what reads them", |module, cx| Ok(spec_constants::run_on(module, &cx.spec.constant_values)?)),
    pass("fast-math", "relaxes floating-point operations", |module, cx| Ok(fast_math::run_on(module, cx.spec.fast_math))),
    pass("device-library", "replaces mathematics that the target does not compute by calls of the device library", |module, cx| Ok(device_library::run_on(module, &TargetLibraryInfo::of_triple(&cx.spec.target)))),
    pass("promote-locals", "promotes locals to registers, each lifetime by itself", |module, _| Ok(promote_locals::run(module)?)),
    pass("dead-arguments", "removes the parameters that a kernel does not use", |module, cx| { let kept = dead_arguments::run(module, &cx.kernels()); note_passed(cx, kept); Ok(()) }),
    // bounds
    optional("loop-versioning", "clones loops without their checks, and decides before the loop which one runs", |module, _| Ok(loop_versioning::run(module)?)),
    optional("merge-checks", "merges successive range checks into one branch", |module, _| Ok(merge_checks::run(module))),
    optional("strip-mine", "strip-mines loops that check the indices they load, and loads a strip at once (GPUs; reads past slices)", |module, _| Ok(strip_mine::run(module)?)),
    optional("clamped-checks", "decides checks of clamped indices by the sizes that they are clamped to (GPUs)", |module, _| Ok(clamped_checks::run(module))),
    optional("narrow-integers", "computes in 32 bits what fits: comparisons of indices with lengths below 2^31, clamps, divisions of trip counts (GPUs)", |module, _| Ok(narrow_integers::run(module))),
    // cpu
    optional("split-at-barriers", "cuts kernels at barriers into loops over a group's work-items", |module, _| split_at_barriers::run(module)),
    optional("unique-backedges", "gives each loop one edge back to its header (CPU)", |module, _| { unique_backedges::run(module); Ok(()) }),
    optional("forward-group-memory", "keeps in registers what work-items of a group of known size leave in its memory for each other (CPU)", |module, _| Ok(forward_group_memory::run(module)?)),
    pass("lower-group-updates", "turns relaxed updates of a group's local memory into plain accesses", |module, _| Ok(lower_group_updates::run(module))),
    // vectorize
    optional("split-clamps", "divides loops over work-items where clamps of indices begin and cease to matter (CPU)", |module, _| Ok(split_clamps::run(module)?)),
    optional("expand-copies", "copies parts of private arrays element by element (CPU)", |module, _| { expand_copies::run(module); Ok(()) }),
    optional("vectorize", "computes several work-items at once, in the lanes of vectors (CPU)", |module, cx| Ok(cx.remarks.extend(vectorize::run(module, cx.spec.lanes.as_ref())?))),
    // gpu
    pass("lower-local-memory", "places the local memory of a work-group in one symbol, with offsets for pointers (CUDA)", |module, cx| { Ok(lower_local_memory::run(module, &cx.kernels(), cx.local_align())?) }),
    pass("panic-sites", "turns panics that show plain values into static descriptors and scalars", |module, _| Ok(panic_sites::run(module))),
    pass("merge-panic-exits", "lets all panics of a function leave by one block", |module, _| Ok(merge_panic_exits::run(module))),
    optional("thread-headers", "threads jumps across loop headers, where the state of an iterator is known", |module, _| Ok(thread_headers::run(module)?)),
    optional("superblocks", "speculates the fast paths of several rare-case operations in one straight-line block", |module, _| Ok(superblocks::run(module))),
    optional("infer-alignment", "raises the alignment of accesses at addresses that advance by constant steps", |module, _| Ok(infer_alignment::run(module)?)),
    optional("select-elements", "keeps private arrays in registers whose indices are one of a few constants (GPUs)", |module, _| Ok(select_elements::run(module)?)),
    optional("expand-mem-intrinsics", "expands large memset and memcpy intrinsics into loops of words", |module, _| Ok(expand_mem_intrinsics::run(module))),
    pass("demote-private-atomics", "turns atomic accesses of private memory into plain ones", |module, _| Ok(demote_private_atomics::run_on(module))),
    optional("demote-shared-loads", "turns relaxed atomic loads of work-group memory into plain loads where no store is possible in the same barrier interval", |module, _| Ok(demote_shared_loads::run(module))),
    optional("unroll-hints", "adds unroll counts to small counted loops", |module, _| Ok(unroll_hints::run(module))),
    optional("unroll-policy", "unrolls loops over private arrays completely, and for OpenCL keeps loops around loops with barriers", |module, cx| Ok(unroll_policy::run(module, &cx.spec.target)?)),
    pass("address-spaces", "moves pointers into the target's address spaces", |module, cx| Ok(address_spaces::run(module, &cx.spec.target, &cx.kernels())?)),
    // nvptx
    optional("hoist-loads", "requests global memory before the roots and quotients of a block", |module, _| Ok(hoist_loads::run(module))),
    optional("separate-bytes", "keeps loads of bytes apart whose values a loop uses", |module, _| Ok(separate_bytes::run(module))),
    optional("vectorize-relaxed", "makes one access of relaxed atomic ones to neighbours in local memory", |module, _| Ok(vectorize_relaxed::run(module)?)),
    optional("launch-bounds", "gives kernels with many loads in a loop more registers", |module, _| Ok(launch_bounds::run(module))),
    optional("no-return-atomics", "makes no-return atomics of updates of global memory whose previous value is not used", |module, _| Ok(no_return_atomics::run(module))),
    pass("circular-statics", "declares statics that refer to each other in a cycle before their definitions", |module, _| Ok(circular_statics::run(module))),
    // analysis
    pass("call-sites", "numbers every instruction, so that reports tell where each comes from", |module, cx| { cx.sites = call_sites::number(module); Ok(()) }),
];

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
    fn names_are_unique_and_the_documentation_of_the_crate_lists_them() {
        let documentation = include_str!("lib.rs");
        let mut names = HashSet::new();
        for pass in PASSES {
            assert!(names.insert(pass.name), "two passes are called {}", pass.name);
            assert!(
                documentation.contains(&format!("//! | `{}` |", pass.name)),
                "the table in lib.rs has no line for {}",
                pass.name
            );
        }
    }
}
