//! Functions that generated code calls to allocate: this program's allocator.
//!
//! Kernels of pipelines hand blocks to the host and take over the host's, so these are the
//! functions behind the host's own `alloc` and `dealloc`: this crate is linked into the program.

use std::alloc::Layout;

use schism_jit_abi::code::HEAP;

/// The address of one of the functions.
pub(crate) fn find(name: &str) -> Option<*const ()> {
    let [of_alloc, of_alloc_zeroed, of_dealloc, of_realloc] = HEAP;
    Some(match name {
        _ if name == of_alloc => alloc as *const (),
        _ if name == of_alloc_zeroed => alloc_zeroed as *const (),
        _ if name == of_dealloc => dealloc as *const (),
        _ if name == of_realloc => realloc as *const (),
        _ => return None,
    })
}

/// # Safety
/// As [`std::alloc::alloc`], with a valid layout: what compiled Rust calls it with.
unsafe extern "C" fn alloc(size: usize, align: usize) -> *mut u8 {
    // SAFETY: the caller's promise.
    unsafe { std::alloc::alloc(Layout::from_size_align_unchecked(size, align)) }
}

/// # Safety
/// As [`std::alloc::alloc_zeroed`], with a valid layout.
unsafe extern "C" fn alloc_zeroed(size: usize, align: usize) -> *mut u8 {
    // SAFETY: the caller's promise.
    unsafe { std::alloc::alloc_zeroed(Layout::from_size_align_unchecked(size, align)) }
}

/// # Safety
/// As [`std::alloc::dealloc`], with a valid layout.
unsafe extern "C" fn dealloc(block: *mut u8, size: usize, align: usize) {
    // SAFETY: the caller's promise.
    unsafe { std::alloc::dealloc(block, Layout::from_size_align_unchecked(size, align)) }
}

/// # Safety
/// As [`std::alloc::realloc`], with a valid layout.
unsafe extern "C" fn realloc(block: *mut u8, size: usize, align: usize, new: usize) -> *mut u8 {
    // SAFETY: the caller's promise.
    unsafe { std::alloc::realloc(block, Layout::from_size_align_unchecked(size, align), new) }
}
