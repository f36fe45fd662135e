//! A buffer's memory, which host and device access at one address.

use std::alloc::Layout;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;

use crate::error::BufferError;
use crate::hal::MemoryOps;
use crate::hal::opencl::context::Context;
use crate::util::fork::NoForkGuard;
use crate::util::timeline;

/// Memory of a buffer.
#[derive(Debug)]
pub(crate) struct ClMemory {
    context: Arc<Context>,
    address: NonNull<u8>,
    bytes: usize,
    /// Bytes before it that belong to the allocation.
    ahead: usize,
}

// SAFETY: it owns its memory as a `Vec` does.
unsafe impl Send for ClMemory {}
// SAFETY: shared, it is only read.
unsafe impl Sync for ClMemory {}

impl ClMemory {
    /// Memory of a layout with a size that is not 0.
    pub(super) fn new(context: &Arc<Context>, layout: Layout) -> Result<Self, BufferError> {
        if let Some(reason) = context.forked() {
            return Err(BufferError::Forked { device: context.name().to_owned(), reason });
        }
        let _no_fork = NoForkGuard::enter();
        let bytes = layout.size();
        let ahead = if context.device.is_cpu { ahead(layout) } else { 0 };
        let address = context
            .allocate(bytes.saturating_add(ahead), layout.align())
            .map_err(|error| context.buffer_error(bytes, error))?;
        let address = NonNull::new(address.wrapping_add(ahead)).unwrap_or(NonNull::dangling());
        Ok(Self { context: Arc::clone(context), address, bytes, ahead })
    }
}

/// How far behind the begin of its allocation a long array begins, where the device is a processor. Allocations begin
/// with a page. If arrays did so, too, the elements of one index would be at the same place of a page in all
/// of them: they would share few lines of the cache, and a processor, which compares these places, would take loads
/// for ones of what was just stored to another array.
fn ahead(layout: Layout) -> usize {
    /// Bytes from which on an array is long.
    const LONG: usize = 64 << 10;
    const PAGE: usize = 4096;
    /// An odd number of lines, so that all places of a page are used.
    const DISTANCE: usize = 17 * 64;
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    if layout.size() < LONG {
        return 0;
    }
    let place = COUNT.fetch_add(1, Relaxed).wrapping_mul(DISTANCE) % PAGE;
    place & !(layout.align().max(64) - 1)
}

impl Drop for ClMemory {
    fn drop(&mut self) {
        let _no_fork = NoForkGuard::enter();
        // SAFETY: allocated in `new`, so many bytes ahead, and the buffer is gone.
        unsafe { self.context.free(self.address.as_ptr().wrapping_sub(self.ahead)) };
    }
}

impl MemoryOps for ClMemory {
    fn is_on_host(&self) -> bool {
        true
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
        let _copy = timeline::copy(timeline::TO_DEVICE, bytes, self.context.name());
        // SAFETY: the caller's promises; launches that use the memory have ended, as the buffer is
        // borrowed. What is read may lie in the memory itself.
        unsafe { std::ptr::copy(from, self.address.add(offset).as_ptr(), bytes) };
        Ok(())
    }

    unsafe fn read(&self, offset: usize, to: *mut u8, bytes: usize) -> Result<(), BufferError> {
        let _copy = timeline::copy(timeline::TO_HOST, bytes, self.context.name());
        // SAFETY: the caller's promises, and as above.
        unsafe { std::ptr::copy(self.address.add(offset).as_ptr(), to, bytes) };
        Ok(())
    }

    unsafe fn write_part(
        &self,
        offset: usize,
        from: *const u8,
        bytes: usize,
    ) -> Result<(), BufferError> {
        let _copy = timeline::copy(timeline::TO_DEVICE, bytes, self.context.name());
        // SAFETY: the caller's promises. The memory was allocated, so it can be written through its
        // address.
        unsafe { std::ptr::copy(from, self.address.add(offset).as_ptr(), bytes) };
        Ok(())
    }

    fn fill(&mut self, pattern: &[u8]) -> Result<(), BufferError> {
        if pattern.is_empty() {
            return Ok(());
        }
        let _copy = timeline::copy(timeline::FILL, self.bytes, self.context.name());
        // SAFETY: the buffer owns so many bytes, which need not have values for being written.
        let all = unsafe {
            let all = self.address.cast::<std::mem::MaybeUninit<u8>>().as_ptr();
            std::slice::from_raw_parts_mut(all, self.bytes)
        };
        for chunk in all.chunks_mut(pattern.len()) {
            for (to, from) in chunk.iter_mut().zip(pattern) {
                to.write(*from);
            }
        }
        Ok(())
    }
}
