//! Radix sort of work-groups: one launch that counts the digits of all passes, and one for each
//! pass (Adinets and Merrill, "Onesweep: a faster least significant digit radix sort for GPUs",
//! 2022).
//!
//! In a pass each group takes a tile of keys and finds each one's rank among those of the same
//! digit. Sub-groups rank rows of 32 keys, by a ballot for each bit of the digit. Then the group
//! publishes how many keys it has of each digit, looks back for how many the tiles before it have,
//! and writes the keys in the order of their digits, so that neighbours go to neighbouring places.
//!
//! Nothing here calls code of the user or panics, so groups only end when they are done: waits for
//! others have no limit. For the same reason arithmetic wraps.

use std::mem::MaybeUninit;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;

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
use crate::kernel::group::nd_range::NdRange;
use crate::kernel::unroll::unroll_full;

/// The work-items of a group. There is one for each digit, at least.
const GROUP: usize = 384;
const SUB_GROUPS: usize = GROUP / LANES;
const _: () = assert!(GROUP >= DIGITS && GROUP.is_multiple_of(LANES));

/// Keys that each work-item counts in one launch.
const COUNTED: usize = 64;

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
    const LARGER: usize =
        if size_of::<K>() > size_of::<V>() { size_of::<K>() } else { size_of::<V>() };

    /// The keys of a work-item.
    const ROWS: usize = if Self::LARGER <= 4 { 18 } else { 9 };

    const TILE: usize = GROUP * Self::ROWS;

    /// Keys or values of the tile in the order of their digits.
    const SORTED: usize = 0;
    /// For each sub-group and digit: the keys so far, then the keys of sub-groups before.
    const COUNTS: usize = Self::TILE * Self::LARGER;
    /// For each digit: the place of its first key in the tile.
    const FIRST: usize = Self::COUNTS + SUB_GROUPS * DIGITS * size_of::<u32>();
    /// For each digit: what to add to a place in the tile to get the place in the output.
    const SHIFT: usize = Self::FIRST + DIGITS * size_of::<u32>();
    /// The tile's number.
    const TICKET: usize = Self::SHIFT + DIGITS * size_of::<u32>();

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
    let starts = starts_of_digits(queue, keys.shared())?;
    // The next tile of each pass.
    let mut tickets = Buffer::filled(queue, K::PASSES, 0_u32)?;
    // One for this pass, one for the next, which this one clears.
    let mut states = [
        Buffer::filled(queue, tiles * DIGITS, 0_u32)?,
        Buffer::filled(queue, tiles * DIGITS, 0_u32)?,
    ];
    let mut other_keys = Buffer::<K>::uninit(queue, len)?;
    let mut other_values = Buffer::<V>::uninit(queue, if size_of::<V>() == 0 { 0 } else { len })?;
    for pass in 0..K::PASSES {
        let [state, next] = &mut states;
        let work = Pass {
            pass,
            starts: starts.view(),
            tickets: tickets.atomic_view(),
            state: state.atomic_view(),
            next: next.atomic_view(),
        };
        // SAFETY: the first pass writes all elements of the other buffers, and each pass reads what
        // the one before it has written. The views last for the launch, which uses each once.
        unsafe {
            let (own, other) = (keys.elements(), other_keys.view_mut().elements().cast());
            let (own_values, other_value) =
                (values.elements(), other_values.view_mut().elements().cast());
            let count = if size_of::<V>() == 0 { 0 } else { len };
            let here = (ViewMut::new(own, len), ViewMut::new(own_values, count));
            let there = (ViewMut::new(other, len), ViewMut::new(other_value, count));
            let (from, to) = if pass % 2 == 0 { (here, there) } else { (there, here) };
            work.run::<K, V>(queue, tiles, (from.0.into_view(), from.1.into_view()), to)?;
        }
        states.swap(0, 1);
    }
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

