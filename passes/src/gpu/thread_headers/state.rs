//! What is known of values on an edge.

use std::collections::HashMap;

use schism_llvm::{Block, IntPredicate, Opcode, TypeKind, Value};

use crate::analysis::trip_count::opposite;
use crate::ir::cfg::Cfg;

/// How far branches before an edge are looked at.
const FAR: usize = 16;

/// A value: a constant, or a constant distance from what another value was when the edge began.
/// Distances are in bytes for pointers, and modulo 2^64 or the integer's range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Linear<'m> {
    base: Option<Value<'m>>,
    distance: u64,
}

impl<'m> Linear<'m> {
    const fn constant(distance: u64) -> Self {
        Linear { base: None, distance }
    }
}

/// A comparison, and whether it holds.
struct Fact<'m> {
    predicate: IntPredicate,
    sides: [Linear<'m>; 2],
    holds: bool,
}

/// What is known on an edge, and on the way that the edge leads.
pub(super) struct State<'m> {
    /// The values of the blocks on the way; `None` for those of which nothing is known. A value
    /// that is not here is what it was when the edge began.
    values: HashMap<Value<'m>, Option<Linear<'m>>>,
    /// What the branches before the edge have decided.
    facts: Vec<Fact<'m>>,
}

impl<'m> State<'m> {
    /// At the edge between two blocks.
    pub fn in_front_of(cfg: &Cfg<'m>, from: usize, to: usize) -> Self {
        let mut state = State { values: HashMap::new(), facts: Vec::new() };
        let (mut at, mut next) = (from, to);
        for _ in 0..FAR {
            if let &[yes, no] = &cfg.successors[at][..]
                && yes != no
                && cfg.blocks[at].end().opcode() == Some(Opcode::Br)
            {
                state.learn(cfg.blocks[at].end().condition(), next == yes);
            }
            let &[before] = &cfg.predecessors[at][..] else { break };
            (at, next) = (before, at);
        }
        state
    }

    /// Notes what follows from a condition.
    fn learn(&mut self, condition: Value<'m>, holds: bool) {
        let operand = |index| condition.operand(index);
        match condition.opcode() {
            Some(Opcode::ICmp) => {
                let sides = [0, 1].map(|index| self.value(operand(index)));
                if let [Some(a), Some(b)] = sides {
                    let predicate = condition.icmp_predicate();
                    self.facts.push(Fact { predicate, sides: [a, b], holds });
                }
            }
            // All of an `and` that holds hold, and none of an `or` that does not.
            Some(opcode @ (Opcode::And | Opcode::Or)) if (opcode == Opcode::And) == holds => {
                self.learn(operand(0), holds);
                self.learn(operand(1), holds);
            }
            Some(Opcode::Select) => {
                let [first, yes, no] = [0, 1, 2].map(operand);
                let is_all = holds && no.as_unsigned() == Some(0);
                let is_none = !holds && yes.as_unsigned() == Some(1);
                if is_all || is_none {
                    self.learn(first, holds);
                    self.learn(if is_all { yes } else { no }, holds);
                }
            }
            Some(Opcode::Xor) if is_negation(condition) => self.learn(operand(0), !holds),
            _ => {}
        }
    }

    /// Goes through a block that is come to from another one.
    pub fn enter(&mut self, block: Block<'m>, from: Block<'m>) {
        let phis = block.phis();
        // All phis are what they are at the same time.
        let values: Vec<_> =
            phis.iter().map(|phi| phi.incoming(from).and_then(|value| self.value(value))).collect();
        self.values.extend(phis.into_iter().zip(values));
        for one in block.instructions().into_iter().filter(|one| one.opcode() != Some(Opcode::Phi))
        {
            let value = self.computed(one);
            self.values.insert(one, value);
        }
    }

    /// Whether a condition holds, if that is decided.
    pub fn condition(&self, condition: Value<'m>) -> Option<bool> {
        match self.value(condition)? {
            Linear { base: None, distance } => Some(distance & 1 == 1),
            Linear { base: Some(_), .. } => None,
        }
    }

