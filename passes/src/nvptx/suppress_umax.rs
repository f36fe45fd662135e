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
use llvm_sys::core::*;
use llvm_sys::prelude::*;
use llvm_sys::{LLVMInlineAsmDialect, LLVMIntPredicate, LLVMOpcode, LLVMTypeKind};

use crate::ir;

/// LLVM's number for `memory(inaccessiblemem: readwrite)`.
const NO_MEMORY_OF_OURS: u64 = 0b11 << 2;

/// Runs the pass over a module.
pub fn run(module: &Module<'_>) {
    // SAFETY: the module is live and held by the caller.
    unsafe { run_raw(module.as_mut_ptr()) };
}

/// Runs the pass over a module.
///
/// # Safety
/// The module is live, and nobody else changes it during the call.
pub unsafe fn run_raw(module: LLVMModuleRef) {
    for instruction in ir::functions(module).into_iter().flat_map(ir::instructions) {
        // SAFETY: the instruction is live, since nothing is removed.
        unsafe {
            if is_order_of_long(instruction) && ir::users(instruction).into_iter().any(is_join) {
                keep(module, instruction);
            }
        }
    }
}

/// Whether this compares numbers of 64 bits for their order.
///
/// # Safety
/// It is a live instruction.
unsafe fn is_order_of_long(comparison: LLVMValueRef) -> bool {
    // SAFETY: as promised by the caller; only a comparison is asked for its predicate, only an integer for its width.
    unsafe {
        if ir::opcode(comparison) != Some(LLVMOpcode::LLVMICmp) {
            return false;
        }
        let equality = [LLVMIntPredicate::LLVMIntEQ, LLVMIntPredicate::LLVMIntNE];
        let ty = LLVMTypeOf(LLVMGetOperand(comparison, 0));
        !equality.contains(&LLVMGetICmpPredicate(comparison))
            && LLVMGetTypeKind(ty) == LLVMTypeKind::LLVMIntegerTypeKind
            && LLVMGetIntTypeWidth(ty) == 64
    }
}

/// Whether an instruction joins conditions.
fn is_join(user: LLVMValueRef) -> bool {
    // SAFETY: users of a live value are live; only an integer is asked for its width.
    unsafe {
        let ty = LLVMTypeOf(user);
        let is_condition = LLVMGetTypeKind(ty) == LLVMTypeKind::LLVMIntegerTypeKind
            && LLVMGetIntTypeWidth(ty) == 1;
        is_condition
            && matches!(
                ir::opcode(user),
                Some(LLVMOpcode::LLVMAnd | LLVMOpcode::LLVMOr | LLVMOpcode::LLVMSelect)
            )
    }
}

/// Asks for a result behind where it is computed.
///
/// # Safety
/// It is a live comparison of the module, so not the last instruction of its block.
unsafe fn keep(module: LLVMModuleRef, comparison: LLVMValueRef) {
    // SAFETY: as promised by the caller; the assembly takes what it is given: one condition.
    unsafe {
        let context = LLVMGetModuleContext(module);
        let builder = LLVMCreateBuilderInContext(context);
        LLVMPositionBuilderBefore(builder, LLVMGetNextInstruction(comparison));
        let mut condition = [LLVMTypeOf(comparison)];
        let void = LLVMVoidTypeInContext(context);
        let ty = LLVMFunctionType(void, condition.as_mut_ptr(), 1, 0);
        let dialect = LLVMInlineAsmDialect::LLVMInlineAsmDialectATT;
        let (nothing, input) = (c"".as_ptr(), c"b".as_ptr());
        let assembly = LLVMGetInlineAsm(ty, nothing, 0, input, 1, 1, 0, dialect, 0);
        let mut operand = [comparison];
        let call = LLVMBuildCall2(builder, ty, assembly, operand.as_mut_ptr(), 1, nothing);
        LLVMDisposeBuilder(builder);
        let kind = ir::enum_kind("memory");
        let attribute = LLVMCreateEnumAttribute(context, kind, NO_MEMORY_OF_OURS);
        LLVMAddCallSiteAttribute(call, llvm_sys::LLVMAttributeFunctionIndex, attribute);
        let nounwind = LLVMCreateEnumAttribute(context, ir::enum_kind("nounwind"), 0);
        LLVMAddCallSiteAttribute(call, llvm_sys::LLVMAttributeFunctionIndex, nounwind);
    }
}
