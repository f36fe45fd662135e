//! Tells the vectoriser that work-items do not depend on each other's memory.
//!
//! Work-items do not race (`schism_jit_abi::CpuEntry` requires it), so a plain access of one and a
//! plain access of another never touch the same bytes if one of them is a write. LLVM then needs no
//! run-time checks of pointers, and can vectorise where such checks are impossible.
//!
//! A kernel with barriers, or with sub-group operations, runs one work-item at a time, so this does
//! not apply, and another work-item may have written what is read after a barrier.
//!
//! Private memory is the exception. Every work-item's locals are the same bytes of the loop
//! function's stack, one after the other, and vectorised lanes would share them. So a kernel with
//! locals left in memory is not marked, and neither is one with atomics or fences, whose work-items
//! may communicate. Nor is one that allocates: the block that a work-item has freed may be the next
//! one's. Memory for a panic's message does not count: code that writes there leaves the loop.

use super::group_operations;
use super::work_loop::{ITEMS, LOOP};
use crate::module::Module;
use schism_jit_abi::code::HEAP;
use schism_llvm::{AsModule, Context, Opcode, Value};

/// Marks the loop function's accesses, if all of them are plain. Run this after locals were
/// promoted to values.
pub fn mark(context: &Context, module: &Module<'_>) {
    let Some(outer) = module.function(LOOP) else { return };
    if group_operations::waits(module) {
        return;
    }
    // Also in functions that the loop calls: the loop may read what these have written.
    if HEAP.iter().any(|name| module.function(name).is_some()) {
        return;
    }
    let Some(&items) = module.handle().named_metadata(ITEMS).first() else { return };
    let instructions = outer.instructions();
    if !instructions.iter().all(|&instruction| is_plain(instruction)) {
        return;
    }
    let kind = context.handle().metadata_kind("llvm.access.group");
    for instruction in instructions {
        let accesses = match instruction.opcode() {
            Some(Opcode::Load | Opcode::Store) => true,
            // Assumptions and copies count as accesses; what other functions do is unknown here.
            Some(Opcode::Call) => instruction.direct_callee().is_some_and(Value::is_intrinsic),
            _ => false,
        };
        if accesses {
            instruction.set_metadata(kind, items);
        }
    }
}

/// Whether all uses of an address, except lifetime markers, are in blocks that leave the loop
/// function.
fn leaves(address: Value) -> bool {
    let is_mark = |user: Value| {
        user.direct_callee().is_some_and(|callee| callee.name().starts_with("llvm.lifetime."))
    };
    address.users().into_iter().filter(|&user| !is_mark(user)).all(|user| {
        let mut last = user;
        while let Some(next) = last.next() {
            last = next;
        }
        last.opcode() == Some(Opcode::Return)
            && (user.opcode() != Some(Opcode::GetElementPtr) || leaves(user))
    })
}

fn is_plain(instruction: Value) -> bool {
    match instruction.opcode() {
        Some(Opcode::Alloca) => leaves(instruction),
        Some(Opcode::Fence | Opcode::AtomicRMW | Opcode::AtomicCmpXchg) => false,
        Some(Opcode::Load | Opcode::Store) => {
            !instruction.is_atomic() && !instruction.is_volatile()
        }
        _ => true,
    }
}
