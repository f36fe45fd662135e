//! A work-item's index in its group and its sub-group.

use crate::hal::host::groups::builtins;
use crate::kernel::abi::is_device;
use crate::kernel::grid::{GridPoint, linear, size};
use crate::kernel::group::nd_item::{NdItem, of_device};
use crate::kernel::group::sub_group::{SIZE, SubGroup};

/// The running work-item in its group and in its sub-group.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Membership {
    local_id: [usize; 3],
    local_range: [usize; 3],
    group_id: [usize; 3],
    group_range: [usize; 3],
}

impl Membership {
    /// A launch with groups is running.
    #[inline(always)]
    pub(crate) fn current() -> Self {
        let (local_id, local_range, group_id, group_range) =
            if is_device() { of_device() } else { builtins::membership() };
        Self { local_id, local_range, group_id, group_range }
    }

    /// The group in the grid of groups, and the work-item in its group.
    #[inline(always)]
    pub(crate) fn in_group(&self) -> (GridPoint, Member) {
        let member = Member {
            index: linear(self.local_id, self.local_range),
            count: size(self.local_range),
            // Not by the index, which is the result of a product.
            is_first: matches!(self.local_id, [0, 0, 0]),
        };
        (GridPoint::new(self.group_id, self.group_range), member)
    }

    /// The sub-group in the row of all sub-groups, and the work-item in its sub-group.
    #[inline(always)]
    pub(crate) fn in_sub_group(&self) -> (GridPoint, Member) {
        let (index, count) = (linear(self.local_id, self.local_range), size(self.local_range));
        let lane = index % SIZE;
        let rest = count.wrapping_sub(index.wrapping_sub(lane));
        let sub_groups = count.div_ceil(SIZE);
        let group = linear(self.group_id, self.group_range);
        let at = group.wrapping_mul(sub_groups).wrapping_add(index / SIZE);
        let all = size(self.group_range).wrapping_mul(sub_groups);
        let member = Member {
            index: lane,
            count: if rest < SIZE { rest } else { SIZE },
            is_first: lane == 0,
        };
        (GridPoint::on_a_line(at, all), member)
    }
}

/// An index in a set of work-items.
#[derive(Clone, Copy, Debug)]
pub struct Member {
    /// The index, from 0; unique in the set.
    pub(crate) index: usize,
    /// The size of the set.
    pub(crate) count: usize,
    /// Whether the index is 0.
    pub(crate) is_first: bool,
}

impl Member {
    /// The only member of a set.
    pub(crate) const ALONE: Self = Self { index: 0, count: 1, is_first: true };
}

/// The indices that belong to a work-item: see [`NdItem::strided`].
#[derive(Clone, Debug)]
pub struct Strided {
    next: usize,
    len: usize,
    step: usize,
}

impl Iterator for Strided {
    type Item = usize;

    #[inline(always)]
    fn next(&mut self) -> Option<usize> {
        let index = self.next;
        if index >= self.len {
            return None;
        }
        // There is no index beyond the largest number.
        self.next = index.saturating_add(self.step);
        Some(index)
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        let rest = self.len.saturating_sub(self.next).div_ceil(self.step);
        (rest, Some(rest))
    }
}

impl<const D: usize> NdItem<'_, D> {
    /// The indices below `len` that belong to this work-item when those of the group take turns:
    /// its [`local_linear_id`](Self::local_linear_id), and further ones in steps of the [size of
    /// the group](Self::group_size). They are the indices of a [`Share`](crate::Share) of `len`
    /// elements.
    #[inline(always)]
    #[must_use]
    pub const fn strided(&self, len: usize) -> Strided {
        Strided { next: self.local_linear_id(), len, step: self.group_size() }
    }
}

impl SubGroup<'_> {
    /// The indices below `len` that belong to this work-item when those of the sub-group take
    /// turns: its [`local_id`](Self::local_id), and further ones in steps of the sub-group's
    /// [size](Self::size).
    #[inline(always)]
    #[must_use]
    pub const fn strided(&self, len: usize) -> Strided {
        Strided { next: self.local_id(), len, step: self.size() }
    }
}
