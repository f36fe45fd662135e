//! Makes updates of a group's local memory plain ones.
//!
//! Before:
//! ```llvm
//!   %old = atomicrmw add ptr %bin, i32 1 syncscope("singlethread") monotonic
//! ```
//! After:
//! ```llvm
//!   %old = load i32, ptr %bin
//!   %new = add i32 %old, 1
//!   store i32 %new, ptr %bin
//! ```
//!
//! `split-at-barriers` gives that scope to relaxed updates of memory that belongs to one thread. The
//! processor's atomic instruction would wait for all stores before it. Runs behind `vectorize`: that
//! pass may reorder plain accesses of different work-items, and leaves updates in their order. What
//! is made has no access group, so LLVM takes no loop with it for a parallel one.

use inkwell::module::Module;
use schism_llvm::{AsModule, AtomicOrdering, Opcode};

use crate::gpu::demote_private_atomics::update;

/// Runs the pass over a module.
pub fn run(module: &Module<'_>) {
    let functions = module.handle().functions();
    for instruction in functions.into_iter().flat_map(|function| function.instructions()) {
        let is_update = instruction.opcode() == Some(Opcode::AtomicRMW)
            && instruction.has_sync_scope("singlethread")
            && instruction.ordering() == AtomicOrdering::Monotonic
            && !instruction.is_volatile();
        if is_update {
            update(instruction);
        }
    }
}
