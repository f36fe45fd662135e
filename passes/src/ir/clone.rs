//! Clones blocks. The clones use each other's results.

use std::collections::HashMap;

use llvm_sys::LLVMOpcode;
use llvm_sys::LLVMTypeKind::{LLVMTokenTypeKind, LLVMVoidTypeKind};
use llvm_sys::core::*;
use llvm_sys::prelude::*;

use crate::ir;

/// What became of blocks and of the values in them.
#[derive(Default)]
pub(crate) struct ClonedBlocks {
    pub blocks: HashMap<LLVMBasicBlockRef, LLVMBasicBlockRef>,
    pub values: HashMap<LLVMValueRef, LLVMValueRef>,
}

impl ClonedBlocks {
    /// The copy of a value, or the value itself if it was not cloned.
    pub fn value(&self, value: LLVMValueRef) -> LLVMValueRef {
        self.values.get(&value).copied().unwrap_or(value)
    }

    /// The copy of a block, or the block itself if it was not cloned.
    pub fn block(&self, block: LLVMBasicBlockRef) -> LLVMBasicBlockRef {
        self.blocks.get(&block).copied().unwrap_or(block)
    }
}

/// Whether an instruction may be cloned into a block that only some work-items of a group reach.
pub(crate) fn is_cloneable(instruction: LLVMValueRef) -> bool {
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
/// The blocks are of one live function, and all that is in them [can be cloned](is_cloneable).
pub(crate) unsafe fn clone_blocks(blocks: &[LLVMBasicBlockRef]) -> ClonedBlocks {
    let mut cloned = ClonedBlocks::default();
    let mut phis = Vec::new();
    // SAFETY: as promised by the caller. An instruction is cloned to the end of its block's copy; operands are replaced when
    // all copies are there, by values of the same type.
    unsafe {
        let Some(&last) = blocks.last() else { return cloned };
        let function = LLVMGetBasicBlockParent(last);
        let context = LLVMGetTypeContext(LLVMTypeOf(function));
        let builder = LLVMCreateBuilderInContext(context);
        let mut behind = last;
        for &block in blocks {
            let new = LLVMAppendBasicBlockInContext(context, function, c"".as_ptr());
            LLVMMoveBasicBlockAfter(new, behind);
            behind = new;
            cloned.blocks.insert(block, new);
            LLVMPositionBuilderAtEnd(builder, new);
            for instruction in ir::instructions_of(block) {
                let clone = if ir::opcode(instruction) == Some(LLVMOpcode::LLVMPHI) {
                    let clone = LLVMBuildPhi(builder, LLVMTypeOf(instruction), c"".as_ptr());
                    if LLVMCanValueUseFastMathFlags(instruction) != 0 {
                        LLVMSetFastMathFlags(clone, LLVMGetFastMathFlags(instruction));
                    }
                    phis.push((instruction, clone));
                    clone
                } else {
                    let clone = LLVMInstructionClone(instruction);
                    LLVMInsertIntoBuilder(builder, clone);
                    clone
                };
                if LLVMGetTypeKind(LLVMTypeOf(instruction)) != LLVMVoidTypeKind {
                    cloned.values.insert(instruction, clone);
                }
            }
        }
        LLVMDisposeBuilder(builder);
        for (phi, clone) in phis {
            for index in 0..LLVMCountIncoming(phi) {
                let mut value = cloned.value(LLVMGetIncomingValue(phi, index));
                let mut from = cloned.block(LLVMGetIncomingBlock(phi, index));
                LLVMAddIncoming(clone, &mut value, &mut from, 1);
            }
        }
        for block in blocks {
            for clone in ir::instructions_of(cloned.blocks[block]) {
                if ir::opcode(clone) != Some(LLVMOpcode::LLVMPHI) {
                    redirect(clone, &cloned);
                }
            }
        }
    }
    cloned
}

/// Lets a copy use copies.
///
/// # Safety
/// The instruction is live; the copies of its operands have the same types and are of its function.
unsafe fn redirect(clone: LLVMValueRef, cloned: &ClonedBlocks) {
    // SAFETY: as promised by the caller; each index is below the number of operands, or of successors.
    unsafe {
        for index in 0..LLVMGetNumOperands(clone) as u32 {
            let operand = LLVMGetOperand(clone, index);
            if let Some(&new) = cloned.values.get(&operand) {
                LLVMSetOperand(clone, index, new);
            }
        }
        if !LLVMIsATerminatorInst(clone).is_null() {
            for index in 0..LLVMGetNumSuccessors(clone) {
                let next = LLVMGetSuccessor(clone, index);
                if let Some(&new) = cloned.blocks.get(&next) {
                    LLVMSetSuccessor(clone, index, new);
                }
            }
        }
    }
}
