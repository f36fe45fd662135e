//! Slices of the host in launches on devices with memory of their own: what a launch may read is
//! copied there before it, and what it may change is copied back after it.

use std::alloc::Layout;
use std::ptr::NonNull;
use std::sync::Arc;

use crate::data::host_range::{HostAccess, HostRange, Placed};
use crate::data::present::{CopyOwner, PresentCopy, present};
use crate::error::{BufferError, LaunchError};
use crate::hal::dispatch::{BackendMemory, BackendQueue};

/// Copies keep the host's alignment up to this many bytes.
const ALIGNMENT: usize = 256;

/// Copies of a launch's sources.
#[derive(Debug, Default)]
pub(crate) struct HostCopies {
    copies: Vec<HostCopy>,
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
    /// Memory of the launch's own, in which the range begins at an offset.
    Own(BackendMemory, usize),
    /// A copy that was there before, and stays there while it is used.
    Present(#[expect(dead_code, reason = "it is only kept")] CopyOwner),
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
        allocate: &dyn Fn(Layout) -> Result<BackendMemory, BufferError>,
        ranges: Vec<HostRange>,
    ) -> Result<Self, BufferError> {
        // What is an error is one before anything is copied.
        let found: Result<Vec<_>, _> = merged(ranges)
            .into_iter()
            .map(|range| present(queue, &range).map(|present| (range, present)))
            .collect();
        let (mut copies, mut bytes) = (Vec::new(), 0);
        for (range, present) in found? {
            if let Some((owner, copy)) = present {
                copies.push(HostCopy { range, memory: CopyMemory::Present(owner), copy });
                continue;
            }
            let offset = match range.access {
                // Values that are repeated begin with the memory.
                HostAccess::Writes(_) => 0,
                _ => range.begin.addr() % ALIGNMENT,
            };
            let layout = offset
                .checked_add(range.bytes)
                .and_then(|bytes| Layout::from_size_align(bytes, ALIGNMENT.max(range.align)).ok())
                .ok_or(BufferError::TooLarge { len: range.bytes, element_size: 1 })?;
            let mut memory = allocate(layout)?;
            if let HostAccess::Writes(value) = &range.access {
                memory.fill(value)?;
            } else {
                // SAFETY: the memory has as many bytes from there on; the caller's promise.
                unsafe { memory.write(offset, range.begin, range.bytes)? };
                bytes += range.bytes;
            }
            // SAFETY: it lies in the memory.
            let copy = unsafe { memory.address().add(offset) };
            copies.push(HostCopy { range, memory: CopyMemory::Own(memory, offset), copy });
        }
        tracing::debug!(bytes, device = queue.device_name(), "copied slices to the device");
        Ok(Self { copies, bytes })
    }

    /// Where the sources are.
    pub(crate) fn placed(&self) -> Vec<Placed> {
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
            let CopyMemory::Own(memory, offset) = memory else { continue };
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
            copied = copied.and(unsafe { memory.read(*offset, range.begin, range.bytes) });
            bytes += range.bytes;
        }
        tracing::debug!(bytes, "copied slices from the device");
        (bytes, outcome.and(copied.map_err(LaunchError::from)))
    }

    /// Leaves the copies of what was read on the device, where later launches find them.
    pub(crate) fn leave(self, device: &str) -> impl Iterator<Item = PresentCopy> {
        self.copies.into_iter().filter_map(move |HostCopy { range, memory, copy }| {
            let CopyMemory::Own(memory, _) = memory else { return None };
            let is_read = range.access == HostAccess::Reads;
            is_read
                .then(|| PresentCopy::new(&range, copy.as_ptr(), Arc::new(memory), device, false))
        })
    }
}

/// The ranges without overlaps. Only ranges that are read overlap.
fn merged(mut ranges: Vec<HostRange>) -> Vec<HostRange> {
    ranges.sort_by_key(|range| range.begin.addr());
    let mut merged: Vec<HostRange> = Vec::new();
    for range in ranges {
        match merged.last_mut() {
            Some(last) if range.begin.addr() < last.end() => {
                last.bytes = last.end().max(range.end()) - last.begin.addr();
                last.align = last.align.max(range.align);
            }
            _ => merged.push(range),
        }
    }
    merged
}
