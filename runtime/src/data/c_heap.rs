//! The arena behind C's allocation functions.
//!
//! The linker has calls of `malloc` and its kin in a program's own objects, the standard library's
//! among them, come here first. Other libraries, such as a driver's, have the C library's. A block
//! goes wherever the program gives it, so `free`, `realloc` and `malloc_usable_size` are the whole
//! process's: the program defines these, as the C library lets it, and they call the next ones for
//! all blocks that are not of the arena.

use std::cell::Cell;
use std::ffi::{CStr, c_int, c_void};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU8, Ordering};

use crate::data::shared_heap;

/// C's functions.
pub(crate) type Malloc = unsafe extern "C" fn(usize) -> *mut u8;
pub(crate) type Calloc = unsafe extern "C" fn(usize, usize) -> *mut u8;
pub(crate) type Realloc = unsafe extern "C" fn(*mut u8, usize) -> *mut u8;
pub(crate) type Memalign = unsafe extern "C" fn(usize, usize) -> *mut u8;
pub(crate) type PosixMemalign = unsafe extern "C" fn(*mut *mut u8, usize, usize) -> c_int;

/// The largest alignment that each block has.
const ALIGN: usize = 16;

/// The program's `free`, `realloc` and `malloc_usable_size`, or null.
static OWN: [AtomicPtr<()>; 3] = [const { AtomicPtr::new(null_mut()) }; 3];

/// Their names.
const NAMES: [&CStr; 3] = [c"free", c"realloc", c"malloc_usable_size"];

/// Those that come after the program's.
static NEXT: [AtomicPtr<()>; 3] = [const { AtomicPtr::new(null_mut()) }; 3];

const FREE: usize = 0;
const REALLOC: usize = 1;
const USABLE_SIZE: usize = 2;

/// Whether the program has its own global allocator, which may hold a lock when it calls C's
/// functions: making the arena allocates.
static HAS_ALLOCATOR: AtomicBool = AtomicBool::new(false);

/// Takes note of the program's `free`, `realloc` and `malloc_usable_size`, and of whether it has its
/// own global allocator.
pub(crate) fn take_note(functions: [*mut (); 3], has_allocator: bool) {
    for (own, function) in OWN.iter().zip(functions) {
        own.store(function, Ordering::Relaxed);
    }
    HAS_ALLOCATOR.store(has_allocator, Ordering::Release);
}

/// Whether the whole process has the program's functions. It does not where the program has an
/// allocator with C's names linked in.
fn is_everywhere() -> bool {
    const UNKNOWN: u8 = 0;
    const YES: u8 = 1;
    const NO: u8 = 2;
    static ANSWER: AtomicU8 = AtomicU8::new(UNKNOWN);
    match ANSWER.load(Ordering::Relaxed) {
        UNKNOWN => {
            let answer = NAMES.iter().zip(&OWN).all(|(name, own)| {
                // SAFETY: the name ends with a NUL.
                let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
                let own = own.load(Ordering::Relaxed);
                !own.is_null() && found.cast() == own
            });
            ANSWER.store(if answer { YES } else { NO }, Ordering::Relaxed);
            answer
        }
        answer => answer == YES,
    }
}

/// A block of the arena.
#[inline]
fn take(size: usize, align: usize) -> Option<*mut u8> {
    if !shared_heap::is_used()
        || !shared_heap::is_for(size, align)
        || shared_heap::is_inside()
        || !is_everywhere()
    {
        return None;
    }
    if !HAS_ALLOCATOR.load(Ordering::Acquire) {
        shared_heap::make();
    }
    shared_heap::take(size, align)
}

/// `malloc`.
///
/// # Safety
/// `next` is the function that the program would have called.
#[inline]
pub(crate) unsafe fn malloc(size: usize, next: Malloc) -> *mut u8 {
    // SAFETY: the caller's promise.
    take(size, ALIGN).unwrap_or_else(|| unsafe { next(size) })
}

/// `calloc`.
///
/// # Safety
/// As for [`malloc`].
#[inline]
pub(crate) unsafe fn calloc(count: usize, size: usize, next: Calloc) -> *mut u8 {
    let block = count.checked_mul(size).and_then(|bytes| Some((take(bytes, ALIGN)?, bytes)));
    // SAFETY: the block has the size, and it is new; besides, the caller's promise.
    unsafe {
        match block {
            Some((block, bytes)) => {
                block.write_bytes(0, bytes);
                block
            }
            None => next(count, size),
        }
    }
}

/// `memalign` and `aligned_alloc`, which have the same parameters.
///
/// # Safety
/// As for [`malloc`].
#[inline]
pub(crate) unsafe fn memalign(align: usize, size: usize, next: Memalign) -> *mut u8 {
    let block = if align.is_power_of_two() { take(size, align) } else { None };
    // SAFETY: the caller's promise.
    block.unwrap_or_else(|| unsafe { next(align, size) })
}

/// `posix_memalign`.
///
/// # Safety
/// As for [`malloc`], and `to` can be written.
#[inline]
pub(crate) unsafe fn posix_memalign(
    to: *mut *mut u8,
    align: usize,
    size: usize,
    next: PosixMemalign,
) -> c_int {
    let is_valid = align.is_power_of_two() && align.is_multiple_of(size_of::<*mut c_void>());
    let block = if is_valid { take(size, align) } else { None };
    // SAFETY: the caller's promises.
    unsafe {
        match block {
            Some(block) => {
                to.write(block);
                0
            }
            None => next(to, align, size),
        }
    }
}

