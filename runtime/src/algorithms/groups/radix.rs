//! Radix sort of work-groups: one launch that counts the digits of all passes, and one for each
//! pass (Adinets and Merrill, "Onesweep: a faster least significant digit radix sort for GPUs",
//! 2022).
//!
//! In a pass each group takes a tile of keys, counts its digits, and publishes how many keys it has
//! of each. Then it puts the keys into the order of their digits in local memory: sub-groups rank
//! rows of 32 keys, by a ballot for each bit of the digit. Meanwhile other groups publish what they
//! have; the group looks back for how many keys of each digit the tiles before it have, several
//! tiles at a time, and writes the keys, neighbours to neighbouring places.
//!
//! The last tile is filled up with the last possible key: these keys come after all others.
//!
//! Nothing here calls code of the user or panics, so groups only end when they are done: waits for
//! others have no limit. For the same reason arithmetic wraps.

use std::mem::MaybeUninit;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;

use crate::algorithms::groups::in_order::InOrder;
use crate::algorithms::groups::team::{LANES, Unit};
use crate::algorithms::radix_key::{DIGITS, RadixKey};
use crate::api::queue::Queue;
use crate::data::buffer::Buffer;
use crate::data::view::{View, ViewMut};
use crate::error::LaunchError;
use crate::kernel::atomic::AtomicRef;
use crate::kernel::atomic::memory_scope::{Device, WorkGroup};
use crate::kernel::element::Element;
use crate::kernel::group::local::{Local, LocalArray, local};
use crate::kernel::group::nd_item::NdItem;
use crate::kernel::group::nd_range::NdRange;
use crate::kernel::unroll::unroll_full;

/// The work-items of a group. There is one for each digit, at least.
const GROUP: usize = 384;
const SUB_GROUPS: usize = GROUP / LANES;
const _: () = assert!(GROUP >= DIGITS && GROUP.is_multiple_of(LANES));

/// Keys that a work-item loads at a time to count them, and that it counts at least.
const COUNTED: usize = 8;

/// Tiles that a group looks back at a time.
const LOOKS: usize = 4;

/// The most keys of a work-item.
const MOST_ROWS: usize = 15;

/// The state of a digit in a tile: a count, and in the highest bits what it counts.
const OF_TILE: u32 = 1 << 30;
const UP_TO_TILE: u32 = 2 << 30;
const COUNT: u32 = OF_TILE - 1;

/// More elements than this have counts that are too large.
pub(in crate::algorithms) const MOST: usize = COUNT as usize;

/// The largest values that move with their keys.
const LARGEST_VALUE: usize = 8;

/// How a group divides its local memory. Offsets are in bytes.
struct Layout<K, V>(K, V);

impl<K, V> Layout<K, V> {
    /// The keys of a work-item. They and their values are in registers.
    const ROWS: usize = match size_of::<K>() + size_of::<V>() {
        0..=8 => MOST_ROWS,
        9..=12 => 10,
        _ => 8,
    };

    const TILE: usize = GROUP * Self::ROWS;

    /// Keys of the tile in the order of their digits.
    const SORTED: usize = 0;
    /// Their values.
    const VALUES: usize = (Self::TILE * size_of::<K>()).next_multiple_of(size_of::<Unit>());
    /// For each sub-group and digit: its keys, then the place in the tile of the next one.
    const COUNTS: usize =
        (Self::VALUES + Self::TILE * size_of::<V>()).next_multiple_of(size_of::<Unit>());
    /// For each digit: what to add to a place in the tile to get the place in the output.
    const SHIFT: usize = Self::COUNTS + SUB_GROUPS * DIGITS * size_of::<u32>();
    /// For each sub-group: the keys of its work-items' digits, in the tile and in all.
    const TOTALS: usize = Self::SHIFT + DIGITS * size_of::<u32>();
    /// The tile's number.
    const TICKET: usize = Self::TOTALS + 2 * SUB_GROUPS * size_of::<u32>();

    const BYTES: usize = (Self::TICKET + size_of::<u32>()).next_multiple_of(size_of::<Unit>());

    const fn source() -> LocalArray<Unit> {
        local::<Unit>(Self::BYTES / size_of::<Unit>())
    }
}

/// Whether groups sort such keys and values on this queue, if they run at all.
pub(in crate::algorithms) fn suit<K, V>(queue: &Queue, len: usize) -> bool {
    let device = queue.device();
    super::is_chosen(queue)
        && len <= MOST
        && size_of::<V>() <= LARGEST_VALUE
        && align_of::<V>() <= align_of::<Unit>()
        && GROUP <= device.max_group_size()
        && Layout::<K, V>::BYTES <= device.local_memory_size()
}

