//! The work-item that runs on a thread, for builtins and panics in functions outside the loop
//! function.
//!
//! The entry function creates an [`ItemContext`] on its stack and a thread-local points to it while
//! the box runs.
//!
//! A barrier or a sub-group operation lets other work-items of the group run on this thread, each
//! with its own context. The scheduler of the work-items sets the thread-local to that of
//! the one that continues ([`swap`]).

use std::cell::Cell;
use std::ptr::null_mut;

use schism_jit_abi::CpuGroup;
use schism_jit_abi::code::ItemContext;

thread_local! {
    static CONTEXT: Cell<*mut ItemContext> = const { Cell::new(null_mut()) };
}

/// Called by generated code: the thread's context.
#[inline]
pub extern "C" fn current() -> *mut ItemContext {
    CONTEXT.get()
}

/// Called by generated code: sets the thread's context and returns the previous one.
#[inline]
pub extern "C" fn swap(context: *mut ItemContext) -> *mut ItemContext {
    CONTEXT.replace(context)
}

/// Called by generated code: waits for the other work-items of the group.
///
/// # Safety
/// `group` is that of the running work-item.
pub unsafe extern "C" fn barrier(group: *const CpuGroup) {
    // SAFETY: the caller's promise; a kernel with barriers gets groups that have one.
    unsafe {
        if let Some(wait) = (*group).barrier {
            // The last thing done here, so that it returns to generated code.
            wait((*group).data);
        }
    }
}

/// Called by generated code: runs a sub-group operation.
///
/// # Safety
/// `group` is that of the running work-item.
pub unsafe extern "C" fn sub_group(
    group: *const CpuGroup,
    operation: u32,
    value: u32,
    argument: u32,
) -> u32 {
    // SAFETY: the caller's promise; a kernel with such operations gets groups that have them.
    unsafe {
        match (*group).sub_group {
            Some(operate) => operate((*group).data, operation, value, argument),
            None => value,
        }
    }
}

/// Called by generated code: memory for what work-items keep across barriers.
///
/// # Safety
/// `group` is that of the running work-items.
pub unsafe extern "C" fn group_memory(group: *const CpuGroup, bytes: usize) -> *mut u8 {
    // SAFETY: the caller's promise.
    unsafe {
        match (*group).memory {
            Some(memory) => memory((*group).data, bytes),
            None => null_mut(),
        }
    }
}

/// Called by generated code: compares where the work-items of a group go on.
///
/// # Safety
/// `group` is that of the running work-items, and `numbers` points to `items` numbers.
pub unsafe extern "C" fn agree(group: *const CpuGroup, numbers: *const u32, items: usize) -> u32 {
    // SAFETY: the caller's promise.
    unsafe {
        match (*group).agree {
            Some(agree) => agree((*group).data, numbers, items),
            None => u32::MAX,
        }
    }
}

/// Called by generated code: nanoseconds since an unspecified origin, the same for all threads of
/// the system.
pub extern "C" fn time() -> u64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the place can be written; the clock always exists.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut now) };
    (now.tv_sec as u64).wrapping_mul(1_000_000_000).wrapping_add(now.tv_nsec as u64)
}
