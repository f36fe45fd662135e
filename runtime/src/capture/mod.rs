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
/// Under the schism compiler this is an auto trait, and the compiler names the capture that stands in the way. Plain rustc cannot
/// express that: there every type implements it, and programs run on the native device, which shares the host's memory.
///
/// # Safety
/// Nobody needs to implement it. Who does so promises that the bytes of the type mean on every device what they mean on the host.
#[cfg(not(schism_driver))]
pub unsafe trait Capture {}

// SAFETY: the native device shares the host's memory.
#[cfg(not(schism_driver))]
unsafe impl<T: ?Sized> Capture for T {}
