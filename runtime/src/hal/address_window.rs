//! The address window: host addresses that represent device memory.
//!
//! A view is a slice: an address and a length, which kernels on all devices understand. But the
//! device address of a buffer is meaningless on the host, and a slice must not have such an
//! address. So each block of device memory has a *window*: a range of the same size in a reserved
//! part of the host's address space ([`is_in_window`] is a comparison). The window is mapped
//! readable, is never written, contains zeros and uses no physical memory. Views hold addresses in
//! the window, and a launch replaces them by the device's.
//!
//! When the host reads through a view it reads a copy, which lies elsewhere: see the backends. Only
//! the windows of the device `cpu:copies` are memory, which its kernels use by these addresses.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// The reserved part of the address space: 16 TiB from here on. Allocators that choose addresses
/// themselves stay below.
const RANGE: usize = 0x3000_0000_0000;
const RANGE_BITS: u32 = 44;

/// The alignment of windows, and the minimum distance between two.
const STEP: usize = 2 << 20;

/// Whether an address represents memory of a device.
#[inline(always)]
pub(crate) const fn is_in_window(address: usize) -> bool {
    address >> RANGE_BITS == RANGE >> RANGE_BITS
}

/// Whether an address lies in a window that exists now, unlike arbitrary numbers in the reserved
/// part.
pub(crate) fn is_in_buffer(address: usize) -> bool {
    is_in_window(address) && Windows::read().find(address).is_some()
}

/// Whether buffers or copies have been in a device's own memory.
static HAS_BUFFERS: AtomicBool = AtomicBool::new(false);

/// Records that a buffer or a copy is in a device's own memory.
pub(crate) fn add_buffer() {
    HAS_BUFFERS.store(true, Ordering::Relaxed);
}

/// Whether a view of the program's may have addresses that represent a device's memory. A kernel
/// which takes the host's addresses as they are must not get them.
#[must_use]
pub fn has_buffers() -> bool {
    HAS_BUFFERS.load(Ordering::Relaxed)
}

/// The small addresses below are dangling ones, of empty slices.
pub(crate) const LARGEST_DANGLING: usize = 1 << 16;

/// The context of windows that are memory of the host's.
const HOST: u64 = u64::MAX;

/// Whether an address lies in a window that is memory of the host's.
pub(crate) fn is_on_host(address: usize) -> bool {
    is_in_window(address)
        && Windows::read().find(address).is_some_and(|window| window.context == HOST)
}

/// A block of device memory and its window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Window {
    /// The first address on the host.
    pub(crate) begin: usize,
    pub(crate) size: usize,
    /// The first address on the device.
    pub(crate) device: u64,
    /// The id of the context that owns the memory.
    pub(crate) context: u64,
}

/// All windows, by address.
static WINDOWS_IN_USE: RwLock<Vec<Window>> = RwLock::new(Vec::new());

/// How often they have changed.
static CHANGES: AtomicU64 = AtomicU64::new(0);

/// How often windows were reserved or released. Where that is as it was, addresses translate as they did.
#[inline]
pub(crate) fn changes() -> u64 {
    CHANGES.load(Ordering::Acquire)
}

fn write() -> RwLockWriteGuard<'static, Vec<Window>> {
    let windows = WINDOWS_IN_USE.write().unwrap_or_else(PoisonError::into_inner);
    CHANGES.fetch_add(1, Ordering::Release);
    windows
}

