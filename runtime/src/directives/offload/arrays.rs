//! The arrays of a statement on its target.

use std::any::{Any, TypeId};
use std::ops::{Bound, Range, RangeBounds};
use std::sync::{Mutex, PoisonError};

use crate::api::queue::Queue;
use crate::data::buffer::Buffer;
use crate::data::host_range::HostRange;
use crate::data::operand::{Read, Readable, Writable, Write};
use crate::data::present::{Location, locate};
use crate::data::view::{View, ViewMut, bounds};
use crate::directives::offload::error::OffloadError;
use crate::error::LaunchError;
use crate::hal::address_window::is_in_window;
use crate::kernel::element::Element;
use crate::util::fork::NoForkGuard;

/// What becomes of an array.
#[derive(Clone, Copy, Debug)]
pub struct Section {
    name: &'static str,
    range: (Bound<usize>, Bound<usize>),
    is_plain: bool,
    allocates: bool,
    frees: bool,
    align: usize,
    allocated: (Bound<usize>, Bound<usize>),
}

const ALL: (Bound<usize>, Bound<usize>) = (Bound::Unbounded, Bound::Unbounded);

impl Section {
    /// All of an array: allocated before the statement, and freed after it.
    #[must_use]
    pub const fn new(name: &'static str) -> Self {
        let (range, allocated) = (ALL, ALL);
        Self { name, range, is_plain: true, allocates: true, frees: true, align: 1, allocated }
    }

    pub(super) const fn name(&self) -> &'static str {
        self.name
    }

    /// What of it is copied.
    #[must_use]
    pub fn range(self, range: impl RangeBounds<usize>) -> Self {
        let range = (range.start_bound().cloned(), range.end_bound().cloned());
        Self { range, is_plain: false, ..self }
    }

    /// What of it is used.
    #[must_use]
    pub fn alloc_extent(self, range: impl RangeBounds<usize>) -> Self {
        let allocated = (range.start_bound().cloned(), range.end_bound().cloned());
        Self { allocated, is_plain: false, ..self }
    }

    /// Whether it is allocated; otherwise the target has it from before.
    #[must_use]
    pub const fn alloc_if(self, allocates: bool) -> Self {
        Self { allocates, is_plain: false, ..self }
    }

    /// Whether it is freed; otherwise the target keeps it.
    #[must_use]
    pub const fn free_if(self, frees: bool) -> Self {
        Self { frees, is_plain: false, ..self }
    }

    /// Its alignment.
    #[must_use]
    pub const fn align(self, bytes: usize) -> Self {
        Self { align: bytes, is_plain: false, ..self }
    }

    /// What is copied of so many elements.
    fn resolve(&self, len: usize) -> Result<Range<usize>, OffloadError> {
        let (begin, end) = bounds(self.range, len)?;
        let (first, last) = bounds(self.allocated, len)?;
        if begin < end && !(first <= begin && end <= last) {
            let (extent, allocated) = (begin..end, first..last);
            return Err(OffloadError::Extent { array: self.name, extent, allocated });
        }
        if !self.align.is_power_of_two() {
            return Err(OffloadError::Alignment { array: self.name, bytes: self.align });
        }
        Ok(begin..end)
    }
}

/// An array of the host's that a target keeps.
#[derive(Debug, PartialEq, Eq)]
struct Key {
    device: String,
    address: usize,
    len: usize,
    element: TypeId,
}

impl Key {
    fn new<T: 'static>(queue: &Queue, host: *const T, len: usize) -> Self {
        let device = queue.device().name().to_owned();
        Self { device, address: host.addr(), len, element: TypeId::of::<T>() }
    }
}

/// The elements that targets keep, as buffers of the element's type. What the host has at the address
/// by now does not matter: the elements are the target's own.
static KEPT: Mutex<Vec<(Key, Box<dyn Any + Send>)>> = Mutex::new(Vec::new());

fn take<T: Element>(key: &Key) -> Option<Buffer<T>> {
    let _no_fork = NoForkGuard::enter();
    let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    let index = kept.iter().position(|(own, _)| own == key)?;
    let (_, buffer) = kept.swap_remove(index);
    drop(kept);
    buffer.downcast().ok().map(|buffer| *buffer)
}

