//! Numbers of 64 bits that are below 2³², and their lower halves in 32 bits.
//!
//! A driver for processors computes the work-items of a group in the lanes of vectors. A vector has
//! half as many lanes of 64 bits.

use std::collections::HashMap;

use schism_llvm::{Builder, FUNCTION_INDEX, IntPredicate, Opcode, TypeKind, Value};

use crate::ir::cfg::Cfg;

/// The attribute of parameters and calls of 64 bits whose value is below 2³¹. LLVM's `range` says
/// that too, and its C interface does not tell what is in it.
pub const NARROW: &str = "schism.narrow";

/// What a number with that attribute is at most.
const NARROW_MOST: u64 = (1 << 31) - 1;

/// What a number of 32 bits is at most.
pub(super) const SHORT: u64 = u32::MAX as u64;

/// How many operations a number may be made of.
const DEPTH: usize = 8;

/// How many branches in front of a block are looked at.
const BRANCHES: usize = 16;

/// What the branches in front of a block say of numbers: comparisons without signs that hold there.
#[derive(Default)]
pub(super) struct Facts<'m> {
    /// Not less than, of numbers without their extensions.
    not_less: Vec<(Value<'m>, Value<'m>)>,
}

impl<'m> Facts<'m> {
    /// What is so in a block.
    pub fn at(cfg: &Cfg<'m>, mut block: usize) -> Self {
        let mut facts = Facts::default();
        for _ in 0..BRANCHES {
            // What holds in front of a loop holds in all its iterations.
            let mut from =
                cfg.predecessors[block].iter().filter(|&&from| !cfg.dominates(block, from));
            let Some(&before) = from.next() else { break };
            if from.next().is_some() {
                break;
            }
            let branch = cfg.blocks[before].end();
            if branch.opcode() == Some(Opcode::Br) && branch.is_conditional() {
                let [yes, no] = [0, 1].map(|index| branch.successor(index));
                if yes != no {
                    facts.add(branch.condition(), yes == cfg.blocks[block], DEPTH);
                }
            }
            block = before;
        }
        facts
    }

    /// Adds what a condition says that holds, or does not.
    fn add(&mut self, condition: Value<'m>, holds: bool, depth: usize) {
        let Some(depth) = depth.checked_sub(1) else { return };
        let operand = |index| condition.operand(index);
        let is = |value: Value<'m>, number| value.as_unsigned() == Some(number);
        match condition.opcode() {
            Some(Opcode::And) if holds => {
                self.add(operand(0), true, depth);
                self.add(operand(1), true, depth);
            }
            Some(Opcode::Or) if !holds => {
                self.add(operand(0), false, depth);
                self.add(operand(1), false, depth);
            }
            Some(Opcode::Select) if holds && is(operand(2), 0) => {
                self.add(operand(0), true, depth);
                self.add(operand(1), true, depth);
            }
            Some(Opcode::Select) if !holds && is(operand(1), 1) => {
                self.add(operand(0), false, depth);
                self.add(operand(2), false, depth);
            }
            Some(Opcode::Select) if holds && is(operand(1), 0) => {
                self.add(operand(0), false, depth);
                self.add(operand(2), true, depth);
            }
            Some(Opcode::Xor) if is(operand(1), 1) => self.add(operand(0), !holds, depth),
            Some(Opcode::ICmp) => self.compare(condition, holds),
            _ => {}
        }
    }

    /// Adds what a comparison says that holds, or does not.
    fn compare(&mut self, comparison: Value<'m>, holds: bool) {
        let [a, b] = [0, 1].map(|index| without_extension(comparison.operand(index)));
        match (comparison.icmp_predicate(), holds) {
            (IntPredicate::UGE | IntPredicate::UGT, true)
            | (IntPredicate::ULT | IntPredicate::ULE, false) => self.not_less.push((a, b)),
            (IntPredicate::ULE | IntPredicate::ULT, true)
            | (IntPredicate::UGT | IntPredicate::UGE, false) => self.not_less.push((b, a)),
            (IntPredicate::EQ, true) | (IntPredicate::NE, false) => {
                self.not_less.extend([(a, b), (b, a)]);
            }
            _ => {}
        }
    }

    /// Whether a number is not less than another one.
    fn is_not_less(&self, a: Value<'m>, b: Value<'m>) -> bool {
        let pair = [a, b].map(without_extension);
        self.not_less.iter().any(|known| [known.0, known.1] == pair)
    }

