//! Access to elements that may be in device memory, for code that runs on the host and in kernels.
//!
//! A view is an address and a length. If the buffer is in a device's own memory, the address lies
//! in an address window that represents that memory: launches on that device replace it before the
//! kernel starts, and on the host the functions here handle it. In kernels all of this disappears,
//! because `is_device` is a constant there. On the host it is one comparison of an address, which
//! loops hoist.

use std::ptr::NonNull;
use std::slice;

use crate::hal::address_window;
use crate::kernel::abi::is_device;

// Functions of `hal::host_access`, declared by name: the device half does not see their bodies, so
// it contains none of the driver's code before it finds that nothing calls them. They have the Rust
// ABI because they may unwind.
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
    // SAFETY: the elements are in a window, and borrowed. The result has as many, which do not
    // change while they are borrowed.
    unsafe {
        let readable = by_name_readable(elements.as_ptr().cast());
        slice::from_raw_parts(readable.cast(), elements.len())
    }
}

/// The elements of an exclusive view, if this code can access them.
///
/// # Panics
/// If they are in device memory and this code runs on the host.
#[inline(always)]
pub(crate) fn reachable<T>(elements: NonNull<T>) -> NonNull<T> {
    if !is_device() && address_window::is_in_window(elements.as_ptr().addr()) {
        // SAFETY: the function has no preconditions.
        unsafe { by_name_unreachable() };
    }
    elements
}

/// Records that the caller has the only view of these elements.
#[inline(always)]
pub(crate) fn exclusive<T>(elements: NonNull<T>, len: usize) {
    if !is_device() && address_window::is_in_window(elements.as_ptr().addr()) {
        let bytes = len.wrapping_mul(size_of::<T>());
        // SAFETY: the caller gives up an exclusive view of the elements.
        unsafe { by_name_exclusive(elements.as_ptr().cast(), bytes) };
    }
}
