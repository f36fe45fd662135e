//! Functions that generated code calls to write a message: of a panic, or of a print. The process
//! that loads the code defines them.

use schism_jit_abi::code::{ABORT, PRINT, RAISE, RECORD_FORMAT, RECORD_TEXT};

use crate::JitError;
use crate::common::image;
use crate::common::module::Module;
use schism_llvm::Context;

/// Calls [`RECORD_TEXT`].
pub const INNER_TEXT: &str = "schism.panic.text";
/// Calls [`RECORD_FORMAT`].
pub const INNER_FORMAT: &str = "schism.panic.format";

/// Declarations of the two functions that fill in a panic's record.
pub fn record_declarations() -> String {
    let attributes =
        "cold nounwind willreturn memory(read, argmem: readwrite, inaccessiblemem: readwrite)";
    format!(
        "declare void @{RECORD_TEXT}(ptr, ptr, i64, ptr, i64, i64, i64) {attributes}
         declare void @{RECORD_FORMAT}(ptr, ptr, ptr, ptr, i64, i64, i64) {attributes}\n"
    )
}

/// Functions of the module that call the two: unused declarations would not be linked.
pub fn record_bodies() -> String {
    record_declarations()
        + &bodies([INNER_TEXT, INNER_FORMAT], "cold nounwind willreturn", "ret void")
}

/// Functions of these names that call the two, and end so.
fn bodies(names: [&str; 2], attributes: &str, end: &str) -> String {
    let called = [(RECORD_TEXT, "i64"), (RECORD_FORMAT, "ptr")];
    let body = |(name, (callee, second)): (&str, (&str, &str))| {
        format!(
            "define void @{name}(ptr %record, ptr %message, {second} %second, ptr %location, i64 %x, i64 %y, i64 %z)
                 {attributes} {{
               call void @{callee}(ptr %record, ptr %message, {second} %second, ptr %location, i64 %x, i64 %y, i64 %z)
               {end}
             }}\n"
        )
    };
    names.into_iter().zip(called).map(body).collect()
}

/// Raises a panic that [`INNER_TEXT`] would record.
pub const RAISE_TEXT: &str = "schism.raise.text";
/// The same for [`INNER_FORMAT`].
pub const RAISE_FORMAT: &str = "schism.raise.format";

/// Functions of the module that record a panic, and unwind.
pub fn raise_bodies() -> String {
    let end = format!("call void @{RAISE}()\n               unreachable");
    let own = bodies([RAISE_TEXT, RAISE_FORMAT], "cold noinline noreturn", &end);
    record_declarations() + &raise_declaration() + &own
}

/// The declaration of the function that unwinds.
pub fn raise_declaration() -> String {
    format!("declare void @{RAISE}() cold noreturn\n")
}

/// Gives the builtin that ends the process a body.
pub fn add_abort<'c>(context: &'c Context, module: &Module<'c>) -> Result<(), JitError> {
    let text = format!(
        "declare void @{ABORT}(ptr, i64) cold noreturn nounwind
         define void @{}(ptr %text, i64 %length, ptr %location) cold noinline noreturn nounwind {{
           call void @{ABORT}(ptr %text, i64 %length)
           unreachable
         }}\n",
        image::ABORT
    );
    image::define_builtin(context, module, image::ABORT, &text)
}

/// Gives the print builtin a body.
pub fn add_print<'c>(context: &'c Context, module: &Module<'c>) -> Result<(), JitError> {
    let text = format!(
        "declare void @{PRINT}(ptr, ptr) nounwind
         define void @{}(ptr %template, ptr %arguments) nounwind {{
           call void @{PRINT}(ptr %template, ptr %arguments)
           ret void
         }}\n",
        image::PRINT
    );
    image::define_builtin(context, module, image::PRINT, &text)
}
