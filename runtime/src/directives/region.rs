//! Regions: arrays that stay on a device while a block runs.
//!
//! A region is a guard. What a directive expands to keeps it in a variable that no other code can name,
//! so it is dropped where the block ends, whichever way that is, and is never forgotten.

use std::mem::MaybeUninit;
use std::ops::Range;
use std::{slice, thread};

use crate::api::queue::Queue;
use crate::api::resident::Shared;
use crate::data::buffer::Buffer;
use crate::data::host_range::{HostAccess, HostRange};
use crate::data::pending;
use crate::data::present::{ExclusiveCopy, Lifetime};
use crate::data::view::{View, ViewMut, bounds};
use crate::directives::elements::{Elements, ElementsMut};
use crate::directives::outcome::or_panic;
use crate::error::{BufferError, Error, LaunchError};
use crate::kernel::element::Element;
use crate::launch::report::Reports;

/// Elements that are borrowed exclusively, on a device.
#[derive(Debug, Default)]
pub(super) struct RegionCopy {
    copy: Option<ExclusiveCopy>,
    reports: Option<Reports>,
}

impl RegionCopy {
    /// # Errors
    /// [`BufferError`].
    ///
    /// # Safety
    /// The range is borrowed exclusively, or is not used otherwise, until [`end`](Self::end).
    pub(super) unsafe fn new(
        queue: &Queue,
        range: Option<HostRange>,
        lifetime: Lifetime,
    ) -> Result<Self, Error> {
        queue.refuse_inside_kernels()?;
        let mut region = Self { copy: None, reports: queue.reports().cloned() };
        let Some(range) = range else { return Ok(region) };
        let allocate = |layout| queue.allocate(layout);
        // SAFETY: the caller's promise.
        let copy = unsafe { ExclusiveCopy::new(queue.backend(), &allocate, &range, lifetime)? };
        if let (Some((_, true)), Some(reports)) = (&copy, &region.reports) {
            reports.copied_to(range.bytes);
        }
        region.copy = copy.map(|(copy, _)| copy);
        Ok(region)
    }

    /// Copies back what launches have changed.
    ///
    /// # Errors
    /// [`BufferError`].
    ///
    /// # Safety
    /// `host` is the begin of the range, which the caller has borrowed exclusively.
    pub(super) unsafe fn end(&mut self, host: *mut u8) -> Result<(), BufferError> {
        let Some(copy) = self.copy.take() else { return Ok(()) };
        // SAFETY: the caller's promise.
        let bytes = unsafe { copy.end(host)? };
        if let Some(reports) = &self.reports {
            reports.copied_from(bytes);
        }
        Ok(())
    }

    /// Leaves the host what it has.
    pub(super) fn discard(&mut self) {
        if let Some(copy) = self.copy.take() {
            copy.discard();
        }
    }

    /// Ends a region as it is dropped.
    ///
    /// # Safety
    /// As for [`end`](Self::end).
    pub(super) unsafe fn end_or_panic(&mut self, host: *mut u8) {
        let launched = pending::settle(self.copy.as_ref().map(ExclusiveCopy::memory));
        // SAFETY: the caller's promise.
        end_or_panic(launched, unsafe { self.end(host) });
    }
}

/// Ends a region as it is dropped, with the outcome of its launches and that of the copy.
fn end_or_panic(launched: Result<(), LaunchError>, copied: Result<(), BufferError>) {
    if let Err(error) = launched.map_err(Error::from).and(copied.map_err(Error::from)) {
        if thread::panicking() {
            eprintln!("while a region ended by a panic: {error}");
        } else {
            panic!("{error}");
        }
    }
}

/// Ends a region whose elements were read, as it is dropped.
fn end_shared(kept: &mut Option<Shared<'_, MaybeUninit<u8>>>) {
    *kept = None;
    end_or_panic(pending::settle::<()>(None), Ok(()));
}

/// What a clause asks for.
#[derive(Clone, Debug)]
pub struct MapClause {
    /// Whether anything is kept: `if`.
    pub is_kept: bool,
    /// A part of the array; `None` for all of it.
    pub part: Option<Range<usize>>,
    /// Whether it lasts until `exit data`.
    pub is_dynamic: bool,
}

impl MapClause {
    const fn lifetime(&self) -> Lifetime {
        if self.is_dynamic { Lifetime::Dynamic } else { Lifetime::Structured }
    }

    /// The part, of an array of so many elements.
    #[inline(never)]
    #[track_caller]
    fn part(&self, len: usize) -> Range<usize> {
        let part = self.part.clone().unwrap_or(0..len);
        or_panic(bounds(part.clone(), len));
        part
    }
}

/// Keeps a part of elements.
///
/// # Safety
/// As for [`RegionCopy::new`].
#[track_caller]
unsafe fn exclusive_region(
    queue: &Queue,
    all: Option<&HostRange>,
    (len, size): (usize, usize),
    clause: &MapClause,
) -> (Range<usize>, RegionCopy) {
    let part = clause.part(len);
    let range = all.filter(|_| clause.is_kept).and_then(|all| {
        // The part is in the range.
        let begin = all.begin.wrapping_add(part.start.wrapping_mul(size));
        HostRange::of_bytes(begin, part.len().wrapping_mul(size), all.align, HostAccess::Changes)
    });
    // SAFETY: the caller's promise.
    let kept = or_panic(unsafe { RegionCopy::new(queue, range, clause.lifetime()) });
    (part, kept)
}

