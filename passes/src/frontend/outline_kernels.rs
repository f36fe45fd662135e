//! Makes the kernel functions: flattened parameters around the entry function.
//!
//! Before, for a closure that captures a slice and a float:
//! ```llvm
//! define internal void @entry(ptr %kernel, i64 %x, i64 %y, i64 %z, i64 %nx, i64 %ny, i64 %nz)
//! ```
//! After:
//! ```llvm
//! define void @kernel(ptr noalias readonly align 4 %0, i64 %1, float %2) {
//!   %closure = alloca [24 x i8], align 8
//!   store ptr %0, ptr %closure
//!   store i64 %1, ptr getelementptr (i8, ptr %closure, i64 8)
//!   store float %2, ptr getelementptr (i8, ptr %closure, i64 16)
//!   %x = call i64 @__schism_global_id_x()
//!   ...
//!   call void @entry(ptr %closure, i64 %x, i64 %y, i64 %z, i64 %nx, i64 %ny, i64 %nz)
//!   ret void
//! }
//! ```
//!
//! Builtins that the runtime declares get the attributes of those that are declared here: they
//! answer the same all through a work-item, and have no effect.
//!
//! After inlining, scalar replacement removes the copy of the closure, and every capture is a
//! parameter in a register. What the type system knows of a captured reference stays on the
//! parameter, where a target turns it into better loads.

use inkwell::module::Module;
use inkwell::values::AsValueRef;
use llvm_sys::core::*;
use llvm_sys::prelude::*;
use thiserror::Error;

use crate::ir;
use crate::spec::builtins;
use crate::spec::kernel::{KernelSpec, Parameter, ParameterKind};

/// Why a kernel could not be made.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum KernelEntryError {
    /// The module has no definition of the entry function.
    #[error("kernel `{kernel}` has no entry function `{entry}` in the device module")]
    NoEntry {
        /// The kernel.
        kernel: String,
        /// The symbol that should have been there.
        entry: String,
    },
    /// The entry function has another signature than the contract says.
    #[error("the entry function `{entry}` of kernel `{kernel}` takes {found} arguments, not 7")]
    Signature {
        /// The kernel.
        kernel: String,
        /// The symbol of the entry function.
        entry: String,
        /// The number of arguments it takes.
        found: u32,
    },
    /// A parameter's size fits no type of its kind.
    #[error("kernel `{kernel}` has a {size}-byte parameter that is no integer, float or pointer")]
    ParameterSize {
        /// The kernel.
        kernel: String,
        /// The size in bytes.
        size: u64,
    },
}

/// Runs the pass for every kernel.
///
/// # Errors
/// The first kernel that could not be made, and why.
pub fn run(module: &Module<'_>, kernels: &[KernelSpec]) -> Result<(), KernelEntryError> {
    for kernel in kernels {
        // SAFETY: the module is live and held by the caller.
        unsafe { make_kernel(module.as_mut_ptr(), kernel)? };
    }
    // The compiler declares them as functions of which it knows nothing.
    for function in builtins::pure().filter_map(|name| module.get_function(name)) {
        ir::mark_pure(function.as_value_ref());
    }
    Ok(())
}

