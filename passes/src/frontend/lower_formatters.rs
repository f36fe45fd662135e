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

use schism_llvm::ModuleRef;

use crate::frontend::type_descriptions::Descriptors;
use crate::spec::messages::{Formatter, TypeDescription};

/// Lowers the formatting functions that the module declares.
pub(super) fn lower(module: ModuleRef<'_>, formatters: &[Formatter], types: &[TypeDescription]) {
    let descriptors = Descriptors::new(module, types);
    for formatter in formatters {
        let Some(function) = module.function(&formatter.symbol) else { continue };
        if !function.is_declaration()
            || function.users().into_iter().any(|user| user.callee() == Some(function))
        {
            continue;
        }
        function.replace_uses(descriptors.get(formatter.ty));
        function.delete_function();
    }
}
