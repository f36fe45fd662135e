//! Removes what the [device check](crate::check::device_check) would refuse and no kernel needs: calls of an
//! allocator that the program shares (`lower_allocation.rs`), landing pads whose cleanup no device has
//! (`cleanup.rs`), and what is dead once the module is inlined.
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
//! A module that the check takes as it is stays as it is: stage 2 does best with code that nothing
//! has shaped before ([`simplify`]).

mod cleanup;
mod lower_allocation;

use std::collections::HashSet;

use inkwell::module::Module;

use crate::check::device_check;
use crate::frontend::simplify;
use crate::spec::device::DeviceSpec;

/// Runs the pass over the module. `roots` are the names of kernels and exported functions.
///
/// # Errors
/// LLVM's message, if its pass manager fails.
pub fn run(module: &Module<'_>, spec: &DeviceSpec, roots: &HashSet<&str>) -> Result<(), String> {
    lower_allocation::lower(module, spec);
    cleanup::remove(module, spec, roots)?;
    if device_check::run(module, &spec.imports).is_empty() {
        return Ok(());
    }
    simplify::inline(module)?;
    lower_allocation::lower(module, spec);
    Ok(())
}
