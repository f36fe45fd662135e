//! Makes statics, thread-local variables and assembly functions those of the host.
//!
//! Before:
//! ```llvm
//! @TABLE = constant [2 x i32] [i32 3, i32 5]
//! @COUNT = global i64 0
//! @LOCAL = thread_local global i64 0
//! define void @f() {
//!   %own = call ptr @llvm.threadlocal.address.p0(ptr @LOCAL)
//!   …
//! ```
//! After:
//! ```llvm
//! @TABLE = available_externally constant [2 x i32] [i32 3, i32 5]
//! @COUNT = external global i64
//! declare ptr @schism.thread_local.LOCAL() #0
//! define void @f() {
//!   %own = call ptr @schism.thread_local.LOCAL()
//!   …
//! ```
//!
//! A kernel that runs in its program's process has the program's own statics: the same address, and
//! the same value. The value of a constant one is still there to be folded. What a kernel has no
//! body of is the host's anyway, such as the standard library's panics and locks, and foreign
//! functions. [`imports`] lists all of it; the host half has a table of these addresses. Code that is
//! generated at run time has no thread-local storage, so the table has a function that
//! returns the address of the running thread's variable.
//!
//! Constants without a name, vtables and functions that are generic or have a body stay the image's:
//! Rust says nothing about their addresses.

use inkwell::module::Module;
use schism_llvm::{AsModule, Builder, Linkage, ModuleRef, Value, Visibility};

use crate::spec::builtins;

/// The prefix of functions that return the address of the thread's own variable.
pub const THREAD_LOCAL: &str = "schism.thread_local.";

/// The name of the intrinsic that every access of a thread-local variable begins with.
const ADDRESS: &str = "llvm.threadlocal.address";

/// Runs the pass over the module.
pub fn run(module: &Module<'_>) {
    let module = module.handle();
    for function in module.functions() {
        if !function.is_declaration() && function.has_function_attribute("naked") {
            declare(module, function);
        }
    }
    for global in module.globals() {
        if global.is_local() || global.name().starts_with("llvm.") {
            continue;
        }
        if global.is_thread_local() {
            call_host(module, global);
        } else if global.is_declaration() {
            // Already the host's.
        } else if global.is_global_constant() {
            global.remove_comdat();
            global.set_section(c"");
            global.set_linkage(Linkage::AvailableExternally);
            global.set_visibility(Visibility::Default);
        } else {
            let declaration = module.add_global(global.value_type(), "");
            replace(global, declaration);
            global.delete_global();
        }
    }
}

/// Turns a function into a declaration.
pub(crate) fn declare(module: ModuleRef<'_>, function: Value<'_>) {
    let declaration = module.add_function("", function.value_type());
    replace(function, declaration);
    function.delete_function();
}

/// Puts a global in the place of another one, and gives it its name.
fn replace<'m>(global: Value<'m>, by: Value<'m>) {
    global.replace_uses(by);
    by.take_name(global);
}

/// Replaces the address of a thread-local variable by a call of the host's function.
fn call_host(module: ModuleRef<'_>, global: Value<'_>) {
    let context = module.context();
    let ty = context.pointer_type(0).function(&[], false);
    let function = module.add_function(&format!("{THREAD_LOCAL}{}", global.name()), ty);
    // The same all the time that a work-item runs: it stays on its thread.
    function.mark_pure();
    for user in global.users() {
        let is_address = user.callee().is_some_and(|callee| callee.name().starts_with(ADDRESS));
        if is_address {
            let own = Builder::before(user).call(ty, function, &[]);
            user.replace_uses(own);
            user.erase();
        }
    }
    if !global.is_used() {
        global.delete_global();
    }
}

/// The symbols that a module needs of the host, sorted.
pub fn imports(module: &Module<'_>) -> Vec<String> {
    let module = module.handle();
    let needed = |object: &Value<'_>| {
        let is_here = !object.is_declaration() && object.linkage() != Linkage::AvailableExternally;
        !is_here && object.is_used()
    };
    let objects = module.functions().into_iter().chain(module.globals());
    let mut names: Vec<String> = objects.filter(needed).map(Value::name).collect();
    names.retain(|name| {
        !name.starts_with("llvm.")
            && !builtins::is_builtin(name)
            && !builtins::is_library_function(name)
    });
    names.sort();
    names.dedup();
    names
}
