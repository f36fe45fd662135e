//! Kernels as SPIR-V, which the validator has to accept, if it is there. No device is needed, and
//! none runs them.
//!
//! `spirv-val` is of the package spirv-tools. It is looked for in `SCHISM_SPIRV_TOOLS` (a folder,
//! which `SCHISM_TEST_OPENCL=install cargo schism test` fills) and in the `PATH`.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use schism_jit::{GpuOptions, Request, compile_spirv};

use crate::skip;

/// What OpenCL does not have, in the words of errors.
pub const LACKING: [&str; 6] = [
    ", a variable that contains its own address,",
    "uses recursion (",
    "uses an integer of 256 bits,",
    "uses a clock,",
    "uses locals of a size that is not constant,",
    "uses a panic in a function that is not part of the kernel,",
];

/// The validator, if there is one; otherwise says how it could be had.
#[must_use]
pub fn validator() -> Option<PathBuf> {
    let named = std::env::var_os("SCHISM_SPIRV_TOOLS").map(PathBuf::from);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = named.into_iter().chain(std::env::split_paths(&path).collect::<Vec<_>>());
    let found = folders.map(|folder| folder.join("spirv-val")).find(|place| place.is_file());
    if found.is_none() {
        skip::say(
            "no spirv-val, so the SPIR-V is not checked; SCHISM_TEST_OPENCL=install cargo schism test fetches it",
        );
    }
    found
}

/// Lowers a kernel as for a launch about which nothing is known; its local memory is aligned to so
/// many bytes.
///
/// # Errors
/// Stage 2's, as a text.
pub fn lower(request: Request, local_align: u64) -> Result<Vec<u8>, String> {
    let options = GpuOptions { local_align, ..GpuOptions::default() };
    let code = compile_spirv(request, options).map_err(|error| error.to_string())?;
    Ok(code.bytes().to_vec())
}

/// Has the validator look at a module.
///
/// # Errors
/// What it says.
///
/// # Panics
/// It cannot be run.
pub fn validate(validator: &Path, module: &[u8]) -> Result<(), String> {
    // OpenCL has 64-bit atomics as an extension, of which the validator does not know; and it knows
    // of no newer version for OpenCL.
    let int64_atomics: Vec<u8> = [17 | 2 << 16, 12_u32].map(u32::to_le_bytes).concat();
    let has_atomics = module.windows(8).any(|words| words == int64_atomics);
    let is_newer = module.get(4..8) != Some(&[0, 0, 2, 1]);
    let environment = if has_atomics || is_newer { "spv1.3" } else { "opencl2.2" };
    let mut child = Command::new(validator)
        .args(["--target-env", environment, "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap_or_else(|error| panic!("{}: {error}", validator.display()));
    // One that has seen enough closes its input.
    let _ = child.stdin.take().expect("a pipe").write_all(module);
    let output = child.wait_with_output().expect("the validator ends");
    if output.status.success() {
        return Ok(());
    }
    let said = [output.stdout, output.stderr].concat();
    Err(String::from_utf8_lossy(&said).into_owned())
}
