//! What statements with `atomic` do to an element of an array.

use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{
    AtomicI8, AtomicI16, AtomicI32, AtomicI64, AtomicIsize, AtomicU8, AtomicU16, AtomicU32,
    AtomicU64, AtomicUsize,
};

use crate::kernel::atomic::{AtomicF32, AtomicF64};

/// An element before and after a change.
#[derive(Clone, Copy, Debug)]
pub struct Changed<T> {
    /// Before it.
    pub before: T,
    /// After it.
    pub after: T,
}

/// An atomic whose value has type `Value`. Each method changes it in one step, and tells what it was and
/// is. Operations of integers wrap.
pub trait AtomicPlace {
    /// What it is without the atomic.
    type Value: Copy;

    /// What it is.
    fn __atomic_read(&self) -> Self::Value;

    /// `h[i] = value`
    fn __atomic_swap(&self, value: Self::Value) -> Changed<Self::Value>;

    /// `h[i] += value`
    fn __atomic_add(&self, value: Self::Value) -> Changed<Self::Value>;

    /// `h[i] -= value`
    fn __atomic_sub(&self, value: Self::Value) -> Changed<Self::Value>;

    /// `h[i] *= value`
    fn __atomic_mul(&self, value: Self::Value) -> Changed<Self::Value>;

    /// `h[i] /= value`
    fn __atomic_div(&self, value: Self::Value) -> Changed<Self::Value>;

    /// `h[i] %= value`
    fn __atomic_rem(&self, value: Self::Value) -> Changed<Self::Value>;

    /// The larger of both.
    fn __atomic_max(&self, value: Self::Value) -> Changed<Self::Value>;

    /// The smaller of both.
    fn __atomic_min(&self, value: Self::Value) -> Changed<Self::Value>;
}

/// Those of integers, which have bits.
pub trait AtomicBits: AtomicPlace {
    /// `h[i] &= value`
    fn __atomic_and(&self, value: Self::Value) -> Changed<Self::Value>;

    /// `h[i] |= value`
    fn __atomic_or(&self, value: Self::Value) -> Changed<Self::Value>;

    /// `h[i] ^= value`
    fn __atomic_xor(&self, value: Self::Value) -> Changed<Self::Value>;

    /// `h[i] <<= value`
    fn __atomic_shl(&self, value: Self::Value) -> Changed<Self::Value>;

    /// `h[i] >>= value`
    fn __atomic_shr(&self, value: Self::Value) -> Changed<Self::Value>;
}

/// Changes an atomic by what makes a new value of the old one.
macro_rules! changed {
    ($atomic:expr, $change:expr) => {{
        let change = $change;
        let mut before = $atomic.load(Relaxed);
        loop {
            let after = change(before);
            match $atomic.compare_exchange(before, after, Relaxed, Relaxed) {
                Ok(_) => break Changed { before, after },
                Err(found) => before = found,
            }
        }
    }};
}

/// What integers and floats have in common.
macro_rules! of_both {
    ($value:ty) => {
        type Value = $value;

        #[inline(always)]
        fn __atomic_read(&self) -> $value {
            self.load(Relaxed)
        }

        #[inline(always)]
        fn __atomic_swap(&self, value: $value) -> Changed<$value> {
            Changed { before: self.swap(value, Relaxed), after: value }
        }

        #[inline(always)]
        #[track_caller]
        fn __atomic_div(&self, value: $value) -> Changed<$value> {
            changed!(self, |before: $value| before / value)
        }

        #[inline(always)]
        #[track_caller]
        fn __atomic_rem(&self, value: $value) -> Changed<$value> {
            changed!(self, |before: $value| before % value)
        }
    };
}

macro_rules! integers {
    ($($atomic:ty: $value:ty;)*) => {$(
        impl AtomicPlace for $atomic {
            of_both!($value);

            #[inline(always)]
            fn __atomic_add(&self, value: $value) -> Changed<$value> {
                let before = self.fetch_add(value, Relaxed);
                Changed { before, after: before.wrapping_add(value) }
            }

            #[inline(always)]
            fn __atomic_sub(&self, value: $value) -> Changed<$value> {
                let before = self.fetch_sub(value, Relaxed);
                Changed { before, after: before.wrapping_sub(value) }
            }

            #[inline(always)]
            fn __atomic_mul(&self, value: $value) -> Changed<$value> {
                changed!(self, |before: $value| before.wrapping_mul(value))
            }

            #[inline(always)]
            fn __atomic_max(&self, value: $value) -> Changed<$value> {
                let before = self.fetch_max(value, Relaxed);
                Changed { before, after: before.max(value) }
            }

            #[inline(always)]
            fn __atomic_min(&self, value: $value) -> Changed<$value> {
                let before = self.fetch_min(value, Relaxed);
                Changed { before, after: before.min(value) }
            }
        }

        impl AtomicBits for $atomic {
            #[inline(always)]
            fn __atomic_and(&self, value: $value) -> Changed<$value> {
                let before = self.fetch_and(value, Relaxed);
                Changed { before, after: before & value }
            }

            #[inline(always)]
            fn __atomic_or(&self, value: $value) -> Changed<$value> {
                let before = self.fetch_or(value, Relaxed);
                Changed { before, after: before | value }
            }

            #[inline(always)]
            fn __atomic_xor(&self, value: $value) -> Changed<$value> {
                let before = self.fetch_xor(value, Relaxed);
                Changed { before, after: before ^ value }
            }

            #[inline(always)]
            fn __atomic_shl(&self, value: $value) -> Changed<$value> {
                changed!(self, |before: $value| before.wrapping_shl(value as u32))
            }

            #[inline(always)]
            fn __atomic_shr(&self, value: $value) -> Changed<$value> {
                changed!(self, |before: $value| before.wrapping_shr(value as u32))
            }
        }
    )*};
}

integers! {
    AtomicI8: i8;
    AtomicI16: i16;
    AtomicI32: i32;
    AtomicI64: i64;
    AtomicIsize: isize;
    AtomicU8: u8;
    AtomicU16: u16;
    AtomicU32: u32;
    AtomicU64: u64;
    AtomicUsize: usize;
}

macro_rules! floats {
    ($($atomic:ty: $value:ty;)*) => {$(
        impl AtomicPlace for $atomic {
            of_both!($value);

            #[inline(always)]
            fn __atomic_add(&self, value: $value) -> Changed<$value> {
                let before = self.fetch_add(value, Relaxed);
                Changed { before, after: before + value }
            }

            #[inline(always)]
            fn __atomic_sub(&self, value: $value) -> Changed<$value> {
                let before = self.fetch_add(-value, Relaxed);
                Changed { before, after: before - value }
            }

            #[inline(always)]
            fn __atomic_mul(&self, value: $value) -> Changed<$value> {
                changed!(self, |before: $value| before * value)
            }

            #[inline(always)]
            fn __atomic_max(&self, value: $value) -> Changed<$value> {
                changed!(self, |before: $value| before.max(value))
            }

            #[inline(always)]
            fn __atomic_min(&self, value: $value) -> Changed<$value> {
                changed!(self, |before: $value| before.min(value))
            }
        }
    )*};
}

floats! {
    AtomicF32: f32;
    AtomicF64: f64;
}
