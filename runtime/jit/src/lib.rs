//! Stage 2: compiles a device image to code that runs.
//!
//! A container holds a crate's kernels as one LLVM module, for no device in particular. When the
//! runtime launches one, this library compiles it for the device: in the process, with the pinned
//! toolchain's LLVM, without a lock between compiles. The runtime opens `libschism_jit.so` when it
//! needs it and uses it through the C interface of [`schism_jit_abi`], so no program links LLVM.
//!
//! Modules:
//!
//! | module | what |
//! |---|---|
//! | [`api`](schism_jit_api) | the C interface |
//! | `target` | the steps that are the same for every target, and what a target adds |
//! | `image` | reads and checks an image, and extracts one kernel |
//! | `clock` | clock builtins |
//! | `pause` | the builtin of work-items that wait |
//! | `devicelib` | mathematics for devices without a library |
//! | `cpu` | the CPU: a loop nest around the kernel |
//! | `ptx` | NVIDIA GPUs: an entry around the kernel, and its PTX |
//! | `amdgcn` | AMD's GPUs: the same entry, and its code object |
//! | `spirv` | OpenCL's devices: the same entry, and its SPIR-V |
//! | `module` | a module, and passes over it as a whole |
//! | `recursion` | what is said of functions that call themselves |
//! | `lines` | source locations |
//! | `dump` | `SCHISM_DUMP_DIR` |
//! | `times` | `SCHISM_TIME_PASSES` |
//!
//! A new kind of device is a module beside `cpu` that implements `target::Target`.
//!
//! Images come from files and are untrusted: see `image`. The output for the CPU is an object,
//! which the crate `schism-loader` loads.

mod amdgcn;
mod api;
mod clock;
mod cpu;
mod devicelib;
mod dump;
mod error;
mod image;
mod kinds;
mod lines;
mod module;
mod pause;
mod ptx;
mod recursion;
mod request;
mod spirv;
mod target;
mod times;

pub use amdgcn::{AmdgcnCode, compile_amdgcn};
pub use api::{schism_jit_api, version};
#[doc(hidden)]
pub use cpu::compile_cpu_within;
pub use cpu::{CpuCode, compile_cpu, cpu_name};
pub use error::JitError;
pub use ptx::{Libdevice, PtxCode, PtxOptions, compile_ptx};
pub use request::{Known, Request};
pub use spirv::{SpirvCode, compile_spirv};
