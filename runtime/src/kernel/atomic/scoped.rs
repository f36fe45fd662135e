//! Atomic accesses for some work-items and not for all: scopes.

use std::marker::PhantomData;
use std::sync::atomic::{
    AtomicI32, AtomicI64, AtomicIsize, AtomicU32, AtomicU64, AtomicUsize, Ordering,
};

use crate::kernel::abi::is_device;
use crate::kernel::atomic::builtins::*;
use crate::kernel::atomic::float::{AtomicF32, AtomicF64, add_f32, add_f64};

/// Who an atomic access or a [fence](fence()) is for: those that may look at the same time, and for whom the order counts.
///
/// The fewer there are, the less a device has to do. On a GPU an order for a group need not reach further than the caches of one
/// multiprocessor.
pub mod memory_scope {
    /// The work-item alone.
    #[derive(Clone, Copy, Debug)]
    pub enum WorkItem {}
    /// The work-items of a sub-group.
    #[derive(Clone, Copy, Debug)]
    pub enum SubGroup {}
    /// The work-items of a group.
    #[derive(Clone, Copy, Debug)]
    pub enum WorkGroup {}
    /// All work-items of a device. What the atomics of the standard library mean.
    #[derive(Clone, Copy, Debug)]
    pub enum Device {}
    /// All devices that see the memory, and the host. While a kernel runs nobody else looks at buffers, so this is more than they need; on
    /// a GPU updates (`swap`, `fetch_add` and their like) are for the device then, as with [`Device`].
    #[derive(Clone, Copy, Debug)]
    pub enum System {}
}

mod sealed {
    pub trait Sealed {}
}

/// One of the types of [`memory_scope`].
pub trait MemoryScope: sealed::Sealed {
    #[doc(hidden)]
    const NUMBER: u32;
}

macro_rules! scopes {
    ($($scope:ident $number:literal)*) => {$(
        impl sealed::Sealed for memory_scope::$scope {}
        impl MemoryScope for memory_scope::$scope {
            const NUMBER: u32 = $number;
        }
    )*};
}
scopes! { WorkItem 0 SubGroup 1 WorkGroup 2 Device 3 System 4 }

/// A fence for those that a scope says, as [`std::sync::atomic::fence`] is for all of a device. With [`Ordering::Relaxed`] it does nothing.
///
/// ```
/// # fn main() -> Result<(), schism::Error> {
/// use std::sync::atomic::Ordering::{AcqRel, Relaxed};
///
/// use schism::prelude::*;
/// use schism::{fence, memory_scope};
///
/// // Work-item 0 writes two numbers; whoever sees the second sees the first.
/// let queue = Queue::new()?;
/// let mut seen = Buffer::filled(&queue, 64, true)?;
/// queue.for_each_in_groups(NdRange::new(64, 64)?, local::<u32>(2), &mut seen, |item, cells, seen| {
///     cells.set(item.local_x() % 2, 0);
///     item.barrier();
///     let [data, flag] = [0, 1].map(|at| &cells.as_atomics()[at]);
///     if item.local_x() == 0 {
///         data.store(7, Relaxed);
///         fence::<memory_scope::WorkGroup>(AcqRel);
///         flag.store(1, Relaxed);
///     } else if flag.load(Relaxed) == 1 {
///         fence::<memory_scope::WorkGroup>(AcqRel);
///         *seen = data.load(Relaxed) == 7;
///     }
/// })?;
/// assert_eq!(seen.to_vec(), [true; 64]);
/// # Ok(())
/// # }
/// ```
#[inline(always)]
pub fn fence<S: MemoryScope>(order: Ordering) {
    if is_device() {
        match order {
            Ordering::Relaxed => {}
            Ordering::Acquire => __schism_fence(1, S::NUMBER),
            Ordering::Release => __schism_fence(2, S::NUMBER),
            Ordering::AcqRel => __schism_fence(3, S::NUMBER),
            _ => __schism_fence(4, S::NUMBER),
        }
    } else if !matches!(order, Ordering::Relaxed) {
        std::sync::atomic::fence(order);
    }
}

