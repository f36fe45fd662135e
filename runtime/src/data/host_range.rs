//! Ranges of the host's memory that a launch uses on a device that does not reach them.

use std::ptr::NonNull;

use smallvec::SmallVec;

use crate::hal::address_window::is_in_window;
use crate::kernel::element::Element;
use crate::launch::options::bytes_of;

/// Elements of a source in the host's memory.
#[derive(Clone, Debug)]
pub(crate) struct HostRange {
    pub(crate) begin: *mut u8,
    pub(crate) bytes: usize,
    /// Of an element.
    pub(crate) align: usize,
    pub(crate) access: HostAccess,
}

/// Those of a launch.
pub(crate) type HostRanges = SmallVec<[HostRange; 4]>;

/// What a launch does with a range.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum HostAccess {
    Reads,
    /// It reads what other launches may change.
    ReadsLent,
    /// It may change some elements, and read all.
    Changes,
    /// It reads none. In the copy all elements begin as this one, so that those that it does not
    /// write have a value, too.
    Writes(Box<[u8]>),
}

impl HostRange {
    /// The range of `len` elements; `None` if they are not in the host's memory, or have no bytes.
    fn new<T>(elements: *mut T, len: usize, access: HostAccess) -> Option<Self> {
        let (bytes, align) = (len.wrapping_mul(size_of::<T>()), align_of::<T>());
        Self::of_bytes(elements.cast(), bytes, align, access)
    }

    /// That of bytes.
    pub(crate) fn of_bytes(
        begin: *mut u8,
        bytes: usize,
        align: usize,
        access: HostAccess,
    ) -> Option<Self> {
        let is_host = bytes != 0 && !is_in_window(begin.addr());
        is_host.then_some(Self { begin, bytes, align, access })
    }

    /// That of elements that are read.
    pub(crate) fn read<T>(elements: *const T, len: usize) -> Option<Self> {
        Self::new(elements.cast_mut(), len, HostAccess::Reads)
    }

    /// That of elements that may be changed.
    pub(crate) fn changed<T>(elements: *mut T, len: usize) -> Option<Self> {
        Self::new(elements, len, HostAccess::Changes)
    }

    /// That of elements that are written.
    ///
    /// # Safety
    /// They are in the host's memory, there is one, and they can be read.
    pub(crate) unsafe fn written<T: Element>(elements: NonNull<T>, len: usize) -> Self {
        let (begin, bytes) = (elements.as_ptr().cast(), len.wrapping_mul(size_of::<T>()));
        // SAFETY: the caller's promises.
        let access = HostAccess::Writes(bytes_of(unsafe { elements.read() }));
        Self { begin, bytes, align: align_of::<T>(), access }
    }

    pub(crate) fn end(&self) -> usize {
        self.begin.addr() + self.bytes
    }

    /// Whether the launch may change elements.
    pub(crate) fn is_changed(&self) -> bool {
        !matches!(self.access, HostAccess::Reads | HostAccess::ReadsLent)
    }
}

/// Where a device has a copy of a range.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Placed {
    pub(crate) begin: usize,
    pub(crate) end: usize,
    /// The address of a buffer.
    pub(crate) copy: NonNull<u8>,
}

/// Those of a launch.
pub(crate) type AllPlaced = SmallVec<[Placed; 4]>;

/// Where kernels have the elements of a source. An empty source, which is in no range, has its
/// elements `nowhere`.
pub(crate) fn place(placed: &[Placed], elements: NonNull<u8>, nowhere: NonNull<u8>) -> NonNull<u8> {
    let address = elements.addr().get();
    if placed.is_empty() || is_in_window(address) {
        return elements;
    }
    match placed.iter().find(|placed| placed.begin <= address && address < placed.end) {
        // The copy is as large as the range.
        Some(placed) => {
            let copy = placed.copy.as_ptr().wrapping_add(address - placed.begin);
            NonNull::new(copy).unwrap_or(elements)
        }
        None => nowhere,
    }
}
