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
use schism_llvm::{AsModule, FUNCTION_INDEX, IntoValue, ModuleRef, Value};

use crate::frontend::mark_convergent::{Reaching, is_call};
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
        function.value().add_function_attribute("nounwind", 0);
        for instruction in function.value().instructions() {
            if is_call(instruction) {
                instruction.add_call_attribute("nounwind");
            }
        }
    }
    module.handle().run_passes("function(simplifycfg)")?;
    for function in module.get_functions() {
        if function.value().has_personality() {
            function.value().remove_personality();
        }
    }
    infer(module.handle());
    Ok(())
}

/// Marks the functions that can reach no panic as `nounwind`, and takes that from all others and
/// from the calls of them.
pub fn infer(module: ModuleRef<'_>) {
    let functions = module.functions();
    let panics: Vec<Value<'_>> =
        functions.iter().copied().filter(|&function| is_panic(function)).collect();
    let reaching = Reaching::of(module, &panics);
    for function in functions {
        if reaching.functions.contains(&function) {
            function.remove_function_attribute("nounwind");
        } else {
            let place = FUNCTION_INDEX;
            function.add_attribute_at(place, "nounwind", 0);
        }
        for call in function.instructions().into_iter().filter(|&one| is_call(one)) {
            if reaching.has(call) {
                call.remove_call_attribute("nounwind");
            }
        }
    }
}

/// Marks every function as `nounwind`: what targets do when nothing is optimised any more, for none
/// has tables for unwinding.
pub fn forget(module: ModuleRef<'_>) {
    for function in module.functions() {
        function.add_attribute_at(FUNCTION_INDEX, "nounwind", 0);
    }
}

/// Whether a function is one that panics, or may be: it has no body yet, and is none that is known
/// to return.
fn is_panic(function: Value<'_>) -> bool {
    if !function.is_declaration() {
        return false;
    }
    let name = function.name();
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
    function.value().replace_uses(declaration.value());
    function.value().delete_function();
    declaration.value().set_name(CATCH);
}
