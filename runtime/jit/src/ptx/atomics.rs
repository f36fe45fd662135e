//! The order of `atomicrmw` for NVIDIA GPUs.
//!
//! LLVM's code generator for PTX supports orders and scopes of loads, stores, fences and `cmpxchg`,
//! but not of `atomicrmw`: each becomes `atom`, which is relaxed and has the scope of the device.
//! So its order becomes one of fences with the access's own scope:
//!
//! Before:
//! ```llvm
//! %old = atomicrmw add ptr addrspace(1) %p, i32 1 syncscope("block") acq_rel
//! ```
//! After:
//! ```llvm
//! fence syncscope("block") release
//! %old = atomicrmw add ptr addrspace(1) %p, i32 1 syncscope("block") monotonic
//! fence syncscope("block") acquire
//! ```

use crate::common::module::Module;
use schism_llvm::{AtomicOrdering, Builder, Opcode, Value};

/// Implements the order of `atomicrmw` with fences. Runs after optimisation.
pub fn order_updates(module: &Module<'_>) {
    for update in module.functions().into_iter().flat_map(Value::instructions) {
        if update.opcode() != Some(Opcode::AtomicRMW) {
            continue;
        }
        let (before, after) = match update.ordering() {
            AtomicOrdering::Acquire => (None, Some(AtomicOrdering::Acquire)),
            AtomicOrdering::Release => (Some(AtomicOrdering::Release), None),
            AtomicOrdering::AcquireRelease => {
                (Some(AtomicOrdering::Release), Some(AtomicOrdering::Acquire))
            }
            AtomicOrdering::SequentiallyConsistent => {
                (Some(AtomicOrdering::SequentiallyConsistent), Some(AtomicOrdering::Acquire))
            }
            _ => continue,
        };
        let scope = update.sync_scope();
        if let Some(order) = before {
            Builder::before(update).fence(order, scope);
        }
        if let (Some(order), Some(next)) = (after, update.next()) {
            Builder::before(next).fence(order, scope);
        }
        update.set_ordering(AtomicOrdering::Monotonic);
    }
}
