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
//! captures of its closure and whose work-item ids come from the builtins of [`builtins`];
//! everything else is internal and reached from a kernel. No invoke, no landing pad, no attribute
//! of the host's CPU, no instrumentation, no IR constant.
//!
//! # Order, and where to add a pass
//!
//! [`table`] lists the passes in the order in which they run. One pass is one file, or one folder, whose module
//! doc shows IR before and after:
//!
//! | pass | what it does |
//! |---|---|
//! | `instrumentation` | [`instrumentation`]: takes out what an instrumented build adds to code |
//! | `host-attributes` | [`host_attributes`]: drops what only means something to the host's code generator |
//! | `convergence` | [`convergence`]: marks what may come to a barrier, so that LLVM leaves it where it is |
//! | `spec-constants` | [`spec_constants`]: specialization constants become bytes that stay open until stage 2 |
//! | `unwind` | [`unwind`]: a device has no landing pads, so invokes become calls; what may panic is not `nounwind` |
//! | `ir-constants` | [`ir_constants`]: gives IR constants their value and folds the branches on them |
//! | `formatters` | [`formatters`]: formatting functions become descriptions of what they format |
//! | `panics` | [`panics`]: calls of panic functions become `__schism_panic` or `__schism_panic_format` |
//! | `kernel-entry` | [`kernel_entry`]: makes the kernels, flattened parameters around the entry function |
//! | `reachability` | [`reachability`]: keeps what kernels reach, through calls and through constants |
//! | `exports` | [`exports`]: refuses exported functions that ask for what only a kernel has |
//! | `scoped-atomics` | [`scoped_atomics`]: atomic accesses that say who they are for become those of LLVM |
//! | `hold-statics` | [`device_check::hold_statics`]: keeps statics whose value can change from being folded |
//! | `implicit-offset` | [`implicit_offset`]: kernels that read where their launch begins get a variant that is told |
//! | `cleanup` | [`cleanup`]: target-neutral simplification, so that stage 2 starts from small IR |
//! | `local-memory` | [`local_memory`]: gives the arrays in local memory their places |
//! | `import-bodies` | [`import_bodies`]: functions without MIR get the body that the standard library was compiled to |
//! | `inline-refused` | [`cleanup::inline_refused`]: inlines modules that would be refused as they are |
//! | `device-check` | [`device_check`]: refuses what no device has, with every use of it |
//! | `aspects` | [`aspects`]: notes what each kernel needs of a device and of the runtime |
//! | `costs` | [`costs`]: finds what works and makes kernels slow, for warnings |
//! | `strip-debug` | drops debug information, which only the checks need, unless lines are asked for ([`line_tables`]) |
//!
//! Others are for stage 2, which knows the launch:
//!
//! | pass | what it does |
//! |---|---|
//! | `specialise` | [`specialise`]: gives specialization constants their values and folds what reads them |
//! | `emulate-constants` | [`emulate_constants`]: the same constants become loads from a buffer that kernels take |
//! | `fast-math` | [`fast_math`]: lets floating-point operations be inexact |
//! | `library-calls` | [`library_calls`]: what a device does not compute by itself becomes a call of the device library |
//! | `split` | [`split`]: keeps the kernels of one image of several, and what they reach |
//! | `loop-checks` | [`loop_checks`]: loops in which nothing can panic run without their checks |
//! | `group-checks` | [`group_checks`]: checks that come one after another are decided together |
//! | `loop-chunks` | [`loop_chunks`]: loops that check what they load make several turns at once (GPUs) |
//! | `early-loads` | [`early_loads`]: loads from global memory come before stores to local memory (GPUs) |
//! | `dead-arguments` | [`dead_arguments`]: removes the parameters that a kernel does not use |
//! | `local-to-shared` | [`local_to_shared`]: one symbol for all memory of a work-group, with offsets for pointers (CUDA) |
//! | `panic-shapes` | [`panic_shapes`]: panics that show plain values pass them on, and no memory (GPUs) |
//! | `panic-exits` | [`panic_exits`]: the panics of a function leave by one block (GPUs) |
//! | `keep-comparisons` | [`keep_comparisons`]: comparisons of 64 bits that are joined stay comparisons (GPUs) |
//! | `detours` | [`detours`]: detours that few values take are decided once, behind what all others need (GPUs) |
//! | `narrow-checks` | [`narrow_checks`]: checks of indices against a length of 31 bits are made in 32 bits (GPUs) |
//! | `aligned-steps` | [`aligned_steps`]: accesses at addresses that go on by steps have the alignment of the first (GPUs) |
//! | `shared-products` | [`shared_products`]: products that differ by a constant times the same factor share one multiplication (GPUs) |
//! | `launch-bounds` | [`launch_bounds`]: kernels with loops that load much may have more registers (NVIDIA) |
//! | `narrow-steps` | [`narrow_steps`]: addresses that differ by a number of 32 bits are one step from each other (NVIDIA) |
//! | `short-divisions` | [`short_divisions`]: counts of turns that fit into 32 bits are divided in 32 bits (GPUs) |
//! | `wide-copies` | [`wide_copies`]: large fills and copies of memory become loops of words (GPUs) |
//! | `private-atomics` | [`private_atomics`]: atomic accesses of a work-item's own memory become plain ones (GPUs) |
//! | `quiet-loads` | [`quiet_loads`]: loads of the group's memory that nobody can store to meanwhile become plain ones (GPUs) |
//! | `circular-statics` | [`circular_statics`]: statics that refer to each other in a circle are declared before they are defined (PTX) |
//! | `unroll-hints` | [`unroll_hints`]: small loops that are counted have several turns made one (GPUs) |
//! | `address-spaces` | [`address_spaces`]: tells accesses which of the target's memories they mean (GPUs) |
//!
//! And others are for diagnostics, and for targets without a stack:
//!
//! | pass | what it does |
//! |---|---|
//! | `call-sites` | [`call_sites`]: numbers every instruction, so that reports tell where each comes from |
//! | `recursion` | [`recursion`]: refuses functions that call themselves |
//!
//! The tool `schism-opt` runs any of them over a file, see [`opt`].
//!
//! [`provider`] knows the standard library's bodies. [`descriptors`] makes descriptions of types,
//! [`template`] those of messages. [`body`] gives a function another body; `ir` holds the few accessors
//! that inkwell has no form for, `threading` copies functions with further parameters.

