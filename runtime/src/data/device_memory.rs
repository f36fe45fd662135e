//! Elements that the host cannot reach, where the host and kernels share code.
//!
//! A view is an address and a length. If the buffer is in memory of a device's own, the address stands for one of the device: on that
//! device it is replaced before the kernel starts, and anywhere else the functions here say what to do. A kernel has nothing of it:
//! whether code runs on a device is a constant there. On the host it is one comparison of an address that loops do not change.

use std::ptr::NonNull;
use std::slice;

use crate::hal::address_window;
use crate::kernel::abi::is_device;

// Functions of `hal::host_access`, by name: to the device half they are unknown, so it does not take a driver along before it finds that
// nothing calls them. Of the Rust ABI, because they may unwind.
unsafe extern "Rust" {
    #[link_name = "__schism_device_memory_readable"]
    fn by_name_readable(address: *const u8) -> *const u8;
    #[link_name = "__schism_device_memory_unreachable"]
    fn by_name_unreachable() -> !;
    #[link_name = "__schism_device_memory_exclusive"]
    fn by_name_exclusive(address: *const u8, bytes: usize);
}

/// The elements of a view, where this code can read them.
#[inline(always)]
pub(crate) fn readable<T>(elements: &[T]) -> &[T] {
    if is_device() || !address_window::is_in_window(elements.as_ptr().addr()) {
        return elements;
    }
    // SAFETY: the elements are in a window, and borrowed. What is returned has as many, which do not change while they are borrowed.
    unsafe {
        let readable = by_name_readable(elements.as_ptr().cast());
        slice::from_raw_parts(readable.cast(), elements.len())
    }
}

/// The elements of an exclusive view, if this code can reach them.
///
/// # Panics
/// If it cannot.
#[inline(always)]
pub(crate) fn reachable<T>(elements: NonNull<T>) -> NonNull<T> {
    if !is_device() && address_window::is_in_window(elements.as_ptr().addr()) {
        // SAFETY: nothing is asked of the caller.
        unsafe { by_name_unreachable() };
    }
    elements
}

/// Nobody else has a view of these elements.
#[inline(always)]
pub(crate) fn exclusive<T>(elements: NonNull<T>, len: usize) {
    if !is_device() && address_window::is_in_window(elements.as_ptr().addr()) {
        let bytes = len.wrapping_mul(size_of::<T>());
        // SAFETY: the caller gives up an exclusive view of the elements.
        unsafe { by_name_exclusive(elements.as_ptr().cast(), bytes) };
    }
}
