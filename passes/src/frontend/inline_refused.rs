//! Inlines modules that the device check would refuse, to show what is dead.
//!
//! Before:
//! ```llvm
//! define void @kernel() {
//!   call void @work(i1 false)
//!   ret void
//! }
//! define internal void @work(i1 %log) {
//!   br i1 %log, label %write, label %done
//! write:
//!   call void @write()                                ; no device has this function
//! ...
//! ```
//! After:
//! ```llvm
//! define void @kernel() {
//!   ret void
//! }
//! ```
//!
//! A module that the check takes as it is stays as it is: stage 2 does best with code that was
//! not optimised before ([`simplify`]).

use inkwell::module::Module;

use crate::check::device_check;
use crate::frontend::simplify;

/// Runs the pass over the module, after inlining, if the device check would refuse it as it is.
/// `imports` are the functions without a body that it takes.
///
/// # Errors
/// LLVM's message, if its pass manager fails.
pub fn run(module: &Module<'_>, imports: &[String]) -> Result<(), String> {
    if device_check::run(module, imports).is_empty() {
        return Ok(());
    }
    simplify::inline(module)
}
