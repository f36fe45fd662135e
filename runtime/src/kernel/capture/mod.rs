//! The types that a kernel may capture.

// In its own file, because plain rustc warns of the syntax even where `cfg` removes it.
#[cfg(schism_driver)]
mod auto;
#[cfg(schism_driver)]
pub use auto::Capture;

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
/// Under the schism compiler this is an auto trait, and the compiler names the capture that
/// violates it. Plain rustc cannot express that: there every type implements it, and programs run
/// on the native device, which shares the host's memory. Captures must be `Send` and `Sync` under
/// both, so work-items may share them there: an atomic that is captured by value is one for all.
///
/// # Safety
/// Users do not need to implement it. An implementation promises that the bytes of the type mean
/// the same on every device as on the host, and that it makes no difference whether work-items
/// share a value or have copies of it.
#[cfg(not(schism_driver))]
pub unsafe trait Capture {}

// SAFETY: the native device shares the host's memory.
#[cfg(not(schism_driver))]
unsafe impl<T: ?Sized> Capture for T {}
