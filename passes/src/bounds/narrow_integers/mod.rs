//! Computes in 32 bits what fits into 32. Runs in stage 2 after optimisation, for GPUs: `division.rs`
//! for trip counts, and then `checks.rs` for comparisons, indices, minima and maxima.
//!
//! Before:
//! ```llvm
//!   %len = zext nneg i32 %len.32 to i64
//!   %last = add nsw i64 %len, -1
//!   %is.last = icmp eq i64 %last, %x                      ; %x = zext nneg i32 %x.32 to i64
//! ```
//! After:
//! ```llvm
//!   %last.32 = add i32 %len.32, -1
//!   %is.last = icmp eq i32 %last.32, %x.32
//! ```

mod checks;
mod division;
mod halves;

use inkwell::module::Module;
use schism_llvm::AsModule;

/// Runs the pass over a module.
pub fn run(module: &Module<'_>) {
    module.handle().functions().into_iter().for_each(division::narrow);
    checks::narrow(module.handle());
}
