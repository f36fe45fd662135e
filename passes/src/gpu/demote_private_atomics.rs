//! Turns atomic accesses of private memory into plain ones. Runs in stage 2, after optimisation.
//!
//! Before:
//! ```llvm
//!   %flag = alloca i32
//!   %old = atomicrmw add ptr %flag, i32 1 seq_cst
//!   %both = cmpxchg ptr %flag, i32 1, i32 2 seq_cst acquire
//!   %now = load atomic i32, ptr %flag acquire
//! ```
//! After:
//! ```llvm
//!   %flag = alloca i32
//!   %old = load i32, ptr %flag
//!   %new = add i32 %old, 1
//!   store i32 %new, ptr %flag
//!   %found = load i32, ptr %flag
//!   %same = icmp eq i32 %found, 1
//!   %kept = select i1 %same, i32 2, i32 %found
//!   store i32 %kept, ptr %flag
//!   %value = insertvalue { i32, i1 } poison, i32 %found, 0
//!   %both = insertvalue { i32, i1 } %value, i1 %same, 1
//!   %now = load i32, ptr %flag
//! ```
//!
//! Nobody else sees that memory, and GPUs have no atomic instructions for it. Only what is known to
//! be a local is changed: an address that comes out of memory, or into a function, stays as it is.

use std::collections::HashSet;

use inkwell::module::Module;
use llvm_sys::core::*;
use llvm_sys::prelude::*;
use llvm_sys::{LLVMAtomicOrdering, LLVMAtomicRMWBinOp as Op, LLVMIntPredicate, LLVMOpcode};

use crate::ir;

/// Runs the pass over a module.
pub fn run_on(module: &Module<'_>) {
    ir::on_each_function(module, run);
}

/// Runs the pass over a function.
///
/// # Safety
/// `function` is a function of a live module that nobody else changes during the call.
pub unsafe fn run(function: LLVMValueRef) {
    for instruction in ir::instructions(function) {
        // SAFETY: the instruction is live: only it is removed, when its turn comes. Operands are those of its kind.
        unsafe {
            match ir::opcode(instruction) {
                Some(LLVMOpcode::LLVMLoad) if is_local(LLVMGetOperand(instruction, 0)) => {
                    make_plain(instruction);
                }
                Some(LLVMOpcode::LLVMStore) if is_local(LLVMGetOperand(instruction, 1)) => {
                    make_plain(instruction);
                }
                Some(LLVMOpcode::LLVMAtomicRMW) if is_local(LLVMGetOperand(instruction, 0)) => {
                    update(instruction);
                }
                Some(LLVMOpcode::LLVMAtomicCmpXchg) if is_local(LLVMGetOperand(instruction, 0)) => {
                    exchange(instruction);
                }
                _ => {}
            }
        }
    }
}

/// Whether all that an address may be is in the work-item's own memory.
fn is_local(address: LLVMValueRef) -> bool {
    let mut seen = HashSet::new();
    let mut open = vec![address];
    while let Some(value) = open.pop() {
        if !seen.insert(value) {
            continue;
        }
        // SAFETY: the value is live, and operands are asked of the instructions that have them.
        unsafe {
            match ir::opcode(value) {
                Some(LLVMOpcode::LLVMAlloca) => {}
                Some(
                    LLVMOpcode::LLVMGetElementPtr
                    | LLVMOpcode::LLVMBitCast
                    | LLVMOpcode::LLVMAddrSpaceCast,
                ) => open.push(LLVMGetOperand(value, 0)),
                Some(LLVMOpcode::LLVMSelect) => {
                    open.extend([LLVMGetOperand(value, 1), LLVMGetOperand(value, 2)]);
                }
                Some(LLVMOpcode::LLVMPHI) => {
                    let count = LLVMCountIncoming(value);
                    open.extend((0..count).map(|index| LLVMGetIncomingValue(value, index)));
                }
                _ => return false,
            }
        }
    }
    true
}

/// Takes the ordering from a load or a store.
///
/// # Safety
/// `access` is a live load or store.
pub(crate) unsafe fn make_plain(access: LLVMValueRef) {
    let plain = LLVMAtomicOrdering::LLVMAtomicOrderingNotAtomic;
    // SAFETY: as promised by the caller. What is not atomic has no scope but the widest.
    unsafe {
        if LLVMGetOrdering(access) != plain {
            LLVMSetAtomicSingleThread(access, 0);
            LLVMSetOrdering(access, plain);
        }
    }
}