    /// What a number of up to 64 bits is at most.
    pub fn most(&self, value: Value<'m>) -> u64 {
        self.most_to(value, DEPTH)
    }

    fn most_to(&self, value: Value<'m>, depth: usize) -> u64 {
        let ty = value.ty();
        if ty.kind() != TypeKind::Integer || ty.int_width() > 64 {
            return u64::MAX;
        }
        let all = u64::MAX >> (64 - ty.int_width());
        if let Some(number) = value.as_unsigned() {
            return number;
        }
        let Some(depth) = depth.checked_sub(1) else { return all };
        let own = self.computed(value, depth).unwrap_or(all).min(all);
        // Only of numbers whose limits are computed, so that this ends.
        let plain = without_extension(value);
        let limits = self.not_less.iter().filter(|(_, small)| *small == plain);
        limits.map(|&(large, _)| limit(large)).fold(own, u64::min)
    }

    fn computed(&self, value: Value<'m>, depth: usize) -> Option<u64> {
        let of = |index| self.most_to(value.operand(index), depth);
        let constant = |index: u32| value.operand(index).as_unsigned();
        // All bits that a number may have.
        let bits = |most: u64| u64::MAX.checked_shr(most.leading_zeros()).unwrap_or(0);
        if is_marked(value) {
            return Some(NARROW_MOST);
        }
        Some(match value.opcode()? {
            Opcode::ZExt if value.is_nneg() => of(0).min(limit(value)),
            Opcode::ZExt | Opcode::Freeze => of(0),
            Opcode::And => of(0).min(of(1)),
            Opcode::Or | Opcode::Xor => bits(of(0)) | bits(of(1)),
            Opcode::Add => of(0).checked_add(of(1))?,
            Opcode::Mul => of(0).checked_mul(of(1))?,
            Opcode::Shl => {
                of(0).checked_mul(1_u64.checked_shl(u32::try_from(constant(1)?).ok()?)?)?
            }
            Opcode::LShr => of(0).checked_shr(u32::try_from(constant(1)?).ok()?)?,
            Opcode::UDiv => of(0).checked_div(constant(1)?)?,
            Opcode::URem => constant(1)?.checked_sub(1)?,
            Opcode::Sub => {
                let [a, b] = [0, 1].map(|index| value.operand(index));
                (value.is_nuw() || self.is_not_less(a, b)).then(|| of(0))?
            }
            Opcode::Select => of(1).max(of(2)),
            _ => return None,
        })
    }
}

/// Whether stage 2 says of a number that it is below 2³¹.
fn is_marked(value: Value<'_>) -> bool {
    let names = |of: Option<String>| of.as_deref() == Some(NARROW);
    if let Some(index) = value.param_index() {
        return value.param_function().string_attribute(index + 1, NARROW).is_some();
    }
    value.opcode() == Some(Opcode::Call)
        && value.call_attributes(FUNCTION_INDEX).iter().any(|it| names(it.string_name()))
}

/// What a number is at most by itself.
fn limit(value: Value<'_>) -> u64 {
    if let Some(number) = value.as_unsigned() {
        return number;
    }
    let bits = match value.opcode() {
        Some(Opcode::ZExt) => value.operand(0).ty().int_width() - u32::from(value.is_nneg()),
        Some(Opcode::And) => return limit(value.operand(0)).min(limit(value.operand(1))),
        _ if is_marked(value) => return NARROW_MOST,
        _ => value.ty().int_width().min(64),
    };
    u64::MAX >> (64 - bits)
}

fn without_extension(mut value: Value<'_>) -> Value<'_> {
    while value.opcode() == Some(Opcode::ZExt) {
        value = value.operand(0);
    }
    value
}

/// The lower halves of numbers, which are computed once.
#[derive(Default)]
pub(super) struct LowerHalves<'m> {
    made: HashMap<Value<'m>, Value<'m>>,
    made_at_most_all: HashMap<Value<'m>, Value<'m>>,
}

impl<'m> LowerHalves<'m> {
    /// Whether the lower half of a number is made of numbers of 32 bits, and of what all work-items
    /// have in common.
    pub fn is_at_hand(value: Value<'m>) -> bool {
        is_at_hand_to(value, DEPTH)
    }

    /// The same, or the number is marked to be below 2³¹.
    pub fn is_at_hand_or_id(value: Value<'m>) -> bool {
        is_marked(value) || Self::is_at_hand(value)
    }

