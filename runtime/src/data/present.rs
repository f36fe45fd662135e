//! Which parts of the host's memory devices have copies of that stay there.
//!
//! A *shared* copy is one of elements that are borrowed shared: it has the values that the host has, and
//! launches read either. An *exclusive* copy is one of elements that are borrowed exclusively, by a
//! region: its values count until the region ends, and those of the host do not. So launches that are
//! given any part of these use the copy, on any thread; on another device they use a copy of the copy.
//!
//! Copies of one range lie within each other, as borrows do. The latest one counts.

use std::ops::Range;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError, RwLock, RwLockWriteGuard};
use std::thread::{self, ThreadId};

use crate::data::device_copy::{Allocate, CopyOwner, DeviceCopy, Original};
use crate::data::host_range::HostRange;
use crate::data::pending;
use crate::error::BufferError;
use crate::hal::dispatch::BackendQueue;

/// A copy that a device has.
#[derive(Debug)]
struct Present {
    begin: usize,
    end: usize,
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    Shared {
        owner: CopyOwner,
        copy: usize,
        device: String,
        /// The thread that asked for it by a region; `None` if a launch has left it.
        region: Option<ThreadId>,
    },
    Exclusive {
        copy: Arc<DeviceCopy>,
        counts: Counts,
    },
}

/// Who has asked for a copy.
#[derive(Debug, Default)]
struct Counts {
    /// How many regions that have not ended.
    structured: usize,
    /// Each `enter data` that no `exit data` has followed, by its number.
    dynamic: Vec<u64>,
}

/// What ends a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lifetime {
    /// The end of a region.
    Structured,
    /// `exit data`.
    Dynamic,
}

/// One of those that have asked for a copy.
#[derive(Clone, Copy, Debug)]
enum Reference {
    Region,
    /// `enter data`, by its number.
    Entered(u64),
}

impl Reference {
    fn new(lifetime: Lifetime) -> Self {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        match lifetime {
            Lifetime::Structured => Self::Region,
            Lifetime::Dynamic => Self::Entered(NUMBER.fetch_add(1, Ordering::Relaxed)),
        }
    }
}

impl Counts {
    fn add(&mut self, reference: Reference) {
        match reference {
            Reference::Region => self.structured += 1,
            Reference::Entered(number) => self.dynamic.push(number),
        }
    }

    /// An `exit data` may have been there before.
    fn remove(&mut self, reference: Reference) {
        match reference {
            Reference::Region => self.structured = self.structured.saturating_sub(1),
            Reference::Entered(number) => self.dynamic.retain(|own| *own != number),
        }
    }
}

/// All copies, in the order in which they were made.
static PRESENT: RwLock<Vec<Present>> = RwLock::new(Vec::new());

/// How often some have come or gone.
static CHANGES: AtomicU64 = AtomicU64::new(0);

/// How often copies have come or gone. Where that is as it was, so is where ranges are.
#[inline]
pub(crate) fn changes() -> u64 {
    CHANGES.load(Ordering::Acquire)
}

/// All copies, for some to come or go.
fn all_to_change() -> RwLockWriteGuard<'static, Vec<Present>> {
    let all = PRESENT.write().unwrap_or_else(PoisonError::into_inner);
    CHANGES.fetch_add(1, Ordering::Release);
    all
}

/// How many of them are exclusive.
static EXCLUSIVE: AtomicUsize = AtomicUsize::new(0);

/// Where the values of a range of the host's memory are.
#[derive(Debug)]
pub(crate) enum Location {
    /// Where the host has them.
    Host,
    /// In a copy on the device, which stays as long as its owner.
    Here(CopyOwner, NonNull<u8>),
    /// In a copy that launches of the device cannot use, and the host's are older.
    Elsewhere(Arc<DeviceCopy>),
}

/// Whether some values are not where the host has them, or launches of the queue cannot use these.
#[inline]
pub(crate) fn is_locating(queue: &BackendQueue) -> bool {
    queue.has_own_memory() || has_exclusive()
}

