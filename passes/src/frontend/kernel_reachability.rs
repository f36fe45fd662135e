//! Removes what no kernel reaches through calls or constants.
//!
//! Before:
//! ```llvm
//! @table = constant [1 x ptr] [ptr @a]
//! define void @kernel() { ... load ptr, ptr @table ... }
//! define void @a() { ... }
//! define void @b() { ... }
//! ```
//! After:
//! ```llvm
//! @table = internal constant [1 x ptr] [ptr @a]
//! define void @kernel() { ... load ptr, ptr @table ... }
//! define internal void @a() { ... }
//! ```
//!
//! The graph is over uses of objects, not over calls: `@a` is reached because `@table` holds its
//! address and `@kernel` uses `@table`. Everything but the kernels becomes internal, and LLVM's
//! `globaldce` walks that graph, cycles among constants included.

use std::collections::HashSet;

use inkwell::module::{Linkage, Module};
use schism_llvm::{AsModule, IntoValue, Value, Visibility};

use crate::ir::graph::reached;
use crate::llvm_passes;

/// Runs the pass; `kernels` are the names of the kernel functions.
///
/// # Errors
/// LLVM's message, if its pass manager fails.
pub fn run(module: &Module<'_>, kernels: &HashSet<&str>) -> Result<(), String> {
    for function in module.get_functions() {
        if function.count_basic_blocks() == 0 {
            continue;
        }
        if kernels.contains(function.value().name().as_str()) {
            function.set_linkage(Linkage::External);
        } else {
            function.set_linkage(Linkage::Internal);
        }
        function.value().set_visibility(Visibility::Default);
        function.value().remove_comdat();
    }
    let mut lists = Vec::new();
    for global in module.get_globals() {
        let value = global.value();
        let name = value.name();
        if name == "llvm.used" || name == "llvm.compiler.used" || name.starts_with("llvm.global") {
            // What the host's linker must keep says nothing about what a kernel reaches.
            lists.push(value);
        } else if !value.is_declaration()
            && !value.is_externally_initialized()
            && value.linkage() != schism_llvm::Linkage::AvailableExternally
        {
            // A specialization constant keeps its name for stage 2, and so does what is the host's.
            value.set_linkage(Linkage::Internal);
            value.set_visibility(Visibility::Default);
            value.remove_comdat();
            value.set_section(c"");
        }
    }
    for list in lists {
        list.delete_global();
    }
    module.handle().run_passes(llvm_passes::GLOBAL_DCE)
}

/// The functions from which a function can be reached, itself included, over uses: calls, and
/// addresses that are taken.
pub(crate) fn functions_reaching(function: Value<'_>) -> HashSet<Value<'_>> {
    reached([function], |value| {
        let users = value.users().into_iter();
        users.map(|user| if user.opcode().is_some() { user.parent_function() } else { user })
    })
}
