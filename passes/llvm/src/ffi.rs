//! What LLVM's C interface hands out as plain memory: texts, bytes, linked lists.

use std::ffi::{CStr, c_char};

use llvm_sys::core::LLVMDisposeMessage;

/// Copies and disposes of a text that LLVM made.
///
/// # Safety
/// `message` is null or came from LLVM as a text that the receiver disposes of.
pub unsafe fn take_message(message: *mut c_char) -> String {
    if message.is_null() {
        return String::new();
    }
    // SAFETY: LLVM's texts end with a NUL; the caller promises that it is a live text of LLVM's
    // that is ours.
    unsafe {
        let text = CStr::from_ptr(message).to_string_lossy().trim().to_owned();
        LLVMDisposeMessage(message);
        text
    }
}

/// A copy of a text of LLVM's.
///
/// # Safety
/// `start` is null or has so many bytes.
pub unsafe fn lossy(start: *const c_char, length: usize) -> String {
    // SAFETY: as promised by the caller; the bytes are copied at once.
    String::from_utf8_lossy(unsafe { bytes(start.cast(), length) }).into_owned()
}

/// The elements of a list of LLVM's: the first one, then each one's next.
pub fn list<T>(first: *mut T, next: impl Fn(*mut T) -> *mut T) -> Vec<*mut T> {
    let some = |element: *mut T| (!element.is_null()).then_some(element);
    std::iter::successors(some(first), |element| some(next(*element))).collect()
}

/// The bytes of a text of LLVM's.
///
/// # Safety
/// `start` is null or has so many bytes, which nothing changes during `'t`.
pub unsafe fn bytes<'t>(start: *const u8, length: usize) -> &'t [u8] {
    if start.is_null() || length == 0 {
        return &[];
    }
    // SAFETY: as promised by the caller.
    unsafe { std::slice::from_raw_parts(start, length) }
}
