//! Turns invokes into calls and removes landing pads, except where the program would notice; what may
//! panic loses `nounwind`.
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
//! A panic on a GPU ends the work-item without running destructors, so nothing ever arrives at a
//! landing pad. On the CPU kernels unwind where the program would notice if they did not: where the
//! cleanup of a kernel, or of what it calls, may change what is not a local variable
//! (`analysis::cleanup`). In what such kernels reach, functions whose own cleanup
//! changes anything but their locals keep it ([`run_for`]); exceptions pass all others. Stage 2
//! decides again, for the one kernel that it compiles, and for other targets than the CPU it removes
//! the rest ([`run`]).
//!
//! A function that catches a panic, rustc's `__rust_try`, loses
//! its body, so that the device check refuses it where a kernel reaches it. In every function that keeps
//! nothing, calls are marked `nounwind` first; LLVM's `simplifycfg` then turns each invoke into a call and
//! removes the pads as unreachable blocks.
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
//! there is not needed before.

use std::collections::HashSet;

use inkwell::module::Module;
use schism_llvm::{AsModule, FUNCTION_INDEX, ModuleRef, Value};

use crate::analysis::cleanup::{Cleanup, has_pads};
use crate::check::capabilities::reached_from;
use crate::frontend::prepare_module::mark_convergent::{Reaching, is_call};
use crate::llvm_passes;
use crate::spec::builtins;
use crate::spec::device::DeviceSpec;

/// rustc's name for the function that runs another and catches its panic.
const CATCH: &str = "__rust_try";

/// Runs the pass over the module, for its kernels and exported functions. Pipelines of rayon unwind
/// by an image of their own.
///
/// # Errors
/// LLVM's message, if its pass manager fails.
pub fn run_for_kernels(module: &Module<'_>, spec: &DeviceSpec) -> Result<(), String> {
    let module = module.handle();
    refuse_catching(module);
    let explicit = spec.kernels.iter().filter(|it| !spec.host_memory.contains(&it.name));
    let names = explicit.map(|kernel| &kernel.entry).chain(&spec.exports);
    let roots: Vec<Value<'_>> = names.filter_map(|name| module.function(name)).collect();
    run_for(module, &roots)
}

/// Keeps the cleanup that is noticed of what some functions reach, and removes all other.
///
/// # Errors
/// LLVM's message, if its pass manager fails.
pub fn run_for(module: ModuleRef<'_>, roots: &[Value<'_>]) -> Result<(), String> {
    let cleanup = Cleanup::of(&reached_from(roots));
    let noticed: Vec<Value<'_>> =
        roots.iter().copied().filter(|&root| cleanup.is_noticed(root)).collect();
    let mut keeping: HashSet<Value<'_>> = reached_from(&noticed).into_iter().collect();
    keeping.retain(|&function| cleanup.is_changing(function));
    run_except(module, &keeping)
}

/// Removes all cleanup.
///
/// # Errors
/// LLVM's message, if its pass manager fails.
pub fn run(module: ModuleRef<'_>) -> Result<(), String> {
    refuse_catching(module);
    run_except(module, &HashSet::new())?;
    // What ends the process while something unwinds. None is left, unless a panic is one by itself.
    if let Some(abort) = module.function(builtins::ABORT) {
        let panic = module
            .function(builtins::PANIC)
            .unwrap_or_else(|| module.add_function(builtins::PANIC, abort.value_type()));
        for attribute in ["noreturn", "cold"] {
            panic.add_function_attribute(attribute, 0);
        }
        abort.replace_uses(panic);
        abort.delete_function();
        infer(module);
    }
    Ok(())
}

/// Removes the cleanup of all functions but some.
///
/// # Errors
/// LLVM's message, if its pass manager fails.
pub(crate) fn run_except(
    module: ModuleRef<'_>,
    keeping: &HashSet<Value<'_>>,
) -> Result<(), String> {
    for function in module.functions() {
        if keeping.is_empty() {
            function.add_function_attribute("nounwind", 0);
        }
        if keeping.contains(&function) {
            continue;
        }
        for instruction in function.instructions() {
            if is_call(instruction) {
                instruction.add_call_attribute("nounwind");
            }
        }
    }
    module.run_passes(llvm_passes::SIMPLIFY_UNWINDING)?;
    infer(module);
    if !keeping.is_empty() {
        // Calls that are known not to unwind now.
        module.run_passes(llvm_passes::SIMPLIFY_UNWINDING)?;
    }
    remove_personalities(module);
    Ok(())
}

/// Removes all cleanup of a module if the program does not notice that of a kernel, and says whether
/// some is left. Nothing else is changed.
///
/// # Errors
/// LLVM's message, if its pass manager fails.
pub fn still_unwinds(module: ModuleRef<'_>, kernel: Value<'_>) -> Result<bool, String> {
    if !unwinds(module) {
        return Ok(false);
    }
    if Cleanup::of(&reached_from(&[kernel])).is_noticed(kernel) {
        return Ok(true);
    }
    module.run_passes(llvm_passes::LOWER_INVOKE)?;
    remove_personalities(module);
    Ok(false)
}

fn remove_personalities(module: ModuleRef<'_>) {
    for function in module.functions() {
        if function.has_personality() && !has_pads(function) {
            function.remove_personality();
        }
    }
}

/// Whether a function of a module unwinds: what panics passes its landing pads.
pub fn unwinds(module: ModuleRef<'_>) -> bool {
    module.functions().into_iter().any(has_pads)
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
fn refuse_catching(module: ModuleRef<'_>) {
    let Some(function) = module.function(CATCH) else { return };
    if function.is_declaration() {
        return;
    }
    let declaration = module.add_function("", function.value_type());
    function.replace_uses(declaration);
    function.delete_function();
    declaration.set_name(CATCH);
}
