//! Promotes locals to registers and removes dead code.
//!
//! Before:
//! ```llvm
//! define void @kernel(ptr %0) {
//!   %closure = alloca [8 x i8]
//!   store ptr %0, ptr %closure
//!   %copy = load ptr, ptr %closure
//!   call void @work(ptr %copy)
//!   ret void
//! }
//! ```
//! After:
//! ```llvm
//! define void @kernel(ptr %0) {
//!   call void @work(ptr %0)
//!   ret void
//! }
//! ```
//!
//! Promotes locals to registers and removes what is dead, so that what is left is what a device
//! would run ([`run`]). Nothing here shapes code: functions stay functions, loops stay as rustc
//! wrote them, and no pass looks for a better form of an expression. Stage 2 runs a full pipeline
//! that knows its target, and it does best on code that was not optimised before: with inlining at
//! this point already, the blur of the example `image_filter` became 1.5 times slower on the CPU.
//!
//! Some code is only seen to be dead once it has been inlined.
//! [`remove_refused`](crate::frontend::remove_refused) is for modules that would be refused without
//! it.

use inkwell::module::Module;
use schism_llvm::AsModule;

use crate::llvm_passes;

/// Runs the pass over the module.
///
/// # Errors
/// LLVM's message, if its pass manager fails.
pub fn run(module: &Module<'_>) -> Result<(), String> {
    clean(module, llvm_passes::SIMPLIFY_LOCALS)
}

/// Runs the pass over the module, after inlining: shows what is dead.
pub(crate) fn inline(module: &Module<'_>) -> Result<(), String> {
    clean(module, llvm_passes::SIMPLIFY_INLINE)
}

/// Promotes locals to registers in functions as they are.
pub(crate) fn promote(module: &Module<'_>) -> Result<(), String> {
    module.handle().run_passes(llvm_passes::SIMPLIFY_NESTED_LOCALS)
}

fn clean(module: &Module<'_>, first: &str) -> Result<(), String> {
    module.handle().run_passes(first)?;
    module.handle().run_passes(llvm_passes::SIMPLIFY_REMOVE)
}
