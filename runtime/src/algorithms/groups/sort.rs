//! Merge sort of work-groups, for any order: each group sorts a tile in its local memory, then each
//! launch merges pairs of runs to runs of twice the length, a tile of the output for each group.
//!
//! Where the parts of a merge begin is found by [merge path](crate::algorithms::merge_path): for a
//! group in the device's memory, and for each of its work-items in local memory.

use std::cmp::Ordering;
use std::mem::MaybeUninit;

use crate::algorithms::groups::team::{GROUP, LONGEST, Scratch, Team};
use crate::algorithms::merge_path::split;
use crate::algorithms::operand::Function;
use crate::api::queue::Queue;
use crate::data::buffer::Buffer;
use crate::data::view::{View, ViewMut};
use crate::error::LaunchError;
use crate::kernel::element::Element;
use crate::kernel::group::nd_range::NdRange;
use crate::kernel::unroll::unroll_full;

/// Sorts the elements; equal ones keep their order.
pub(in crate::algorithms) fn sort<T, C>(
    queue: &Queue,
    data: ViewMut<'_, T>,
    compare: C,
) -> Result<(), LaunchError>
where
    T: Element,
    C: Fn(&T, &T) -> Ordering + Function,
{
    let (len, tile) = (data.len(), Scratch::<T>::TILE);
    let merges = len.div_ceil(tile).next_power_of_two().ilog2();
    let mut spare = Buffer::<T>::uninit(queue, if merges == 0 { 0 } else { len })?;
    // SAFETY: as long as `data`, if it is used at all. Each launch writes all elements of the one
    // and reads what the launch before it has written, in the other one or in the same place.
    let places = unsafe {
        let other = spare.view_mut().elements().cast::<T>();
        [data.elements(), other].map(|elements| move || ViewMut::new(elements, len))
    };
    // The last launch writes to `data`.
    let mut to = (merges % 2) as usize;
    // SAFETY: a group reads its tile before it writes it.
    let from = unsafe { ViewMut::new(data.elements(), len) };
    sort_tiles(queue, from, places[to](), compare)?;
    let mut run = tile;
    for _ in 0..merges {
        merge_runs(queue, places[to]().into_view(), places[1 - to](), run, compare)?;
        to = 1 - to;
        run = run.saturating_mul(2);
    }
    Ok(())
}

/// Sorts each tile of `from` to the same place of `to`, which may be the same memory.
fn sort_tiles<T, C>(
    queue: &Queue,
    from: ViewMut<'_, T>,
    to: ViewMut<'_, T>,
    compare: C,
) -> Result<(), LaunchError>
where
    T: Element,
    C: Fn(&T, &T) -> Ordering + Function,
{
    let len = from.len();
    let range = NdRange::from_groups(len.div_ceil(Scratch::<T>::TILE), GROUP)?;
    queue.for_each_in(range, Scratch::<T>::source(), move |work_item, memory| {
        let mut team = Team::<T>::new(work_item, memory);
        let begin = work_item.group_x().wrapping_mul(Scratch::<T>::TILE);
        let rest = len.wrapping_sub(begin);
        let count = if rest < Scratch::<T>::TILE { rest } else { Scratch::<T>::TILE };
        // SAFETY: elements of the group's tile, which it alone accesses.
        team.load(count, |i| unsafe { from.get_unchecked(begin.wrapping_add(i)) });
        if !team.wait() {
            return;
        }
        // SAFETY: the tile has so many elements, and they are there.
        unsafe { team.sort_run(count, compare) };
        let mut run = Scratch::<T>::RUN;
        while run < Scratch::<T>::TILE {
            if !team.wait() {
                return;
            }
            let own = team.own.wrapping_mul(Scratch::<T>::RUN);
            let pair = least(own.wrapping_sub(own % (2 * run)), count);
            let middle = least(pair.wrapping_add(run), count);
            let end = least(middle.wrapping_add(run), count);
            // SAFETY: all work-items have sorted or merged theirs and waited.
            if !unsafe { team.merge([pair, middle, end], least(own, count), compare) } {
                return;
            }
            run *= 2;
        }
        work_item.barrier();
        team.store(count, |i, value| {
            // SAFETY: as above.
            unsafe { to.set_unchecked(begin.wrapping_add(i), value) };
        });
    })
}

/// Merges pairs of neighbouring runs of `run` elements, a multiple of a tile's.
fn merge_runs<T, C>(
    queue: &Queue,
    from: View<'_, T>,
    to: ViewMut<'_, T>,
    run: usize,
    compare: C,
) -> Result<(), LaunchError>
where
    T: Element,
    C: Fn(&T, &T) -> Ordering + Function,
{
    let len = to.len();
    let range = NdRange::from_groups(len.div_ceil(Scratch::<T>::TILE), GROUP)?;
    queue.for_each_in(range, Scratch::<T>::source(), move |work_item, memory| {
        let mut team = Team::<T>::new(work_item, memory);
        let begin = work_item.group_x().wrapping_mul(Scratch::<T>::TILE);
        let rest = len.wrapping_sub(begin);
        let count = if rest < Scratch::<T>::TILE { rest } else { Scratch::<T>::TILE };
        // Both runs begin here; the second one may be shorter, or empty.
        let pair = begin.wrapping_sub(begin % run.saturating_mul(2));
        let (a, rest) = from.raw()[pair..].split_at(least(run, len.wrapping_sub(pair)));
        let b = &rest[..least(run, rest.len())];
        // Work-items do the same here, so that all know it.
        let first = begin.wrapping_sub(pair);
        let last = first.wrapping_add(count);
        let from_a = split(a, b, first, compare);
        let from_b = first.wrapping_sub(from_a);
        // In runs that are not sorted by the order that is no order, the end may be anywhere.
        let (low, high) =
            (last.saturating_sub(b.len()).max(from_a), least(a.len(), from_a.wrapping_add(count)));
        let of_a = least(split(a, b, last, compare).max(low), high).wrapping_sub(from_a);
        team.load(count, |i| {
            if i < of_a {
                a[from_a.wrapping_add(i)]
            } else {
                b[from_b.wrapping_add(i.wrapping_sub(of_a))]
            }
        });
        if !team.wait() {
            return;
        }
        let own = least(team.own.wrapping_mul(Scratch::<T>::RUN), count);
        // SAFETY: all work-items have loaded their elements and waited.
        if !unsafe { team.merge([0, of_a, count], own, compare) } {
            return;
        }
        work_item.barrier();
        team.store(count, |i, value| {
            // SAFETY: elements of the group's tile, which it alone writes.
            unsafe { to.set_unchecked(begin.wrapping_add(i), value) };
        });
    })
}

