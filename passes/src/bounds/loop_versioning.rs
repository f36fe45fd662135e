//! Clones loops without their checks, and decides before the loop which one runs.
//!
//! Before, in the form that LLVM's `loop-simplify` and `lcssa` make:
//! ```llvm
//! before:
//!   br label %loop
//! loop:
//!   %k = phi i64 [ 0, %before ], [ %k.next, %inside ]
//!   %row = mul i64 %k, %width
//!   %at = add i64 %row, %column
//!   %is.inside = icmp ult i64 %at, %len
//!   br i1 %is.inside, label %inside, label %panic
//! inside:
//!   ...                                          ; the element at %at
//!   %k.next = add i64 %k, 1
//!   %is.last = icmp eq i64 %k.next, %n
//!   br i1 %is.last, label %done, label %loop
//! ```
//! After:
//! ```llvm
//! before:
//!   %last = ...                                  ; %column + (%n - 1) * %width
//!   %all = ...                                   ; nothing overflows in that, and it is less than %len
//!   br i1 %all, label %loop, label %checked.loop
//! loop:
//!   %k = phi i64 [ 0, %before ], [ %k.next, %inside ]
//!   ...
//!   br label %inside
//! inside:
//!   ...
//! checked.loop:                                  ; the original loop
//!   ...
//! ```
//!
//! LLVM unrolls and vectorises a loop that is one block and has a known trip count; and several of
//! its loads are in flight at once.
//!
//! **What is decided.** Checks are exits that lead to a panic (`cold` code). Their conditions
//! compare add-recurrences `base + iteration * step` (`analysis::scev`) with others,
//! nearly always with a loop-invariant length. If the value of the last iteration can be computed
//! without overflow, all values are between the first and the last. The trip count comes from
//! another exit, one that every iteration passes ([`trip_count`](crate::analysis::trip_count)).
//! Where the step is not known, an index that the loop itself compares with a limit is checked by
//! comparing the limit with the length. A length that is 0 where its range has no order is the difference of
//! ends that are in order. Anything else, such as an index that is loaded, stays checked in
//! both loops.
//!
//! **Nothing else changes.** The condition uses values that are available before the loop, frozen,
//! since the loop might not have reached them. If it does not hold, the original loop runs: it
//! panics in the same iteration, after the same side effects.
//!
//! **Groups.** The condition may differ between work-items of a group, so loops with a barrier are
//! not cloned (`clone::is_cloneable`).

use schism_llvm::{Block, IntPredicate, Opcode, Value};

use crate::analysis::cold_paths::panics;
use crate::analysis::scev::{self, AddRec, Emit, Step, Values};
use crate::analysis::trip_count::{
    TripCount, comparison, exit, is_closed, opposite, swapped, trip_count,
};
use crate::bounds::conditions::{Conditions, Fact, conjuncts};
use crate::bounds::innermost::change_innermost;
use crate::ir::cfg::{Cfg, Loop};
use crate::ir::{clone, metadata};

/// How many instructions a loop may have to be cloned.
const LOOP: usize = 500;

/// How many a function may grow by.
const GROWTH: usize = 5_000;

/// How many checks one condition decides.
const CHECKS: usize = 32;

/// Runs the pass over a function with a body.
///
/// # Errors
/// LLVM's message, if its passes fail.
pub fn run<'m>(function: Value<'m>) -> Result<(), String> {
    let plan = |cfg: &Cfg<'m>, of: &Loop| plan(cfg, of).map(|plan| (plan.size, plan));
    change_innermost(function, GROWTH, plan, apply)
}

/// What is going to be done with a loop.
struct Plan<'m> {
    of: Loop,
    /// How many instructions it has.
    size: usize,
    trip_count: Option<TripCount<'m>>,
    checks: Vec<Check<'m>>,
}

