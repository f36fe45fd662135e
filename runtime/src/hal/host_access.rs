//! Host access through views of device memory. `data::device_memory` declares these functions by
//! name.

use crate::hal::{Unreadable, dispatch};

/// Where the host can read the contents at a window address.
///
/// # Safety
/// The address is that of a view.
#[cold]
#[unsafe(no_mangle)]
unsafe fn __schism_device_memory_readable(address: *const u8) -> *const u8 {
    match dispatch::readable(address.addr()) {
        Some(Ok(readable)) => readable,
        Some(Err(Unreadable::Atomic { device })) => panic!(
            "a view of atomics in the memory of device `{device}` is for its kernels; the host reads the buffer, after the launch"
        ),
        Some(Err(Unreadable::Failed(error))) => {
            panic!("a view cannot be read on the host: {error}")
        }
        // Empty views: nothing reads there.
        None => address,
    }
}

#[cold]
#[unsafe(no_mangle)]
fn __schism_device_memory_unreachable() -> ! {
    panic!(
        "the elements of an exclusive view are in a GPU's memory, out of the host's reach; only kernels on that device can use them"
    )
}

/// # Safety
/// The caller alone has a view of the `bytes` at the address.
#[cold]
#[unsafe(no_mangle)]
unsafe fn __schism_device_memory_exclusive(address: *const u8, bytes: usize) {
    dispatch::exclusive(address.addr(), bytes);
}
