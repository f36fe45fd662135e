//! A group and its local memory.

use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;

use crate::kernel::atomic::AtomicRef;
use crate::kernel::atomic::memory_scope::WorkGroup;
use crate::kernel::group::local::{Local, LocalArray, local};
use crate::kernel::group::nd_item::NdItem;
use crate::kernel::group::sub_group::SubGroup;
use crate::kernel::unroll::unroll_full;

/// The work-items of a group.
pub(super) const GROUP: usize = 256;

/// The work-items of a sub-group.
pub(super) const LANES: usize = SubGroup::MAX_SIZE;

pub(super) const SUB_GROUPS: usize = GROUP / LANES;

/// Numbers that a group has for all of its work-items: the arrivals of sub-groups at waits, and some
/// of the algorithm's own.
const NUMBERS: usize = 5;

/// Behind the first number.
const OWN_NUMBERS: usize = 1;

/// The longest run of a work-item, unless an algorithm has another one.
pub(super) const LONGEST: usize = 15;

/// The largest elements that groups keep in local memory.
const LARGEST: usize = 64;

/// A piece of local memory, with the largest alignment that elements may have.
#[derive(Clone, Copy, Debug)]
#[repr(align(16))]
pub(in crate::algorithms) struct Unit {
    _bytes: [u64; 2],
}

/// Where a group has what in its local memory. The runs of small elements are `LONG` elements long.
#[derive(Debug)]
pub(super) struct ScratchOf<T, const LONG: usize>(PhantomData<T>);

/// That of most algorithms.
pub(super) type Scratch<T> = ScratchOf<T, LONGEST>;

impl<T, const LONG: usize> ScratchOf<T, LONG> {
    /// The elements of a run. Odd where that matters: then work-items that read their runs at the
    /// same time access different banks.
    pub(super) const RUN: usize = match size_of::<T>() {
        0..=8 => LONG,
        9..=16 => 7,
        17..=32 => 3,
        _ => 1,
    };

    /// The elements of a tile.
    pub(super) const TILE: usize = GROUP * Self::RUN;

    /// Whether groups can keep such elements in local memory.
    pub(super) const FITS: bool =
        size_of::<T>() != 0 && size_of::<T>() <= LARGEST && align_of::<T>() <= align_of::<Unit>();

    /// Offsets in bytes: the tile, a value of each work-item, of each lane of the first sub-group,
    /// one value for all.
    /// Behind the tile there is room for one more element.
    const TOTALS: usize = behind::<T>(0, Self::TILE + 1);
    const OF_LANES: usize = behind::<T>(Self::TOTALS, GROUP);
    const SHARED: usize = behind::<T>(Self::OF_LANES, LANES);
    const WORDS: usize = behind::<T>(Self::SHARED, 1);

    pub(super) const BYTES: usize = behind::<u32>(Self::WORDS, NUMBERS);

    /// The local memory of a launch.
    pub(super) const fn source() -> LocalArray<Unit> {
        local::<Unit>(Self::BYTES / size_of::<Unit>())
    }
}

/// The first multiple of a unit behind `count` elements at `offset`.
const fn behind<T>(offset: usize, count: usize) -> usize {
    (offset + count * size_of::<T>()).next_multiple_of(size_of::<Unit>())
}

/// One work-item of a group that combines values of type `T`, in local memory as [`ScratchOf`] has
/// it.
#[derive(Debug)]
pub(super) struct TeamOf<'g, T, const LONG: usize> {
    pub(super) item: NdItem<'g, 1>,
    pub(super) sub_group: SubGroup<'g>,
    /// The work-item in its group.
    pub(super) own: usize,
    /// The arrivals at the waits so far, if all work-items are there.
    arrivals: u32,
    memory: *mut u8,
    values: PhantomData<T>,
}

/// That of most algorithms.
pub(super) type Team<'g, T> = TeamOf<'g, T, LONGEST>;

impl<'g, T: Copy, const LONG: usize> TeamOf<'g, T, LONG> {
    /// All work-items of the group call this first; the memory is that of [`ScratchOf::source`].
    #[inline(always)]
    pub(super) fn new(item: NdItem<'g, 1>, memory: Local<'g, Unit>) -> Self {
        Self::with_number(item, memory, || 0)
    }

    /// As [`new`](Self::new), with a number for all that the first work-item asks for.
    #[inline(always)]
    pub(super) fn with_number(
        item: NdItem<'g, 1>,
        memory: Local<'g, Unit>,
        number: impl FnOnce() -> u32,
    ) -> Self {
        let team = Self {
            item,
            sub_group: item.sub_group(),
            own: item.local_x(),
            arrivals: 0,
            memory: memory.as_mut_ptr().cast(),
            values: PhantomData,
        };
        if team.own == 0 {
            team.word(0).store(0, Relaxed);
            team.number().store(number(), Relaxed);
        }
        item.barrier();
        team
    }

