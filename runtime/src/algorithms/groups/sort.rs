//! Merge sort of work-groups, for any order: each group sorts a tile in its local memory, then each
//! launch merges pairs of runs to runs of twice the length, a tile of the output for each group.
//!
//! Where the parts of a merge begin and end is found by [merge path](crate::algorithms::merge_path):
//! for a group in the device's memory, for each of its work-items in local memory. Where there are
//! many groups, a launch before finds it for all, with a work-item for each group. Where there are
//! few, each group searches for itself: the steps of a search wait for each other, so all lanes of a
//! sub-group look at once, and a step divides what is left by 33.
//!
//! The host does not wait between launches. A closure that panics leaves elements unwritten, so each
//! group counts what it has done, and a launch after one that is not complete does nothing.

use std::cmp::Ordering;
use std::mem::MaybeUninit;
use std::ops::Not;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use crate::algorithms::groups::in_order::InOrder;
use crate::algorithms::groups::team::{GROUP, LANES, ScratchOf, TeamOf, Unit};
use crate::algorithms::merge_path;
use crate::algorithms::operand::Function;
use crate::api::queue::Queue;
use crate::data::buffer::Buffer;
use crate::data::view::{View, ViewMut};
use crate::error::LaunchError;
use crate::kernel::element::Element;
use crate::kernel::group::local::{Local, local};
use crate::kernel::group::nd_item::NdItem;
use crate::kernel::group::nd_range::NdRange;
use crate::kernel::group::sub_group::SubGroup;
use crate::kernel::unroll::unroll_full;

/// The longest run of a work-item: longer ones make fewer merges.
const LONGEST: usize = 17;

/// The local memory of a group.
pub(super) type Scratch<T> = ScratchOf<T, LONGEST>;

type Team<'g, T> = TeamOf<'g, T, LONGEST>;

/// Up to so many groups, parts of merges are found by the groups that merge. More groups do not all
/// run at a time, and the registers that a search takes cost more than a launch.
const FEW: usize = 1024;

/// Searches of a group: few, so that all of a GPU's processors have some.
const SEARCHES: usize = 64;

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
    let tiles = len.div_ceil(tile);
    let merges = tiles.next_power_of_two().ilog2();
    let mut spare = Buffer::<T>::uninit(queue, if merges == 0 { 0 } else { len })?;
    let is_found_before = tiles > FEW;
    let (mut begins, mut done);
    let mut launches = InOrder::new(queue);
    // SAFETY: zeros are numbers; they live longer than `launches`, and the launches use them.
    unsafe {
        begins = launches.zeros::<usize>(if is_found_before { tiles + 1 } else { 0 })?;
        done = launches.zeros::<u64>(1)?;
    }
    // SAFETY: as long as `data`, if it is used at all. Each launch writes all elements of the one
    // and reads what the launch before it has written, in the other one or in the same place.
    let places = unsafe {
        let other = spare.view_mut().elements().cast::<T>();
        [data.elements(), other].map(|elements| move || ViewMut::new(elements, len))
    };
    let (begins, len_of_begins) = (begins.view_mut().elements(), begins.len());
    // SAFETY: the buffer's elements; launches that write them and that read them take turns.
    let begins = || unsafe { ViewMut::new(begins, len_of_begins) };
    let done = done.atomic_view();
    let progress = |launches: u32| Progress { done, tiles, launches };
    // The last launch writes to `data`.
    let mut to = (merges % 2) as usize;
    // SAFETY: a group reads its tile before it writes it.
    let from = unsafe { ViewMut::new(data.elements(), len) };
    // SAFETY: all that the kernels refer to lives longer than `launches`.
    unsafe {
        sort_tiles(&mut launches, from, places[to](), progress(0), compare)?;
        let mut run = 1_usize;
        for merge in 1..=merges {
            let runs = || Runs { from: places[to]().into_view(), run };
            let (to_here, progress) = (places[1 - to](), || progress(merge));
            if is_found_before {
                find_begins(&mut launches, runs(), begins(), progress(), compare)?;
                let begins = begins().into_view();
                merge_runs::<true, _, _>(
                    &mut launches,
                    runs(),
                    begins,
                    to_here,
                    progress(),
                    compare,
                )?;
            } else {
                let begins = begins().into_view();
                merge_runs::<false, _, _>(
                    &mut launches,
                    runs(),
                    begins,
                    to_here,
                    progress(),
                    compare,
                )?;
            }
            to = 1 - to;
            run = run.saturating_mul(2);
        }
    }
    launches.finish()
}

