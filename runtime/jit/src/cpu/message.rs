//! What generated code calls to leave a message: of a panic, and of what it prints.
//!
//! Both read the message where it lies, on the kernel's stack, and format it before they return. Nothing here unwinds or
//! panics: formatting is `schism_message`'s, of values that the kernel's own types describe.

use std::io::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};

use schism_jit_abi::{Bytes, PanicRecord, PrintFn, Text};
use schism_message::Own;

use crate::llvm::{Context, Module};
use crate::{JitError, image};

/// The symbol of [`record_text`].
pub const RECORD_TEXT: &str = "__schism_cpu_record_text";
/// The symbol of [`record_format`].
pub const RECORD_FORMAT: &str = "__schism_cpu_record_format";
/// Calls [`RECORD_TEXT`].
pub const INNER_TEXT: &str = "schism.panic.text";
/// Calls [`RECORD_FORMAT`].
pub const INNER_FORMAT: &str = "schism.panic.format";
/// The symbol of [`print`].
pub const PRINT: &str = "__schism_cpu_print";

/// The longest message, in bytes.
const LIMIT: usize = 1 << 16;

/// Declarations of the two functions that fill in a panic's record.
pub fn record_declarations() -> String {
    let attributes =
        "cold nounwind willreturn memory(read, argmem: readwrite, inaccessiblemem: readwrite)";
    format!(
        "declare void @{RECORD_TEXT}(ptr, ptr, i64, ptr, i64, i64, i64) {attributes}
         declare void @{RECORD_FORMAT}(ptr, ptr, ptr, ptr, i64, i64, i64) {attributes}\n"
    )
}

/// Functions of the module that call the two: what nothing uses yet would not be linked.
pub fn record_bodies() -> String {
    let mut out = record_declarations();
    for (name, callee, second) in
        [(INNER_TEXT, RECORD_TEXT, "i64"), (INNER_FORMAT, RECORD_FORMAT, "ptr")]
    {
        out += &format!(
            "define void @{name}(ptr %record, ptr %message, {second} %second, ptr %location, i64 %x, i64 %y, i64 %z)
                 cold nounwind willreturn {{
               call void @{callee}(ptr %record, ptr %message, {second} %second, ptr %location, i64 %x, i64 %y, i64 %z)
               ret void
             }}\n"
        );
    }
    out
}

/// Gives the builtin that prints a body.
pub fn add_print<'c>(
    context: &'c Context,
    module: &Module<'c>,
    callback: Option<PrintFn>,
) -> Result<(), JitError> {
    if module.function(image::PRINT).is_none() {
        return Ok(());
    }
    let callback = callback.map_or(0, |callback| callback as usize);
    let text = format!(
        "declare void @{PRINT}(ptr, ptr, ptr) nounwind
         define void @{}(ptr %template, ptr %arguments) nounwind {{
           call void @{PRINT}(ptr inttoptr (i64 {callback} to ptr), ptr %template, ptr %arguments)
           ret void
         }}\n",
        image::PRINT
    );
    let body = Module::from_text(context, &text).map_err(JitError::Internal)?;
    body.set_target_of(module);
    module.link(context, body).map_err(JitError::InvalidImage)?;
    if let Some(function) = module.function(image::PRINT) {
        function.set_internal();
    }
    Ok(())
}

/// A `core::panic::Location`, as the compiler lays it out.
#[repr(C)]
#[derive(Debug)]
pub struct Location {
    file: *const u8,
    file_len: usize,
    line: u32,
    column: u32,
}

/// Called by generated code: the record of a panic whose message is text.
///
/// # Safety
/// `record` can be written, `text` is `len` bytes, and `location` is null or a location of the kernel's image.
pub unsafe extern "C" fn record_text(
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

/// Called by generated code: the record of a panic whose message has values.
///
/// # Safety
/// `record` can be written, `template` and `arguments` are the two words of a message of this process, and `location` is null
/// or a location of the kernel's image.
pub unsafe extern "C" fn record_format(
    record: *mut PanicRecord,
    template: *const u8,
    arguments: usize,
    location: *const Location,
    x: usize,
    y: usize,
    z: usize,
) {
    // SAFETY: the caller promises a message.
    let message = unsafe { formatted(template, arguments) };
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
    // SAFETY: the caller promises that it can be written; the text that it may have is not ours to free.
    unsafe { record.write(filled) };
}

/// Called by generated code: prints a message through the caller's function, or else itself.
///
/// # Safety
/// `template` and `arguments` are the two words of a message of this process.
pub unsafe extern "C" fn print(callback: Option<PrintFn>, template: *const u8, arguments: usize) {
    // SAFETY: the caller promises a message.
    let message = unsafe { formatted(template, arguments) };
    match callback {
        // SAFETY: whoever asked for the kernel gave a function for exactly this.
        Some(callback) => unsafe { callback(Bytes::new(message.as_bytes())) },
        // Where nobody listens there is nobody to tell.
        None => drop(std::io::stdout().write_all(message.as_bytes())),
    }
}

/// The text of a message.
///
/// # Safety
/// `template` and `arguments` are the two words of a message of this process.
unsafe fn formatted(template: *const u8, arguments: usize) -> String {
    let format = || {
        let mut text = String::new();
        // SAFETY: as promised by the caller; nothing writes to the message while its kernel waits here.
        let memory = unsafe { Own::new() };
        let (template, arguments) = (template.expose_provenance() as u64, arguments as u64);
        // A string takes everything.
        let _ = schism_message::format(&mut text, &memory, template, arguments, LIMIT);
        text
    };
    catch_unwind(AssertUnwindSafe(format)).unwrap_or_default()
}
