//! All kernels of a program as code objects of AMD's GPUs, each compared with the published ABI and
//! with what the runtime passes. No GPU is needed, and none runs them.

#[allow(dead_code, reason = "other tests use the rest")]
#[path = "../runtime/jit/tests/support/code_object.rs"]
mod code_object;

use schism_hcf::KernelRef;
use schism_jit::{GpuOptions, Request, compile_amdgcn};

/// The processors that kernels are lowered to.
pub const PROCESSORS: [&str; 5] = ["gfx906", "gfx90a", "gfx942", "gfx1030", "gfx1100"];

/// What these GPUs do not have, in the words of errors: work-items whose stack grows, and a way out
/// of a function that a work-item ends in.
pub const LACKING: [&str; 2] = ["recursion (", "a panic in a function that calls itself"];

/// How the error begins where the compiler comes without LLVM's linker, as a distribution's may.
pub const NO_LINKER: &str = "a kernel for an AMD GPU needs LLVM's linker";

/// Lowers a kernel as for a launch about which nothing is known, and checks the code object.
///
/// # Errors
/// Stage 2's, as a text.
///
/// # Panics
/// The code object is not as the ABI says, or does not take what the runtime passes.
pub fn lower(request: Request, kernel: &KernelRef<'_>, processor: &str) -> Result<(), String> {
    let options = GpuOptions {
        arch: processor.to_owned(),
        local_align: kernel.groups.map_or(0, |groups| groups.local_align),
        ..GpuOptions::default()
    };
    let offset = if request.offset { 3 } else { 0 };
    let code = compile_amdgcn(request, options, false).map_err(|error| error.to_string())?;
    let entry = code.entry().to_str().expect("names are UTF-8");
    let object = code_object::read(code.bytes(), processor, entry);
    // The runtime passes the closure's parts as they are, and then words.
    let parts: Vec<u64> = kernel.parameters.iter().map(|parameter| parameter.size).collect();
    let sizes: Vec<u64> = object.own.iter().map(|(_, _, size)| *size).collect();
    let (own, words) = sizes.split_at(parts.len());
    assert_eq!(own, parts, "the parameters of {}", kernel.name);
    assert!(words.len() >= offset && words.iter().all(|size| *size == 8), "{}", kernel.name);
    Ok(())
}
