//! Group operations: reductions, scans, votes and broadcasts over a work-group, made of sub-group
//! operations and a little local memory.

use crate::kernel::group::nd_item::NdItem;
use crate::kernel::group::reduce::{GroupKey, GroupNumber};
use crate::kernel::group::value::GroupValue;
use crate::local_array;

/// The maximum number of sub-groups of a group, on every device.
const SUB_GROUPS: usize = 32;

/// Reductions and scans of the group. All work-items of the group must execute the same ones, as
/// with [barriers](NdItem::barrier), and each of them is also a barrier: writes before it are
/// visible after it.
impl<const D: usize> NdItem<'_, D> {
    /// Reduces the `value`s of all work-items of the group with `both`; each work-item gets the
    /// result.
    ///
    /// The order is the same on every device: that of [`SubGroup::reduce`](crate::SubGroup::reduce)
    /// in each sub-group, then one sub-group after the other. `both` must not contain group or
    /// sub-group operations.
    ///
    /// A value may be a tuple, an array, or a struct of [`group_value!`](crate::group_value):
    ///
    /// ```
    /// # fn main() -> Result<(), schism::Error> {
    /// use schism::prelude::*;
    ///
    /// // The greatest number of each group, and its index.
    /// let queue = Queue::new()?;
    /// let numbers = Buffer::from_slice(&queue, &[3.0_f32, 9.0, 1.0, 2.0, 4.0, 8.0])?;
    /// let mut greatest = Buffer::filled(&queue, 2, (0.0, 0))?;
    /// let sources = (&numbers, per_group(&mut greatest));
    /// queue.for_each_in(NdRange::new(6, 3)?, sources, |item, (number, greatest)| {
    ///     let own = (*number, item.x() as u32);
    ///     let all = item.reduce(own, |a, b| if b.0 > a.0 { b } else { a });
    ///     if let Some(greatest) = greatest {
    ///         *greatest = all;
    ///     }
    /// })?;
    /// assert_eq!(greatest.to_vec(), [(9.0, 1), (8.0, 5)]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// ```
    /// # fn main() -> Result<(), schism::Error> {
    /// use schism::prelude::*;
    ///
    /// let queue = Queue::new()?;
    /// let mut numbers = Buffer::from_slice(&queue, &(0..300).collect::<Vec<u32>>())?;
    /// queue.for_each_in(NdRange::new(300, 100)?, &mut numbers, |item, number| {
    ///     *number = item.reduce(*number, |a, b| a ^ b);
    /// })?;
    /// assert_eq!(numbers.to_vec()[..100], [(0..100).fold(0, |a, b| a ^ b); 100]);
    /// # Ok(())
    /// # }
    /// ```
    #[inline(always)]
    #[must_use]
    pub fn reduce<T: GroupValue>(&self, value: T, both: impl Fn(T, T) -> T) -> T {
        let of_lanes = self.sub_group().reduce(value, &both);
        self.over_sub_groups(of_lanes, both)
    }

    /// The sum of the `value`s of all work-items of the group; each work-item gets it. Integers
    /// wrap around.
    ///
    /// ```
    /// # fn main() -> Result<(), schism::Error> {
    /// use schism::prelude::*;
    ///
    /// let queue = Queue::new()?;
    /// let numbers = Buffer::filled(&queue, 1000, 0.5_f32)?;
    /// let mut sums = Buffer::filled(&queue, 10, 0.0_f32)?;
    /// let range = NdRange::new(1000, 100)?;
    /// queue.for_each_in(range, (per_group(&mut sums), &numbers), |item, (sum, number)| {
    ///     let all = item.reduce_add(*number);
    ///     if let Some(sum) = sum {
    ///         *sum = all;
    ///     }
    /// })?;
    /// assert_eq!(sums.to_vec(), [50.0; 10]);
    /// # Ok(())
    /// # }
    /// ```
    #[inline(always)]
    #[must_use]
    pub fn reduce_add<T: GroupNumber>(&self, value: T) -> T {
        self.over_sub_groups(self.sub_group().reduce_add(value), T::plus)
    }

    /// The minimum of the `value`s of all work-items of the group; each work-item gets it. Floats
    /// compare as in [`SubGroup::reduce_min`](crate::SubGroup::reduce_min).
    #[inline(always)]
    #[must_use]
    pub fn reduce_min<T: GroupNumber>(&self, value: T) -> T {
        let least = value.key_for_least().least_of(&self.sub_group());
        T::of_key(self.over_sub_groups(least, T::Key::least))
    }

    /// The maximum of the `value`s of all work-items of the group; each work-item gets it. Floats
    /// compare as in [`SubGroup::reduce_max`](crate::SubGroup::reduce_max).
    #[inline(always)]
    #[must_use]
    pub fn reduce_max<T: GroupNumber>(&self, value: T) -> T {
        let greatest = value.key_for_greatest().greatest_of(&self.sub_group());
        T::of_key(self.over_sub_groups(greatest, T::Key::greatest))
    }

    /// Inclusive scan: the sum of the `value`s of the work-items up to and including the caller, in
    /// the row-major order of the group. Integers wrap around.
    ///
    /// The order of additions is the same on every device: that of
    /// [`SubGroup::inclusive_scan`](crate::SubGroup::inclusive_scan) in each sub-group, preceded by
    /// the sum of the sub-groups before.
    ///
    /// ```
    /// # fn main() -> Result<(), schism::Error> {
    /// use schism::prelude::*;
    ///
    /// let queue = Queue::new()?;
    /// let mut numbers = Buffer::filled(&queue, 200, 3_u32)?;
    /// queue.for_each_in(NdRange::new(200, 100)?, &mut numbers, |item, number| {
    ///     *number = item.inclusive_scan_add(*number);
    /// })?;
    /// assert_eq!((numbers.to_vec()[99], numbers.to_vec()[100]), (300, 3));
    /// # Ok(())
    /// # }
    /// ```
    #[inline(always)]
    #[must_use]
    pub fn inclusive_scan_add<T: GroupNumber>(&self, value: T) -> T {
        let of_lanes = self.sub_group().inclusive_scan_add(value);
        match self.before_sub_group(of_lanes) {
            Some(before) => before.plus(of_lanes),
            None => of_lanes,
        }
    }

    /// Exclusive scan: the sum of the `value`s of the work-items before the caller, in the
    /// row-major order of the group; 0 for the first. Integers wrap around.
    #[inline(always)]
    #[must_use]
    pub fn exclusive_scan_add<T: GroupNumber>(&self, value: T) -> T {
        let sub_group = self.sub_group();
        let of_lanes = sub_group.inclusive_scan_add(value);
        let in_front = sub_group.shuffle_up(of_lanes, 1);
        let in_front = if sub_group.local_id() == 0 { T::ZERO } else { in_front };
        match self.before_sub_group(of_lanes) {
            Some(before) => before.plus(in_front),
            None => in_front,
        }
    }

    /// Whether any work-item of the group called this with `true`.
    #[inline(always)]
    #[must_use]
    pub fn any(&self, vote: bool) -> bool {
        let voted = u32::from(self.sub_group().any(vote));
        self.over_sub_groups(voted, |a, b| a | b) != 0
    }

    /// Whether all work-items of the group called this with `true`.
    #[inline(always)]
    #[must_use]
    pub fn all(&self, vote: bool) -> bool {
        !self.any(!vote)
    }

    /// Broadcast: the `value` of the work-item with the [linear id](Self::local_linear_id) `from`
    /// in the group. `from` must be the same for all work-items. If the group has no such
    /// work-item, each gets its own value.
    #[inline(always)]
    #[must_use]
    pub fn broadcast<T: GroupValue>(&self, value: T, from: usize) -> T {
        let shared = local_array!(self, T; 1);
        if self.local_linear_id() == from {
            shared.set(0, value);
        }
        self.barrier();
        let given = shared.get(0);
        self.barrier();
        if from < self.group_size() { given } else { value }
    }

    /// Combines one value of each sub-group, which all of its lanes have.
    #[inline(always)]
    fn over_sub_groups<T: GroupValue>(&self, of_lanes: T, both: impl Fn(T, T) -> T) -> T {
        let sub_group = self.sub_group();
        let shared = local_array!(self, T; SUB_GROUPS);
        if sub_group.local_id() == 0 {
            shared.set(sub_group.group_id() % SUB_GROUPS, of_lanes);
        }
        self.barrier();
        let mut all = shared.get(0);
        let mut at = 1;
        while at < sub_group.group_range().min(SUB_GROUPS) {
            all = both(all, shared.get(at));
            at += 1;
        }
        self.barrier();
        all
    }

    /// The sum of the last lanes' inclusive sums of all sub-groups before this one; `None` for the
    /// first.
    #[inline(always)]
    fn before_sub_group<T: GroupNumber>(&self, of_lanes: T) -> Option<T> {
        let sub_group = self.sub_group();
        let shared = local_array!(self, T; SUB_GROUPS);
        if sub_group.local_id() + 1 == sub_group.size() {
            shared.set(sub_group.group_id() % SUB_GROUPS, of_lanes);
        }
        self.barrier();
        let mut before = None;
        let mut at = 0;
        while at < sub_group.group_id().min(SUB_GROUPS) {
            let next = shared.get(at);
            before = Some(match before {
                Some(before) => T::plus(before, next),
                None => next,
            });
            at += 1;
        }
        self.barrier();
        before
    }
}
