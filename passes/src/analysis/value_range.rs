//! The least and the largest number that a value of 64 bits can be.

use schism_llvm::{Opcode, TypeKind, Value};

/// 2^31 and 2^32.
pub(crate) const HALF: i128 = 1 << 31;
pub(crate) const FULL: i128 = 1 << 32;

/// How deep sums, products and minima are looked into.
const DEPTH: usize = 6;

/// The least and the largest number that a value can be, as one with a sign.
pub(crate) type Range = (i128, i128);

/// What a number of 64 bits can be at most, if that is known.
pub(crate) fn range(value: Value<'_>) -> Option<Range> {
    range_to(value, DEPTH)
}

fn range_to(value: Value<'_>, depth: usize) -> Option<Range> {
    if value.is_constant_int() {
        let number = i128::from(value.sext_value());
        return Some((number, number));
    }
    let depth = depth.checked_sub(1)?;
    let of = |index| range_to(value.operand(index), depth);
    // Each part is below 2^62, so a sum did not wrap, and a product that is below 2^62 did not.
    let small = |(low, high): Range| (low > -(1 << 62) && high < 1 << 62).then_some((low, high));
    match value.opcode()? {
        Opcode::ZExt => {
            let width = value.operand(0).ty().int_width();
            let width = if value.is_nneg() { width - 1 } else { width };
            (width <= 32).then(|| (0, (1 << width) - 1))
        }
        Opcode::SExt => {
            let half = 1 << (value.operand(0).ty().int_width() - 1);
            (half <= HALF).then_some((-half, half - 1))
        }
        Opcode::Add => {
            let (a, b) = (of(0)?, of(1)?);
            small((a.0 + b.0, a.1 + b.1))
        }
        Opcode::Sub => {
            let (a, b) = (of(0)?, of(1)?);
            small((a.0 - b.1, a.1 - b.0))
        }
        Opcode::Mul => {
            let (a, b) = (of(0)?, of(1)?);
            if a.0 < 0 || b.0 < 0 { None } else { small((a.0 * b.0, a.1 * b.1)) }
        }
        Opcode::Select => {
            let (a, b) = (of(1)?, of(2)?);
            Some((a.0.min(b.0), a.1.max(b.1)))
        }
        Opcode::Call => Clamp::of(value)?.range(of(0)?, of(1)?),
        _ => None,
    }
}

/// Whether a value is an integer of 64 bits.
pub(crate) fn is_long(value: Value<'_>) -> bool {
    let ty = value.ty();
    ty.kind() == TypeKind::Integer && ty.int_width() == 64
}

/// A function of LLVM's that makes one number of two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Clamp {
    Umin,
    Umax,
    Smin,
    Smax,
    UsubSat,
}

impl Clamp {
    /// The function that a call is of.
    pub(crate) fn of(call: Value<'_>) -> Option<Self> {
        let name = call.callee()?.name();
        Some(match name.as_str() {
            "llvm.umin.i64" => Self::Umin,
            "llvm.umax.i64" => Self::Umax,
            "llvm.smin.i64" => Self::Smin,
            "llvm.smax.i64" => Self::Smax,
            "llvm.usub.sat.i64" => Self::UsubSat,
            _ => return None,
        })
    }

    /// Its name for all types.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Umin => "llvm.umin",
            Self::Umax => "llvm.umax",
            Self::Smin => "llvm.smin",
            Self::Smax => "llvm.smax",
            Self::UsubSat => "llvm.usub.sat",
        }
    }

    /// What it can give for such numbers. A negative one is very large without a sign.
    pub(crate) fn range(self, a: Range, b: Range) -> Option<Range> {
        let (least, most) = ((a.0.min(b.0), a.0.max(b.0)), (a.1.min(b.1), a.1.max(b.1)));
        match (self, a.0 >= 0, b.0 >= 0) {
            (Self::Umin, true, true) | (Self::Smin, ..) => Some((least.0, most.0)),
            (Self::Umin, true, false) => Some((0, a.1)),
            (Self::Umin, false, true) => Some((0, b.1)),
            (Self::Umin, false, false) => Some((least.0, most.1)),
            (Self::Umax, true, true) | (Self::Smax, ..) => Some((least.1, most.1)),
            (Self::UsubSat, true, _) => Some((0, a.1)),
            _ => None,
        }
    }
}
