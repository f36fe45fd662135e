//! Copies of blocks: the same instructions once more, with each other's results.

use std::collections::HashMap;

use llvm_sys::LLVMOpcode;
use llvm_sys::LLVMTypeKind::{LLVMTokenTypeKind, LLVMVoidTypeKind};
use llvm_sys::core::*;
use llvm_sys::prelude::*;

use crate::ir;

/// What became of blocks and of the values in them.
#[derive(Default)]
pub(crate) struct Copied {
    pub blocks: HashMap<LLVMBasicBlockRef, LLVMBasicBlockRef>,
    pub values: HashMap<LLVMValueRef, LLVMValueRef>,
}

impl Copied {
    /// The copy of a value, or the value itself if it was not copied.
    pub fn value(&self, value: LLVMValueRef) -> LLVMValueRef {
        self.values.get(&value).copied().unwrap_or(value)
    }

    /// The copy of a block, or the block itself if it was not copied.
    pub fn block(&self, block: LLVMBasicBlockRef) -> LLVMBasicBlockRef {
        self.blocks.get(&block).copied().unwrap_or(block)
    }
}

/// Whether an instruction may stand in the program once more, in another place that fewer work-items of a group may come to.
pub(crate) fn can_be_copied(instruction: LLVMValueRef) -> bool {
    use LLVMOpcode::*;
    // SAFETY: the instruction is live, and only calls are asked for what calls have.
    unsafe {
        if LLVMGetTypeKind(LLVMTypeOf(instruction)) == LLVMTokenTypeKind {
            return false;
        }
        match ir::opcode(instruction) {
            Some(LLVMCall) => {
                let called = LLVMGetCalledValue(instruction);
                let has = |&name: &&str| {
                    ir::has_call_attribute(instruction, name)
                        || ir::callee(instruction)
                            .is_some_and(|callee| ir::has_function_attribute(callee, name))
                };
                let assumes = ir::callee(instruction)
                    .is_some_and(|callee| ir::name_of(callee) == "llvm.assume");
                // Assembly may define a symbol.
                LLVMIsAInlineAsm(called).is_null()
                    && (assumes || LLVMGetNumOperandBundles(instruction) == 0)
                    && !["convergent", "noduplicate", "nomerge", "returns_twice"].iter().any(has)
            }
            Some(
                LLVMAlloca | LLVMInvoke | LLVMIndirectBr | LLVMCallBr | LLVMLandingPad | LLVMResume
                | LLVMCatchSwitch | LLVMCatchPad | LLVMCleanupPad | LLVMCatchRet | LLVMCleanupRet,
            )
            | None => false,
            Some(_) => true,
        }
    }
}

/// Copies blocks, behind the last of them. Edges between them lead to copies; edges out of them lead where they led, and phis
/// there are the caller's business. A phi has an edge from whatever it had one from, or from its copy.
///
/// # Safety
/// The blocks are of one live function, and all that is in them [can be copied](can_be_copied).
pub(crate) unsafe fn copy(blocks: &[LLVMBasicBlockRef]) -> Copied {
    let mut copied = Copied::default();
    let mut phis = Vec::new();
    // SAFETY: as promised by the caller. An instruction is copied to the end of its block's copy; operands are replaced when
    // all copies are there, by values of the same type.
    unsafe {
        let Some(&last) = blocks.last() else { return copied };
        let function = LLVMGetBasicBlockParent(last);
        let context = LLVMGetTypeContext(LLVMTypeOf(function));
        let builder = LLVMCreateBuilderInContext(context);
        let mut behind = last;
        for &block in blocks {
            let new = LLVMAppendBasicBlockInContext(context, function, c"".as_ptr());
            LLVMMoveBasicBlockAfter(new, behind);
            behind = new;
            copied.blocks.insert(block, new);
            LLVMPositionBuilderAtEnd(builder, new);
            for instruction in ir::instructions_of(block) {
                let twin = if ir::opcode(instruction) == Some(LLVMOpcode::LLVMPHI) {
                    let twin = LLVMBuildPhi(builder, LLVMTypeOf(instruction), c"".as_ptr());
                    if LLVMCanValueUseFastMathFlags(instruction) != 0 {
                        LLVMSetFastMathFlags(twin, LLVMGetFastMathFlags(instruction));
                    }
                    phis.push((instruction, twin));
                    twin
                } else {
                    let twin = LLVMInstructionClone(instruction);
                    LLVMInsertIntoBuilder(builder, twin);
                    twin
                };
                if LLVMGetTypeKind(LLVMTypeOf(instruction)) != LLVMVoidTypeKind {
                    copied.values.insert(instruction, twin);
                }
            }
        }
        LLVMDisposeBuilder(builder);
        for (phi, twin) in phis {
            for index in 0..LLVMCountIncoming(phi) {
                let mut value = copied.value(LLVMGetIncomingValue(phi, index));
                let mut from = copied.block(LLVMGetIncomingBlock(phi, index));
                LLVMAddIncoming(twin, &mut value, &mut from, 1);
            }
        }
        for block in blocks {
            for twin in ir::instructions_of(copied.blocks[block]) {
                if ir::opcode(twin) != Some(LLVMOpcode::LLVMPHI) {
                    redirect(twin, &copied);
                }
            }
        }
    }
    copied
}

/// Lets a copy use copies.
///
/// # Safety
/// The instruction is live; the copies of its operands have the same types and are of its function.
unsafe fn redirect(twin: LLVMValueRef, copied: &Copied) {
    // SAFETY: as promised by the caller; each index is below the number of operands, or of successors.
    unsafe {
        for index in 0..LLVMGetNumOperands(twin) as u32 {
            let operand = LLVMGetOperand(twin, index);
            if let Some(&new) = copied.values.get(&operand) {
                LLVMSetOperand(twin, index, new);
            }
        }
        if !LLVMIsATerminatorInst(twin).is_null() {
            for index in 0..LLVMGetNumSuccessors(twin) {
                let next = LLVMGetSuccessor(twin, index);
                if let Some(&new) = copied.blocks.get(&next) {
                    LLVMSetSuccessor(twin, index, new);
                }
            }
        }
    }
}
