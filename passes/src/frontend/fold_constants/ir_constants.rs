//! Replaces IR constants by their values and folds the branches on them.
//!
//! Before:
//! ```llvm
//! @__schism_is_device = external global i8
//!   %v = load i8, ptr @__schism_is_device
//!   %d = icmp ne i8 %v, 0
//!   br i1 %d, label %device, label %host
//! ```
//! After, in a device module:
//! ```llvm
//!   br label %device
//! ```
//!
//! The same code runs over both halves: over the device module, and over each of the host's
//! modules, where it touches only the functions that read a constant,
//! so that all other host code stays what plain rustc makes.

use std::collections::BTreeSet;

use schism_llvm::{ModuleRef, Opcode, TypeKind, Value};

use crate::llvm_passes;

/// Replaces every read of the given IR constants in a module (`globals` are their symbols and values,
/// `functions` symbols of functions that only return an IR constant), and folds the branches on them in
/// the functions that read one.
///
/// # Errors
/// LLVM's message, if its pass manager fails.
pub fn fold_in(
    module: ModuleRef<'_>,
    globals: &[(String, u64)],
    functions: &[(String, u64)],
) -> Result<(), String> {
    let mut touched = BTreeSet::new();
    for (symbol, value) in globals {
        let Some(global) = module.global(symbol) else { continue };
        promote_addresses(global)?;
        for user in global.users() {
            if reads(user) {
                replace(user, *value, &mut touched);
            }
        }
    }
    for (symbol, value) in functions {
        let Some(function) = module.function(symbol) else { continue };
        for user in function.users() {
            if user.callee() == Some(function) {
                replace(user, *value, &mut touched);
            }
        }
    }
    for function in touched {
        function.run_passes(llvm_passes::FOLD_CONSTANTS)?;
    }
    Ok(())
}

/// The compiler may keep the address itself in a variable, where its jump threading has cloned a
/// read. Promotes the variables of such functions to registers, so that the reads have the address.
fn promote_addresses(global: Value<'_>) -> Result<(), String> {
    let stores = |user: &Value<'_>| user.opcode() == Some(Opcode::Store);
    let functions: BTreeSet<_> =
        global.users().into_iter().filter(stores).map(Value::parent_function).collect();
    for function in functions {
        function.run_passes(llvm_passes::PROMOTE)?;
    }
    Ok(())
}

/// Whether a user of an IR constant's address reads it: a load, or, in code without optimisation,
/// a call of the library's function for an atomic load.
fn reads(user: Value<'_>) -> bool {
    match user.opcode() {
        Some(Opcode::Load) => true,
        Some(Opcode::Call | Opcode::Invoke) => user.ty().kind() == TypeKind::Integer,
        _ => false,
    }
}

fn replace<'m>(read: Value<'m>, value: u64, touched: &mut BTreeSet<Value<'m>>) {
    // Nothing else can be the constant's number.
    if read.ty().kind() != TypeKind::Integer {
        return;
    }
    touched.insert(read.parent_function());
    read.replace_uses(read.ty().const_int(value, false));
    if read.opcode() == Some(Opcode::Invoke) {
        read.replace_invoke_by_branch();
    } else {
        read.erase();
    }
}
