//! Gives code forms that NVIDIA's assembler does well with and LLVM does not make. Runs in stage 2, after
//! optimisation: bytes that a loop uses are [loaded apart](separate_bytes), relaxed accesses to neighbours
//! become [one access](vectorize_relaxed), kernels with many loads get
//! [more registers](launch_bounds), and updates whose result is unused [do not wait](no_return_atomics)
//! for it. The IR before and after is shown in each file.

use inkwell::module::Module;
use schism_llvm::AsModule;

use crate::nvptx::{launch_bounds, no_return_atomics, separate_bytes, vectorize_relaxed};

/// Runs the pass over the module, which is one for NVIDIA's GPUs.
///
/// # Errors
/// LLVM's message, if its pass fails.
pub fn run(module: &Module<'_>) -> Result<(), String> {
    for function in module.handle().functions() {
        separate_bytes::run_on(function);
        vectorize_relaxed::run_on(function)?;
        launch_bounds::run_on(function);
        no_return_atomics::run_on(function);
    }
    Ok(())
}
