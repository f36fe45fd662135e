//! Tests for any lane that leaves the work-item loop, where the last lane tells it.
//!
//! Numbers that count up from lane to lane are compared with one that is the same for all:
//! ```llvm
//!   %inside = icmp ult i64 %place, %len
//!   %also = icmp ult i64 %place.2, %len
//!   %both = select i1 %inside, i1 %also, i1 false
//!   br i1 %both, label %go, label %bad
//! ```
//! All are below it if the last one is, and none wraps:
//! ```llvm
//!   %last = add i64 %place, 15
//!   %beyond = icmp uge i64 %last, %len
//!   %wraps = icmp ult i64 %last, %place
//!   %fails = or i1 %beyond, %wraps
//!   …
//! ```

use schism_llvm::{IntPredicate, Opcode, TypeKind, Value};

use super::Emit;
use crate::vectorize::shape::Shape;

/// How deep in a condition comparisons are looked for.
const PARTS: usize = 32;

impl<'m> Emit<'_, 'm> {
    /// Whether any lane takes an edge out of the loop, if the last lane tells it.
    pub(super) fn last_fails(&mut self, block: usize, exit: usize) -> Option<Value<'m>> {
        let end = self.region.cfg.blocks[block].end();
        let all = self.mask == self.items;
        if !all || !end.is_conditional() || end.successor(0) == end.successor(1) {
            return None;
        }
        let leaves_if = end.successor(0) == self.region.cfg.blocks[exit];
        let condition = end.condition();
        self.is_of_last(condition, leaves_if, PARTS).then(|| self.any_is(condition, leaves_if))
    }

    /// Whether the last lane tells if a condition is so, or not so, in any lane.
    fn is_of_last(&self, condition: Value<'m>, is: bool, depth: usize) -> bool {
        if self.shape(condition) == Shape::Uniform {
            return true;
        }
        let Some(depth) = depth.checked_sub(1) else { return false };
        if condition.opcode() == Some(Opcode::ICmp) {
            let (number, limit) = (condition.operand(0), condition.operand(1));
            let beyond = if is { IntPredicate::UGE } else { IntPredicate::ULT };
            return condition.icmp_predicate() == beyond
                && number.ty().kind() == TypeKind::Integer
                && self.shape(number) == Shape::Strided(1)
                && self.shape(limit) == Shape::Uniform;
        }
        parts_of(condition, is)
            .is_some_and(|parts| parts.into_iter().all(|part| self.is_of_last(part, is, depth)))
    }

    /// Whether a condition is so, or not so, in any lane, of which [`is_of_last`](Self::is_of_last) holds.
    fn any_is(&mut self, condition: Value<'m>, is: bool) -> Value<'m> {
        let bit = condition.ty().const_int(1, false);
        if self.shape(condition) == Shape::Uniform {
            let value = self.scalar(condition);
            return if is { value } else { self.builder.binary(Opcode::Xor, value, bit) };
        }
        let Some([a, b]) = parts_of(condition, is) else {
            return self.any_beyond(condition.operand(0), condition.operand(1));
        };
        let (a, b) = (self.any_is(a, is), self.any_is(b, is));
        // Of the second one nothing is known where the first one decides.
        self.builder.select(a, bit, b)
    }

    /// Whether any lane's number is not below a limit, of numbers that count up.
    fn any_beyond(&mut self, number: Value<'m>, limit: Value<'m>) -> Value<'m> {
        let (first, limit) = (self.scalar(number), self.scalar(limit));
        let others = match self.last_lane {
            Some(last) => self.builder.int_cast(last, first.ty(), false),
            None => first.ty().const_int(u64::from(self.lanes) - 1, false),
        };
        let last = self.builder.add(first, others);
        let fails = self.builder.icmp(IntPredicate::UGE, last, limit);
        // Before the place where it wraps, a lane has the largest number of all.
        let wraps = self.builder.icmp(IntPredicate::ULT, last, first);
        self.builder.or(fails, wraps)
    }
}

/// The two conditions of which one has to be so, or not so, for a condition to be.
fn parts_of<'m>(condition: Value<'m>, is: bool) -> Option<[Value<'m>; 2]> {
    let operand = |at| condition.operand(at);
    let is_constant = |at: u32, number| operand(at).as_unsigned() == Some(number);
    match condition.opcode()? {
        Opcode::And if !is => Some([operand(0), operand(1)]),
        Opcode::Or if is => Some([operand(0), operand(1)]),
        Opcode::Select if !is && is_constant(2, 0) => Some([operand(0), operand(1)]),
        Opcode::Select if is && is_constant(1, 1) => Some([operand(0), operand(2)]),
        _ => None,
    }
}