/// Keeps elements to be read.
#[track_caller]
fn shared_region<'a>(
    queue: &Queue,
    bytes: &'a [MaybeUninit<u8>],
    is_kept: bool,
) -> Option<Shared<'a, MaybeUninit<u8>>> {
    or_panic(queue.refuse_inside_kernels());
    let is_host = HostRange::read(bytes.as_ptr(), bytes.len()).is_some();
    (is_host && is_kept).then(|| or_panic(Shared::of(queue, bytes)))
}

/// An array that stays on a device as long as this lives, to be read and changed there. Then what was
/// changed is copied back.
#[derive(Debug)]
pub struct Region<'a, A: ElementsMut + ?Sized> {
    array: &'a mut A,
    part: Range<usize>,
    kept: RegionCopy,
}

impl<'a, A: ElementsMut + ?Sized> Region<'a, A> {
    /// Copies an array to the device of a queue, unless it is there.
    ///
    /// The result must not be forgotten. It is safe to call all the same, so that programs without unsafe
    /// code can have regions: what directives expand to is the only caller.
    ///
    /// # Panics
    /// If that fails.
    #[track_caller]
    pub fn new(queue: &Queue, array: &'a mut A, clause: MapClause) -> Self {
        let view = array.__elements_mut();
        let all = HostRange::changed(view.as_mut_ptr(), view.len());
        let size = (view.len(), size_of::<A::Element>());
        // SAFETY: the region has the array's borrow until its drop, which ends the copy.
        let (part, kept) = unsafe { exclusive_region(queue, all.as_ref(), size, &clause) };
        Self { array, part, kept }
    }
}

impl<A: ElementsMut + ?Sized> Drop for Region<'_, A> {
    fn drop(&mut self) {
        let elements = self.array.__elements_mut().elements();
        // SAFETY: the part was in the array, which has been borrowed since.
        let begin = unsafe { elements.add(self.part.start) };
        // SAFETY: it is the begin of the part, of the array that is borrowed exclusively.
        unsafe { self.kept.end_or_panic(begin.as_ptr().cast()) };
    }
}

impl<T: Element> Region<'_, [T]> {
    /// What the block has in the place of the array.
    pub fn inside(&mut self) -> &mut [T] {
        self.array
    }
}

impl<T: Element> Region<'_, Buffer<T>> {
    /// What the block has in the place of the array.
    pub fn inside(&mut self) -> ViewMut<'_, T> {
        self.array.view_mut()
    }
}

impl<T: Element> Region<'_, ViewMut<'_, T>> {
    /// What the block has in the place of the array.
    pub const fn inside(&mut self) -> ViewMut<'_, T> {
        self.array.reborrow()
    }
}

/// An array that stays on a device as long as this lives, to be read there.
#[derive(Debug)]
pub struct SharedRegion<'a, A: Elements + ?Sized> {
    array: &'a A,
    kept: Option<Shared<'a, MaybeUninit<u8>>>,
}

impl<A: Elements + ?Sized> Drop for SharedRegion<'_, A> {
    fn drop(&mut self) {
        end_shared(&mut self.kept);
    }
}

impl<'a, A: Elements + ?Sized> SharedRegion<'a, A> {
    /// Copies an array to the device of a queue, unless it is there.
    ///
    /// The result must not be forgotten. It is safe to call all the same, so that programs without unsafe
    /// code can have regions: what directives expand to is the only caller.
    ///
    /// # Panics
    /// If that fails.
    #[track_caller]
    pub fn new(queue: &Queue, array: &'a A, clause: MapClause) -> Self {
        let elements: &'a [A::Element] = array.__elements().raw();
        let part = &elements[clause.part(elements.len())];
        // SAFETY: these are the bytes of the part.
        let bytes = unsafe { slice::from_raw_parts(part.as_ptr().cast(), size_of_val(part)) };
        Self { array, kept: shared_region(queue, bytes, clause.is_kept) }
    }
}

impl<T: Element> SharedRegion<'_, [T]> {
    /// What the block has in the place of the array.
    #[must_use]
    pub const fn inside(&self) -> &[T] {
        self.array
    }
}

impl<T: Element> SharedRegion<'_, Buffer<T>> {
    /// What the block has in the place of the array.
    #[must_use]
    pub fn inside(&self) -> View<'_, T> {
        self.array.view()
    }
}

impl<T: Element> SharedRegion<'_, View<'_, T>> {
    /// What the block has in the place of the array.
    #[must_use]
    pub const fn inside(&self) -> View<'_, T> {
        *self.array
    }
}

impl<T: Element> SharedRegion<'_, ViewMut<'_, T>> {
    /// What the block has in the place of the array.
    #[must_use]
    pub const fn inside(&self) -> View<'_, T> {
        self.array.shared()
    }
}
