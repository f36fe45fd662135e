//! Sub-group operations: reductions and scans.
//!
//! Values are combined in the same order on every device, so sums of floats are the same, bit for
//! bit.

use crate::kernel::group::sub_group::SubGroup;
use crate::kernel::group::value::GroupValue;

// They have the Rust ABI, like the other operations of sub-groups.
unsafe extern "Rust" {
    fn __schism_reduce_add(value: u32) -> u32;
    fn __schism_reduce_min(value: u32) -> u32;
    fn __schism_reduce_max(value: u32) -> u32;
    fn __schism_reduce_umin(value: u32) -> u32;
    fn __schism_reduce_umax(value: u32) -> u32;
}

impl SubGroup<'_> {
    /// Reduces the `value`s of all work-items of the sub-group with `both`; each work-item gets the
    /// result.
    ///
    /// The order is the same on every device: first each lane below 16 combines its value with that
    /// of the lane 16 behind it, as `both(own, other)`; then the lanes below 8 with the lane 8
    /// behind, and so on with 4, 2 and 1, where there is such a lane. Lane 0 then has the result.
    /// `both` must not contain group or sub-group operations.
    ///
    /// ```
    /// # fn main() -> Result<(), schism::Error> {
    /// use schism::prelude::*;
    ///
    /// // The greatest number of each group, and where it is.
    /// let queue = Queue::new()?;
    /// let numbers = Buffer::from_slice(&queue, &[2.5_f32, 7.5, -1.0, 4.0, 0.5, 3.0])?;
    /// let mut greatest = Buffer::filled(&queue, 2, (0.0_f32, 0_usize))?;
    /// let (from, to) = (numbers.view(), greatest.view_mut());
    /// queue.parallel_for(NdRange::new(6, 3)?, move |item| {
    ///     let own = (from[item.x()], item.x());
    ///     let all = item.sub_group().reduce(own, |a, b| if b.0 > a.0 { b } else { a });
    ///     if item.local_x() == 0 {
    ///         // SAFETY: one work-item of each group writes the group's element.
    ///         unsafe { to.set_unchecked(item.group_x(), all) }
    ///     }
    /// })?;
    /// assert_eq!(greatest.to_vec(), [(7.5, 1), (4.0, 3)]);
    /// # Ok(())
    /// # }
    /// ```
    #[inline(always)]
    #[must_use]
    pub fn reduce<T: GroupValue>(&self, value: T, both: impl Fn(T, T) -> T) -> T {
        let mut all = value;
        let mut step = Self::MAX_SIZE / 2;
        while step > 0 {
            let other = self.shuffle_down(all, step);
            // Only the lanes below matter, and no value may be combined twice.
            if self.local_id() < step && self.local_id() + step < self.size() {
                all = both(all, other);
            }
            step /= 2;
        }
        self.broadcast(all, 0)
    }

    /// Reduces with a commutative `both`: each lane combines its value with that of its partner, so
    /// all have the result at the end.
    #[inline(always)]
    fn reduce_commutative<T: GroupValue>(&self, value: T, both: impl Fn(T, T) -> T) -> T {
        if self.size() < Self::MAX_SIZE {
            return self.reduce(value, both);
        }
        let mut all = value;
        let mut step = Self::MAX_SIZE / 2;
        while step > 0 {
            all = both(all, self.shuffle_xor(all, step));
            step /= 2;
        }
        all
    }

    /// The sum of the `value`s of all work-items of the sub-group; each work-item gets it. Integers
    /// wrap around.
    ///
    /// Floats are added in the order of [`reduce`](Self::reduce), on every device.
    ///
    /// ```
    /// # fn main() -> Result<(), schism::Error> {
    /// use schism::prelude::*;
    ///
    /// let queue = Queue::new()?;
    /// let mut numbers = Buffer::from_slice(&queue, &[1_u32, 2, 3, 4])?;
    /// queue.for_each_in(NdRange::new(4, 4)?, &mut numbers, |item, number| {
    ///     *number = item.sub_group().reduce_add(*number);
    /// })?;
    /// assert_eq!(numbers.to_vec(), [10; 4]);
    /// # Ok(())
    /// # }
    /// ```
    #[inline(always)]
    #[must_use]
    pub fn reduce_add<T: GroupNumber>(&self, value: T) -> T {
        value.sum_of(self)
    }

    /// The minimum of the `value`s of all work-items of the sub-group; each work-item gets it.
    ///
    /// For floats, -0 is less than 0, and NaNs are ignored unless all values are NaN.
    #[inline(always)]
    #[must_use]
    pub fn reduce_min<T: GroupNumber>(&self, value: T) -> T {
        T::of_key(value.key_for_least().least_of(self))
    }

    /// The maximum of the `value`s of all work-items of the sub-group; each work-item gets it.
    ///
    /// For floats, 0 is greater than -0, and NaNs are ignored unless all values are NaN.
    #[inline(always)]
    #[must_use]
    pub fn reduce_max<T: GroupNumber>(&self, value: T) -> T {
        T::of_key(value.key_for_greatest().greatest_of(self))
    }

    /// Inclusive scan with `both`: combines the `value`s of the lanes up to and including the
    /// caller's.
    ///
    /// The order is the same on every device: first each lane combines its value with that of the
    /// lane before it, as `both(other, own)`, then with the lane 2 before, then 4, 8 and 16, where
    /// there is such a lane. `both` must not contain group or sub-group operations.
    ///
    /// ```
    /// # fn main() -> Result<(), schism::Error> {
    /// use schism::prelude::*;
    ///
    /// let queue = Queue::new()?;
    /// let mut numbers = Buffer::from_slice(&queue, &[3_u32, 1, 4, 1, 5])?;
    /// queue.for_each_in(NdRange::new(5, 5)?, &mut numbers, |item, number| {
    ///     *number = item.sub_group().inclusive_scan(*number, u32::max);
    /// })?;
    /// assert_eq!(numbers.to_vec(), [3, 3, 4, 4, 5]);
    /// # Ok(())
    /// # }
    /// ```
    #[inline(always)]
    #[must_use]
    pub fn inclusive_scan<T: GroupValue>(&self, value: T, both: impl Fn(T, T) -> T) -> T {
        let mut all = value;
        let mut step = 1;
        while step < Self::MAX_SIZE {
            let other = self.shuffle_up(all, step);
            if self.local_id() >= step {
                all = both(other, all);
            }
            step *= 2;
        }
        all
    }

    /// Exclusive scan with `both`: lane 0 gets `first`, the others get `both(first, inclusive)`,
    /// where `inclusive` is the [inclusive scan](Self::inclusive_scan) of the lane before.
    #[inline(always)]
    #[must_use]
    pub fn exclusive_scan<T: GroupValue>(&self, value: T, first: T, both: impl Fn(T, T) -> T) -> T {
        let inclusive = self.inclusive_scan(value, &both);
        let before = self.shuffle_up(inclusive, 1);
        if self.local_id() == 0 { first } else { both(first, before) }
    }

    /// The sum of the `value`s of the lanes up to and including the caller's: an [inclusive
    /// scan](Self::inclusive_scan). Integers wrap around.
    #[inline(always)]
    #[must_use]
    pub fn inclusive_scan_add<T: GroupNumber>(&self, value: T) -> T {
        self.inclusive_scan(value, T::plus)
    }

    /// Exclusive scan: the sum of the `value`s of the lanes before the caller's; 0 for lane 0, for
    /// others the [inclusive scan](Self::inclusive_scan) of the lane before. Integers wrap around.
    ///
    /// ```
    /// # fn main() -> Result<(), schism::Error> {
    /// use schism::prelude::*;
    ///
    /// let queue = Queue::new()?;
    /// let mut numbers = Buffer::from_slice(&queue, &[3_u32, 1, 4, 1, 5])?;
    /// queue.for_each_in(NdRange::new(5, 5)?, &mut numbers, |item, number| {
    ///     *number = item.sub_group().exclusive_scan_add(*number);
    /// })?;
    /// assert_eq!(numbers.to_vec(), [0, 3, 4, 8, 9]);
    /// # Ok(())
    /// # }
    /// ```
    #[inline(always)]
    #[must_use]
    pub fn exclusive_scan_add<T: GroupNumber>(&self, value: T) -> T {
        let before = self.shuffle_up(self.inclusive_scan_add(value), 1);
        if self.local_id() == 0 { T::ZERO } else { before }
    }
}

