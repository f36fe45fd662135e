//! Slices of the host in launches on devices with memory of their own: they are copied there before
//! the launch, and those that it may change are copied back after it.

use std::alloc::Layout;
use std::any::Any;
use std::ptr::NonNull;
use std::sync::Arc;

use crate::data::host_range::{HostRange, Placed};
use crate::data::present::present;
use crate::error::{BufferError, LaunchError};
use crate::hal::dispatch::{BackendMemory, BackendQueue};
use crate::launch::report::Reports;

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
    Present(#[expect(dead_code, reason = "it is only kept")] Arc<dyn Any + Send + Sync>),
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
        let (mut copies, mut bytes) = (Vec::new(), 0);
        for range in merged(ranges) {
            if let Some((memory, copy)) = present(queue, &range) {
                copies.push(HostCopy { range, memory: CopyMemory::Present(memory), copy });
                continue;
            }
            let offset = range.begin.addr() % ALIGNMENT;
            let layout = offset
                .checked_add(range.bytes)
                .and_then(|bytes| Layout::from_size_align(bytes, ALIGNMENT).ok())
                .ok_or(BufferError::TooLarge { len: range.bytes, element_size: 1 })?;
            let mut memory = allocate(layout)?;
            // SAFETY: the memory has as many bytes from there on; the caller's promise.
            unsafe { memory.write(offset, range.begin, range.bytes)? };
            // SAFETY: it lies in the memory.
            let copy = unsafe { memory.address().add(offset) };
            bytes += range.bytes;
            copies.push(HostCopy { range, memory: CopyMemory::Own(memory, offset), copy });
        }
        tracing::debug!(bytes, device = queue.device_name(), "copied slices to the device");
        Ok(Self { copies, bytes })
    }

    /// Where the sources are.
    pub(crate) fn placed(&self) -> Vec<Placed> {
        self.copies
            .iter()
            .map(|HostCopy { range, copy, .. }| Placed { range: *range, copy: *copy })
            .collect()
    }

    /// Copies back what a launch with this outcome may have changed. A panic of the kernel leaves
    /// what the work-items have written before it, as on the host.
    ///
    /// # Errors
    /// The launch's own, or that of a copy.
    #[cold]
    pub(crate) fn finish(
        self,
        outcome: Result<(), LaunchError>,
        reports: Option<&Reports>,
    ) -> Result<(), LaunchError> {
        let mut bytes = 0;
        let mut copied = Ok(());
        for HostCopy { range, memory, .. } in self.copies {
            let CopyMemory::Own(memory, offset) = memory else { continue };
            if !range.exclusive {
                continue;
            }
            // SAFETY: the promise to `new`.
            copied = copied.and(unsafe { memory.read(offset, range.begin, range.bytes) });
            bytes += range.bytes;
        }
        tracing::debug!(bytes, "copied slices from the device");
        if let Some(reports) = reports {
            reports.add_copies(self.bytes as u64, bytes as u64);
        }
        outcome?;
        Ok(copied?)
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
                last.exclusive |= range.exclusive;
            }
            _ => merged.push(range),
        }
    }
    merged
}