/// Sorts `values` by their `keys`, and these too; values of equal keys keep their order. There are
/// as many of both, or `V` has no size.
pub(in crate::algorithms) fn sort<K, V>(
    queue: &Queue,
    mut keys: ViewMut<'_, K>,
    mut values: ViewMut<'_, V>,
) -> Result<(), LaunchError>
where
    K: RadixKey,
    V: Element,
{
    let len = keys.len();
    if len < 2 {
        return Ok(());
    }
    let tiles = len.div_ceil(Layout::<K, V>::TILE);
    let mut other_keys = Buffer::<K>::uninit(queue, len)?;
    let mut other_values = Buffer::<V>::uninit(queue, if size_of::<V>() == 0 { 0 } else { len })?;
    let mut buffer;
    let mut launches = InOrder::new(queue);
    // SAFETY: zeros are numbers; it lives longer than `launches`, and launches of these use it.
    buffer = unsafe { launches.zeros::<u32>(words_of::<K>(tiles))? };
    let words = buffer.atomic_view();
    count_digits(queue, &mut launches, keys.shared(), words)?;
    for pass in 0..K::PASSES {
        let work = Pass { pass, tiles, words };
        // SAFETY: the first pass writes all elements of the other buffers, and each pass reads what
        // the one before it has written. The views last for the launches, each of which uses them
        // once; the buffers live longer than `launches`.
        unsafe {
            let (own, other) = (keys.elements(), other_keys.view_mut().elements().cast());
            let (own_values, other_value) =
                (values.elements(), other_values.view_mut().elements().cast());
            let count = if size_of::<V>() == 0 { 0 } else { len };
            let here = (ViewMut::new(own, len), ViewMut::new(own_values, count));
            let there = (ViewMut::new(other, len), ViewMut::new(other_value, count));
            let (from, to) = if pass % 2 == 0 { (here, there) } else { (there, here) };
            work.run::<K, V>(&mut launches, (from.0.into_view(), from.1.into_view()), to)?;
        }
    }
    launches.finish()?;
    if !K::PASSES.is_multiple_of(2) {
        // SAFETY: the last pass has written all of them.
        let (sorted, moved) = unsafe { (other_keys.assume_init(), other_values.assume_init()) };
        queue.for_each((keys.reborrow(), &sorted), |(to, from)| *to = *from)?;
        if size_of::<V>() != 0 {
            queue.for_each((values.reborrow(), &moved), |(to, from)| *to = *from)?;
        }
    }
    Ok(())
}

/// The words of a sort, all zeros at first: how many keys have each digit of each pass; the next
/// tile of each pass; the states of all tiles in this pass, and in the next, which this one clears.
const fn words_of<K: RadixKey>(tiles: usize) -> usize {
    states_of::<K>(tiles, 2)
}

/// Where the tickets are.
const fn tickets_of<K: RadixKey>() -> usize {
    K::PASSES * DIGITS
}

/// Where the states of a pass are.
const fn states_of<K: RadixKey>(tiles: usize, pass: usize) -> usize {
    (tickets_of::<K>() + K::PASSES).next_multiple_of(DIGITS) + pass * tiles * DIGITS
}