mod sealed {
    pub trait Sealed {}
}

/// Numbers that a group, or a sub-group, can add and compare.
pub trait GroupNumber: GroupValue + sealed::Sealed {
    #[doc(hidden)]
    const ZERO: Self;
    /// The sum; integers wrap around.
    #[doc(hidden)]
    #[must_use]
    fn plus(self, other: Self) -> Self;
    #[doc(hidden)]
    #[must_use]
    #[inline(always)]
    fn sum_of(self, lanes: &SubGroup<'_>) -> Self {
        lanes.reduce_commutative(self, Self::plus)
    }

    /// An integer that stands for the number: integers have an order on every device, and a GPU
    /// compares 32 lanes of them by one instruction.
    #[doc(hidden)]
    type Key: GroupKey;
    /// The key among those of which the least is taken.
    #[doc(hidden)]
    #[must_use]
    fn key_for_least(self) -> Self::Key;
    /// The key among those of which the greatest is taken.
    #[doc(hidden)]
    #[must_use]
    fn key_for_greatest(self) -> Self::Key;
    /// The number of a key.
    #[doc(hidden)]
    #[must_use]
    fn of_key(key: Self::Key) -> Self;
}

/// Integers that lanes compare.
#[doc(hidden)]
pub trait GroupKey: GroupValue {
    #[must_use]
    fn least(self, other: Self) -> Self;
    #[must_use]
    fn greatest(self, other: Self) -> Self;
    #[must_use]
    #[inline(always)]
    fn least_of(self, lanes: &SubGroup<'_>) -> Self {
        lanes.reduce_commutative(self, Self::least)
    }
    #[must_use]
    #[inline(always)]
    fn greatest_of(self, lanes: &SubGroup<'_>) -> Self {
        lanes.reduce_commutative(self, Self::greatest)
    }
}

