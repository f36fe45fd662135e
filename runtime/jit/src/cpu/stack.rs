//! The stack of kernels with barriers or operations of sub-groups.
//!
//! Their work-items run on small stacks with a page behind the end that faults. A function with a frame larger than a page
//! could step over it, so its frame is touched page by page: what rustc has done for the host half, and what is taken out of
//! images since other devices know nothing of it.

use super::meet;
use crate::llvm::{Context, Module};

/// Asks for touched frames, if the kernel may come to a barrier or to an operation of a sub-group.
pub fn probe(context: &Context, module: &Module<'_>) {
    if !meet::waits(module) {
        return;
    }
    for function in module.functions() {
        if !function.is_declaration() {
            function.add_text_attribute(context, "probe-stack", "inline-asm");
        }
    }
}
