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
//! landing pad. Every function is marked `nounwind` first; LLVM's `simplifycfg` then turns each
//! invoke into a call and removes the pads as unreachable blocks.

use inkwell::module::Module;
use inkwell::values::AsValueRef;
use llvm_sys::LLVMOpcode;
use llvm_sys::core::*;

use crate::ir;

/// Runs the pass over the module.
///
/// # Errors
/// LLVM's message, if its pass manager fails.
pub fn run(module: &Module<'_>) -> Result<(), String> {
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
