//! Stores of repeated bytes to a work-item's own memory, for devices where one thread computes several work-items
//! in the lanes of vectors: no compiler sees that they are.
//!
//! ```llvm
//!   store i32 0, ptr addrspace(5) %sum
//! ```
//! becomes
//! ```llvm
//!   %value = add i32 0, %zero                ; no compiler knows that it is 0
//!   store i32 %value, ptr addrspace(5) %sum
//! ```
//! Drivers join stores of such values beside each other to one fill, and Intel's loses fills of a work-item's own memory
//! where it computes several work-items in the lanes of vectors. What is volatile it does not join; but then it does
//! not interleave the lanes' arrays either, and each access of one gathers or scatters. A byte may be the value of a fill
//! whatever it is, so stores of bytes become volatile when they are lowered, and those of structures. Runs after
//! optimisation.

use schism_llvm::{Builder, Opcode, TypeKind, Value};

use super::cold_blocks::hidden_zero;
use crate::common::module::Module;

/// Runs the step over a kernel's entry.
pub fn hide(module: &Module<'_>, entry: &str) {
    let Some(entry) = module.function(entry) else { return };
    let mut zero = None;
    for store in entry.instructions().into_iter().filter(|it| fills(*it)) {
        let zero = *zero.get_or_insert_with(|| hidden_zero(entry));
        let value = store.operand(0);
        let (ty, builder) = (value.ty(), Builder::before(store));
        let number = match ty.kind() {
            TypeKind::Float => builder.bitcast(value, ty.context().int_type(32)),
            TypeKind::Double => builder.bitcast(value, ty.context().int_type(64)),
            _ => value,
        };
        let number = builder.add(number, builder.int_cast(zero, number.ty(), false));
        store.set_operand(0, builder.bitcast(number, ty));
    }
}

/// Whether an instruction stores a number of repeated bytes that can be hidden.
fn fills(it: Value<'_>) -> bool {
    if it.opcode() != Some(Opcode::Store) || it.is_volatile() || it.is_atomic() {
        return false;
    }
    let (value, space) = (it.operand(0), it.operand(1).ty().address_space());
    let can_be_hidden = match value.ty().kind() {
        TypeKind::Integer => matches!(value.ty().int_width(), 16 | 32 | 64),
        TypeKind::Float | TypeKind::Double => true,
        _ => false,
    };
    can_be_hidden && may_be_private(space) && repeats_a_byte(value)
}

/// Whether a work-item's own memory may have an address space.
pub(super) fn may_be_private(space: u32) -> bool {
    matches!(space, 0 | 5)
}

/// Whether a constant has the same bytes everywhere.
pub(super) fn repeats_a_byte(value: Value<'_>) -> bool {
    let repeats =
        |bits: u64, bytes: u32| (1..bytes).all(|byte| (bits >> (8 * byte)) as u8 == bits as u8);
    if value.is_zero() {
        return true;
    }
    let ty = value.ty();
    match (ty.kind(), value.float_bits()) {
        (TypeKind::Integer, _) if value.is_constant_int() && ty.int_width() <= 64 => {
            repeats(value.zext_value(), ty.int_width() / 8)
        }
        (TypeKind::Half, Some(bits)) => repeats(bits, 2),
        (TypeKind::Float, Some(bits)) => repeats(bits, 4),
        (TypeKind::Double, Some(bits)) => repeats(bits, 8),
        // Elements of aggregates become stores of their own.
        (TypeKind::Vector | TypeKind::Array | TypeKind::Struct, _) => value.is_a_constant(),
        _ => false,
    }
}
