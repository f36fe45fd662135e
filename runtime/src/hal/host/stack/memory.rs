//! Memory for a stack, with a guard page below it.

use std::io;
use std::num::NonZero;
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;

use corosensei::stack::{Stack, StackPointer};

use crate::hal::host::stack::overflow::StackEntry;
use crate::launch::failure::Failure;

/// The minimum size of a stack.
const LEAST: usize = 256 << 10;

/// A stack other than a thread's own. Only pages that are touched use memory.
#[derive(Debug)]
pub(crate) struct OwnStack {
    /// The guard page's first byte.
    low: NonZero<usize>,
    /// One past the last byte.
    high: NonZero<usize>,
    /// Where it begins, within the highest page.
    base: NonZero<usize>,
    entry: &'static StackEntry,
}

/// Rounds a need to a stack size: few different sizes, so that stacks can be reused.
pub(crate) fn size_for(bytes: usize) -> usize {
    bytes.max(LEAST).checked_next_power_of_two().unwrap_or(usize::MAX)
}

pub(super) fn page_size() -> usize {
    static SIZE: OnceLock<usize> = OnceLock::new();
    *SIZE.get_or_init(|| {
        // SAFETY: it only returns a number.
        usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(4096)
    })
}

/// How far below its highest address a new stack begins. Work-items that wait for each other use the same
/// few bytes of their stacks. If all began at the same place of a page, these would share few lines of the
/// cache.
fn offset() -> usize {
    const LINES: usize = 5 * 64;
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    // The distance is no power of two, so as many places are used as there are.
    COUNT.fetch_add(1, Relaxed).wrapping_mul(LINES) % 4096
}

impl OwnStack {
    /// Allocates a stack of [`size_for`] that many bytes.
    ///
    /// # Errors
    /// [`Failure::NoStack`], if the system has no memory for it.
    pub(crate) fn new(bytes: usize) -> Result<Self, Failure> {
        let size = size_for(bytes);
        Self::map(size).map_err(|error| Failure::NoStack { bytes: size, reason: error.to_string() })
    }

    fn map(size: usize) -> io::Result<Self> {
        let guard = page_size();
        let size = size.saturating_add(page_size());
        let len = size
            .checked_add(guard)
            .filter(|len| *len <= isize::MAX as usize)
            .ok_or_else(|| io::Error::from(io::ErrorKind::OutOfMemory))?;
        // SAFETY: new memory, which is not shared yet; all calls are about it alone.
        unsafe {
            let low = libc::mmap(
                ptr::null_mut(),
                len,
                libc::PROT_NONE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_STACK,
                -1,
                0,
            );
            if low == libc::MAP_FAILED {
                return Err(io::Error::last_os_error());
            }
            let usable = low.byte_add(guard);
            if libc::mprotect(usable, size, libc::PROT_READ | libc::PROT_WRITE) != 0 {
                let error = io::Error::last_os_error();
                libc::munmap(low, len);
                return Err(error);
            }
            // A large page for the few bytes that a work-item touches would be a waste, times a
            // thousand work-items. Systems without large pages do not know the advice.
            libc::madvise(usable, size, libc::MADV_NOHUGEPAGE);
            let end = low.addr() + len;
            let (Some(low), Some(high), Some(base)) =
                (NonZero::new(low.addr()), NonZero::new(end), NonZero::new(end - offset()))
            else {
                return Err(io::Error::from(io::ErrorKind::OutOfMemory));
            };
            Ok(Self {
                low,
                high,
                base,
                entry: StackEntry::add(low.get(), low.get() + guard, high.get(), false),
            })
        }
    }

    /// The stack's entry in the list of the overflow handler.
    pub(crate) const fn entry(&self) -> &'static StackEntry {
        self.entry
    }

    /// Bytes that can be used.
    pub(crate) fn size(&self) -> usize {
        self.high.get() - self.low.get() - 2 * page_size()
    }
}

impl Drop for OwnStack {
    fn drop(&mut self) {
        self.entry.remove();
        let len = self.high.get() - self.low.get();
        // SAFETY: the memory belongs to this stack, and nothing runs on it any more: whatever does
        // has borrowed or taken the stack.
        unsafe { libc::munmap(ptr::with_exposed_provenance_mut(self.low.get()), len) };
    }
}

// SAFETY: the memory lives as long as the value, is at least `LEAST` bytes large and has a guard
// page below; the lower limit is a multiple of the page size, and the base one of a line of the cache.
unsafe impl Stack for OwnStack {
    fn base(&self) -> StackPointer {
        self.base
    }

    fn limit(&self) -> StackPointer {
        self.low
    }
}