pub mod address_spaces;
mod affine;
pub mod aligned_steps;
pub mod aspects;
pub mod body;
pub mod builtins;
pub mod call_sites;
mod callees;
mod chunks;
pub mod circular_statics;
pub mod cleanup;
pub mod content;
pub mod convergence;
mod copy;
pub mod costs;
pub mod dead_arguments;
pub mod descriptors;
pub mod detours;
pub mod device_check;
pub mod early_loads;
pub mod emulate_constants;
pub mod exports;
pub mod fast_math;
pub mod formatters;
mod graph;
pub mod group_checks;
pub mod host_attributes;
pub mod implicit_offset;
pub mod import_bodies;
pub mod instrumentation;
mod ir;
pub mod ir_constants;
pub mod keep_comparisons;
pub mod kernel_entry;
pub mod launch_bounds;
pub mod library_calls;
pub mod line_tables;
pub mod local_memory;
pub mod local_to_shared;
pub mod loop_checks;
pub mod loop_chunks;
mod loop_marks;
pub mod machine;
pub mod narrow_checks;
pub mod narrow_steps;
pub mod opt;
pub mod panic_exits;
pub mod panic_shapes;
pub mod panics;
pub mod private_atomics;
pub mod provider;
pub mod quiet_loads;
pub mod reachability;
pub mod recursion;
pub mod scoped_atomics;
pub mod shared_products;
pub mod short_divisions;
mod signature;
pub mod spec;
pub mod spec_constants;
pub mod spec_text;
pub mod specialise;
pub mod split;
pub mod stage1;
pub mod table;
pub mod template;
mod threading;
pub mod unroll_hints;
pub mod unwind;
pub mod wide_copies;

pub use provider::Provider;
pub use schism_message::{Kind, Trait};
pub use spec::{
    DeviceSpec, Formatter, KernelSpec, PanicFunction, PanicMessage, PanicValue, Parameter,
    ParameterKind, SpecConstant, TypeDescription, TypePart,
};
pub use stage1::{DeviceImage, KernelImage, Stage1Error};
