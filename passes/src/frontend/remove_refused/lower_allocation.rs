//! Lets kernels that work in the program's own memory allocate.
//!
//! Before:
//! ```llvm
//!   call void @_RNv..._7___rustc35___rust_no_alloc_shim_is_unstable_v2()
//!   %block = call ptr @_RNv..._7___rustc12___rust_alloc(i64 24, i64 8)
//! ```
//! After:
//! ```llvm
//!   %block = call ptr @__schism_host_alloc(i64 24, i64 8)
//! ```
//!
//! On the host the functions behind the new names are the process's that loads the kernel; on a GPU they take blocks of a
//! heap that the host knows. So either may free the other's blocks, or leave them to it. Nothing else is
//! changed: attributes say what such functions do, whatever their names.
//!
//! This happens only where all kernels that reach the allocator may use it. It is tried twice. Where it
//! applies before inlining, the module stays as it is; where only inlining shows that a kernel does not
//! allocate, it applies afterwards.

use std::collections::HashSet;

use inkwell::module::Module;
use schism_llvm::{AsModule, Value};

use crate::frontend::kernel_reachability;
use crate::spec::builtins::{HOST_HEAP, OFFSET_SUFFIX};
use crate::spec::device::DeviceSpec;

/// What the names of the allocator's functions end with, and the builtins that take their place.
const FUNCTIONS: [(&str, &str); 4] = [
    ("___rust_alloc", HOST_HEAP[0]),
    ("___rust_alloc_zeroed", HOST_HEAP[1]),
    ("___rust_dealloc", HOST_HEAP[2]),
    ("___rust_realloc", HOST_HEAP[3]),
];

/// A function that does nothing: it makes sure that a program has an allocator.
const SHIM: &str = "___rust_no_alloc_shim_is_unstable_v2";

/// Lowers the calls of the allocator.
pub(super) fn lower(module: &Module<'_>, spec: &DeviceSpec) {
    if spec.host_heap.is_empty() {
        return;
    }
    let functions: Vec<Value<'_>> = module
        .handle()
        .functions()
        .into_iter()
        .filter(|function| function.is_declaration())
        .filter(|function| {
            let name = function.name();
            name.ends_with(SHIM) || builtin(&name).is_some()
        })
        .collect();
    let reaching: HashSet<String> = functions
        .iter()
        .flat_map(|&function| kernel_reachability::functions_reaching(function))
        .map(Value::name)
        .collect();
    let may = |name: &String| spec.host_heap.contains(name);
    let reaches = |name: &String| {
        reaching.contains(name) || reaching.contains(&format!("{name}{OFFSET_SUFFIX}"))
    };
    let mut roots = spec.kernels.iter().map(|kernel| &kernel.name).chain(&spec.exports);
    if roots.any(|name| reaches(name) && !may(name)) {
        return;
    }
    for function in functions {
        match builtin(&function.name()) {
            Some(builtin) => {
                function.set_name(builtin);
                function.add_function_attribute("nounwind", 0);
            }
            None => remove_calls(function),
        }
    }
}

fn builtin(name: &str) -> Option<&'static str> {
    FUNCTIONS.iter().find(|(end, _)| name.ends_with(end)).map(|(_, builtin)| *builtin)
}

fn remove_calls(function: Value<'_>) {
    for user in function.users() {
        if user.callee() == Some(function) {
            user.erase();
        }
    }
}
