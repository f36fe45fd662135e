//! Emits, before a loop, the conditions under which facts hold in all of its iterations.

use schism_llvm::{IntPredicate, Opcode, Value};

use crate::analysis::scev::{self, AddRec, Emit, Step};
use crate::analysis::trip_count::TripCount;

/// What must hold in all iterations.
pub(crate) enum Fact<'m> {
    /// A condition that is the same in all iterations, or its opposite.
    Condition(Value<'m>, bool),
    Compare(IntPredicate, AddRec<'m>, AddRec<'m>),
}

impl<'m> Fact<'m> {
    /// Whether it does not depend on the iteration.
    pub(crate) fn is_fixed(&self) -> bool {
        match self {
            Fact::Condition(..) => true,
            Fact::Compare(_, a, b) => {
                [a, b].iter().all(|side| side.is_fixed() && side.no_wrap.is_empty())
            }
        }
    }
}

/// What must hold, and how, for a condition to be `wanted`, if it is made of other conditions.
pub(crate) fn conjuncts(condition: Value<'_>, wanted: bool) -> Option<Vec<(Value<'_>, bool)>> {
    let operand = |index| condition.operand(index);
    let is = |value: Value<'_>, bit: u64| value.is_constant_int() && value.zext_value() == bit;
    match condition.opcode()? {
        Opcode::And if wanted => Some(vec![(operand(0), true), (operand(1), true)]),
        Opcode::Or if !wanted => Some(vec![(operand(0), false), (operand(1), false)]),
        Opcode::Select if wanted && is(operand(2), 0) => {
            Some(vec![(operand(0), true), (operand(1), true)])
        }
        Opcode::Select if !wanted && is(operand(1), 1) => {
            Some(vec![(operand(0), false), (operand(2), false)])
        }
        Opcode::Xor if is(operand(1), 1) => Some(vec![(operand(0), !wanted)]),
        _ => None,
    }
}

/// The conditions that are collected, and what makes them.
pub(crate) struct Conditions<'a, 'm> {
    pub(crate) emit: &'a mut Emit<'m>,
    pub(crate) all: Option<Value<'m>>,
}

