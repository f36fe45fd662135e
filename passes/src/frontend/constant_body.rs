//! Gives a function another body.
//!
//! Before:
//! ```llvm
//! define ptr @marker() noinline {
//!   ret ptr null
//! }
//! ```
//! After, with the address of a global as the constant; what counts for a profile stays:
//! ```llvm
//! define ptr @marker() {
//!   ret ptr @descriptor
//! }
//! ```

use llvm_sys::core::*;
use llvm_sys::prelude::*;
use llvm_sys::{LLVMAttributeFunctionIndex, LLVMTypeKind};

use crate::frontend::strip_instrumentation;
use crate::ir;

/// Makes a function return a constant and nothing else, and lets callers inline it. Where the function counts its calls for a profile it
/// goes on to do so: a report on coverage looks for the counters of every function that its map has.
///
/// # Safety
/// `function` is a definition in a live module that no other thread has, and `constant` a constant
/// of the function's return type in the same module.
pub unsafe fn return_constant(function: LLVMValueRef, constant: LLVMValueRef) {
    // Of the first block, which each call runs.
    let counters: Vec<_> = ir::blocks(function)
        .first()
        .map(|entry| ir::instructions_of(*entry))
        .unwrap_or_default()
        .into_iter()
        .filter(|instruction| strip_instrumentation::is_counter(*instruction))
        .collect();
    let doomed: Vec<_> = ir::instructions(function)
        .into_iter()
        .filter(|instruction| !counters.contains(instruction))
        .collect();
    // SAFETY: as promised by the caller. Every use of an instruction is replaced before the
    // instructions are erased, and a block is deleted only after all instructions have been. A
    // counter's operands are constants, so it can stand anywhere.
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
        for &counter in &counters {
            LLVMInstructionRemoveFromParent(counter);
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
        for counter in counters {
            LLVMInsertIntoBuilder(builder, counter);
        }
        LLVMBuildRet(builder, constant);
        LLVMDisposeBuilder(builder);
        for attribute in ["noinline", "optnone"] {
            let kind = LLVMGetEnumAttributeKindForName(attribute.as_ptr().cast(), attribute.len());
            LLVMRemoveEnumAttributeAtIndex(function, LLVMAttributeFunctionIndex, kind);
        }
    }
}