/// An exit that ends in a panic, and what keeps every iteration from taking it.
struct Check<'m> {
    block: usize,
    /// Where the loop continues.
    inside: usize,
    /// Whether the iteration that ends the loop does not come here any more.
    after_end: bool,
    facts: Vec<Fact<'m>>,
}

/// Looks at a loop.
fn plan<'m>(cfg: &Cfg<'m>, of: &Loop) -> Option<Plan<'m>> {
    let instructions: Vec<Value<'m>> = cfg.instructions(&of.blocks).collect();
    let fits = instructions.len() <= LOOP
        && instructions.iter().all(|&one| clone::is_cloneable(one) && is_closed(cfg, of, one));
    if !fits {
        return None;
    }
    let mut values = Values::new(cfg, of);
    let is_check = |block: usize| {
        cfg.successors[block].iter().any(|&next| !of.blocks.contains(&next) && panics(cfg, next))
    };
    let trip_count = of
        .blocks
        .iter()
        .filter(|block| !is_check(**block))
        .find_map(|&block| trip_count(cfg, of, &mut values, block));
    let mut checks = Vec::new();
    for &block in &of.blocks {
        let Some((condition, inside, stays)) = exit(cfg, of, block) else { continue };
        if checks.len() == CHECKS || !is_check(block) {
            continue;
        }
        let mut facts = Vec::new();
        if !facts_of(&mut values, condition, stays, &mut facts)
            || (trip_count.is_none() && !facts.iter().all(Fact::is_fixed))
        {
            let Some(implied) = implied(cfg, of, &mut values, (block, condition, stays)) else {
                continue;
            };
            facts = implied;
        }
        let after_end = trip_count.as_ref().is_some_and(|trip_count| {
            trip_count.block != block && cfg.dominates(trip_count.block, block)
        });
        checks.push(Check { block, inside, after_end, facts });
    }
    let size = instructions.len();
    (!checks.is_empty()).then(|| Plan { of: of.clone(), size, trip_count, checks })
}

/// What has to hold for a check of what the loop itself compares with its limit, whatever its step: the
/// limit is at most the length.
fn implied<'m>(
    cfg: &Cfg<'m>,
    of: &Loop,
    values: &mut Values<'_, 'm>,
    (block, condition, stays): (usize, Value<'m>, bool),
) -> Option<Vec<Fact<'m>>> {
    use IntPredicate::{ULE, ULT};
    let (ULT, [index, length]) = comparison(values, condition, stays)? else { return None };
    if !length.is_fixed() || !length.no_wrap.is_empty() || !index.no_wrap.is_empty() {
        return None;
    }
    of.blocks.iter().find_map(|&limits| {
        let (condition, inside, stays) = exit(cfg, of, limits)?;
        let (ULT, [value, limit]) = comparison(values, condition, stays)? else { return None };
        let is_same = value.step == index.step
            && value.no_wrap.is_empty()
            && limit.is_fixed()
            && limit.no_wrap.is_empty()
            && limit.bits() == length.bits();
        if !is_same || limits == block {
            return None;
        }
        let below = Fact::Compare(ULE, limit.clone(), length.clone());
        // What comes there has gone on by this comparison.
        let is_behind = cfg.predecessors[inside].len() == 1 && cfg.dominates(inside, block);
        if value.base == index.base && is_behind {
            return Some(vec![below]);
        }
        // The last iteration has compared the next one's value; nothing has compared the first one's.
        let next = match &index.step {
            Step::Up(step) => scev::sum(&index.base, step),
            _ => return None,
        };
        if value.base == next && limits == of.latch {
            let first = AddRec::fixed(index.base.clone());
            return Some(vec![below, Fact::Compare(ULT, first, limit)]);
        }
        None
    })
}