/// How far the launches are that sort and merge.
struct Progress<'a> {
    /// How many groups of all launches have written their tiles.
    done: View<'a, AtomicU64>,
    tiles: usize,
    /// So many launches must be complete.
    launches: u32,
}

impl Progress<'_> {
    /// Whether all elements are there.
    #[inline(always)]
    fn is_ready(&self) -> bool {
        // Groups of the running launch may have counted themselves already.
        self.done[0].load(Relaxed) >= (self.tiles as u64).wrapping_mul(u64::from(self.launches))
    }

    /// Counts a group that has written its tile.
    #[inline(always)]
    fn count<T: Element>(&self, team: &mut Team<'_, T>) {
        if team.wait() && team.own == 0 {
            self.done[0].fetch_add(1, Relaxed);
        }
    }
}

/// Sorts each tile of `from` to the same place of `to`, which may be the same memory.
///
/// # Safety
/// All that it refers to lives until `launches` is finished or dropped.
unsafe fn sort_tiles<T, C>(
    launches: &mut InOrder<'_>,
    from: ViewMut<'_, T>,
    to: ViewMut<'_, T>,
    progress: Progress<'_>,
    compare: C,
) -> Result<(), LaunchError>
where
    T: Element,
    C: Fn(&T, &T) -> Ordering + Function,
{
    let len = from.len();
    let range = NdRange::from_groups(progress.tiles, GROUP)?;
    let kernel = move |work_item: NdItem<'_, 1>, memory: Local<'_, Unit>| {
        let mut team = Team::<T>::new(work_item, memory);
        let (begin, count) = tile_of::<T>(work_item.group_x(), len);
        // SAFETY: elements of the group's tile, which it alone accesses.
        let element = |i: usize| unsafe { from.get_unchecked(begin.wrapping_add(i)) };
        // SAFETY: as above.
        let store = |i: usize, own: T| unsafe { to.set_unchecked(begin.wrapping_add(i), own) };
        let is_sorted = if count == Scratch::<T>::TILE {
            team.sort_tile::<true>(count, element, store, compare)
        } else {
            team.sort_tile::<false>(count, element, store, compare)
        };
        if is_sorted {
            progress.count(&mut team);
        }
    };
    // SAFETY: the caller's promise.
    unsafe { launches.launch(range, Scratch::<T>::source(), kernel) }
}

/// Sorted runs of the same length, but for the last one.
struct Runs<'a, T> {
    from: View<'a, T>,
    /// The length in tiles, a power of two.
    run: usize,
}

/// Both runs of the pair that a tile belongs to, and where the pair begins. The second run may be
/// shorter, or empty.
#[inline(always)]
fn pair_of<T>(from: &[T], run: usize, tile: usize) -> (&[T], &[T], usize) {
    let first = tile & run.wrapping_mul(2).wrapping_sub(1).not();
    let pair = first.wrapping_mul(Scratch::<T>::TILE);
    let len = run.saturating_mul(Scratch::<T>::TILE);
    let (a, rest) = from[pair..].split_at(least(len, from.len().wrapping_sub(pair)));
    (a, &rest[..least(len, rest.len())], pair)
}

