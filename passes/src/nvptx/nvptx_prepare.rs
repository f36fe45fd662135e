//! Gives code forms that NVIDIA's assembler does well with and LLVM does not make. Runs in stage 2, after
//! optimisation: bytes that a loop uses are loaded apart (`separate_bytes.rs`), relaxed accesses to
//! neighbours become one (`vectorize_relaxed.rs`), kernels with many loads get more registers
//! (`launch_bounds.rs`), and updates whose result is unused do not wait for it (`no_return_atomics.rs`).
//! The IR before and after is shown in each file.

use schism_llvm::Value;

use crate::nvptx::{launch_bounds, no_return_atomics, separate_bytes, vectorize_relaxed};

/// Runs the pass over a function with a body.
///
/// # Errors
/// LLVM's message, if its pass fails.
pub fn run(function: Value<'_>) -> Result<(), String> {
    separate_bytes::run(function);
    vectorize_relaxed::run(function)?;
    launch_bounds::run(function);
    no_return_atomics::run(function);
    Ok(())
}
