//! Kernels that unwind, as the host's functions do: those in the program's process, and others whose
//! cleanup the program would notice.

use crate::image::builtins;
use crate::module::Module;
use schism_llvm::Value;
use schism_passes::spec::builtins::is_library_function;

/// `uwtable(async)`, as a number: a table that is right at each instruction.
const ASYNCHRONOUS: u64 = 2;

/// Has the code generator write a table for each function: a panic may pass through any of them, and
/// a backtrace goes through all.
pub fn add_tables(module: &Module<'_>) {
    for function in module.functions().into_iter().filter(|function| !function.is_declaration()) {
        function.add_function_attribute("uwtable", ASYNCHRONOUS);
    }
}

/// Whether a function is one of the program's that does not return: it unwinds, or ends the process.
pub fn is_panic(function: Value<'_>) -> bool {
    function.has_function_attribute("noreturn") && is_of_host(function)
}

/// Whether a function without a body is the program's own, or anything that it links: it may do
/// whatever a program does.
pub fn is_of_host(function: Value<'_>) -> bool {
    let name = function.name();
    function.is_declaration()
        && !function.is_intrinsic()
        && !is_library_function(&name)
        && !builtins().any(|builtin| builtin == name)
        && !name.starts_with("__schism_")
}
