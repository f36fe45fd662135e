//! Adds unroll counts to small counted loops. Runs in stage 2, for GPUs, before optimisation.
//!
//! Before:
//! ```llvm
//! loop:
//!   …
//!   %next = add i32 %k, 1
//!   %more = icmp ult i32 %next, 512
//!   br i1 %more, label %loop, label %done
//! ```
//! After:
//! ```llvm
//!   br i1 %more, label %loop, label %done, !llvm.loop !0
//!
//! !0 = distinct !{!0, !1}
//! !1 = !{!"llvm.loop.unroll.count", i32 16}
//! ```
//!
//! A GPU issues one instruction after the other: counting and jumping are a tenth of a loop of
//! twenty instructions. LLVM's threshold is meant for processors that do both in parallel.
//! Unrolling also waits for memory once for all loads of the unrolled iterations, so very small
//! loops with several loads get the hint for any trip count: for as many iterations as have
//! `REQUESTS` loads in flight. Only innermost loops without calls and without an exit to a panic
//! get the hint; an existing hint stays.
//!
//! The weight of an operation is its number of GPU instructions: an exact division is dozens, with
//! a branch for rare operands. Unrolling gains nothing there, and costs the driver time. So LLVM is
//! also kept from peeling loops with such operations, which it does where a condition differs in
//! the first iteration:
//! ```llvm
//! !2 = distinct !{!2, !3}
//! !3 = !{!"llvm.loop.peeled.count", i32 7}
//! ```

use inkwell::module::Module;
use llvm_sys::core::*;
use llvm_sys::prelude::*;
use llvm_sys::{LLVMFastMathApproxFunc, LLVMOpcode, LLVMTypeKind};

use crate::analysis::cold_paths::panics;
use crate::ir;
use crate::ir::cfg::{Cfg, Loop};
use crate::ir::metadata;

/// Instructions that an unrolled loop may have.
const SIZE: usize = 256;

/// The greatest unroll count.
const TURNS: usize = 16;

/// Loops with a smaller trip count are left to LLVM, which may unroll them completely.
const COUNT: u64 = 64;

/// A loop that waits for memory gets the hint for any trip count if its body has no more instructions.
const WAITING: usize = 16;

/// So many loads per iteration are worth it.
const LOADS: usize = 2;

/// So many requests on their way are as many as memory answers at once.
const REQUESTS: usize = 16;

/// Loads of elements that stand side by side which become one request.
const SIDE_BY_SIDE: usize = 4;

/// A loop with an operation of this weight is not peeled.
const HEAVY: usize = 16;

/// LLVM's property for how many iterations are peeled already. From this number on it peels none.
const PEELED: &str = "llvm.loop.peeled.count";
const MOST_PEELED: usize = 7;

/// LLVM's name for the hint.
const COUNTED: &str = "llvm.loop.unroll.count";

/// Runs the pass over the module.
pub fn run(module: &Module<'_>) {
    ir::on_each_function(module, run_on);
}

/// Runs the pass over one function; a declaration has nothing to do.
///
/// # Safety
/// `function` is a function of a live module that nobody else changes meanwhile.
pub unsafe fn run_on(function: LLVMValueRef) {
    if ir::blocks(function).is_empty() || ir::has_function_attribute(function, "optnone") {
        return;
    }
    let cfg = Cfg::of(function);
    for of in cfg.loops() {
        let unroll_count = if of.innermost { unroll_count(&cfg, &of) } else { None };
        // A loop around a small one becomes innermost when the small one is unrolled completely.
        let (property, number) = match unroll_count {
            Some(count) => (COUNTED, count),
            None if is_heavy(&cfg, &of) => (PEELED, MOST_PEELED),
            None => continue,
        };
        // SAFETY: the latch is a block of the live function.
        unsafe {
            let end = LLVMGetBasicBlockTerminator(cfg.blocks[of.latch]);
            metadata::mark(end, property, Some(number));
        }
    }
}