/// Counts the digits of all keys, of all passes.
fn count_digits<K: RadixKey>(
    queue: &Queue,
    launches: &mut InOrder<'_>,
    keys: View<'_, K>,
    all: View<'_, AtomicU32>,
) -> Result<(), LaunchError> {
    let len = keys.raw().len();
    // As many groups as run at a time: each adds its counts to those of all.
    let most = (queue.device().backend().concurrency() / GROUP).max(1);
    let groups = len.div_ceil(GROUP * COUNTED).min(most);
    let part = len.div_ceil(groups).next_multiple_of(GROUP * COUNTED);
    let range = NdRange::from_groups(groups, GROUP)?;
    let kernel = move |item: NdItem<'_, 1>, own: Local<'_, u32>| {
        let cells = own.as_atomics();
        let cell = |index: usize| {
            // SAFETY: callers name one of the counts.
            AtomicRef::<_, WorkGroup>::new(unsafe { cells.get_unchecked(index) })
        };
        for index in item.strided(K::PASSES * DIGITS) {
            cell(index).store(0, Relaxed);
        }
        item.barrier();
        let count = |key: K| {
            let mut pass = 0;
            while pass < K::PASSES {
                unroll_full();
                let count = cell((pass * DIGITS).wrapping_add(key.digit(pass)));
                count.fetch_add(1, Relaxed);
                pass += 1;
            }
        };
        let mut begin = item.group_x().wrapping_mul(part);
        let end = begin.wrapping_add(part);
        let end = if end < len { end } else { len };
        while begin < end {
            let next = begin.wrapping_add(GROUP * COUNTED);
            let first = begin.wrapping_add(item.local_x());
            if next <= end {
                let mut loaded = [K::LAST; COUNTED];
                let mut row = 0;
                while row < COUNTED {
                    unroll_full();
                    // SAFETY: before the end.
                    loaded[row] =
                        unsafe { *keys.raw().get_unchecked(first.wrapping_add(row * GROUP)) };
                    row += 1;
                }
                row = 0;
                while row < COUNTED {
                    unroll_full();
                    count(loaded[row]);
                    row += 1;
                }
            } else {
                let mut index = first;
                while index < end {
                    // SAFETY: before the end.
                    count(unsafe { *keys.raw().get_unchecked(index) });
                    index = index.wrapping_add(GROUP);
                }
            }
            begin = next;
        }
        item.barrier();
        for index in item.strided(K::PASSES * DIGITS) {
            let count = cell(index).load(Relaxed);
            if count != 0 {
                // SAFETY: there are as many counts of all groups.
                unsafe { all.raw().get_unchecked(index) }.fetch_add(count, Relaxed);
            }
        }
    };
    // SAFETY: the caller's buffers live longer than `launches`.
    unsafe { launches.launch(range, local::<u32>(K::PASSES * DIGITS), kernel) }
}

/// One pass.
struct Pass<'a> {
    pass: usize,
    tiles: usize,
    words: View<'a, AtomicU32>,
}

