//! Gives a function another body.
//!
//! Before:
//! ```llvm
//! define ptr @marker() noinline {
//!   ret ptr null
//! }
//! ```
//! After, with the address of a global as the constant:
//! ```llvm
//! define ptr @marker() {
//!   ret ptr @descriptor
//! }
//! ```

use llvm_sys::core::*;
use llvm_sys::prelude::*;
use llvm_sys::{LLVMAttributeFunctionIndex, LLVMTypeKind};

use crate::ir;

/// Makes a function return a constant and nothing else, and lets callers inline it.
///
/// # Safety
/// `function` is a definition in a live module that no other thread has, and `constant` a constant
/// of the function's return type in the same module.
pub unsafe fn return_constant(function: LLVMValueRef, constant: LLVMValueRef) {
    let doomed = ir::instructions(function);
    // SAFETY: as promised by the caller. Every use of an instruction is replaced before the
    // instructions are erased, and a block is deleted only after all instructions have been.
    unsafe {
        for &instruction in &doomed {
            let ty = LLVMTypeOf(instruction);
            if LLVMGetTypeKind(ty) != LLVMTypeKind::LLVMVoidTypeKind {
                LLVMReplaceAllUsesWith(instruction, LLVMGetPoison(ty));
            }
        }
        for &instruction in doomed.iter().rev() {
            LLVMInstructionEraseFromParent(instruction);
        }
        let mut block = LLVMGetFirstBasicBlock(function);
        while !block.is_null() {
            let next = LLVMGetNextBasicBlock(block);
            LLVMDeleteBasicBlock(block);
            block = next;
        }
        let context = LLVMGetModuleContext(LLVMGetGlobalParent(function));
        let block = LLVMAppendBasicBlockInContext(context, function, c"".as_ptr());
        let builder = LLVMCreateBuilderInContext(context);
        LLVMPositionBuilderAtEnd(builder, block);
        LLVMBuildRet(builder, constant);
        LLVMDisposeBuilder(builder);
        for attribute in ["noinline", "optnone"] {
            let kind = LLVMGetEnumAttributeKindForName(attribute.as_ptr().cast(), attribute.len());
            LLVMRemoveEnumAttributeAtIndex(function, LLVMAttributeFunctionIndex, kind);
        }
    }
}