/// What has to hold in all iterations for `condition` to be `wanted` in all of them. Adds it to
/// `facts`; false if it cannot be said.
fn facts_of<'m>(
    values: &mut Values<'_, 'm>,
    condition: Value<'m>,
    wanted: bool,
    facts: &mut Vec<Fact<'m>>,
) -> bool {
    if facts.len() >= CHECKS {
        return false;
    }
    if values.is_outside(condition) {
        facts.push(Fact::Condition(condition, wanted));
        return true;
    }
    if let Some(parts) = conjuncts(condition, wanted) {
        return parts.into_iter().all(|(part, wanted)| facts_of(values, part, wanted, facts));
    }
    let known = facts.len();
    if facts_of_length(values, condition, wanted, facts) == Some(true) {
        return true;
    }
    facts.truncate(known);
    let Some((predicate, [a, b])) = comparison(values, condition, wanted) else {
        return false;
    };
    let said = (a.is_fixed() && b.is_fixed())
        || matches!(
            predicate,
            IntPredicate::ULT | IntPredicate::ULE | IntPredicate::UGT | IntPredicate::UGE
        );
    if said {
        facts.push(Fact::Compare(predicate, a, b));
    }
    said
}

/// What has to hold for a length to be more than something in all iterations: that of a range, which is 0 where its end comes
/// before its beginning. `None` if `condition` compares no length.
/// ```llvm
///   %length = call i64 @llvm.usub.sat.i64(i64 %end, i64 %begin)
///   %length = select i1 %is.ordered, i64 128, i64 0
/// ```
fn facts_of_length<'m>(
    values: &mut Values<'_, 'm>,
    condition: Value<'m>,
    wanted: bool,
    facts: &mut Vec<Fact<'m>>,
) -> Option<bool> {
    use IntPredicate::{UGE, UGT, ULE};
    if condition.opcode() != Some(Opcode::ICmp) {
        return None;
    }
    let predicate = condition.icmp_predicate();
    let predicate = if wanted { predicate } else { opposite(predicate) };
    let (predicate, length, least) = match predicate {
        UGT | UGE => (predicate, condition.operand(0), condition.operand(1)),
        predicate => (swapped(predicate), condition.operand(1), condition.operand(0)),
    };
    if !matches!(predicate, UGT | UGE) || values.is_outside(length) {
        return None;
    }
    let value = if length.calls_intrinsic(&["usub.sat."]) {
        let [end, begin] = [0, 1].map(|index| values.add_rec(length.operand(index)));
        let (end, begin) = (end?, begin?);
        facts.push(Fact::Compare(ULE, begin.clone(), end.clone()));
        end.minus(begin)
    } else if length.opcode() == Some(Opcode::Select) {
        let is_first = length.operand(2).is_zero();
        let other = if is_first { 1 } else { 2 };
        if !(is_first || length.operand(1).is_zero())
            || !facts_of(values, length.operand(0), is_first, facts)
        {
            return None;
        }
        values.add_rec(length.operand(other))?
    } else {
        return None;
    };
    facts.push(Fact::Compare(predicate, value, values.add_rec(least)?));
    Some(facts.len() <= CHECKS)
}

/// Copies the loop, takes the checks out of the first one, and lets the condition choose. Returns
/// the blocks that are new or go on elsewhere.
fn apply<'m>(cfg: &Cfg<'m>, plan: &Plan<'m>) -> Vec<Block<'m>> {
    let of = &plan.of;
    let block = |number: usize| cfg.blocks[number];
    let end = block(of.preheader).end();
    let mut emit = Emit::before(end);
    let all = condition(&mut emit, plan);

    let blocks: Vec<Block<'m>> = of.blocks.iter().map(|&number| block(number)).collect();
    let cloned = clone::clone_loop(cfg, of);
    metadata::add(&[cloned.block(block(of.latch)).end()], metadata::CHECKED);
    let header = block(of.header);
    emit.builder().cond_br(all, header, cloned.block(header));
    end.erase();
    for check in &plan.checks {
        block(check.block).always_go_to(block(check.inside));
    }
    let mut changed: Vec<Block<'m>> = blocks.iter().map(|&block| cloned.block(block)).collect();
    changed.push(block(of.preheader));
    changed.extend(plan.checks.iter().map(|check| block(check.block)));
    changed
}

