//! Filters that read their input once: a tile for each group, and look-back for where its elements
//! go.

use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use crate::algorithms::collect::read;
use crate::algorithms::groups::in_order::InOrder;
use crate::algorithms::groups::look_back::{MOST_LOOKS, PATIENCE};
use crate::algorithms::groups::team::{GROUP, LANES, SUB_GROUPS, Scratch, Team, Unit};
use crate::algorithms::operand::Function;
use crate::api::queue::Queue;
use crate::data::buffer::Buffer;
use crate::data::view::{View, ViewMut};
use crate::error::LaunchError;
use crate::kernel::atomic::AtomicRef;
use crate::kernel::atomic::memory_scope::Device;
use crate::kernel::element::Element;
use crate::kernel::group::local::Local;
use crate::kernel::group::nd_item::NdItem;
use crate::kernel::group::nd_range::NdRange;
use crate::kernel::group::sub_group::SubGroup;
use crate::kernel::unroll::unroll_full;

/// Elements of a work-item.
const ROWS: usize = Scratch::<u32>::RUN;

/// What the elements of a sub-group in a row are counted in, row by row.
const COUNTS: usize = ROWS * SUB_GROUPS;
const _: () = assert!(COUNTS <= GROUP && ROWS <= u32::BITS as usize);

/// Where the group's first element goes, in two halves: behind the counts.
const LOW: usize = COUNTS;
const HIGH: usize = COUNTS + 1;

/// The state of a tile: a count, and in the highest bits what it counts.
const OF_TILE: u64 = 1 << 62;
const UP_TO_TILE: u64 = 2 << 62;
const COUNT: u64 = OF_TILE - 1;

/// Copies the elements whose indices `keep` holds for to the beginning of `output`, as far as there
/// is room. Returns how many there are.
///
/// # Errors
/// [`LaunchError::Panicked`] also if a group waited too long for another one.
pub(in crate::algorithms) fn select<T, P>(
    queue: &Queue,
    input: View<'_, T>,
    output: ViewMut<'_, T>,
    keep: P,
) -> Result<usize, LaunchError>
where
    T: Element,
    P: Fn(usize) -> bool + Function,
{
    let len = input.raw().len();
    let tiles = len.div_ceil(Scratch::<u32>::TILE);
    if tiles == 0 {
        return Ok(0);
    }
    // The next tile; whether a group has given up; a state of each tile.
    let mut words;
    let mut kept = Buffer::<u64>::for_results(queue, 1)?;
    let mut launches = InOrder::new(queue);
    // SAFETY: zeros are numbers; it lives longer than `launches`, and the launch uses it.
    words = unsafe { launches.zeros::<u64>(2 + tiles)? };
    let (states, in_all) = (words.atomic_view(), kept.view_mut());
    let range = NdRange::from_groups(tiles, GROUP)?;
    let kernel = move |work_item: NdItem<'_, 1>, memory: Local<'_, Unit>| {
        let mut team = Team::<u32>::new(work_item, memory);
        let word = |index: usize| {
            // SAFETY: callers name one of the words.
            AtomicRef::<_, Device>::new(unsafe { states.raw().get_unchecked(index) })
        };
        if team.own == 0 {
            let tile = word(0).fetch_add(1, Relaxed);
            team.number().store(tile as u32, Relaxed);
        }
        work_item.barrier();
        let tile = team.number().load(Relaxed) as usize;
        let begin = tile.wrapping_mul(Scratch::<u32>::TILE);
        let rest = len.wrapping_sub(begin);
        let filter =
            Filter { input, output: &output, keep: &keep, word, tiles, words: PhantomData };
        let all = if rest < Scratch::<u32>::TILE {
            filter.run::<false>(&mut team, tile, rest)
        } else {
            filter.run::<true>(&mut team, tile, rest)
        };
        if let Some(all) = all {
            // SAFETY: there is one, which one work-item of the last tile's group writes.
            unsafe { in_all.set_unchecked(0, MaybeUninit::new(all)) };
        }
    };
    // SAFETY: the operands' memory lives for this call, and the buffers longer than `launches`.
    unsafe { launches.launch(range, Scratch::<u32>::source(), kernel)? };
    launches.finish()?;
    // SAFETY: no work-item has panicked, so the last tile's group has written it.
    Ok(read(&unsafe { kept.assume_init() }, 0)? as usize)
}

