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
//! | `common` | what all targets share: requests, images, the steps of a compilation |
//! | `gpu` | what PTX, SPIR-V and AMDGCN share: an entry around the kernel, its builtins, messages |
//! | `cpu` | the CPU: a loop nest around the kernel |
//! | `ptx` | NVIDIA GPUs: PTX |
//! | `amdgcn` | AMD's GPUs: code objects |
//! | `spirv` | OpenCL's devices: SPIR-V |
//!
//! No target imports another, `gpu` imports none, and `common` imports neither. A new target is
//! a folder beside `cpu` that implements `common::target::Target`.
//!
//! Images come from files and are untrusted: see `common::image`. The output for the CPU is an object,
//! which the crate `schism-loader` loads.

mod amdgcn;
mod api;
mod common;
mod cpu;
mod gpu;
mod ptx;
mod spirv;

pub use amdgcn::compile_amdgcn;
pub use api::{schism_jit_api, version};
pub use common::error::JitError;
pub use common::request::{Known, Request};
#[doc(hidden)]
pub use cpu::compile_cpu_within;
pub use cpu::{CpuCode, compile_cpu, cpu_name};
pub use gpu::compiled::GpuCode;
pub use gpu::options::{GpuOptions, Libdevice};
pub use ptx::compile_ptx;
pub use spirv::compile_spirv;

use schism_jit_abi::{TARGET_AMD_ASSEMBLY, TARGET_CODE_OBJECT, TARGET_PTX, TARGET_SPIRV};

/// Compiles a kernel for a kind of GPU.
type CompileForGpu = fn(Request, GpuOptions) -> Result<GpuCode, JitError>;

/// The kinds of GPUs, by their numbers in a request.
const GPU_TARGETS: [(u32, CompileForGpu); 4] = [
    (TARGET_PTX, crate::ptx::compile_ptx),
    (TARGET_SPIRV, crate::spirv::compile_spirv),
    (TARGET_CODE_OBJECT, |request, options| crate::amdgcn::compile_amdgcn(request, options, false)),
    (TARGET_AMD_ASSEMBLY, |request, options| crate::amdgcn::compile_amdgcn(request, options, true)),
];
