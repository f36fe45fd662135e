//! Filters that read their input once: a tile for each group, and look-back for where its elements
//! go. Meanwhile, each work-item has its elements in registers.

use std::mem::MaybeUninit;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use crate::algorithms::collect::read;
use crate::algorithms::groups;
use crate::algorithms::groups::in_order::InOrder;
use crate::algorithms::groups::look_back::{MOST_LOOKS, PATIENCE, delay_look_back};
use crate::algorithms::groups::team::{GROUP, LANES, SUB_GROUPS, ScratchOf, TeamOf, Unit};
use crate::algorithms::operand::Function;
use crate::api::queue::Queue;
use crate::data::buffer::Buffer;
use crate::data::view::{View, ViewMut};
use crate::error::LaunchError;
use crate::kernel::atomic::AtomicRef;
use crate::kernel::atomic::memory_scope::Device;
use crate::kernel::element::Element;
use crate::kernel::group::local::{Local, local};
use crate::kernel::group::nd_item::NdItem;
use crate::kernel::group::nd_range::NdRange;
use crate::kernel::group::sub_group::SubGroup;
use crate::kernel::unroll::{unroll, unroll_full};

/// The most elements of a work-item.
const MOST: usize = 24;

/// Elements of a work-item: as many as are in about as many bytes.
const fn rows_of<T>() -> usize {
    match size_of::<T>() {
        0..=4 => MOST,
        5..=8 => 16,
        9..=16 => 8,
        17..=32 => 4,
        _ => 2,
    }
}

/// Local memory has counts, and behind them the elements that a tile keeps, if those are small.
type Scratch = ScratchOf<u32, 1>;
type Team<'g> = TeamOf<'g, u32, 1>;

const _: () = assert!(MOST <= u32::BITS as usize);

/// Whether the elements that a tile keeps are compacted in local memory first. Then neighbouring
/// work-items write to neighbouring places of the output.
const fn is_compacted<T>() -> bool {
    size_of::<T>() <= size_of::<Unit>() && align_of::<T>() <= align_of::<Unit>()
}

/// Bytes of local memory.
const fn bytes_for<T>() -> usize {
    let elements = if is_compacted::<T>() { rows_of::<T>() * GROUP } else { 0 };
    Scratch::BYTES + (elements * size_of::<T>()).next_multiple_of(size_of::<Unit>())
}

/// Whether filters of such elements run in groups on this queue: its device has the local memory.
pub(in crate::algorithms) fn suits<T>(queue: &Queue) -> bool {
    groups::suit::<u32>(queue) && bytes_for::<T>() <= queue.device().local_memory_size()
}

/// Where the group's first element goes, in two halves: behind the counts of its sub-groups.
const LOW: usize = SUB_GROUPS;
const HIGH: usize = SUB_GROUPS + 1;

/// The state of a tile: a count, and in the highest bits what it counts.
const OF_TILE: u64 = 1 << 62;
const UP_TO_TILE: u64 = 2 << 62;
const COUNT: u64 = OF_TILE - 1;

