//! Registration of containers when their shared objects are loaded and unloaded.

use crate::code::{background, images, kernels};

/// Called by the objects of stage 1 when the shared object with a container is loaded.
///
/// # Safety
/// `begin..end` is one readable, immutable range of memory until [`__schism_hcf_unregister`] is
/// called with the same `begin`. So is the table at `host`, if that is not null: an address for each
/// symbol that the image in the program's process declares, and one in front.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __schism_hcf_register(
    begin: *const u8,
    end: *const u8,
    host: *const *const (),
) {
    if images::in_main_program((__schism_hcf_register as *const ()).cast()) {
        background::guard_main_thread();
    }
    images::register(begin, end, host);
}

/// Called when the shared object with a container is unloaded: inside `dlclose`, and when the
/// process ends.
///
/// # Safety
/// No launch of a kernel of this container is running or starts later.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __schism_hcf_unregister(begin: *const u8) {
    if let Some(remaining) = images::unregister(begin) {
        kernels::forget(begin as usize, &remaining);
    }
}
