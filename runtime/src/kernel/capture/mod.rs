//! What a kernel may capture.

// A file of its own, because plain rustc warns of the syntax even where it is configured away.
#[cfg(schism_driver)]
mod auto;
#[cfg(schism_driver)]
pub use auto::Capture;

/// Values that a kernel may capture: plain data, and views of device memory.
///
/// A kernel's captures are copied to the device byte by byte. Numbers, arrays, tuples and structs of such values can go there; a
/// reference, a pointer, a `Vec` or a `Box` cannot, because what it points to stays behind on the host.
///
/// What can change behind a shared reference (an atomic, a `Cell`, an `UnsafeCell`, a lock) cannot go there by value, alone or within
/// another type: it would be one for all work-items where the host runs them, and a copy for each elsewhere. What work-items share is in
/// a buffer, whose [`atomic_view`](crate::Buffer::atomic_view) a kernel can capture.
///
/// Under the schism compiler this is an auto trait, and the compiler names the capture that stands in the way. Plain rustc cannot
/// express that: there every type implements it, and programs run on the native device, which shares the host's memory. Captures must be
/// `Send` and `Sync` under both, so what work-items share there they may share: an atomic that is captured by value is one for all.
///
/// # Safety
/// Nobody needs to implement it. Who does so promises that the bytes of the type mean on every device what they mean on the host, and
/// that it makes no difference whether work-items share a value or have copies of it.
#[cfg(not(schism_driver))]
pub unsafe trait Capture {}

// SAFETY: the native device shares the host's memory.
#[cfg(not(schism_driver))]
unsafe impl<T: ?Sized> Capture for T {}
