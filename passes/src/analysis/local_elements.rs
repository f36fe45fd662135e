//! What the elements of a private array are: rustc's locals are so many bytes.

use schism_llvm::{DataLayout, Opcode, Type, Value};

/// What a local is accessed as; nothing if it is only copied.
#[derive(Clone, Copy)]
pub(crate) struct Elements<'m>(pub Option<Type<'m>>);

/// The type of all accesses of a local; `None` if they differ, or its address goes elsewhere.
pub(crate) fn elements_of<'m>(local: Value<'m>, layout: &DataLayout<'m>) -> Option<Elements<'m>> {
    let (mut open, mut found): (Vec<Value<'m>>, Option<Type<'m>>) = (vec![local], None);
    while let Some(pointer) = open.pop() {
        for user in pointer.users() {
            let ty = match user.opcode() {
                Some(Opcode::GetElementPtr) if user.operand(0) == pointer => {
                    open.push(user);
                    continue;
                }
                Some(Opcode::Load) if user.is_simple() => user.ty(),
                Some(Opcode::Store) if user.operand(0) != pointer && user.is_simple() => {
                    user.operand(0).ty()
                }
                Some(Opcode::Call) if is_copy(user) || has_no_elements(user) => continue,
                _ => return None,
            };
            if !ty.is_plain_number()
                || found.is_some_and(|found| layout.abi_size(found) != layout.abi_size(ty))
            {
                return None;
            }
            found.get_or_insert(ty);
        }
    }
    Some(Elements(found))
}

/// Whether a call copies a constant number of bytes.
pub(crate) fn is_copy(call: Value<'_>) -> bool {
    call.calls_intrinsic(&["memcpy.p", "memmove.p"])
        && call.operand(2).is_constant_int()
        && call.operand(3).is_zero()
}

/// Whether a call says nothing of elements: it fills them, or marks a lifetime.
fn has_no_elements(call: Value<'_>) -> bool {
    call.calls_intrinsic(&["memset.p", "lifetime."])
}
