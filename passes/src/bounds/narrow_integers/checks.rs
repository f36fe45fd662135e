//! Compares indices with lengths below 2^31 in 32 bits, and clamps them there.
//!
//! Before:
//! ```llvm
//!   %len = zext nneg i32 %len.32 to i64
//!   %width = zext nneg i32 %width.32 to i64
//!   %last = add nsw i64 %width, -1
//!   %at.last = icmp eq i64 %last, %x                      ; %x = zext nneg i32 %x.32 to i64
//!   …
//!   %a.inside = icmp ult i64 %a, %len                     ; %a is any number
//!   %b = add i64 %a, %width
//!   %b.inside = icmp ult i64 %b, %len
//!   %both = select i1 %a.inside, i1 %b.inside, i1 false
//!   br i1 %both, label %inside, label %panic
//! inside:
//!   %a.at = getelementptr float, ptr %p, i64 %a
//!   %b.at = getelementptr float, ptr %p, i64 %b
//! ```
//! After:
//! ```llvm
//!   %last.32 = add i32 %width.32, -1
//!   %at.last = icmp eq i32 %last.32, %x.32
//!   …
//!   %a.inside = icmp ult i64 %a, %len
//!   %a.32 = trunc i64 %a to i32
//!   %b.32 = add i32 %a.32, %width.32
//!   %b.inside = icmp ult i32 %b.32, %len.32
//!   %both = select i1 %a.inside, i1 %b.inside, i1 false
//!   br i1 %both, label %inside, label %panic
//! inside:
//!   %a.wide = zext nneg i32 %a.32 to i64
//!   %a.at = getelementptr float, ptr %p, i64 %a.wide
//!   %b.wide = zext nneg i32 %b.32 to i64
//!   %b.at = getelementptr float, ptr %p, i64 %b.wide
//! ```
//!
//! A GPU has 32-bit registers: a 64-bit addition or comparison takes two instructions, and so does
//! an address with a 64-bit index; with a 32-bit index it takes one.
//!
//! **Minima and maxima** of numbers that fit are those of their lower halves (`halves.rs`):
//! a GPU has an instruction for 32 bits, and takes four for 64. So is the minimum of a number below 2^31 and
//! of one that a sum of numbers of 32 bits may have 33 for, such as a neighbour's index.
//!
//! **Why it is sound.** The first check says that `%a` is below 2^31. A value that differs from it
//! by at most 2^31 is between -2^31 and 2^32: if it is negative, its lower 32 bits are 2^31 or
//! more, and so out of bounds as well. If the first check fails, the others do not matter. Where
//! all have held, an index equals its lower 32 bits.
//!
//! **Two address steps** in one block, `p + y * width` and then `x` more, become one step by the
//! sum of both: a multiply-add. Factors are extended in the block of their product, since LLVM
//! matches a 32 x 32 to 64 multiplication per block.

use std::collections::{HashMap, HashSet};

use schism_llvm::{Block, Builder, IntPredicate, ModuleRef, Opcode, TypeKind, Value, intrinsic_id};

use super::halves::{Halves, extend};
use crate::analysis::value_range::{FULL, HALF, Range, is_long, range};

/// How many sums a value may be away from another one.
const STEPS: usize = 4;

/// Narrows the comparisons, indices, minima and maxima of a module.
pub(super) fn narrow(module: ModuleRef<'_>) {
    for function in module.functions().into_iter().filter(|it| !it.blocks().is_empty()) {
        let builder = Builder::new(module.context());
        let (halves, checks) = (Halves::new(function), HashMap::new());
        let mut narrow = Narrow { builder, halves, checks };
        for instruction in function.instructions() {
            saturate(instruction, &narrow.builder);
        }
        for instruction in function.instructions() {
            narrow.halves.clamp(instruction);
        }
        for instruction in function.instructions() {
            narrow.compare_small(instruction);
        }
        // The comparisons that go meanwhile are none of these.
        let joins = function.instructions().into_iter().filter(|it| joined(*it).is_some());
        for join in joins.collect::<Vec<_>>() {
            narrow.compare_near(join);
        }
        for block in function.blocks() {
            narrow.indices(block);
            narrow.factors(block);
            join_steps(block, &narrow.builder);
            extend_here(block, &narrow.builder);
        }
    }
}

