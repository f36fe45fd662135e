//! Removes the landing pads of functions whose cleanup reaches what no device has.
//!
//! Before:
//! ```llvm
//!   invoke void @work() to label %next unwind label %cleanup
//! ...
//! cleanup:
//!   %pad = landingpad { ptr, i32 } cleanup
//!   call void @log()                                  ; writes to a file
//!   resume { ptr, i32 } %pad
//! ```
//! After:
//! ```llvm
//!   call void @work()
//! ```
//!
//! Kernels unwind on the CPU alone. So what only their cleanup reaches refuses no kernel: a panic
//! passes such a function, as it does on a GPU.

use std::collections::HashSet;

use inkwell::module::Module;
use schism_llvm::{AsModule, Value};

use crate::analysis::cleanup::{has_pads, in_cleanup};
use crate::analysis::uses::name_of_original;
use crate::check::capabilities::reached_while;
use crate::check::device_check;
use crate::frontend::{kernel_reachability, lower_unwind};
use crate::spec::device::DeviceSpec;

/// Removes the landing pads of a module. `roots` are the names of kernels and exported functions.
///
/// # Errors
/// LLVM's message, if its pass manager fails.
pub(super) fn remove(
    module: &Module<'_>,
    spec: &DeviceSpec,
    roots: &HashSet<&str>,
) -> Result<(), String> {
    let functions = module.handle().functions();
    let mut keeping: HashSet<Value<'_>> =
        functions.iter().copied().filter(|&function| has_pads(function)).collect();
    if keeping.is_empty() {
        return Ok(());
    }
    let violations = device_check::run(module, &spec.imports);
    let refused: HashSet<String> = violations
        .into_iter()
        .flat_map(|violation| violation.uses)
        .map(|one| one.function)
        .collect();
    if refused.is_empty() {
        return Ok(());
    }
    let before = keeping.len();
    keeping.retain(|&function| {
        let reached = reached_while(&[function], |one| reaching(one, function));
        !reached.into_iter().any(|one| refused.contains(&name_of_original(one)))
    });
    if keeping.len() == before {
        return Ok(());
    }
    lower_unwind::run_except(module.handle(), &keeping)?;
    kernel_reachability::run(module, roots)
}

/// The instructions by which the cleanup of `unwinding` reaches others: in that function itself, those of its cleanup alone.
fn reaching<'m>(function: Value<'m>, unwinding: Value<'m>) -> Vec<Value<'m>> {
    let mut all = function.instructions();
    if function == unwinding {
        let inside = in_cleanup(function);
        all.retain(|instruction| inside.contains(instruction));
    }
    all
}
