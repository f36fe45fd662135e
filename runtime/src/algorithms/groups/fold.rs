//! Folds in one launch: each sub-group folds neighbouring elements, row by row, then its group
//! folds the values of its sub-groups, and the last group to end folds the values of all groups.
//!
//! A row has a run for each lane. Only the lanes of a sub-group wait for each other.

use std::mem::MaybeUninit;
use std::sync::atomic::Ordering::{AcqRel, Relaxed};

use crate::algorithms::collect::read;
use crate::algorithms::groups::in_order::InOrder;
use crate::algorithms::groups::team::{
    GROUP, LANES, LONGEST, SUB_GROUPS, Scratch, Team, Unit, join, scan_lanes,
};
use crate::algorithms::operand::Function;
use crate::api::queue::Queue;
use crate::data::buffer::Buffer;
use crate::error::LaunchError;
use crate::kernel::element::Element;
use crate::kernel::group::local::Local;
use crate::kernel::group::nd_item::NdItem;
use crate::kernel::group::nd_range::NdRange;
use crate::kernel::unroll::unroll_full;

/// Combines `init`, if there is one, and `item(0)` to `item(len - 1)`, at least one, by the
/// associative `op`.
pub(in crate::algorithms) fn fold<R, M, F>(
    queue: &Queue,
    init: Option<R>,
    len: usize,
    item: M,
    op: F,
) -> Result<R, LaunchError>
where
    R: Element,
    M: Fn(usize) -> R + Function,
    F: Fn(R, R) -> R + Function,
{
    let tiles = len.div_ceil(Scratch::<R>::TILE);
    // As many groups as run at a time.
    let most = (queue.device().backend().concurrency() / GROUP).max(1);
    let tiles_of_group = tiles.div_ceil(most).max(1);
    let groups = tiles.div_ceil(tiles_of_group);
    let part = tiles_of_group.saturating_mul(Scratch::<R>::TILE);
    // One for each group.
    let mut folded = Buffer::<R>::uninit(queue, groups)?;
    let mut result = Buffer::<R>::for_results(queue, 1)?;
    let mut ended;
    let mut launches = InOrder::new(queue);
    // SAFETY: zeros are numbers; it lives longer than `launches`, and the launch uses it.
    ended = unsafe { launches.zeros::<u32>(1)? };
    let (values, to, count) = (folded.view_mut(), result.view_mut(), ended.atomic_view());
    let range = NdRange::from_groups(groups, GROUP)?;
    let kernel = move |work_item: NdItem<'_, 1>, memory: Local<'_, Unit>| {
        let mut team = Team::<R>::new(work_item, memory);
        let group = work_item.group_x();
        let begin = group.wrapping_mul(part);
        let rest = len.wrapping_sub(begin);
        let own = if rest < part { rest } else { part };
        let Some(value) = team.fold(own, |i| item(begin.wrapping_add(i)), op) else { return };
        if team.own == 0 {
            // SAFETY: there is one for each group. The group's first work-item writes
            // it, and others read it after the counter says so.
            unsafe { values.set_unchecked(group, MaybeUninit::new(value)) };
            let before = count[0].fetch_add(1, AcqRel);
            team.number().store(before, Relaxed);
        }
        // If that one has panicked, no group is the last.
        if !team.wait() || (team.number().load(Relaxed) as usize).wrapping_add(1) != groups {
            return;
        }
        // SAFETY: each group has written its value before it counted itself.
        let of_group = |i: usize| unsafe { values.get_unchecked(i).assume_init() };
        let Some(value) = team.fold_few(groups, of_group, op) else { return };
        if team.own == 0 {
            let value = join(init, value, op);
            // SAFETY: there is one, which one work-item of the launch writes.
            unsafe { to.set_unchecked(0, MaybeUninit::new(value)) };
        }
    };
    // SAFETY: the buffers live longer than `launches`.
    unsafe { launches.launch(range, Scratch::<R>::source(), kernel)? };
    launches.finish()?;
    // SAFETY: no work-item has panicked, so each group has written its value, and one the result.
    read(&unsafe { result.assume_init() }, 0)
}

/// The elements of a row.
const fn row_of<T>() -> usize {
    LANES * Scratch::<T>::RUN
}

