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
use schism_llvm::{AsModule, Builder, ContextRef, IntoValue, ModuleRef, Type, Value, enum_kind};
use thiserror::Error;

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
        make_kernel(module.handle(), kernel)?;
    }
    // The compiler declares them as functions of which it knows nothing.
    for function in builtins::pure().filter_map(|name| module.get_function(name)) {
        function.value().mark_pure();
    }
    Ok(())
}

fn make_kernel(module: ModuleRef<'_>, kernel: &KernelSpec) -> Result<(), KernelEntryError> {
    let context = module.context();
    let defined = module.function(&kernel.entry).filter(|entry| !entry.is_declaration());
    let Some(entry) = defined else {
        return Err(KernelEntryError::NoEntry {
            kernel: kernel.name.clone(),
            entry: kernel.entry.clone(),
        });
    };
    if entry.num_params() != 7 {
        return Err(KernelEntryError::Signature {
            kernel: kernel.name.clone(),
            entry: kernel.entry.clone(),
            found: entry.num_params(),
        });
    }

    let mut types = Vec::with_capacity(kernel.parameters.len());
    for parameter in &kernel.parameters {
        types.push(parameter_type(context, parameter).ok_or_else(|| {
            KernelEntryError::ParameterSize { kernel: kernel.name.clone(), size: parameter.size }
        })?);
    }
    let ty = context.void_type().function(&types, false);
    let function = module.add_function(&kernel.name, ty);

    let block = function.append_block("");
    let builder = Builder::at_end(block);
    let i8_type = context.int_type(8);
    let i64_type = context.int_type(64);
    let bytes = i8_type.array(kernel.closure_size);
    let closure = builder.alloca(bytes).with_name("closure");
    closure.set_alignment(kernel.closure_align.max(1) as u32);
    for (index, parameter) in kernel.parameters.iter().enumerate() {
        let value = function.param(index as u32);
        annotate(function, index as u32 + 1, parameter);
        let offset = i64_type.const_int(parameter.offset, false);
        let field = builder.gep(i8_type, closure, &[offset]);
        let align = known_alignment(kernel.closure_align, parameter.offset);
        if parameter.kind == ParameterKind::Bytes {
            let size = i64_type.const_int(parameter.size, false);
            let source_align = parameter.align.max(1) as u32;
            builder.memcpy(field, align, value, source_align, size);
        } else {
            let store = builder.store(value, field);
            store.set_alignment(align);
        }
    }

    let mut arguments = vec![closure];
    let builtin_type = i64_type.function(&[], false);
    for name in builtins::GLOBAL_ID.into_iter().chain(builtins::GLOBAL_RANGE) {
        let builtin = module.declare_pure_builtin(name, builtin_type);
        arguments.push(builder.call(builtin_type, builtin, &[]));
    }
    builder.call(entry.value_type(), entry, &arguments);
    builder.ret_void();
    Ok(())
}

fn parameter_type<'m>(context: ContextRef<'m>, parameter: &Parameter) -> Option<Type<'m>> {
    Some(match (parameter.kind, parameter.size) {
        (ParameterKind::Integer, 1 | 2 | 4 | 8 | 16) => context.int_type(parameter.size as u32 * 8),
        (ParameterKind::Float, 2) => context.half_type(),
        (ParameterKind::Float, 4) => context.float_type(),
        (ParameterKind::Float, 8) => context.double_type(),
        (ParameterKind::Pointer { .. }, 8) | (ParameterKind::Bytes, _) => context.pointer_type(0),
        _ => return None,
    })
}

/// Puts on a parameter what is known of it.
fn annotate(function: Value<'_>, index: u32, parameter: &Parameter) {
    let add = |name, value| function.add_attribute_at(index, name, value);
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
            let context = function.ty().context();
            let bytes = context.int_type(8).array(parameter.size);
            let attribute = context.type_attribute(enum_kind("byval"), bytes);
            function.add_attribute(index, attribute);
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