/// Copies the elements that `keep` holds for, which it is told with their indices, to the beginning
/// of `output`, until that is full. Returns how many there are.
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
    P: Fn(usize, &T) -> bool + Function,
{
    let len = input.raw().len();
    let tiles = len.div_ceil(const { rows_of::<T>() * GROUP });
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
        // Constants of the code, not captures.
        let rows = const { rows_of::<T>() };
        let tile_len = rows * GROUP;
        let word = |index: usize| {
            // SAFETY: callers name one of the words.
            AtomicRef::<_, Device>::new(unsafe { states.raw().get_unchecked(index) })
        };
        let next_tile = || word(0).fetch_add(1, Relaxed) as u32;
        let compacted = memory.as_mut_ptr().cast::<u8>().wrapping_add(Scratch::BYTES).cast::<T>();
        let mut team = Team::with_number(work_item, memory, next_tile);
        let sub_group = team.sub_group;
        let tile = team.number().load(Relaxed) as usize;
        let begin = tile.wrapping_mul(tile_len);
        let rest = len.wrapping_sub(begin);
        let count = if rest < tile_len { rest } else { tile_len };
        let is_full = count == tile_len;
        // A sub-group has neighbouring rows, so that it alone knows the order of their elements.
        let (number, lane) = (sub_group.group_id(), sub_group.local_id());
        let of_sub_group = number.wrapping_mul(rows * LANES).wrapping_add(lane);
        let index_of = |row: usize| (row * LANES).wrapping_add(of_sub_group);
        let mut elements = [MaybeUninit::<T>::uninit(); MOST];
        let mut row = 0;
        while row < rows {
            unroll_full();
            if is_full || index_of(row) < count {
                let index = begin.wrapping_add(index_of(row));
                // SAFETY: the tile is one of those of the input.
                elements[row].write(unsafe { *input.raw().get_unchecked(index) });
            }
            row += 1;
        }
        let mut kept = 0_u32;
        row = 0;
        while row < rows {
            unroll_full();
            if is_full || index_of(row) < count {
                // SAFETY: it was loaded.
                let element = unsafe { elements[row].assume_init_ref() };
                kept |= u32::from(keep(begin.wrapping_add(index_of(row)), element)) << row;
            }
            row += 1;
        }
        let mut own_count = 0_u32;
        row = 0;
        while row < rows {
            unroll_full();
            own_count = own_count.wrapping_add(sub_group.ballot(kept >> row & 1 != 0).count_ones());
            row += 1;
        }
        if lane == 0 {
            // SAFETY: the sub-group's own element.
            unsafe { team.element(number).write(own_count) };
        }
        if !team.wait() {
            return;
        }
        let (mut before_sub_group, mut in_tile) = (0_u32, 0_u32);
        let mut other = 0;
        while other < SUB_GROUPS {
            unroll_full();
            // SAFETY: each sub-group has written its own.
            let count = unsafe { team.element(other).read() };
            before_sub_group =
                before_sub_group.wrapping_add(if other < number { count } else { 0 });
            in_tile = in_tile.wrapping_add(count);
            other += 1;
        }
        if team.own == 0 {
            word(tile.wrapping_add(2)).store(OF_TILE | u64::from(in_tile), Relaxed);
        }
        if const { is_compacted::<T>() } {
            // SAFETY: the tile has room for all of its elements; no work-item reads them before the next
            // barrier, and no two have the same place.
            each_kept(sub_group, kept, &elements, before_sub_group, |to, own| unsafe {
                compacted.wrapping_add(to).write(own);
            });
        }
        if number == 0 {
            delay_look_back(tiles);
            let before = look_back(sub_group, word, tile, u64::from(in_tile));
            if lane == 0 {
                // SAFETY: elements that no other work-item accesses before the next barrier.
                unsafe {
                    team.element(LOW).write(before as u32);
                    team.element(HIGH).write((before >> 32) as u32);
                }
                if tile.wrapping_add(1) == tiles {
                    let all = before.wrapping_add(u64::from(in_tile));
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
        // SAFETY: the index is in range; the places of no two elements are the same.
        let write = |index: usize, own: T| unsafe {
            let to = first.wrapping_add(index);
            if to < output.len() {
                output.set_unchecked(to, own);
            }
        };
        if const { is_compacted::<T>() } {
            let mut index = team.own;
            while index < in_tile as usize {
                unroll::<4>();
                // SAFETY: it is there, since there was a barrier.
                write(index, unsafe { compacted.wrapping_add(index).read() });
                index = index.wrapping_add(GROUP);
            }
        } else {
            each_kept(sub_group, kept, &elements, before_sub_group, write);
        }
    };
    // SAFETY: the operands' memory lives for this call, and the buffers longer than `launches`.
    unsafe { launches.launch(range, local::<Unit>(bytes_for::<T>() / size_of::<Unit>()), kernel)? };
    launches.finish()?;
    // SAFETY: no work-item has panicked, so the last tile's group has written it.
    Ok(read(&unsafe { kept.assume_init() }, 0)? as usize)
}

/// Calls `take` with each element of the work-item that is kept, and with its rank among those that
/// the tile keeps. All lanes of a sub-group call it; `before` is the rank of the sub-group's first.
#[inline(always)]
fn each_kept<T: Copy>(
    sub_group: SubGroup<'_>,
    kept: u32,
    elements: &[MaybeUninit<T>; MOST],
    mut before: u32,
    take: impl Fn(usize, T),
) {
    let lanes_before = (1_u32 << sub_group.local_id()).wrapping_sub(1);
    let mut row = 0;
    while row < const { rows_of::<T>() } {
        unroll_full();
        let is_kept = kept >> row & 1 != 0;
        let votes = sub_group.ballot(is_kept);
        if is_kept {
            let rank = before.wrapping_add((votes & lanes_before).count_ones());
            // SAFETY: what is kept was loaded.
            take(rank as usize, unsafe { elements[row].assume_init() });
        }
        before = before.wrapping_add(votes.count_ones());
        row += 1;
    }
}

/// Adds the counts of all tiles before `tile`, whose own is `total` and is published, and publishes
/// the sum of both. All lanes of one sub-group call it.
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
