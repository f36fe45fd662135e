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
//! The same code runs over both halves: over the device module as a pass ([`run`]), and over each
//! of the host's modules ([`fold_in`]), where it touches only the functions that read a constant,
//! so that all other host code stays what plain rustc makes.

use std::collections::BTreeSet;

use inkwell::module::Module;
use llvm_sys::core::*;
use llvm_sys::prelude::*;
use llvm_sys::{LLVMOpcode, LLVMTypeKind};

use crate::ir;

/// Runs the pass over a device module: `globals` are symbols of IR constants and their values,
/// `functions` symbols of functions that only return an IR constant.
///
/// # Errors
/// LLVM's message, if its pass manager fails.
pub fn run(
    module: &Module<'_>,
    globals: &[(String, u64)],
    functions: &[(String, u64)],
) -> Result<(), String> {
    // SAFETY: the module is live and held by the caller.
    unsafe { fold_in(module.as_mut_ptr(), globals, functions) }
}

/// Replaces every read of the given IR constants in a module, and folds the branches on them in
/// the functions that read one.
///
/// # Errors
/// LLVM's message, if its pass manager fails.
///
/// # Safety
/// `module` is a live module that nobody else changes during the call.
pub unsafe fn fold_in(
    module: LLVMModuleRef,
    globals: &[(String, u64)],
    functions: &[(String, u64)],
) -> Result<(), String> {
    let mut touched = BTreeSet::new();
    for (symbol, value) in globals {
        // SAFETY: the module is live; the name is passed with its length.
        let global =
            unsafe { LLVMGetNamedGlobalWithLength(module, symbol.as_ptr().cast(), symbol.len()) };
        if global.is_null() {
            continue;
        }
        // SAFETY: the global is in the live module.
        unsafe { promote_addresses(global)? };
        for user in ir::users(global) {
            if reads(user) {
                replace(user, *value, &mut touched);
            }
        }
    }
    for (symbol, value) in functions {
        // SAFETY: as above.
        let function =
            unsafe { LLVMGetNamedFunctionWithLength(module, symbol.as_ptr().cast(), symbol.len()) };
        if function.is_null() {
            continue;
        }
        for user in ir::users(function) {
            if ir::callee(user) == Some(function) {
                replace(user, *value, &mut touched);
            }
        }
    }
    for function in touched {
        // `instsimplify` folds comparisons and negations, `simplifycfg` the branches on them.
        // SAFETY: `function` holds an instruction, so it is a definition of the live module.
        unsafe { ir::run_llvm_passes_on(function, "sccp,instsimplify,simplifycfg,dce")? };
    }
    Ok(())
}

/// The compiler may keep the address itself in a variable, where its jump threading has cloned a read. Promotes the variables of
/// such functions to registers, so that the reads have the address.
///
/// # Safety
/// `global` is in a live module that nobody else changes during the call.
unsafe fn promote_addresses(global: LLVMValueRef) -> Result<(), String> {
    let stores = |user: &LLVMValueRef| ir::opcode(*user) == Some(LLVMOpcode::LLVMStore);
    let functions: BTreeSet<_> =
        ir::users(global).into_iter().filter(stores).map(ir::parent_function).collect();
    for function in functions {
        // SAFETY: `function` holds an instruction, so it is a definition of the live module.
        unsafe { ir::run_llvm_passes_on(function, "sroa")? };
    }
    Ok(())
}

/// Whether a user of an IR constant's address reads it: a load, or, in code without optimisation,
/// a call of the library's function for an atomic load.
fn reads(user: LLVMValueRef) -> bool {
    match ir::opcode(user) {
        Some(LLVMOpcode::LLVMLoad) => true,
        // SAFETY: `user` is a call or an invoke in a live module.
        Some(LLVMOpcode::LLVMCall | LLVMOpcode::LLVMInvoke) => unsafe {
            LLVMGetTypeKind(LLVMTypeOf(user)) == LLVMTypeKind::LLVMIntegerTypeKind
        },
        _ => false,
    }
}

fn replace(read: LLVMValueRef, value: u64, touched: &mut BTreeSet<LLVMValueRef>) {
    touched.insert(ir::parent_function(read));
    // SAFETY: `read` is a load, call or invoke of integer type in a live module; it is removed
    // after its last use is gone.
    unsafe {
        LLVMReplaceAllUsesWith(read, LLVMConstInt(LLVMTypeOf(read), value, 0));
        if ir::opcode(read) == Some(LLVMOpcode::LLVMInvoke) {
            ir::replace_invoke_by_branch(read);
        } else {
            LLVMInstructionEraseFromParent(read);
        }
    }
}