/// An atomic whose accesses are for those that a [scope](memory_scope) says. `A` is an atomic of the standard library of 32 or 64 bits,
/// [`AtomicF32`] or [`AtomicF64`].
///
/// Elements of [atomic views](crate::Buffer::atomic_view) and of [local memory](crate::Local::as_atomics) are atomics that all
/// work-items of a device may change at a time. Where only those of a group do, this says so. If others do all the same, each
/// access is whole, but it is not said when they see it.
///
/// ```
/// # fn main() -> Result<(), schism::Error> {
/// use std::sync::atomic::Ordering::Relaxed;
///
/// use schism::prelude::*;
/// use schism::{AtomicRef, memory_scope};
///
/// // Each group counts in an element of its own.
/// let queue = Queue::new()?;
/// let numbers = Buffer::from_slice(&queue, &(0..256).collect::<Vec<u32>>())?;
/// let mut even = Buffer::filled(&queue, 4, 0_u32)?;
/// let (numbers, even_of) = (numbers.view(), even.atomic_view());
/// queue.parallel_for_groups(NdRange::new(256, 64)?, (), move |item, ()| {
///     let count = AtomicRef::<_, memory_scope::WorkGroup>::new(&even_of[item.group_x()]);
///     count.fetch_add(1 - numbers[item.x()] % 2, Relaxed);
/// })?;
/// assert_eq!(even.to_vec(), [32; 4]);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct AtomicRef<'a, A, S> {
    atomic: &'a A,
    scope: PhantomData<S>,
}

impl<A, S> Clone for AtomicRef<'_, A, S> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}

impl<A, S> Copy for AtomicRef<'_, A, S> {}

impl<'a, A, S: MemoryScope> AtomicRef<'a, A, S> {
    /// The same atomic, for those that `S` says.
    #[inline(always)]
    #[must_use]
    pub const fn new(atomic: &'a A) -> Self {
        Self { atomic, scope: PhantomData }
    }
}

/// Calls a builtin with the number of an order, which has to be a constant there.
macro_rules! ordered {
    ($order:expr, $number:ident => $call:expr) => {
        match $order {
            Ordering::Relaxed => ordered!(@ $number 0 $call),
            Ordering::Acquire => ordered!(@ $number 1 $call),
            Ordering::Release => ordered!(@ $number 2 $call),
            Ordering::AcqRel => ordered!(@ $number 3 $call),
            _ => ordered!(@ $number 4 $call),
        }
    };
    (@ $number:ident $value:literal $call:expr) => {{
        const $number: u32 = $value;
        // SAFETY: the address is that of an atomic that lives as long as `self`.
        unsafe { $call }
    }};
}

