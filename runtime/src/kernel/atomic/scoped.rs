//! Atomic accesses with a memory scope.

use std::marker::PhantomData;
use std::sync::atomic::{
    AtomicI32, AtomicI64, AtomicIsize, AtomicU32, AtomicU64, AtomicUsize, Ordering,
};

use crate::kernel::abi::is_device;
use crate::kernel::atomic::builtins::*;
use crate::kernel::atomic::float::{AtomicF32, AtomicF64, add_f32, add_f64};

/// The memory scopes: which other threads of execution an atomic access or a [fence](fence())
/// synchronizes with.
///
/// A smaller scope costs less. On a GPU, ordering within a group does not need to reach beyond the
/// caches of one multiprocessor.
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
    /// All work-items of a device: the scope of the standard library's atomics.
    #[derive(Clone, Copy, Debug)]
    pub enum Device {}
    /// All devices that access the memory, and the host. While a kernel runs nothing else accesses
    /// buffers, so this is more than they need; on a GPU, read-modify-write operations (`swap`,
    /// `fetch_add` and so on) have the scope [`Device`] then.
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

/// A fence with a memory scope; [`std::sync::atomic::fence`] has the scope of the device. With
/// [`Ordering::Relaxed`] it does nothing.
///
/// ```
/// # fn main() -> Result<(), schism::Error> {
/// use std::sync::atomic::Ordering::{AcqRel, Relaxed};
///
/// use schism::prelude::*;
/// use schism::{fence, memory_scope};
///
/// // Work-item 0 writes two numbers; a work-item that sees the second sees the first.
/// let queue = Queue::new()?;
/// let mut seen = Buffer::filled(&queue, 64, true)?;
/// queue.for_each_in(NdRange::new(64, 64)?, (local::<u32>(2), &mut seen), |item, (cells, seen)| {
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

/// An atomic whose accesses have a [memory scope](memory_scope). `A` is an atomic of the standard
/// library of 32 or 64 bits, [`AtomicF32`] or [`AtomicF64`].
///
/// Elements of [atomic views](crate::Buffer::atomic_view) and of [local
/// memory](crate::Local::as_atomics) are atomics that all work-items of a device may change at the
/// same time. Use this where only a smaller scope does. Accesses from outside the scope are still
/// atomic, but when they become visible is unspecified.
///
/// ```
/// # fn main() -> Result<(), schism::Error> {
/// use std::sync::atomic::Ordering::Relaxed;
///
/// use schism::prelude::*;
/// use schism::{AtomicRef, memory_scope};
///
/// // Each group counts in its own element.
/// let queue = Queue::new()?;
/// let numbers = Buffer::from_slice(&queue, &(0..256).collect::<Vec<u32>>())?;
/// let mut even = Buffer::filled(&queue, 4, 0_u32)?;
/// let (numbers, even_of) = (numbers.view(), even.atomic_view());
/// queue.parallel_for(NdRange::new(256, 64)?, move |item| {
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
    /// The same atomic with scope `S`.
    #[inline(always)]
    #[must_use]
    pub const fn new(atomic: &'a A) -> Self {
        Self { atomic, scope: PhantomData }
    }
}