/// Makes an update a load, an operation and a store.
///
/// # Safety
/// `instruction` is a live `atomicrmw`, which is erased unless its operation is one that no kernel has.
unsafe fn update(instruction: LLVMValueRef) {
    // SAFETY: as promised by the caller; everything is made in front of it, of its types.
    unsafe {
        let (address, value) = (LLVMGetOperand(instruction, 0), LLVMGetOperand(instruction, 1));
        let ty = LLVMTypeOf(value);
        let operation = LLVMGetAtomicRMWBinOp(instruction);
        let builder = LLVMCreateBuilderInContext(LLVMGetTypeContext(ty));
        LLVMPositionBuilderBefore(builder, instruction);
        let name = c"".as_ptr();
        let old = LLVMBuildLoad2(builder, ty, address, name);
        LLVMSetAlignment(old, LLVMGetAlignment(instruction));
        let choose = |predicate| {
            let old_wins = LLVMBuildICmp(builder, predicate, old, value, name);
            LLVMBuildSelect(builder, old_wins, old, value, name)
        };
        let new = match operation {
            Op::LLVMAtomicRMWBinOpXchg => value,
            Op::LLVMAtomicRMWBinOpAdd => LLVMBuildAdd(builder, old, value, name),
            Op::LLVMAtomicRMWBinOpSub => LLVMBuildSub(builder, old, value, name),
            Op::LLVMAtomicRMWBinOpAnd => LLVMBuildAnd(builder, old, value, name),
            Op::LLVMAtomicRMWBinOpOr => LLVMBuildOr(builder, old, value, name),
            Op::LLVMAtomicRMWBinOpXor => LLVMBuildXor(builder, old, value, name),
            Op::LLVMAtomicRMWBinOpNand => {
                let both = LLVMBuildAnd(builder, old, value, name);
                LLVMBuildNot(builder, both, name)
            }
            Op::LLVMAtomicRMWBinOpMax => choose(LLVMIntPredicate::LLVMIntSGT),
            Op::LLVMAtomicRMWBinOpMin => choose(LLVMIntPredicate::LLVMIntSLT),
            Op::LLVMAtomicRMWBinOpUMax => choose(LLVMIntPredicate::LLVMIntUGT),
            Op::LLVMAtomicRMWBinOpUMin => choose(LLVMIntPredicate::LLVMIntULT),
            // Rust has no others.
            _ => {
                LLVMInstructionEraseFromParent(old);
                LLVMDisposeBuilder(builder);
                return;
            }
        };
        let store = LLVMBuildStore(builder, new, address);
        LLVMSetAlignment(store, LLVMGetAlignment(instruction));
        LLVMDisposeBuilder(builder);
        LLVMReplaceAllUsesWith(instruction, old);
        LLVMInstructionEraseFromParent(instruction);
    }
}

/// Makes a compare-exchange a load, a choice and a store.
///
/// # Safety
/// `instruction` is a live `cmpxchg`, which is erased.
unsafe fn exchange(instruction: LLVMValueRef) {
    // SAFETY: as promised by the caller; everything is made in front of it, of its types.
    unsafe {
        let [address, expected, new] = [0, 1, 2].map(|index| LLVMGetOperand(instruction, index));
        let ty = LLVMTypeOf(new);
        let builder = LLVMCreateBuilderInContext(LLVMGetTypeContext(ty));
        LLVMPositionBuilderBefore(builder, instruction);
        let name = c"".as_ptr();
        let old = LLVMBuildLoad2(builder, ty, address, name);
        LLVMSetAlignment(old, LLVMGetAlignment(instruction));
        let same = LLVMBuildICmp(builder, LLVMIntPredicate::LLVMIntEQ, old, expected, name);
        let kept = LLVMBuildSelect(builder, same, new, old, name);
        let store = LLVMBuildStore(builder, kept, address);
        LLVMSetAlignment(store, LLVMGetAlignment(instruction));
        let nothing = LLVMGetPoison(LLVMTypeOf(instruction));
        let value = LLVMBuildInsertValue(builder, nothing, old, 0, name);
        let both = LLVMBuildInsertValue(builder, value, same, 1, name);
        LLVMDisposeBuilder(builder);
        LLVMReplaceAllUsesWith(instruction, both);
        LLVMInstructionEraseFromParent(instruction);
    }
}
