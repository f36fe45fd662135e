//! Sub-groups: 32 work-items that exchange values without memory.

use std::marker::PhantomData;

use crate::kernel::group::nd_item::NdItem;
use crate::kernel::group::value::GroupValue;

/// The number of work-items of a sub-group; the last one of a group may have fewer.
pub(super) const SIZE: usize = schism_jit_abi::SUB_GROUP_SIZE;

// They have the Rust ABI: on the host they may unwind, and a crate that calls such a function of
// another ABI cannot be linked into programs that abort on panics.
unsafe extern "Rust" {
    fn __schism_shuffle(value: u32, lane: u32) -> u32;
    fn __schism_shuffle_xor(value: u32, mask: u32) -> u32;
    fn __schism_shuffle_up(value: u32, distance: u32) -> u32;
    fn __schism_shuffle_down(value: u32, distance: u32) -> u32;
    fn __schism_ballot(flag: u32) -> u32;
    fn __schism_sub_group_barrier();
}

/// A part of a work-group whose work-items exchange values, vote, and wait for each other: a warp
/// of a GPU. See [`NdItem::sub_group`].
///
/// On every device a sub-group is 32 consecutive work-items in the row-major order of their group
/// ([`local_linear_id`](NdItem::local_linear_id)). If the size of the group is not a multiple of
/// 32, its last sub-group has fewer. The index of a work-item in its sub-group is its *lane*.
///
/// **All work-items of a sub-group execute its operations together.** All of them must execute the
/// same operations, equally often and in the same order: an operation in a branch is allowed if
/// either all or none of a sub-group take the branch. If some execute one while others have ended,
/// or wait elsewhere, the launch ends with [`LaunchError::DivergentSubGroup`]. A GPU does not
/// detect this: there the result of such an operation is any value of its type, or the launch never
/// ends.
///
/// ```
/// # fn main() -> Result<(), schism::Error> {
/// use schism::prelude::*;
///
/// // The sum of each 32 numbers, without local memory.
/// let queue = Queue::new()?;
/// let numbers = Buffer::from_slice(&queue, &(0..128).collect::<Vec<u32>>())?;
/// let mut sums = Buffer::filled(&queue, 4, 0_u32)?;
/// let (from, to) = (numbers.view(), sums.view_mut());
/// queue.parallel_for(NdRange::new(128, 64)?, move |item| {
///     let sub_group = item.sub_group();
///     let mut sum = from[item.x()];
///     for distance in [16, 8, 4, 2, 1] {
///         sum += sub_group.shuffle_xor(sum, distance);
///     }
///     if sub_group.local_id() == 0 {
///         let place = item.group_x() * sub_group.group_range() + sub_group.group_id();
///         // SAFETY: one work-item of each sub-group writes the sub-group's element.
///         unsafe { to.set_unchecked(place, sum) }
///     }
/// })?;
/// assert_eq!(sums.to_vec(), [496, 1520, 2544, 3568]);
/// # Ok(())
/// # }
/// ```
///
/// [`LaunchError::DivergentSubGroup`]: crate::LaunchError::DivergentSubGroup
#[derive(Clone, Copy, Debug)]
pub struct SubGroup<'g> {
    lane: u32,
    size: u32,
    id: u32,
    range: u32,
    /// It belongs to a running group, and to the thread that runs it.
    group: PhantomData<(&'g (), *mut ())>,
}

impl<'g, const D: usize> NdItem<'g, D> {
    /// The sub-group that the work-item is part of.
    #[inline(always)]
    #[must_use]
    pub const fn sub_group(&self) -> SubGroup<'g> {
        const MOST: u32 = SIZE as u32;
        // A group has at most a few thousand work-items.
        let (place, items) = (self.local_linear_id() as u32, self.group_size() as u32);
        let id = place / MOST;
        // If all groups are multiples of 32, there is nothing to compute.
        let rest = items % MOST;
        let size = if rest != 0 && id == items / MOST { rest } else { MOST };
        let range = items.div_ceil(MOST);
        SubGroup { lane: place % MOST, size, id, range, group: PhantomData }
    }
}

