//! Finds the blocks that belong to a panic.

use llvm_sys::LLVMOpcode;
use llvm_sys::prelude::*;

use crate::ir;
use crate::ir::cfg::Cfg;

/// How many blocks a panic may have, before the one that shows it.
const PANIC: usize = 8;

/// Whether a function that is optimised has panics.
///
/// # Safety
/// `function` is a function of a live module.
#[must_use]
pub unsafe fn has_panics(function: LLVMValueRef) -> bool {
    !ir::has_function_attribute(function, "optnone")
        && ir::blocks(function).into_iter().any(is_cold)
}

/// Whether a block is a part of a panic: it ends in nothing, or calls what is `cold`.
pub(crate) fn is_cold(block: LLVMBasicBlockRef) -> bool {
    ir::instructions_of(block).into_iter().any(|instruction| match ir::opcode(instruction) {
        Some(LLVMOpcode::LLVMUnreachable) => true,
        Some(LLVMOpcode::LLVMCall) => {
            let callee = ir::callee(instruction);
            ir::has_call_attribute(instruction, "cold")
                || callee.is_some_and(|callee| ir::has_function_attribute(callee, "cold"))
        }
        _ => false,
    })
}

/// Whether what comes after a block is a panic.
pub(crate) fn panics(cfg: &Cfg, mut block: usize) -> bool {
    for _ in 0..PANIC {
        if is_cold(cfg.blocks[block]) {
            return true;
        }
        let &[next] = &cfg.successors[block][..] else { return false };
        block = next;
    }
    false
}
