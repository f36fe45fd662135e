//! The environment variables of `cargo schism`: the only place with their names. Those of programs
//! are in the runtime's table, and `usage.txt` describes those that are for users.

// For users.

/// A path: `libschism_jit.so`, in the place of the installed one. Commands for cargo get it, too.
pub const JIT: &str = "SCHISM_JIT";
/// A path: NVIDIA's disassembler, for `emit sass`.
pub const NVDISASM: &str = "SCHISM_NVDISASM";
/// A path: OpenCL's loader, or a driver.
pub const OPENCL: &str = "SCHISM_OPENCL";
/// A path: the source of the compiler, where set-up builds the plugin for one whose crates rustup
/// does not have.
pub const RUSTC_SRC: &str = "SCHISM_RUSTC_SRC";
/// `on`, `off`, `explain`: what `--stdpar` says. The compiler reads it.
pub const STDPAR_BUILD: &str = "SCHISM_STDPAR_BUILD";
/// A list: what code is made for ahead of time, as `--targets` has it. The compiler reads it.
pub const TARGETS: &str = "SCHISM_TARGETS";
/// A path: where programs write what happens when.
pub const TIMELINE: &str = "SCHISM_TIMELINE";
/// `1`, or a level: shows which programs are started and what is found.
pub const TRACE: &str = "SCHISM_TRACE";
/// A path: the checkout that the plugin is built of.
pub const WORKSPACE: &str = "SCHISM_WORKSPACE";
/// `portable`, `host`: the mathematics library of kernels on `cpu`, as programs choose it.
pub const CPU_MATH: &str = "SCHISM_CPU_MATH";

// Between schism's own programs.

/// A path: this program, for tests that start the tool that has started them.
pub const SUBCOMMAND: &str = "SCHISM_SUBCOMMAND";
/// A folder: where the compiler finds what `--stdpar` adds.
pub const STDPAR_LIBRARY: &str = "SCHISM_STDPAR_LIBRARY";
/// What the stand-in of `llvm-config` says: LLVM's version.
pub const SHIM_LLVM_VERSION: &str = "SCHISM_SHIM_LLVM_VERSION";
/// The same: the name of LLVM's library.
pub const SHIM_LLVM_LIBRARY: &str = "SCHISM_SHIM_LLVM_LIBRARY";
/// The same: the folder of LLVM's library.
pub const SHIM_LLVM_LIBDIR: &str = "SCHISM_SHIM_LLVM_LIBDIR";
