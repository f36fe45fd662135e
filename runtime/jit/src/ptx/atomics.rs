//! Atomic accesses and fences as NVIDIA's GPUs have them.
//!
//! LLVM's code generator for PTX knows orders and scopes of loads, stores, fences and `cmpxchg`. Of `atomicrmw` it knows neither: each
//! becomes `atom`, which is relaxed and for all of the device. So the order becomes one of fences, of the access's own scope:
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

use llvm_sys::{LLVMAtomicOrdering, LLVMOpcode};

use crate::llvm::{Builder, Context, Module, Value};

/// Gives atomics and fences the scopes of the target. Those without one, which are the standard library's, order what work-items of the
/// same device see: nobody else looks at the memory meanwhile. A fence for one work-item only stays one.
pub fn narrow(context: &Context, module: &Module<'_>) {
    for instruction in module.functions().into_iter().flat_map(Value::instructions) {
        let is_atomic = match instruction.opcode() {
            LLVMOpcode::LLVMFence | LLVMOpcode::LLVMAtomicRMW | LLVMOpcode::LLVMAtomicCmpXchg => {
                true
            }
            LLVMOpcode::LLVMLoad | LLVMOpcode::LLVMStore => instruction.is_atomic(),
            _ => false,
        };
        if !is_atomic {
            continue;
        }
        let has = |scopes: &[&str]| scopes.iter().any(|s| instruction.has_scope(context, s));
        let is_fence = instruction.opcode() == LLVMOpcode::LLVMFence;
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
        instruction.set_scope(context, scope);
    }
}

/// Takes out the fences for one work-item only: they are for LLVM, which has done its work, and no instructions.
pub fn drop_own_fences(context: &Context, module: &Module<'_>) {
    for instruction in module.functions().into_iter().flat_map(Value::instructions) {
        if instruction.opcode() == LLVMOpcode::LLVMFence
            && instruction.has_scope(context, "singlethread")
        {
            // SAFETY: a fence gives nothing, so nothing uses it, and the list has it once.
            unsafe { instruction.erase() };
        }
    }
}

/// Gives `atomicrmw` its order by fences. Runs after optimisation.
pub fn order_updates(context: &Context, module: &Module<'_>) {
    use LLVMAtomicOrdering::*;
    for update in module.functions().into_iter().flat_map(Value::instructions) {
        if update.opcode() != LLVMOpcode::LLVMAtomicRMW {
            continue;
        }
        let (before, after) = match update.ordering() {
            LLVMAtomicOrderingAcquire => (None, Some(LLVMAtomicOrderingAcquire)),
            LLVMAtomicOrderingRelease => (Some(LLVMAtomicOrderingRelease), None),
            LLVMAtomicOrderingAcquireRelease => {
                (Some(LLVMAtomicOrderingRelease), Some(LLVMAtomicOrderingAcquire))
            }
            LLVMAtomicOrderingSequentiallyConsistent => {
                (Some(LLVMAtomicOrderingSequentiallyConsistent), Some(LLVMAtomicOrderingAcquire))
            }
            _ => continue,
        };
        let scope = update.scope();
        if let Some(order) = before {
            Builder::before(context, update).fence(order, scope);
        }
        if let (Some(order), Some(next)) = (after, update.next_instruction()) {
            Builder::before(context, next).fence(order, scope);
        }
        update.set_ordering(LLVMAtomicOrderingMonotonic);
    }
}
