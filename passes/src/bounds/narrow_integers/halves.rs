//! The lower halves of numbers of 64 bits, and how they are computed.

use std::collections::HashMap;

use schism_llvm::{Block, Builder, IntPredicate, Opcode, Type, Value};

use crate::analysis::value_range::{Clamp, FULL, HALF, Range, is_long, range};

/// How many blocks before one are looked at.
const DEPTH: usize = 6;

/// A half extended by zeros, which may be known to have no sign.
pub(super) fn extend<'m>(
    builder: &Builder<'m>,
    half: Value<'m>,
    ty: Type<'m>,
    is_nneg: bool,
) -> Value<'m> {
    let wide = builder.zext(half, ty);
    // An extension of a constant is a constant.
    if wide.opcode() == Some(Opcode::ZExt) {
        wide.set_nneg(is_nneg);
    }
    wide
}

impl Clamp {
    /// Whether it gives the same for the lower halves of such numbers, extended by zeros, or by
    /// the sign if it can be negative.
    ///
    /// Numbers from -2^31 to 2^31 have the order of their lower halves, with a sign and without.
    /// Those from 0 to 2^32 have the order of theirs without. To these -1 may come: its half is
    /// the largest, as it is.
    fn is_of_halves(self, a: Range, b: Range) -> bool {
        let within = |low: i128, high: i128| low <= a.0.min(b.0) && a.1.max(b.1) < high;
        let (signed, unsigned) = (within(-HALF, HALF), within(0, FULL));
        match self {
            Self::Umin => signed || (within(-1, FULL) && (a.0 >= 0 || b.0 >= 0)),
            Self::Umax | Self::UsubSat => unsigned,
            Self::Smin | Self::Smax => signed,
        }
    }
}

/// The numbers of 32 bits that others are a constant from stay below this, and the constants below the
/// other one. So what is computed of them has 32 bits, and is 2^31 or more if it was limited.
const CAP: u32 = 3 << 30;
const FAR: i64 = 1 << 29;

/// What there is of values in 32 bits.
pub(super) struct Halves<'m> {
    function: Value<'m>,
    builder: Builder<'m>,
    made: HashMap<Value<'m>, Value<'m>>,
    /// Lower halves that are at most [`CAP`].
    capped: HashMap<Value<'m>, Value<'m>>,
}

impl<'m> Halves<'m> {
    /// For the values of a function.
    pub(super) fn new(function: Value<'m>) -> Self {
        let builder = Builder::new(function.module().context());
        Self { function, builder, made: HashMap::new(), capped: HashMap::new() }
    }