/// A value, and those that it is some way from: each with how far it can be.
fn bases(value: Value<'_>) -> Vec<(Value<'_>, Range)> {
    let mut all = vec![(value, (0, 0))];
    while all.len() < STEPS {
        let (at, (low, high)) = all[all.len() - 1];
        let next = match at.opcode() {
            Some(Opcode::Add) => {
                let (a, b) = (at.operand(0), at.operand(1));
                match (range(a), range(b)) {
                    (_, Some(far)) => Some((a, (low + far.0, high + far.1))),
                    (Some(far), None) => Some((b, (low + far.0, high + far.1))),
                    (None, None) => None,
                }
            }
            Some(Opcode::Sub) => {
                range(at.operand(1)).map(|far| (at.operand(0), (low - far.1, high - far.0)))
            }
            _ => None,
        };
        let Some(next) = next else { break };
        all.push(next);
    }
    all
}

/// A check of an index: `index < length`, where the length is below 2^31.
#[derive(Clone, Copy)]
struct Check<'m> {
    index: Value<'m>,
    length: Value<'m>,
}

/// The check that a condition is.
fn check(condition: Value<'_>) -> Option<Check<'_>> {
    if condition.opcode() != Some(Opcode::ICmp) || condition.icmp_predicate() != IntPredicate::ULT {
        return None;
    }
    let [index, length] = [condition.operand(0), condition.operand(1)];
    let (low, high) = range(length).filter(|_| is_long(index))?;
    (low >= 0 && high < HALF).then_some(Check { index, length })
}

/// The two conditions that a condition joins: if the first does not hold, the second does not
/// matter.
fn joined(condition: Value<'_>) -> Option<[Value<'_>; 2]> {
    match condition.opcode()? {
        Opcode::Select => {
            let never = condition.operand(2);
            let is_false =
                never.is_constant_int() && never.ty().int_width() == 1 && never.zext_value() == 0;
            is_false.then(|| [condition.operand(0), condition.operand(1)])
        }
        Opcode::And => {
            let ty = condition.ty();
            let is_condition = ty.kind() == TypeKind::Integer && ty.int_width() == 1;
            is_condition.then(|| [condition.operand(0), condition.operand(1)])
        }
        _ => None,
    }
}

/// What there is of values in 32 bits.
struct Narrow<'m> {
    builder: Builder<'m>,
    halves: Halves<'m>,
    /// What conditions of 32 bits check.
    checks: HashMap<Value<'m>, Check<'m>>,
}