/// For each pass and digit, how many keys have a smaller one.
fn starts_of_digits<K: RadixKey>(
    queue: &Queue,
    keys: View<'_, K>,
) -> Result<Buffer<u32>, LaunchError> {
    let len = keys.raw().len();
    let mut counts = Buffer::filled(queue, K::PASSES * DIGITS, 0_u32)?;
    let all = counts.atomic_view();
    let groups = len.div_ceil(GROUP * COUNTED);
    let range = NdRange::from_groups(groups, GROUP)?;
    queue.for_each_in(range, local::<u32>(K::PASSES * DIGITS), move |item, own| {
        let cells = own.as_atomics();
        let cell = |index: usize| {
            // SAFETY: callers name one of the counts.
            AtomicRef::<_, WorkGroup>::new(unsafe { cells.get_unchecked(index) })
        };
        for index in item.strided(K::PASSES * DIGITS) {
            cell(index).store(0, Relaxed);
        }
        item.barrier();
        let begin = item.group_x().wrapping_mul(GROUP * COUNTED);
        let mut row = 0;
        while row < COUNTED {
            let index = begin.wrapping_add(row * GROUP).wrapping_add(item.local_x());
            if index < len {
                // SAFETY: the index was checked.
                let key = unsafe { *keys.raw().get_unchecked(index) };
                let mut pass = 0;
                while pass < K::PASSES {
                    let count = cell((pass * DIGITS).wrapping_add(key.digit(pass)));
                    count.fetch_add(1, Relaxed);
                    pass += 1;
                }
            }
            row += 1;
        }
        item.barrier();
        for index in item.strided(K::PASSES * DIGITS) {
            let count = cell(index).load(Relaxed);
            if count != 0 {
                // SAFETY: there are as many counts of all groups.
                unsafe { all.raw().get_unchecked(index) }.fetch_add(count, Relaxed);
            }
        }
    })?;
    let counts = counts.view();
    let mut starts = Buffer::filled(queue, K::PASSES * DIGITS, 0_u32)?;
    let to = starts.view_mut();
    let range = NdRange::from_groups(K::PASSES, DIGITS)?;
    queue.parallel_for(range, move |item| {
        let before = item.exclusive_scan_add(counts[item.x()]);
        // SAFETY: each work-item writes its own element; there are as many.
        unsafe { to.set_unchecked(item.x(), before) };
    })?;
    Ok(starts)
}

/// One pass.
struct Pass<'a> {
    pass: usize,
    starts: View<'a, u32>,
    tickets: View<'a, AtomicU32>,
    state: View<'a, AtomicU32>,
    next: View<'a, AtomicU32>,
}