/// Makes the condition under which no check of the plan fails in any iteration.
fn condition<'m>(emit: &mut Emit<'m>, plan: &Plan<'m>) -> Value<'m> {
    let always = emit.number(1, 1);
    let mut conditions = Conditions { emit, all: None };
    // The iteration that the loop ends in, and the one before it.
    let mut last = None;
    if let Some(trip_count) = &plan.trip_count {
        let end = conditions.end(trip_count);
        for inner in &trip_count.value.no_wrap {
            conditions.last(inner, end);
        }
        let one = conditions.emit.number(64, 1);
        let before = match plan.checks.iter().any(|check| check.after_end) {
            true => conditions.emit.intrinsic("llvm.usub.sat", end, one),
            false => end,
        };
        last = Some((end, before));
    }
    for check in &plan.checks {
        let none = conditions.emit.number(64, 0);
        let iteration = match last {
            Some((_, before)) if check.after_end => before,
            Some((end, _)) => end,
            None => none,
        };
        for fact in &check.facts {
            conditions.fact(fact, iteration);
        }
    }
    conditions.all.unwrap_or(always)
}

#[cfg(test)]
mod tests {
    use inkwell::context::Context;
    use inkwell::memory_buffer::MemoryBuffer;
    use schism_llvm::IntoValue;

    use super::run;
    use crate::ir::cfg::MADE;

    /// A function of so many loops one after the other, each with a check of its index, and its own
    /// panic.
    fn many(loops: usize) -> String {
        let mut text = "declare void @panic() cold noreturn
            define i64 @many(ptr %p, i64 %len, i64 %n) {
            start:
              br label %before.0\n"
            .to_owned();
        for number in 0..loops {
            let next = number + 1;
            text += &format!(
                "before.{number}:
                   br label %loop.{number}
                 loop.{number}:
                   %k.{number} = phi i64 [ 0, %before.{number} ], [ %k.{number}.next, %inside.{number} ]
                   %is.inside.{number} = icmp ult i64 %k.{number}, %len
                   br i1 %is.inside.{number}, label %inside.{number}, label %bad.{number}
                 inside.{number}:
                   %at.{number} = getelementptr i64, ptr %p, i64 %k.{number}
                   store i64 {number}, ptr %at.{number}
                   %k.{number}.next = add nuw i64 %k.{number}, 1
                   %is.last.{number} = icmp eq i64 %k.{number}.next, %n
                   br i1 %is.last.{number}, label %before.{next}, label %loop.{number}
                 bad.{number}:
                   call void @panic()
                   unreachable\n"
            );
        }
        text + &format!("before.{loops}:\n  ret i64 0\n}}\n")
    }

    /// How many graphs are made for a function of so many loops, and how many loops are cloned.
    fn graphs_and_copies(loops: usize) -> (usize, usize) {
        let context = Context::create();
        let text = many(loops);
        let buffer = MemoryBuffer::create_from_memory_range_copy(text.as_bytes(), "many");
        let module = context.create_module_from_ir(buffer).expect("assembly");
        let before = MADE.get();
        let function = module.get_function("many").expect("it is there").value();
        run(function).expect("LLVM's passes run");
        let made = MADE.get() - before;
        module.verify().expect("it obeys LLVM's rules");
        let after = module.print_to_string().to_string();
        (made, after.matches("store i64").count() - loops)
    }

    #[test]
    fn one_graph_serves_all_loops() {
        let (few, copies) = graphs_and_copies(2);
        assert_eq!(copies, 2);
        let (many, copies) = graphs_and_copies(100);
        assert_eq!(copies, 100);
        assert_eq!(many, few, "graphs");
    }

    #[test]
    fn loops_beyond_the_limit_of_growth_stay_alone() {
        let (_, copies) = graphs_and_copies(1_500);
        assert!((500..1_500).contains(&copies), "{copies}");
    }
}
