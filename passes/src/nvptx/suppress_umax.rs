//! Keeps LLVM from combining two 64-bit comparisons into `umax`. Runs in stage 2, as one of the
//! last passes.
//!
//! Before:
//! ```llvm
//!   %a.inside = icmp ult i64 %a, %len
//!   %b.inside = icmp ult i64 %b, %len
//!   %both = and i1 %a.inside, %b.inside
//! ```
//! After:
//! ```llvm
//!   %a.inside = icmp ult i64 %a, %len
//!   call void asm sideeffect "", "b"(i1 %a.inside)
//!   %b.inside = icmp ult i64 %b, %len
//!   call void asm sideeffect "", "b"(i1 %b.inside)
//!   %both = and i1 %a.inside, %b.inside
//! ```
//!
//! LLVM's code generator would combine the comparisons into one of the greater value (`umax`),
//! unless each result has another user: the empty assembly is one, and no instruction. A GPU has
//! 32-bit registers, so `umax` of 64 bits takes four instructions, and a second comparison two; the
//! `and` is free.

use inkwell::module::Module;
use schism_llvm::{
    AsModule, AsmDialect, Builder, FUNCTION_INDEX, IntPredicate, ModuleRef, Opcode, TypeKind,
    Value, enum_kind,
};

/// LLVM's number for `memory(inaccessiblemem: readwrite)`.
const NO_MEMORY_OF_OURS: u64 = 0b11 << 2;

/// Runs the pass over a module.
pub fn run(module: &Module<'_>) {
    run_raw(module.handle());
}

/// Runs the pass over a module.
pub fn run_raw(module: ModuleRef<'_>) {
    for instruction in module.functions().into_iter().flat_map(Value::instructions) {
        if is_order_of_long(instruction) && instruction.users().into_iter().any(is_join) {
            keep(module, instruction);
        }
    }
}

/// Whether this compares numbers of 64 bits for their order.
fn is_order_of_long(comparison: Value<'_>) -> bool {
    if comparison.opcode() != Some(Opcode::ICmp) {
        return false;
    }
    let equality = [IntPredicate::EQ, IntPredicate::NE];
    let ty = comparison.operand(0).ty();
    !equality.contains(&comparison.icmp_predicate())
        && ty.kind() == TypeKind::Integer
        && ty.int_width() == 64
}

/// Whether an instruction joins conditions.
fn is_join(user: Value<'_>) -> bool {
    let ty = user.ty();
    let is_condition = ty.kind() == TypeKind::Integer && ty.int_width() == 1;
    is_condition && matches!(user.opcode(), Some(Opcode::And | Opcode::Or | Opcode::Select))
}

/// Asks for a result behind where it is computed.
fn keep<'m>(module: ModuleRef<'m>, comparison: Value<'m>) {
    let context = module.context();
    let builder = Builder::before(comparison.next().expect("no comparison ends a block"));
    let ty = context.void_type().function(&[comparison.ty()], false);
    let assembly = ty.inline_assembly("", "b", true, false, AsmDialect::Att);
    let call = builder.call(ty, assembly, &[comparison]);
    let kind = enum_kind("memory");
    let attribute = context.enum_attribute(kind, NO_MEMORY_OF_OURS);
    call.add_call_attribute_at(FUNCTION_INDEX, attribute);
    let nounwind = context.enum_attribute(enum_kind("nounwind"), 0);
    call.add_call_attribute_at(FUNCTION_INDEX, nounwind);
}
