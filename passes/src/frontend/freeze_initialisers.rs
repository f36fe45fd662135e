//! Keeps initialisers of mutable statics from being folded.
//!
//! Before:
//! ```llvm
//! @counter = internal global i64 5
//! ```
//! After:
//! ```llvm
//! @counter = global i64 5
//! ```
//!
//! A static with external linkage may have any value when a kernel reads it, and a store to it is
//! seen outside of the module. So both are still there when
//! [`device_check`](crate::check::device_check) refuses the static. [`release`] undoes it.

use inkwell::module::Module;
use schism_llvm::{AsModule, IntoValue, Linkage};

use crate::analysis::statics::{is_mutable, is_thread_local};
use crate::llvm_passes;

/// Runs the pass over a module.
pub fn run(module: &Module<'_>) {
    for global in module.get_globals() {
        let value = global.value();
        if (is_mutable(value) || is_thread_local(value)) && !value.is_declaration() {
            value.set_linkage(Linkage::External);
        }
    }
}

/// Gives the statics internal linkage again, and removes those that nothing uses.
///
/// # Errors
/// LLVM's message, if its pass manager fails.
pub fn release(module: &Module<'_>) -> Result<(), String> {
    let mut any = false;
    for global in module.get_globals() {
        let value = global.value();
        if is_mutable(value) || is_thread_local(value) {
            any = true;
            if !value.is_declaration() {
                value.set_linkage(Linkage::Internal);
            }
        }
    }
    if any { module.handle().run_passes(llvm_passes::GLOBAL_DCE) } else { Ok(()) }
}
