//! What types are, as far as a kernel's parameters and builtins may have them.

use schism_llvm::{Type, Value};

/// A type, as far as a kernel's parameter may have it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TypeKind {
    /// `void`.
    Void,
    /// An integer of so many bits.
    Integer(u32),
    /// A float of so many bits.
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

/// What a function returns.
pub fn return_kind(function: Value<'_>) -> TypeKind {
    kind(function.value_type().return_type())
}

/// What a function takes.
pub fn param_kinds(function: Value<'_>) -> Vec<TypeKind> {
    function.value_type().param_types().into_iter().map(kind).collect()
}
