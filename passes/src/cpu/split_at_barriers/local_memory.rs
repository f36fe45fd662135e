//! Relaxed atomic loads and stores of a group's local memory become plain ones: no other thread has
//! that memory, and the work-items of a group run one after the other between two barriers.
//!
//! What the group's parameter points to has one address of memory: that of the local memory. Other
//! orders stay as they are. Relaxed operations that read and write at once stay one instruction, so
//! that a loop with them is not taken for one whose iterations may run at once; they get the scope
//! `singlethread`, and [`forward_group_memory`](crate::cpu::forward_group_memory) makes them plain when
//! nothing asks any more.

use schism_llvm::{AtomicOrdering, Opcode, Value};

use super::body::Body;
use crate::ir::address::roots;

/// Makes what only concerns the group plain.
pub(super) fn make_plain<'m>(body: &Body<'m>, group: Value<'m>) {
    for instruction in body.blocks.iter().flat_map(|block| block.instructions()) {
        let is_update = instruction.opcode() == Some(Opcode::AtomicRMW);
        let address = match instruction.opcode() {
            Some(Opcode::Load | Opcode::AtomicRMW) => instruction.operand(0),
            Some(Opcode::Store) => instruction.operand(1),
            _ => continue,
        };
        let is_relaxed = instruction.is_atomic()
            && !instruction.is_volatile()
            && matches!(
                instruction.ordering(),
                AtomicOrdering::Monotonic | AtomicOrdering::Unordered
            );
        if is_relaxed && is_local(address, group) {
            instruction.set_single_thread(is_update);
            if !is_update {
                instruction.set_ordering(AtomicOrdering::NotAtomic);
            }
        }
    }
}

/// Whether all that an address may be is in the group's local memory.
fn is_local<'m>(address: Value<'m>, group: Value<'m>) -> bool {
    let is_own =
        |root: Value<'m>| root.opcode() == Some(Opcode::Load) && is_field(root.operand(0), group);
    roots(address).into_iter().all(is_own)
}

/// Whether an address is that of a field of the group.
fn is_field<'m>(address: Value<'m>, group: Value<'m>) -> bool {
    let is_gep = address.opcode() == Some(Opcode::GetElementPtr);
    address == group || is_gep && address.operand(0) == group
}
