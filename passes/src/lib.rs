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
pub mod llvm_passes;
pub mod nvptx;
pub mod opt;
pub mod pass;
pub mod pipeline;
pub mod registry;
pub mod spec;
pub mod specialize;
pub mod stage1;
pub mod target_step;
pub mod variables;
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
