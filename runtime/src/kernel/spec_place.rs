//! What specialization constants are known by.

use std::any::TypeId;

/// The number in a `TypeId`, as it lies in memory, which is what the container has of a type.
pub(crate) type TypeIdentity = [u8; 16];

/// What tells a type from all others of the program.
pub(crate) fn type_identity<T: 'static>() -> TypeIdentity {
    const { assert!(size_of::<TypeId>() == size_of::<TypeIdentity>()) };
    // SAFETY: both have the same size, any bytes are an array of bytes, and a `TypeId` has no bytes without a value: the compiler
    // makes it of two halves of its hash of the type.
    unsafe { std::mem::transmute(TypeId::of::<T>()) }
}

/// What the host knows a constant by, beside its type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ConstantPlace {
    /// The name that the declaration gives, or the file that it is in.
    pub(crate) name: &'static str,
    /// The line, or 0.
    pub(crate) line: u32,
    /// The column, or 0.
    pub(crate) column: u32,
}
