//! The builtin of work-items that wait for others: `__schism_pause(i32 nanoseconds)`.
//!
//! Each target says what it does. On some it is nothing: a CPU runs work-items one after the other,
//! and OpenCL has no such thing.

use crate::JitError;
use crate::common::image::{self, PAUSE};
use crate::common::module::Module;
use schism_llvm::Context;

/// Gives the builtin a body that does nothing.
pub fn ignore<'c>(context: &'c Context, module: &Module<'c>) -> Result<(), JitError> {
    define(context, module, "", "  ret void\n")
}

/// Gives the builtin a body, which is always inlined and finds the nanoseconds in `%time`.
pub fn define<'c>(
    context: &'c Context,
    module: &Module<'c>,
    declarations: &str,
    body: &str,
) -> Result<(), JitError> {
    let text = format!(
        "{declarations}define void @{PAUSE}(i32 %time) alwaysinline nounwind {{\n{body}}}\n"
    );
    image::define_builtin(context, module, PAUSE, &text)
}
