//! Raises the alignment of accesses at addresses that advance by constant steps. Runs in stage 2,
//! for GPUs, after optimisation.
//!
//! Before:
//! ```llvm
//! begin:
//!   %row = and i64 %any, -16
//!   %first = getelementptr float, ptr align 16 %p, i64 %row
//! loop:
//!   %at = phi ptr [ %first, %begin ], [ %at.next, %loop ]
//!   %a = load float, ptr %at, align 4
//!   %at.1 = getelementptr i8, ptr %at, i64 4
//!   %b = load float, ptr %at.1, align 4
//!   ...
//!   %at.next = getelementptr i8, ptr %at, i64 64
//! ```
//! After:
//! ```llvm
//!   %a = load float, ptr %at, align 64
//!   %b = load float, ptr %at.1, align 4
//! ```
//!
//! LLVM's code generator makes one access of neighbours where it knows the first one's alignment,
//! but does not look for it behind a phi.

use std::collections::HashMap;

use inkwell::module::Module;
use llvm_sys::LLVMOpcode::*;
use llvm_sys::core::*;
use llvm_sys::prelude::*;

use crate::analysis::scev;
use crate::ir;
use crate::ir::cfg::Cfg;

/// How many steps of arithmetic are looked through.
const DEPTH: u32 = 8;

/// No access asks for more: 2⁶ bytes.
const MOST: u32 = 6;

/// Runs the pass over the module.
pub fn run(module: &Module<'_>) {
    ir::on_each_function(module, run_on);
}

/// Runs the pass over one function; a declaration has nothing to do.
///
/// # Safety
/// `function` is a function of a live module that nobody else changes meanwhile.
pub unsafe fn run_on(function: LLVMValueRef) {
    if ir::blocks(function).is_empty() {
        return;
    }
    let cfg = Cfg::of(function);
    let loops = cfg.loops();
    let mut known = Known { phis: HashMap::new() };
    // Loops come before those inside of them: what those begin at may be a phi of theirs.
    let mut order: Vec<_> = loops.iter().collect();
    order.sort_by_key(|one| std::cmp::Reverse(one.blocks.len()));
    for one in order {
        for phi in ir::phis(cfg.blocks[one.header]) {
            let (first, next) = (
                ir::incoming(phi, cfg.blocks[one.preheader]),
                ir::incoming(phi, cfg.blocks[one.latch]),
            );
            let (Some(first), Some(next)) = (first, next) else { continue };
            if let Some((base, step)) = constant_step(next)
                && base == phi
                && scev::is_pointer(phi)
            {
                let zeros = known.of_address(first, DEPTH).min(zeros_of(step));
                known.phis.insert(phi, zeros);
            }
        }
    }
    if known.phis.is_empty() {
        return;
    }
    for access in ir::instructions(function) {
        let place = match ir::opcode(access) {
            Some(LLVMLoad) => 0,
            Some(LLVMStore) => 1,
            _ => continue,
        };
        // SAFETY: the access is a live load or store, whose address is that operand.
        unsafe {
            let address = LLVMGetOperand(access, place);
            let Some((base, offset)) = constant_step(address) else { continue };
            let Some(&zeros) = known.phis.get(&base) else { continue };
            let bytes = 1 << zeros.min(zeros_of(offset)).min(MOST);
            if bytes > LLVMGetAlignment(access) {
                LLVMSetAlignment(access, bytes);
            }
        }
    }
}

/// What is known of a function's values: how many of their lowest bits are zero at least.
struct Known {
    /// Of addresses that go on by steps.
    phis: HashMap<LLVMValueRef, u32>,
}

impl Known {
    /// Of an address.
    fn of_address(&self, address: LLVMValueRef, depth: u32) -> u32 {
        if let Some(&zeros) = self.phis.get(&address) {
            return zeros;
        }
        if let Some((base, index, size)) = element(address).filter(|_| depth > 0) {
            let offset = self.of_number(index, depth - 1).saturating_add(size.trailing_zeros());
            return self.of_address(base, depth - 1).min(offset);
        }
        if let Some(align) = ir::parameter_attribute(address, "align") {
            // SAFETY: an attribute with a number.
            return unsafe { LLVMGetEnumAttributeValue(align) }.trailing_zeros();
        }
        match ir::opcode(address) {
            // SAFETY: the instruction has an operand.
            Some(LLVMAddrSpaceCast) if depth > 0 => unsafe {
                self.of_address(LLVMGetOperand(address, 0), depth - 1)
            },
            _ => 0,
        }
    }

    /// Of an integer.
    fn of_number(&self, value: LLVMValueRef, depth: u32) -> u32 {
        // SAFETY: the value is live; operands are asked of instructions that have them.
        unsafe {
            if !LLVMIsAConstantInt(value).is_null() && LLVMGetIntTypeWidth(LLVMTypeOf(value)) <= 64
            {
                return zeros_of(LLVMConstIntGetSExtValue(value));
            }
            let operand = |index| match depth {
                0 => 0,
                _ => self.of_number(LLVMGetOperand(value, index), depth - 1),
            };
            let amount = || {
                let amount = LLVMGetOperand(value, 1);
                match LLVMIsAConstantInt(amount).is_null() {
                    true => 0,
                    false => LLVMConstIntGetZExtValue(amount).try_into().unwrap_or(u32::MAX),
                }
            };
            match ir::opcode(value) {
                Some(LLVMAdd | LLVMSub | LLVMOr | LLVMXor) => operand(0).min(operand(1)),
                Some(LLVMAnd) => operand(0).max(operand(1)),
                Some(LLVMMul) => operand(0).saturating_add(operand(1)),
                Some(LLVMShl) => operand(0).saturating_add(amount()),
                Some(LLVMZExt | LLVMSExt | LLVMTrunc) => operand(0),
                _ => 0,
            }
        }
    }
}

/// The lowest bits of a number that are zero; all of them, of zero.
const fn zeros_of(number: i64) -> u32 {
    number.trailing_zeros()
}

/// The parts of an address, and not of several, that is another one and one index.
fn element(address: LLVMValueRef) -> Option<(LLVMValueRef, LLVMValueRef, u64)> {
    ir::element(address).filter(|_| scev::is_pointer(address))
}

/// What an address is made of: another one that is not made so itself, and a constant number of bytes.
fn constant_step(mut address: LLVMValueRef) -> Option<(LLVMValueRef, i64)> {
    let mut bytes = 0_i64;
    while let Some((base, index, size)) = element(address) {
        // SAFETY: the index is a live value; a constant integer is asked for its value.
        let index = unsafe {
            if LLVMIsAConstantInt(index).is_null() {
                return Some((address, bytes));
            }
            LLVMConstIntGetSExtValue(index)
        };
        bytes = bytes.checked_add(index.checked_mul(size.try_into().ok()?)?)?;
        address = base;
    }
    Some((address, bytes))
}
