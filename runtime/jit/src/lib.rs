//! Stage 2: from a device image to code that runs.
//!
//! A container holds a crate's kernels as one LLVM module that fits no device in particular. When the runtime wants to
//! launch one, this library makes it fit: in the process, on the pinned toolchain's LLVM, with no lock that compiles share.
//! The runtime opens `libschism_jit.so` when it needs it and talks to it through the C interface of [`schism_jit_abi`], so
//! no program links LLVM.
//!
//! Where to read on:
//!
//! | module | what |
//! |---|---|
//! | [`api`](schism_jit_api) | the C interface |
//! | `target` | the steps that every target takes, and what a target adds |
//! | `image` | reading and checking an image, and cutting out one kernel |
//! | `clock` | clocks of targets |
//! | `devicelib` | mathematics for devices that have none |
//! | `cpu` | the CPU: a loop nest around the kernel |
//! | `ptx` | NVIDIA's GPUs: an entry around the kernel, and its PTX |
//! | `module` | a module, and what happens to it as a whole |
//! | `lines` | places in the source |
//! | `dump` | `SCHISM_DUMP_DIR` |
//! | `times` | `SCHISM_TIME_PASSES` |
//!
//! A new kind of device is a module beside `cpu` that implements `target::Target`.
//!
//! Images come from files and are not believed: see `image`. What comes out for the CPU is an object, which the crate `schism-loader`
//! loads.

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
mod ptx;
mod request;
mod target;
mod times;

pub use api::{schism_jit_api, version};
#[doc(hidden)]
pub use cpu::compile_cpu_within;
pub use cpu::{CpuCode, compile_cpu, cpu_name};
pub use error::JitError;
pub use ptx::{Libdevice, PtxCode, PtxOptions, compile_ptx};
pub use request::{Known, Request};
