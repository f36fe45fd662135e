//! Divides the range of a work-item loop where a condition on the work-item's number changes.
//!
//! Half of a tree's work-items have nothing to do:
//! ```llvm
//! item:
//!   %x = phi i64 [ %begin, %start ], [ %x.after, %next ]
//!   %local = sub nuw i64 %x, %first
//!   %is = icmp ult i64 %local, %half
//!   br i1 %is, label %add, label %next
//! add:
//!   …
//! ```
//! The loop runs while the condition holds, and needs neither a branch nor a mask there. A clone
//! of it continues from there; it has the other side only, and is removed if nothing is left in it:
//! ```llvm
//! start:
//!   …                                              ; %split is %first + %half, but at most %end
//!   %any = icmp ult i64 %begin, %split
//!   br i1 %any, label %add, label %split.rest
//! add:
//!   %x = phi i64 [ %begin, %start ], [ %x.after, %add ]
//!   …
//!   %done = icmp uge i64 %x.after, %split
//!   br i1 %done, label %split.rest, label %add
//! split.rest:
//! ```
//! The same is done for index checks, and for borders of an image. Work-items run in the order in
//! which they ran.
//!
//! **What it relies on.** The condition compares the counter, or what additions and subtractions
//! that do not wrap make of it, with a value that is the same for all work-items. Each iteration
//! evaluates it, unless it panics before: so what would wrap is not executed. Of the counter itself
//! conditions may also be parts of others, such as `x == 0 || x == width - 1`, and not evaluated by
//! all; if they are equalities, one work-item is computed apart ([`single_item`](super::single_item)).

use schism_llvm::{Block, Builder, IntPredicate, Opcode, Value};

use super::apart::leave_as_well;
use super::region::Region;
use super::single_item;
use crate::analysis::trip_count::swapped;
use crate::ir::cfg::Cfg;
use crate::ir::clone::{clone_blocks, is_cloneable};

/// How many instructions a loop may have to be cloned.
const SIZE: usize = 200;

/// How deep in a condition its parts are looked for.
const PARTS: usize = 6;

/// A condition on the work-item's number.
struct Condition<'m> {
    /// The comparison.
    value: Value<'m>,
    /// What of the work-item's number is compared.
    of: Value<'m>,
    with: Value<'m>,
    predicate: IntPredicate,
}

/// Divides the loop with this latch at one condition. Returns whether there was one.
pub(super) fn run<'m>(function: Value<'m>, latch: Block<'m>) -> bool {
    let cfg = Cfg::of(function);
    let latch = cfg.index[&latch];
    let Ok(region) = Region::of(cfg, function, latch) else { return false };
    let blocks = region.blocks();
    let all = || blocks.iter().flat_map(|block| block.instructions());
    if all().count() > SIZE || !all().all(|one| is_cloneable(one) && region.stays_inside(one)) {
        return false;
    }
    if let Some(condition) = find(&region) {
        apply(&region, &condition);
        return true;
    }
    let Some(condition) = find_part(&region) else { return false };
    match condition.predicate {
        IntPredicate::EQ | IntPredicate::NE => {
            return single_item::apply(&region, condition.value, condition.with);
        }
        _ => apply(&region, &condition),
    }
    true
}

/// The first condition that divides the range.
fn find<'m>(region: &Region<'m>) -> Option<Condition<'m>> {
    use IntPredicate::*;
    region.loops[0].blocks.iter().copied().find_map(|block| {
        let end = region.cfg.blocks[block].end();
        let is_branch = end.is_conditional() && end.successor(0) != end.successor(1);
        if !is_branch || block == region.exit.0 || !region.cfg.dominates(block, region.latch) {
            return None;
        }
        let value = end.condition();
        if value.opcode() != Some(Opcode::ICmp) || !region.has(value) {
            return None;
        }
        let predicate = value.icmp_predicate();
        if !matches!(predicate, ULT | ULE | UGT | UGE | EQ | NE) {
            return None;
        }
        let (a, b) = (value.operand(0), value.operand(1));
        let divides = |of, with| counts(region, of) && !region.has(with);
        // That it is the first number is said in this way by LLVM.
        let is_first = |of, with: Value<'m>| of == region.item && with == region.begin;
        let predicate = match predicate {
            EQ if is_first(a, b) => ULE,
            NE if is_first(a, b) => UGT,
            other => other,
        };
        if divides(a, b) {
            Some(Condition { value, of: a, with: b, predicate })
        } else if divides(b, a) {
            Some(Condition { value, of: b, with: a, predicate: swapped(predicate) })
        } else {
            None
        }
    })
}

/// The first comparison of the work-item's number itself that a branch depends on, alone or as a part of a
/// condition.
fn find_part<'m>(region: &Region<'m>) -> Option<Condition<'m>> {
    region.loops[0].blocks.iter().copied().find_map(|block| {
        let end = region.cfg.blocks[block].end();
        let is_branch = end.is_conditional() && end.successor(0) != end.successor(1);
        let is_branch = is_branch && block != region.exit.0;
        is_branch.then(|| part_of(region, end.condition(), PARTS)).flatten()
    })
}