macro_rules! integers {
    ($($number:ident $(: $add:ident $least:ident $greatest:ident)?),*) => {$(
        impl sealed::Sealed for $number {}
        impl GroupNumber for $number {
            const ZERO: Self = 0;
            #[inline(always)]
            fn plus(self, other: Self) -> Self {
                self.wrapping_add(other)
            }
            $(
            // A device has this for 32 bits; smaller numbers are extended.
            #[inline(always)]
            fn sum_of(self, _: &SubGroup<'_>) -> Self {
                // SAFETY: a `SubGroup` exists only within a running sub-group.
                unsafe { $add(self as u32) as Self }
            }
            )?
            type Key = Self;
            #[inline(always)]
            fn key_for_least(self) -> Self {
                self
            }
            #[inline(always)]
            fn key_for_greatest(self) -> Self {
                self
            }
            #[inline(always)]
            fn of_key(key: Self) -> Self {
                key
            }
        }
        impl GroupKey for $number {
            #[inline(always)]
            fn least(self, other: Self) -> Self {
                self.min(other)
            }
            #[inline(always)]
            fn greatest(self, other: Self) -> Self {
                self.max(other)
            }
            $(
            // As for sums.
            #[inline(always)]
            fn least_of(self, _: &SubGroup<'_>) -> Self {
                // SAFETY: as above.
                unsafe { $least(self as u32) as Self }
            }
            #[inline(always)]
            fn greatest_of(self, _: &SubGroup<'_>) -> Self {
                // SAFETY: as above.
                unsafe { $greatest(self as u32) as Self }
            }
            )?
        }
    )*};
}
integers! {
    u8: __schism_reduce_add __schism_reduce_umin __schism_reduce_umax,
    u16: __schism_reduce_add __schism_reduce_umin __schism_reduce_umax,
    u32: __schism_reduce_add __schism_reduce_umin __schism_reduce_umax,
    i8: __schism_reduce_add __schism_reduce_min __schism_reduce_max,
    i16: __schism_reduce_add __schism_reduce_min __schism_reduce_max,
    i32: __schism_reduce_add __schism_reduce_min __schism_reduce_max,
    u64, i64, usize, isize
}

macro_rules! floats {
    ($($number:ident $key:ident $flip:ident),*) => {$(
        impl sealed::Sealed for $number {}
        impl GroupNumber for $number {
            const ZERO: Self = 0.0;
            #[inline(always)]
            fn plus(self, other: Self) -> Self {
                self + other
            }
            type Key = $key;
            // As in `f32::total_cmp`: negative numbers, which grow with what is behind their sign,
            // have that flipped. All NaNs are the last choice.
            #[inline(always)]
            fn key_for_least(self) -> $key {
                if self.is_nan() { $key::MAX } else { $flip(self.to_bits().cast_signed()) }
            }
            #[inline(always)]
            fn key_for_greatest(self) -> $key {
                if self.is_nan() { $key::MIN } else { $flip(self.to_bits().cast_signed()) }
            }
            #[inline(always)]
            fn of_key(key: $key) -> Self {
                // The largest key and the least one are a NaN's.
                Self::from_bits($flip(key).cast_unsigned())
            }
        }
    )*};
}

floats! { f32 i32 flip_32, f64 i64 flip_64 }

/// The bits of a float by its key, and the other way.
#[inline(always)]
const fn flip_32(bits: i32) -> i32 {
    bits ^ ((bits >> 31).cast_unsigned() >> 1).cast_signed()
}

/// The same for 64 bits.
#[inline(always)]
const fn flip_64(bits: i64) -> i64 {
    bits ^ ((bits >> 63).cast_unsigned() >> 1).cast_signed()
}
