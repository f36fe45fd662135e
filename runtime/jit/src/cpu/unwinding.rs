//! Kernels that unwind, as the host's functions do: those in the program's process, and others whose
//! cleanup the program would notice.

use crate::common::module::Module;

/// `uwtable(async)`, as a number: a table that is right at each instruction.
const ASYNCHRONOUS: u64 = 2;

/// Has the code generator write a table for each function: a panic may pass through any of them, and
/// a backtrace goes through all.
pub fn add_tables(module: &Module<'_>) {
    for function in module.functions().into_iter().filter(|function| !function.is_declaration()) {
        function.add_function_attribute("uwtable", ASYNCHRONOUS);
    }
}
