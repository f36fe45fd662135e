//! Reductions of a loop: values that go from one iteration to the next through operations of one kind, whose
//! order does not matter.
//! ```llvm
//! loop:
//!   %sum = phi i64 [ %start, %before ], [ %sum.next, %loop ]
//!   …
//!   %more = add i64 %sum, %element
//!   %sum.next = select i1 %counts, i64 %more, i64 %sum
//! ```
//! Nothing else in the loop uses `%sum`, `%more` and `%sum.next`. So each lane of a group can reduce its own
//! iterations, and what the lanes have is joined after the loop.
//!
//! These are operations of integers, and the lesser and the greater of floating-point numbers, of which Rust
//! leaves open which zero it is. Sums of floating-point numbers depend on their order.

use std::collections::HashSet;

use schism_llvm::{Builder, Opcode, TypeKind, Value};

use super::team::Team;
use crate::ir::cfg::{Cfg, Loop};
use crate::ir::clone::insert_copy;

/// The intrinsics that choose one of two numbers.
const CHOICES: [&str; 10] = [
    "smax.",
    "smin.",
    "umax.",
    "umin.",
    "maxnum.",
    "minnum.",
    "maximum.",
    "minimum.",
    "maximumnum.",
    "minimumnum.",
];

/// A value that goes from one iteration to the next.
pub(super) struct Reduction<'m> {
    /// The header's phi, and what the latch gives it.
    pub(super) phi: Value<'m>,
    pub(super) last: Value<'m>,
    kind: Kind,
    /// The operations in between.
    operations: Vec<Value<'m>>,
}

/// What the operations of a reduction are.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Sums and differences.
    Sum,
    Product,
    Xor,
    And,
    Or,
    /// One of [`CHOICES`].
    Choice(usize),
}

impl Kind {
    /// The kind of an operation on a value, which is its other operand, too, where order does not matter.
    fn of(operation: Value<'_>, value: Value<'_>) -> Option<Self> {
        let kind = match operation.opcode()? {
            Opcode::Add => Self::Sum,
            Opcode::Sub if operation.operand(0) == value => Self::Sum,
            Opcode::Mul => Self::Product,
            Opcode::Xor => Self::Xor,
            Opcode::And => Self::And,
            Opcode::Or => Self::Or,
            Opcode::Call => {
                Self::Choice(CHOICES.iter().position(|name| operation.calls_intrinsic(&[name]))?)
            }
            _ => return None,
        };
        // Not both, of which one is not known to be the same for all lanes.
        let is_one = (operation.operand(0) == value) != (operation.operand(1) == value);
        is_one.then_some(kind)
    }

    /// What an operation of the kind leaves the other operand with; `None` if any value may be taken twice.
    fn identity(self) -> Option<u64> {
        match self {
            Self::Sum | Self::Xor => Some(0),
            Self::Product => Some(1),
            Self::And | Self::Or | Self::Choice(_) => None,
        }
    }
}

impl<'m> Reduction<'m> {
    /// The reduction that a phi of a loop's header is.
    pub(super) fn of(cfg: &Cfg<'m>, of: &Loop, phi: Value<'m>) -> Option<Self> {
        let is_number = match phi.ty().kind() {
            TypeKind::Integer => phi.ty().int_width() <= 64,
            kind => matches!(kind, TypeKind::Float | TypeKind::Double),
        };
        let last = phi.incoming(cfg.blocks[of.latch]).filter(|_| is_number)?;
        let (mut values, mut open) = (HashSet::from([phi]), vec![phi]);
        let (mut kinds, mut operations) = (Vec::new(), Vec::new());
        while let Some(value) = open.pop() {
            for user in value.users().into_iter().filter(|user| *user != phi) {
                if !of.blocks.contains(&cfg.block_of(user)) {
                    // What another iteration has is not seen outside.
                    if value != last {
                        return None;
                    }
                    continue;
                }
                match user.opcode()? {
                    Opcode::Phi if cfg.block_of(user) != of.header => {}
                    Opcode::Select if user.operand(0) != value => {}
                    _ => {
                        kinds.push(Kind::of(user, value)?);
                        operations.push(user);
                    }
                }
                if values.insert(user) {
                    open.push(user);
                }
            }
        }
        // Each is made of one before it.
        let is_of_them = |value: Value<'m>| values.contains(&value);
        let is_step = |one: &Value<'m>| match one.opcode() {
            Some(Opcode::Phi) => *one == phi || one.operands().all(is_of_them),
            Some(Opcode::Select) => is_of_them(one.operand(1)) && is_of_them(one.operand(2)),
            _ => is_of_them(one.operand(0)) != is_of_them(one.operand(1)),
        };
        let (&kind, others) = kinds.split_first()?;
        let is_reduction = others.iter().all(|other| *other == kind)
            && is_of_them(last)
            && values.iter().all(is_step);
        is_reduction.then_some(Self { phi, last, kind, operations })
    }

    /// Whether something after the loop uses the result.
    pub(super) fn is_used_after(&self, cfg: &Cfg<'m>, of: &Loop) -> bool {
        self.last.users().into_iter().any(|user| !of.blocks.contains(&cfg.block_of(user)))
    }

    /// What a lane's own reduction begins with.
    pub(super) fn start(
        &self,
        builder: &Builder<'m>,
        start: Value<'m>,
        team: Team<'m>,
    ) -> Value<'m> {
        let Some(identity) = self.kind.identity() else { return start };
        builder.select(team.is_first(builder), start, start.ty().const_int(identity, false))
    }

    /// Has the operations promise nothing of what they compute: they compute something else in another order.
    pub(super) fn drop_promises(&self) {
        self.operations.iter().for_each(|one| one.drop_promises());
    }

    /// Joins what two lanes have.
    pub(super) fn join(
        &self,
        builder: &Builder<'m>,
        left: Value<'m>,
        right: Value<'m>,
    ) -> Value<'m> {
        match self.kind {
            Kind::Sum => builder.add(left, right),
            _ => insert_copy(builder, self.operations[0], &[left, right]),
        }
    }
}
