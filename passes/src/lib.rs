//! LLVM IR passes that shape a device image: LLVM IR in, LLVM IR out.
//!
//! This crate knows neither rustc nor the runtime. Stage 1 hands it one module per crate with
//! everything that the crate's kernels may reach, in rustc's own unoptimised lowering, and gets
//! back the module that travels in the container.
//!
//! # The contract of a device module
//!
//! *In* ([`stage1::run`]): a module that verifies; for every kernel an entry function with the
//! signature `void (ptr kernel, i64 x, i64 y, i64 z, i64 nx, i64 ny, i64 nz)`; panics are calls
//! to functions named in [`DeviceSpec::panics`].
//!
//! *Out*: every function of [`DeviceSpec::exports`], with external linkage, and for every kernel
//! one such function, whose parameters are the flattened captures of its closure and whose
//! work-item ids come from the builtins of [`spec::builtins`]; everything else is internal and
//! reached from a kernel. No attribute of the host's CPU, no instrumentation, no IR constant; landing
//! pads only where a program would notice that a kernel does not unwind.
//!
//! # Orders, and where to add a pass
//!
//! [`registry`] lists the passes, [`pipeline`] their orders in stage 1 and stage 2, and runs them.
//! One pass is one file, or one folder, whose module doc shows IR before and after. Folders are in
//! the order of the flow: [`frontend`] (rustc's IR to a device image), [`check`], [`specialize`]
//! (what a launch knows), [`bounds`], [`cpu`], [`mod@vectorize`], [`gpu`], [`nvptx`]. Below all of
//! them are [`mod@pass`] (what a pass is given), [`analysis`], [`spec`] (what stage 1 tells stage
//! 2) and `ir` (CFG, cloning).
//! No two files import each other.
//!
//! Stage 1:
//!
//! | pass | what it does |
//! |---|---|
//! | `prepare-module` | [`frontend::prepare_module`]: removes what means something to the host's build alone: instrumentation, attributes for its code generator |
//! | `import-host-symbols` | [`frontend::import_host_symbols`]: makes statics, thread-local variables and assembly functions those of the host |
//! | `mark-convergent` | [`frontend::mark_convergent`]: marks calls that may reach a barrier as convergent |
//! | `lower-unroll-markers` | [`frontend::lower_unroll_markers`]: turns markers of `schism::unroll` into metadata of the loops around them |
//! | `declare-spec-constants` | [`frontend::declare_spec_constants`]: turns specialization constants into bytes that stay open until stage 2 |
//! | `fold-ir-constants` | [`frontend::fold_ir_constants`]: replaces IR constants by their values and folds the branches on them |
//! | `fold-cpu-features` | [`frontend::fold_cpu_features`]: answers what code asks of the host's processor at run time: it has no features |
//! | `cleanup` | [`check::cleanup`]: finds kernels whose unwinding the program would notice |
//! | `lower-unwind` | [`frontend::lower_unwind`]: turns invokes into calls and removes landing pads, where the program would not notice them; what may panic loses `nounwind` |
//! | `lower-assembly` | [`frontend::lower_assembly`]: replaces inline assembly of one well-known instruction by LLVM's intrinsic |
//! | `lower-formatters` | [`frontend::lower_formatters`]: replaces formatting functions by descriptions of the types that they format |
//! | `lower-panics` | [`frontend::lower_panics`]: replaces calls of panic functions by `__schism_panic` or `__schism_panic_format` |
//! | `outline-kernels` | [`frontend::outline_kernels`]: makes the kernel functions: flattened parameters around the entry function |
//! | `kernel-reachability` | [`frontend::kernel_reachability`]: removes what no kernel reaches through calls or constants |
//! | `exports` | [`check::exports`]: refuses exported functions that use what only a kernel has |
//! | `lower-scoped-atomics` | [`frontend::lower_scoped_atomics`]: replaces the builtins of scoped atomics by LLVM's atomics with a scope |
//! | `freeze-initialisers` | [`frontend::freeze_initialisers`]: keeps initialisers of mutable statics from being folded |
//! | `launch-offset` | [`frontend::launch_offset`]: clones kernels that read the launch offset, with the offset as parameters |
//! | `simplify` | [`frontend::simplify`]: promotes locals to registers and removes dead code |
//! | `allocate-local-memory` | [`frontend::allocate_local_memory`]: assigns offsets to the arrays in local memory |
//! | `link-std-bodies` | [`frontend::link_std_bodies`]: links functions without MIR from the standard library's bitcode |
//! | `drop-refused-cleanup` | [`frontend::drop_refused_cleanup`]: removes the landing pads of functions whose cleanup reaches what no device has |
//! | `inline-refused` | [`frontend::inline_refused`]: inlines modules that the device check would refuse, to show what is dead |
//! | `lower-allocation` | [`frontend::lower_allocation`]: lets kernels that work in the program's own memory use the program's allocator |
//! | `device-check` | [`check::device_check`]: refuses what no device has, with every use of it |
//! | `lower-copy-markers` | [`frontend::lower_copy_markers`]: lets kernels use copies of small values that they refer to, where that is not observable |
//! | `capabilities` | [`check::capabilities`]: records what each kernel requires of a device and of the runtime |
//! | `performance-lints` | [`check::performance_lints`]: finds code that works and makes kernels slow, for warnings |
//! | `strip-debug` | [`frontend::line_tables`]: removes debug information, unless source lines are asked for |
//!
//! Stage 2, which knows the launch:
//!
//! | pass | what it does |
//! |---|---|
//! | `spec-constants` | [`specialize::spec_constants`]: gives specialization constants their values and folds what reads them |
//! | `fast-math` | [`specialize::fast_math`]: relaxes floating-point operations |
//! | `device-library` | [`specialize::device_library`]: replaces mathematics that the target does not compute by calls of the device library |
//! | `split-images` | [`frontend::split_images`]: keeps the kernels of one image of several, and what they reach |
//! | `split-at-barriers` | [`cpu::split_at_barriers`]: cuts kernels at barriers into loops over a group's work-items |
//! | `loop-versioning` | [`bounds::loop_versioning`]: clones loops without their checks, and decides before the loop which one runs |
//! | `merge-checks` | [`bounds::merge_checks`]: merges successive range checks into one branch |
//! | `clamped-checks` | [`bounds::clamped_checks`]: decides checks of clamped indices by the sizes that they are clamped to |
//! | `split-clamps` | [`mod@vectorize`]: divides loops over work-items where clamps of indices begin and cease to matter |
//! | `expand-copies` | [`vectorize::expand_copies`]: copies parts of private arrays element by element (CPU) |
//! | `vectorize` | [`mod@vectorize`]: computes several work-items at once, in the lanes of vectors (CPU) |
//! | `unique-backedges` | [`cpu::unique_backedges`]: gives each loop one edge back to its header (CPU) |
//! | `forward-group-memory` | [`cpu::forward_group_memory`]: keeps in registers what work-items of a group of known size leave in its memory for each other (CPU) |
//! | `lower-group-updates` | [`cpu::lower_group_updates`]: turns relaxed updates of a group's local memory into plain accesses |
//! | `strip-mine` | [`bounds::strip_mine`]: strip-mines loops that check the indices they load, and loads a strip at once (GPUs; reads past slices) |
//! | `promote-locals` | [`specialize::promote_locals`]: promotes locals to registers, each lifetime by itself |
//! | `dead-arguments` | [`specialize::dead_arguments`]: removes the parameters that a kernel does not use |
//! | `lower-local-memory` | [`gpu::lower_local_memory`]: places the local memory of a work-group in one symbol, with offsets for pointers (CUDA) |
//! | `panic-sites` | [`gpu::panic_sites`]: turns panics that show plain values into static descriptors and scalars |
//! | `merge-panic-exits` | [`gpu::merge_panic_exits`]: lets all panics of a function leave by one block |
//! | `thread-headers` | [`gpu::thread_headers`]: threads jumps across loop headers, where the state of an iterator is known |
//! | `superblocks` | [`gpu::superblocks`]: speculates the fast paths of several rare-case operations in one straight-line block |
//! | `narrow-integers` | [`bounds::narrow_integers`]: computes in 32 bits what fits: comparisons of indices with lengths below 2^31, clamps, divisions of trip counts (GPUs) |
//! | `infer-alignment` | [`gpu::infer_alignment`]: raises the alignment of accesses at addresses that advance by constant steps |
//! | `no-return-atomics` | [`nvptx::no_return_atomics`]: makes no-return atomics of updates of global memory whose previous value is not used |
//! | `hoist-loads` | [`nvptx::hoist_loads`]: requests global memory before the roots and quotients of a block |
//! | `separate-bytes` | [`nvptx::separate_bytes`]: keeps loads of bytes apart whose values a loop uses |
//! | `vectorize-relaxed` | [`nvptx::vectorize_relaxed`]: makes one access of relaxed atomic ones to neighbours in local memory |
//! | `launch-bounds` | [`nvptx::launch_bounds`]: gives kernels with many loads in a loop more registers |
//! | `select-elements` | [`gpu::select_elements`]: keeps private arrays in registers whose indices are one of a few constants |
//! | `expand-mem-intrinsics` | [`gpu::expand_mem_intrinsics`]: expands large memset and memcpy intrinsics into loops of words |
//! | `demote-private-atomics` | [`gpu::demote_private_atomics`]: turns atomic accesses of private memory into plain ones |
//! | `demote-shared-loads` | [`gpu::demote_shared_loads`]: turns relaxed atomic loads of work-group memory into plain loads where no store is possible in the same barrier interval |
//! | `circular-statics` | [`nvptx::circular_statics`]: declares statics that refer to each other in a cycle before their definitions |
//! | `unroll-hints` | [`gpu::unroll_hints`]: adds unroll counts to small counted loops |
//! | `unroll-policy` | [`gpu::unroll_policy`]: unrolls loops over private arrays completely, and for OpenCL keeps loops around loops with barriers |
//! | `address-spaces` | [`gpu::address_spaces`]: moves pointers into the target's address spaces |
//!
//! For diagnostics, and for targets without a stack:
//!
//! | pass | what it does |
//! |---|---|
//! | `call-sites` | [`analysis::call_sites`]: numbers every instruction, so that reports tell where each comes from |
//! | `recursion` | [`check::recursion`]: refuses functions that call themselves, for targets without a stack |
//!
//! The tool `schism-opt` runs any of them over a file, see [`opt`].
//!
//! [`frontend::constant_body`] gives a host function another body.

pub mod analysis;
pub mod bounds;
pub mod check;
pub mod cpu;
pub mod frontend;
pub mod gpu;
mod ir;
pub mod nvptx;
pub mod opt;
pub mod pass;
pub mod pipeline;
pub mod registry;
pub mod spec;
pub mod specialize;
pub mod stage1;
pub mod vectorize;

pub use schism_message::{Kind, Trait};
pub use spec::device::DeviceSpec;
pub use spec::image::KernelImage;
pub use spec::kernel::{KernelSpec, Parameter, ParameterKind, SpecConstant};
pub use spec::messages::{
    Formatter, PanicFunction, PanicMessage, PanicValue, TypeDescription, TypePart,
};
pub use spec::std_bodies::bodies::StdBodies;
pub use stage1::{DeviceImage, Stage1Error};
