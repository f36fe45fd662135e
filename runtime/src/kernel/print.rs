//! What kernels print.

use std::fmt;
use std::panic::{self, AssertUnwindSafe};

use crate::launch::failure::{self, Inside};

/// A message is two words: its template and its arguments.
type Words = [*const (); 2];

const _: () = assert!(size_of::<fmt::Arguments<'_>>() == size_of::<Words>());

// Of the Rust ABI: on the host these may unwind, and a crate that calls such a function of another ABI cannot be linked into
// programs that abort on panics.
unsafe extern "Rust" {
    /// On a device, the builtin of this name; on the host, the function below.
    #[link_name = "__schism_print"]
    fn builtin(template: *const (), arguments: *const ());
}

/// What [`dprint!`](crate::dprint) calls.
#[inline(always)]
pub(crate) fn print(message: fmt::Arguments<'_>) {
    // SAFETY: both are two words, and nothing is asked of words.
    let [template, arguments] =
        unsafe { std::mem::transmute::<fmt::Arguments<'_>, Words>(message) };
    // SAFETY: the two words of a message that lives during the call.
    unsafe { builtin(template, arguments) };
}

/// The builtin of the host half.
///
/// # Safety
/// The two are the words of a message.
#[unsafe(no_mangle)]
unsafe fn __schism_print(template: *const (), arguments: *const ()) {
    // SAFETY: the caller's promise.
    let message =
        unsafe { std::mem::transmute::<Words, fmt::Arguments<'_>>([template, arguments]) };
    out(message);
}

/// What kernels of stage 2 print.
///
/// # Safety
/// The two are the words of a message.
pub(crate) unsafe extern "C" fn from_kernel(template: *const u8, arguments: usize) {
    // SAFETY: the caller's promise.
    let text = unsafe { schism_loader::message::text(template, arguments) };
    out(format_args!("{text}"));
}

/// Prints a message in one piece: work-items on several threads do not mix within it. A kernel does not end because nobody reads
/// what it prints.
pub(crate) fn out(message: fmt::Arguments<'_>) {
    // First as a whole: what is formatted while standard output is locked would come out in pieces if it prints, too.
    let text = message.to_string();
    let _inside = Inside::enter();
    if let Err(payload) = panic::catch_unwind(AssertUnwindSafe(|| print!("{text}"))) {
        failure::discard(payload);
    }
}
