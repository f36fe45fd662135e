//! Values that the work-items of a group exchange, number by number.

// A transmute, because `&*pointer` would have checks in debug builds, which panic.
#![allow(clippy::transmute_ptr_to_ref)]

use std::mem::transmute;
use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering};

use crate::kernel::atomic::AtomicRef;
use crate::kernel::atomic::memory_scope::WorkGroup;
use crate::kernel::element::Element;

/// Values that the work-items of a group can exchange at any time: through [local
/// memory](crate::Local), through [cells](crate::Cells), and from lane to lane of a
/// [sub-group](crate::SubGroup).
///
/// Numbers, `bool` and `char` implement it; so do arrays and tuples of them, and structs whose
/// fields [`group_value!`](crate::group_value) lists.
///
/// Each number in a value is read and written as a whole. If two work-items write a value of
/// several numbers at the same time, the result may mix numbers of both. Every combination of
/// numbers is a value of its type, so this is never undefined behaviour; nor is reading memory that
/// was never written.
///
/// On a device, values move from lane to lane in units of 32 bits; an `f64` costs twice as much as
/// an `f32`.
///
/// # Safety
/// Every value that [`load`](Self::load) and [`exchange`](Self::exchange) make is valid, whatever
/// bytes are in memory and whatever `give` returns. [`load`](Self::load) and [`store`](Self::store)
/// access memory through `A` only. Use [`group_value!`](crate::group_value), which ensures this.
#[diagnostic::on_unimplemented(
    message = "work-items of a group cannot give each other a `{Self}`",
    label = "not a value that work-items can share",
    note = "numbers, `bool`, `char`, arrays and tuples of them can be shared; for a struct of them write `schism::group_value!(Struct {{ field: Type }});`"
)]
pub unsafe trait GroupValue: Element {
    /// Sends each unit of 32 bits through `give`, and makes a value of the results.
    #[doc(hidden)]
    #[must_use]
    fn exchange(self, give: impl FnMut(u32) -> u32) -> Self;

    /// Reads a value.
    ///
    /// # Safety
    /// `at` is aligned and can be read, its bytes are initialised, and all accesses at the same
    /// time are atomic.
    #[doc(hidden)]
    unsafe fn load<A: Access>(at: *const Self) -> Self;

    /// Writes a value.
    ///
    /// # Safety
    /// `at` is aligned and can be written, and all accesses at the same time are atomic.
    #[doc(hidden)]
    unsafe fn store<A: Access>(self, at: *mut Self);
}

mod sealed {
    pub trait Sealed {}
}

macro_rules! access {
    ($($load:ident $store:ident $number:ident)*) => {
        /// How the numbers of a value are read and written.
        ///
        /// All methods are relaxed atomic accesses.
        #[doc(hidden)]
        pub trait Access: sealed::Sealed {
            $(
            /// # Safety
            /// The address is aligned and valid, and all accesses at the same time are atomic.
            unsafe fn $load(at: *const $number) -> $number;
            /// # Safety
            /// As for the load.
            unsafe fn $store(at: *mut $number, value: $number);
            )*
        }
    };
}
access! { load_8 store_8 u8 load_16 store_16 u16 load_32 store_32 u32 load_64 store_64 u64 }

/// The atomic at an address.
macro_rules! atomic {
    ($at:expr, $number:ident $atomic:ident) => {
        transmute::<*const $number, &$atomic>($at)
    };
}

macro_rules! plain_access {
    ($($load:ident $store:ident $number:ident $atomic:ident)*) => {$(
        #[inline(always)]
        unsafe fn $load(at: *const $number) -> $number {
            // SAFETY: the caller's promise.
            unsafe { atomic!(at, $number $atomic) }.load(Ordering::Relaxed)
        }

        #[inline(always)]
        unsafe fn $store(at: *mut $number, value: $number) {
            // SAFETY: the caller's promise.
            unsafe { atomic!(at.cast_const(), $number $atomic) }.store(value, Ordering::Relaxed);
        }
    )*};
}

macro_rules! group_access {
    ($($load:ident $store:ident $number:ident $atomic:ident)*) => {$(
        #[inline(always)]
        unsafe fn $load(at: *const $number) -> $number {
            // SAFETY: the caller's promise.
            let atomic = unsafe { atomic!(at, $number $atomic) };
            AtomicRef::<_, WorkGroup>::new(atomic).load(Ordering::Relaxed)
        }

        #[inline(always)]
        unsafe fn $store(at: *mut $number, value: $number) {
            // SAFETY: the caller's promise.
            let atomic = unsafe { atomic!(at.cast_const(), $number $atomic) };
            AtomicRef::<_, WorkGroup>::new(atomic).store(value, Ordering::Relaxed);
        }
    )*};
}