macro_rules! integers {
    ($($atomic:ident $number:ident $bits:ident $of_order:ident:
        $load:ident $store:ident $exchange:ident $swap:ident $add:ident $sub:ident $and:ident $or:ident $xor:ident
        $min:ident $max:ident;)*) => {$(
        impl<S: MemoryScope> AtomicRef<'_, $atomic, S> {
            /// The value.
            ///
            /// # Panics
            /// If the order is [`Ordering::Release`] or [`Ordering::AcqRel`].
            #[inline(always)]
            #[must_use]
            #[track_caller]
            pub fn load(&self, order: Ordering) -> $number {
                if !is_device() || matches!(order, Ordering::Release | Ordering::AcqRel) {
                    return self.atomic.load(order);
                }
                let at = self.atomic.as_ptr().cast::<$bits>();
                ordered!(order, ORDER => $load(at, ORDER, S::NUMBER)) as $number
            }

            /// Writes the value.
            ///
            /// # Panics
            /// If the order is [`Ordering::Acquire`] or [`Ordering::AcqRel`].
            #[inline(always)]
            #[track_caller]
            pub fn store(&self, value: $number, order: Ordering) {
                if !is_device() || matches!(order, Ordering::Acquire | Ordering::AcqRel) {
                    return self.atomic.store(value, order);
                }
                let at = self.atomic.as_ptr().cast::<$bits>();
                ordered!(order, ORDER => $store(at, value as $bits, ORDER, S::NUMBER));
            }

            /// Writes `new` if the value is `current`. Returns what the value was, as an error if it was another one.
            ///
            /// # Errors
            /// What the value was, if it was not `current`.
            #[inline(always)]
            pub fn compare_exchange(
                &self,
                current: $number,
                new: $number,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$number, $number> {
                if !is_device() || matches!(failure, Ordering::Release | Ordering::AcqRel) {
                    return self.atomic.compare_exchange(current, new, success, failure);
                }
                let at = self.atomic.as_ptr().cast::<$bits>();
                let (old, then) = (current as $bits, new as $bits);
                let found = match failure {
                    Ordering::Relaxed => {
                        ordered!(success, ORDER => $exchange(at, old, then, ORDER, 0, S::NUMBER))
                    }
                    Ordering::Acquire => {
                        ordered!(success, ORDER => $exchange(at, old, then, ORDER, 1, S::NUMBER))
                    }
                    _ => ordered!(success, ORDER => $exchange(at, old, then, ORDER, 4, S::NUMBER)),
                };
                if found == old { Ok(current) } else { Err(found as $number) }
            }

            integers!(@ $atomic $number
                "Writes the value. Returns what it was." swap $swap $bits;
                "Adds to the value, which wraps around. Returns what it was." fetch_add $add $bits;
                "Subtracts from the value, which wraps around. Returns what it was." fetch_sub $sub $bits;
                "Keeps the bits that are set in both. Returns what the value was." fetch_and $and $bits;
                "Sets bits. Returns what the value was." fetch_or $or $bits;
                "Changes bits. Returns what the value was." fetch_xor $xor $bits;
                "Makes the value the less of the two. Returns what it was." fetch_min $min $of_order;
                "Makes the value the greater of the two. Returns what it was." fetch_max $max $of_order;
            );
        }
    )*};
    (@ $atomic:ident $number:ident $($about:literal $method:ident $builtin:ident $bits:ident;)*) => {$(
        #[doc = $about]
        #[inline(always)]
        pub fn $method(&self, value: $number, order: Ordering) -> $number {
            if !is_device() {
                return self.atomic.$method(value, order);
            }
            let at = self.atomic.as_ptr().cast::<$bits>();
            ordered!(order, ORDER => $builtin(at, value as $bits, ORDER, S::NUMBER)) as $number
        }
    )*};
}
integers! {
    AtomicU32 u32 u32 u32: __schism_atomic_load_i32 __schism_atomic_store_i32 __schism_atomic_cmpxchg_i32
        __schism_atomic_xchg_i32 __schism_atomic_add_i32 __schism_atomic_sub_i32 __schism_atomic_and_i32
        __schism_atomic_or_i32 __schism_atomic_xor_i32 __schism_atomic_umin_i32 __schism_atomic_umax_i32;
    AtomicI32 i32 u32 i32: __schism_atomic_load_i32 __schism_atomic_store_i32 __schism_atomic_cmpxchg_i32
        __schism_atomic_xchg_i32 __schism_atomic_add_i32 __schism_atomic_sub_i32 __schism_atomic_and_i32
        __schism_atomic_or_i32 __schism_atomic_xor_i32 __schism_atomic_min_i32 __schism_atomic_max_i32;
    AtomicU64 u64 u64 u64: __schism_atomic_load_i64 __schism_atomic_store_i64 __schism_atomic_cmpxchg_i64
        __schism_atomic_xchg_i64 __schism_atomic_add_i64 __schism_atomic_sub_i64 __schism_atomic_and_i64
        __schism_atomic_or_i64 __schism_atomic_xor_i64 __schism_atomic_umin_i64 __schism_atomic_umax_i64;
    AtomicI64 i64 u64 i64: __schism_atomic_load_i64 __schism_atomic_store_i64 __schism_atomic_cmpxchg_i64
        __schism_atomic_xchg_i64 __schism_atomic_add_i64 __schism_atomic_sub_i64 __schism_atomic_and_i64
        __schism_atomic_or_i64 __schism_atomic_xor_i64 __schism_atomic_min_i64 __schism_atomic_max_i64;
    AtomicUsize usize u64 u64: __schism_atomic_load_i64 __schism_atomic_store_i64 __schism_atomic_cmpxchg_i64
        __schism_atomic_xchg_i64 __schism_atomic_add_i64 __schism_atomic_sub_i64 __schism_atomic_and_i64
        __schism_atomic_or_i64 __schism_atomic_xor_i64 __schism_atomic_umin_i64 __schism_atomic_umax_i64;
    AtomicIsize isize u64 i64: __schism_atomic_load_i64 __schism_atomic_store_i64 __schism_atomic_cmpxchg_i64
        __schism_atomic_xchg_i64 __schism_atomic_add_i64 __schism_atomic_sub_i64 __schism_atomic_and_i64
        __schism_atomic_or_i64 __schism_atomic_xor_i64 __schism_atomic_min_i64 __schism_atomic_max_i64;
}

