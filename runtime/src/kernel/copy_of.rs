//! What stands for a value of the host's in a kernel that has a copy of it.

use crate::kernel::abi::is_device;

unsafe extern "C" {
    safe fn __schism_copy_of(own: *mut u8, original: *const u8) -> *const u8;
}

/// The address of `own` in a kernel that cannot tell it from that of `original`, otherwise the
/// latter. `own` points to a local variable, which has a copy of what `original` points to. Nothing
/// changes either meanwhile.
#[inline(always)]
#[must_use]
pub fn copy_of(own: *mut u8, original: *const u8) -> *const u8 {
    if is_device() { __schism_copy_of(own, original) } else { original }
}

/// The function that the host half links.
mod host {
    #[unsafe(no_mangle)]
    extern "C" fn __schism_copy_of(_own: *mut u8, original: *const u8) -> *const u8 {
        original
    }
}
