//! A device does not unwind: invokes become calls, landing pads go.
//!
//! Before:
//! ```llvm
//! define void @f() personality ptr @rust_eh_personality {
//!   invoke void @g() to label %next unwind label %cleanup
//! next:
//!   ret void
//! cleanup:
//!   %pad = landingpad { ptr, i32 } cleanup
//!   call void @drop()
//!   resume { ptr, i32 } %pad
//! }
//! ```
//! After:
//! ```llvm
//! define void @f() nounwind {
//!   call void @g()
//!   ret void
//! }
//! ```
//!
//! A panic on a device ends the kernel without running destructors, so nothing ever arrives at a
//! landing pad. A function that catches a panic, rustc's `__rust_try`, would never do so: it loses its body,
//! so that the device check refuses it where a kernel comes to it. Every other function is marked `nounwind` first; LLVM's `simplifycfg` then turns each
//! invoke into a call and removes the pads as unreachable blocks.

use inkwell::module::Module;
use inkwell::values::AsValueRef;
use llvm_sys::LLVMOpcode;
use llvm_sys::core::*;

use crate::ir;

/// rustc's name for the function that runs another and catches its panic.
const CATCH: &str = "__rust_try";

/// Runs the pass over the module.
///
/// # Errors
/// LLVM's message, if its pass manager fails.
pub fn run(module: &Module<'_>) -> Result<(), String> {
    refuse_catching(module);
    for function in module.get_functions() {
        ir::add_attribute(function, "nounwind", 0);
        for instruction in ir::instructions(function.as_value_ref()) {
            if matches!(
                ir::opcode(instruction),
                Some(LLVMOpcode::LLVMInvoke | LLVMOpcode::LLVMCall)
            ) {
                ir::add_call_attribute(instruction, "nounwind");
            }
        }
    }
    ir::run_llvm_passes(module, "function(simplifycfg)")?;
    for function in module.get_functions() {
        // SAFETY: the function is live; a null personality removes it.
        unsafe {
            if LLVMHasPersonalityFn(function.as_value_ref()) != 0 {
                LLVMSetPersonalityFn(function.as_value_ref(), std::ptr::null_mut());
            }
        }
    }
    Ok(())
}

/// Makes a declaration of the function that rustc makes to catch panics.
fn refuse_catching(module: &Module<'_>) {
    let Some(function) = module.get_function(CATCH) else { return };
    if function.count_basic_blocks() == 0 {
        return;
    }
    let declaration = module.add_function("", function.get_type(), None);
    // SAFETY: both functions are live and of one type; the old one goes after its last use.
    unsafe {
        LLVMReplaceAllUsesWith(function.as_value_ref(), declaration.as_value_ref());
        LLVMDeleteFunction(function.as_value_ref());
        let name = CATCH.as_bytes();
        LLVMSetValueName2(declaration.as_value_ref(), name.as_ptr().cast(), name.len());
    }
}