impl SubGroup<'_> {
    /// The maximum number of work-items of a sub-group, on every device: 32.
    pub const MAX_SIZE: usize = SIZE;

    /// The work-item's lane, its index in the sub-group: less than [`size`](Self::size).
    #[inline(always)]
    #[must_use]
    pub const fn local_id(&self) -> usize {
        self.lane as usize
    }

    /// The number of work-items of this sub-group: [`MAX_SIZE`](Self::MAX_SIZE), or fewer if it is
    /// the last of its group.
    #[inline(always)]
    #[must_use]
    pub const fn size(&self) -> usize {
        self.size as usize
    }

    /// The index of this sub-group in its group: less than [`group_range`](Self::group_range).
    #[inline(always)]
    #[must_use]
    pub const fn group_id(&self) -> usize {
        self.id as usize
    }

    /// The number of sub-groups of the group.
    #[inline(always)]
    #[must_use]
    pub const fn group_range(&self) -> usize {
        self.range as usize
    }

    /// Shuffle: the `value` of the work-item at `lane`. If the sub-group has no such lane, the
    /// caller's own.
    ///
    /// Each lane may name another `lane`. If all name the same, see [`broadcast`](Self::broadcast).
    ///
    /// ```
    /// # fn main() -> Result<(), schism::Error> {
    /// use schism::prelude::*;
    ///
    /// let queue = Queue::new()?;
    /// let mut numbers = Buffer::from_slice(&queue, &[1.5_f32, 2.5, 3.5, 4.5])?;
    /// queue.for_each_in(NdRange::new(4, 4)?, &mut numbers, |item, number| {
    ///     let sub_group = item.sub_group();
    ///     *number = sub_group.shuffle(*number, sub_group.size() - 1 - sub_group.local_id());
    /// })?;
    /// assert_eq!(numbers.to_vec(), [4.5, 3.5, 2.5, 1.5]);
    /// # Ok(())
    /// # }
    /// ```
    #[inline(always)]
    #[must_use]
    pub fn shuffle<T: GroupValue>(&self, value: T, lane: usize) -> T {
        let lane = if lane < self.size() { lane as u32 } else { self.lane };
        // SAFETY: `self` belongs to a running group, and cannot leave its thread; the lane is less
        // than 32.
        value.exchange(|word| unsafe { __schism_shuffle(word, lane) })
    }

    /// Broadcast: the `value` of the work-item at `lane`, which must be the same for all of the
    /// sub-group.
    ///
    /// If the sub-group has no such lane, each gets its own value.
    #[inline(always)]
    #[must_use]
    pub fn broadcast<T: GroupValue>(&self, value: T, lane: usize) -> T {
        self.shuffle(value, lane)
    }

    /// Shuffle: the `value` of the lane whose number is the caller's xor `mask`. If the sub-group
    /// has no such lane, the caller's own.
    ///
    /// With 1, neighbours exchange their values; with 16, the halves of the sub-group do.
    #[inline(always)]
    #[must_use]
    pub fn shuffle_xor<T: GroupValue>(&self, value: T, mask: usize) -> T {
        let mask = if mask < SIZE { mask as u32 } else { 0 };
        let is_there = self.lane ^ mask < self.size;
        // SAFETY: `self` belongs to a running group, and cannot leave its thread; the mask is less
        // than 32.
        let other = value.exchange(|word| unsafe { __schism_shuffle_xor(word, mask) });
        if is_there { other } else { value }
    }

    /// Shuffle: the `value` of the lane that many before the caller's. The first lanes, which have
    /// none there, get their own.
    #[inline(always)]
    #[must_use]
    pub fn shuffle_up<T: GroupValue>(&self, value: T, distance: usize) -> T {
        let distance = if distance < SIZE { distance as u32 } else { 0 };
        // SAFETY: `self` belongs to a running group, and cannot leave its thread; the distance is
        // less than 32.
        value.exchange(|word| unsafe { __schism_shuffle_up(word, distance) })
    }

    /// Shuffle: the `value` of the lane that many behind the caller's. The last lanes, which have
    /// none there, get their own.
    #[inline(always)]
    #[must_use]
    pub fn shuffle_down<T: GroupValue>(&self, value: T, distance: usize) -> T {
        let distance = if distance < SIZE { distance as u32 } else { 0 };
        // In a full sub-group, the operation itself knows the last lane.
        let is_there = (self.size == SIZE as u32) | (self.lane + distance < self.size);
        // SAFETY: `self` belongs to a running group, and cannot leave its thread; the distance is
        // less than 32.
        let other = value.exchange(|word| unsafe { __schism_shuffle_down(word, distance) });
        if is_there { other } else { value }
    }

    /// Ballot: a bit for each lane, lane 0 the lowest, set where the work-item called this with
    /// `true`.
    ///
    /// ```
    /// # fn main() -> Result<(), schism::Error> {
    /// use schism::prelude::*;
    ///
    /// // Each that is even gets its place among those that are.
    /// let queue = Queue::new()?;
    /// let numbers = Buffer::from_slice(&queue, &[3_u32, 4, 6, 7, 8])?;
    /// let mut places = Buffer::filled(&queue, 5, None)?;
    /// queue.for_each_in(NdRange::new(5, 5)?, (&mut places, &numbers), |item, (place, number)| {
    ///     let sub_group = item.sub_group();
    ///     let even = number % 2 == 0;
    ///     let all = sub_group.ballot(even);
    ///     let before = all & ((1 << sub_group.local_id()) - 1);
    ///     *place = even.then_some(before.count_ones());
    /// })?;
    /// assert_eq!(places.to_vec(), [None, Some(0), Some(1), None, Some(2)]);
    /// # Ok(())
    /// # }
    /// ```
    #[inline(always)]
    #[must_use]
    pub fn ballot(&self, vote: bool) -> u32 {
        // SAFETY: `self` belongs to a running group, and cannot leave its thread.
        unsafe { __schism_ballot(u32::from(vote)) }
    }

    /// Whether any work-item of the sub-group called this with `true`.
    #[inline(always)]
    #[must_use]
    pub fn any(&self, vote: bool) -> bool {
        self.ballot(vote) != 0
    }

    /// Whether all work-items of the sub-group called this with `true`.
    #[inline(always)]
    #[must_use]
    pub fn all(&self, vote: bool) -> bool {
        self.ballot(!vote) == 0
    }

    /// Waits until every work-item of the sub-group is here. What any of them wrote before, to
    /// local memory or to buffers, is visible to all of them afterwards. Other sub-group operations
    /// do not guarantee that.
    #[inline(always)]
    pub fn barrier(&self) {
        // SAFETY: `self` belongs to a running group, and cannot leave its thread.
        unsafe { __schism_sub_group_barrier() }
    }
}
