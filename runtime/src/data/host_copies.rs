//! Slices of the host in launches on devices with memory of their own: what a launch may read is
//! copied there before it, and what it may change is copied back after it.

use std::ptr::NonNull;
use std::sync::Arc;

use smallvec::SmallVec;

use crate::data::device_copy::{ALIGNMENT, Allocate, CopyOwner, DeviceCopy, allocate_for};
use crate::data::host_range::{AllPlaced, HostAccess, HostRange, HostRanges, Placed};
use crate::data::present::{Location, PresentCopy, locate};
use crate::error::{BufferError, LaunchError};
use crate::hal::dispatch::{BackendMemory, BackendQueue};

/// Copies of a launch's sources.
#[derive(Debug, Default)]
pub(crate) struct HostCopies {
    copies: SmallVec<[HostCopy; 4]>,
    /// Bytes that were copied to the device.
    bytes: usize,
}

/// A copy of a range. Ranges of two copies do not overlap.
#[derive(Debug)]
struct HostCopy {
    range: HostRange,
    memory: CopyMemory,
    copy: NonNull<u8>,
}

/// What a copy lies in.
#[derive(Debug)]
enum CopyMemory {
    /// The host's, which the device uses as it is.
    Host,
    /// Memory of the launch's own.
    Own(OwnMemory),
    /// A copy that was there before, and stays there while it is used.
    Present(CopyOwner),
}

#[derive(Debug)]
struct OwnMemory {
    memory: BackendMemory,
    /// Where the range begins in it.
    offset: usize,
    /// The copy on another device whose values these are; `None` if they are the host's.
    original: Option<Arc<DeviceCopy>>,
}

impl HostCopies {
    /// Copies what a launch uses to the device of its queue, into memory by `allocate`.
    ///
    /// # Errors
    /// [`BufferError`].
    ///
    /// # Safety
    /// The ranges can be read, and those that the launch may change can be written, until
    /// [`finish`](Self::finish) has returned. Nothing else changes any of them, or reads those.
    #[cold]
    pub(crate) unsafe fn new(
        queue: &BackendQueue,
        allocate: Allocate<'_>,
        ranges: HostRanges,
    ) -> Result<Self, BufferError> {
        let (mut copies, mut absent, mut bytes) = (SmallVec::new(), Vec::new(), 0);
        // What is an error is one before anything is copied.
        for range in merged(ranges) {
            let (memory, copy) = match locate(queue, &range)? {
                Location::Here(owner, copy) => (CopyMemory::Present(owner), copy),
                Location::Host if !queue.has_own_memory() => {
                    (CopyMemory::Host, NonNull::new(range.begin).unwrap_or(NonNull::dangling()))
                }
                Location::Host => {
                    absent.push((range, None));
                    continue;
                }
                Location::Elsewhere(original) => {
                    absent.push((range, Some(original)));
                    continue;
                }
            };
            copies.push(HostCopy { range, memory, copy });
        }
        for (range, original) in absent {
            let offset = match range.access {
                // Values that are repeated begin with the memory.
                HostAccess::Writes(_) => 0,
                _ => range.begin.addr() % ALIGNMENT,
            };
            let mut memory = allocate_for(&range, offset, allocate)?;
            match (&range.access, &original) {
                (HostAccess::Writes(value), _) => memory.fill(value)?,
                (_, None) => {
                    // SAFETY: the memory has as many bytes from there on; the caller's promise.
                    unsafe { memory.write(offset, range.begin, range.bytes)? };
                    bytes += range.bytes;
                }
                (_, Some(original)) => {
                    let values = original.values(range.begin.addr(), range.bytes)?;
                    // SAFETY: as above; there are as many values.
                    unsafe { memory.write(offset, values.as_ptr().cast(), range.bytes)? };
                    bytes += range.bytes;
                }
            }
            // SAFETY: it lies in the memory.
            let copy = unsafe { memory.address().add(offset) };
            let memory = CopyMemory::Own(OwnMemory { memory, offset, original });
            copies.push(HostCopy { range, memory, copy });
        }
        tracing::debug!(bytes, device = queue.device_name(), "copied slices to the device");
        Ok(Self { copies, bytes })
    }