fn keep<T: Element>(key: Key, buffer: Buffer<T>) {
    let _no_fork = NoForkGuard::enter();
    let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    kept.push((key, Box::new(buffer)));
}

/// The elements of an array in a target's own memory.
#[derive(Debug)]
pub struct OnTarget<T: Element> {
    /// Until it is dropped.
    buffer: Option<(Key, Buffer<T>)>,
    frees: bool,
    range: Range<usize>,
}

impl<T: Element> OnTarget<T> {
    /// With the values of the host's, if it `sends` them. Otherwise each of them is one of these, or
    /// what the target had before.
    fn new(
        section: &Section,
        queue: &Queue,
        host: &[T],
        sends: bool,
    ) -> Result<Self, OffloadError> {
        let range = section.resolve(host.len())?;
        let key = Key::new(queue, host.as_ptr(), host.len());
        let mut buffer = match (take::<T>(&key), section.allocates, host.get(range.start)) {
            (Some(before), false, _) => before,
            (None, false, _) => {
                let target = queue.device().name().to_owned();
                return Err(OffloadError::NotAllocated { array: section.name, target });
            }
            (_, true, Some(some)) if !sends || range.len() < host.len() => {
                Buffer::filled(queue, host.len(), *some)?
            }
            (_, true, None) if !host.is_empty() => Buffer::filled(queue, host.len(), host[0])?,
            (_, true, _) => {
                let buffer = Buffer::from_slice(queue, host)?;
                sent(queue, host);
                return Ok(Self { buffer: Some((key, buffer)), frees: section.frees, range });
            }
        };
        if sends {
            buffer.write_at(range.start, &host[range.clone()])?;
            sent(queue, &host[range.clone()]);
        }
        Ok(Self { buffer: Some((key, buffer)), frees: section.frees, range })
    }

    fn buffer(&self) -> &Buffer<T> {
        &self.buffer.as_ref().expect("it is there until it is dropped").1
    }

    fn buffer_mut(&mut self) -> &mut Buffer<T> {
        &mut self.buffer.as_mut().expect("it is there until it is dropped").1
    }

    /// Copies the range back.
    fn receive(&self, queue: &Queue, host: &mut [T]) -> Result<(), OffloadError> {
        let part = &mut host[self.range.clone()];
        self.buffer().read_at(self.range.start, part)?;
        if let Some(reports) = queue.reports() {
            reports.copied_from(size_of_val(part));
        }
        Ok(())
    }
}

fn sent<T>(queue: &Queue, elements: &[T]) {
    if let Some(reports) = queue.reports() {
        reports.copied_to(size_of_val(elements));
    }
}

impl<T: Element> Drop for OnTarget<T> {
    fn drop(&mut self) {
        if let Some((key, buffer)) = self.buffer.take().filter(|_| !self.frees) {
            keep(key, buffer);
        }
    }
}

/// Whether the target has no access to elements of the host's. What a region keeps there is there.
fn is_sent(queue: &Queue, range: Option<HostRange>) -> Result<bool, OffloadError> {
    match range.filter(|_| queue.backend().has_own_memory()) {
        Some(range) => Ok(matches!(locate(queue.backend(), &range)?, Location::Host)),
        None => Ok(false),
    }
}

/// An array that a statement reads.
#[derive(Debug)]
pub enum MappedIn<'v, T: Element> {
    /// Where the host has it, or as a copy for the statement.
    Plain(Readable<'v, T>),
    /// In memory that has modifiers.
    OnTarget(OnTarget<T>),
}

impl<'v, T: Element> MappedIn<'v, T> {
    pub(super) fn new(
        section: &Section,
        queue: &Queue,
        view: &'v View<'_, T>,
        sends: bool,
    ) -> Result<Self, OffloadError> {
        let host = view.raw();
        section.resolve(host.len())?;
        let range = HostRange::read(host.as_ptr(), host.len());
        if section.is_plain && sends || !is_sent(queue, range)? {
            return Ok(Self::Plain(view.read_on(queue)?));
        }
        Ok(Self::OnTarget(OnTarget::new(section, queue, host, sends)?))
    }

