//! Lets kernels that work in the program's own memory use the program's allocator.
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
//! The functions behind the new names are the process's that loads the kernel, so host and kernel
//! may free each other's blocks. Nothing else is changed: attributes say what such functions do,
//! whatever their names. A device with memory of its own has no such functions
//! ([`capabilities`](crate::check::capabilities)).
//!
//! This happens only where all kernels of a module are of that kind: then nobody has asked for a
//! kernel in particular, and it stays with the host where no device can have it. It stands after
//! dead code is gone, so that no kernel is kept from a device for a block that it never allocates.

use inkwell::module::Module;
use schism_llvm::{AsModule, Value};

use crate::spec::builtins::HOST_HEAP;
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

/// Runs the pass over the module.
pub fn run(module: &Module<'_>, spec: &DeviceSpec) {
    let of_host = spec.kernels.iter().all(|kernel| spec.host_memory.contains(&kernel.name));
    if !of_host || !spec.exports.is_empty() {
        return;
    }
    for function in module.handle().functions() {
        if !function.is_declaration() {
            continue;
        }
        let name = function.name();
        if name.ends_with(SHIM) {
            remove_calls(function);
        }
        if let Some((_, builtin)) = FUNCTIONS.iter().find(|(end, _)| name.ends_with(end)) {
            function.set_name(builtin);
            function.add_function_attribute("nounwind", 0);
        }
    }
}

fn remove_calls(function: Value<'_>) {
    for user in function.users() {
        if user.callee() == Some(function) {
            user.erase();
        }
    }
}
