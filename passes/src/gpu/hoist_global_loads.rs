//! Moves loads of global memory in front of stores to local memory. Runs in stage 2, for GPUs,
//! after optimisation.
//!
//! Before:
//! ```llvm
//! %a = load i32, ptr addrspace(1) %a.at
//! store atomic i32 %a, ptr addrspace(3) %a.tile monotonic, align 4
//! %b.at = getelementptr i32, ptr addrspace(1) %b.first, i64 %row
//! %b = load i32, ptr addrspace(1) %b.at
//! store atomic i32 %b, ptr addrspace(3) %b.tile monotonic, align 4
//! ```
//! After:
//! ```llvm
//! %a = load i32, ptr addrspace(1) %a.at
//! %b.at = getelementptr i32, ptr addrspace(1) %b.first, i64 %row
//! %b = load i32, ptr addrspace(1) %b.at
//! store atomic i32 %a, ptr addrspace(3) %a.tile monotonic, align 4
//! store atomic i32 %b, ptr addrspace(3) %b.tile monotonic, align 4
//! ```
//!
//! Elements of local memory are shared by work-items, so accesses to them are atomic, and LLVM does
//! not move anything past those. A GPU that stores the first element before it asks for the second
//! waits for memory twice.
//!
//! The two memories (address spaces 1 and 3) do not overlap. A plain load may come before a store
//! that orders nothing (`monotonic`). It stays in its block, and behind barriers, fences, calls,
//! and stores to any other memory.

use std::collections::HashSet;

use inkwell::module::Module;
use llvm_sys::LLVMAtomicOrdering::{
    LLVMAtomicOrderingMonotonic, LLVMAtomicOrderingNotAtomic, LLVMAtomicOrderingUnordered,
};
use llvm_sys::LLVMOpcode;
use llvm_sys::core::*;
use llvm_sys::prelude::*;

use crate::ir;
use crate::spec::target::NVPTX;

/// How many instructions a load goes past at most: each value that is loaded early takes a register meanwhile.
const FAR: usize = 64;

/// The numbers of both memories.
const GLOBAL: u32 = NVPTX.global;
const SHARED: u32 = NVPTX.local;

/// Runs the pass over the module, which is one for a GPU.
pub fn run(module: &Module<'_>) {
    ir::on_each_function(module, run_on);
}

/// Runs the pass over one function; a declaration has nothing to do.
///
/// # Safety
/// `function` is a function of a live module for a GPU, which nobody else changes meanwhile.
pub unsafe fn run_on(function: LLVMValueRef) {
    for load in ir::instructions(function) {
        if ir::opcode(load) == Some(LLVMOpcode::LLVMLoad) && is_plain(load, GLOBAL) {
            // SAFETY: as promised by the caller.
            unsafe { hoist(load) };
        }
    }
}

/// Moves a load, and the arithmetic of its address, in front of the stores before it.
///
/// # Safety
/// `load` is a load of a live function.
unsafe fn hoist(load: LLVMValueRef) {
    let mut moved = vec![load];
    let mut needed: HashSet<LLVMValueRef> = ir::operands(load).collect();
    let mut target = None;
    // How many of `moved` belong in front of the target.
    let mut count = 0;
    // SAFETY: as promised by the caller; each instruction of the walk is of the same block.
    unsafe {
        let mut at = LLVMGetPreviousInstruction(load);
        for _ in 0..FAR {
            if at.is_null() {
                break;
            }
            if needed.contains(&at) {
                if !is_arithmetic(at) {
                    break;
                }
                needed.extend(ir::operands(at));
                moved.push(at);
            } else if ir::opcode(at) == Some(LLVMOpcode::LLVMStore) && is_plain(at, SHARED) {
                (target, count) = (Some(at), moved.len());
            } else if !is_passed(at) {
                break;
            }
            at = LLVMGetPreviousInstruction(at);
        }
        let Some(target) = target else { return };
        let builder = LLVMCreateBuilderInContext(LLVMGetTypeContext(LLVMTypeOf(load)));
        LLVMPositionBuilderBefore(builder, target);
        // What was found first stands last.
        for &instruction in moved[..count].iter().rev() {
            LLVMInstructionRemoveFromParent(instruction);
            LLVMInsertIntoBuilder(builder, instruction);
        }
        LLVMDisposeBuilder(builder);
    }
}

/// Whether an access of a memory neither is volatile nor orders others.
fn is_plain(access: LLVMValueRef, space: u32) -> bool {
    // SAFETY: the access is a live load or store: its address is its last operand.
    unsafe {
        let address = LLVMGetOperand(access, LLVMGetNumOperands(access) as u32 - 1);
        LLVMGetVolatile(access) == 0
            && ir::address_space(address) == Some(space)
            && orders_nothing(access)
            && (space != GLOBAL || LLVMGetOrdering(access) == LLVMAtomicOrderingNotAtomic)
    }
}

fn orders_nothing(access: LLVMValueRef) -> bool {
    // SAFETY: the access is a live load or store.
    let ordering = unsafe { LLVMGetOrdering(access) };
    matches!(
        ordering,
        LLVMAtomicOrderingNotAtomic | LLVMAtomicOrderingUnordered | LLVMAtomicOrderingMonotonic
    )
}

fn is_arithmetic(instruction: LLVMValueRef) -> bool {
    use LLVMOpcode::*;
    ir::is_integer_arithmetic(instruction)
        || matches!(
            ir::opcode(instruction),
            Some(
                LLVMGetElementPtr
                    | LLVMIntToPtr
                    | LLVMFreeze
                    | LLVMAddrSpaceCast
                    | LLVMFAdd
                    | LLVMFSub
                    | LLVMFMul
                    | LLVMFNeg
                    | LLVMFCmp
                    | LLVMExtractValue
            )
        )
}

/// Whether a load may be made before an instruction instead of behind it.
fn is_passed(instruction: LLVMValueRef) -> bool {
    match ir::opcode(instruction) {
        // SAFETY: a load is asked whether it is volatile.
        Some(LLVMOpcode::LLVMLoad) => unsafe {
            LLVMGetVolatile(instruction) == 0 && orders_nothing(instruction)
        },
        Some(LLVMOpcode::LLVMCall) => ir::callee(instruction)
            .is_some_and(|callee| ir::name_of(callee).starts_with("llvm.assume")),
        _ => is_arithmetic(instruction),
    }
}