/// # Safety
/// `module` is a live module that nobody else changes during the call.
unsafe fn make_kernel(module: LLVMModuleRef, kernel: &KernelSpec) -> Result<(), KernelEntryError> {
    // SAFETY: all values and types are made in, or read from, the live module and its context.
    unsafe {
        let context = LLVMGetModuleContext(module);
        let entry = LLVMGetNamedFunctionWithLength(
            module,
            kernel.entry.as_ptr().cast(),
            kernel.entry.len(),
        );
        if entry.is_null() || LLVMIsDeclaration(entry) != 0 {
            return Err(KernelEntryError::NoEntry {
                kernel: kernel.name.clone(),
                entry: kernel.entry.clone(),
            });
        }
        if LLVMCountParams(entry) != 7 {
            return Err(KernelEntryError::Signature {
                kernel: kernel.name.clone(),
                entry: kernel.entry.clone(),
                found: LLVMCountParams(entry),
            });
        }

        let mut types = Vec::with_capacity(kernel.parameters.len());
        for parameter in &kernel.parameters {
            types.push(parameter_type(context, parameter).ok_or_else(|| {
                KernelEntryError::ParameterSize {
                    kernel: kernel.name.clone(),
                    size: parameter.size,
                }
            })?);
        }
        let void = LLVMVoidTypeInContext(context);
        let ty = LLVMFunctionType(void, types.as_mut_ptr(), types.len() as u32, 0);
        let name = std::ffi::CString::new(kernel.name.as_str()).unwrap_or_default();
        let function = LLVMAddFunction(module, name.as_ptr(), ty);

        let block = LLVMAppendBasicBlockInContext(context, function, c"".as_ptr());
        let builder = LLVMCreateBuilderInContext(context);
        LLVMPositionBuilderAtEnd(builder, block);
        let i8_type = LLVMInt8TypeInContext(context);
        let i64_type = LLVMInt64TypeInContext(context);
        let bytes = LLVMArrayType2(i8_type, kernel.closure_size);
        let closure = LLVMBuildAlloca(builder, bytes, c"closure".as_ptr());
        LLVMSetAlignment(closure, kernel.closure_align.max(1) as u32);
        for (index, parameter) in kernel.parameters.iter().enumerate() {
            let value = LLVMGetParam(function, index as u32);
            annotate(function, index as u32 + 1, parameter);
            let mut offset = [LLVMConstInt(i64_type, parameter.offset, 0)];
            let field =
                LLVMBuildGEP2(builder, i8_type, closure, offset.as_mut_ptr(), 1, c"".as_ptr());
            let align = known_alignment(kernel.closure_align, parameter.offset);
            if parameter.kind == ParameterKind::Bytes {
                let size = LLVMConstInt(i64_type, parameter.size, 0);
                let source_align = parameter.align.max(1) as u32;
                LLVMBuildMemCpy(builder, field, align, value, source_align, size);
            } else {
                let store = LLVMBuildStore(builder, value, field);
                LLVMSetAlignment(store, align);
            }
        }

        let mut arguments = vec![closure];
        let builtin_type = LLVMFunctionType(i64_type, std::ptr::null_mut(), 0, 0);
        for name in builtins::GLOBAL_ID.into_iter().chain(builtins::GLOBAL_RANGE) {
            let builtin = ir::declare_pure_builtin(module, name, builtin_type);
            arguments.push(LLVMBuildCall2(
                builder,
                builtin_type,
                builtin,
                std::ptr::null_mut(),
                0,
                c"".as_ptr(),
            ));
        }
        LLVMBuildCall2(
            builder,
            LLVMGlobalGetValueType(entry),
            entry,
            arguments.as_mut_ptr(),
            arguments.len() as u32,
            c"".as_ptr(),
        );
        LLVMBuildRetVoid(builder);
        LLVMDisposeBuilder(builder);
        Ok(())
    }
}

/// # Safety
/// `context` is live.
unsafe fn parameter_type(context: LLVMContextRef, parameter: &Parameter) -> Option<LLVMTypeRef> {
    // SAFETY: as promised by the caller.
    unsafe {
        Some(match (parameter.kind, parameter.size) {
            (ParameterKind::Integer, 1 | 2 | 4 | 8 | 16) => {
                LLVMIntTypeInContext(context, parameter.size as u32 * 8)
            }
            (ParameterKind::Float, 2) => LLVMHalfTypeInContext(context),
            (ParameterKind::Float, 4) => LLVMFloatTypeInContext(context),
            (ParameterKind::Float, 8) => LLVMDoubleTypeInContext(context),
            (ParameterKind::Pointer { .. }, 8) | (ParameterKind::Bytes, _) => {
                LLVMPointerTypeInContext(context, 0)
            }
            _ => return None,
        })
    }
}

/// Puts on a parameter what is known of it.
fn annotate(function: LLVMValueRef, index: u32, parameter: &Parameter) {
    let add = |name, value| ir::add_attribute_at(function, index, name, value);
    match parameter.kind {
        ParameterKind::Integer | ParameterKind::Float => {}
        ParameterKind::Pointer { noalias, readonly, pointee_align, dereferenceable, nonnull } => {
            if noalias {
                add("noalias", 0);
            }
            if readonly {
                add("readonly", 0);
            }
            if nonnull {
                add("nonnull", 0);
            }
            if pointee_align > 1 {
                add("align", pointee_align);
            }
            if dereferenceable > 0 {
                add("dereferenceable", dereferenceable);
            }
        }
        ParameterKind::Bytes => {
            // SAFETY: `function` is live; types and attributes are made in its context.
            unsafe {
                let context = LLVMGetTypeContext(LLVMTypeOf(function));
                let bytes = LLVMArrayType2(LLVMInt8TypeInContext(context), parameter.size);
                let name = "byval";
                let kind = LLVMGetEnumAttributeKindForName(name.as_ptr().cast(), name.len());
                let attribute = LLVMCreateTypeAttribute(context, kind, bytes);
                LLVMAddAttributeAtIndex(function, index, attribute);
            }
            add("align", parameter.align.max(1));
        }
    }
}

/// The alignment of a field at `offset` in something aligned to `align`.
fn known_alignment(align: u64, offset: u64) -> u32 {
    let align = align.max(1);
    if offset == 0 { align as u32 } else { align.min(1 << offset.trailing_zeros()) as u32 }
}

#[cfg(test)]
mod tests {
    use super::known_alignment;

    #[test]
    fn a_field_is_as_aligned_as_its_offset_allows() {
        assert_eq!(known_alignment(8, 0), 8);
        assert_eq!(known_alignment(8, 4), 4);
        assert_eq!(known_alignment(4, 16), 4);
        assert_eq!(known_alignment(16, 24), 8);
        assert_eq!(known_alignment(1, 3), 1);
    }
}