/// The unroll count of a loop, if more than one.
fn unroll_count(cfg: &Cfg, of: &Loop) -> Option<usize> {
    let (mut size, mut loads) = (0, Vec::new());
    for &block in &of.blocks {
        for instruction in ir::instructions_of(cfg.blocks[block]) {
            match ir::opcode(instruction) {
                Some(LLVMOpcode::LLVMCall) if !is_operation(instruction) => return None,
                Some(LLVMOpcode::LLVMLoad) => loads.push(instruction),
                _ => {}
            }
            size += weight(instruction);
        }
    }
    let (mut counted, mut ends) = (false, 0);
    for &block in &of.blocks {
        for &next in cfg.successors[block].iter().filter(|next| !of.blocks.contains(next)) {
            if panics(cfg, next) {
                return None;
            }
            // SAFETY: the block is one of the live function.
            counted |= unsafe { counts_to(cfg.blocks[block]) } >= COUNT;
            ends += 1;
        }
    }
    let most = (SIZE / size).min(TURNS);
    let most = if counted {
        most
    } else {
        // Loads of several iterations are in flight together.
        let waits = loads.len() >= LOADS && ends == 1 && size <= WAITING && is_compared(cfg, of);
        let side_by_side = loads.iter().filter(|load| goes_on(cfg, of, **load)).count();
        let requests = SIDE_BY_SIDE * loads.len() - (SIDE_BY_SIDE - 1) * side_by_side;
        let enough = (SIDE_BY_SIDE * REQUESTS).div_ceil(requests.max(1)).next_power_of_two();
        if waits { most.min(enough) } else { 1 }
    };
    (most > 1).then(|| 1 << most.ilog2())
}

/// Whether a loop has something that becomes many instructions.
fn is_heavy(cfg: &Cfg, of: &Loop) -> bool {
    of.blocks.iter().any(|&block| {
        ir::instructions_of(cfg.blocks[block])
            .into_iter()
            .any(|instruction| weight(instruction) >= HEAVY)
    })
}

/// How many instructions of a GPU an instruction becomes, about.
fn weight(instruction: LLVMValueRef) -> usize {
    use LLVMOpcode::*;
    // SAFETY: the instruction is live; operands are asked for by numbers that it has, and flags where LLVM says that there can be some.
    unsafe {
        let is_wide = |value| {
            let ty = LLVMTypeOf(value);
            match LLVMGetTypeKind(ty) {
                LLVMTypeKind::LLVMIntegerTypeKind => LLVMGetIntTypeWidth(ty) > 32,
                kind => kind == LLVMTypeKind::LLVMDoubleTypeKind,
            }
        };
        let is_exact = || {
            LLVMCanValueUseFastMathFlags(instruction) == 0
                || LLVMGetFastMathFlags(instruction) & LLVMFastMathApproxFunc == 0
        };
        match ir::opcode(instruction) {
            Some(LLVMPHI) => 0,
            Some(LLVMFDiv | LLVMFRem) if is_exact() => 16 << u32::from(is_wide(instruction)),
            Some(LLVMCall) if is_root(instruction) && is_exact() => {
                16 << u32::from(is_wide(instruction))
            }
            Some(LLVMUDiv | LLVMSDiv | LLVMURem | LLVMSRem) => {
                let by_constant = LLVMIsConstant(LLVMGetOperand(instruction, 1)) != 0;
                match (by_constant, is_wide(instruction)) {
                    (true, false) => 4,
                    (true, true) => 8,
                    (false, false) => 16,
                    (false, true) => 64,
                }
            }
            // The next iteration's has to wait for it.
            Some(LLVMAtomicRMW | LLVMAtomicCmpXchg) => 16,
            // There are half as many units for numbers of 64 bits, or fewer.
            Some(LLVMFAdd | LLVMFSub | LLVMFMul) if is_wide(instruction) => 2,
            _ => 1,
        }
    }
}

/// Whether a call takes a square root.
fn is_root(call: LLVMValueRef) -> bool {
    ir::callee(call).is_some_and(|function| ir::name_of(function).starts_with("llvm.sqrt."))
}

