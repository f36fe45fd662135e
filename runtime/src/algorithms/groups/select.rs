//! Filters that read their input once: a tile for each group, and look-back for where its elements
//! go.

use std::mem::MaybeUninit;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use crate::algorithms::collect::read;
use crate::algorithms::groups::in_order::InOrder;
use crate::algorithms::groups::look_back::{MOST_LOOKS, PATIENCE};
use crate::algorithms::groups::team::{GROUP, LANES, SUB_GROUPS, ScratchOf, TeamOf, Unit};
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
use crate::kernel::unroll::unroll;

/// Elements of a work-item.
const ROWS: usize = 31;

/// Elements of a group.
const TILE: usize = ROWS * GROUP;

/// Local memory has counts only.
type Scratch = ScratchOf<u32, 1>;
type Team<'g> = TeamOf<'g, u32, 1>;

/// What the elements of a sub-group in a row are counted in, row by row.
const COUNTS: usize = ROWS * SUB_GROUPS;
const _: () = assert!(COUNTS + 2 <= GROUP && ROWS <= u32::BITS as usize);

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
    let tiles = len.div_ceil(TILE);
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
        let mut team = Team::new(work_item, memory);
        let sub_group = team.sub_group;
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
        let begin = tile.wrapping_mul(TILE);
        let rest = len.wrapping_sub(begin);
        let count = if rest < TILE { rest } else { TILE };
        let mut kept = 0_u32;
        let keeps = |row: usize, index: usize| u32::from(keep(begin.wrapping_add(index))) << row;
        let mut row = 0;
        if count == TILE {
            while row < ROWS {
                // So many loads are on their way at a time.
                unroll::<8>();
                kept |= keeps(row, (row * GROUP).wrapping_add(team.own));
                row += 1;
            }
        } else {
            while row < ROWS {
                let index = (row * GROUP).wrapping_add(team.own);
                if index < count {
                    kept |= keeps(row, index);
                }
                row += 1;
            }
        }
        let votes = |row: usize| sub_group.ballot(kept >> row & 1 != 0);
        let place = |row: usize| (row * SUB_GROUPS).wrapping_add(sub_group.group_id());
        row = 0;
        while row < ROWS {
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
            return;
        }
        // SAFETY: all counts have been written.
        let own = (team.own < COUNTS).then(|| unsafe { team.element(team.own).read() });
        if !team.scan_totals(own, u32::wrapping_add) {
            return;
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
            let before = look_back(sub_group, word, tile, u64::from(total));
            if sub_group.local_id() == 0 {
                // SAFETY: elements that nobody else accesses before the next barrier.
                unsafe {
                    team.element(LOW).write(before as u32);
                    team.element(HIGH).write((before >> 32) as u32);
                }
                if tile.wrapping_add(1) == tiles {
                    let all = before.wrapping_add(u64::from(total));
                    // SAFETY: there is one, which the last tile's group writes.
                    unsafe { in_all.set_unchecked(0, MaybeUninit::new(all)) };
                }
            }
        }
        if !team.wait() {
            return;
        }
        // SAFETY: they are there, and there was a barrier.
        let [low, high] = [LOW, HIGH].map(|half| unsafe { team.element(half).read() });
        let first = (u64::from(high) << 32 | u64::from(low)) as usize;
        let lanes_before = (1_u32 << sub_group.local_id()).wrapping_sub(1);
        row = 0;
        while row < ROWS {
            let votes = votes(row);
            if kept >> row & 1 != 0 {
                let index = begin.wrapping_add((row * GROUP).wrapping_add(team.own));
                // SAFETY: it is there; nobody writes it any more.
                let before = unsafe { team.element(place(row)).read() };
                let rank = before.wrapping_add((votes & lanes_before).count_ones());
                let to = first.wrapping_add(rank as usize);
                if to < output.len() {
                    // SAFETY: both indices are in range; the places of no two elements are the
                    // same.
                    unsafe { output.set_unchecked(to, *input.raw().get_unchecked(index)) };
                }
            }
            row += 1;
        }
    };
    // SAFETY: the operands' memory lives for this call, and the buffers longer than `launches`.
    unsafe { launches.launch(range, Scratch::source(), kernel)? };
    launches.finish()?;
    // SAFETY: no work-item has panicked, so the last tile's group has written it.
    Ok(read(&unsafe { kept.assume_init() }, 0)? as usize)
}

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
        // Lane 0 looks at the tile in front, lane 1 at the one before that.
        let state = if lane < end {
            word(end.wrapping_sub(lane).wrapping_add(1)).load(Relaxed)
        } else {
            UP_TO_TILE
        };
        let nearest = sub_group.ballot(state >= UP_TO_TILE).trailing_zeros();
        let missing = sub_group.ballot(state == 0).trailing_zeros();
        if nearest <= missing {
            // Both are the number of lanes: all states are there, none of which is the last one.
            let is_counted = lane as u32 <= nearest;
            sum =
                sum.wrapping_add(sub_group.reduce_add(if is_counted { state & COUNT } else { 0 }));
            if nearest < LANES as u32 {
                break;
            }
            end = end.wrapping_sub(LANES);
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