    #[inline(always)]
    fn at(&self, offset: usize, index: usize) -> *mut T {
        self.memory.wrapping_add(offset).cast::<T>().wrapping_add(index)
    }

    /// An element of the tile: `index < ScratchOf::TILE`.
    #[inline(always)]
    pub(super) fn element(&self, index: usize) -> *mut T {
        self.at(0, index)
    }

    /// The value of a work-item.
    #[inline(always)]
    pub(super) fn total_of(&self, work_item: usize) -> *mut T {
        self.at(ScratchOf::<T, LONG>::TOTALS, work_item)
    }

    /// The value of a lane of the first sub-group.
    #[inline(always)]
    pub(super) fn of_lane(&self, lane: usize) -> *mut T {
        self.at(ScratchOf::<T, LONG>::OF_LANES, lane)
    }

    /// One value for all.
    #[inline(always)]
    pub(super) fn shared(&self) -> *mut T {
        self.at(ScratchOf::<T, LONG>::SHARED, 0)
    }

    #[inline(always)]
    fn word(&self, index: usize) -> AtomicRef<'g, AtomicU32, WorkGroup> {
        let word =
            self.memory.wrapping_add(ScratchOf::<T, LONG>::WORDS).cast::<u32>().wrapping_add(index);
        // SAFETY: one of the words, which are accessed as atomics only, and exist while the group
        // runs.
        AtomicRef::new(unsafe { AtomicU32::from_ptr(word) })
    }

    /// One number for all.
    #[inline(always)]
    pub(super) fn number(&self) -> AtomicRef<'g, AtomicU32, WorkGroup> {
        self.word(OWN_NUMBERS)
    }

    /// Gives the others one of two sizes, which they see after a [`wait`](Self::wait): `index < 2`.
    #[inline(always)]
    pub(super) fn set_size(&self, index: usize, size: usize) {
        let word = OWN_NUMBERS.wrapping_add(index.wrapping_mul(2));
        self.word(word).store(size as u32, Relaxed);
        self.word(word.wrapping_add(1)).store((size >> 32) as u32, Relaxed);
    }

    /// What [`set_size`](Self::set_size) has been called with.
    #[inline(always)]
    pub(super) fn size(&self, index: usize) -> usize {
        let word = OWN_NUMBERS.wrapping_add(index.wrapping_mul(2));
        let high = self.word(word.wrapping_add(1)).load(Relaxed) as usize;
        high << 32 | self.word(word).load(Relaxed) as usize
    }

    /// A barrier that says whether all work-items of the group are there. If not, a closure has
    /// panicked in some; then what they were to write is missing, and the others shall end, too.
    /// All get the same answer.
    ///
    /// A complete sub-group counts one arrival at each wait. None passes a wait before all have arrived
    /// there, so later arrivals of the others cannot make up for one that is missing.
    #[inline(always)]
    #[must_use]
    pub(super) fn wait(&mut self) -> bool {
        self.arrivals = self.arrivals.wrapping_add(SUB_GROUPS as u32);
        let is_complete = self.sub_group.ballot(true) == u32::MAX;
        if is_complete && self.sub_group.local_id() == 0 {
            self.word(0).fetch_add(1, Relaxed);
        }
        self.item.barrier();
        self.word(0).load(Relaxed) >= self.arrivals
    }

    /// Loads `count` elements of a tile, in the order in which memory is read best. Others see them
    /// after a [`wait`](Self::wait).
    #[inline(always)]
    pub(super) fn load(&self, count: usize, element: impl Fn(usize) -> T) {
        let is_full = count == ScratchOf::<T, LONG>::TILE;
        let mut loaded = [MaybeUninit::<T>::uninit(); LONG];
        let mut row = 0;
        while row < ScratchOf::<T, LONG>::RUN {
            unroll_full();
            let index = (row * GROUP).wrapping_add(self.own);
            if is_full || index < count {
                loaded[row].write(element(index));
            }
            row += 1;
        }
        row = 0;
        while row < ScratchOf::<T, LONG>::RUN {
            unroll_full();
            let index = (row * GROUP).wrapping_add(self.own);
            if is_full || index < count {
                // SAFETY: it was loaded; an element of the tile, which this work-item alone
                // accesses before the next barrier.
                unsafe { self.element(index).write(loaded[row].assume_init()) };
            }
            row += 1;
        }
    }

    /// Where the work-item's run begins and ends, in a tile of `count` elements.
    #[inline(always)]
    pub(super) fn run(&self, count: usize) -> (usize, usize) {
        let begin = self.own.wrapping_mul(ScratchOf::<T, LONG>::RUN);
        let end = begin.wrapping_add(ScratchOf::<T, LONG>::RUN);
        (if begin < count { begin } else { count }, if end < count { end } else { count })
    }

    /// Combines the elements of the own run; `None` if it has none.
    ///
    /// # Safety
    /// The tile has `count` elements, and there was a barrier since they were written.
    #[inline(always)]
    pub(super) unsafe fn fold_run(&self, count: usize, op: impl Fn(T, T) -> T) -> Option<T> {
        let (begin, end) = self.run(count);
        if begin == end {
            return None;
        }
        // SAFETY: elements of the tile that are there.
        let mut total = unsafe { self.element(begin).read() };
        let is_full = count == ScratchOf::<T, LONG>::TILE;
        let mut step = 1;
        while step < ScratchOf::<T, LONG>::RUN {
            unroll_full();
            let index = begin.wrapping_add(step);
            if is_full || index < end {
                // SAFETY: as above.
                total = op(total, unsafe { self.element(index).read() });
            }
            step += 1;
        }
        Some(total)
    }

    /// Combines the values of the work-items of each sub-group, up to each one. The first ones of
    /// the group have a value. Returns whether all are there. Ends with a barrier.
    #[inline(always)]
    #[must_use]
    pub(super) fn scan_totals(&mut self, own: Option<T>, op: impl Fn(T, T) -> T) -> bool {
        if let Some(own) = own {
            // SAFETY: the work-item's own value.
            unsafe { self.total_of(self.own).write(own) };
        }
        if !self.wait() {
            return false;
        }
        // From here on each of these values is valid, whichever work-item ends.
        let first = self.own.wrapping_sub(self.sub_group.local_id());
        // SAFETY: those of the sub-group, which accesses them alone; all of the work-items that
        // have a value have written it, and no one behind a work-item that has none.
        unsafe { scan_lanes(self.sub_group, self.total_of(first), own, op) };
        self.item.barrier();
        true
    }

    /// After [`scan_totals`](Self::scan_totals): the values before this work-item's, combined;
    /// `None` for the first.
    ///
    /// # Safety
    /// All work-items before this one had a value, and there was no other scan.
    #[inline(always)]
    pub(super) unsafe fn before(&self, op: impl Fn(T, T) -> T + Copy) -> Option<T> {
        let mut before = None;
        let mut last = LANES - 1;
        while last < GROUP {
            if last < self.own && last / LANES < self.own / LANES {
                // SAFETY: the caller says that it has a value, which no work-item changes.
                before = Some(join(before, unsafe { self.total_of(last).read() }, op));
            }
            last += LANES;
        }
        if self.sub_group.local_id() != 0 {
            // SAFETY: as above.
            let own = unsafe { self.total_of(self.own.wrapping_sub(1)).read() };
            before = Some(join(before, own, op));
        }
        before
    }

    /// After [`scan_totals`](Self::scan_totals): the values of the first `active` work-items,
    /// combined.
    ///
    /// # Safety
    /// So many had a value, at least 1, and there was no other scan.
    #[inline(always)]
    pub(super) unsafe fn total(&self, active: usize, op: impl Fn(T, T) -> T + Copy) -> T {
        let mut total = None;
        let mut last = LANES - 1;
        while last < GROUP {
            if last < active.wrapping_sub(1) {
                // SAFETY: the caller says that it has a value, which no work-item changes.
                total = Some(join(total, unsafe { self.total_of(last).read() }, op));
            }
            last += LANES;
        }
        // SAFETY: as above.
        join(total, unsafe { self.total_of(active.wrapping_sub(1)).read() }, op)
    }
}