impl<T: Element> Team<'_, T> {
    /// Combines `item(0)` to `item(len - 1)`, at least one. Each work-item gets the same; `None` if
    /// a closure has panicked in some.
    #[inline(always)]
    fn fold(
        &mut self,
        len: usize,
        item: impl Fn(usize) -> T,
        op: impl Fn(T, T) -> T + Copy,
    ) -> Option<T> {
        let part = len.div_ceil(row_of::<T>()).div_ceil(SUB_GROUPS).wrapping_mul(row_of::<T>());
        let begin = self.sub_group.group_id().wrapping_mul(part);
        if begin < len {
            let rest = len.wrapping_sub(begin);
            let own = if rest < part { rest } else { part };
            let value = self.fold_rows(own, |i| item(begin.wrapping_add(i)), op)?;
            if self.sub_group.local_id() == 0 {
                // SAFETY: the sub-group's own, of which there are at most as many as lanes.
                unsafe { self.of_lane(self.sub_group.group_id()).write(value) };
            }
        }
        if !self.wait() {
            return None;
        }
        // SAFETY: each sub-group with elements has written its value, and all have waited. The
        // first one has elements.
        let mut sum = unsafe { self.of_lane(0).read() };
        let mut other = 1;
        while other < SUB_GROUPS {
            if other.wrapping_mul(part) < len {
                // SAFETY: as above.
                sum = op(sum, unsafe { self.of_lane(other).read() });
            }
            other += 1;
        }
        // What follows may write these again.
        self.item.barrier();
        Some(sum)
    }

    /// As [`fold`](Self::fold), of few.
    #[inline(always)]
    fn fold_few(
        &mut self,
        len: usize,
        item: impl Fn(usize) -> T,
        op: impl Fn(T, T) -> T + Copy,
    ) -> Option<T> {
        let part = len.div_ceil(GROUP);
        let begin = self.own.wrapping_mul(part);
        let own = (begin < len).then(|| {
            let mut value = item(begin);
            let mut next = begin.wrapping_add(1);
            while next < begin.wrapping_add(part) && next < len {
                value = op(value, item(next));
                next = next.wrapping_add(1);
            }
            value
        });
        if !self.wait() || !self.scan_totals(own, op) {
            return None;
        }
        // SAFETY: so many work-items had a value.
        Some(unsafe { self.total(len.div_ceil(part), op) })
    }

    /// The same of one sub-group; `None` also ends the caller's work-item.
    #[inline(always)]
    fn fold_rows(
        &mut self,
        len: usize,
        item: impl Fn(usize) -> T,
        op: impl Fn(T, T) -> T + Copy,
    ) -> Option<T> {
        let (lane, first) =
            (self.sub_group.local_id(), self.sub_group.group_id().wrapping_mul(row_of::<T>()));
        let mut sum = None;
        let mut begin = 0;
        while begin < len {
            let rest = len.wrapping_sub(begin);
            let is_full = rest >= row_of::<T>();
            let count = if is_full { row_of::<T>() } else { rest };
            let element = |index: usize| self.element(first.wrapping_add(index));
            if is_full {
                // All loads come before all stores.
                let mut loaded = [MaybeUninit::<T>::uninit(); LONGEST];
                let mut step = 0;
                while step < Scratch::<T>::RUN {
                    unroll_full();
                    let index = (step * LANES).wrapping_add(lane);
                    loaded[step].write(item(begin.wrapping_add(index)));
                    step += 1;
                }
                step = 0;
                while step < Scratch::<T>::RUN {
                    unroll_full();
                    let index = (step * LANES).wrapping_add(lane);
                    // SAFETY: it was loaded; an element of the sub-group's part of the tile.
                    unsafe { element(index).write(loaded[step].assume_init()) };
                    step += 1;
                }
            } else {
                let mut index = lane;
                while index < count {
                    // SAFETY: an element of the sub-group's part of the tile.
                    unsafe { element(index).write(item(begin.wrapping_add(index))) };
                    index = index.wrapping_add(LANES);
                }
            }
            self.sub_group.barrier();
            if self.sub_group.ballot(true) != u32::MAX {
                return None;
            }
            let own = lane * Scratch::<T>::RUN;
            let total = (own < count).then(|| {
                // SAFETY: all lanes are there, and have written their elements.
                let mut total = unsafe { element(own).read() };
                let mut step = 1;
                while step < Scratch::<T>::RUN {
                    unroll_full();
                    let index = own.wrapping_add(step);
                    if is_full || index < count {
                        // SAFETY: as above.
                        total = op(total, unsafe { element(index).read() });
                    }
                    step += 1;
                }
                total
            });
            let totals = self.total_of(self.own.wrapping_sub(lane));
            if let Some(total) = total {
                // SAFETY: the work-item's own value.
                unsafe { totals.wrapping_add(lane).write(total) };
            }
            self.sub_group.barrier();
            if self.sub_group.ballot(true) != u32::MAX {
                return None;
            }
            // SAFETY: the values of the sub-group, which it accesses alone; those of the lanes that
            // have elements are there.
            let of_row = unsafe {
                scan_lanes(self.sub_group, totals, total, op);
                if self.sub_group.ballot(true) != u32::MAX {
                    return None;
                }
                totals.wrapping_add(count.div_ceil(Scratch::<T>::RUN).wrapping_sub(1)).read()
            };
            self.sub_group.barrier();
            sum = Some(join(sum, of_row, op));
            begin = begin.wrapping_add(row_of::<T>());
        }
        sum
    }
}