/// Whether there is an exclusive copy.
#[inline]
pub(crate) fn has_exclusive() -> bool {
    // Elements of a region are had from the thread that began it, directly or not.
    EXCLUSIVE.load(Ordering::Relaxed) != 0
}

/// Where launches of a queue have the values of a range.
///
/// # Errors
/// [`BufferError::PartlyPresent`] if a part of the range is in an exclusive copy, or if a region of this
/// thread keeps a part of it shared.
pub(crate) fn locate(queue: &BackendQueue, range: &HostRange) -> Result<Location, BufferError> {
    let found = find(&PRESENT.read().unwrap_or_else(PoisonError::into_inner), queue, range);
    pending::wait(matches!(found, Ok((Location::Here(..), _))));
    Ok(found?.0)
}

/// Where a region has a range.
#[derive(Debug)]
pub(crate) struct InRegion {
    /// What tells the copy from others as long as it is there.
    pub(crate) owner: usize,
    pub(crate) place: NonNull<u8>,
}

/// Where launches of a queue have ranges which regions keep: exclusively, or shared by this thread. Says
/// after how many [changes](changes) that is so; `None` if some are elsewhere.
pub(crate) fn locate_in_regions(
    queue: &BackendQueue,
    ranges: &[HostRange],
) -> Option<(u64, Vec<InRegion>)> {
    let all = PRESENT.read().unwrap_or_else(PoisonError::into_inner);
    if all.is_empty() {
        return None;
    }
    let locate = |range: &HostRange| match find(&all, queue, range) {
        Ok((Location::Here(owner, place), true)) => {
            Some(InRegion { owner: pending::address(&owner), place })
        }
        _ => None,
    };
    Some((changes(), ranges.iter().map(locate).collect::<Option<_>>()?))
}

/// Where launches of a queue have a range, and whether a region keeps it there until a launch of this
/// thread has ended which borrows it.
fn find(
    all: &[Present],
    queue: &BackendQueue,
    range: &HostRange,
) -> Result<(Location, bool), BufferError> {
    let (begin, end) = (range.begin.addr(), range.end());
    let mut in_part = None;
    for present in all.iter().rev().filter(|it| it.begin < end && begin < it.end) {
        let has_all = present.begin <= begin && end <= present.end;
        // Elements of another type may be aligned on the host, and not there.
        let fits = |copy: NonNull<u8>| copy.addr().get().is_multiple_of(range.align);
        match &present.kind {
            Kind::Shared { device, .. } if device != queue.device_name() || range.is_changed() => {}
            Kind::Shared { owner, copy, region, .. } if has_all => {
                let copy = std::ptr::with_exposed_provenance_mut(copy + (begin - present.begin));
                if let Some(copy) = NonNull::new(copy).filter(|copy| fits(*copy)) {
                    let is_own = *region == Some(thread::current().id());
                    return Ok((Location::Here(Arc::clone(owner), copy), is_own));
                }
            }
            Kind::Shared { region, device, .. } => {
                if *region == Some(thread::current().id()) {
                    in_part.get_or_insert_with(|| present.in_part(begin..end, device));
                }
            }
            Kind::Exclusive { copy, .. } if !has_all => {
                return Err(present.in_part(begin..end, copy.device()));
            }
            Kind::Exclusive { copy, .. } => {
                if range.is_changed() {
                    copy.changes();
                }
                let here = copy.at(begin);
                let owner = Arc::clone(copy);
                let is_here = copy.device() == queue.device_name() && fits(here);
                let location =
                    if is_here { Location::Here(owner, here) } else { Location::Elsewhere(owner) };
                return Ok((location, true));
            }
        }
    }
    in_part.map_or(Ok((Location::Host, false)), Err)
}

impl Present {
    fn in_part(&self, slice: Range<usize>, device: &str) -> BufferError {
        BufferError::PartlyPresent {
            slice,
            present: self.begin..self.end,
            device: device.to_owned(),
        }
    }
}