/// What a group does with a tile.
struct Filter<'a, 'b, T, P, W> {
    input: View<'a, T>,
    output: &'a ViewMut<'a, T>,
    keep: &'a P,
    /// The words of all groups.
    word: W,
    tiles: usize,
    words: PhantomData<&'b AtomicU64>,
}

impl<'b, T, P, W> Filter<'_, 'b, T, P, W>
where
    T: Element,
    P: Fn(usize) -> bool,
    W: Fn(usize) -> AtomicRef<'b, AtomicU64, Device> + Copy,
{
    /// Runs all work-items of a group on a tile of `count` elements, or on a full one. One work-item
    /// of the last tile gets the number of all elements that are kept.
    #[inline(always)]
    fn run<const FULL: bool>(
        &self,
        team: &mut Team<'_, u32>,
        tile: usize,
        count: usize,
    ) -> Option<u64> {
        let count = if FULL { Scratch::<u32>::TILE } else { count };
        let begin = tile.wrapping_mul(Scratch::<u32>::TILE);
        let sub_group = team.sub_group;
        let mut all = None;
        // Small elements are in registers from the beginning, so that they are read once, and side
        // by side.
        let mut loaded = [MaybeUninit::<T>::uninit(); ROWS];
        let is_loaded = FULL && size_of::<T>() <= size_of::<u64>();
        let mut row = 0;
        while row < ROWS {
            unroll_full();
            if is_loaded {
                let index = begin.wrapping_add((row * GROUP).wrapping_add(team.own));
                // SAFETY: an element of the tile.
                loaded[row].write(unsafe { *self.input.raw().get_unchecked(index) });
            }
            row += 1;
        }
        let mut kept = 0_u32;
        row = 0;
        while row < ROWS {
            unroll_full();
            let index = (row * GROUP).wrapping_add(team.own);
            if FULL || index < count {
                kept |= u32::from((self.keep)(begin.wrapping_add(index))) << row;
            }
            row += 1;
        }
        let votes = |row: usize| sub_group.ballot(kept >> row & 1 != 0);
        let place = |row: usize| (row * SUB_GROUPS).wrapping_add(sub_group.group_id());
        row = 0;
        while row < ROWS {
            unroll_full();
            let count = votes(row).count_ones();
            // SAFETY: an element of the tile of counts, which lane 0 of this sub-group writes.
            unsafe {
                if sub_group.local_id() == 0 {
                    team.element(place(row)).write(count);
                }
            }
            row += 1;
        }
        if !team.wait() {
            return None;
        }
        // SAFETY: all counts have been written.
        let own = (team.own < COUNTS).then(|| unsafe { team.element(team.own).read() });
        if !team.scan_totals(own, u32::wrapping_add) {
            return None;
        }
        // SAFETY: the work-items below `COUNTS` had a value; each writes its own element.
        unsafe {
            if team.own < COUNTS {
                team.element(team.own).write(team.before(u32::wrapping_add).unwrap_or(0));
            }
        }
        if sub_group.group_id() == 0 {
            // SAFETY: as above.
            let total = unsafe { team.total(COUNTS, u32::wrapping_add) };
            let before = look_back(sub_group, self.word, tile, u64::from(total));
            if sub_group.local_id() == 0 {
                // SAFETY: elements that nobody else accesses before the next barrier.
                unsafe {
                    team.element(LOW).write(before as u32);
                    team.element(HIGH).write((before >> 32) as u32);
                }
                if tile.wrapping_add(1) == self.tiles {
                    all = Some(before.wrapping_add(u64::from(total)));
                }
            }
        }
        if !team.wait() {
            return None;
        }
        // SAFETY: they are there, and there was a barrier.
        let [low, high] = [LOW, HIGH].map(|half| unsafe { team.element(half).read() });
        let first = (u64::from(high) << 32 | u64::from(low)) as usize;
        let lanes_before = (1_u32 << sub_group.local_id()).wrapping_sub(1);
        // What is behind the end of the output has no place.
        let room = self.output.len().saturating_sub(first);
        row = 0;
        while row < ROWS {
            unroll_full();
            let votes = votes(row);
            if kept >> row & 1 != 0 {
                let index = begin.wrapping_add((row * GROUP).wrapping_add(team.own));
                // SAFETY: it is there; nobody writes it any more.
                let before = unsafe { team.element(place(row)).read() };
                let rank = before.wrapping_add((votes & lanes_before).count_ones()) as usize;
                if rank < room {
                    // SAFETY: both indices are in range; the places of no two elements are the
                    // same.
                    unsafe {
                        let own = if is_loaded {
                            loaded[row].assume_init()
                        } else {
                            *self.input.raw().get_unchecked(index)
                        };
                        self.output.set_unchecked(first.wrapping_add(rank), own);
                    }
                }
            }
            row += 1;
        }
        all
    }
}

