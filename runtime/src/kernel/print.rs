//! Printing from kernels.

use std::fmt;
use std::panic::{self, AssertUnwindSafe};

use crate::launch::failure::{Hook, Inside};
use crate::launch::payload;

/// A message is two words: its template and its arguments.
type Words = [*const (); 2];

const _: () = assert!(size_of::<fmt::Arguments<'_>>() == size_of::<Words>());

// They have the Rust ABI: on the host they may unwind, and a crate that calls such a function of
// another ABI cannot be linked into programs that abort on panics.
unsafe extern "Rust" {
    /// On a device, the builtin of this name; on the host, the function below.
    #[link_name = "__schism_print"]
    fn builtin(template: *const (), arguments: *const ());
}

/// What [`dprint!`](crate::dprint) calls.
#[inline(always)]
pub(crate) fn print(message: fmt::Arguments<'_>) {
    // SAFETY: both types are two words, and any words are valid.
    let [template, arguments] =
        unsafe { std::mem::transmute::<fmt::Arguments<'_>, Words>(message) };
    // SAFETY: the two words of a message that lives during the call.
    unsafe { builtin(template, arguments) };
}

/// The builtin of the host half.
///
/// # Safety
/// The arguments are the words of a message.
#[unsafe(no_mangle)]
unsafe fn __schism_print(template: *const (), arguments: *const ()) {
    // SAFETY: the caller's promise.
    let message =
        unsafe { std::mem::transmute::<Words, fmt::Arguments<'_>>([template, arguments]) };
    out(message);
}

/// Prints for kernels that stage 2 compiled.
///
/// # Safety
/// The arguments are the words of a message.
pub(crate) unsafe extern "C" fn from_kernel(template: *const u8, arguments: usize) {
    // SAFETY: the caller's promise.
    let text = unsafe { schism_loader::message::text(template, arguments) };
    out(format_args!("{text}"));
}

/// Prints a message in one piece: messages of different threads do not interleave. An error of
/// standard output does not end the kernel.
pub(crate) fn out(message: fmt::Arguments<'_>) {
    // Formats first: a value whose formatting prints would interleave with its message if standard
    // output were locked.
    let text = message.to_string();
    let _inside = Inside::enter(Hook::Launch);
    if let Err(payload) = panic::catch_unwind(AssertUnwindSafe(|| print!("{text}"))) {
        payload::discard(payload);
    }
}