    /// What is known of a value.
    fn value(&self, value: Value<'m>) -> Option<Linear<'m>> {
        if let Some(known) = self.values.get(&value) {
            return *known;
        }
        if let Some(number) = value.as_unsigned() {
            return Some(Linear::constant(number));
        }
        if value.ty().kind() == TypeKind::Pointer && value.is_constant() && value.is_zero() {
            return Some(Linear::constant(0));
        }
        // The way has not come to it, so it is what it was, and so is what it was computed of.
        let itself = Linear { base: Some(value), distance: 0 };
        Some(match moved(value) {
            Some((base, distance)) => match self.value(base) {
                Some(from) if !self.values.contains_key(&base) => add(from, distance, value),
                _ => itself,
            },
            None => itself,
        })
    }

    /// What an instruction on the way computes.
    fn computed(&self, one: Value<'m>) -> Option<Linear<'m>> {
        let operand = |index| one.operand(index);
        if let Some((base, distance)) = moved(one) {
            return Some(add(self.value(base)?, distance, one));
        }
        let is_condition = one.ty().kind() == TypeKind::Integer && one.ty().int_width() == 1;
        let truth = |known: Option<bool>| known.map(|it| Linear::constant(u64::from(it)));
        match one.opcode()? {
            Opcode::ICmp => {
                let sides = [self.value(operand(0))?, self.value(operand(1))?];
                truth(self.compare(one, sides))
            }
            Opcode::Select => match self.condition_of(operand(0)) {
                Some(holds) => self.value(operand(if holds { 1 } else { 2 })),
                None if !is_condition => None,
                // `a || true`, `a && false`, whatever `a` is.
                None => {
                    let [yes, no] = [1, 2].map(|index| self.condition_of(operand(index)));
                    truth(yes.filter(|_| yes == no))
                }
            },
            Opcode::And | Opcode::Or if is_condition => {
                let all = one.opcode() == Some(Opcode::And);
                match [0, 1].map(|index| self.condition_of(operand(index))) {
                    [Some(a), Some(b)] => truth(Some(if all { a && b } else { a || b })),
                    [Some(a), None] | [None, Some(a)] if a != all => truth(Some(a)),
                    _ => None,
                }
            }
            Opcode::Xor if is_negation(one) => truth(self.condition(operand(0)).map(|it| !it)),
            Opcode::Freeze => self.value(operand(0)),
            Opcode::ZExt => self.value(operand(0)).filter(|it| it.base.is_none()),
            Opcode::Trunc => {
                let wide = self.value(operand(0)).filter(|it| it.base.is_none())?;
                Some(add(wide, 0, one))
            }
            _ => None,
        }
    }

    /// Whether a condition holds; `None` for those that are no integers, too.
    fn condition_of(&self, condition: Value<'m>) -> Option<bool> {
        if condition.ty().kind() == TypeKind::Integer { self.condition(condition) } else { None }
    }

    /// Whether a comparison holds.
    fn compare(&self, one: Value<'m>, [a, b]: [Linear<'m>; 2]) -> Option<bool> {
        let predicate = one.icmp_predicate();
        let is_equality = matches!(predicate, IntPredicate::EQ | IntPredicate::NE);
        if a.base == b.base && (is_equality || a == b) {
            return Some(holds(predicate, a.distance, b.distance));
        }
        if a.base.is_none() && b.base.is_none() && !is_signed(predicate) {
            return Some(holds(predicate, a.distance, b.distance));
        }
        for fact in &self.facts {
            let is_same = fact.sides == [a, b] || is_equality && fact.sides == [b, a];
            if is_same && fact.predicate == predicate {
                return Some(fact.holds);
            }
            if is_same && opposite(fact.predicate) == predicate {
                return Some(!fact.holds);
            }
        }
        None
    }
}

/// A value at a distance from another one, as an integer of a type if it is one.
fn add<'m>(from: Linear<'m>, distance: u64, value: Value<'m>) -> Linear<'m> {
    let ty = value.ty();
    let width = if ty.kind() == TypeKind::Integer { ty.int_width() } else { 64 };
    let mask = u64::MAX >> (64 - width.clamp(1, 64));
    Linear { base: from.base, distance: from.distance.wrapping_add(distance) & mask }
}

/// What a value is a constant distance from.
fn moved(value: Value<'_>) -> Option<(Value<'_>, u64)> {
    let ty = value.ty();
    match value.opcode()? {
        Opcode::Add if ty.kind() == TypeKind::Integer && ty.int_width() <= 64 => {
            Some((value.operand(0), value.operand(1).as_unsigned()?))
        }
        Opcode::GetElementPtr if ty.kind() == TypeKind::Pointer => {
            let (base, index, size) = value.element()?;
            let index = index.is_constant_int().then(|| index.sext_value())?;
            Some((base, (index as u64).wrapping_mul(size)))
        }
        _ => None,
    }
}

/// Whether a value is `xor x, true`.
fn is_negation(value: Value<'_>) -> bool {
    let ty = value.ty();
    ty.kind() == TypeKind::Integer
        && ty.int_width() == 1
        && value.operand(1).as_unsigned() == Some(1)
}

/// Whether a predicate holds of two numbers; for signed ones, if they are the same.
fn holds(predicate: IntPredicate, a: u64, b: u64) -> bool {
    match predicate {
        IntPredicate::EQ => a == b,
        IntPredicate::NE => a != b,
        IntPredicate::UGT | IntPredicate::SGT => a > b,
        IntPredicate::UGE | IntPredicate::SGE => a >= b,
        IntPredicate::ULT | IntPredicate::SLT => a < b,
        IntPredicate::ULE | IntPredicate::SLE => a <= b,
    }
}

const fn is_signed(predicate: IntPredicate) -> bool {
    use IntPredicate::{SGE, SGT, SLE, SLT};
    matches!(predicate, SGT | SGE | SLT | SLE)
}
