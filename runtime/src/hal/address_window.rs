//! Addresses of the host that stand for memory of a device.
//!
//! A view is a slice: an address and a length, which kernels of all devices understand. The address of a buffer in a device's memory
//! means nothing on the host, though, and a slice must not have such an address. So each block of device memory has a *shadow*: as
//! many bytes of the host's address space, in a part of it that is for nothing else ([`is_shadow`] is a comparison). The shadow is
//! memory that can be read, and is never written: it holds zeros, and takes no room. Views hold addresses in the shadow, and a
//! launch puts the device's in their place.
//!
//! What the host reads through a view is a copy, which lies elsewhere: see the backends.

use std::io;
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// The shadows' part of the address space: 16 TiB from here on. Allocators that choose addresses themselves stay below.
const WINDOW: usize = 0x3000_0000_0000;
const WINDOW_BITS: u32 = 44;

/// Shadows begin at multiples of this, and at least as much lies between two.
const STEP: usize = 2 << 20;

/// Whether an address stands for memory of a device.
#[inline(always)]
pub(crate) const fn is_shadow(address: usize) -> bool {
    address >> WINDOW_BITS == WINDOW >> WINDOW_BITS
}

/// Whether an address stands for memory that a device has now: in contrast to any number that would be one.
pub(crate) fn is_in_buffer(address: usize) -> bool {
    is_shadow(address) && Shadows::read().find(address).is_some()
}

/// A block of device memory and its shadow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shadow {
    /// The first address on the host.
    pub(crate) begin: usize,
    pub(crate) size: usize,
    /// The first address on the device.
    pub(crate) device: u64,
    /// The id of the context that has the memory.
    pub(crate) context: u64,
}

/// All shadows, by address.
static SHADOWS: RwLock<Vec<Shadow>> = RwLock::new(Vec::new());

fn write() -> RwLockWriteGuard<'static, Vec<Shadow>> {
    SHADOWS.write().unwrap_or_else(PoisonError::into_inner)
}