/// Finds for each tile of the merged runs how many of the elements before it are of its pair's first
/// run.
///
/// # Safety
/// All that it refers to lives until `launches` is finished or dropped.
unsafe fn find_begins<T, C>(
    launches: &mut InOrder<'_>,
    runs: Runs<'_, T>,
    begins: ViewMut<'_, usize>,
    progress: Progress<'_>,
    compare: C,
) -> Result<(), LaunchError>
where
    T: Element,
    C: Fn(&T, &T) -> Ordering + Function,
{
    let range = NdRange::from_groups(progress.tiles.div_ceil(SEARCHES), SEARCHES)?;
    let kernel = move |work_item: NdItem<'_, 1>, _: Local<'_, u32>| {
        let tile = work_item.group_x().wrapping_mul(SEARCHES).wrapping_add(work_item.local_x());
        if tile >= progress.tiles || !progress.is_ready() {
            return;
        }
        let begin = tile.wrapping_mul(Scratch::<T>::TILE);
        let (a, b, pair) = pair_of(runs.from.raw(), runs.run, tile);
        let of_a = merge_path::split(a, b, begin.wrapping_sub(pair), compare);
        // SAFETY: there is one for each tile.
        unsafe { begins.set_unchecked(tile, of_a) };
    };
    // SAFETY: the caller's promise.
    unsafe { launches.launch(range, local::<u32>(1), kernel) }
}

/// Merges pairs of neighbouring runs. Where the parts of the tiles begin is in `begins`, if it
/// `IS_FOUND`.
///
/// # Safety
/// All that it refers to lives until `launches` is finished or dropped.
unsafe fn merge_runs<const IS_FOUND: bool, T, C>(
    launches: &mut InOrder<'_>,
    runs: Runs<'_, T>,
    begins: View<'_, usize>,
    to: ViewMut<'_, T>,
    progress: Progress<'_>,
    compare: C,
) -> Result<(), LaunchError>
where
    T: Element,
    C: Fn(&T, &T) -> Ordering + Function,
{
    let len = to.len();
    let range = NdRange::from_groups(progress.tiles, GROUP)?;
    let kernel = move |work_item: NdItem<'_, 1>, memory: Local<'_, Unit>| {
        if !progress.is_ready() {
            return;
        }
        let mut team = Team::<T>::new(work_item, memory);
        let tile = work_item.group_x();
        let (begin, count) = tile_of::<T>(tile, len);
        let (a, b, pair) = pair_of(runs.from.raw(), runs.run, tile);
        let first = begin.wrapping_sub(pair);
        let last = first.wrapping_add(count);
        let [found, next] = if IS_FOUND {
            // The last tile of a pair ends where both runs do; others where the next one begins.
            let is_last = last == a.len().wrapping_add(b.len());
            // SAFETY: there is one for each tile, and a tile that is not the last has a next one.
            unsafe {
                let next = if is_last { tile } else { tile.wrapping_add(1) };
                let next = *begins.get_unchecked(next);
                [*begins.get_unchecked(tile), if is_last { a.len() } else { next }]
            }
        } else {
            let Some(found) = team.find_part(a, b, [first, last], compare) else { return };
            found
        };
        // In runs that are not sorted by the order that is no order, parts may begin anywhere.
        let from_a = least(found.max(first.saturating_sub(b.len())), least(a.len(), first));
        let from_b = first.wrapping_sub(from_a);
        let (low, high) =
            (last.saturating_sub(b.len()).max(from_a), least(a.len(), from_a.wrapping_add(count)));
        let of_a = least(next.max(low), high).wrapping_sub(from_a);
        // SAFETY: the limits above make these elements of the runs.
        let (from_a, from_b) =
            unsafe { (a.as_ptr().add(from_a), b.as_ptr().add(from_b).wrapping_sub(of_a)) };
        let part = of_a as u32;
        // SAFETY: as above.
        let element =
            |i: usize| unsafe { if (i as u32) < part { from_a } else { from_b }.add(i).read() };
        // SAFETY: the group's tile, which it alone writes.
        let store = |i: usize, own: T| unsafe { to.set_unchecked(begin.wrapping_add(i), own) };
        let is_merged = if count == Scratch::<T>::TILE {
            team.merge_tile::<true>(part, count, element, store, compare)
        } else {
            team.merge_tile::<false>(part, count, element, store, compare)
        };
        if is_merged {
            progress.count(&mut team);
        }
    };
    // SAFETY: the caller's promise.
    unsafe { launches.launch(range, Scratch::<T>::source(), kernel) }
}