    /// What the statement has.
    #[must_use]
    pub fn view(&self) -> View<'_, T> {
        match self {
            Self::Plain(readable) => readable.view(),
            Self::OnTarget(own) => own.buffer().view(),
        }
    }
}

/// An array that a statement changes.
#[derive(Debug)]
pub enum Mapped<'v, T: Element> {
    /// Where the host has it, or as a copy that comes back.
    Plain(Writable<'v, T>),
    /// In memory that has modifiers, or is sent or received only. What it comes back to.
    OnTarget(OnTarget<T>, Option<&'v mut [T]>, bool),
}

impl<'v, T: Element> Mapped<'v, T> {
    pub(super) fn new(
        section: &Section,
        queue: &Queue,
        view: &'v mut ViewMut<'_, T>,
        [sends, receives]: [bool; 2],
    ) -> Result<Self, OffloadError> {
        section.resolve(view.len())?;
        let is_plain = section.is_plain && sends && receives;
        let range = HostRange::changed(view.as_mut_ptr(), view.len());
        if is_plain || !is_sent(queue, range)? {
            return Ok(Self::Plain(view.write_on(queue)?));
        }
        let host = view.host_slice();
        let own = OnTarget::new(section, queue, host, sends)?;
        Ok(Self::OnTarget(own, receives.then_some(host), sends))
    }

    /// What the statement has.
    #[must_use]
    pub fn view_mut(&mut self) -> ViewMut<'_, T> {
        match self {
            Self::Plain(writable) => writable.view_mut(),
            Self::OnTarget(own, ..) => own.buffer_mut().view_mut(),
        }
    }
}

/// What a statement has on its target, when it has ended.
pub trait Receive {
    /// Brings back what comes back, of a statement that has ended well or not.
    ///
    /// # Errors
    /// It cannot be copied.
    fn __receive(self, queue: &Queue, is_well: bool) -> Result<(), OffloadError>;
}

impl<T: Element> Receive for MappedIn<'_, T> {
    fn __receive(self, _: &Queue, _: bool) -> Result<(), OffloadError> {
        Ok(())
    }
}

impl<T: Element> Receive for Mapped<'_, T> {
    fn __receive(self, queue: &Queue, is_well: bool) -> Result<(), OffloadError> {
        match self {
            Self::Plain(writable) => Ok(writable.finish()?),
            // What was not sent has some values until the statement has written all of them.
            Self::OnTarget(own, Some(host), sent) if sent || is_well => own.receive(queue, host),
            Self::OnTarget(..) => Ok(()),
        }
    }
}

/// Copies a part of one array of the host's to that of another: what `into` does.
///
/// # Errors
/// The parts differ in length, or are no parts.
pub fn copy_into<T: Element>(
    from: View<'_, T>,
    from_range: impl RangeBounds<usize>,
    mut to: ViewMut<'_, T>,
    to_range: impl RangeBounds<usize>,
) -> Result<(), OffloadError> {
    let (begin, end) = bounds(from_range, from.raw().len())?;
    let (first, last) = bounds(to_range, to.len())?;
    if end - begin != last - first {
        return Err(OffloadError::Into { from: end - begin, to: last - first });
    }
    let addresses = [from.raw().as_ptr().addr(), to.as_mut_ptr().addr()];
    if addresses.into_iter().any(is_in_window) {
        let kernel = "into".to_owned();
        let (device, memory) = ("host".to_owned(), "a device".to_owned());
        return Err(LaunchError::ForeignBuffer { kernel, device, memory }.into());
    }
    to.host_slice()[first..last].copy_from_slice(&from.raw()[begin..end]);
    Ok(())
}

/// Ends a copy of `into` on the host.
///
/// # Panics
/// If it failed.
#[track_caller]
pub fn copied(outcome: Result<(), OffloadError>) {
    if let Err(error) = outcome {
        panic!("{error}");
    }
}
