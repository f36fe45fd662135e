//! Promotes locals to registers, each lifetime by itself.
//!
//! Before, a local of a function that was inlined into a loop:
//! ```llvm
//! loop:
//!   call void @llvm.lifetime.start.p0(ptr %best)
//!   br i1 %hits, label %hit, label %after
//! hit:
//!   store float %distance, ptr %best
//!   br label %after
//! after:
//!   %nearest = load float, ptr %best
//!   ...                                          ; what uses it if something was hit
//!   br i1 %more, label %loop, label %exit
//! ```
//! After:
//! ```llvm
//! after:
//!   %nearest = phi float [ undef, %loop ], [ %distance, %hit ]
//! ```
//!
//! LLVM's `sroa` does not look where a lifetime begins: the value on the edge from `loop` would be that
//! of the iteration before, in a phi of the loop's header. Such values cost registers, and a loop over
//! work-items that has them is not vectorised. So `undef` is stored where a lifetime begins, to each
//! part that is accessed, before `sroa` runs. What is left of these stores goes again, and values
//! that lead to themselves only (`bdce`). LLVM says the same of the
//! beginning of a lifetime (Language Reference, `llvm.lifetime.start`).

use std::collections::BTreeSet;

use schism_llvm::{Builder, Opcode, Type, TypeKind, Value, intrinsic_id};

use crate::llvm_passes;

/// The most parts of a local.
const PARTS: usize = 64;

/// Runs the pass over a function with a body.
///
/// # Errors
/// LLVM's message, if its passes fail.
pub fn run(function: Value<'_>) -> Result<(), String> {
    let all = function.instructions().into_iter();
    all.filter(|one| one.calls_intrinsic(&["lifetime.start"])).for_each(undefine);
    function.run_passes(llvm_passes::PROMOTE_LOCALS)?;
    function.instructions().into_iter().filter(|&one| is_undefined(one)).for_each(Value::erase);
    Ok(())
}

/// Whether an instruction stores `undef`, or fills with it.
fn is_undefined(one: Value<'_>) -> bool {
    match one.opcode() {
        Some(Opcode::Store) => one.operand(0).is_undef(),
        Some(Opcode::Call) => one.calls_intrinsic(&["memset.p"]) && one.operand(1).is_undef(),
        _ => false,
    }
}

/// What is known of the accesses of a local.
#[derive(Default)]
struct Parts<'m> {
    /// Values that are loaded or stored, by their offsets.
    values: BTreeSet<(u64, Type<'m>)>,
    /// Bytes that are copied: where they begin, and how many.
    copies: BTreeSet<(u64, u64)>,
}

/// Stores `undef` to the parts of a local behind the beginning of its lifetime.
fn undefine(start: Value<'_>) {
    let local = start.operand(start.num_args() - 1);
    let Some(next) = start.next() else { return };
    if !local.is_alloca() || local.is_dynamic_alloca() {
        return;
    }
    let Some(parts) = parts(local) else { return };
    let builder = Builder::before(next);
    let context = local.context();
    let (byte, length) = (context.int_type(8), context.int_type(64));
    let at = |offset| builder.gep(byte, local, &[length.const_int(offset, false)]);
    for (offset, bytes) in parts.copies {
        // What it is copied as shows when the other local is promoted. A fill becomes whatever that is.
        let types = [local.ty(), length];
        let memset =
            local.parent_function().module().intrinsic(intrinsic_id("llvm.memset"), &types);
        let is_volatile = context.int_type(1).zero();
        let bytes = length.const_int(bytes, false);
        builder.call_function(memset, &[at(offset), byte.undef(), bytes, is_volatile]);
    }
    for (offset, ty) in parts.values {
        builder.store(ty.undef(), at(offset)).set_alignment(1);
    }
}

/// The parts of a local that are accessed at known places; `None` if something else happens to it, so
/// that it stays in memory.
fn parts(local: Value<'_>) -> Option<Parts<'_>> {
    let layout = local.parent_function().module().data_layout();
    let size = layout.abi_size(local.allocated_type());
    let mut parts = Parts::default();
    let mut open = vec![(local, 0_u64)];
    while let Some((pointer, offset)) = open.pop() {
        for user in pointer.users() {
            let ty = match user.opcode()? {
                Opcode::Load => user.ty(),
                Opcode::Store if user.operand(0) != pointer => user.operand(0).ty(),
                Opcode::GetElementPtr => {
                    let (_, index, size) = user.element()?;
                    let by = (index.as_signed()? as u64).wrapping_mul(size);
                    open.push((user, offset.wrapping_add(by)));
                    continue;
                }
                Opcode::Call => {
                    parts.copies.extend(copied(user)?.map(|bytes| (offset, bytes)));
                    continue;
                }
                _ => return None,
            };
            let end = offset.checked_add(layout.abi_size(ty))?;
            if !is_plain(ty) || !user.is_simple() || end > size {
                return None;
            }
            parts.values.insert((offset, ty));
        }
        if parts.values.len() + parts.copies.len() > PARTS {
            return None;
        }
    }
    let fits =
        |&(offset, bytes): &(u64, u64)| offset.checked_add(bytes).is_some_and(|it| it <= size);
    parts.copies.iter().all(fits).then_some(parts)
}

/// How many bytes a call copies or fills, if it does that; `None` if it does something else that counts.
fn copied(call: Value<'_>) -> Option<Option<u64>> {
    if call.calls_intrinsic(&["lifetime."]) {
        return Some(None);
    }
    if !call.calls_intrinsic(&["memcpy.p", "memmove.p", "memset.p"]) || !call.operand(3).is_zero() {
        return None;
    }
    call.operand(2).as_unsigned().map(Some)
}

fn is_plain(ty: Type<'_>) -> bool {
    use TypeKind::{Double, Float, Half, Integer, Pointer};
    matches!(ty.kind(), Integer | Half | Float | Double | Pointer)
}
