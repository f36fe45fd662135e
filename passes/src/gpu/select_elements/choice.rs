//! Which of a few constants a value is.

use schism_llvm::{Builder, IntPredicate, Opcode, Type, TypeKind, Value};

/// The most constants of a value.
const MOST: usize = 8;

/// So many operations are looked at between a value and its constants.
const DEPTH: u32 = 12;

/// One of several constants: a decision tree.
#[derive(Clone, Debug)]
pub(super) enum Choice<'m> {
    /// One constant.
    Known(u64),
    /// The one if a condition holds, otherwise the other.
    If(Value<'m>, Box<Choice<'m>>, Box<Choice<'m>>),
    /// The constant that belongs to a value; it is one of these. There is at least one.
    Case(Value<'m>, Vec<(Value<'m>, u64)>),
}

impl<'m> Choice<'m> {
    /// An integer that is computed from constants that are chosen. The constants have the bits of its type,
    /// and no others.
    pub(super) fn of(value: Value<'m>) -> Option<Self> {
        Self::of_nested(value, DEPTH)
    }

    fn of_nested(value: Value<'m>, depth: u32) -> Option<Self> {
        let depth = depth.checked_sub(1)?;
        let bits = width(value.ty())?;
        if let Some(known) = value.as_unsigned() {
            return Some(Self::Known(known));
        }
        let operand = |index| value.operand(index);
        let found = match value.opcode()? {
            Opcode::Select => {
                let [then, other] = [1, 2].map(|index| Self::of_nested(operand(index), depth));
                Self::chosen(operand(0), then?, other?)
            }
            Opcode::Phi => {
                let mut constants = Vec::new();
                for (incoming, _) in value.incoming_edges() {
                    constants.extend(Self::of_nested(incoming, depth)?.constants());
                }
                constants.sort_unstable();
                constants.dedup();
                Self::among(value, constants)?
            }
            cast @ (Opcode::ZExt | Opcode::SExt | Opcode::Trunc) => {
                let from = width(operand(0).ty())?;
                let inner = match Self::of_nested(operand(0), depth) {
                    Some(inner) => inner,
                    // Any condition is one of two constants.
                    None if from == 1 => Self::chosen(operand(0), Self::Known(1), Self::Known(0)),
                    None => return None,
                };
                let is_signed = cast == Opcode::SExt;
                inner.map(&|known| if is_signed { sign_extended(known, from) } else { known })
            }
            operation => {
                let apply = operation_of(operation)?;
                let [a, b] = [0, 1].map(|index| Self::of_nested(operand(index), depth));
                a?.combined(&b?, &apply)?
            }
        };
        let found = found.map(&|known| masked(known, bits));
        (found.constants().len() <= MOST).then_some(found)
    }

    /// What belongs to a value that is one of these; `None` if they are too many, or none.
    pub(super) fn among(value: Value<'m>, constants: Vec<u64>) -> Option<Self> {
        let ty = value.ty();
        let case = |known: u64| (ty.const_int(known, false), known);
        let is_few = (1..=MOST).contains(&constants.len());
        is_few.then(|| Self::Case(value, constants.into_iter().map(case).collect()))
    }

    /// One of two.
    pub(super) fn chosen(condition: Value<'m>, then: Self, other: Self) -> Self {
        Self::If(condition, Box::new(then), Box::new(other))
    }

    /// The constants, some of them perhaps twice.
    pub(super) fn constants(&self) -> Vec<u64> {
        match self {
            Self::Known(known) => vec![*known],
            Self::If(_, then, other) => [then.constants(), other.constants()].concat(),
            Self::Case(_, cases) => cases.iter().map(|(_, known)| *known).collect(),
        }
    }

    /// Other constants in the place of these.
    pub(super) fn map(&self, to: &dyn Fn(u64) -> u64) -> Self {
        match self {
            Self::Known(known) => Self::Known(to(*known)),
            Self::If(condition, then, other) => {
                Self::chosen(*condition, then.map(to), other.map(to))
            }
            Self::Case(value, cases) => {
                Self::Case(*value, cases.iter().map(|(case, known)| (*case, to(*known))).collect())
            }
        }
    }

    /// What two choices are together; `None` if both are cases of values.
    pub(super) fn combined(&self, other: &Self, apply: &dyn Fn(u64, u64) -> u64) -> Option<Self> {
        Some(match (self, other) {
            (Self::Known(known), _) => other.map(&|other| apply(*known, other)),
            (_, Self::Known(known)) => self.map(&|own| apply(own, *known)),
            (Self::If(condition, a, b), _) => {
                let [a, b] = [a, b].map(|own| own.combined(other, apply));
                Self::chosen(*condition, a?, b?)
            }
            (_, Self::If(condition, a, b)) => {
                let [a, b] = [a, b].map(|other| self.combined(other, apply));
                Self::chosen(*condition, a?, b?)
            }
            (Self::Case(..), Self::Case(..)) => return None,
        })
    }

    /// Selects what belongs to the constant.
    pub(super) fn select(
        &self,
        builder: &Builder<'m>,
        of: &mut dyn FnMut(u64) -> Value<'m>,
    ) -> Value<'m> {
        match self {
            Self::Known(known) => of(*known),
            Self::If(condition, then, other) => {
                let (then, other) = (then.select(builder, of), other.select(builder, of));
                if then == other { then } else { builder.select(*condition, then, other) }
            }
            Self::Case(value, cases) => {
                let mut result: Option<Value<'m>> = None;
                for (case, known) in cases.iter().rev() {
                    let one = of(*known);
                    result = Some(match result {
                        None => one,
                        Some(rest) if rest == one => rest,
                        Some(rest) => {
                            let is_it = builder.icmp(IntPredicate::EQ, *value, *case);
                            builder.select(is_it, one, rest)
                        }
                    });
                }
                result.unwrap_or(*value)
            }
        }
    }
}

/// The bits of an integer type of up to 64.
fn width(ty: Type<'_>) -> Option<u32> {
    (ty.kind() == TypeKind::Integer).then(|| ty.int_width()).filter(|bits| *bits <= 64)
}

/// The lowest bits of a number.
fn masked(number: u64, bits: u32) -> u64 {
    number & u64::MAX >> (64 - bits)
}

/// A number of that many bits as one of 64.
pub(super) fn sign_extended(number: u64, bits: u32) -> u64 {
    let unused = 64 - bits;
    ((number << unused).cast_signed() >> unused).cast_unsigned()
}

/// What an operation makes of two integers; only the bits of their type count.
fn operation_of(opcode: Opcode) -> Option<fn(u64, u64) -> u64> {
    Some(match opcode {
        Opcode::Add => u64::wrapping_add,
        Opcode::Sub => u64::wrapping_sub,
        Opcode::Mul => u64::wrapping_mul,
        Opcode::And => |a, b| a & b,
        Opcode::Or => |a, b| a | b,
        Opcode::Xor => |a, b| a ^ b,
        Opcode::Shl => |a, b| a.checked_shl(b as u32).unwrap_or(0),
        Opcode::LShr => |a, b| a.checked_shr(b as u32).unwrap_or(0),
        _ => return None,
    })
}
