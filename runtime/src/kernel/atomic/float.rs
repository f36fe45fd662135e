//! Atomic floats.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

macro_rules! floats {
    ($($atomic:ident $number:ident $bits:ident $add:ident;)*) => {$(
        #[doc = concat!("An `", stringify!($number), "` that several work-items may change at a time.")]
        ///
        /// ```
        /// # fn main() -> Result<(), schism::Error> {
        /// use std::sync::atomic::Ordering::Relaxed;
        ///
        /// use schism::prelude::*;
        ///
        /// let queue = Queue::new()?;
        #[doc = concat!("let numbers = Buffer::filled(&queue, 1000, 0.25_", stringify!($number), ")?;")]
        #[doc = concat!("let mut sum = Buffer::filled(&queue, 1, 0.0_", stringify!($number), ")?;")]
        /// let all = sum.atomic_view();
        /// queue.for_each(&numbers, move |number| {
        ///     all[0].fetch_add(*number, Relaxed);
        /// })?;
        /// assert_eq!(sum.to_vec(), [250.0]);
        /// # Ok(())
        /// # }
        /// ```
        #[derive(Debug, Default)]
        #[repr(transparent)]
        pub struct $atomic($bits);

        impl $atomic {
            /// Creates an atomic with a value.
            #[inline(always)]
            #[must_use]
            pub const fn new(value: $number) -> Self {
                Self($bits::new(value.to_bits()))
            }

            /// The value; this consumes the atomic.
            #[inline(always)]
            #[must_use]
            pub const fn into_inner(self) -> $number {
                $number::from_bits(self.0.into_inner())
            }

            /// Loads the value.
            ///
            /// # Panics
            /// If the order is [`Ordering::Release`] or [`Ordering::AcqRel`].
            #[inline(always)]
            #[must_use]
            #[track_caller]
            pub fn load(&self, order: Ordering) -> $number {
                $number::from_bits(self.0.load(order))
            }

            /// Stores the value.
            ///
            /// # Panics
            /// If the order is [`Ordering::Acquire`] or [`Ordering::AcqRel`].
            #[inline(always)]
            #[track_caller]
            pub fn store(&self, value: $number, order: Ordering) {
                self.0.store(value.to_bits(), order);
            }

            /// Stores the value. Returns the previous one.
            #[inline(always)]
            pub fn swap(&self, value: $number, order: Ordering) -> $number {
                $number::from_bits(self.0.swap(value.to_bits(), order))
            }

            /// Stores `new` if the value is `current`, bit for bit. Returns the previous value.
            ///
            /// # Errors
            /// The previous value, if it was not `current`.
            #[inline(always)]
            pub fn compare_exchange(
                &self,
                current: $number,
                new: $number,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$number, $number> {
                self.0
                    .compare_exchange(current.to_bits(), new.to_bits(), success, failure)
                    .map($number::from_bits)
                    .map_err($number::from_bits)
            }

            /// The atomic integer of its bits.
            #[inline(always)]
            pub(super) const fn bits(&self) -> &$bits {
                &self.0
            }
        }

        /// The implementation on the host.
        #[inline]
        pub(super) fn $add(bits: &$bits, value: $number, order: Ordering) -> $number {
            let sum = |old: $number| (old + value).to_bits();
            let mut old = bits.load(Ordering::Relaxed);
            loop {
                let new = sum($number::from_bits(old));
                match bits.compare_exchange_weak(old, new, order, Ordering::Relaxed) {
                    Ok(old) => return $number::from_bits(old),
                    Err(found) => old = found,
                }
            }
        }
    )*};
}
floats! {
    AtomicF32 f32 AtomicU32 add_f32;
    AtomicF64 f64 AtomicU64 add_f64;
}
