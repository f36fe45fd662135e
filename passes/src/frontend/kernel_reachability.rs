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
//! The CFG is over uses of objects, not over calls: `@a` is reached because `@table` holds its
//! address and `@kernel` uses `@table`. Everything but the kernels becomes internal, and LLVM's
//! `globaldce` walks that graph, cycles among constants included.

use std::collections::HashSet;

use inkwell::module::{Linkage, Module};
use inkwell::values::AsValueRef;
use llvm_sys::comdat::LLVMSetComdat;
use llvm_sys::core::*;
use llvm_sys::prelude::*;

use crate::ir;

/// Runs the pass; `kernels` are the names of the kernel functions.
///
/// # Errors
/// LLVM's message, if its pass manager fails.
pub fn run(module: &Module<'_>, kernels: &HashSet<&str>) -> Result<(), String> {
    for function in module.get_functions() {
        if function.count_basic_blocks() == 0 {
            continue;
        }
        if kernels.contains(ir::name_of(function.as_value_ref()).as_str()) {
            function.set_linkage(Linkage::External);
        } else {
            function.set_linkage(Linkage::Internal);
        }
        // SAFETY: the function is live. An internal symbol has default visibility by definition.
        unsafe {
            LLVMSetVisibility(
                function.as_value_ref(),
                llvm_sys::LLVMVisibility::LLVMDefaultVisibility,
            );
            LLVMSetComdat(function.as_value_ref(), std::ptr::null_mut());
        }
    }
    let mut lists = Vec::new();
    for global in module.get_globals() {
        let value = global.as_value_ref();
        // SAFETY: the global is live.
        unsafe {
            let name = ir::name_of(value);
            if name == "llvm.used"
                || name == "llvm.compiler.used"
                || name.starts_with("llvm.global")
            {
                // What the host's linker must keep says nothing about what a kernel reaches.
                lists.push(value);
            } else if LLVMIsDeclaration(value) == 0 && LLVMIsExternallyInitialized(value) == 0 {
                // A specialization constant keeps its name for stage 2.
                LLVMSetLinkage(value, llvm_sys::LLVMLinkage::LLVMInternalLinkage);
                LLVMSetVisibility(value, llvm_sys::LLVMVisibility::LLVMDefaultVisibility);
                LLVMSetComdat(value, std::ptr::null_mut());
                LLVMSetSection(value, c"".as_ptr());
            }
        }
    }
    for list in lists {
        // SAFETY: nothing uses these lists by name; they were collected before the removal.
        unsafe { LLVMDeleteGlobal(list) };
    }
    ir::run_llvm_passes(module, "globaldce")
}

/// The functions from which a function can be reached, itself included, over uses: calls, and addresses that
/// are taken.
pub(crate) fn functions_reaching(function: LLVMValueRef) -> HashSet<LLVMValueRef> {
    let mut seen = HashSet::new();
    let mut stack = vec![function];
    while let Some(value) = stack.pop() {
        if !seen.insert(value) {
            continue;
        }
        for user in ir::users(value) {
            let in_function = ir::opcode(user).is_some();
            stack.push(if in_function { ir::parent_function(user) } else { user });
        }
    }
    seen
}