macro_rules! floats {
    ($($atomic:ident $number:ident: $builtin:ident $add:ident;)*) => {$(
        impl<S: MemoryScope> AtomicRef<'_, $atomic, S> {
            /// The value.
            ///
            /// # Panics
            /// If the order is [`Ordering::Release`] or [`Ordering::AcqRel`].
            #[inline(always)]
            #[must_use]
            #[track_caller]
            pub fn load(&self, order: Ordering) -> $number {
                $number::from_bits(AtomicRef::<_, S>::new(self.atomic.bits()).load(order))
            }

            /// Writes the value.
            ///
            /// # Panics
            /// If the order is [`Ordering::Acquire`] or [`Ordering::AcqRel`].
            #[inline(always)]
            #[track_caller]
            pub fn store(&self, value: $number, order: Ordering) {
                AtomicRef::<_, S>::new(self.atomic.bits()).store(value.to_bits(), order);
            }

            /// Writes the value. Returns what it was.
            #[inline(always)]
            pub fn swap(&self, value: $number, order: Ordering) -> $number {
                let bits = AtomicRef::<_, S>::new(self.atomic.bits());
                $number::from_bits(bits.swap(value.to_bits(), order))
            }

            /// Writes `new` if the value is `current`, bit for bit. Returns what the value was, as an error if it was another one.
            ///
            /// # Errors
            /// What the value was, if it was not `current`.
            #[inline(always)]
            pub fn compare_exchange(
                &self,
                current: $number,
                new: $number,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$number, $number> {
                AtomicRef::<_, S>::new(self.atomic.bits())
                    .compare_exchange(current.to_bits(), new.to_bits(), success, failure)
                    .map($number::from_bits)
                    .map_err($number::from_bits)
            }

            /// Adds to the value. Returns what it was.
            ///
            /// Work-items add in any order, so what comes out of many additions may differ from run to run. A GPU may also take numbers
            /// below the least normal `f32`, about 1e-38, for 0.
            #[inline(always)]
            pub fn fetch_add(&self, value: $number, order: Ordering) -> $number {
                if !is_device() {
                    return $add(self.atomic.bits(), value, order);
                }
                let at = self.atomic.bits().as_ptr().cast::<$number>();
                ordered!(order, ORDER => $builtin(at, value, ORDER, S::NUMBER))
            }

            /// Subtracts from the value, as [`fetch_add`](Self::fetch_add) adds. Returns what it was.
            #[inline(always)]
            pub fn fetch_sub(&self, value: $number, order: Ordering) -> $number {
                self.fetch_add(-value, order)
            }
        }

        impl $atomic {
            /// Adds to the value. Returns what it was.
            ///
            /// Work-items add in any order, so what comes out of many additions may differ from run to run. A GPU may also take numbers
            /// below the least normal `f32`, about 1e-38, for 0.
            #[inline(always)]
            pub fn fetch_add(&self, value: $number, order: Ordering) -> $number {
                AtomicRef::<_, memory_scope::Device>::new(self).fetch_add(value, order)
            }

            /// Subtracts from the value, as [`fetch_add`](Self::fetch_add) adds. Returns what it was.
            #[inline(always)]
            pub fn fetch_sub(&self, value: $number, order: Ordering) -> $number {
                self.fetch_add(-value, order)
            }
        }
    )*};
}
floats! {
    AtomicF32 f32: __schism_atomic_fadd_f32 add_f32;
    AtomicF64 f64: __schism_atomic_fadd_f64 add_f64;
}
