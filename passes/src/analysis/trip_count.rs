//! The trip count of a loop, as a function of loop-invariant values.

use std::collections::HashSet;

use schism_llvm::{IntPredicate, Opcode, Value};

use crate::analysis::scev::{self, AddRec, Expr, Step, Values};
use crate::ir::cfg::{Cfg, Loop};

/// How many loops a function has: edges back to what dominates them.
#[must_use]
pub fn count(function: Value<'_>) -> usize {
    if function.blocks().is_empty() {
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
pub(crate) fn returns(function: Value<'_>) -> bool {
    let mut seen = HashSet::new();
    function.blocks().into_iter().any(|block| {
        seen.insert(block);
        block.successors().iter().any(|next| seen.contains(next))
    })
}

/// The trip count: the loop ends in the first iteration whose value fails the predicate.
#[derive(Clone)]
pub(crate) struct TripCount<'m> {
    /// The exiting block; every iteration passes it.
    pub(crate) block: usize,
    /// What holds as long as the loop continues.
    pub(crate) predicate: IntPredicate,
    pub(crate) value: AddRec<'m>,
    /// By how much it changes.
    pub(crate) step: u64,
    pub(crate) bound: Expr<'m>,
}

/// Whether what uses an instruction outside of the loop is a phi where the loop is left.
pub(crate) fn is_closed<'m>(cfg: &Cfg<'m>, of: &Loop, instruction: Value<'m>) -> bool {
    instruction.users().into_iter().all(|user| {
        let block = cfg.block_of(user);
        of.blocks.contains(&block)
            || (user.opcode() == Some(Opcode::Phi)
                && cfg.predecessors[block].iter().all(|from| of.blocks.contains(from)))
    })
}

/// If a block may leave the loop: the condition, where the loop continues, and whether it does so if
/// the condition holds.
pub(crate) fn exit<'m>(cfg: &Cfg<'m>, of: &Loop, block: usize) -> Option<(Value<'m>, usize, bool)> {
    let &[yes, no] = &cfg.successors[block][..] else { return None };
    let stays = of.blocks.contains(&yes);
    if stays == of.blocks.contains(&no) {
        return None;
    }
    let end = cfg.blocks[block].end();
    let branches = end.opcode() == Some(Opcode::Br);
    branches.then(|| (end.condition(), if stays { yes } else { no }, stays))
}

/// The blocks of a loop in their order, if each iteration goes through all of them, or leaves the
/// loop because a check `fails`, as the block says where it continues.
pub(crate) fn chain(cfg: &Cfg<'_>, of: &Loop, fails: impl Fn(usize) -> bool) -> Option<Vec<usize>> {
    let mut chain = vec![of.header];
    let mut at = of.header;
    while at != of.latch {
        let next = cfg.successors[at].iter().copied();
        let (inside, outside): (Vec<usize>, Vec<usize>) =
            next.partition(|next| of.blocks.contains(next));
        let &[next] = &inside[..] else { return None };
        let is_check = || exit(cfg, of, at).is_some() && fails(outside[0]);
        if next == of.header
            || cfg.predecessors[next].len() != 1
            || !(outside.is_empty() || is_check())
        {
            return None;
        }
        chain.push(next);
        at = next;
    }
    let ends = exit(cfg, of, of.latch).is_some();
    (ends && chain.len() == of.blocks.len()).then_some(chain)
}

/// The trip count that an exiting block gives, if every iteration passes the block and the count is
/// computable.
pub(crate) fn trip_count<'m>(
    cfg: &Cfg<'m>,
    of: &Loop,
    values: &mut Values<'_, 'm>,
    block: usize,
) -> Option<TripCount<'m>> {
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
        IntPredicate::NE => true,
        IntPredicate::ULT | IntPredicate::ULE | IntPredicate::SLT | IntPredicate::SLE => up,
        IntPredicate::UGT => !up,
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
pub(crate) fn comparison<'m>(
    values: &mut Values<'_, 'm>,
    condition: Value<'m>,
    wanted: bool,
) -> Option<(IntPredicate, [AddRec<'m>; 2])> {
    if condition.opcode() != Some(Opcode::ICmp) {
        return None;
    }
    let (predicate, operands) = {
        let module = condition.parent_function().module();
        let operands = [0, 1].map(|index| condition.operand(index));
        let is_pointer = scev::is_pointer(operands[0]);
        if is_pointer && !scev::is_wide_pointer(module, operands[0]) {
            return None;
        }
        (condition.icmp_predicate(), operands)
    };
    let predicate = if wanted { predicate } else { opposite(predicate) };
    let [a, b] = operands.map(|operand| values.add_rec(operand));
    Some((predicate, [a?, b?]))
}

/// The predicate that says the same of its operands in the other order.
pub(crate) fn swapped(predicate: IntPredicate) -> IntPredicate {
    match predicate {
        IntPredicate::EQ | IntPredicate::NE => predicate,
        IntPredicate::UGT => IntPredicate::ULT,
        IntPredicate::UGE => IntPredicate::ULE,
        IntPredicate::ULT => IntPredicate::UGT,
        IntPredicate::ULE => IntPredicate::UGE,
        IntPredicate::SGT => IntPredicate::SLT,
        IntPredicate::SGE => IntPredicate::SLE,
        IntPredicate::SLT => IntPredicate::SGT,
        IntPredicate::SLE => IntPredicate::SGE,
    }
}

pub(crate) fn opposite(predicate: IntPredicate) -> IntPredicate {
    match predicate {
        IntPredicate::EQ => IntPredicate::NE,
        IntPredicate::NE => IntPredicate::EQ,
        IntPredicate::UGT => IntPredicate::ULE,
        IntPredicate::UGE => IntPredicate::ULT,
        IntPredicate::ULT => IntPredicate::UGE,
        IntPredicate::ULE => IntPredicate::UGT,
        IntPredicate::SGT => IntPredicate::SLE,
        IntPredicate::SGE => IntPredicate::SLT,
        IntPredicate::SLT => IntPredicate::SGE,
        IntPredicate::SLE => IntPredicate::SGT,
    }
}
