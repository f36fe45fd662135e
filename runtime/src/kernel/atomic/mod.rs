//! Atomic floats, scoped atomics, and the types with an atomic form.

mod builtins;
mod float;
mod scoped;

use std::any::TypeId;
use std::sync::atomic::{
    AtomicI8, AtomicI16, AtomicI32, AtomicI64, AtomicIsize, AtomicU8, AtomicU16, AtomicU32,
    AtomicU64, AtomicUsize,
};

pub use crate::kernel::atomic::float::{AtomicF32, AtomicF64};
pub use crate::kernel::atomic::scoped::{AtomicRef, MemoryScope, fence, memory_scope};
use crate::kernel::element::Element;

/// Numbers that several work-items can change at once.
///
/// # Safety
/// `Atomic` has the size, alignment and valid values of `Self`.
pub unsafe trait AtomicElement: Element {
    /// The atomic of the same size.
    type Atomic: Sync + 'static;
}

macro_rules! atomic_elements {
    ($($plain:ty => $atomic:ty),* $(,)?) => {$(
        const _: () = assert!(size_of::<$plain>() == size_of::<$atomic>());

        // SAFETY: the standard library guarantees the same size and bit validity, and floats have
        // those of their bits. A buffer's alignment is larger than any of these, and that of its
        // elements is their size, which is what the atomics need.
        unsafe impl AtomicElement for $plain {
            type Atomic = $atomic;
        }
    )*
        /// Whether a type is the atomic of some element.
        pub(crate) fn is_atomic(id: TypeId) -> bool {
            [$(TypeId::of::<$atomic>()),*].contains(&id)
        }
    };
}
atomic_elements! {
    i8 => AtomicI8, i16 => AtomicI16, i32 => AtomicI32, i64 => AtomicI64, isize => AtomicIsize,
    u8 => AtomicU8, u16 => AtomicU16, u32 => AtomicU32, u64 => AtomicU64, usize => AtomicUsize,
    f32 => AtomicF32, f64 => AtomicF64,
}