/// Sub-groups' widths of tiles that are looked at together.
const WINDOWS: usize = 4;

/// Publishes the count of `tile`, and adds those before it. All lanes of one sub-group call it.
///
/// A state is one number, and sums of whole numbers do not depend on their order.
///
/// # Panics
/// If a tile before this one has no state for too long.
#[inline(always)]
fn look_back<'a>(
    sub_group: SubGroup<'_>,
    word: impl Fn(usize) -> AtomicRef<'a, AtomicU64, Device>,
    tile: usize,
    total: u64,
) -> u64 {
    let lane = sub_group.local_id();
    let own = word(tile.wrapping_add(2));
    if lane == 0 {
        own.store(OF_TILE | total, Relaxed);
    }
    let (mut sum, mut end, mut looks) = (0_u64, tile, 0_u32);
    loop {
        // Lane 0 looks at the tile in front, lane 1 at the one before that; and so on for some more
        // at the same time, since a look takes long.
        let states: [u64; WINDOWS] = std::array::from_fn(|window| {
            let back = (window * LANES).wrapping_add(lane);
            if back < end {
                word(end.wrapping_sub(back).wrapping_add(1)).load(Relaxed)
            } else {
                UP_TO_TILE
            }
        });
        let (mut counted, mut is_found) = (0, false);
        let mut window = 0;
        while window < WINDOWS {
            unroll_full();
            if counted == window && !is_found {
                let state = states[window];
                let nearest = sub_group.ballot(state >= UP_TO_TILE).trailing_zeros();
                let missing = sub_group.ballot(state == 0).trailing_zeros();
                // Both are the number of lanes: all states are there, none of which is the last one.
                if nearest <= missing {
                    let is_counted = lane as u32 <= nearest;
                    let own = if is_counted { state & COUNT } else { 0 };
                    sum = sum.wrapping_add(sub_group.reduce_add(own));
                    counted += 1;
                    is_found = nearest < LANES as u32;
                }
            }
            window += 1;
        }
        if is_found {
            break;
        }
        end = end.wrapping_sub(counted * LANES);
        if counted == WINDOWS {
            continue;
        }
        std::hint::spin_loop();
        looks = looks.wrapping_add(1);
        if looks.is_multiple_of(PATIENCE) {
            let others = word(1).load(Relaxed) != 0;
            if sub_group.any(others || looks >= MOST_LOOKS) {
                word(1).store(1, Relaxed);
                panic!("work-groups before this one have ended");
            }
        }
    }
    if lane == 0 {
        own.store(UP_TO_TILE | sum.wrapping_add(total), Relaxed);
    }
    sum
}
