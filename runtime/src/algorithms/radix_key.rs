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

    /// A digit, less than 256, from the least significant one. The order of keys is that of their
    /// digits.
    #[doc(hidden)]
    fn digit(self, pass: usize) -> usize;

    /// The order.
    #[doc(hidden)]
    fn order(a: &Self, b: &Self) -> std::cmp::Ordering;
}

macro_rules! keys {
    ($($key:ident $order:ident $bits:ident: |$own:ident| $ordered:expr;)*) => {$(
        impl sealed::Sealed for $key {}
        impl RadixKey for $key {
            const PASSES: usize = size_of::<$key>();

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
    u8 cmp u8: |own| own;
    u16 cmp u16: |own| own;
    u32 cmp u32: |own| own;
    u64 cmp u64: |own| own;
    usize cmp usize: |own| own;
    i8 cmp u8: |own| own as u8 ^ 1 << 7;
    i16 cmp u16: |own| own as u16 ^ 1 << 15;
    i32 cmp u32: |own| own as u32 ^ 1 << 31;
    i64 cmp u64: |own| own as u64 ^ 1 << 63;
    isize cmp usize: |own| own as usize ^ 1 << (usize::BITS - 1);
    // Larger magnitudes of negative numbers come first.
    f32 total_cmp u32: |own| {
        let bits = own.to_bits();
        bits ^ ((bits as i32 >> 31) as u32 | 1 << 31)
    };
    f64 total_cmp u64: |own| {
        let bits = own.to_bits();
        bits ^ ((bits as i64 >> 63) as u64 | 1 << 63)
    };
}
