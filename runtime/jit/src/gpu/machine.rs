//! LLVM's code generator for PTX: of NVIDIA's GPUs, and the stand-in for a GPU that LLVM has none
//! for.

use std::ffi::CString;

use schism_jit_abi::PTX_PROCESSORS;
use schism_llvm::{Machine, initialize_nvptx};
use schism_passes::spec::target::STAND_IN;

use crate::JitError;

/// LLVM multiplies this by 11 for PTX. With its default of 250 a kernel that formats a number has
/// over a hundred thousand instructions, which take the driver minutes. Small functions have been
/// inlined before.
const INLINE_THRESHOLD: i32 = 50;

/// The target machine for a processor and a version of PTX, times ten, which must know it.
pub fn nvptx(arch: &str, version: u32) -> Result<Machine, JitError> {
    let features = format!("+ptx{version}");
    initialize_nvptx();
    let text = |text: &str| {
        CString::new(text).map_err(|_| JitError::Internal("a NUL in a name".to_owned()))
    };
    let machine = Machine::new(&text(STAND_IN)?, &text(arch)?, &text(&features)?);
    Ok(machine.map_err(JitError::Internal)?.with_inline_threshold(INLINE_THRESHOLD))
}

/// A machine for targets that LLVM generates no code for: a GPU whose generic address space is 0.
pub fn stand_in() -> Result<Machine, JitError> {
    let (arch, version) = PTX_PROCESSORS[0];
    nvptx(arch, version)
}
