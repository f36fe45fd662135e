//! Ranges of the host's memory that a launch uses on a device that does not reach them.

use std::ptr::NonNull;

/// Elements of a source in the host's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct HostRange {
    pub(crate) begin: *mut u8,
    pub(crate) bytes: usize,
    /// Whether the launch may change them.
    pub(crate) exclusive: bool,
}

impl HostRange {
    /// The range of `len` elements; `None` if they are not in the host's memory, or have no bytes.
    pub(crate) fn new<T>(elements: *mut T, len: usize, exclusive: bool) -> Option<Self> {
        let bytes = len.wrapping_mul(size_of::<T>());
        let is_host = bytes != 0 && !crate::hal::address_window::is_in_window(elements.addr());
        is_host.then_some(Self { begin: elements.cast(), bytes, exclusive })
    }

    pub(crate) fn end(&self) -> usize {
        self.begin.addr() + self.bytes
    }
}

/// A range, and where its device has a copy of it: the address of a buffer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Placed {
    pub(crate) range: HostRange,
    pub(crate) copy: NonNull<u8>,
}

/// Where kernels have the elements of a source. An empty source, which is in no range, has its
/// elements nowhere.
#[cold]
pub(crate) fn place<T>(placed: &[Placed], elements: NonNull<T>) -> NonNull<T> {
    let address = elements.addr().get();
    if crate::hal::address_window::is_in_window(address) {
        return elements;
    }
    let found = placed
        .iter()
        .find(|placed| placed.range.begin.addr() <= address && address < placed.range.end());
    match found {
        // The copy is as large as the range.
        Some(placed) => {
            let offset = address - placed.range.begin.addr();
            NonNull::new(placed.copy.as_ptr().wrapping_add(offset).cast()).unwrap_or(elements)
        }
        None => NonNull::dangling(),
    }
}