/// The same of one condition.
fn part_of<'m>(region: &Region<'m>, value: Value<'m>, depth: usize) -> Option<Condition<'m>> {
    use IntPredicate::*;
    if !region.has(value) {
        return None;
    }
    match value.opcode()? {
        Opcode::ICmp => {
            let predicate = value.icmp_predicate();
            let (a, b) = (value.operand(0), value.operand(1));
            let (with, predicate) = match region.item {
                item if item == a => (b, predicate),
                item if item == b => (a, swapped(predicate)),
                _ => return None,
            };
            let divides = matches!(predicate, ULT | ULE | UGT | UGE | EQ | NE);
            (divides && !region.has(with)).then_some(Condition {
                value,
                of: region.item,
                with,
                predicate,
            })
        }
        Opcode::And | Opcode::Or | Opcode::Xor | Opcode::Select if depth > 0 => {
            value.operands().find_map(|operand| part_of(region, operand, depth - 1))
        }
        _ => None,
    }
}

/// Whether a value grows by one from one work-item to the next, and never wraps.
fn counts<'m>(region: &Region<'m>, value: Value<'m>) -> bool {
    if value == region.item {
        return true;
    }
    if !region.has(value) {
        return false;
    }
    let same = |at: u32| !region.has(value.operand(at));
    match value.opcode() {
        Some(Opcode::Add) if value.is_nuw() => {
            (same(1) && counts(region, value.operand(0)))
                || (same(0) && counts(region, value.operand(1)))
        }
        Some(Opcode::Sub) if value.is_nuw() => same(1) && counts(region, value.operand(0)),
        _ => false,
    }
}

/// What such a value is for the first work-item.
fn first<'m>(region: &Region<'m>, builder: &Builder<'m>, value: Value<'m>) -> Value<'m> {
    if value == region.item {
        return region.begin;
    }
    if !region.has(value) {
        return value;
    }
    let [a, b] = [0, 1].map(|at| first(region, builder, value.operand(at)));
    if value.opcode() == Some(Opcode::Add) { builder.add(a, b) } else { builder.sub(a, b) }
}

/// Makes two loops of one.
fn apply<'m>(region: &Region<'m>, condition: &Condition<'m>) {
    use IntPredicate::*;
    let blocks = region.blocks();
    let [preheader, header, from, exit] =
        [region.preheader, region.header, region.exit.0, region.exit.1]
            .map(|block| region.cfg.blocks[block]);
    let (begin, end) = (region.begin, region.end);
    let rest = region.function.append_block("split.rest");
    rest.move_after(blocks[blocks.len() - 1]);
    let old = preheader.end();
    let builder = Builder::before(old);

    // Where it changes. What is not evaluated may be poison.
    let ty = region.item.ty();
    let (zero, one) = (ty.const_int(0, false), ty.const_int(1, false));
    let min = |a, b| builder.select(builder.icmp(ULT, a, b), a, b);
    let down_to_zero = |a, b| builder.select(builder.icmp(ULT, b, a), builder.sub(a, b), zero);
    let all = down_to_zero(end, begin);
    let from_first = builder.freeze(first(region, &builder, condition.of));
    let with = builder.freeze(condition.with);
    let below = down_to_zero(with, from_first);
    let count = match condition.predicate {
        ULE | UGT => {
            // There is a work-item, or the count is limited to none.
            let last = builder.sub(all, one);
            let up_to = builder.add(min(below, last), one);
            builder.select(builder.icmp(ULE, from_first, with), up_to, zero)
        }
        _ => below,
    };
    let split = builder.add(begin, min(count, all)).with_name("split");
    let any = builder.icmp(ULT, begin, split);
    builder.cond_br(any, header, rest);
    old.erase();

    let cloned = clone_blocks(&blocks);
    let other_header = cloned.block(header);
    leave_as_well(&blocks, &cloned);
    // The sides that the loops take.
    let bit = condition.value.ty();
    let sides = match condition.predicate {
        ULT | ULE => (Some(true), Some(false)),
        UGE | UGT => (Some(false), Some(true)),
        EQ => (Some(false), None),
        _ => (Some(true), None),
    };
    let decide = |value: Value<'m>, of: Value<'m>, side: Option<bool>| {
        let known = match side {
            Some(side) => bit.const_int(side.into(), false),
            // It is at least as large: it is equal if it is not larger.
            None => {
                let predicate = if condition.predicate == EQ { ULE } else { UGT };
                Builder::before(value).icmp(predicate, of, condition.with)
            }
        };
        value.replace_uses(known);
    };
    decide(cloned.value(condition.value), cloned.value(condition.of), sides.1);
    decide(condition.value, condition.of, sides.0);
    // The end of the first loop.
    let branch = from.end();
    let exit_at = u32::from(branch.successor(0) != exit);
    let comparison = branch.condition();
    let counter = [0, 1].map(|at| comparison.operand(at)).into_iter().find(|&it| it != end);
    let counter = counter.unwrap_or(region.item);
    let predicate = if exit_at == 0 { UGE } else { ULT };
    branch.set_operand(0, Builder::before(branch).icmp(predicate, counter, split));
    branch.set_successor(exit_at, rest);
    let brought: Vec<Option<Value<'m>>> =
        exit.phis().into_iter().map(|phi| phi.incoming(from)).collect();
    exit.forget_edge(from);
    for (phi, value) in exit.phis().into_iter().zip(brought) {
        phi.add_incoming(value.expect("a phi has a value for each edge"), rest);
    }
    // The beginning of the second one.
    let builder = Builder::at_end(rest);
    let more = builder.icmp(ULT, split, end);
    builder.cond_br(more, other_header, exit);
    other_header.forget_edge(preheader);
    for phi in other_header.phis() {
        phi.add_incoming(split, rest);
    }
}
