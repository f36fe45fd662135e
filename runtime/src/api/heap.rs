//! The functions behind a program's allocators, and what `schism-stdpar` asks of the shared heap.
//!
//! The compiler puts the functions with C's names behind the allocators; they pass on what they do not
//! serve to the function that they got as their last argument.

use std::alloc::Layout;
use std::ffi::c_int;

use crate::data::{c_heap, device_heap, program_heap, shared_heap};

/// Runs what has to be there before memory can be shared: large blocks that the thread requests
/// meanwhile do not need a queue.
pub fn prepare<R>(run: impl FnOnce() -> R) -> R {
    shared_heap::prepare(run)
}

/// Allocates: the compiler puts this behind the program's allocator.
///
/// # Safety
/// As for [`GlobalAlloc::alloc`](std::alloc::GlobalAlloc::alloc), with the size and the
/// alignment of a layout.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __schism_heap_alloc(size: usize, align: usize) -> *mut u8 {
    // SAFETY: the caller's promise.
    unsafe { shared_heap::alloc(Layout::from_size_align_unchecked(size, align)) }
}

/// Allocates zeros.
///
/// # Safety
/// As for [`__schism_heap_alloc`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __schism_heap_alloc_zeroed(size: usize, align: usize) -> *mut u8 {
    // SAFETY: the caller's promise.
    unsafe { shared_heap::alloc_zeroed(Layout::from_size_align_unchecked(size, align)) }
}

/// Frees.
///
/// # Safety
/// As for [`__schism_heap_alloc`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __schism_heap_dealloc(block: *mut u8, size: usize, align: usize) {
    // SAFETY: the caller's promise.
    unsafe { shared_heap::dealloc(block, Layout::from_size_align_unchecked(size, align)) }
}

/// Changes a block's size.
///
/// # Safety
/// As for [`__schism_heap_alloc`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __schism_heap_realloc(
    block: *mut u8,
    size: usize,
    align: usize,
    new: usize,
) -> *mut u8 {
    // SAFETY: the caller's promise.
    unsafe { shared_heap::realloc(block, Layout::from_size_align_unchecked(size, align), new) }
}

/// Allocates by the program's own allocator, whose block one of the shared heap may stand for.
///
/// # Safety
/// As for [`__schism_heap_alloc`]; the last argument is the allocator's function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __schism_heap_program_alloc(
    size: usize,
    align: usize,
    alloc: program_heap::Alloc,
) -> *mut u8 {
    // SAFETY: the caller's promise.
    unsafe { program_heap::alloc(Layout::from_size_align_unchecked(size, align), alloc) }
}

/// Allocates zeros in the same way.
///
/// # Safety
/// As for [`__schism_heap_program_alloc`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __schism_heap_program_alloc_zeroed(
    size: usize,
    align: usize,
    alloc: program_heap::Alloc,
) -> *mut u8 {
    // SAFETY: the caller's promise.
    unsafe { program_heap::alloc_zeroed(Layout::from_size_align_unchecked(size, align), alloc) }
}

/// Frees what was allocated so.
///
/// # Safety
/// As for [`__schism_heap_program_alloc`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __schism_heap_program_dealloc(
    block: *mut u8,
    size: usize,
    align: usize,
    dealloc: program_heap::Dealloc,
) {
    // SAFETY: the caller's promise.
    unsafe {
        program_heap::dealloc(block, Layout::from_size_align_unchecked(size, align), dealloc);
    }
}

/// Changes the size of a block that was allocated so.
///
/// # Safety
/// As for [`__schism_heap_program_alloc`], with all of the allocator's functions.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __schism_heap_program_realloc(
    block: *mut u8,
    size: usize,
    align: usize,
    new: usize,
    realloc: program_heap::Realloc,
    alloc: program_heap::Alloc,
    dealloc: program_heap::Dealloc,
) -> *mut u8 {
    // SAFETY: the caller's promise.
    unsafe {
        let layout = Layout::from_size_align_unchecked(size, align);
        program_heap::realloc(block, layout, new, (realloc, alloc, dealloc))
    }
}

