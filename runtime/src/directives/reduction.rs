//! Operators of reductions.

use crate::kernel::element::Element;

/// `+`
#[derive(Debug)]
pub enum Sum {}
/// `*`
#[derive(Debug)]
pub enum Product {}
/// `max`
#[derive(Debug)]
pub enum Max {}
/// `min`
#[derive(Debug)]
pub enum Min {}
/// `&`
#[derive(Debug)]
pub enum BitAnd {}
/// `|`
#[derive(Debug)]
pub enum BitOr {}
/// `^`
#[derive(Debug)]
pub enum BitXor {}
/// `&&`
#[derive(Debug)]
pub enum And {}
/// `||`
#[derive(Debug)]
pub enum Or {}

/// Values that `O` combines.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no reduction by `{O}`",
    note = "integers have `+ * max min & | ^`, floats `+ * max min`, `bool` `& | ^ && ||`"
)]
pub trait Reduce<O>: Element {
    /// Changes nothing that it is combined with.
    const IDENTITY: Self;

    fn combine(self, other: Self) -> Self;
}

macro_rules! integers {
    ($($type:ty)*) => {$(
        reduce! { $type;
            Sum: 0, Self::wrapping_add;
            Product: 1, Self::wrapping_mul;
            Max: Self::MIN, Ord::max;
            Min: Self::MAX, Ord::min;
            BitAnd: !0, std::ops::BitAnd::bitand;
            BitOr: 0, std::ops::BitOr::bitor;
            BitXor: 0, std::ops::BitXor::bitxor;
        }
    )*};
}

macro_rules! reduce {
    ($type:ty; $($operator:ty: $identity:expr, $combine:expr;)*) => {$(
        impl Reduce<$operator> for $type {
            const IDENTITY: Self = $identity;

            fn combine(self, other: Self) -> Self {
                $combine(self, other)
            }
        }
    )*};
}

macro_rules! floats {
    ($($type:ty)*) => {$(
        reduce! { $type;
            // Zero itself would change -0.0.
            Sum: -0.0, std::ops::Add::add;
            Product: 1.0, std::ops::Mul::mul;
            Max: Self::NEG_INFINITY, Self::max;
            Min: Self::INFINITY, Self::min;
        }
    )*};
}

integers!(u8 u16 u32 u64 u128 usize i8 i16 i32 i64 i128 isize);
floats!(f32 f64);
reduce! { bool;
    BitAnd: true, std::ops::BitAnd::bitand;
    BitOr: false, std::ops::BitOr::bitor;
    BitXor: false, std::ops::BitXor::bitxor;
    And: true, std::ops::BitAnd::bitand;
    Or: false, std::ops::BitOr::bitor;
}
