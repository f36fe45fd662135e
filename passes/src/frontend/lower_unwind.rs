//! Turns invokes into calls and removes landing pads; what may panic loses `nounwind`.
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
//! define void @f() {
//!   call void @g()
//!   ret void
//! }
//! ```
//!
//! A panic on a device ends the work-item without running destructors, so nothing ever arrives at a
//! landing pad. A function that catches a panic, rustc's `__rust_try`, would never do so: it loses
//! its body, so that the device check refuses it where a kernel reaches it. Every other function is
//! marked `nounwind` first; LLVM's `simplifycfg` then turns each invoke into a call and removes the
//! pads as unreachable blocks.
//!
//! **Stores before a panic.** The host looks at memory when a launch has panicked, and finds all
//! that the work-item stored before. To LLVM that is what unwinding means: the caller sees what
//! memory is. A call that does not return and is `nounwind` ends the program, and stores in front
//! of it to memory that it cannot read (`noalias`) are dead:
//! ```llvm
//!   store i32 9, ptr %o                          ; gone, if the panic were `nounwind`
//!   br i1 %inside, label %next, label %panic
//! next:
//!   store i32 %element, ptr %o
//! ```
//! So after this pass ([`infer`]) the functions that may reach a panic, and the calls of them, are
//! not `nounwind`, and all others are. It stays so until a target has optimised; what a panic does
//! there, nobody needs to know before.

use inkwell::module::Module;
use inkwell::values::AsValueRef;
use llvm_sys::core::*;
use llvm_sys::prelude::*;

use crate::frontend::mark_convergent::{Reaching, is_call};
use crate::ir;
use crate::spec::builtins;

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
            if is_call(instruction) {
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
    // SAFETY: the module is live and held by the caller.
    unsafe { infer(module.as_mut_ptr()) };
    Ok(())
}

/// Marks the functions that can reach no panic as `nounwind`, and takes that from all others and from the calls of them.
///
/// # Safety
/// `module` is a live module without invokes that nobody else changes during the call.
pub unsafe fn infer(module: LLVMModuleRef) {
    let functions = ir::functions(module);
    let panics: Vec<LLVMValueRef> =
        functions.iter().copied().filter(|&function| is_panic(function)).collect();
    let reaching = Reaching::of(module, &panics);
    for function in functions {
        if reaching.functions.contains(&function) {
            ir::remove_function_attribute(function, "nounwind");
        } else {
            let place = llvm_sys::LLVMAttributeFunctionIndex;
            ir::add_attribute_at(function, place, "nounwind", 0);
        }
        for call in ir::instructions(function).into_iter().filter(|&one| is_call(one)) {
            if reaching.has(call) {
                ir::remove_call_attribute(call, "nounwind");
            }
        }
    }
}

/// Marks every function as `nounwind`: what targets do when nothing is optimised any more, for none has tables for unwinding.
///
/// # Safety
/// `module` is a live module that nobody else changes during the call.
pub unsafe fn forget(module: LLVMModuleRef) {
    for function in ir::functions(module) {
        ir::add_attribute_at(function, llvm_sys::LLVMAttributeFunctionIndex, "nounwind", 0);
    }
}

/// Whether a function is one that panics, or may be: it has no body yet, and is none that is known to return.
fn is_panic(function: LLVMValueRef) -> bool {
    // SAFETY: the function is live.
    if unsafe { LLVMIsDeclaration(function) } == 0 {
        return false;
    }
    let name = ir::name_of(function);
    let returns = name.starts_with("llvm.")
        || (builtins::is_builtin(&name) && !builtins::is_panic(&name))
        || builtins::is_library_function(&name);
    !returns
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