/// The shadows, for some translations.
#[derive(Debug)]
pub(crate) struct Shadows(RwLockReadGuard<'static, Vec<Shadow>>);

impl Shadows {
    pub(crate) fn read() -> Self {
        Self(SHADOWS.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// The shadow that an address lies in, or just behind.
    pub(crate) fn find(&self, address: usize) -> Option<Shadow> {
        find(&self.0, address)
    }

    /// The address that stands for one of a context's device.
    pub(crate) fn of_device(&self, device: u64, context: u64) -> Option<usize> {
        self.0.iter().filter(|shadow| shadow.context == context).find_map(|shadow| {
            let offset = usize::try_from(device.checked_sub(shadow.device)?).ok()?;
            (offset < shadow.size).then(|| shadow.begin + offset)
        })
    }
}

fn find(shadows: &[Shadow], address: usize) -> Option<Shadow> {
    let after = shadows.partition_point(|shadow| shadow.begin <= address);
    let shadow = *shadows.get(after.checked_sub(1)?)?;
    (address - shadow.begin <= shadow.size).then_some(shadow)
}

impl Shadow {
    /// Reserves the shadow of a block.
    pub(crate) fn reserve(size: usize, device: u64, context: u64) -> io::Result<Self> {
        let mut shadows = write();
        let end = WINDOW + (1 << WINDOW_BITS);
        let mut least = WINDOW;
        loop {
            let begin = gap(&shadows, least, end, size)
                .ok_or_else(|| io::Error::other("16 TiB of device memory are in use"))?;
            match map(begin, size) {
                Ok(()) => {
                    let shadow = Self { begin, size, device, context };
                    let at = shadows.partition_point(|other| other.begin < begin);
                    shadows.insert(at, shadow);
                    return Ok(shadow);
                }
                // Something of the program's lies there, which is none of this crate's business.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                    least = begin + size.next_multiple_of(STEP);
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Ends a shadow. No view refers to it any more.
    pub(crate) fn release(device: u64, context: u64) {
        let mut shadows = write();
        let here = |shadow: &Self| shadow.device == device && shadow.context == context;
        if let Some(at) = shadows.iter().position(here) {
            let shadow = shadows.remove(at);
            unmap(shadow.begin, shadow.size);
        }
    }

    /// The same memory on the device.
    pub(crate) const fn translate(&self, address: usize) -> u64 {
        self.device + (address - self.begin) as u64
    }
}

/// The first place for `size` bytes at or above `least`, and below `end`.
fn gap(shadows: &[Shadow], least: usize, end: usize, size: usize) -> Option<usize> {
    if size >= end - WINDOW {
        return None;
    }
    let mut begin = least;
    for shadow in shadows {
        if shadow.begin + shadow.size < least {
            continue;
        }
        if begin + size + STEP <= shadow.begin {
            break;
        }
        begin = begin.max((shadow.begin + shadow.size).next_multiple_of(STEP) + STEP);
    }
    (begin + size <= end - STEP).then_some(begin)
}

#[cfg(target_os = "linux")]
fn map(begin: usize, size: usize) -> io::Result<()> {
    let flags =
        libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_FIXED_NOREPLACE;
    let address = std::ptr::without_provenance_mut(begin);
    // SAFETY: new memory, at a place where nothing is, or nowhere.
    let mapped = unsafe { libc::mmap(address, size, libc::PROT_READ, flags, -1, 0) };
    if mapped == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    if mapped.addr() != begin {
        // A kernel that does not know the flag takes the address for a wish.
        // SAFETY: it was mapped just now, and nobody knows it.
        unsafe { libc::munmap(mapped, size) };
        return Err(io::ErrorKind::AlreadyExists.into());
    }
    Ok(())
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
        let first = Shadow::reserve(3 * STEP, 0x7000_0000, 901).expect("address space");
        let second = Shadow::reserve(512, 0x9000_0000, 902).expect("address space");
        assert!(is_shadow(first.begin) && is_shadow(second.begin + 511));
        let shadows = Shadows::read();
        let inside = shadows.find(first.begin + 100).expect("in the first");
        assert_eq!((inside.context, inside.translate(first.begin + 100)), (901, 0x7000_0064));
        assert_eq!(shadows.find(second.begin + 512).map(|found| found.context), Some(902));
        assert_eq!(shadows.find(second.begin + 513), None);
        assert_eq!(shadows.find(first.begin + 3 * STEP + 1), None);
        assert_eq!(shadows.find(4096), None);
        drop(shadows);
        // SAFETY: the shadow can be read, and nobody writes to it.
        assert_eq!(unsafe { std::ptr::with_exposed_provenance::<u8>(first.begin).read() }, 0);
        Shadow::release(0x7000_0000, 901);
        Shadow::release(0x9000_0000, 902);
        assert_eq!(Shadows::read().find(first.begin), None);
    }

    #[test]
    fn gaps_are_used_again() {
        let at = |begin: usize| Shadow { begin, size: STEP, device: 0, context: 0 };
        let end = WINDOW + (1 << WINDOW_BITS);
        assert_eq!(gap(&[], WINDOW, end, STEP), Some(WINDOW));
        let shadows = [at(WINDOW), at(WINDOW + 10 * STEP)];
        assert_eq!(gap(&shadows, WINDOW, end, STEP), Some(WINDOW + 2 * STEP));
        assert_eq!(gap(&shadows, WINDOW, end, 7 * STEP), Some(WINDOW + 2 * STEP));
        assert_eq!(gap(&shadows, WINDOW, end, 8 * STEP), Some(WINDOW + 12 * STEP));
        assert_eq!(gap(&shadows, WINDOW + 3 * STEP, end, STEP), Some(WINDOW + 3 * STEP));
        assert_eq!(gap(&shadows, WINDOW, end, 1 << WINDOW_BITS), None);
        assert_eq!(gap(&shadows, WINDOW, end, usize::MAX), None);
    }
}
