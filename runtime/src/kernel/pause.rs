//! What a work-item does while it waits for another one.

unsafe extern "C" {
    safe fn __schism_pause(nanoseconds: u32);
}

/// Lets other work-items go first for about so many nanoseconds, at most a million. A device may do
/// nothing.
#[inline(always)]
pub(crate) fn pause(nanoseconds: u32) {
    __schism_pause(nanoseconds);
}

/// The function that the host half links.
mod host {
    #[unsafe(no_mangle)]
    extern "C" fn __schism_pause(_: u32) {
        std::hint::spin_loop();
    }
}