/// A snapshot of the windows, for several translations.
#[derive(Debug)]
pub(crate) struct Windows(RwLockReadGuard<'static, Vec<Window>>);

impl Windows {
    pub(crate) fn read() -> Self {
        Self(WINDOWS_IN_USE.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// The window that contains an address, or ends there.
    pub(crate) fn find(&self, address: usize) -> Option<Window> {
        find(&self.0, address)
    }

    /// The window address of an address of a context's device.
    pub(crate) fn of_device(&self, device: u64, context: u64) -> Option<usize> {
        self.0.iter().filter(|window| window.context == context).find_map(|window| {
            let offset = usize::try_from(device.checked_sub(window.device)?).ok()?;
            (offset < window.size).then(|| window.begin + offset)
        })
    }
}

fn find(windows: &[Window], address: usize) -> Option<Window> {
    let after = windows.partition_point(|window| window.begin <= address);
    let window = *windows.get(after.checked_sub(1)?)?;
    (address - window.begin <= window.size).then_some(window)
}

impl Window {
    /// Reserves the window of a block.
    pub(crate) fn reserve(size: usize, device: u64, context: u64) -> io::Result<Self> {
        let mut windows = write();
        let end = RANGE + (1 << RANGE_BITS);
        let mut least = RANGE;
        loop {
            let begin = gap(&windows, least, end, size)
                .ok_or_else(|| io::Error::other("16 TiB of device memory are in use"))?;
            match map(begin, size) {
                Ok(()) => {
                    let window = Self { begin, size, device, context };
                    let at = windows.partition_point(|other| other.begin < begin);
                    windows.insert(at, window);
                    return Ok(window);
                }
                // The program has mapped something else there; skip it.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                    least = begin + size.next_multiple_of(STEP);
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Reserves a window that is memory of the host's, of zeros.
    pub(crate) fn with_memory(size: usize) -> io::Result<Self> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let window = Self::reserve(size, COUNT.fetch_add(1, Ordering::Relaxed), HOST)?;
        allow_writes(window.begin, size).inspect_err(|_| window.release_memory())?;
        Ok(window)
    }

    /// Releases a window that is memory. No view refers to it any more.
    pub(crate) fn release_memory(&self) {
        Self::release(self.device, self.context);
    }

    /// Releases a window. No view refers to it any more.
    pub(crate) fn release(device: u64, context: u64) {
        let mut windows = write();
        let here = |window: &Self| window.device == device && window.context == context;
        if let Some(at) = windows.iter().position(here) {
            let window = windows.remove(at);
            unmap(window.begin, window.size);
        }
    }

    /// The device address of a window address.
    pub(crate) const fn translate(&self, address: usize) -> u64 {
        self.device + (address - self.begin) as u64
    }
}

/// The first gap of `size` bytes at or above `least`, and below `end`.
fn gap(windows: &[Window], least: usize, end: usize, size: usize) -> Option<usize> {
    if size >= end - RANGE {
        return None;
    }
    let mut begin = least;
    for window in windows {
        if window.begin + window.size < least {
            continue;
        }
        if begin + size + STEP <= window.begin {
            break;
        }
        begin = begin.max((window.begin + window.size).next_multiple_of(STEP) + STEP);
    }
    (begin + size <= end - STEP).then_some(begin)
}

#[cfg(target_os = "linux")]
fn map(begin: usize, size: usize) -> io::Result<()> {
    let flags =
        libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_FIXED_NOREPLACE;
    let address = std::ptr::without_provenance_mut(begin);
    // SAFETY: new memory, at an address where nothing is, or nowhere.
    let mapped = unsafe { libc::mmap(address, size, libc::PROT_READ, flags, -1, 0) };
    if mapped == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    if mapped.addr() != begin {
        // Linux before 4.17 ignores MAP_FIXED_NOREPLACE and treats the address as a hint.
        // SAFETY: it was mapped just now, and is not shared yet.
        unsafe { libc::munmap(mapped, size) };
        return Err(io::ErrorKind::AlreadyExists.into());
    }
    Ok(())
}

#[cfg(target_os = "linux")]
fn allow_writes(begin: usize, size: usize) -> io::Result<()> {
    let access = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: it was mapped by `map`, and nothing refers to it yet.
    let changed = unsafe { libc::mprotect(std::ptr::without_provenance_mut(begin), size, access) };
    if changed == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(not(target_os = "linux"))]
fn allow_writes(_: usize, _: usize) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(target_os = "linux")]
fn unmap(begin: usize, size: usize) {
    // SAFETY: it was mapped by `map`, and no view refers to it any more.
    unsafe { libc::munmap(std::ptr::without_provenance_mut(begin), size) };
}

#[cfg(not(target_os = "linux"))]
fn map(_: usize, _: usize) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(not(target_os = "linux"))]
fn unmap(_: usize, _: usize) {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_translate_and_come_to_an_end() {
        let first = Window::reserve(3 * STEP, 0x7000_0000, 901).expect("address space");
        let second = Window::reserve(512, 0x9000_0000, 902).expect("address space");
        assert!(is_in_window(first.begin) && is_in_window(second.begin + 511));
        let windows = Windows::read();
        let inside = windows.find(first.begin + 100).expect("in the first");
        assert_eq!((inside.context, inside.translate(first.begin + 100)), (901, 0x7000_0064));
        assert_eq!(windows.find(second.begin + 512).map(|found| found.context), Some(902));
        assert_eq!(windows.find(second.begin + 513), None);
        assert_eq!(windows.find(first.begin + 3 * STEP + 1), None);
        assert_eq!(windows.find(4096), None);
        drop(windows);
        // SAFETY: the window is readable, and is never written.
        assert_eq!(unsafe { std::ptr::with_exposed_provenance::<u8>(first.begin).read() }, 0);
        Window::release(0x7000_0000, 901);
        Window::release(0x9000_0000, 902);
        assert_eq!(Windows::read().find(first.begin), None);
    }

    #[test]
    fn gaps_are_used_again() {
        let at = |begin: usize| Window { begin, size: STEP, device: 0, context: 0 };
        let end = RANGE + (1 << RANGE_BITS);
        assert_eq!(gap(&[], RANGE, end, STEP), Some(RANGE));
        let windows = [at(RANGE), at(RANGE + 10 * STEP)];
        assert_eq!(gap(&windows, RANGE, end, STEP), Some(RANGE + 2 * STEP));
        assert_eq!(gap(&windows, RANGE, end, 7 * STEP), Some(RANGE + 2 * STEP));
        assert_eq!(gap(&windows, RANGE, end, 8 * STEP), Some(RANGE + 12 * STEP));
        assert_eq!(gap(&windows, RANGE + 3 * STEP, end, STEP), Some(RANGE + 3 * STEP));
        assert_eq!(gap(&windows, RANGE, end, 1 << RANGE_BITS), None);
        assert_eq!(gap(&windows, RANGE, end, usize::MAX), None);
    }
}
