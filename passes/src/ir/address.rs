//! Addresses.

use schism_llvm::{Opcode, Value};

use crate::ir::graph::reached;

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

/// All that an address may be computed from.
pub(crate) fn roots(address: Value<'_>) -> Vec<Value<'_>> {
    let mut roots = Vec::new();
    reached([address], |value| match value.opcode() {
        Some(Opcode::GetElementPtr | Opcode::BitCast | Opcode::AddrSpaceCast) => {
            vec![value.operand(0)]
        }
        Some(Opcode::Phi) => value.operands().collect(),
        Some(Opcode::Select) => value.operands().skip(1).collect(),
        _ => {
            roots.push(value);
            Vec::new()
        }
    });
    roots
}

/// Whether an address is in memory that is not written while the kernel runs.
pub(crate) fn is_constant_memory(address: Value<'_>) -> bool {
    let base = base(address);
    base.is_argument()
        && ["noalias", "readonly"].into_iter().all(|name| base.parameter_attribute(name).is_some())
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