#[inline(always)]
const fn least(a: usize, b: usize) -> usize {
    if a < b { a } else { b }
}

impl<T: Element> Team<'_, T> {
    /// Sorts the work-item's run in place, by exchanges of neighbours. The loops have constant
    /// lengths, so that the elements are in registers.
    ///
    /// # Safety
    /// The tile has `count` elements, and there was a barrier since they were written.
    #[inline(always)]
    unsafe fn sort_run(&self, count: usize, compare: impl Fn(&T, &T) -> Ordering) {
        let (begin, end) = self.run(count);
        let len = end.wrapping_sub(begin);
        let mut own = [MaybeUninit::<T>::uninit(); LONGEST];
        let mut step = 0;
        while step < Scratch::<T>::RUN {
            unroll_full();
            if step < len {
                // SAFETY: an element of the tile.
                own[step].write(unsafe { self.element(begin.wrapping_add(step)).read() });
            }
            step += 1;
        }
        let mut round = 0;
        while round < Scratch::<T>::RUN {
            unroll_full();
            let mut step = round % 2;
            while step + 1 < Scratch::<T>::RUN {
                unroll_full();
                if step + 1 < len {
                    // SAFETY: both are there.
                    let (a, b) = unsafe { (own[step].assume_init(), own[step + 1].assume_init()) };
                    if compare(&b, &a).is_lt() {
                        own[step].write(b);
                        own[step + 1].write(a);
                    }
                }
                step += 2;
            }
            round += 1;
        }
        let mut step = 0;
        while step < Scratch::<T>::RUN {
            unroll_full();
            if step < len {
                // SAFETY: an element of the own run, which no other work-item accesses before the
                // next barrier.
                unsafe {
                    self.element(begin.wrapping_add(step)).write(own[step].assume_init());
                }
            }
            step += 1;
        }
    }

    /// Merges the elements from `pair` to `middle` with those up to `end`: this work-item the run
    /// that begins at `own`. Returns whether all work-items are there.
    ///
    /// # Safety
    /// The tile has these elements, and there was a barrier since they were written. `pair <=
    /// middle <= end`, and `pair <= own <= end`.
    #[inline(always)]
    #[must_use]
    unsafe fn merge(
        &mut self,
        [pair, middle, end]: [usize; 3],
        own: usize,
        compare: impl Fn(&T, &T) -> Ordering + Copy,
    ) -> bool {
        let mut merged = [MaybeUninit::<T>::uninit(); LONGEST];
        // SAFETY: elements of the tile, which nobody changes before the next barrier.
        let (a, b) = unsafe {
            (
                &*std::ptr::slice_from_raw_parts(self.element(pair), middle.wrapping_sub(pair)),
                &*std::ptr::slice_from_raw_parts(self.element(middle), end.wrapping_sub(middle)),
            )
        };
        let diagonal = own.wrapping_sub(pair);
        let mut i = split(a, b, diagonal, compare);
        let mut j = diagonal.wrapping_sub(i);
        let mut step = 0;
        while step < Scratch::<T>::RUN {
            unroll_full();
            if own.wrapping_add(step) < end {
                // There are so many left in both together.
                let is_b = j < b.len() && (i >= a.len() || compare(&b[j], &a[i]).is_lt());
                merged[step].write(if is_b { b[j] } else { a[i] });
                j = j.wrapping_add(usize::from(is_b));
                i = i.wrapping_add(usize::from(!is_b));
            }
            step += 1;
        }
        if !self.wait() {
            return false;
        }
        let mut step = 0;
        while step < Scratch::<T>::RUN {
            unroll_full();
            if own.wrapping_add(step) < end {
                // SAFETY: an element of the own run; all have read theirs.
                unsafe {
                    self.element(own.wrapping_add(step)).write(merged[step].assume_init());
                }
            }
            step += 1;
        }
        true
    }

    /// Stores the `count` elements of a tile, as [`load`](Self::load) loads them. There was a
    /// barrier since they were written, and they are valid.
    #[inline(always)]
    fn store(&self, count: usize, store: impl Fn(usize, T)) {
        let mut row = 0;
        while row < Scratch::<T>::RUN {
            unroll_full();
            let index = (row * GROUP).wrapping_add(self.own);
            if index < count {
                // SAFETY: an element of the tile.
                store(index, unsafe { self.element(index).read() });
            }
            row += 1;
        }
    }
}
