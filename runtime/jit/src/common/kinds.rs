//! Classification of the types that a kernel's parameters and builtins may have.

use schism_llvm::{Type, Value};

/// The kinds of types of a kernel's parameter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TypeKind {
    /// `void`.
    Void,
    /// An integer with that many bits.
    Integer(u32),
    /// A float with that many bits.
    Float(u32),
    /// A pointer, in this address space.
    Pointer(u32),
    /// Anything else.
    Other,
}

fn kind(ty: Type<'_>) -> TypeKind {
    match ty.kind() {
        schism_llvm::TypeKind::Void => TypeKind::Void,
        schism_llvm::TypeKind::Integer => TypeKind::Integer(ty.int_width()),
        schism_llvm::TypeKind::Half => TypeKind::Float(16),
        schism_llvm::TypeKind::Float => TypeKind::Float(32),
        schism_llvm::TypeKind::Double => TypeKind::Float(64),
        schism_llvm::TypeKind::Pointer => TypeKind::Pointer(ty.address_space()),
        _ => TypeKind::Other,
    }
}

/// A function's result.
pub fn return_kind(function: Value<'_>) -> TypeKind {
    kind(function.value_type().return_type())
}

/// A function's parameters.
pub fn param_kinds(function: Value<'_>) -> Vec<TypeKind> {
    function.value_type().param_types().into_iter().map(kind).collect()
}