/// The exclusive copy that has all of a range; `None` if the values are the host's.
///
/// # Errors
/// [`BufferError::PartlyPresent`].
pub(crate) fn exclusive(range: &HostRange) -> Result<Option<Arc<DeviceCopy>>, BufferError> {
    pending::wait(false);
    let (begin, end) = (range.begin.addr(), range.end());
    let all = PRESENT.read().unwrap_or_else(PoisonError::into_inner);
    for present in all.iter().rev().filter(|it| it.begin < end && begin < it.end) {
        let Kind::Exclusive { copy, .. } = &present.kind else { continue };
        if present.begin <= begin && end <= present.end {
            return Ok(Some(Arc::clone(copy)));
        }
        return Err(present.in_part(begin..end, copy.device()));
    }
    Ok(None)
}

/// The exclusive copy with an address of a device's libraries, and the host's address.
pub(crate) fn host_address(device_address: usize) -> Option<usize> {
    let all = PRESENT.read().unwrap_or_else(PoisonError::into_inner);
    all.iter().rev().find_map(|present| match &present.kind {
        Kind::Exclusive { copy, .. } => copy.host_address(device_address),
        Kind::Shared { .. } => None,
    })
}

/// The range of the copy that is nearest to an address.
pub(crate) fn nearest(address: usize) -> Option<Range<usize>> {
    let all = PRESENT.read().unwrap_or_else(PoisonError::into_inner);
    let distance = |it: &&Present| it.begin.abs_diff(address).min(it.end.abs_diff(address));
    all.iter().min_by_key(distance).map(|present| present.begin..present.end)
}

/// Makes a device's shared copy known to launches as long as it lives.
#[derive(Debug)]
pub struct PresentCopy {
    begin: usize,
    copy: usize,
}

impl PresentCopy {
    /// A range, which is borrowed shared as long as the result lives, has a copy at `copy`, in
    /// memory of `owner`. A region keeps it, or else a launch has left it.
    pub(crate) fn new(
        range: &HostRange,
        copy: *const u8,
        owner: CopyOwner,
        device: &str,
        is_region: bool,
    ) -> Self {
        let (begin, end) = (range.begin.addr(), range.end());
        let (copy, device) = (copy.expose_provenance(), device.to_owned());
        let region = is_region.then(|| thread::current().id());
        let mut all = all_to_change();
        all.push(Present { begin, end, kind: Kind::Shared { owner, copy, device, region } });
        Self { begin, copy }
    }
}

impl Drop for PresentCopy {
    fn drop(&mut self) {
        remove(|present| match &present.kind {
            Kind::Shared { copy, .. } => present.begin == self.begin && *copy == self.copy,
            Kind::Exclusive { .. } => false,
        });
    }
}

/// Removes a copy. Its memory is freed without the lock.
fn remove(is_it: impl Fn(&Present) -> bool) {
    pending::wait(false);
    let mut all = all_to_change();
    let removed = all.iter().position(is_it).map(|at| all.remove(at));
    if let Some(Present { kind: Kind::Exclusive { .. }, .. }) = removed {
        EXCLUSIVE.fetch_sub(1, Ordering::Relaxed);
    }
    drop(all);
    drop(removed);
}

/// Makes launches use a device's copy of elements that are borrowed exclusively, until it has
/// [ended](Self::end).
#[derive(Debug)]
pub(crate) struct ExclusiveCopy {
    copy: Arc<DeviceCopy>,
    /// Whether the copy was made for it. Otherwise it was there before, and stays.
    is_owner: bool,
    reference: Reference,
}

/// Changes the entry of a copy; `None` if there is none any more.
fn with_counts<R>(copy: &Arc<DeviceCopy>, change: impl FnOnce(&mut Counts) -> R) -> Option<R> {
    pending::wait(false);
    let mut all = PRESENT.write().unwrap_or_else(PoisonError::into_inner);
    all.iter_mut()
        .rev()
        .find_map(|present| match &mut present.kind {
            Kind::Exclusive { copy: own, counts } if Arc::ptr_eq(own, copy) => Some(counts),
            _ => None,
        })
        .map(change)
}

