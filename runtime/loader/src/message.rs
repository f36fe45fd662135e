//! Functions that generated code calls to write a message: of a panic, or of a print.
//!
//! Both read the message where it lies, on the kernel's stack, and format it before they return.
//! Nothing here unwinds or panics: `schism_message` formats, from values that the kernel's own
//! types describe.

use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};

use schism_jit_abi::code::Location;
use schism_jit_abi::{Bytes, PanicRecord, Text};
use schism_message::Own;

/// The longest message, in bytes.
const LIMIT: usize = 1 << 16;

/// Prints a message: the two words of a `core::fmt::Arguments`, for [`text`]. Kernels call it while
/// they run, on their threads, concurrently. It must not unwind.
///
/// # Safety
/// The arguments are the words of a message of this process, which lives during the call.
pub type PrintFn = unsafe extern "C" fn(template: *const u8, arguments: usize);

/// Unwinds after a panic, whose record is filled. The caller of the kernel catches it.
pub type RaiseFn = fn() -> !;

/// What kernels call of the process that loads them.
#[derive(Clone, Copy, Debug)]
pub struct Calls {
    /// Prints.
    pub print: PrintFn,
    /// Unwinds, for kernels that do.
    pub raise: Option<RaiseFn>,
}

/// Called by generated code: ends the process where a panic may not unwind, because another one does.
///
/// # Safety
/// `text` is `len` bytes.
pub(crate) unsafe extern "C" fn abort(text: *const u8, len: usize) -> ! {
    // SAFETY: the caller's promise.
    let text = unsafe { std::slice::from_raw_parts(text, len) };
    let thread = std::thread::current();
    say(format_args!(
        "thread '{}' panicked in a kernel:\n{}\nthread caused non-unwinding panic. aborting.",
        thread.name().unwrap_or("<unnamed>"),
        String::from_utf8_lossy(text)
    ));
    std::process::abort()
}

/// Writes lines to standard error, if it can be written.
fn say(text: std::fmt::Arguments<'_>) {
    let _ = catch_unwind(|| _ = writeln!(std::io::stderr(), "\n{text}"));
}

/// Called by generated code: fills the record of a panic with a text message.
///
/// # Safety
/// `record` can be written, `text` is `len` bytes, and `location` is null or a location of the
/// kernel's image.
pub(crate) unsafe extern "C" fn record_text(
    record: *mut PanicRecord,
    text: *const u8,
    len: usize,
    location: *const Location,
    x: usize,
    y: usize,
    z: usize,
) {
    let arguments = len.min(usize::MAX >> 1) << 1 | 1;
    // SAFETY: the caller's promises; a template with an odd second word is text of half its length.
    unsafe { record_format(record, text, arguments, location, x, y, z) };
}

/// Called by generated code: fills the record of a panic whose message has values.
///
/// # Safety
/// `record` can be written, `template` and `arguments` are the two words of a message of this
/// process, and `location` is null or a location of the kernel's image.
pub(crate) unsafe extern "C" fn record_format(
    record: *mut PanicRecord,
    template: *const u8,
    arguments: usize,
    location: *const Location,
    x: usize,
    y: usize,
    z: usize,
) {
    // SAFETY: the caller promises a message.
    let message = unsafe { text(template, arguments) };
    let bytes = Box::leak(message.into_bytes().into_boxed_slice());
    let mut filled = PanicRecord {
        message: Text { ptr: bytes.as_mut_ptr(), len: bytes.len() },
        global_id: [x, y, z],
        ..PanicRecord::EMPTY
    };
    // SAFETY: the caller promises that it is null or can be read.
    if let Some(location) = unsafe { location.as_ref() } {
        filled.file = Bytes { ptr: location.file, len: location.file_len };
        filled.line = location.line;
        filled.column = location.column;
    }
    // SAFETY: the caller promises a record; where it is filled, a panic unwinds, and this is another one
    // in a destructor. No launch can report either: the process ends.
    unsafe {
        if !(*record).message.ptr.is_null() {
            say_panic(&*record);
            say_panic(&filled);
        }
    }
    // SAFETY: the caller promises that it can be written; the text that it may have is not ours to
    // free.
    unsafe { record.write(filled) };
}

/// Writes a panic to standard error, as the standard library does.
///
/// # Safety
/// [`record_format`] has filled the record.
#[cold]
unsafe fn say_panic(record: &PanicRecord) {
    // SAFETY: the caller's promise: the name is of the kernel's image, and the message is a string's.
    let (file, message) = unsafe { (record.file.as_slice(), record.message.as_slice()) };
    let (file, message) = (String::from_utf8_lossy(file), String::from_utf8_lossy(message));
    let [x, y, z] = record.global_id;
    let (line, column) = (record.line, record.column);
    say(format_args!(
        "a kernel on the device `cpu` panicked at {file}:{line}:{column}:\n{message}\nwork-item [{x}, {y}, {z}]"
    ));
}

/// Takes the message out of the record of a panic.
///
/// # Safety
/// The record is [`PanicRecord::EMPTY`] or was filled by code that this crate has loaded, and its
/// message was not copied.
#[must_use]
pub unsafe fn take(record: &mut PanicRecord) -> String {
    let text = std::mem::replace(&mut record.message, Text::EMPTY);
    if text.ptr.is_null() {
        return String::new();
    }
    // SAFETY: `record_format` leaked a boxed slice of this length, and the record no longer refers
    // to it.
    let bytes = unsafe { Box::from_raw(std::ptr::slice_from_raw_parts_mut(text.ptr, text.len)) };
    // It was made from a string.
    String::from_utf8(bytes.into_vec()).unwrap_or_default()
}

/// The text of a message.
///
/// # Safety
/// `template` and `arguments` are the two words of a message of this process.
#[must_use]
pub unsafe fn text(template: *const u8, arguments: usize) -> String {
    let format = || {
        let mut text = String::new();
        // SAFETY: as promised by the caller; nothing writes to the message while its kernel waits
        // here.
        let memory = unsafe { Own::new() };
        let (template, arguments) = (template.expose_provenance() as u64, arguments as u64);
        // Writing to a `String` cannot fail.
        let _ = schism_message::format(&mut text, &memory, template, arguments, LIMIT);
        text
    };
    catch_unwind(AssertUnwindSafe(format)).unwrap_or_default()
}