impl Pass<'_> {
    fn run<K, V>(
        self,
        queue: &Queue,
        tiles: usize,
        (keys, values): (View<'_, K>, View<'_, V>),
        (keys_to, values_to): (ViewMut<'_, K>, ViewMut<'_, V>),
    ) -> Result<(), LaunchError>
    where
        K: RadixKey,
        V: Element,
    {
        let len = keys.raw().len();
        let Self { pass, starts, tickets, state, next } = self;
        let range = NdRange::from_groups(tiles, GROUP)?;
        queue.for_each_in(range, Layout::<K, V>::source(), move |item, memory| {
            let memory = Memory::<K, V>::new(memory);
            let sub_group = item.sub_group();
            let (own, lane) = (item.local_x(), sub_group.local_id());
            let word = |words: View<'_, AtomicU32>, index: usize| -> *const AtomicU32 {
                // SAFETY: callers name a word that is there.
                unsafe { words.raw().get_unchecked(index) }
            };
            if own == 0 {
                // SAFETY: there is one for each pass.
                let ticket = unsafe { &*word(tickets, pass) }.fetch_add(1, Relaxed);
                // SAFETY: nobody else accesses it before the next barrier.
                unsafe { memory.ticket().write(ticket) };
            }
            for index in item.strided(SUB_GROUPS * DIGITS) {
                // SAFETY: one of the counts, which nobody else accesses before the next barrier.
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

            let mut own_keys = [MaybeUninit::<K>::uninit(); 18];
            let mut ranks = [0_u32; 18];
            let mut row = 0;
            while row < Layout::<K, V>::ROWS {
                unroll_full();
                if place(row) < count {
                    // SAFETY: the tile's place is one of the keys.
                    let key = unsafe { *keys.raw().get_unchecked(begin.wrapping_add(place(row))) };
                    own_keys[row] = MaybeUninit::new(key);
                }
                row += 1;
            }
            let lanes_before = (1_u32 << lane).wrapping_sub(1);
            let counts = sub_group.group_id() * DIGITS;
            row = 0;
            while row < Layout::<K, V>::ROWS {
                unroll_full();
                let is_there = place(row) < count;
                let digit = if is_there {
                    // SAFETY: it was loaded.
                    unsafe { own_keys[row].assume_init() }.digit(pass)
                } else {
                    0
                };
                // The lanes whose keys have the same digit.
                let mut same = sub_group.ballot(is_there);
                let mut bit = 0;
                while bit < 8 {
                    unroll_full();
                    let is_set = digit >> bit & 1 != 0;
                    let votes = sub_group.ballot(is_set);
                    same &= if is_set { votes } else { !votes };
                    bit += 1;
                }
                let cell = memory.count(counts.wrapping_add(digit));
                // SAFETY: a count of this sub-group; its lanes read it before the barrier, and the
                // first of those that have the digit writes it behind.
                let before = unsafe { cell.read() };
                let rank = (same & lanes_before).count_ones();
                sub_group.barrier();
                if is_there && rank == 0 {
                    // SAFETY: as above.
                    unsafe { cell.write(before.wrapping_add(same.count_ones())) };
                }
                sub_group.barrier();
                ranks[row] = before.wrapping_add(rank);
                row += 1;
            }
            item.barrier();

            let mut total = 0_u32;
            if own < DIGITS {
                let mut sub_group = 0;
                while sub_group < SUB_GROUPS {
                    let cell = memory.count((sub_group * DIGITS).wrapping_add(own));
                    // SAFETY: counts of the own digit, which nobody else accesses between these
                    // barriers.
                    unsafe {
                        let count = cell.read();
                        cell.write(total);
                        total = total.wrapping_add(count);
                    }
                    sub_group += 1;
                }
                let at = tile.wrapping_mul(DIGITS).wrapping_add(own);
                let flag = if tile == 0 { UP_TO_TILE } else { OF_TILE };
                // SAFETY: there is a word for each tile and digit in both.
                unsafe {
                    let state = AtomicRef::<_, Device>::new(&*word(state, at));
                    state.store(flag | total, Relaxed);
                    AtomicRef::<_, Device>::new(&*word(next, at)).store(0, Relaxed);
                }
            }
            let before_digit = item.exclusive_scan_add(total);
            if own < DIGITS {
                let mut before = 0_u32;
                let mut at = tile.wrapping_mul(DIGITS).wrapping_add(own);
                let mut is_counted = tile == 0;
                while !is_counted {
                    at = at.wrapping_sub(DIGITS);
                    // SAFETY: a tile before this one.
                    let other = AtomicRef::<_, Device>::new(unsafe { &*word(state, at) });
                    let mut found = other.load(Relaxed);
                    while found == 0 {
                        std::hint::spin_loop();
                        found = other.load(Relaxed);
                    }
                    before = before.wrapping_add(found & COUNT);
                    is_counted = found >= UP_TO_TILE;
                }
                if tile != 0 {
                    let at = tile.wrapping_mul(DIGITS).wrapping_add(own);
                    // SAFETY: as above.
                    let state = AtomicRef::<_, Device>::new(unsafe { &*word(state, at) });
                    state.store(UP_TO_TILE | before.wrapping_add(total), Relaxed);
                }
                // SAFETY: there is a start for each pass and digit; the other two are the
                // work-item's own until the next barrier.
                unsafe {
                    let start = *starts.raw().get_unchecked((pass * DIGITS).wrapping_add(own));
                    let shift = start.wrapping_add(before).wrapping_sub(before_digit);
                    memory.first(own).write(before_digit);
                    memory.shift(own).write(shift);
                }
            }
            item.barrier();

            row = 0;
            while row < Layout::<K, V>::ROWS {
                unroll_full();
                if place(row) < count {
                    // SAFETY: the key was loaded; the numbers are there since the barrier. The
                    // places of no two keys are the same.
                    unsafe {
                        let key = own_keys[row].assume_init();
                        let digit = key.digit(pass);
                        let before = memory.count(counts.wrapping_add(digit)).read();
                        let first = memory.first(digit).read();
                        ranks[row] = ranks[row].wrapping_add(before).wrapping_add(first);
                        memory.sorted::<K>(ranks[row] as usize).write(key);
                    }
                }
                row += 1;
            }
            item.barrier();
            let mut targets = [0_u32; 18];
            row = 0;
            while row < Layout::<K, V>::ROWS {
                unroll_full();
                let index = (row * GROUP).wrapping_add(own);
                if index < count {
                    // SAFETY: each place of the tile has a key. What the digits' numbers make of
                    // the places of all tiles are the places of the output, each once.
                    unsafe {
                        let key = memory.sorted::<K>(index).read();
                        let shift = memory.shift(key.digit(pass)).read();
                        targets[row] = shift.wrapping_add(index as u32);
                        keys_to.set_unchecked(targets[row] as usize, key);
                    }
                }
                row += 1;
            }
            if size_of::<V>() == 0 {
                return;
            }
            item.barrier();
            row = 0;
            while row < Layout::<K, V>::ROWS {
                unroll_full();
                if place(row) < count {
                    // SAFETY: there are as many values as keys; places as for the keys.
                    unsafe {
                        let value = *values.raw().get_unchecked(begin.wrapping_add(place(row)));
                        memory.sorted::<V>(ranks[row] as usize).write(value);
                    }
                }
                row += 1;
            }
            item.barrier();
            row = 0;
            while row < Layout::<K, V>::ROWS {
                unroll_full();
                let index = (row * GROUP).wrapping_add(own);
                if index < count {
                    // SAFETY: as for the keys.
                    unsafe {
                        let value = memory.sorted::<V>(index).read();
                        values_to.set_unchecked(targets[row] as usize, value);
                    }
                }
                row += 1;
            }
        })
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
    fn sorted<T>(&self, index: usize) -> *mut T {
        self.at(Layout::<K, V>::SORTED, index)
    }

    #[inline(always)]
    fn count(&self, index: usize) -> *mut u32 {
        self.at(Layout::<K, V>::COUNTS, index)
    }

    #[inline(always)]
    fn first(&self, digit: usize) -> *mut u32 {
        self.at(Layout::<K, V>::FIRST, digit)
    }

    #[inline(always)]
    fn shift(&self, digit: usize) -> *mut u32 {
        self.at(Layout::<K, V>::SHIFT, digit)
    }

    #[inline(always)]
    fn ticket(&self) -> *mut u32 {
        self.at(Layout::<K, V>::TICKET, 0)
    }
}