/// Where a tile of `len` elements begins, and how many it has.
#[inline(always)]
const fn tile_of<T>(tile: usize, len: usize) -> (usize, usize) {
    let begin = tile.wrapping_mul(Scratch::<T>::TILE);
    (begin, least(len.wrapping_sub(begin), Scratch::<T>::TILE))
}

#[inline(always)]
const fn least(a: usize, b: usize) -> usize {
    if a < b { a } else { b }
}

/// The elements of a tile: a constant of the code for a full one.
#[inline(always)]
const fn elements_of<T, const FULL: bool>(count: usize) -> u32 {
    // A tile is in local memory.
    if FULL { Scratch::<T>::TILE as u32 } else { count as u32 }
}

/// Indices in a tile are short numbers, which take half as many instructions.
impl<T: Element> Team<'_, T> {
    /// An element of the tile.
    #[inline(always)]
    fn at_index(&self, index: u32) -> *mut T {
        self.element(index as usize)
    }

    /// The work-item's place in the group.
    #[inline(always)]
    const fn own_index(&self) -> u32 {
        self.own as u32
    }

    /// Loads a tile of `count` elements, sorts it and stores it. Returns whether all work-items are
    /// there; otherwise nothing is stored.
    #[inline(always)]
    #[must_use]
    fn sort_tile<const FULL: bool>(
        &mut self,
        count: usize,
        element: impl Fn(usize) -> T,
        store: impl Fn(usize, T),
        compare: impl Fn(&T, &T) -> Ordering + Copy,
    ) -> bool {
        let len = elements_of::<T, FULL>(count);
        self.load_guarded(len, element);
        if !self.wait() {
            return false;
        }
        // SAFETY: the tile has so many elements, and they are there.
        unsafe { self.sort_run::<FULL>(len, compare) };
        let mut run = 1;
        while run < GROUP as u32 {
            if !self.wait() {
                return false;
            }
            let place = |work_item: u32| {
                let index = work_item.wrapping_mul(Scratch::<T>::RUN as u32);
                if FULL || index < len { index } else { len }
            };
            let pair = self.own_index() & run.wrapping_mul(2).wrapping_sub(1).not();
            let at = [pair, pair.wrapping_add(run), pair.wrapping_add(run.wrapping_mul(2))];
            // SAFETY: all work-items have sorted or merged theirs and waited.
            if !unsafe { self.merge::<FULL>(at.map(place), place(self.own_index()), compare) } {
                return false;
            }
            run = run.wrapping_mul(2);
        }
        self.item.barrier();
        self.store(len, store);
        true
    }

    /// How many of the first elements of a merge come from `a`, for two numbers of them. `None` if
    /// not all work-items are there.
    #[inline(always)]
    fn find_part(
        &mut self,
        a: &[T],
        b: &[T],
        diagonals: [usize; 2],
        compare: impl Fn(&T, &T) -> Ordering + Copy,
    ) -> Option<[usize; 2]> {
        let number = self.own / LANES;
        if number < diagonals.len() {
            let diagonal = if number == 0 { diagonals[0] } else { diagonals[1] };
            let found = split_together(self.sub_group, a, b, diagonal, compare);
            if self.sub_group.local_id() == 0 {
                self.set_size(number, found);
            }
        }
        self.wait().then(|| [self.size(0), self.size(1)])
    }

    /// Loads a tile of `count` elements, merges the first `of_a` with the others, and stores it.
    /// Returns whether all work-items are there; otherwise nothing is stored.
    #[inline(always)]
    #[must_use]
    fn merge_tile<const FULL: bool>(
        &mut self,
        of_a: u32,
        count: usize,
        element: impl Fn(usize) -> T,
        store: impl Fn(usize, T),
        compare: impl Fn(&T, &T) -> Ordering + Copy,
    ) -> bool {
        let len = elements_of::<T, FULL>(count);
        self.load_guarded(len, element);
        if !self.wait() {
            return false;
        }
        let own = self.own_index().wrapping_mul(Scratch::<T>::RUN as u32);
        let own = if FULL || own < len { own } else { len };
        // SAFETY: all work-items have loaded their elements and waited.
        if !unsafe { self.merge::<FULL>([0, of_a, len], own, compare) } {
            return false;
        }
        self.item.barrier();
        self.store(len, store);
        true
    }

    /// Loads a tile, and writes one of its elements behind the last one, for those who read an
    /// element too many.
    #[inline(always)]
    fn load_guarded(&self, len: u32, element: impl Fn(usize) -> T) {
        self.load(len as usize, element);
        if self.own == 0 {
            // SAFETY: a tile has an element, and this work-item has loaded the first one. Behind
            // the tile there is room for one.
            unsafe { self.at_index(len).write(self.element(0).read()) };
        }
    }

    /// Sorts the work-item's run in place, by exchanges of neighbours. The loops have constant
    /// lengths, so that the elements are in registers.
    ///
    /// # Safety
    /// The tile has `len` elements, and there was a barrier since they were written.
    #[inline(always)]
    unsafe fn sort_run<const FULL: bool>(&self, len: u32, compare: impl Fn(&T, &T) -> Ordering) {
        let begin = self.own_index().wrapping_mul(Scratch::<T>::RUN as u32);
        let own_len = if FULL { Scratch::<T>::RUN as u32 } else { len.saturating_sub(begin) };
        let is_there = |step: usize| FULL || (step as u32) < own_len;
        let mut own = [MaybeUninit::<T>::uninit(); LONGEST];
        let mut step = 0;
        while step < Scratch::<T>::RUN {
            unroll_full();
            if is_there(step) {
                // SAFETY: an element of the tile.
                own[step].write(unsafe { self.at_index(begin.wrapping_add(step as u32)).read() });
            }
            step += 1;
        }
        let mut round = 0;
        while round < Scratch::<T>::RUN {
            unroll_full();
            let mut step = round % 2;
            while step + 1 < Scratch::<T>::RUN {
                unroll_full();
                if is_there(step + 1) {
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
            if is_there(step) {
                // SAFETY: an element of the own run, which no other work-item accesses before the
                // next barrier.
                unsafe {
                    self.at_index(begin.wrapping_add(step as u32)).write(own[step].assume_init());
                }
            }
            step += 1;
        }
    }

    /// Merges the elements from `pair` to `middle` with those up to `end`: this work-item the run
    /// that begins at `own`. Returns whether all work-items are there.
    ///
    /// # Safety
    /// The tile has these elements, and one behind the last; there was a barrier since they were
    /// written. `pair <= middle <= end`, and `pair <= own <= end`; in a full tile the run ends
    /// before `end`, too.
    #[inline(always)]
    #[must_use]
    unsafe fn merge<const FULL: bool>(
        &mut self,
        [pair, middle, end]: [u32; 3],
        own: u32,
        compare: impl Fn(&T, &T) -> Ordering + Copy,
    ) -> bool {
        let mut merged = [MaybeUninit::<T>::uninit(); LONGEST];
        // SAFETY: elements of the tile, or the one after it; no work-item changes them before the next
        // barrier.
        let read = |index: u32| unsafe { self.at_index(index).read() };
        let diagonal = own.wrapping_sub(pair);
        let (len_a, len_b) = (middle.wrapping_sub(pair), end.wrapping_sub(middle));
        // The last element of `b` that may be taken, for each of `a`.
        let last = middle.wrapping_add(diagonal).wrapping_sub(1);
        let range = [diagonal.saturating_sub(len_b), diagonal.min(len_a)];
        let from_a = search(range, |of_a| {
            let (a, b) = (read(pair.wrapping_add(of_a)), read(last.wrapping_sub(of_a)));
            compare(&b, &a).is_lt()
        });
        // The next element of each part, and where it is; what is behind a part's end is never
        // taken.
        let (mut i, mut j) =
            (pair.wrapping_add(from_a), middle.wrapping_add(diagonal.wrapping_sub(from_a)));
        let (mut next_a, mut next_b) = (read(i), read(j));
        let is_there = |step: usize| FULL || own.wrapping_add(step as u32) < end;
        let mut step = 0;
        while step < Scratch::<T>::RUN {
            unroll_full();
            if is_there(step) {
                // There is one left in one of them. Both are compared in any case: a branch would be
                // one that lanes do not agree about.
                let is_less = compare(&next_b, &next_a).is_lt();
                let is_b = (j < end) & ((i >= middle) | is_less);
                merged[step].write(if is_b { next_b } else { next_a });
                // One of the two moves on, and one element is read.
                let index = if is_b { j } else { i }.wrapping_add(1);
                let next = read(index);
                if is_b {
                    (j, next_b) = (index, next);
                } else {
                    (i, next_a) = (index, next);
                }
            }
            step += 1;
        }
        if !self.wait() {
            return false;
        }
        let mut step = 0;
        while step < Scratch::<T>::RUN {
            unroll_full();
            if is_there(step) {
                // SAFETY: an element of the own run; all have read theirs.
                unsafe {
                    self.at_index(own.wrapping_add(step as u32)).write(merged[step].assume_init());
                }
            }
            step += 1;
        }
        true
    }

    /// Stores the `len` elements of a tile, as [`load`](Self::load) loads them. There was a
    /// barrier since they were written, and they are valid.
    #[inline(always)]
    fn store(&self, len: u32, store: impl Fn(usize, T)) {
        let mut row = 0;
        while row < Scratch::<T>::RUN {
            unroll_full();
            let index = (row * GROUP).wrapping_add(self.own);
            if len as usize == Scratch::<T>::TILE || index < len as usize {
                // SAFETY: an element of the tile.
                store(index, unsafe { self.element(index).read() });
            }
            row += 1;
        }
    }
}

/// As [`merge_path::split`], by all lanes of a sub-group.
#[inline(always)]
fn split_together<T>(
    sub_group: SubGroup<'_>,
    a: &[T],
    b: &[T],
    diagonal: usize,
    compare: impl Fn(&T, &T) -> Ordering,
) -> usize {
    let lane = sub_group.local_id();
    let (mut low, mut high) = (diagonal.saturating_sub(b.len()), least(diagonal, a.len()));
    while low < high {
        let left = high.wrapping_sub(low);
        // Lanes look at the last one of so many each.
        let step = (left / (LANES + 1)).wrapping_add(1);
        let probe = low.wrapping_add(step.wrapping_mul(lane.wrapping_add(1))).wrapping_sub(1);
        // SAFETY: `low` and `high` stay between their first values, so that these are elements.
        let is_behind = probe < high
            && unsafe {
                let of_b = diagonal.wrapping_sub(1).wrapping_sub(probe);
                compare(b.get_unchecked(of_b), a.get_unchecked(probe)).is_lt()
            };
        let behind = sub_group.ballot(is_behind).trailing_zeros() as usize;
        let probes = least(left / step, LANES);
        let before = least(behind, probes);
        low = low.wrapping_add(before.wrapping_mul(step));
        if before < probes {
            high = low.wrapping_add(step).wrapping_sub(1);
        }
    }
    low
}

/// The first number from `low` to `high` that `is_behind` holds for, or `high`.
#[inline(always)]
fn search([mut low, mut high]: [u32; 2], is_behind: impl Fn(u32) -> bool) -> u32 {
    while low < high {
        let middle = low.wrapping_add(high) / 2;
        if is_behind(middle) {
            high = middle;
        } else {
            low = middle.wrapping_add(1);
        }
    }
    low
}
