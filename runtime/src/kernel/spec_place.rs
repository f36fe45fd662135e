//! The identity of specialization constants.

use std::any::TypeId;

/// The number in a `TypeId`, as it lies in memory; the container identifies types by it.
pub(crate) type TypeIdentity = [u8; 16];

/// The identity of a type in the program.
pub(crate) fn type_identity<T: 'static>() -> TypeIdentity {
    const { assert!(size_of::<TypeId>() == size_of::<TypeIdentity>()) };
    // SAFETY: both have the same size, any bytes are a valid array of bytes, and a `TypeId` has no
    // padding: the compiler makes it of two halves of its hash of the type.
    unsafe { std::mem::transmute(TypeId::of::<T>()) }
}

/// What identifies a constant on the host, together with its type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ConstantPlace {
    /// The name in the declaration, or the file of the declaration.
    pub(crate) name: &'static str,
    /// The line, or 0.
    pub(crate) line: u32,
    /// The column, or 0.
    pub(crate) column: u32,
}
