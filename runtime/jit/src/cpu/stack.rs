//! The stack of kernels with barriers.
//!
//! Their work-items run on small stacks with a page behind the end that faults. A function with a frame larger than a page
//! could step over it, so its frame is touched page by page: what rustc has done for the host half, and what is taken out of
//! images since other devices know nothing of it.

use crate::image::BARRIER;
use crate::llvm::{Context, Module};
use schism_jit_abi::code::BARRIER as CPU_BARRIER;

/// Asks for touched frames, if the kernel may come to a barrier.
pub fn probe(context: &Context, module: &Module<'_>) {
    if module.function(CPU_BARRIER).is_none() && module.function(BARRIER).is_none() {
        return;
    }
    for function in module.functions() {
        if !function.is_declaration() {
            function.add_text_attribute(context, "probe-stack", "inline-asm");
        }
    }
}
