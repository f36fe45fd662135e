//! Host memory, which kernels and the host access alike.

use std::alloc::{Layout, alloc, dealloc};
use std::ptr::NonNull;

use crate::error::BufferError;
use crate::hal::MemoryOps;
use crate::hal::address_window::{self, Window};
use crate::util::timeline;

/// The size of the processor's large pages. One of them takes as much of its tables as a small page
/// does, and a kernel over long arrays goes through thousands of small ones.
const LARGE_PAGE: usize = 2 << 20;

/// Memory from this size on is asked for in large pages: the parts of pages at its end are little
/// beside it.
const MANY: usize = 4 * LARGE_PAGE;

/// Memory of a buffer.
#[derive(Debug)]
pub(crate) struct HostMemory {
    address: NonNull<u8>,
    layout: Layout,
    device: &'static str,
    /// That of a device with its own memory.
    window: Option<Window>,
}

// SAFETY: it owns its memory as a `Vec` does.
unsafe impl Send for HostMemory {}
// SAFETY: shared, it is only read.
unsafe impl Sync for HostMemory {}

impl HostMemory {
    /// Memory of a layout with a size that is not 0, for a buffer of a device.
    ///
    /// # Errors
    /// [`BufferError::OutOfMemory`].
    pub(crate) fn new(layout: Layout, device: &'static str) -> Result<Self, BufferError> {
        let is_large = layout.size() >= MANY;
        let layout = if is_large { layout.align_to(LARGE_PAGE).unwrap_or(layout) } else { layout };
        // SAFETY: the size is not zero.
        let address = NonNull::new(unsafe { alloc(layout) }).ok_or_else(|| {
            let (bytes, device) = (layout.size(), device.to_owned());
            BufferError::OutOfMemory { bytes, device, available: None }
        })?;
        if is_large {
            let whole = layout.size() / LARGE_PAGE * LARGE_PAGE;
            // SAFETY: the memory is ours, and the advice changes nothing of its contents. A system
            // that does not have such pages, or does not give them, refuses, which does no harm.
            unsafe { libc::madvise(address.as_ptr().cast(), whole, libc::MADV_HUGEPAGE) };
        }
        timeline::memory(device, || layout.size() as i64);
        Ok(Self { address, layout, device, window: None })
    }

    /// As [`new`](Self::new), in a window: the host copies to and from it, as to and from a GPU's
    /// memory.
    ///
    /// # Errors
    /// [`BufferError::AddressSpace`].
    pub(crate) fn in_window(layout: Layout, device: &'static str) -> Result<Self, BufferError> {
        address_window::add_buffer();
        let window = Window::with_memory(layout.size()).map_err(|error| {
            let (bytes, reason) = (layout.size(), error.to_string());
            BufferError::AddressSpace { bytes, reason }
        })?;
        let begin = std::ptr::with_exposed_provenance_mut(window.begin);
        let address = NonNull::new(begin).unwrap_or(NonNull::dangling());
        timeline::memory(device, || layout.size() as i64);
        Ok(Self { address, layout, device, window: Some(window) })
    }
}

impl Drop for HostMemory {
    fn drop(&mut self) {
        timeline::memory(self.device, || -(self.layout.size() as i64));
        if let Some(window) = &self.window {
            return window.release_memory();
        }
        // SAFETY: allocated with this layout.
        unsafe { dealloc(self.address.as_ptr(), self.layout) };
    }
}

impl MemoryOps for HostMemory {
    fn is_on_host(&self) -> bool {
        self.window.is_none()
    }

    fn address(&self) -> NonNull<u8> {
        self.address
    }

    unsafe fn write(
        &mut self,
        offset: usize,
        from: *const u8,
        bytes: usize,
    ) -> Result<(), BufferError> {
        let _copy = timeline::copy(timeline::TO_DEVICE, bytes, self.device);
        // SAFETY: the caller's promises. What is read may lie in the memory itself.
        unsafe { std::ptr::copy(from, self.address.add(offset).as_ptr(), bytes) };
        Ok(())
    }

    unsafe fn read(&self, offset: usize, to: *mut u8, bytes: usize) -> Result<(), BufferError> {
        let _copy = timeline::copy(timeline::TO_HOST, bytes, self.device);
        // SAFETY: the caller's promises.
        unsafe { std::ptr::copy(self.address.add(offset).as_ptr(), to, bytes) };
        Ok(())
    }

    unsafe fn write_part(
        &self,
        offset: usize,
        from: *const u8,
        bytes: usize,
    ) -> Result<(), BufferError> {
        let _copy = timeline::copy(timeline::TO_DEVICE, bytes, self.device);
        // SAFETY: the caller's promises. The memory was allocated, so it can be written through its
        // address.
        unsafe { std::ptr::copy(from, self.address.add(offset).as_ptr(), bytes) };
        Ok(())
    }

    fn fill(&mut self, pattern: &[u8]) -> Result<(), BufferError> {
        let _copy = timeline::copy(timeline::FILL, self.layout.size(), self.device);
        let (size, mut done) = (self.layout.size(), pattern.len().min(self.layout.size()));
        let to = self.address.as_ptr();
        // SAFETY: it fits; the pattern is not in the memory.
        unsafe { std::ptr::copy_nonoverlapping(pattern.as_ptr(), to, done) };
        while done != 0 && done < size {
            let more = done.min(size - done);
            // SAFETY: the first half was written, and ends where the second one begins.
            unsafe { std::ptr::copy_nonoverlapping(to, to.add(done), more) };
            done += more;
        }
        Ok(())
    }
}