impl Pass<'_> {
    /// # Safety
    /// The views' memory lives longer than `launches`.
    unsafe fn run<K, V>(
        self,
        launches: &mut InOrder<'_>,
        (keys, values): (View<'_, K>, View<'_, V>),
        (keys_to, values_to): (ViewMut<'_, K>, ViewMut<'_, V>),
    ) -> Result<(), LaunchError>
    where
        K: RadixKey,
        V: Element,
    {
        let len = keys.raw().len();
        let Self { pass, tiles, words } = self;
        let states = states_of::<K>(tiles, pass % 2);
        let next_states = states_of::<K>(tiles, (pass + 1) % 2);
        let range = NdRange::from_groups(tiles, GROUP)?;
        let kernel = move |item: NdItem<'_, 1>, memory: Local<'_, Unit>| {
            let memory = Memory::<K, V>::new(memory);
            let sub_group = item.sub_group();
            let (own, lane) = (item.local_x(), sub_group.local_id());
            let word = |index: usize| {
                // SAFETY: callers name a word that is there.
                AtomicRef::<_, Device>::new(unsafe { words.raw().get_unchecked(index) })
            };
            if own == 0 {
                let ticket = word(tickets_of::<K>().wrapping_add(pass)).fetch_add(1, Relaxed);
                // SAFETY: no other work-item accesses it before the next barrier.
                unsafe { memory.ticket().write(ticket) };
            }
            for index in item.strided(SUB_GROUPS * DIGITS) {
                // SAFETY: one of the counts, which no other work-item accesses before the next barrier.
                unsafe { memory.count(index).write(0) };
            }
            item.barrier();
            // SAFETY: it was written before the barrier. There are as many groups as tiles.
            let tile = unsafe { memory.ticket().read() } as usize;
            let begin = tile.wrapping_mul(Layout::<K, V>::TILE);
            let rest = len.wrapping_sub(begin);
            let count = if rest < Layout::<K, V>::TILE { rest } else { Layout::<K, V>::TILE };
            // Each sub-group has rows of neighbouring keys, one below the other.
            let first = (sub_group.group_id() * LANES * Layout::<K, V>::ROWS).wrapping_add(lane);
            let place = |row: usize| first.wrapping_add(row * LANES);
            let mut own_keys = [K::LAST; MOST_ROWS];
            let mut row = 0;
            while row < Layout::<K, V>::ROWS {
                unroll_full();
                if count == Layout::<K, V>::TILE || place(row) < count {
                    // SAFETY: the tile's place is one of the keys.
                    own_keys[row] =
                        unsafe { *keys.raw().get_unchecked(begin.wrapping_add(place(row))) };
                }
                row += 1;
            }
            let counts = sub_group.group_id() * DIGITS;
            row = 0;
            while row < Layout::<K, V>::ROWS {
                unroll_full();
                let digit = own_keys[row].digit(pass);
                // SAFETY: a count of this sub-group, which is accessed as an atomic only, until the
                // next barrier.
                let cell = unsafe { AtomicU32::from_ptr(memory.count(counts.wrapping_add(digit))) };
                AtomicRef::<_, WorkGroup>::new(cell).fetch_add(1, Relaxed);
                row += 1;
            }
            item.barrier();

            // Each of the first work-items has a digit.
            let (mut total, mut in_all) = (0_u32, 0);
            let state = states.wrapping_add(tile.wrapping_mul(DIGITS)).wrapping_add(own);
            if own < DIGITS {
                let mut sub_group = 0;
                while sub_group < SUB_GROUPS {
                    unroll_full();
                    // SAFETY: counts of the own digit, which no other work-item accesses between these
                    // barriers.
                    total = total.wrapping_add(unsafe {
                        memory.count((sub_group * DIGITS).wrapping_add(own)).read()
                    });
                    sub_group += 1;
                }
                // Without the keys that fill up the tile.
                let filled = (Layout::<K, V>::TILE).wrapping_sub(count) as u32;
                let is_last = own == DIGITS - 1;
                let there = total.wrapping_sub(if is_last { filled } else { 0 });
                let flag = if tile == 0 { UP_TO_TILE } else { OF_TILE };
                word(state).store(flag | there, Relaxed);
                let next = next_states.wrapping_add(tile.wrapping_mul(DIGITS));
                word(next.wrapping_add(own)).store(0, Relaxed);
                in_all = word((pass * DIGITS).wrapping_add(own)).load(Relaxed);
            }
            let before = sub_group.inclusive_scan_add(total);
            let all_before = sub_group.inclusive_scan_add(in_all);
            if lane == LANES - 1 {
                // SAFETY: the sub-group's own totals, which others read behind the barrier.
                unsafe {
                    memory.total(sub_group.group_id()).write(before);
                    memory.total(SUB_GROUPS.wrapping_add(sub_group.group_id())).write(all_before);
                }
            }
            item.barrier();
            let mut in_tile = before.wrapping_sub(total);
            let mut start = all_before.wrapping_sub(in_all);
            if own < DIGITS {
                let mut other = 0;
                while other < DIGITS / LANES {
                    unroll_full();
                    // SAFETY: they are there since the barrier.
                    let (of_tile, of_all) = unsafe {
                        (memory.total(other).read(), memory.total(SUB_GROUPS + other).read())
                    };
                    if other < sub_group.group_id() {
                        in_tile = in_tile.wrapping_add(of_tile);
                        start = start.wrapping_add(of_all);
                    }
                    other += 1;
                }
                // Where each sub-group's first key of the digit goes in the tile.
                let (mut next, mut sub_group) = (in_tile, 0);
                while sub_group < SUB_GROUPS {
                    unroll_full();
                    let cell = memory.count((sub_group * DIGITS).wrapping_add(own));
                    // SAFETY: as above.
                    unsafe {
                        let count = cell.read();
                        cell.write(next);
                        next = next.wrapping_add(count);
                    }
                    sub_group += 1;
                }
            }
            item.barrier();

            let mut own_values = [MaybeUninit::<V>::uninit(); MOST_ROWS];
            row = 0;
            while row < Layout::<K, V>::ROWS && size_of::<V>() != 0 {
                unroll_full();
                if count == Layout::<K, V>::TILE || place(row) < count {
                    // SAFETY: there are as many values as keys.
                    own_values[row].write(unsafe {
                        *values.raw().get_unchecked(begin.wrapping_add(place(row)))
                    });
                }
                row += 1;
            }
            let lanes_before = (1_u32 << lane).wrapping_sub(1);
            row = 0;
            while row < Layout::<K, V>::ROWS {
                unroll_full();
                let digit = own_keys[row].digit(pass) as u32;
                // The lanes whose keys have the same digit.
                let mut same = u32::MAX;
                let mut bit = 0;
                while bit < 8 {
                    unroll_full();
                    // All bits are the one of the digit.
                    let is_set = (digit << (31 - bit)) as i32 >> 31;
                    same &= !(sub_group.ballot(is_set < 0) ^ is_set as u32);
                    bit += 1;
                }
                let cell = memory.count(counts.wrapping_add(digit as usize));
                // SAFETY: a count of this sub-group; its lanes read it before the barrier, and the
                // first of those that have the digit writes it behind. The places of no two keys
                // of the tile are the same.
                unsafe {
                    let next = cell.read();
                    let rank = (same & lanes_before).count_ones();
                    sub_group.barrier();
                    if rank == 0 {
                        cell.write(next.wrapping_add(same.count_ones()));
                    }
                    sub_group.barrier();
                    let to = next.wrapping_add(rank) as usize;
                    memory.sorted(to).write(own_keys[row]);
                    if size_of::<V>() != 0 {
                        memory.value(to).write(own_values[row]);
                    }
                }
                row += 1;
            }
            if own < DIGITS {
                let before = if tile == 0 { 0 } else { look_back(&word, state) };
                if tile != 0 {
                    let there = word(state).load(Relaxed) & COUNT;
                    word(state).store(UP_TO_TILE | before.wrapping_add(there), Relaxed);
                }
                // SAFETY: the work-item's own until the next barrier.
                unsafe {
                    memory.shift(own).write(start.wrapping_add(before).wrapping_sub(in_tile));
                }
            }
            item.barrier();

            row = 0;
            while row < Layout::<K, V>::ROWS {
                unroll_full();
                let index = (row * GROUP).wrapping_add(own);
                // SAFETY: each place of the tile has a key and a value, those that fill it up
                // behind all others. What the digits' numbers make of the places of all tiles are
                // the places of the output, each once.
                unsafe {
                    let key = memory.sorted(index).read();
                    let shift = memory.shift(key.digit(pass)).read();
                    let to = shift.wrapping_add(index as u32) as usize;
                    if count == Layout::<K, V>::TILE || index < count {
                        keys_to.set_unchecked(to, key);
                        if size_of::<V>() != 0 {
                            values_to.set_unchecked(to, memory.value(index).read().assume_init());
                        }
                    }
                }
                row += 1;
            }
        };
        // SAFETY: the caller's promise.
        unsafe { launches.launch(range, Layout::<K, V>::source(), kernel) }
    }
}

