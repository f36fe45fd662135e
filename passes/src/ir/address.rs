//! Addresses.

use schism_llvm::{Opcode, Value};

/// The address that another one is a constant from, and how many bytes.
pub(crate) fn base_and_offset(address: Value<'_>) -> (Value<'_>, i64) {
    let (mut base, mut offset) = (address, 0_i64);
    while let Some((before, index, size)) = base.element()
        && let Some(index) = index.as_signed()
    {
        base = before;
        offset = offset.wrapping_add(index.wrapping_mul(size.cast_signed()));
    }
    (base, offset)
}

/// What an address is computed from.
pub(crate) fn base(mut address: Value<'_>) -> Value<'_> {
    while address.opcode() == Some(Opcode::GetElementPtr) {
        address = address.operand(0);
    }
    address
}
