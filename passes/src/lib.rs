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
//! *Out*: every function of [`DeviceSpec::exports`], with external linkage, and for every kernel one such function, whose parameters are the flattened
//! captures of its closure and whose work-item ids come from the builtins of [`spec::builtins`];
//! everything else is internal and reached from a kernel. No invoke, no landing pad, no attribute
//! of the host's CPU, no instrumentation, no IR constant.
//!
//! # Order, and where to add a pass
//!
//! [`pipeline`] lists the passes in the order in which they run. One pass is one file, or one folder, whose module
//! doc shows IR before and after:
//!
//! | pass | what it does |
//! |---|---|
//! | `instrumentation` | [`frontend::strip_instrumentation`]: takes out what an instrumented build adds to code |
//! | `host-attributes` | [`frontend::strip_host_attributes`]: drops what only means something to the host's code generator |
//! | `convergence` | [`frontend::mark_convergent`]: marks what may come to a barrier, so that LLVM leaves it where it is |
//! | `spec-constants` | [`frontend::declare_spec_constants`]: specialization constants become bytes that stay open until stage 2 |
//! | `unwind` | [`frontend::lower_unwind`]: a device has no landing pads, so invokes become calls; what may panic is not `nounwind` |
//! | `ir-constants` | [`frontend::fold_ir_constants`]: gives IR constants their value and folds the branches on them |
//! | `formatters` | [`frontend::lower_formatters`]: formatting functions become descriptions of what they format |
//! | `panics` | [`frontend::lower_panics`]: calls of panic functions become `__schism_panic` or `__schism_panic_format` |
//! | `kernel-entry` | [`frontend::outline_kernels`]: makes the kernels, flattened parameters around the entry function |
//! | `reachability` | [`frontend::kernel_reachability`]: keeps what kernels reach, through calls and through constants |
//! | `exports` | [`check::exports`]: refuses exported functions that ask for what only a kernel has |
//! | `scoped-atomics` | [`frontend::lower_scoped_atomics`]: atomic accesses that say who they are for become those of LLVM |
//! | `hold-statics` | [`check::device_check::hold_statics`]: keeps statics whose value can change from being folded |
//! | `implicit-offset` | [`frontend::launch_offset`]: kernels that read where their launch begins get a variant that is told |
//! | `cleanup` | [`frontend::simplify`]: target-neutral simplification, so that stage 2 starts from small IR |
//! | `local-memory` | [`frontend::allocate_local_memory`]: gives the arrays in local memory their places |
//! | `import-bodies` | [`frontend::link_std_bodies`]: functions without MIR get the body that the standard library was compiled to |
//! | `inline-refused` | [`frontend::simplify::inline_refused`]: inlines modules that would be refused as they are |
//! | `device-check` | [`check::device_check`]: refuses what no device has, with every use of it |
//! | `aspects` | [`check::capabilities`]: notes what each kernel needs of a device and of the runtime |
//! | `costs` | [`check::performance_lints`]: finds what works and makes kernels slow, for warnings |
//! | `strip-debug` | drops debug information, which only the checks need, unless lines are asked for ([`frontend::line_tables`]) |
//!
//! Others are for stage 2, which knows the launch:
//!
//! | pass | what it does |
//! |---|---|
//! | `specialise` | [`specialize::spec_constants`]: gives specialization constants their values and folds what reads them |
//! | `emulate-constants` | [`specialize::constant_buffer`]: the same constants become loads from a buffer that kernels take |
//! | `fast-math` | [`specialize::fast_math`]: lets floating-point operations be inexact |
//! | `library-calls` | [`specialize::device_library`]: what a device does not compute by itself becomes a call of the device library |
//! | `split` | [`frontend::split_images`]: keeps the kernels of one image of several, and what they reach |
//! | `loop-checks` | [`bounds::loop_versioning`]: loops in which nothing can panic run without their checks |
//! | `group-checks` | [`bounds::merge_checks`]: checks that come one after another are decided together |
//! | `loop-chunks` | [`bounds::strip_mine`]: loops that check what they load make several turns at once (GPUs) |
//! | `early-loads` | [`gpu::hoist_global_loads`]: loads from global memory come before stores to local memory (GPUs) |
//! | `dead-arguments` | [`specialize::dead_arguments`]: removes the parameters that a kernel does not use |
//! | `local-to-shared` | [`gpu::lower_local_memory`]: one symbol for all memory of a work-group, with offsets for pointers (CUDA) |
//! | `panic-shapes` | [`gpu::panic_sites`]: panics that show plain values pass them on, and no memory (GPUs) |
//! | `panic-exits` | [`gpu::merge_panic_exits`]: the panics of a function leave by one block (GPUs) |
//! | `keep-comparisons` | [`nvptx::suppress_umax`]: comparisons of 64 bits that are joined stay comparisons (GPUs) |
//! | `detours` | [`gpu::superblocks`]: detours that few values take are decided once, behind what all others need (GPUs) |
//! | `narrow-checks` | [`bounds::narrow_checks`]: checks of indices against a length of 31 bits are made in 32 bits (GPUs) |
//! | `aligned-steps` | [`gpu::infer_alignment`]: accesses at addresses that go on by steps have the alignment of the first (GPUs) |
//! | `shared-products` | [`nvptx::product_reuse`]: products that differ by a constant times the same factor share one multiplication (GPUs) |
//! | `launch-bounds` | [`nvptx::launch_bounds`]: kernels with loops that load much may have more registers (NVIDIA) |
//! | `narrow-steps` | [`nvptx::address_strides`]: addresses that differ by a number of 32 bits are one step from each other (NVIDIA) |
//! | `short-divisions` | [`gpu::narrow_division`]: counts of turns that fit into 32 bits are divided in 32 bits (GPUs) |
//! | `wide-copies` | [`gpu::expand_mem_intrinsics`]: large fills and copies of memory become loops of words (GPUs) |
//! | `private-atomics` | [`gpu::demote_private_atomics`]: atomic accesses of a work-item's own memory become plain ones (GPUs) |
//! | `quiet-loads` | [`gpu::demote_shared_loads`]: loads of the group's memory that nobody can store to meanwhile become plain ones (GPUs) |
//! | `circular-statics` | [`nvptx::circular_statics`]: statics that refer to each other in a circle are declared before they are defined (PTX) |
//! | `unroll-hints` | [`gpu::unroll_hints`]: small loops that are counted have several turns made one (GPUs) |
//! | `address-spaces` | [`gpu::address_spaces`]: tells accesses which of the target's memories they mean (GPUs) |
//!
//! And others are for diagnostics, and for targets without a stack:
//!
//! | pass | what it does |
//! |---|---|
//! | `call-sites` | [`analysis::call_sites`]: numbers every instruction, so that reports tell where each comes from |
//! | `recursion` | [`check::recursion`]: refuses functions that call themselves |
//!
//! The tool `schism-opt` runs any of them over a file, see [`opt`].
//!
//! [`frontend::std_bodies`] knows the standard library's bodies. [`frontend::type_descriptions`] makes descriptions of types,
//! [`frontend::message_template`] those of messages. [`frontend::constant_body`] gives a function another body; `ir` holds the few accessors
//! that inkwell has no form for, `ir::parameters` copies functions with further parameters.

pub mod analysis;
pub mod bounds;
pub mod check;
pub mod frontend;
pub mod gpu;
mod ir;
pub mod nvptx;
pub mod opt;
pub mod pass;
pub mod pipeline;
pub mod spec;
pub mod specialize;
pub mod stage1;

pub use schism_message::{Kind, Trait};
pub use spec::device::DeviceSpec;
pub use spec::image::KernelImage;
pub use spec::kernel::{KernelSpec, Parameter, ParameterKind, SpecConstant};
pub use spec::messages::{
    Formatter, PanicFunction, PanicMessage, PanicValue, TypeDescription, TypePart,
};
pub use spec::std_bodies::provider::Provider;
pub use stage1::{DeviceImage, Stage1Error};