/// `before`, if there is something, and `own`, combined.
#[inline(always)]
pub(super) fn join<T>(before: Option<T>, own: T, op: impl Fn(T, T) -> T) -> T {
    match before {
        Some(before) => op(before, own),
        None => own,
    }
}

/// Inclusive scan of the values of a sub-group's lanes in memory (Kogge and Stone, 1973). All lanes
/// execute it; those that have a value pass it as `own`, too. Ends with a barrier of the sub-group.
///
/// # Safety
/// `values` are the lanes' values, and those of the lanes with a value, which are the first ones,
/// are there. Only this sub-group accesses them.
#[inline(always)]
pub(super) unsafe fn scan_lanes<T: Copy>(
    sub_group: SubGroup<'_>,
    values: *mut T,
    own: Option<T>,
    op: impl Fn(T, T) -> T,
) {
    let lane = sub_group.local_id();
    let mut sum = own;
    let mut distance = 1;
    while distance < LANES {
        let before = match sum {
            Some(_) if lane >= distance => {
                // SAFETY: a lane before one that has a value has one.
                Some(unsafe { values.wrapping_add(lane.wrapping_sub(distance)).read() })
            }
            _ => None,
        };
        sub_group.barrier();
        if let (Some(before), Some(own)) = (before, sum) {
            let both = op(before, own);
            sum = Some(both);
            // SAFETY: the lane's own value, which no other lane reads between the barriers.
            unsafe { values.wrapping_add(lane).write(both) };
        }
        sub_group.barrier();
        distance *= 2;
    }
}
