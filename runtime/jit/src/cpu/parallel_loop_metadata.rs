//! Tells the vectoriser that work-items do not depend on each other's memory.
//!
//! Work-items do not race (`schism_jit_abi::CpuEntry` requires it), so a plain access of one and a
//! plain access of another never touch the same bytes if one of them is a write. LLVM then needs no
//! run-time checks of pointers, and can vectorise where such checks are impossible.
//!
//! A kernel whose work-items wait on stacks runs one of them at a time, so this does not apply, and
//! another work-item may have written what is read after a barrier. Between two barriers it holds:
//! so it does for each loop of a kernel that was cut there. Such loops load and store local memory
//! by plain instructions that were relaxed atomics. Work-items may race there, in any order, which
//! lanes that run at once are too.
//!
//! Private memory is the exception. Every work-item's locals are the same bytes of the loop
//! function's stack, one after the other, and vectorised lanes would share them. So a kernel with
//! locals left in memory is not marked, and neither is one with atomics or fences, whose work-items
//! may communicate. Nor is one that allocates: the block that a work-item has freed may be the next
//! one's. Memory for a panic's message does not count: code that writes there leaves the loop.

use super::group_operations;
use super::work_loop::ITEMS;
use crate::common::entry_text::LOOP;
use crate::common::host_calls;
use crate::common::module::Module;
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
    // What the program's own functions do is unknown, but for those that only leave.
    let returns = |function: &Value| !function.has_function_attribute("noreturn");
    let mut functions = module.functions().into_iter().filter(|function| function.is_used());
    if functions.any(|function| host_calls::is_of_host(function) && returns(&function)) {
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
    let is_mark = |user: Value| user.calls_intrinsic(&["lifetime."]);
    address.users().into_iter().filter(|&user| !is_mark(user)).all(|user| {
        let mut last = user;
        while let Some(next) = last.next() {
            last = next;
        }
        ends_function(last) && (user.opcode() != Some(Opcode::GetElementPtr) || leaves(user))
    })
}

/// Whether a block that ends so leaves the function, at once or by a block that only returns.
fn ends_function(end: Value) -> bool {
    let returns = |end: Value| end.opcode() == Some(Opcode::Return);
    let only_returns = |next: schism_llvm::Block| {
        let instructions = next.instructions();
        instructions.iter().all(|&it| it.opcode() == Some(Opcode::Phi) || returns(it))
    };
    returns(end) || matches!(end.successors()[..], [next] if only_returns(next))
}

fn is_plain(instruction: Value) -> bool {
    match instruction.opcode() {
        Some(Opcode::Alloca) => leaves(instruction),
        Some(Opcode::Fence | Opcode::AtomicRMW | Opcode::AtomicCmpXchg) => false,
        Some(Opcode::Load | Opcode::Store) => instruction.is_simple(),
        _ => true,
    }
}
