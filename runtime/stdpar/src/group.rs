//! A work-group whose work-items have results, and joins them in their order.
//!
//! Each result is read once, so results need not be copied as values: what a reducer takes away, it
//! takes away once. Lanes of a sub-group join by a tree; then one work-item joins what the
//! sub-groups have.
//!
//! A closure that panics ends its work-item, on a GPU without the others. So the work-item that is to read what
//! another has written checks first that all are there; if not, it ends, too, and the launch fails.

use std::mem::MaybeUninit;

use schism::__private::in_group;
use schism::{Item, NdItem, SubGroup};

/// The lanes of a sub-group.
pub(crate) const LANES: usize = SubGroup::MAX_SIZE;

/// The most work-items of a group.
const MOST: usize = 256;

/// The most bytes of results in a group's local memory.
const BYTES: usize = 32 << 10;

/// The work-items of a group with results of type `R`.
pub(crate) const fn size_for<R>() -> usize {
    let mut size = MOST;
    while size > LANES && size * size_of::<R>() > BYTES {
        size /= 2;
    }
    size
}

/// Whether local memory has room for the results of a sub-group, as they are aligned.
pub(crate) const fn has_room_for<R>() -> bool {
    LANES * size_of::<R>() <= BYTES && align_of::<R>() <= 128
}

/// Bytes of local memory: a result for each work-item, and a word for each sub-group.
pub(crate) const fn memory_for<R>() -> usize {
    words_at::<R>() + size_for::<R>() / LANES * size_of::<u32>()
}

const fn words_at<R>() -> usize {
    (size_for::<R>() * size_of::<R>()).next_multiple_of(align_of::<u32>())
}

/// One work-item of such a group.
pub(crate) struct Member<'g, R> {
    item: NdItem<'g, 1>,
    sub_group: SubGroup<'g>,
    results: *mut MaybeUninit<R>,
    words: *mut u32,
}

impl<R> Member<'_, R> {
    /// All work-items of the group call this first.
    ///
    /// # Safety
    /// The launch is by [`run_in_groups`](schism::__private::run_in_groups), of as many work-items
    /// and as much memory as the functions above say.
    #[inline(always)]
    pub(crate) unsafe fn new(item: Item<1>) -> Self {
        // SAFETY: the caller's promise; members live no longer than their group's run.
        let (item, memory) = unsafe { in_group(item) };
        let words = memory.wrapping_add(words_at::<R>()).cast::<u32>();
        let member = Self { item, sub_group: item.sub_group(), results: memory.cast(), words };
        if member.lane() == 0 {
            // SAFETY: the sub-group's own word.
            unsafe { member.word(member.sub_group.group_id()).write(0) };
        }
        item.barrier();
        member
    }

    /// The work-item in its sub-group.
    #[inline(always)]
    pub(crate) fn lane(&self) -> usize {
        self.sub_group.local_id()
    }

    /// The sub-group in the launch.
    #[inline(always)]
    pub(crate) fn sub_group(&self) -> usize {
        let of_group = const { size_for::<R>() / LANES };
        self.item.group_x().wrapping_mul(of_group).wrapping_add(self.sub_group.group_id())
    }

    /// The group in the launch.
    #[inline(always)]
    pub(crate) fn group(&self) -> usize {
        self.item.group_x()
    }

    #[inline(always)]
    fn word(&self, sub_group: usize) -> *mut u32 {
        self.words.wrapping_add(sub_group)
    }

    #[inline(always)]
    fn result(&self, work_item: usize) -> *mut MaybeUninit<R> {
        self.results.wrapping_add(work_item)
    }

    /// Joins the results of a sub-group's lanes, of which the first `count` have one. All lanes call
    /// it. The first lane gets the result.
    ///
    /// # Errors
    /// A lane has panicked: the work-item shall end.
    #[inline(always)]
    pub(crate) fn join_lanes(
        &self,
        own: Option<R>,
        count: usize,
        join: impl Fn(usize, usize, R, R) -> R,
    ) -> Result<Option<R>, Panicked> {
        let (lane, first) = (self.lane(), self.item.local_x().wrapping_sub(self.lane()));
        let mut own = own;
        let mut distance = 1;
        while distance < LANES {
            schism::unroll_full();
            // Each lane but the first gives its result away once: at its lowest bit that is set.
            if lane & (2 * distance - 1) == distance
                && let Some(own) = own.take()
            {
                // SAFETY: the work-item's own place, which was read before the last barrier, if ever.
                unsafe { self.result(first.wrapping_add(lane)).write(MaybeUninit::new(own)) };
            }
            self.sub_group.barrier();
            if self.sub_group.ballot(true) != u32::MAX {
                return Err(Panicked);
            }
            let other = lane.wrapping_add(distance);
            if lane & (2 * distance - 1) == 0
                && other < count
                && let Some(left) = own.take()
            {
                // SAFETY: that lane has a result, is there, and has written it before the barrier;
                // this lane alone reads it.
                let right = unsafe { self.result(first.wrapping_add(other)).read().assume_init() };
                own = Some(join(lane, other, left, right));
            }
            distance *= 2;
        }
        Ok(own)
    }

    /// Joins the results of the group's sub-groups, which their first lanes have, and writes what
    /// the group has to its place among `results`. All work-items call it.
    ///
    /// # Errors
    /// As for [`join_lanes`](Self::join_lanes).
    ///
    /// # Safety
    /// There is a place for each group of the launch, which nothing else accesses.
    #[inline(always)]
    pub(crate) unsafe fn give(
        &self,
        own: Option<R>,
        join: impl Fn(usize, R, R) -> R,
        results: *mut MaybeUninit<R>,
    ) -> Result<(), Panicked> {
        if let Some(result) = self.join_sub_groups(own, join)? {
            // SAFETY: the caller's promise; the first work-item alone has a result.
            unsafe { results.add(self.group()).write(MaybeUninit::new(result)) };
        }
        Ok(())
    }

    /// Joins the results of the group's sub-groups. The first work-item gets the result.
    ///
    /// # Errors
    /// As for [`join_lanes`](Self::join_lanes).
    #[inline(always)]
    fn join_sub_groups(
        &self,
        own: Option<R>,
        join: impl Fn(usize, R, R) -> R,
    ) -> Result<Option<R>, Panicked> {
        const ABSENT: u32 = 1;
        const THERE: u32 = 2;
        let number = self.sub_group.group_id();
        let mut own = own;
        if self.lane() == 0 && number != 0 {
            let state = if own.is_some() { THERE } else { ABSENT };
            if let Some(own) = own.take() {
                // SAFETY: the first lane's own place, which nothing reads before the barrier.
                unsafe {
                    self.result(number.wrapping_mul(LANES)).write(MaybeUninit::new(own));
                }
            }
            // SAFETY: the sub-group's own word.
            unsafe { self.word(number).write(state) };
        }
        self.item.barrier();
        if self.item.local_x() != 0 {
            return Ok(None);
        }
        let mut number = 1;
        while number < const { size_for::<R>() / LANES } {
            // SAFETY: written before a barrier, by `new` at least.
            match unsafe { self.word(number).read() } {
                ABSENT => {}
                THERE => {
                    // SAFETY: the sub-group has written it before the barrier, and this work-item
                    // alone reads it.
                    let right =
                        unsafe { self.result(number.wrapping_mul(LANES)).read().assume_init() };
                    own = Some(match own.take() {
                        Some(left) => join(number, left, right),
                        None => right,
                    });
                }
                _ => return Err(Panicked),
            }
            number += 1;
        }
        Ok(own)
    }
}

/// Another work-item of the group has panicked.
pub(crate) struct Panicked;
