//! The interface between stage 1 and the runtime. Not for users: nothing here is stable.
//!
//! A launch site calls [`descriptor`] for its kernel type. Plain rustc compiles the body below, a
//! null pointer: the program then has no device image and runs on the native device. The code
//! generator replaces the body by one that returns the address of a [`Descriptor`] in the same
//! shared object. The device half is made from [`device_entry`], instantiated for the same kernel
//! type.
//!
//! Everything that [`device_entry`] reaches in this crate must not panic, format or allocate: it
//! becomes device code even in programs that are built without optimisation.

use std::sync::atomic::{AtomicPtr, AtomicU8, Ordering};

use crate::kernel::item::Item;

/// The value of [`Descriptor::abi`] that this runtime understands.
pub const DESCRIPTOR_ABI: u32 = 1;

/// What stage 1 adds to the host half for each kernel.
#[repr(C)]
#[derive(Debug)]
pub struct Descriptor {
    /// [`DESCRIPTOR_ABI`] of the code generator that wrote this.
    pub abi: u32,
    /// Dimensions of the kernel's range, 1 to 3.
    pub dimensions: u32,
    /// The kernel's name in its container: UTF-8, not terminated.
    pub name: *const u8,
    /// Bytes of the name.
    pub name_len: usize,
    /// First byte of the framed container that holds the kernel.
    pub container_begin: *const u8,
    /// One past the container's last byte.
    pub container_end: *const u8,
    /// Belongs to the runtime; null when the program is loaded.
    pub slot: AtomicPtr<()>,
}

// SAFETY: all fields but `slot` are constants of the program's image; `slot` is atomic.
unsafe impl Sync for Descriptor {}

/// A body for work-items: a closure, or one of this crate's adaptors around a closure.
///
/// A device receives the bytes of an implementor.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot run as a kernel over {D} dimension(s)",
    note = "a kernel is a closure that takes `Item<{D}>` and returns nothing"
)]
pub trait Kernel<const D: usize> {
    /// Runs one work-item.
    fn run(&self, item: Item<D>);

    /// Runs one work-item on the host, in a launch that begins at `offset` (x, y, z), which `item`
    /// does not include.
    #[inline(always)]
    fn run_native(&self, item: Item<D>, offset: [usize; 3]) {
        let _ = offset;
        self.run(item);
    }
}

impl<F: Fn(Item<D>), const D: usize> Kernel<D> for F {
    #[inline(always)]
    fn run(&self, item: Item<D>) {
        self(item);
    }
}

/// The descriptor of kernel `K`, or null when the program was compiled without the code generator.
///
/// There is one instance for each kernel type, never inlined: the code generator finds the
/// instances of this function and replaces their bodies.
#[inline(never)]
#[must_use]
pub fn descriptor<K: Kernel<D>, const D: usize>() -> *const Descriptor {
    std::ptr::null()
}

/// What a device runs for one work-item. `x` varies fastest; dimensions beyond `D` have id 0 and
/// range 1. It unwinds where kernels do.
///
/// # Safety
/// `kernel` points to a live `K`, and the ids lie inside the ranges.
#[inline(always)]
pub unsafe extern "C-unwind" fn device_entry<K: Kernel<D>, const D: usize>(
    kernel: *const K,
    x: usize,
    y: usize,
    z: usize,
    nx: usize,
    ny: usize,
    nz: usize,
) {
    // SAFETY: the caller vouches for the pointer. A transmute, because `&*kernel` would carry
    // checks in debug builds, which panic.
    #[allow(clippy::transmute_ptr_to_ref)]
    let kernel: &K = unsafe { std::mem::transmute::<*const K, &K>(kernel) };
    kernel.run(Item::new([x, y, z], [nx, ny, nz]));
}

/// 0 in the host half, 1 in images for devices, and 2 in the image for the program's process. Stage 1
/// makes it a constant of each; branches on it fold away.
#[unsafe(no_mangle)]
#[allow(non_upper_case_globals)]
pub static __schism_is_device: AtomicU8 = AtomicU8::new(0);

/// Lists functions for the kernels of other crates; [`export_to_device!`](crate::export_to_device)
/// implements it. The code generator reads the type that the function returns; nothing calls it.
pub trait ExportToDevice {
    /// The functions, in a tuple.
    fn functions() -> impl Sized;
}

/// Lists functions that other crates define for kernels, as
/// [`import_to_device!`](crate::import_to_device) does.
pub trait ImportToDevice {
    /// The functions, in a tuple.
    fn functions() -> impl Sized;
}

/// Whether this code is part of a device image.
#[inline(always)]
#[must_use]
pub fn is_device() -> bool {
    // Plain rustc makes no device half, and cannot know that the variable never changes.
    cfg!(schism_driver) && __schism_is_device.load(Ordering::Relaxed) != 0
}

/// Whether this code is part of the image for kernels that run in the program's process.
#[inline(always)]
#[must_use]
pub fn is_in_process() -> bool {
    cfg!(schism_driver) && __schism_is_device.load(Ordering::Relaxed) == 2
}