impl ExclusiveCopy {
    /// Copies a range to the device of a queue, unless a copy is there, and says whether it did; `None` if
    /// that device uses the host's memory, which has the range's values.
    ///
    /// # Errors
    /// [`BufferError`], among others [`BufferError::PartlyPresent`].
    ///
    /// # Safety
    /// The range is borrowed exclusively until the result has [ended](Self::end), and it does end.
    pub(crate) unsafe fn new(
        queue: &BackendQueue,
        allocate: Allocate<'_>,
        range: &HostRange,
        lifetime: Lifetime,
    ) -> Result<Option<(Self, bool)>, BufferError> {
        let original = match exclusive(range)? {
            Some(copy) if copy.device() == queue.device_name() => {
                let reference = Reference::new(lifetime);
                with_counts(&copy, |counts| counts.add(reference));
                return Ok(Some((Self { copy, is_owner: false, reference }, false)));
            }
            Some(copy) => Original::Device(copy),
            None if !queue.has_own_memory() => return Ok(None),
            None => Original::Host,
        };
        // SAFETY: the caller's promise; the other copy has all of the range.
        let copy = unsafe { DeviceCopy::new(queue, allocate, range, original)? };
        Ok(Some((Self::of(Arc::new(copy), lifetime), true)))
    }

    pub(crate) const fn memory(&self) -> &Arc<DeviceCopy> {
        &self.copy
    }

    /// That of a copy that is there.
    pub(crate) fn of(copy: Arc<DeviceCopy>, lifetime: Lifetime) -> Self {
        let (mut counts, reference) = (Counts::default(), Reference::new(lifetime));
        counts.add(reference);
        let (begin, end) = (copy.begin(), copy.end());
        let kind = Kind::Exclusive { copy: Arc::clone(&copy), counts };
        let mut all = all_to_change();
        EXCLUSIVE.fetch_add(1, Ordering::Relaxed);
        all.push(Present { begin, end, kind });
        Self { copy, is_owner: true, reference }
    }

    /// Brings changed values back if the copy was made for this, and says how many bytes these are.
    ///
    /// # Errors
    /// [`BufferError`]. The copy has ended nevertheless.
    ///
    /// # Safety
    /// `host` is the first address of the copy's range, which is borrowed exclusively by the caller.
    pub(crate) unsafe fn end(self, host: *mut u8) -> Result<usize, BufferError> {
        if !self.is_owner {
            self.uncount();
            return Ok(0);
        }
        // An `exit data` has been there.
        if with_counts(&self.copy, |_| ()).is_none() {
            return Ok(0);
        }
        // SAFETY: the caller's promise.
        let brought = unsafe { self.copy.bring(host) };
        forget(&self.copy);
        brought
    }

    /// Ends it, and leaves the host what it has, if the copy was made for this.
    pub(crate) fn discard(self) {
        if self.is_owner {
            forget(&self.copy);
        } else {
            self.uncount();
        }
    }

    /// Of a copy that stays.
    fn uncount(&self) {
        with_counts(&self.copy, |counts| counts.remove(self.reference));
    }
}

fn forget(copy: &Arc<DeviceCopy>) {
    remove(
        |present| matches!(&present.kind, Kind::Exclusive { copy: own, .. } if Arc::ptr_eq(own, copy)),
    );
}

/// What `exit data` does with a range that is borrowed exclusively: its copy ends, unless it was asked for
/// more often, or a region keeps it. Changed values are brought back then; says how many bytes these are.
///
/// # Errors
/// [`BufferError`].
///
/// # Safety
/// The range is borrowed exclusively by the caller.
pub(crate) unsafe fn exit(range: &HostRange, is_final: bool) -> Result<usize, BufferError> {
    let Some(copy) = exclusive(range)? else { return Ok(0) };
    let is_last = with_counts(&copy, |counts| {
        if is_final {
            counts.dynamic.clear();
        }
        counts.dynamic.pop();
        counts.dynamic.is_empty() && counts.structured == 0
    });
    let is_whole = (copy.begin(), copy.end()) == (range.begin.addr(), range.end());
    if is_last != Some(true) || !is_whole {
        return Ok(0);
    }
    // SAFETY: the caller's promise: it is all of the copy's range.
    let brought = unsafe { copy.bring(range.begin) };
    forget(&copy);
    brought
}
