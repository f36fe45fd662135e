//! The digits of numbers, for radix sorts.

use crate::kernel::element::Element;

/// The values of a digit: 8 bits.
pub(super) const DIGITS: usize = 256;

mod sealed {
    pub trait Sealed {}
}

/// Numbers that [`radix_sort`](super::radix_sort) sorts: integers of up to 64 bits, by value, and floats, by
/// [`total_cmp`](f64::total_cmp).
pub trait RadixKey: Element + sealed::Sealed {
    /// The digits of a key.
    #[doc(hidden)]
    const PASSES: usize;

    /// A key that no other one comes after.
    #[doc(hidden)]
    const LAST: Self;

    /// A digit, less than 256, from the least significant one. The order of keys is that of their
    /// digits.
    #[doc(hidden)]
    fn digit(self, pass: usize) -> usize;

    /// The order.
    #[doc(hidden)]
    fn order(a: &Self, b: &Self) -> std::cmp::Ordering;
}

macro_rules! keys {
    ($($key:ident $order:ident $bits:ident $last:expr, |$own:ident| $ordered:expr;)*) => {$(
        impl sealed::Sealed for $key {}
        impl RadixKey for $key {
            const PASSES: usize = size_of::<$key>();
            const LAST: Self = $last;

            #[inline(always)]
            fn digit(self, pass: usize) -> usize {
                let $own = self;
                let ordered: $bits = $ordered;
                (ordered.wrapping_shr(8 * pass as u32) & 0xff) as usize
            }

            #[inline(always)]
            fn order(a: &Self, b: &Self) -> std::cmp::Ordering {
                a.$order(b)
            }
        }
    )*};
}
keys! {
    u8 cmp u8 Self::MAX, |own| own;
    u16 cmp u16 Self::MAX, |own| own;
    u32 cmp u32 Self::MAX, |own| own;
    u64 cmp u64 Self::MAX, |own| own;
    usize cmp usize Self::MAX, |own| own;
    i8 cmp u8 Self::MAX, |own| own as u8 ^ 1 << 7;
    i16 cmp u16 Self::MAX, |own| own as u16 ^ 1 << 15;
    i32 cmp u32 Self::MAX, |own| own as u32 ^ 1 << 31;
    i64 cmp u64 Self::MAX, |own| own as u64 ^ 1 << 63;
    isize cmp usize Self::MAX, |own| own as usize ^ 1 << (usize::BITS - 1);
    // Larger magnitudes of negative numbers come first.
    f32 total_cmp u32 Self::from_bits(u32::MAX >> 1), |own| {
        let bits = own.to_bits();
        bits ^ ((bits as i32 >> 31) as u32 | 1 << 31)
    };
    f64 total_cmp u64 Self::from_bits(u64::MAX >> 1), |own| {
        let bits = own.to_bits();
        bits ^ ((bits as i64 >> 63) as u64 | 1 << 63)
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check<K: RadixKey>() {
        for pass in 0..K::PASSES {
            assert_eq!(K::LAST.digit(pass), DIGITS - 1);
        }
    }

    #[test]
    fn the_last_key_has_the_last_digits() {
        check::<u8>();
        check::<i16>();
        check::<u32>();
        check::<i64>();
        check::<f32>();
        check::<f64>();
        check::<isize>();
    }
}