/// Local memory: only the group has access.
#[derive(Debug)]
pub(crate) enum InLocal {}

impl sealed::Sealed for InLocal {}
impl Access for InLocal {
    plain_access! {
        load_8 store_8 u8 AtomicU8 load_16 store_16 u16 AtomicU16 load_32 store_32 u32 AtomicU32 load_64 store_64 u64 AtomicU64
    }
}

/// A part of a buffer that only one group has.
#[derive(Debug)]
pub(crate) enum InBuffer {}

impl sealed::Sealed for InBuffer {}
impl Access for InBuffer {
    plain_access! { load_8 store_8 u8 AtomicU8 load_16 store_16 u16 AtomicU16 }
    group_access! { load_32 store_32 u32 AtomicU32 load_64 store_64 u64 AtomicU64 }
}

macro_rules! numbers {
    ($($number:ty: $load:ident $store:ident |$value:ident| $to:expr, |$bits:ident| $from:expr;)*) => {$(
        // SAFETY: any bits are a number, or are made one.
        unsafe impl GroupValue for $number {
            #[inline(always)]
            fn exchange(self, mut give: impl FnMut(u32) -> u32) -> Self {
                let $value = self;
                let $bits = give(($to) as u32);
                $from
            }

            #[inline(always)]
            unsafe fn load<A: Access>(at: *const Self) -> Self {
                // SAFETY: the caller's promises.
                let $bits = unsafe { A::$load(at.cast()) };
                $from
            }

            #[inline(always)]
            unsafe fn store<A: Access>(self, at: *mut Self) {
                let $value = self;
                // SAFETY: the caller's promises.
                unsafe { A::$store(at.cast(), $to) }
            }
        }
    )*};
}
numbers! {
    u8: load_8 store_8 |value| value, |bits| bits as u8;
    i8: load_8 store_8 |value| value as u8, |bits| bits as i8;
    u16: load_16 store_16 |value| value, |bits| bits as u16;
    i16: load_16 store_16 |value| value as u16, |bits| bits as i16;
    u32: load_32 store_32 |value| value, |bits| bits;
    i32: load_32 store_32 |value| value as u32, |bits| bits as i32;
    f32: load_32 store_32 |value| value.to_bits(), |bits| f32::from_bits(bits);
    bool: load_8 store_8 |value| u8::from(value), |bits| bits & 1 != 0;
    char: load_32 store_32 |value| value as u32, |bits| char::from_u32(bits).unwrap_or(char::REPLACEMENT_CHARACTER);
}

macro_rules! wide_numbers {
    ($($number:ty: |$value:ident| $to:expr, |$bits:ident| $from:expr;)*) => {$(
        // SAFETY: any bits are a number.
        unsafe impl GroupValue for $number {
            #[inline(always)]
            fn exchange(self, mut give: impl FnMut(u32) -> u32) -> Self {
                let $value = self;
                let bits = $to;
                let (low, high) = (give(bits as u32), give((bits >> 32) as u32));
                let $bits = u64::from(low) | u64::from(high) << 32;
                $from
            }

            #[inline(always)]
            unsafe fn load<A: Access>(at: *const Self) -> Self {
                // SAFETY: the caller's promises.
                let $bits = unsafe { A::load_64(at.cast()) };
                $from
            }

            #[inline(always)]
            unsafe fn store<A: Access>(self, at: *mut Self) {
                let $value = self;
                // SAFETY: the caller's promises.
                unsafe { A::store_64(at.cast(), $to) }
            }
        }
    )*};
}
wide_numbers! {
    u64: |value| value, |bits| bits;
    i64: |value| value as u64, |bits| bits as i64;
    usize: |value| value as u64, |bits| bits as usize;
    isize: |value| value as u64, |bits| bits as isize;
    f64: |value| value.to_bits(), |bits| f64::from_bits(bits);
}

// SAFETY: element by element.
unsafe impl<T: GroupValue, const N: usize> GroupValue for [T; N] {
    #[inline(always)]
    fn exchange(mut self, mut give: impl FnMut(u32) -> u32) -> Self {
        let mut index = 0;
        while index < N {
            self[index] = self[index].exchange(&mut give);
            index += 1;
        }
        self
    }

    #[inline(always)]
    unsafe fn load<A: Access>(at: *const Self) -> Self {
        // SAFETY: the caller's promises; the elements lie in the array.
        std::array::from_fn(|index| unsafe { T::load::<A>(at.cast::<T>().wrapping_add(index)) })
    }

