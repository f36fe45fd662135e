//! Replaces formatting functions by descriptions of the types that they format.
//!
//! Before:
//! ```llvm
//!   store ptr @"<u32 as core::fmt::Display>::fmt", ptr %formatter   ; a word of a message's argument, or of a vtable
//! declare i1 @"<u32 as core::fmt::Display>::fmt"(ptr, ptr)
//! ```
//! After:
//! ```llvm
//!   store ptr @schism.type.0, ptr %formatter
//! @schism.type.0 = private constant { i32, i32, ptr, i64, ptr, i64 } { i32 18, i32 1547788061, … }
//! ```
//!
//! A device formats nothing: it hands the message with its arguments to the host, and the host
//! formats by the descriptions. A formatting function that has a body or is called is left alone:
//! there a kernel formats for itself, and messages show values by nothing but a placeholder.

use inkwell::module::Module;
use llvm_sys::core::*;

use crate::frontend::type_descriptions::Descriptors;
use crate::ir;
use crate::spec::messages::{Formatter, TypeDescription};

/// Runs the pass.
pub fn run(module: &Module<'_>, formatters: &[Formatter], types: &[TypeDescription]) {
    let raw = module.as_mut_ptr();
    // SAFETY: the module is live and held by the caller; names are passed with their length. A declaration is deleted after its
    // last use is gone. Pointers to functions and to constants have one type.
    unsafe {
        let descriptors = Descriptors::new(raw, types);
        for formatter in formatters {
            let symbol = &formatter.symbol;
            let function =
                LLVMGetNamedFunctionWithLength(raw, symbol.as_ptr().cast(), symbol.len());
            if function.is_null()
                || LLVMIsDeclaration(function) == 0
                || ir::users(function).into_iter().any(|user| ir::callee(user) == Some(function))
            {
                continue;
            }
            LLVMReplaceAllUsesWith(function, descriptors.get(formatter.ty));
            LLVMDeleteFunction(function);
        }
    }
}