/// Takes note of what the program defines: `free`, `realloc` and `malloc_usable_size` that call the
/// functions below, and whether it has its own global allocator. It runs before the program's
/// `main`.
#[unsafe(no_mangle)]
pub extern "C" fn __schism_heap_defined(
    free: *mut (),
    realloc: *mut (),
    usable_size: *mut (),
    has_allocator: c_int,
) {
    c_heap::take_note([free, realloc, usable_size], has_allocator != 0);
    if has_allocator == 0 {
        device_heap::allow();
    }
}

/// `malloc` of the program's objects.
///
/// # Safety
/// As for C's function; the last argument is the one that would have been called.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __schism_heap_malloc(size: usize, next: c_heap::Malloc) -> *mut u8 {
    // SAFETY: the caller's promise.
    unsafe { c_heap::malloc(size, next) }
}

/// `calloc` of the program's objects.
///
/// # Safety
/// As for [`__schism_heap_malloc`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __schism_heap_calloc(
    count: usize,
    size: usize,
    next: c_heap::Calloc,
) -> *mut u8 {
    // SAFETY: the caller's promise.
    unsafe { c_heap::calloc(count, size, next) }
}

/// `memalign` and `aligned_alloc` of the program's objects.
///
/// # Safety
/// As for [`__schism_heap_malloc`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __schism_heap_memalign(
    align: usize,
    size: usize,
    next: c_heap::Memalign,
) -> *mut u8 {
    // SAFETY: the caller's promise.
    unsafe { c_heap::memalign(align, size, next) }
}

/// `posix_memalign` of the program's objects.
///
/// # Safety
/// As for [`__schism_heap_malloc`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __schism_heap_posix_memalign(
    to: *mut *mut u8,
    align: usize,
    size: usize,
    next: c_heap::PosixMemalign,
) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { c_heap::posix_memalign(to, align, size, next) }
}

/// `realloc` of the program's objects, which may move a block into the shared heap.
///
/// # Safety
/// As for [`__schism_heap_malloc`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __schism_heap_realloc_of_program(
    block: *mut u8,
    size: usize,
    next: c_heap::Realloc,
) -> *mut u8 {
    // SAFETY: the caller's promise.
    unsafe { c_heap::realloc(block, size, next) }
}

/// The process's `free`.
///
/// # Safety
/// As for C's function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __schism_heap_free(block: *mut u8) {
    // SAFETY: the caller's promise.
    unsafe { c_heap::free(block) }
}

/// The process's `realloc`.
///
/// # Safety
/// As for C's function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __schism_heap_realloc_of_process(block: *mut u8, size: usize) -> *mut u8 {
    // SAFETY: the caller's promise.
    unsafe { c_heap::realloc_of_process(block, size) }
}

/// The process's `malloc_usable_size`.
///
/// # Safety
/// As for C's function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __schism_heap_usable_size(block: *mut u8) -> usize {
    // SAFETY: the caller's promise.
    unsafe { c_heap::usable_size(block) }
}

/// Call it when the program starts, before it opens libraries.
pub fn at_start() {
    crate::hal::dispatch::at_start();
}

/// Reads what the program has at an address. Memory that is shared with the queue's device is
/// read where it is: on the host, its pages would move there and back.
///
/// # Safety
/// As for [`ptr::copy_nonoverlapping`](std::ptr::copy_nonoverlapping), of bytes.
pub unsafe fn read(queue: &crate::Queue, from: *const u8, to: *mut u8, bytes: usize) {
    // SAFETY: the caller's promises.
    unsafe {
        let is_read = shared_heap::is_in_arena(from.addr())
            && queue
                .backend()
                .host_memory()
                .is_some_and(|memory| memory.read_shared(from.addr(), to, bytes));
        if !is_read {
            to.copy_from_nonoverlapping(from, bytes);
        }
    }
}

/// Asks for memory that is shared with a queue's device, which the first large block reserves.
/// `queue` is called at most once.
pub fn share(queue: fn() -> Option<crate::Queue>) {
    shared_heap::want(Box::new(move |bytes| {
        queue()?.backend().host_memory()?.reserve_shared(bytes)
    }));
}
