//! Lowers atomic accesses and fences for NVIDIA GPUs.
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

use crate::module::Module;
use schism_llvm::{AtomicOrdering, Builder, Context, Opcode, Value};

/// Gives atomics and fences the scopes of the target. Those without one, which are the standard
/// library's, get the scope of the device: nobody else accesses the memory meanwhile. A fence for
/// one work-item only stays one.
pub fn narrow(context: &Context, module: &Module<'_>) {
    for instruction in module.functions().into_iter().flat_map(Value::instructions) {
        let is_atomic = match instruction.opcode() {
            Some(Opcode::Fence | Opcode::AtomicRMW | Opcode::AtomicCmpXchg) => true,
            Some(Opcode::Load | Opcode::Store) => instruction.is_atomic(),
            _ => false,
        };
        if !is_atomic {
            continue;
        }
        let has = |scopes: &[&str]| scopes.iter().any(|s| instruction.has_sync_scope(s));
        let is_fence = instruction.opcode() == Some(Opcode::Fence);
        if has(&["singlethread"]) && is_fence {
            continue;
        }
        let scope = if has(&["singlethread", "subgroup", "workgroup", "block"]) {
            "block"
        } else if has(&["system"]) {
            ""
        } else {
            "device"
        };
        instruction.set_sync_scope(context.handle().sync_scope(scope));
    }
}

/// Removes fences for one work-item only: they constrain LLVM, which is done, and need no
/// instructions.
pub fn drop_own_fences(module: &Module<'_>) {
    for instruction in module.functions().into_iter().flat_map(Value::instructions) {
        if instruction.opcode() == Some(Opcode::Fence) && instruction.has_sync_scope("singlethread")
        {
            instruction.erase();
        }
    }
}

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