impl<'m> Conditions<'_, 'm> {
    pub(crate) fn and(&mut self, condition: Value<'m>) {
        let all = self.all.map(|all| self.emit.builder().and(all, condition));
        self.all = Some(all.unwrap_or(condition));
    }

    pub(crate) fn compare(&mut self, predicate: IntPredicate, a: Value<'m>, b: Value<'m>) {
        let condition = self.emit.builder().icmp(predicate, a, b);
        self.and(condition);
    }

    fn not(&mut self, overflows: Value<'m>) {
        let condition = self.emit.builder().not(overflows);
        self.and(condition);
    }

    /// The iteration in which the loop ends at the latest.
    pub(crate) fn end(&mut self, trip_count: &TripCount<'m>) -> Value<'m> {
        let TripCount { predicate, value, step, bound, .. } = trip_count;
        let (bits, step) = (value.bits(), *step);
        let most = match predicate {
            IntPredicate::SLT | IntPredicate::SLE => u64::MAX >> (65 - bits),
            _ => u64::MAX >> (64 - bits),
        };
        let size = self.emit.number(64, step);
        if *predicate == IntPredicate::NE {
            // The first multiple of the step that is the distance is the distance, if it is a
            // multiple.
            let up = matches!(value.step, Step::Up(_));
            // A loop often compares the value of the next iteration. Then all iterations are
            // counted, and one is subtracted again: LLVM knows of a slice that it is not empty,
            // and not how much is left of it behind its first element.
            let before = scev::before(&value.base, step).filter(|_| up);
            let first = before.as_ref().unwrap_or(&value.base);
            let distance = match up {
                true => scev::difference(bound, first),
                false => scev::difference(first, bound),
            };
            let distance = self.emit.wide(&distance);
            let mut iterations = distance;
            if step != 1 {
                let rest = self.emit.builder().urem(distance, size);
                let none = self.emit.number(64, 0);
                self.compare(IntPredicate::EQ, rest, none);
                iterations = self.emit.builder().udiv(distance, size);
            }
            if before.is_some() {
                let one = self.emit.number(64, 1);
                self.compare(IntPredicate::UGE, iterations, one);
                iterations = self.emit.builder().sub(iterations, one);
            }
            return iterations;
        }
        let first = self.emit.wide(&value.base);
        let mut bound = self.emit.wide(bound);
        // The value in the iteration that ends the loop must not have wrapped.
        let distance = match predicate {
            IntPredicate::UGT => {
                let least = self.emit.number(64, step - 1);
                self.compare(IntPredicate::UGE, bound, least);
                self.emit.intrinsic("llvm.usub.sat", first, bound)
            }
            _ => {
                let through = matches!(predicate, IntPredicate::ULE | IntPredicate::SLE);
                let room = if through { step } else { step - 1 };
                let limit = self.emit.number(64, most.wrapping_sub(room));
                self.compare(IntPredicate::ULE, bound, limit);
                if matches!(predicate, IntPredicate::SLT | IntPredicate::SLE) {
                    let limit = self.emit.number(64, most);
                    self.compare(IntPredicate::ULE, first, limit);
                }
                if through {
                    let one = self.emit.number(64, 1);
                    bound = self.emit.builder().add(bound, one);
                }
                self.emit.intrinsic("llvm.usub.sat", bound, first)
            }
        };
        if step == 1 {
            return distance;
        }
        let up = self.emit.number(64, step - 1);
        let rounded = self.emit.builder().add(distance, up);
        self.emit.builder().udiv(rounded, size)
    }

    /// A value in an iteration, in 64 bits. Adds the conditions under which it has wrapped neither
    /// there nor in any iteration before.
    pub(crate) fn last(&mut self, value: &AddRec<'m>, iteration: Value<'m>) -> Value<'m> {
        let first = self.emit.wide(&value.base);
        let (size, up) = match &value.step {
            Step::None => return first,
            Step::Up(size) => (size, true),
            Step::Down(size) => (size, false),
        };
        let distance = if scev::known(size) == Some(1) {
            iteration
        } else {
            let size = self.emit.wide(size);
            self.checked("llvm.umul.with.overflow", iteration, size)
        };
        if !up {
            self.compare(IntPredicate::UGE, first, distance);
            return self.emit.builder().sub(first, distance);
        }
        let last = self.checked("llvm.uadd.with.overflow", first, distance);
        if value.bits() < 64 {
            let most = self.emit.number(64, u64::MAX >> (64 - value.bits()));
            self.compare(IntPredicate::ULE, last, most);
        }
        last
    }

    /// Arithmetic that must not overflow.
    pub(crate) fn checked(&mut self, intrinsic: &str, a: Value<'m>, b: Value<'m>) -> Value<'m> {
        let both = self.emit.intrinsic(intrinsic, a, b);
        let overflows = self.emit.builder().extract_value(both, 1);
        self.not(overflows);
        self.emit.builder().extract_value(both, 0)
    }

    /// Adds what makes a fact hold in all iterations up to `iteration`.
    pub(crate) fn fact(&mut self, fact: &Fact<'m>, iteration: Value<'m>) {
        let (predicate, a, b) = match fact {
            Fact::Condition(condition, wanted) => {
                let condition = self.emit.condition(*condition);
                if *wanted {
                    self.and(condition)
                } else {
                    self.not(condition)
                };
                return;
            }
            Fact::Compare(predicate, a, b) => (*predicate, a, b),
        };
        for inner in a.no_wrap.iter().chain(&b.no_wrap) {
            self.last(inner, iteration);
        }
        if a.is_fixed() && b.is_fixed() {
            let (a, b) = (self.emit.value(&a.base), self.emit.value(&b.base));
            return self.compare(predicate, a, b);
        }
        let (a_last, b_last) = (self.last(a, iteration), self.last(b, iteration));
        let (a_first, b_first) = (self.emit.wide(&a.base), self.emit.wide(&b.base));
        if a.step == b.step {
            // Both go on by the same amount, so they compare as they did first.
            return self.compare(predicate, a_first, b_first);
        }
        // The worst that each can be.
        let least = |value: &AddRec, first, last| match value.step {
            Step::Down(_) => last,
            _ => first,
        };
        let most = |value: &AddRec, first, last| match value.step {
            Step::Up(_) => last,
            _ => first,
        };
        let (a, b) = match predicate {
            IntPredicate::ULT | IntPredicate::ULE => {
                (most(a, a_first, a_last), least(b, b_first, b_last))
            }
            _ => (least(a, a_first, a_last), most(b, b_first, b_last)),
        };
        self.compare(predicate, a, b);
    }
}
