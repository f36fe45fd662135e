//! C's memory functions, for devices that lack even these.
//!
//! Copying and filling are LLVM's own operations, which a device without a C library expands to
//! loops.

use core::ffi::c_void;
use core::ptr;

/// C's `memcpy`.
///
/// # Safety
/// As in C: `n` bytes can be read and written there, and they do not overlap.
#[unsafe(export_name = "schism.lib.memcpy")]
pub unsafe extern "C" fn memcpy(to: *mut c_void, from: *const c_void, n: usize) -> *mut c_void {
    // SAFETY: the caller promises it.
    unsafe { ptr::copy_nonoverlapping(from.cast::<u8>(), to.cast::<u8>(), n) };
    to
}

/// C's `memmove`.
///
/// # Safety
/// As in C: `n` bytes can be read and written there.
#[unsafe(export_name = "schism.lib.memmove")]
pub unsafe extern "C" fn memmove(to: *mut c_void, from: *const c_void, n: usize) -> *mut c_void {
    // SAFETY: the caller promises it.
    unsafe { ptr::copy(from.cast::<u8>(), to.cast::<u8>(), n) };
    to
}

/// C's `memset`.
///
/// # Safety
/// As in C: `n` bytes can be written there.
#[unsafe(export_name = "schism.lib.memset")]
pub unsafe extern "C" fn memset(to: *mut c_void, value: i32, n: usize) -> *mut c_void {
    // SAFETY: the caller promises it.
    unsafe { ptr::write_bytes(to.cast::<u8>(), value as u8, n) };
    to
}

/// C's `memcmp`.
///
/// # Safety
/// As in C: `n` bytes can be read at both places.
#[unsafe(export_name = "schism.lib.memcmp")]
pub unsafe extern "C" fn memcmp(one: *const c_void, other: *const c_void, n: usize) -> i32 {
    let mut at = 0;
    while at < n {
        // SAFETY: the caller promises that so many bytes can be read.
        let (a, b) =
            unsafe { (one.cast::<u8>().add(at).read(), other.cast::<u8>().add(at).read()) };
        if a != b {
            return a as i32 - b as i32;
        }
        at += 1;
    }
    0
}

/// `memcmp` for callers that only need to know whether it is zero.
///
/// # Safety
/// As for [`memcmp`].
#[unsafe(export_name = "schism.lib.bcmp")]
pub unsafe extern "C" fn bcmp(one: *const c_void, other: *const c_void, n: usize) -> i32 {
    // SAFETY: the caller promises it.
    unsafe { memcmp(one, other, n) }
}