    /// The lower half of a number of 64 bits, computed right behind it.
    pub fn of(&mut self, value: Value<'m>) -> Value<'m> {
        self.made_of(value, DEPTH)
    }

    /// A number of 64 bits in 32, right behind it; 2³² - 1 if it is greater than that.
    pub fn of_at_most_all(&mut self, value: Value<'m>) -> Value<'m> {
        if let Some(&known) = self.made_at_most_all.get(&value) {
            return known;
        }
        let (long, short) = (value.ty(), value.context().int_type(32));
        let builder = Builder::before(behind(value));
        let is_long = builder.icmp(IntPredicate::UGT, value, long.const_int(SHORT, false));
        let half = builder.trunc(value, short);
        let new = builder.select(is_long, short.const_int(SHORT, false), half);
        self.made_at_most_all.insert(value, new);
        new
    }

    fn made_of(&mut self, value: Value<'m>, depth: usize) -> Value<'m> {
        let ty = value.context().int_type(32);
        if value.is_constant_int() {
            return ty.const_int(value.zext_value() & SHORT, false);
        }
        if let Some(&known) = self.made.get(&value) {
            return known;
        }
        let builder = Builder::before(behind(value));
        let new = match value.opcode() {
            Some(opcode) if depth > 0 && is_modular(value) => {
                let mut half = |index| self.made_of(value.operand(index), depth - 1);
                match opcode {
                    Opcode::ZExt | Opcode::SExt => {
                        let is_signed = opcode == Opcode::SExt;
                        builder.int_cast(value.operand(0), ty, is_signed)
                    }
                    Opcode::Select => {
                        let [then, other] = [1, 2].map(half);
                        builder.select(value.operand(0), then, other)
                    }
                    _ => {
                        let a = half(0);
                        let b = half(1);
                        builder.binary(opcode, a, b)
                    }
                }
            }
            _ => builder.trunc(value, ty),
        };
        self.made.insert(value, new);
        new
    }
}

fn is_at_hand_to(value: Value<'_>, depth: usize) -> bool {
    if value.is_constant_int() || value.param_index().is_some() {
        return true;
    }
    let Some(depth) = depth.checked_sub(1) else { return false };
    let of = |index| is_at_hand_to(value.operand(index), depth);
    is_modular(value)
        && match value.opcode() {
            Some(Opcode::ZExt | Opcode::SExt) => true,
            Some(Opcode::Select) => of(1) && of(2),
            _ => of(0) && of(1),
        }
}

/// Whether the lower half of a result is the same operation on the lower halves of its operands.
fn is_modular(value: Value<'_>) -> bool {
    let is_short_shift = || value.operand(1).as_unsigned().is_some_and(|by| by < 32);
    match value.opcode() {
        Some(Opcode::ZExt | Opcode::SExt) => value.operand(0).ty().int_width() <= 32,
        Some(
            Opcode::Add
            | Opcode::Sub
            | Opcode::Mul
            | Opcode::And
            | Opcode::Or
            | Opcode::Xor
            | Opcode::Select,
        ) => true,
        Some(Opcode::Shl) => is_short_shift(),
        // Of what has no upper half.
        Some(Opcode::LShr) => is_short_shift() && Facts::default().most(value.operand(0)) <= SHORT,
        _ => false,
    }
}

/// Whether a number is computed from constants and parameters alone, which all work-items of a kernel have in
/// common.
pub(crate) fn is_common(value: Value<'_>) -> bool {
    is_common_to(value, DEPTH)
}

fn is_common_to(value: Value<'_>, depth: usize) -> bool {
    if value.is_constant_int() || value.param_index().is_some() {
        return true;
    }
    let Some(depth) = depth.checked_sub(1) else { return false };
    let is_pure = value.is_integer_arithmetic() || value.opcode() == Some(Opcode::Freeze);
    is_pure && value.operands().all(|operand| is_common_to(operand, depth))
}

/// The first instruction behind a value.
fn behind(value: Value<'_>) -> Value<'_> {
    if value.param_index().is_some() {
        let front = value.param_function().entry().instructions();
        let first = front.into_iter().find(|one| one.opcode() != Some(Opcode::Alloca));
        return first.expect("a block ends in a terminator");
    }
    if value.opcode() == Some(Opcode::Phi) {
        return value.block().first_non_phi();
    }
    value.next().expect("a block ends in a terminator")
}
