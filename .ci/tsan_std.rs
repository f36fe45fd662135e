//! Tells ThreadSanitizer of what the standard library does in its own functions, which are not
//! instrumented.
//!
//! What of the standard library is generic or inline is compiled with its users and watched. These
//! functions are not: a thread that has to wait for a lock gets it in one of them, and
//! initialisations end in one. The linker (`--wrap`) sends calls of such a function to the
//! `__wrap_` function here, which calls the original, `__real_`, and says what it orders.
//! `.ci/sanitize` puts the names of the pinned standard library for those in capital letters.
#![no_std]
#![allow(non_snake_case, reason = "names of symbols")]

use core::ffi::c_void;
use core::time::Duration;

/// The standard library's types: only their addresses count.
pub struct Opaque(#[allow(dead_code, reason = "it has a place")] u8);

unsafe extern "C" {
    /// The thread has seen what those did that have released the address.
    fn __tsan_acquire(address: *mut c_void);
    /// Who acquires the address afterwards has seen what the thread did.
    fn __tsan_release(address: *mut c_void);
}

fn acquire(address: &Opaque) {
    // SAFETY: only the address counts.
    unsafe { __tsan_acquire((&raw const *address).cast_mut().cast()) };
}

fn release(address: &Opaque) {
    // SAFETY: only the address counts.
    unsafe { __tsan_release((&raw const *address).cast_mut().cast()) };
}

// The signatures are those of the pinned standard library.
#[allow(improper_ctypes)]
unsafe extern "Rust" {
    fn __real_MUTEX_LOCK(mutex: &Opaque);
    fn __real_RWLOCK_READ(lock: &Opaque);
    fn __real_RWLOCK_WRITE(lock: &Opaque);
    fn __real_CONDVAR_WAIT(condvar: &Opaque, mutex: &Opaque);
    fn __real_CONDVAR_WAIT_TIMEOUT(condvar: &Opaque, mutex: &Opaque, most: Duration) -> bool;
    fn __real_ONCE_CALL(once: &Opaque, poisoned: bool, run: &mut dyn FnMut(&Opaque), at: &Opaque);
    fn __real_SCOPE_DONE(scope: &Opaque, panicked: bool);
}

/// `Mutex::lock`, where it has to wait.
#[unsafe(no_mangle)]
pub unsafe fn __wrap_MUTEX_LOCK(mutex: &Opaque) {
    // SAFETY: the caller's promises, here and below.
    unsafe { __real_MUTEX_LOCK(mutex) };
    acquire(mutex);
}

/// `RwLock::read`, where it has to wait.
#[unsafe(no_mangle)]
pub unsafe fn __wrap_RWLOCK_READ(lock: &Opaque) {
    // SAFETY: as above.
    unsafe { __real_RWLOCK_READ(lock) };
    acquire(lock);
}

/// `RwLock::write`, where it has to wait.
#[unsafe(no_mangle)]
pub unsafe fn __wrap_RWLOCK_WRITE(lock: &Opaque) {
    // SAFETY: as above.
    unsafe { __real_RWLOCK_WRITE(lock) };
    acquire(lock);
}

/// `Condvar::wait`, which unlocks the mutex and locks it again.
#[unsafe(no_mangle)]
pub unsafe fn __wrap_CONDVAR_WAIT(condvar: &Opaque, mutex: &Opaque) {
    release(mutex);
    // SAFETY: as above.
    unsafe { __real_CONDVAR_WAIT(condvar, mutex) };
    acquire(mutex);
}

/// `Condvar::wait_timeout`.
#[unsafe(no_mangle)]
pub unsafe fn __wrap_CONDVAR_WAIT_TIMEOUT(
    condvar: &Opaque,
    mutex: &Opaque,
    most: Duration,
) -> bool {
    release(mutex);
    // SAFETY: as above.
    let in_time = unsafe { __real_CONDVAR_WAIT_TIMEOUT(condvar, mutex, most) };
    acquire(mutex);
    in_time
}

/// `Once::call_once` and whatever is made of it. The last argument is the caller's place in the
/// source.
#[unsafe(no_mangle)]
pub unsafe fn __wrap_ONCE_CALL(
    once: &Opaque,
    poisoned: bool,
    run: &mut dyn FnMut(&Opaque),
    at: &Opaque,
) {
    let mut run = |state: &Opaque| {
        run(state);
        release(once);
    };
    // SAFETY: as above.
    unsafe { __real_ONCE_CALL(once, poisoned, &mut run, at) };
    acquire(once);
}

/// The end of a thread of `thread::scope`, which waits for a count at one of the fields.
#[unsafe(no_mangle)]
pub unsafe fn __wrap_SCOPE_DONE(scope: &Opaque, panicked: bool) {
    // SAFETY: only addresses count; the type has three fields of eight bytes or less.
    unsafe {
        for word in 0..3 {
            __tsan_release((&raw const *scope).cast_mut().cast::<c_void>().byte_add(8 * word));
        }
        __real_SCOPE_DONE(scope, panicked);
    }
}
