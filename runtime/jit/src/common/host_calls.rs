//! Calls of the program's own functions.

use schism_llvm::Value;
use schism_passes::spec::builtins::is_library_function;

use super::image::builtins;

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
