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

/// The local variable in which an address lies, if it certainly lies in one.
pub(crate) fn local_variable(mut address: Value<'_>) -> Option<Value<'_>> {
    while matches!(
        address.opcode()?,
        Opcode::GetElementPtr | Opcode::BitCast | Opcode::AddrSpaceCast
    ) {
        address = address.operand(0);
    }
    (address.opcode() == Some(Opcode::Alloca)).then_some(address)
}

/// What an address is computed from.
pub(crate) fn base(mut address: Value<'_>) -> Value<'_> {
    while address.opcode() == Some(Opcode::GetElementPtr) {
        address = address.operand(0);
    }
    address
}