    /// The lower 32 bits of a number of 64 that is there anyway.
    pub(super) fn lower_half(&mut self, value: Value<'m>) -> Value<'m> {
        let is_sum = matches!(value.opcode(), Some(Opcode::Add | Opcode::Sub));
        if !is_sum || self.made.contains_key(&value) {
            return self.low(value);
        }
        self.stand_behind(value);
        let ty = value.ty().context().int_type(32);
        let half = self.builder.trunc(value, ty);
        self.made.insert(value, half);
        half
    }

    /// The lower 32 bits of a number of 64, computed right behind it.
    pub(super) fn low(&mut self, value: Value<'m>) -> Value<'m> {
        if let Some(&made) = self.made.get(&value) {
            return made;
        }
        let context = value.ty().context();
        let ty = context.int_type(32);
        if value.is_constant_int() {
            return ty.const_int(value.zext_value() & 0xFFFF_FFFF, false);
        }
        let made = match value.opcode() {
            Some(opcode @ (Opcode::ZExt | Opcode::SExt)) => {
                let narrow = value.operand(0);
                match narrow.ty().int_width() {
                    32 => narrow,
                    _ => {
                        self.stand_behind(value);
                        self.builder.int_cast(narrow, ty, opcode == Opcode::SExt)
                    }
                }
            }
            Some(opcode @ (Opcode::Add | Opcode::Sub)) => {
                let [a, b] = [0, 1].map(|index| self.low(value.operand(index)));
                self.stand_behind(value);
                self.builder.binary(opcode, a, b)
            }
            _ => {
                self.stand_behind(value);
                self.builder.trunc(value, ty)
            }
        };
        self.made.insert(value, made);
        made
    }

    /// The lower 32 bits of a number of 64, computed in 32 bits where possible.
    fn low_of_all(&mut self, value: Value<'m>) -> Value<'m> {
        if let Some(&made) = self.made.get(&value) {
            return made;
        }
        let made = match value.opcode() {
            Some(opcode @ (Opcode::Add | Opcode::Sub | Opcode::Mul)) => {
                let [a, b] = [0, 1].map(|index| self.low_of_all(value.operand(index)));
                self.stand_behind(value);
                self.builder.binary(opcode, a, b)
            }
            Some(Opcode::Select) => {
                let [a, b] = [1, 2].map(|index| self.low_of_all(value.operand(index)));
                self.stand_behind(value);
                self.builder.select(value.operand(0), a, b)
            }
            Some(Opcode::Call) => match self.clamped(value) {
                Some(made) => made,
                None => return self.low(value),
            },
            _ => return self.low(value),
        };
        self.made.insert(value, made);
        made
    }

    /// The lower half of a minimum, a maximum or a difference that is not below zero, if that is
    /// what it gives for lower halves.
    fn clamped(&mut self, call: Value<'m>) -> Option<Value<'m>> {
        let clamp = Clamp::of(call)?;
        let [a, b] = [0, 1].map(|index| call.operand(index));
        if !clamp.is_of_halves(range(a)?, range(b)?) {
            return None;
        }
        let halves = [self.low_of_all(a), self.low_of_all(b)];
        self.stand_behind(call);
        Some(self.call(clamp, halves))
    }

    fn call(&self, clamp: Clamp, halves: [Value<'m>; 2]) -> Value<'m> {
        let module = self.function.module();
        let ty = module.context().int_type(32);
        let function = module.intrinsic(schism_llvm::intrinsic_id(clamp.name()), &[ty]);
        self.builder.call_function(function, &halves)
    }

    /// The minimum of a number below 2^31 and one that may have 33 bits: a number of 32 bits and a
    /// constant, or nothing if that is below zero. It is computed in 32 bits of the smaller of that number
    /// and [`CAP`]: where that is CAP, the sum is 2^31 or more before and after, so the other number is the minimum.
    fn limited(&mut self, call: Value<'m>) -> Option<Value<'m>> {
        if Clamp::of(call)? != Clamp::Umin {
            return None;
        }
        let [a, b] = [0, 1].map(|index| call.operand(index));
        let is_limit = |value: Value<'m>| {
            range(value).is_some_and(|(low, high)| {
                let is_known = low >= 0 || (low == -1 && is_last(value, call.block()));
                is_known && high < HALF
            })
        };
        let (limit, (base, by)) = match (offset(b), offset(a)) {
            (Some(offset), _) if is_limit(a) => (a, offset),
            (_, Some(offset)) if is_limit(b) => (b, offset),
            _ => return None,
        };
        let (low, high) = range(base)?;
        if low < 0 || high >= FULL || by.abs() >= FAR {
            return None;
        }
        let ty = call.context().int_type(32);
        let (limit, half) = (self.low_of_all(limit), self.low_of_all(base));
        let constant = ty.const_int(by.unsigned_abs(), false);
        let number = if by <= 0 {
            self.stand_behind(call);
            self.call(Clamp::UsubSat, [half, constant])
        } else {
            let capped = match self.capped.get(&half) {
                Some(capped) => *capped,
                None => {
                    self.stand_behind(half);
                    self.call(Clamp::Umin, [half, ty.const_int(u64::from(CAP), false)])
                }
            };
            self.capped.insert(half, capped);
            self.stand_behind(call);
            self.builder.add(capped, constant)
        };
        Some(self.call(Clamp::Umin, [limit, number]))
    }

    /// Computes a minimum, a maximum, or a choice between such and others, in 32 bits.
    pub(super) fn clamp(&mut self, value: Value<'m>) {
        let is_one = match value.opcode() {
            Some(Opcode::Call) => Clamp::of(value).is_some(),
            // One of two that was computed so.
            Some(Opcode::Select) if is_long(value) => [1, 2].into_iter().any(|index| {
                let arm = value.operand(index);
                matches!(arm.opcode(), Some(Opcode::ZExt | Opcode::SExt))
                    && self.made.contains_key(&arm)
            }),
            _ => false,
        };
        let Some((low, high)) = is_one.then(|| range(value)).flatten() else { return };
        let fits = low >= -HALF && high < if low < 0 { HALF } else { FULL };
        let is_call = value.opcode() == Some(Opcode::Call);
        let half = match (fits, is_call) {
            (true, true) => self.clamped(value),
            (true, false) => Some(self.low_of_all(value)),
            (false, _) => None,
        };
        let (half, (low, high)) = match half {
            Some(half) => (half, (low, high)),
            // It is at most what it is limited by.
            None => match is_call.then(|| self.limited(value)).flatten() {
                Some(half) => (half, (0, HALF - 1)),
                None => return,
            },
        };
        let is_signed = low < 0;
        self.stand_behind(half);
        let wide = if is_signed {
            self.builder.sext(half, value.ty())
        } else {
            extend(&self.builder, half, value.ty(), high < HALF)
        };
        value.replace_uses(wide);
        self.made.remove(&value);
        self.made.insert(wide, half);
        value.erase();
    }

    /// Lets what is built come behind a value.
    fn stand_behind(&self, value: Value<'m>) {
        let mut place = match value.opcode() {
            Some(_) => value.next(),
            // Of parameters and constants.
            None => self.function.entry().first(),
        };
        while let Some(at) = place.filter(|at| at.opcode() == Some(Opcode::Phi)) {
            place = at.next();
        }
        self.builder.position_before(place.expect("a block has an end"));
    }
}

/// The number that another one is a constant from, and by how much. Less than nothing is nothing.
fn offset<'m>(value: Value<'m>) -> Option<(Value<'m>, i64)> {
    let sum = |value: Value<'m>| {
        let is_sum = value.opcode() == Some(Opcode::Add);
        let by = is_sum.then(|| value.operand(1).as_signed()).flatten()?;
        (by >= 0).then(|| (value.operand(0), by))
    };
    if value.opcode() == Some(Opcode::Call) && Clamp::of(value)? == Clamp::UsubSat {
        let less = value.operand(1).as_signed().filter(|less| (0..FAR).contains(less))?;
        let (base, by) = sum(value.operand(0)).unwrap_or((value.operand(0), 0));
        return Some((base, by.checked_sub(less)?));
    }
    sum(value)
}

/// Whether a value is one less than a number that is not zero, since a branch has led to a block only if
/// another number is below it.
fn is_last<'m>(value: Value<'m>, block: Block<'m>) -> bool {
    if value.opcode() != Some(Opcode::Add) || value.operand(1).as_signed() != Some(-1) {
        return false;
    }
    let length = value.operand(0);
    let mut block = block;
    for _ in 0..DEPTH {
        let users = block.as_value().users();
        let [branch] = users[..] else { return false };
        if !branch.is_branch() {
            return false;
        }
        if branch.is_conditional() && branch.successor(0) == block {
            let condition = branch.condition();
            if condition.opcode() == Some(Opcode::ICmp)
                && condition.icmp_predicate() == IntPredicate::ULT
                && condition.operand(1) == length
            {
                return true;
            }
        }
        block = branch.block();
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The smaller of two numbers, one of which is a constant from another one.
    #[test]
    fn limited_numbers_are_the_same() {
        let most = i64::from(u32::MAX);
        for limit in [0, 1, 5, HALF as i64 - 2, HALF as i64 - 1] {
            for base in [0, 1, 4, 5, limit, i64::from(CAP) - 1, i64::from(CAP), most - 1, most] {
                for by in [-FAR + 1, -5, -1, 0, 1, 5, FAR - 1] {
                    let expected = (base + by).max(0).min(limit);
                    let base = base as u32;
                    let number = match by {
                        ..=0 => base.saturating_sub(by.unsigned_abs() as u32),
                        _ => base.min(CAP).checked_add(by as u32).expect("it has 32 bits"),
                    };
                    assert_eq!(
                        i64::from(number.min(limit as u32)),
                        expected,
                        "{limit} {base} {by}"
                    );
                }
            }
        }
    }

    /// What it gives for two numbers of 64 bits, and for their halves.
    fn both(clamp: Clamp, a: i64, b: i64) -> (i64, i32) {
        let (x, y) = (a as i32, b as i32);
        match clamp {
            Clamp::Umin => ((a as u64).min(b as u64) as i64, (x as u32).min(y as u32) as i32),
            Clamp::Umax => ((a as u64).max(b as u64) as i64, (x as u32).max(y as u32) as i32),
            Clamp::Smin => (a.min(b), x.min(y)),
            Clamp::Smax => (a.max(b), x.max(y)),
            Clamp::UsubSat => (
                (a as u64).saturating_sub(b as u64) as i64,
                (x as u32).saturating_sub(y as u32) as i32,
            ),
        }
    }

    #[test]
    fn halves_give_the_same() {
        let (half, full) = (HALF as i64, FULL as i64);
        let edges = [
            i64::MIN,
            -full,
            -half - 1,
            -half,
            -2,
            -1,
            0,
            1,
            7,
            half - 1,
            half,
            full - 2,
            full - 1,
            full,
            i64::MAX,
        ];
        let ranges: Vec<(i64, i64)> = edges
            .iter()
            .flat_map(|low| edges.iter().map(|high| (*low, *high)))
            .filter(|(low, high)| low <= high)
            .collect();
        let within =
            |(low, high): (i64, i64)| edges.iter().filter(move |edge| (low..=high).contains(edge));
        let wide = |(low, high): (i64, i64)| (i128::from(low), i128::from(high));
        let all = [Clamp::Umin, Clamp::Umax, Clamp::Smin, Clamp::Smax, Clamp::UsubSat];
        let mut count = 0;
        for clamp in all {
            for &of_a in &ranges {
                for &of_b in &ranges {
                    let (a, b) = (wide(of_a), wide(of_b));
                    let given = clamp.range(a, b);
                    let is_of_halves = clamp.is_of_halves(a, b);
                    for (a, b) in within(of_a).flat_map(|a| within(of_b).map(move |b| (*a, *b))) {
                        let (result, low) = both(clamp, a, b);
                        let Some(given) = given else { continue };
                        assert!(
                            (given.0..=given.1).contains(&i128::from(result)),
                            "{clamp:?} {a} {b}"
                        );
                        if is_of_halves {
                            count += 1;
                            let made =
                                if given.0 < 0 { i64::from(low) } else { i64::from(low as u32) };
                            assert_eq!(made, result, "{clamp:?} {a} {b} of {of_a:?} and {of_b:?}");
                        }
                    }
                }
            }
        }
        assert!(count > 1000, "{count}");
    }
}
