//! Turns atomic accesses of private memory into plain ones. Runs in stage 2, after optimisation.
//!
//! Before:
//! ```llvm
//!   %flag = alloca i32
//!   %old = atomicrmw add ptr %flag, i32 1 seq_cst
//!   %both = cmpxchg ptr %flag, i32 1, i32 2 seq_cst acquire
//!   %now = load atomic i32, ptr %flag acquire
//! ```
//! After:
//! ```llvm
//!   %flag = alloca i32
//!   %old = load i32, ptr %flag
//!   %new = add i32 %old, 1
//!   store i32 %new, ptr %flag
//!   %found = load i32, ptr %flag
//!   %same = icmp eq i32 %found, 1
//!   %kept = select i1 %same, i32 2, i32 %found
//!   store i32 %kept, ptr %flag
//!   %value = insertvalue { i32, i1 } poison, i32 %found, 0
//!   %both = insertvalue { i32, i1 } %value, i1 %same, 1
//!   %now = load i32, ptr %flag
//! ```
//!
//! Other work-items do not see that memory, and GPUs have no atomic instructions for it. Only what is known to
//! be a local is changed: an address that comes out of memory, or into a function, stays as it is.

use schism_llvm::{AtomicOrdering, AtomicRMWBinOp, Builder, IntPredicate, Opcode, Value};

use crate::ir::address::roots;

/// Runs the pass over a function.
pub fn run(function: Value<'_>) {
    for instruction in function.instructions() {
        match instruction.opcode() {
            Some(Opcode::Load) if is_local(instruction.operand(0)) => {
                make_plain(instruction);
            }
            Some(Opcode::Store) if is_local(instruction.operand(1)) => {
                make_plain(instruction);
            }
            Some(Opcode::AtomicRMW) if is_local(instruction.operand(0)) => {
                update(instruction);
            }
            Some(Opcode::AtomicCmpXchg) if is_local(instruction.operand(0)) => {
                exchange(instruction);
            }
            _ => {}
        }
    }
}

/// Whether all that an address may be is in the work-item's own memory.
fn is_local(address: Value<'_>) -> bool {
    roots(address).into_iter().all(|root| root.opcode() == Some(Opcode::Alloca))
}

/// Takes the ordering from a load or a store.
pub fn make_plain(access: Value<'_>) {
    let plain = AtomicOrdering::NotAtomic;
    if access.ordering() != plain {
        access.set_single_thread(false);
        access.set_ordering(plain);
    }
}

/// Makes an update a load, an operation and a store.
pub(crate) fn update(instruction: Value<'_>) {
    let (address, value) = (instruction.operand(0), instruction.operand(1));
    let ty = value.ty();
    let operation = instruction.rmw_operation();
    let builder = Builder::before(instruction);
    let old = builder.load(ty, address);
    old.set_alignment(instruction.alignment());
    let choose = |predicate| {
        let old_wins = builder.icmp(predicate, old, value);
        builder.select(old_wins, old, value)
    };
    let new = match operation {
        AtomicRMWBinOp::Xchg => value,
        AtomicRMWBinOp::Add => builder.add(old, value),
        AtomicRMWBinOp::Sub => builder.sub(old, value),
        AtomicRMWBinOp::And => builder.and(old, value),
        AtomicRMWBinOp::Or => builder.or(old, value),
        AtomicRMWBinOp::Xor => builder.xor(old, value),
        AtomicRMWBinOp::Nand => {
            let both = builder.and(old, value);
            builder.not(both)
        }
        AtomicRMWBinOp::Max => choose(IntPredicate::SGT),
        AtomicRMWBinOp::Min => choose(IntPredicate::SLT),
        AtomicRMWBinOp::UMax => choose(IntPredicate::UGT),
        AtomicRMWBinOp::UMin => choose(IntPredicate::ULT),
        // Rust has no others.
        _ => {
            old.erase();
            return;
        }
    };
    let store = builder.store(new, address);
    store.set_alignment(instruction.alignment());
    instruction.replace_uses(old);
    instruction.erase();
}

/// Makes a compare-exchange a load, a choice and a store.
fn exchange(instruction: Value<'_>) {
    let [address, expected, new] = [0, 1, 2].map(|index| instruction.operand(index));
    let ty = new.ty();
    let builder = Builder::before(instruction);
    let old = builder.load(ty, address);
    old.set_alignment(instruction.alignment());
    let same = builder.icmp(IntPredicate::EQ, old, expected);
    let kept = builder.select(same, new, old);
    let store = builder.store(kept, address);
    store.set_alignment(instruction.alignment());
    let nothing = instruction.ty().poison();
    let value = builder.insert_value(nothing, old, 0);
    let both = builder.insert_value(value, same, 1);
    instruction.replace_uses(both);
    instruction.erase();
}