/// `realloc` of the program's objects.
///
/// # Safety
/// As for C's function; `next` is the one that the program would have called.
#[inline]
pub(crate) unsafe fn realloc(block: *mut u8, size: usize, next: Realloc) -> *mut u8 {
    if shared_heap::is_in_arena(block.addr()) {
        // SAFETY: the caller's promise.
        return unsafe { resize(block, size) };
    }
    // Without a size, nothing could be copied.
    let is_known = block.is_null() || !self::next(USABLE_SIZE).is_null();
    let new = if is_known { take(size, ALIGN) } else { None };
    // SAFETY: the caller's promise: two blocks of these sizes, of which the old one, if there is
    // one, is not used any more.
    unsafe {
        let Some(new) = new else { return next(block, size) };
        if !block.is_null() {
            new.copy_from_nonoverlapping(block, usable_size(block).min(size));
            free(block);
        }
        new
    }
}

/// `realloc` of a block of the arena.
///
/// # Safety
/// As for C's function.
#[cold]
unsafe fn resize(block: *mut u8, size: usize) -> *mut u8 {
    if size == 0 {
        shared_heap::give(block.addr());
        return null_mut();
    }
    let Some(before) = shared_heap::size_of_block(block.addr()) else {
        // A forked process has no pages of it.
        // SAFETY: the thread's own error number.
        unsafe { libc::__errno_location().write(libc::ENOMEM) };
        return null_mut();
    };
    if size.checked_next_multiple_of(shared_heap::LARGE) == Some(before) {
        return block;
    }
    // The program's objects call it, and so does this one: it asks the arena first.
    // SAFETY: C's function.
    let new: *mut u8 = unsafe { libc::malloc(size) }.cast();
    if !new.is_null() {
        // SAFETY: the caller's promise: two blocks of these sizes, of which the old one is not used
        // any more.
        unsafe { new.copy_from_nonoverlapping(block, before.min(size)) };
        shared_heap::give(block.addr());
    }
    new
}

/// The whole process's `free`.
///
/// # Safety
/// As for C's function.
#[inline]
pub(crate) unsafe fn free(block: *mut u8) {
    if shared_heap::is_in_arena(block.addr()) {
        keep_error(|| shared_heap::give(block.addr()));
        return;
    }
    let function = next(FREE);
    if !function.is_null() {
        // SAFETY: the symbol names a function of this type; besides, the caller's promise.
        unsafe {
            std::mem::transmute::<*mut (), unsafe extern "C" fn(*mut u8)>(function)(block);
        }
    }
}

/// The whole process's `realloc`.
///
/// # Safety
/// As for C's function.
#[inline]
pub(crate) unsafe fn realloc_of_process(block: *mut u8, size: usize) -> *mut u8 {
    if shared_heap::is_in_arena(block.addr()) {
        // SAFETY: the caller's promise.
        return unsafe { resize(block, size) };
    }
    let function = next(REALLOC);
    if function.is_null() {
        return null_mut();
    }
    // SAFETY: the symbol names a function of this type; besides, the caller's promise.
    unsafe { std::mem::transmute::<*mut (), Realloc>(function)(block, size) }
}

/// The whole process's `malloc_usable_size`.
///
/// # Safety
/// As for C's function.
#[inline]
pub(crate) unsafe fn usable_size(block: *mut u8) -> usize {
    if shared_heap::is_in_arena(block.addr()) {
        return shared_heap::size_of_block(block.addr()).unwrap_or(0);
    }
    let function = next(USABLE_SIZE);
    if function.is_null() {
        return 0;
    }
    // SAFETY: the symbol names a function of this type; besides, the caller's promise.
    unsafe {
        std::mem::transmute::<*mut (), unsafe extern "C" fn(*mut u8) -> usize>(function)(block)
    }
}

/// Runs what may change the error number, which `free` does not.
fn keep_error(run: impl FnOnce()) {
    // SAFETY: the address of the thread's own number.
    let number = unsafe { libc::__errno_location() };
    // SAFETY: this thread's, and live.
    let before = unsafe { number.read() };
    run();
    // SAFETY: as above.
    unsafe { number.write(before) };
}

/// The function that comes after the program's; null while the thread looks for it.
#[inline]
fn next(which: usize) -> *mut () {
    let found = NEXT[which].load(Ordering::Relaxed);
    if found.is_null() { find_next(which) } else { found }
}

#[cold]
fn find_next(which: usize) -> *mut () {
    thread_local! {
        /// The search may free a text.
        static IS_LOOKING: Cell<bool> = const { Cell::new(false) };
    }
    if IS_LOOKING.replace(true) {
        return null_mut();
    }
    // SAFETY: the name ends with a NUL. This function is in the object that defines the program's.
    let found: *mut () = unsafe { libc::dlsym(libc::RTLD_NEXT, NAMES[which].as_ptr()) }.cast();
    IS_LOOKING.set(false);
    NEXT[which].store(found, Ordering::Relaxed);
    found
}
