//! What is known of a panic's locals: who uses them, and where addresses lead.

use schism_llvm::{ModuleRef, Opcode, Type, TypeKind, Value};

use crate::spec::builtins;

/// What uses a local.
pub(super) struct Uses<'m> {
    /// The instruction, the offset, the value.
    pub(super) stores: Vec<(Value<'m>, u64, Value<'m>)>,
    pub(super) is_read: bool,
    /// Locals that hold its address.
    pub(super) holders: Vec<Value<'m>>,
}

/// Everything that uses a local; `None` if something may do with it what is not known.
pub(super) fn uses<'m>(module: ModuleRef<'m>, alloca: Value<'m>) -> Option<Uses<'m>> {
    let mut found = Uses { stores: Vec::new(), is_read: false, holders: Vec::new() };
    let mut open = vec![(alloca, 0)];
    while let Some((address, offset)) = open.pop() {
        for user in address.users() {
            match user.opcode()? {
                Opcode::GetElementPtr => {
                    let behind = module.data_layout().constant_offset(user)?;
                    open.push((user, u64::try_from(behind).ok()?.checked_add(offset)?));
                }
                Opcode::Load if !user.is_volatile() => found.is_read = true,
                Opcode::Store if !user.is_volatile() => {
                    let [value, to] = [0, 1].map(|index| user.operand(index));
                    if value == address {
                        found.holders.push(local_of(module, to)?.0);
                    }
                    if to == address {
                        found.stores.push((user, offset, value));
                    }
                }
                Opcode::Call if user.calls_intrinsic(&["lifetime."]) => {}
                Opcode::Call => {
                    let name = user.callee()?.name();
                    if ![builtins::PANIC_FORMAT, builtins::PRINT].contains(&&*name) {
                        return None;
                    }
                }
                _ => return None,
            }
        }
    }
    found.stores.sort_unstable();
    found.stores.dedup();
    Some(found)
}

/// The local that an address lies in, and where.
pub(super) fn local_of<'m>(module: ModuleRef<'m>, address: Value<'m>) -> Option<(Value<'m>, u64)> {
    let (mut address, mut offset) = (address, 0_u64);
    loop {
        match address.opcode()? {
            Opcode::Alloca => return Some((address, offset)),
            Opcode::GetElementPtr => {
                let behind = module.data_layout().constant_offset(address)?;
                offset = offset.checked_add(u64::try_from(behind).ok()?)?;
                address = address.operand(0);
            }
            _ => return None,
        }
    }
}

/// Whether an address is that of a constant, or a number; whichever it is of several.
pub(super) fn is_constant_memory(address: Value<'_>, depth: u32) -> bool {
    if depth == 0 {
        return false;
    }
    if address.is_zero() {
        return true;
    }
    if address.is_global_variable() {
        return address.is_global_constant();
    }
    if address.is_constant_expression() {
        return match address.const_opcode() {
            Opcode::GetElementPtr | Opcode::AddrSpaceCast => {
                is_constant_memory(address.operand(0), depth - 1)
            }
            Opcode::IntToPtr => address.operand(0).is_constant_int(),
            _ => false,
        };
    }
    match address.opcode() {
        Some(Opcode::Select) => {
            [1, 2].into_iter().all(|index| is_constant_memory(address.operand(index), depth - 1))
        }
        Some(Opcode::Phi) => (0..address.num_incoming())
            .all(|index| is_constant_memory(address.incoming_value(index), depth - 1)),
        _ => false,
    }
}

/// The bytes of a value that becomes words; `None` for other types.
pub(super) fn size_of_scalar(ty: Type<'_>) -> Option<u64> {
    match ty.kind() {
        TypeKind::Pointer if ty.address_space() == 0 => Some(8),
        TypeKind::Double => Some(8),
        TypeKind::Float => Some(4),
        TypeKind::Half | TypeKind::BFloat => Some(2),
        TypeKind::Integer => match ty.int_width() {
            1 => Some(1),
            bits @ (8 | 16 | 32 | 64 | 128) => Some(u64::from(bits / 8)),
            _ => None,
        },
        _ => None,
    }
}

pub(super) fn is_pointer(ty: Type<'_>) -> bool {
    ty.kind() == TypeKind::Pointer
}

/// Whether one instruction of a block stands before another one of it.
pub(super) fn comes_before<'m>(first: Value<'m>, second: Value<'m>) -> bool {
    let mut next = first.next();
    while let Some(at) = next.filter(|at| *at != second) {
        next = at.next();
    }
    next == Some(second)
}