impl<'m> Narrow<'m> {
    /// The checks that hold if a condition does.
    fn checks(&self, condition: Value<'m>) -> Vec<Check<'m>> {
        let (mut all, mut open) = (Vec::new(), vec![condition]);
        while let Some(condition) = open.pop() {
            match joined(condition) {
                Some([first, second]) => open.extend([second, first]),
                None => {
                    all.extend(self.checks.get(&condition).copied().or_else(|| check(condition)))
                }
            }
        }
        all
    }

    /// Compares in 32 bits what is small on both sides.
    fn compare_small(&mut self, comparison: Value<'m>) {
        if comparison.opcode() != Some(Opcode::ICmp) {
            return;
        }
        let [a, b] = [comparison.operand(0), comparison.operand(1)];
        let is_sum = |value: Value<'m>| matches!(value.opcode(), Some(Opcode::Add | Opcode::Sub));
        let is_wide = |value: &Value<'m>| value.opcode() == Some(Opcode::ZExt);
        if !is_long(a) || !(is_sum(a) || is_sum(b) || [a, b].iter().all(is_wide)) {
            return;
        }
        let (Some(x), Some(y)) = (range(a), range(b)) else { return };
        let (least, most) = (x.0.min(y.0), x.1.max(y.1));
        let predicate = comparison.icmp_predicate();
        let fits = match predicate {
            IntPredicate::EQ | IntPredicate::NE => most - least < FULL,
            IntPredicate::ULT | IntPredicate::ULE | IntPredicate::UGT | IntPredicate::UGE
                if least >= 0 =>
            {
                most < FULL
            }
            // A negative number is larger than what it is compared with, and so is its half.
            IntPredicate::ULT | IntPredicate::UGE => {
                least >= -HALF && most <= HALF && y.0 >= 0 && x.1 < HALF
            }
            IntPredicate::UGT | IntPredicate::ULE => {
                least >= -HALF && most <= HALF && x.0 >= 0 && y.1 < HALF
            }
            _ => least >= -HALF && most < HALF,
        };
        if fits {
            let (a, b) = (self.halves.low(a), self.halves.low(b));
            self.builder.position_before(comparison);
            let new = self.builder.icmp(predicate, a, b);
            comparison.replace_uses(new);
            comparison.erase();
        }
    }

    /// Makes a check in 32 bits if another one, which it is joined to, says that its index is near.
    fn compare_near(&mut self, join: Value<'m>) {
        let Some([first, second]) = joined(join) else { return };
        let Some(near) = check(second) else { return };
        let from = bases(near.index);
        let is_near = |known: &Check| {
            let others = bases(known.index);
            let common = from.iter().find_map(|&(base, far)| {
                others.iter().find(|(other, _)| *other == base).map(|&(_, other)| (far, other))
            });
            common.is_some_and(|(far, other)| {
                known.index != near.index && far.0 - other.1 >= -HALF && far.1 - other.0 <= HALF
            })
        };
        let known = self.checks(first);
        let Some(known) = known.into_iter().find(is_near) else { return };
        self.halves.lower_half(known.index);
        let (index, length) = (self.halves.low(near.index), self.halves.low(near.length));
        self.builder.position_before(second);
        let less = IntPredicate::ULT;
        let new = self.builder.icmp(less, index, length);
        self.checks.insert(new, near);
        join.set_operand(1, new);
        if second.users().is_empty() {
            second.erase();
        }
    }

    /// Has factors of which only the lower halves count be extended from those: LLVM makes a multiplication
    /// of 32 bits of such products.
    fn factors(&mut self, block: Block<'m>) {
        for product in block.instructions() {
            if product.opcode() != Some(Opcode::Mul) || !is_long(product) {
                continue;
            }
            for place in [0, 1] {
                let factor = product.operand(place);
                let is_half = factor.opcode() == Some(Opcode::And)
                    && factor.operand(1).as_unsigned() == Some(u64::from(u32::MAX));
                if is_half {
                    let low = self.halves.low(factor.operand(0));
                    self.builder.position_before(product);
                    product.set_operand(place, self.builder.zext(low, factor.ty()));
                }
            }
        }
    }

    /// Has addresses of a block be computed from 32 bits where the way there says that an index has
    /// no more.
    fn indices(&mut self, block: Block<'m>) {
        let users = block.as_value().users();
        let [branch] = users[..] else { return };
        if !branch.is_branch() || !branch.is_conditional() || branch.successor(0) != block {
            return;
        }
        let known = self.checks(branch.condition());
        let known = known.into_iter().map(|check| check.index).collect();
        for address in block.instructions() {
            let Some((_, index, _)) = address.element() else { continue };
            if let Some(wide) = self.wide(index, &known, address) {
                address.set_operand(1, wide);
            }
        }
    }

    /// An index that is known to have 31 bits, made of them before an instruction. One that is a
    /// constant from another one stays so.
    fn wide(
        &mut self,
        index: Value<'m>,
        known: &HashSet<Value<'m>>,
        before: Value<'m>,
    ) -> Option<Value<'m>> {
        if !known.contains(&index) || index.opcode() == Some(Opcode::ZExt) {
            return None;
        }
        if index.opcode() == Some(Opcode::Add) {
            let (base, far) = (index.operand(0), index.operand(1));
            if far.is_constant_int() && known.contains(&base) {
                let base = self.wide(base, known, before)?;
                return Some(self.builder.nsw_add(base, far));
            }
        }
        let low = self.halves.lower_half(index);
        self.builder.position_before(before);
        Some(extend(&self.builder, low, index.ty(), true))
    }
}