/// How many keys of a digit the tiles have before the one with this state, which is not the first
/// tile's.
#[inline(always)]
fn look_back<'a>(word: &impl Fn(usize) -> AtomicRef<'a, AtomicU32, Device>, state: usize) -> u32 {
    let (mut before, mut at) = (0_u32, state);
    loop {
        // Several are on their way at a time. Before the first tile's are other words, which are
        // not looked at: the first tile is always complete.
        let mut seen = [0_u32; LOOKS];
        let mut step = 0;
        while step < LOOKS {
            unroll_full();
            seen[step] = word(at.saturating_sub((step + 1) * DIGITS)).load(Relaxed);
            step += 1;
        }
        step = 0;
        while step < LOOKS {
            unroll_full();
            at = at.wrapping_sub(DIGITS);
            let mut found = seen[step];
            while found == 0 {
                std::hint::spin_loop();
                found = word(at).load(Relaxed);
            }
            before = before.wrapping_add(found & COUNT);
            if found >= UP_TO_TILE {
                return before;
            }
            step += 1;
        }
    }
}

/// The local memory of a group.
struct Memory<K, V> {
    begin: *mut u8,
    layout: std::marker::PhantomData<Layout<K, V>>,
}

impl<K, V> Memory<K, V> {
    #[inline(always)]
    fn new(memory: Local<'_, Unit>) -> Self {
        Self { begin: memory.as_mut_ptr().cast(), layout: std::marker::PhantomData }
    }

    #[inline(always)]
    fn at<T>(&self, offset: usize, index: usize) -> *mut T {
        self.begin.wrapping_add(offset).cast::<T>().wrapping_add(index)
    }

    /// `index` is less than the elements of a tile.
    #[inline(always)]
    fn sorted(&self, index: usize) -> *mut K {
        self.at(Layout::<K, V>::SORTED, index)
    }

    /// `index` is less than the elements of a tile.
    #[inline(always)]
    fn value(&self, index: usize) -> *mut MaybeUninit<V> {
        self.at(Layout::<K, V>::VALUES, index)
    }

    #[inline(always)]
    fn count(&self, index: usize) -> *mut u32 {
        self.at(Layout::<K, V>::COUNTS, index)
    }

    #[inline(always)]
    fn shift(&self, digit: usize) -> *mut u32 {
        self.at(Layout::<K, V>::SHIFT, digit)
    }

    #[inline(always)]
    fn total(&self, index: usize) -> *mut u32 {
        self.at(Layout::<K, V>::TOTALS, index)
    }

    #[inline(always)]
    fn ticket(&self) -> *mut u32 {
        self.at(Layout::<K, V>::TICKET, 0)
    }
}
