//! Undoes what earlier passes kept for the [device check](crate::check::device_check), once it has passed:
//! statics have internal linkage again (`freeze_initialisers.rs`), and debug information goes, unless
//! source lines are asked for. Kernels may use copies of small values that they refer to (`copy_markers.rs`).
//!
//! Before:
//! ```llvm
//! @unused = global i64 5
//! define void @kernel() !dbg !3 {
//!   %which = call ptr @__schism_copy_of(ptr %own, ptr %original)
//! ```
//! After:
//! ```llvm
//! define void @kernel() {
//! ```

mod copy_markers;

use inkwell::module::Module;

use crate::frontend::freeze_initialisers;
use crate::pass::PassContext;

/// Runs the pass over the module. Reports need the locations of a numbered module.
///
/// # Errors
/// LLVM's message, if its pass manager fails.
pub fn run(module: &Module<'_>, cx: &PassContext<'_>) -> Result<(), String> {
    freeze_initialisers::release(module)?;
    copy_markers::lower(module, &cx.kernels)?;
    if !cx.spec.lines && cx.sites.is_empty() {
        module.strip_debug_info();
    }
    Ok(())
}