/// Whether what a load reads stands beside what it reads in the next iteration: its address is a value of the loop, or is counted by one, that
/// goes on by a constant.
fn goes_on(cfg: &Cfg, of: &Loop, load: LLVMValueRef) -> bool {
    let address = ir::operands(load).next();
    let Some(address) = address else { return false };
    let latch = cfg.blocks[of.latch];
    let is_counter = |value: LLVMValueRef| {
        let is_phi = ir::opcode(value) == Some(LLVMOpcode::LLVMPHI);
        if !is_phi || !of.blocks.contains(&cfg.block_of(value)) {
            return false;
        }
        ir::incoming(value, latch).is_some_and(|next| {
            let is_step = matches!(
                ir::opcode(next),
                Some(LLVMOpcode::LLVMAdd | LLVMOpcode::LLVMGetElementPtr)
            );
            is_step
                && ir::operands(next).all(|operand| {
                    // SAFETY: any live value may be asked.
                    operand == value || unsafe { LLVMIsConstant(operand) } != 0
                })
        })
    };
    is_counter(address)
        || ir::opcode(address) == Some(LLVMOpcode::LLVMGetElementPtr)
            && ir::operands(address).any(is_counter)
}

/// Whether the loop ends where a value of it equals, or exceeds, one from outside that is no constant: of those that are counted to a
/// small constant LLVM unrolls the loop completely.
fn is_compared(cfg: &Cfg, of: &Loop) -> bool {
    // SAFETY: the latch is a block of the live function; a branch is asked for a condition that it has.
    let condition = unsafe {
        let end = LLVMGetBasicBlockTerminator(cfg.blocks[of.latch]);
        if ir::opcode(end) != Some(LLVMOpcode::LLVMBr) || LLVMIsConditional(end) == 0 {
            return false;
        }
        LLVMGetCondition(end)
    };
    let is_outside = |value: LLVMValueRef| {
        ir::opcode(value).is_none() || !of.blocks.contains(&cfg.block_of(value))
    };
    ir::opcode(condition) == Some(LLVMOpcode::LLVMICmp)
        && ir::operands(condition).filter(|operand| is_outside(*operand)).count() == 1
        // SAFETY: any live value may be asked.
        && ir::operands(condition).all(|operand| unsafe { LLVMIsConstant(operand) } == 0)
}

/// Whether a call is one of LLVM's own operations, such as a square root.
fn is_operation(call: LLVMValueRef) -> bool {
    ir::callee(call).is_some_and(|function| {
        // SAFETY: any live function may be asked for the number of its intrinsic.
        let is_intrinsic = unsafe { LLVMGetIntrinsicID(function) != 0 };
        is_intrinsic && !ir::has_function_attribute(function, "convergent")
    })
}

/// The constant that a block compares an integer with before it goes on; 0 if there is none, or a negative one.
///
/// # Safety
/// The block is one of a live function.
unsafe fn counts_to(block: LLVMBasicBlockRef) -> u64 {
    // SAFETY: as promised by the caller; a branch is asked for a condition that it has, and an integer of up to 64 bits for its value.
    unsafe {
        let end = LLVMGetBasicBlockTerminator(block);
        if ir::opcode(end) != Some(LLVMOpcode::LLVMBr) || LLVMIsConditional(end) == 0 {
            return 0;
        }
        let condition = LLVMGetCondition(end);
        if ir::opcode(condition) != Some(LLVMOpcode::LLVMICmp) {
            return 0;
        }
        let bounds = [0, 1].map(|index| LLVMGetOperand(condition, index));
        let constants = bounds.into_iter().filter(|&bound| {
            !LLVMIsAConstantInt(bound).is_null() && LLVMGetIntTypeWidth(LLVMTypeOf(bound)) <= 64
        });
        let values = constants.map(|bound| LLVMConstIntGetSExtValue(bound));
        values.filter_map(|value| u64::try_from(value).ok()).max().unwrap_or(0)
    }
}