/// Calls a builtin with the number of an order, which must be a constant there.
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
            /// Loads the value.
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

            /// Stores the value.
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

            /// Stores `new` if the value is `current`. Returns the previous value.
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
    ($($atomic:ident $number:ident: $builtin:ident $add:ident $is_less:ident;)*) => {$(
        /// Whether `old` stays when the minimum of it and `value` is taken: it is less, or both are
        /// equal and it is not 0 where `value` is -0.
        #[inline(always)]
        fn $is_less(old: $number, value: $number) -> bool {
            old < value || old == value && old.is_sign_negative() >= value.is_sign_negative()
        }

        impl<S: MemoryScope> AtomicRef<'_, $atomic, S> {
            /// Loads the value.
            ///
            /// # Panics
            /// If the order is [`Ordering::Release`] or [`Ordering::AcqRel`].
            #[inline(always)]
            #[must_use]
            #[track_caller]
            pub fn load(&self, order: Ordering) -> $number {
                $number::from_bits(AtomicRef::<_, S>::new(self.atomic.bits()).load(order))
            }

            /// Stores the value.
            ///
            /// # Panics
            /// If the order is [`Ordering::Acquire`] or [`Ordering::AcqRel`].
            #[inline(always)]
            #[track_caller]
            pub fn store(&self, value: $number, order: Ordering) {
                AtomicRef::<_, S>::new(self.atomic.bits()).store(value.to_bits(), order);
            }

            /// Stores the value. Returns the previous one.
            #[inline(always)]
            pub fn swap(&self, value: $number, order: Ordering) -> $number {
                let bits = AtomicRef::<_, S>::new(self.atomic.bits());
                $number::from_bits(bits.swap(value.to_bits(), order))
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
                AtomicRef::<_, S>::new(self.atomic.bits())
                    .compare_exchange(current.to_bits(), new.to_bits(), success, failure)
                    .map($number::from_bits)
                    .map_err($number::from_bits)
            }

            /// Adds to the value. Returns the previous one.
            ///
            /// The order of additions is unspecified, so the result of many additions may differ
            /// from run to run. A GPU may also treat subnormal `f32` values (below about 1e-38) as 0.
            #[inline(always)]
            pub fn fetch_add(&self, value: $number, order: Ordering) -> $number {
                if !is_device() {
                    return $add(self.atomic.bits(), value, order);
                }
                let at = self.atomic.bits().as_ptr().cast::<$number>();
                ordered!(order, ORDER => $builtin(at, value, ORDER, S::NUMBER))
            }

            /// Subtracts from the value, as [`fetch_add`](Self::fetch_add) adds. Returns the
            /// previous one.
            #[inline(always)]
            pub fn fetch_sub(&self, value: $number, order: Ordering) -> $number {
                self.fetch_add(-value, order)
            }

            /// Replaces the value by the minimum of the two. Returns the previous one.
            ///
            /// -0 is less than 0, and a NaN is greater than every number: it stays only if both are
            /// NaN.
            #[inline(always)]
            pub fn fetch_min(&self, value: $number, order: Ordering) -> $number {
                self.replace_unless(value, order, |old| $is_less(old, value))
            }

            /// Replaces the value by the maximum of the two. Returns the previous one.
            ///
            /// 0 is greater than -0, and a NaN is less than every number: it stays only if both are
            /// NaN.
            #[inline(always)]
            pub fn fetch_max(&self, value: $number, order: Ordering) -> $number {
                self.replace_unless(value, order, |old| $is_less(-old, -value))
            }

            /// Stores the value unless the previous one stays. Returns the previous one.
            #[inline(always)]
            fn replace_unless(
                &self,
                value: $number,
                order: Ordering,
                stays: impl Fn($number) -> bool,
            ) -> $number {
                let mut old = self.load(Ordering::Relaxed);
                loop {
                    // Stored even if unchanged: this is a read-modify-write operation with an
                    // order.
                    let new = if value.is_nan() || stays(old) { old } else { value };
                    if matches!(order, Ordering::Relaxed) && new.to_bits() == old.to_bits() {
                        return old;
                    }
                    match self.compare_exchange(old, new, order, Ordering::Relaxed) {
                        Ok(old) => return old,
                        Err(found) => old = found,
                    }
                }
            }
        }

        impl $atomic {
            /// Adds to the value. Returns the previous one.
            ///
            /// The order of additions is unspecified, so the result of many additions may differ
            /// from run to run. A GPU may also treat subnormal `f32` values (below about 1e-38) as 0.
            #[inline(always)]
            pub fn fetch_add(&self, value: $number, order: Ordering) -> $number {
                AtomicRef::<_, memory_scope::Device>::new(self).fetch_add(value, order)
            }

            /// Subtracts from the value, as [`fetch_add`](Self::fetch_add) adds. Returns the
            /// previous one.
            #[inline(always)]
            pub fn fetch_sub(&self, value: $number, order: Ordering) -> $number {
                self.fetch_add(-value, order)
            }

            /// Replaces the value by the minimum of the two. Returns the previous one.
            ///
            /// -0 is less than 0, and a NaN is greater than every number: it stays only if both are
            /// NaN.
            #[inline(always)]
            pub fn fetch_min(&self, value: $number, order: Ordering) -> $number {
                AtomicRef::<_, memory_scope::Device>::new(self).fetch_min(value, order)
            }

            /// Replaces the value by the maximum of the two. Returns the previous one.
            ///
            /// 0 is greater than -0, and a NaN is less than every number: it stays only if both are
            /// NaN.
            ///
            /// ```
            /// # fn main() -> Result<(), schism::Error> {
            /// use std::sync::atomic::Ordering::Relaxed;
            ///
            /// use schism::prelude::*;
            ///
            /// let queue = Queue::new()?;
            #[doc = concat!("let numbers = Buffer::from_slice(&queue, &[-2.5_", stringify!($number), ", 7.0, ", stringify!($number), "::NAN, 1.5])?;")]
            #[doc = concat!("let mut range = Buffer::from_slice(&queue, &[0.0_", stringify!($number), "; 2])?;")]
            /// let ends = range.atomic_view();
            /// queue.for_each(&numbers, move |number| {
            ///     ends[0].fetch_min(*number, Relaxed);
            ///     ends[1].fetch_max(*number, Relaxed);
            /// })?;
            /// assert_eq!(range.to_vec(), [-2.5, 7.0]);
            /// # Ok(())
            /// # }
            /// ```
            #[inline(always)]
            pub fn fetch_max(&self, value: $number, order: Ordering) -> $number {
                AtomicRef::<_, memory_scope::Device>::new(self).fetch_max(value, order)
            }
        }
    )*};
}
floats! {
    AtomicF32 f32: __schism_atomic_fadd_f32 add_f32 is_less_f32;
    AtomicF64 f64: __schism_atomic_fadd_f64 add_f64 is_less_f64;
}
