//! The trip count of a loop, as a function of loop-invariant values.

use std::collections::HashSet;

use llvm_sys::LLVMIntPredicate::{self, *};
use llvm_sys::LLVMOpcode;
use llvm_sys::core::*;
use llvm_sys::prelude::*;

use crate::analysis::scev::{self, AddRec, Expr, Step, Values};
use crate::ir;
use crate::ir::cfg::{Cfg, Loop};

/// How many loops a function has: edges back to what dominates them.
///
/// # Safety
/// `function` is a function of a live module that nobody else changes meanwhile.
#[must_use]
pub unsafe fn count(function: LLVMValueRef) -> usize {
    if ir::blocks(function).is_empty() {
        return 0;
    }
    let cfg = Cfg::of(function);
    let edges = cfg.successors.iter().enumerate();
    edges
        .flat_map(|(from, next)| next.iter().map(move |&to| (from, to)))
        .filter(|&(from, to)| cfg.dominates(to, from))
        .count()
}

/// Whether a function has a way back: then it may have loops.
pub(crate) fn returns(function: LLVMValueRef) -> bool {
    let mut seen = HashSet::new();
    ir::blocks(function).into_iter().any(|block| {
        seen.insert(block);
        ir::successors(block).iter().any(|next| seen.contains(next))
    })
}

/// The trip count: the loop ends in the first iteration whose value fails the predicate.
pub(crate) struct TripCount {
    /// The exiting block; every iteration passes it.
    pub(crate) block: usize,
    /// What holds as long as the loop goes on.
    pub(crate) predicate: LLVMIntPredicate,
    pub(crate) value: AddRec,
    /// By how much it changes.
    pub(crate) step: u64,
    pub(crate) bound: Expr,
}

/// Whether what uses an instruction outside of the loop is a phi where the loop is left.
pub(crate) fn is_closed(cfg: &Cfg, of: &Loop, instruction: LLVMValueRef) -> bool {
    ir::users(instruction).into_iter().all(|user| {
        let block = cfg.block_of(user);
        of.blocks.contains(&block)
            || (ir::opcode(user) == Some(LLVMOpcode::LLVMPHI)
                && cfg.predecessors[block].iter().all(|from| of.blocks.contains(from)))
    })
}

/// If a block may leave the loop: the condition, where the loop goes on, and whether it does so if the condition holds.
pub(crate) fn exit(cfg: &Cfg, of: &Loop, block: usize) -> Option<(LLVMValueRef, usize, bool)> {
    let &[yes, no] = &cfg.successors[block][..] else { return None };
    let stays = of.blocks.contains(&yes);
    if stays == of.blocks.contains(&no) {
        return None;
    }
    // SAFETY: the block has a terminator, since it has successors.
    unsafe {
        let end = LLVMGetBasicBlockTerminator(cfg.blocks[block]);
        let branches = ir::opcode(end) == Some(LLVMOpcode::LLVMBr);
        branches.then(|| (LLVMGetCondition(end), if stays { yes } else { no }, stays))
    }
}

/// The trip count that an exiting block gives, if every iteration passes the block and the count is computable.
pub(crate) fn trip_count(
    cfg: &Cfg,
    of: &Loop,
    values: &mut Values<'_>,
    block: usize,
) -> Option<TripCount> {
    let (condition, _, stays) = exit(cfg, of, block)?;
    if !cfg.dominates(block, of.latch) {
        return None;
    }
    let (mut predicate, [mut value, mut bound]) = comparison(values, condition, stays)?;
    if value.is_fixed() {
        (value, bound) = (bound, value);
        predicate = swapped(predicate);
    }
    if !bound.is_fixed() {
        return None;
    }
    let (step, up) = match &value.step {
        Step::Up(size) => (scev::known(size)?, true),
        Step::Down(size) => (scev::known(size)?, false),
        Step::None => return None,
    };
    let counted = match predicate {
        LLVMIntNE => true,
        LLVMIntULT | LLVMIntULE | LLVMIntSLT | LLVMIntSLE => up,
        LLVMIntUGT => !up,
        _ => false,
    };
    // Where the highest bit is set, a step would be as well one back.
    let most = 1 << (value.bits() - 1);
    (counted && step != 0 && step < most).then_some(TripCount {
        block,
        predicate,
        value,
        step,
        bound: bound.base,
    })
}

/// What `condition` compares: what holds if it is `wanted`.
pub(crate) fn comparison(
    values: &mut Values<'_>,
    condition: LLVMValueRef,
    wanted: bool,
) -> Option<(LLVMIntPredicate, [AddRec; 2])> {
    if ir::opcode(condition) != Some(LLVMOpcode::LLVMICmp) {
        return None;
    }
    // SAFETY: an `icmp` is live, stands in a module, and has two operands.
    let (predicate, operands) = unsafe {
        let module = LLVMGetGlobalParent(ir::parent_function(condition));
        let operands = [0, 1].map(|index| LLVMGetOperand(condition, index));
        let is_pointer = scev::is_pointer(operands[0]);
        if is_pointer && !scev::is_wide_pointer(module, operands[0]) {
            return None;
        }
        (LLVMGetICmpPredicate(condition), operands)
    };
    let predicate = if wanted { predicate } else { opposite(predicate) };
    let [a, b] = operands.map(|operand| values.add_rec(operand));
    Some((predicate, [a?, b?]))
}

fn swapped(predicate: LLVMIntPredicate) -> LLVMIntPredicate {
    match predicate {
        LLVMIntEQ | LLVMIntNE => predicate,
        LLVMIntUGT => LLVMIntULT,
        LLVMIntUGE => LLVMIntULE,
        LLVMIntULT => LLVMIntUGT,
        LLVMIntULE => LLVMIntUGE,
        LLVMIntSGT => LLVMIntSLT,
        LLVMIntSGE => LLVMIntSLE,
        LLVMIntSLT => LLVMIntSGT,
        LLVMIntSLE => LLVMIntSGE,
    }
}

fn opposite(predicate: LLVMIntPredicate) -> LLVMIntPredicate {
    match predicate {
        LLVMIntEQ => LLVMIntNE,
        LLVMIntNE => LLVMIntEQ,
        LLVMIntUGT => LLVMIntULE,
        LLVMIntUGE => LLVMIntULT,
        LLVMIntULT => LLVMIntUGE,
        LLVMIntULE => LLVMIntUGT,
        LLVMIntSGT => LLVMIntSLE,
        LLVMIntSGE => LLVMIntSLT,
        LLVMIntSLT => LLVMIntSGE,
        LLVMIntSLE => LLVMIntSGT,
    }
}
