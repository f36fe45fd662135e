//! The compiler decides what a kernel may capture.

/// Values that a kernel may capture: plain data, and views of device memory.
///
/// A kernel's captures are copied to the device byte by byte. Numbers, arrays, tuples and structs of such values can go there; a
/// reference, a pointer, a `Vec` or a `Box` cannot, because what it points to stays behind on the host.
///
/// # Safety
/// Nobody needs to implement it. Who does so promises that the bytes of the type mean on every device what they mean on the host.
#[diagnostic::on_unimplemented(
    message = "a kernel cannot capture `{Self}`",
    label = "`{Self}` lives on the host; the device gets only a copy of the closure's own bytes",
    note = "capture numbers and plain structs by value (`move`), or the view of a buffer (`buffer.view()`) in place of a reference or a collection"
)]
pub unsafe auto trait Capture {}

mod host_only {
    use std::alloc::Allocator;

    use super::Capture;

    impl<T: ?Sized> !Capture for &T {}
    impl<T: ?Sized> !Capture for &mut T {}
    impl<T: ?Sized> !Capture for *const T {}
    impl<T: ?Sized> !Capture for *mut T {}
    // Other collections hold one of these; the compiler's message names both.
    impl<T: ?Sized, A: Allocator> !Capture for Box<T, A> {}
    impl<T, A: Allocator> !Capture for Vec<T, A> {}
    impl !Capture for String {}
    impl<T: ?Sized, A: Allocator> !Capture for std::rc::Rc<T, A> {}
    impl<T: ?Sized, A: Allocator> !Capture for std::sync::Arc<T, A> {}
    impl<T: ?Sized> !Capture for std::sync::Mutex<T> {}
    impl<T: ?Sized> !Capture for std::sync::RwLock<T> {}
    impl<T: crate::Element> !Capture for crate::Buffer<T> {}

    // What has an implementation for one kind of its parameters has no automatic one for others, such as those of any lifetime.
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