    #[inline(always)]
    unsafe fn store<A: Access>(self, at: *mut Self) {
        let mut index = 0;
        while index < N {
            // SAFETY: as above.
            unsafe { self[index].store::<A>(at.cast::<T>().wrapping_add(index)) };
            index += 1;
        }
    }
}

macro_rules! tuples {
    ($(($($part:ident $at:tt),*))*) => {$(
        // SAFETY: part by part.
        unsafe impl<$($part: GroupValue),*> GroupValue for ($($part,)*) {
            #[inline(always)]
            fn exchange(self, mut give: impl FnMut(u32) -> u32) -> Self {
                ($(self.$at.exchange(&mut give),)*)
            }

            #[inline(always)]
            unsafe fn load<A: Access>(at: *const Self) -> Self {
                // SAFETY: the caller's promises; the parts lie in the tuple.
                unsafe { ($($part::load::<A>(&raw const (*at).$at),)*) }
            }

            #[inline(always)]
            unsafe fn store<A: Access>(self, at: *mut Self) {
                // SAFETY: as above.
                unsafe { $(self.$at.store::<A>(&raw mut (*at).$at);)* }
            }
        }
    )*};
}
tuples! {
    (A0 0) (A0 0, A1 1) (A0 0, A1 1, A2 2) (A0 0, A1 1, A2 2, A3 3) (A0 0, A1 1, A2 2, A3 3, A4 4)
    (A0 0, A1 1, A2 2, A3 3, A4 4, A5 5)
}

/// Makes a struct a [`GroupValue`](crate::GroupValue): its values can be in local memory, move from
/// lane to lane of a sub-group, and be reduced by a group.
///
/// List all fields with their types, each of which must be a [`GroupValue`](crate::GroupValue)
/// itself. A missing field or another type is a compile error. So is a `repr(packed)` struct.
///
/// ```
/// # fn main() -> Result<(), schism::Error> {
/// use schism::prelude::*;
///
/// #[derive(Clone, Copy, Debug, PartialEq)]
/// struct Candidate {
///     score: f32,
///     index: u32,
/// }
/// schism::group_value!(Candidate { score: f32, index: u32 });
///
/// let queue = Queue::new()?;
/// let scores = Buffer::from_slice(&queue, &[2.5, 7.5, -1.0, 4.0, 0.5, 3.0])?;
/// let mut best = Buffer::filled(&queue, 2, Candidate { score: 0.0, index: 0 })?;
/// let range = NdRange::new(6, 3)?;
/// queue.for_each_in(range, (&scores, per_group(&mut best)), |item, (score, best)| {
///     let own = Candidate { score: *score, index: item.x() as u32 };
///     let all = item.reduce(own, |a, b| if b.score > a.score { b } else { a });
///     if let Some(best) = best {
///         *best = all;
///     }
/// })?;
/// assert_eq!(best.to_vec()[0], Candidate { score: 7.5, index: 1 });
/// # Ok(())
/// # }
/// ```
///
/// Every combination of values of the fields becomes a value of the struct, even those that its
/// constructors exclude. A field that is left out is an error:
///
/// ```compile_fail,E0063
/// #[derive(Clone, Copy)]
/// struct Candidate {
///     score: f32,
///     index: u32,
/// }
/// schism::group_value!(Candidate { score: f32 });
/// ```
#[macro_export]
macro_rules! group_value {
    ($name:ident { $($field:ident: $type:ty),* $(,)? }) => {
        const _: () = {
            // SAFETY: field by field. The literal of the struct lists all of them, and the
            // references ensure that each has the listed type and is aligned.
            unsafe impl $crate::GroupValue for $name {
                #[inline(always)]
                fn exchange(self, mut give: impl FnMut(u32) -> u32) -> Self {
                    $(let _: &$type = &self.$field;)*
                    $name { $($field: <$type as $crate::GroupValue>::exchange(self.$field, &mut give)),* }
                }

                #[inline(always)]
                unsafe fn load<A: $crate::__private::Access>(at: *const Self) -> Self {
                    // SAFETY: the caller's promises; the fields lie in the struct.
                    unsafe {
                        $name { $($field: <$type as $crate::GroupValue>::load::<A>(&raw const (*at).$field)),* }
                    }
                }

                #[inline(always)]
                unsafe fn store<A: $crate::__private::Access>(self, at: *mut Self) {
                    // SAFETY: as above.
                    unsafe { $(<$type as $crate::GroupValue>::store::<A>(self.$field, &raw mut (*at).$field);)* }
                }
            }
        };
    };
}
