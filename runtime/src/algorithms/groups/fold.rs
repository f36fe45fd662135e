//! Folds in one launch: each group folds a number of neighbouring tiles, and the last group to end
//! folds the values of all groups.

use std::mem::MaybeUninit;
use std::sync::atomic::Ordering::{AcqRel, Relaxed};

use crate::algorithms::collect::read;
use crate::algorithms::groups::team::{GROUP, Scratch, Team, join};
use crate::algorithms::operand::Function;
use crate::api::queue::Queue;
use crate::data::buffer::Buffer;
use crate::error::LaunchError;
use crate::kernel::element::Element;
use crate::kernel::group::nd_range::NdRange;

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
    // One for each group, and the result.
    let mut folded = Buffer::<R>::uninit(queue, groups + 1)?;
    let mut ended = Buffer::filled(queue, 1, 0_u32)?;
    let (values, count) = (folded.view_mut(), ended.atomic_view());
    let range = NdRange::from_groups(groups, GROUP)?;
    queue.for_each_in(range, Scratch::<R>::source(), move |work_item, memory| {
        let mut team = Team::<R>::new(work_item, memory);
        let group = work_item.group_x();
        let begin = group.wrapping_mul(part);
        let rest = len.wrapping_sub(begin);
        let own = if rest < part { rest } else { part };
        let Some(value) = team.fold(own, |i| item(begin.wrapping_add(i)), op) else { return };
        if team.own == 0 {
            // SAFETY: there is one for each group, and one more. The group's first work-item writes
            // it, and others read it after the counter says so.
            unsafe { values.set_unchecked(group, MaybeUninit::new(value)) };
            let before = count[0].fetch_add(1, AcqRel);
            team.number().store(before, Relaxed);
        }
        // If that one has panicked, nobody is the last.
        if !team.wait() || (team.number().load(Relaxed) as usize).wrapping_add(1) != groups {
            return;
        }
        // SAFETY: each group has written its value before it counted itself.
        let of_group = |i: usize| unsafe { values.get_unchecked(i).assume_init() };
        let Some(value) = team.fold(groups, of_group, op) else { return };
        if team.own == 0 {
            let value = join(init, value, op);
            // SAFETY: it is the last one, which one work-item of the launch writes.
            unsafe { values.set_unchecked(groups, MaybeUninit::new(value)) };
        }
    })?;
    // SAFETY: no work-item has panicked, so each group has written its value, and one the result.
    read(&unsafe { folded.assume_init() }, groups)
}

impl<T: Element> Team<'_, T> {
    /// Combines `item(0)` to `item(len - 1)`, at least one, tile by tile. Each work-item gets the
    /// same; `None` if a closure has panicked in some.
    #[inline(always)]
    fn fold(
        &mut self,
        len: usize,
        item: impl Fn(usize) -> T,
        op: impl Fn(T, T) -> T + Copy,
    ) -> Option<T> {
        let mut sum = None;
        let mut begin = 0;
        while begin < len {
            let rest = len.wrapping_sub(begin);
            let count = if rest < Scratch::<T>::TILE { rest } else { Scratch::<T>::TILE };
            self.load(count, |i| item(begin.wrapping_add(i)));
            if !self.wait() {
                return None;
            }
            // SAFETY: all work-items have loaded their elements and waited.
            let own = unsafe { self.fold_run(count, op) };
            if !self.scan_totals(own, op) {
                return None;
            }
            // SAFETY: so many work-items have a run that is not empty.
            let total = unsafe { self.total(count.div_ceil(Scratch::<T>::RUN), op) };
            sum = Some(join(sum, total, op));
            begin = begin.wrapping_add(Scratch::<T>::TILE);
        }
        sum
    }
}
