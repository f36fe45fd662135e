//! Relaxed accesses of a group's memory, for devices where one thread computes all work-items of a
//! group: they become plain ones.
//!
//! ```llvm
//!   store atomic i32 %value, ptr addrspace(3) %at syncscope("block") monotonic, align 4
//! ```
//! becomes
//! ```llvm
//!   store i32 %value, ptr addrspace(3) %at, align 4
//! ```
//! An atomic access says that another work-item may access the same memory meanwhile. On such a
//! device none does: a thread does one access after the other, or accesses for several
//! work-items in one instruction, so that each load gets what some store has left. Drivers' compilers
//! make vectors of plain accesses, and of atomic ones none. Updates stay atomic: of two in one
//! instruction one would be lost.

use schism_llvm::{AtomicOrdering, Opcode, Value};
use schism_passes::gpu::demote_private_atomics::make_plain;

use crate::common::module::Module;

/// The address space of a group's memory.
const GROUP: u32 = 3;

/// Runs the step over a module.
pub fn make_accesses_plain(module: &Module<'_>) {
    for access in module.functions().into_iter().flat_map(Value::instructions) {
        let address = match access.opcode() {
            Some(Opcode::Load) => access.operand(0),
            Some(Opcode::Store) => access.operand(1),
            _ => continue,
        };
        let relaxed = [AtomicOrdering::Monotonic, AtomicOrdering::Unordered];
        if address.ty().address_space() == GROUP && relaxed.contains(&access.ordering()) {
            make_plain(access);
        }
    }
}
