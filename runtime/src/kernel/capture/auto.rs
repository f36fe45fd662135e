//! The types that a kernel may capture, as an auto trait.

/// Values that a kernel may capture: plain data, and views of device memory.
///
/// A kernel's captures are copied to the device byte by byte. Numbers, arrays, tuples and structs
/// of such values are allowed; a reference, a pointer, a `Vec` or a `Box` is not, because what it
/// points to stays on the host.
///
/// Types with interior mutability (an atomic, a `Cell`, an `UnsafeCell`, a lock) cannot be captured
/// by value, alone or within another type: work-items would share one on the host, and have a copy
/// each elsewhere. Data that work-items share lives in a buffer, whose
/// [`atomic_view`](crate::Buffer::atomic_view) a kernel can capture.
///
/// # Safety
/// Users do not need to implement it. An implementation promises that the bytes of the type mean
/// the same on every device as on the host, and that it makes no difference whether work-items
/// share a value or have copies of it.
// Like `diagnostic::on_unimplemented`, which has no messages for some types only.
#[rustc_on_unimplemented(
    on(
        any(
            Self = "core::sync::atomic::AtomicBool",
            Self = "core::sync::atomic::AtomicI8",
            Self = "core::sync::atomic::AtomicI16",
            Self = "core::sync::atomic::AtomicI32",
            Self = "core::sync::atomic::AtomicI64",
            Self = "core::sync::atomic::AtomicIsize",
            Self = "core::sync::atomic::AtomicU8",
            Self = "core::sync::atomic::AtomicU16",
            Self = "core::sync::atomic::AtomicU32",
            Self = "core::sync::atomic::AtomicU64",
            Self = "core::sync::atomic::AtomicUsize",
            Self = "core::sync::atomic::AtomicPtr<T>",
            Self = "core::sync::atomic::Atomic<T>",
            Self = "core::cell::UnsafeCell<T>",
            Self = "core::cell::Cell<T>",
            Self = "core::cell::RefCell<T>"
        ),
        label = "what changes in `{Self}` would be each work-item's own on some devices, and that of all work-items on others",
        note = "what work-items share belongs into a buffer: capture `buffer.atomic_view()`; what is one work-item's own is a variable in the kernel"
    ),
    on(
        any(
            Self = "&mut u8",
            Self = "&mut u16",
            Self = "&mut u32",
            Self = "&mut u64",
            Self = "&mut u128",
            Self = "&mut usize",
            Self = "&mut i8",
            Self = "&mut i16",
            Self = "&mut i32",
            Self = "&mut i64",
            Self = "&mut i128",
            Self = "&mut isize",
            Self = "&mut f32",
            Self = "&mut f64",
            Self = "&mut bool"
        ),
        label = "work-items run at the same time, and each has only a copy of the closure's own bytes: no variable of the host can be changed by all",
        note = "to add up or compare values of all work-items: `schism::algorithms` (`reduce`, `min_element`, ...), or an atomic view of a buffer (`buffer.atomic_view()`); for a result of each: `for_each` over `&mut buffer`"
    ),
    message = "a kernel cannot capture `{Self}`",
    label = "`{Self}` lives on the host; the device gets only a copy of the closure's own bytes",
    on(
        not(any(
            Self = "&mut u8",
            Self = "&mut u16",
            Self = "&mut u32",
            Self = "&mut u64",
            Self = "&mut u128",
            Self = "&mut usize",
            Self = "&mut i8",
            Self = "&mut i16",
            Self = "&mut i32",
            Self = "&mut i64",
            Self = "&mut i128",
            Self = "&mut isize",
            Self = "&mut f32",
            Self = "&mut f64",
            Self = "&mut bool"
        )),
        note = "capture numbers and plain structs by value (`move`), or the view of a buffer (`buffer.view()`) in place of a reference or a collection"
    )
)]
pub unsafe auto trait Capture {}

// It has no bytes, so it says nothing about what a device receives.
// SAFETY: there are no bytes that could mean anything else.
unsafe impl<T: ?Sized> Capture for std::marker::PhantomData<T> {}

mod host_only {
    use std::alloc::Allocator;

    use super::Capture;

    impl<T: ?Sized> !Capture for &T {}
    impl<T: ?Sized> !Capture for &mut T {}
    impl<T: ?Sized> !Capture for *const T {}
    impl<T: ?Sized> !Capture for *mut T {}
    // Other collections contain one of these; the compiler's message names both.
    impl<T: ?Sized, A: Allocator> !Capture for Box<T, A> {}
    impl<T, A: Allocator> !Capture for Vec<T, A> {}
    impl !Capture for String {}
    impl<T: ?Sized, A: Allocator> !Capture for std::rc::Rc<T, A> {}
    impl<T: ?Sized, A: Allocator> !Capture for std::sync::Arc<T, A> {}
    // All types with interior mutability contain one of these. Types that messages should name have
    // an implementation of their own.
    impl<T: ?Sized> !Capture for std::cell::UnsafeCell<T> {}
    impl<T: ?Sized> !Capture for std::cell::Cell<T> {}
    impl<T: ?Sized> !Capture for std::cell::RefCell<T> {}
    impl<T: ?Sized> !Capture for std::sync::Mutex<T> {}
    impl<T: ?Sized> !Capture for std::sync::RwLock<T> {}

    // Since rustc 1.96, all atomics are one generic type.
    #[cfg(version("1.96"))]
    impl<T: std::sync::atomic::AtomicPrimitive> !Capture for std::sync::atomic::Atomic<T> {}
    #[cfg(not(version("1.96")))]
    impl<T> !Capture for std::sync::atomic::AtomicPtr<T> {}
    #[cfg(not(version("1.96")))]
    macro_rules! atomics {
        ($($atomic:ident)*) => {$(impl !Capture for std::sync::atomic::$atomic {})*};
    }
    #[cfg(not(version("1.96")))]
    atomics! {
        AtomicBool AtomicI8 AtomicI16 AtomicI32 AtomicI64 AtomicIsize AtomicU8 AtomicU16 AtomicU32 AtomicU64 AtomicUsize
    }

    // A type with an implementation for some of its parameters has no automatic one for others,
    // such as those with any lifetime.
    macro_rules! function_pointers {
        ($(($($argument:ident)*))*) => {$(
            impl<R, $($argument),*> !Capture for fn($($argument),*) -> R {}
            impl<R, $($argument),*> !Capture for unsafe fn($($argument),*) -> R {}
            impl<R, $($argument),*> !Capture for extern "C" fn($($argument),*) -> R {}
        )*};
    }
    function_pointers! {
        () (A) (A B) (A B C) (A B C E) (A B C E F) (A B C E F G) (A B C E F G H) (A B C E F G H I)
        (A B C E F G H I J) (A B C E F G H I J K) (A B C E F G H I J K L) (A B C E F G H I J K L M)
    }
}