/// Has a minimum of a difference that is zero where it would be negative be one of a saturated difference:
/// `x < d ? 0 : min(limit, x - d)` becomes `min(limit, x.saturating_sub(d))`. It is never negative.
fn saturate<'m>(choice: Value<'m>, builder: &Builder<'m>) {
    let Some((limit, number, less)) = saturated(choice) else { return };
    builder.position_before(choice);
    let module = choice.parent_function().module();
    let intrinsic = |name| module.intrinsic(intrinsic_id(name), &[choice.ty()]);
    let difference = builder.call_function(intrinsic("llvm.usub.sat"), &[number, less]);
    let new = builder.call_function(intrinsic("llvm.umin"), &[limit, difference]);
    choice.replace_uses(new);
    choice.erase();
}

/// The limit, the number and what is taken away from it.
fn saturated(choice: Value<'_>) -> Option<(Value<'_>, Value<'_>, Value<'_>)> {
    if choice.opcode() != Some(Opcode::Select) || !is_long(choice) || !choice.operand(1).is_zero() {
        return None;
    }
    let (condition, minimum) = (choice.operand(0), choice.operand(2));
    let is_umin = |callee: Value<'_>| callee.intrinsic_id() == intrinsic_id("llvm.umin");
    if condition.opcode() != Some(Opcode::ICmp) || !minimum.callee().is_some_and(is_umin) {
        return None;
    }
    [0, 1].into_iter().find_map(|index| {
        let (limit, difference) = (minimum.operand(1 - index), minimum.operand(index));
        if difference.opcode() != Some(Opcode::Add) {
            return None;
        }
        let (number, less) =
            (difference.operand(0), difference.operand(1).as_signed()?.checked_neg()?);
        // What is compared may be what was extended.
        let compared = condition.operand(0);
        let is_number = compared == number
            || number.opcode() == Some(Opcode::ZExt) && number.operand(0) == compared;
        let bound = condition.operand(1).as_signed()?;
        let is_less = match condition.icmp_predicate() {
            IntPredicate::EQ => bound == 0 && less == 1,
            IntPredicate::ULT => bound == less,
            _ => false,
        };
        let is_it = is_number && is_less && less > 0;
        is_it.then(|| (limit, number, number.ty().const_int(less.cast_unsigned(), false)))
    })
}

/// Joins two steps of an address, the first of which is a product, where nothing else uses the
/// address between.
fn join_steps<'m>(block: Block<'m>, builder: &Builder<'m>) {
    for address in block.instructions() {
        let Some((between, second, size)) = address.element() else { continue };
        let Some((base, first, same)) = between.element() else { continue };
        if size != same
            || !is_long(first)
            || !is_long(second)
            || first.opcode() != Some(Opcode::Mul)
            || second.is_constant_int()
            || between.block() != block
            || between.users().len() != 1
        {
            continue;
        }
        builder.position_before(address);
        let index = builder.add(first, second);
        let ty = address.gep_source_type();
        let indices = [index];
        let new = builder.gep(ty, base, &indices);
        address.replace_uses(new);
        address.erase();
        between.erase();
    }
}

/// Has factors be extended where they are multiplied, if that is in another block. What is extended
/// is frozen first, which is no instruction, or LLVM would see that it has been extended already.
/// Products that may share something with others stay.
fn extend_here<'m>(block: Block<'m>, builder: &Builder<'m>) {
    for product in block.instructions() {
        if product.opcode() != Some(Opcode::Mul) || !is_long(product) {
            continue;
        }
        for (place, other) in [(0, 1), (1, 0)] {
            let (wide, other) = (product.operand(place), product.operand(other));
            let is_alone = other
                .users()
                .into_iter()
                .all(|user| user == product || user.opcode() != Some(Opcode::Mul));
            if wide.opcode() == Some(Opcode::ZExt)
                && wide.block() != block
                && other.opcode() == Some(Opcode::ZExt)
                && is_alone
            {
                builder.position_before(product);
                let narrow = builder.freeze(wide.operand(0));
                let new = builder.zext(narrow, wide.ty());
                product.set_operand(place, new);
            }
        }
    }
}