    /// Whether the launch uses all ranges where the host has them.
    pub(crate) fn is_in_place(&self) -> bool {
        self.copies.iter().all(|copy| matches!(copy.memory, CopyMemory::Host))
    }

    /// What keeps the copies, if all were there before, so that nothing is to be copied back.
    pub(crate) fn present(&self) -> Option<Vec<CopyOwner>> {
        let owner = |copy: &HostCopy| match &copy.memory {
            CopyMemory::Present(owner) => Some(Arc::clone(owner)),
            CopyMemory::Host | CopyMemory::Own(_) => None,
        };
        self.copies.iter().map(owner).collect()
    }

    /// Where the sources are.
    pub(crate) fn placed(&self) -> AllPlaced {
        self.copies
            .iter()
            .map(|HostCopy { range, copy, .. }| Placed {
                begin: range.begin.addr(),
                end: range.end(),
                copy: *copy,
            })
            .collect()
    }

    /// How many bytes were copied to the device.
    pub(crate) const fn bytes(&self) -> usize {
        self.bytes
    }

    /// Copies back what a launch with this outcome may have changed, and says how many bytes that is.
    /// A panic of the kernel leaves what the work-items have written before it, as on the host; but
    /// what was to be written only is left as it was, and so is all that a launch is refused for.
    ///
    /// # Errors
    /// The launch's own, or that of a copy.
    #[cold]
    pub(crate) fn finish(
        &self,
        outcome: Result<(), LaunchError>,
    ) -> (usize, Result<(), LaunchError>) {
        let mut bytes = 0;
        let mut copied = Ok(());
        for HostCopy { range, memory, .. } in &self.copies {
            let CopyMemory::Own(memory) = memory else { continue };
            let is_copied = match range.access {
                HostAccess::Reads | HostAccess::ReadsLent => false,
                HostAccess::Changes => {
                    outcome.as_ref().map_or_else(LaunchError::has_run, |()| true)
                }
                HostAccess::Writes(_) => outcome.is_ok(),
            };
            if !is_copied {
                continue;
            }
            // SAFETY: the promise to `new`.
            copied = copied.and(unsafe { memory.bring(range) });
            bytes += range.bytes;
        }
        tracing::debug!(bytes, "copied slices from the device");
        (bytes, outcome.and(copied.map_err(LaunchError::from)))
    }

    /// Leaves the copies of what was read on the device, where later launches find them.
    pub(crate) fn leave(self, device: &str) -> impl Iterator<Item = PresentCopy> {
        self.copies.into_iter().filter_map(move |HostCopy { range, memory, copy }| {
            let CopyMemory::Own(OwnMemory { memory, .. }) = memory else { return None };
            let is_read = range.access == HostAccess::Reads;
            is_read
                .then(|| PresentCopy::new(&range, copy.as_ptr(), Arc::new(memory), device, false))
        })
    }
}

impl OwnMemory {
    /// Copies a range to where its values came from.
    ///
    /// # Safety
    /// The memory has the range from the offset on. The range can be written, and nothing else accesses
    /// it.
    unsafe fn bring(&self, range: &HostRange) -> Result<(), BufferError> {
        let Some(original) = &self.original else {
            // SAFETY: the caller's promises.
            return unsafe { self.memory.read(self.offset, range.begin, range.bytes) };
        };
        let mut values = original.values(range.begin.addr(), range.bytes)?;
        let to = values.as_mut_ptr().cast::<u8>();
        // SAFETY: as above; there is room for as many bytes, and then there are as many.
        unsafe {
            self.memory.read(self.offset, to, range.bytes)?;
            original.write(range.begin.addr(), to, range.bytes)
        }
    }
}

/// The ranges without overlaps. Only ranges that are read overlap.
pub(super) fn merged(mut ranges: HostRanges) -> HostRanges {
    ranges.sort_by_key(|range| range.begin.addr());
    ranges.dedup_by(|range, last| {
        let overlaps = range.begin.addr() < last.end();
        if overlaps {
            last.bytes = last.end().max(range.end()) - last.begin.addr();
            last.align = last.align.max(range.align);
        }
        overlaps
    });
    ranges
}
