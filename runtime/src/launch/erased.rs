//! From a kernel's type to something that needs no generics.

use std::alloc::Layout;

use schism_jit_abi::CpuChunk;

use crate::code::display_name::KernelName;
use crate::kernel::abi::{Descriptor, Kernel, descriptor};
use crate::kernel::item::Item;
use crate::launch::failure;

/// The host half's body of a kernel, over one box of the range.
pub(crate) type NativeChunk = unsafe fn(kernel: *const (), chunk: &CpuChunk);

/// The host half's body, and what is known of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NativeBody {
    pub(crate) chunk: NativeChunk,
    /// Whether work-items that wait may share a thread: nothing that they reach uses thread-local
    /// variables.
    pub(crate) shares_threads: bool,
}

/// A kernel without its type: all that is generic about a launch ends here.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RawKernel {
    pub(crate) descriptor: *const Descriptor,
    native: Option<NativeChunk>,
    pub(crate) closure: *const (),
    pub(crate) layout: Layout,
    name: fn() -> &'static str,
}

impl RawKernel {
    /// The kernel's data stays borrowed: the code that runs the result ensures that it lives. `name` is
    /// that of the user's closure.
    #[inline(always)]
    pub(crate) fn new<K: Kernel<D>, const D: usize>(
        kernel: *const K,
        name: fn() -> &'static str,
    ) -> Self {
        // SAFETY: `&K` and a thin raw pointer have the same ABI, and so have the rest of the two
        // signatures.
        let native = unsafe {
            std::mem::transmute::<unsafe fn(&K, &CpuChunk), NativeChunk>(native_chunk::<K, D>)
        };
        Self {
            descriptor: descriptor::<K, D>(),
            native: Some(native),
            closure: kernel.cast(),
            layout: Layout::new::<K>(),
            name,
        }
    }

    /// The same kernel over another closure of its type.
    pub(crate) const fn with_closure(self, closure: *const ()) -> Self {
        Self { closure, ..self }
    }

    /// Gives the name of the closure's type, for who can neither take memory nor a lock.
    pub(crate) const fn type_name(&self) -> fn() -> &'static str {
        self.name
    }

    /// The name, for who needs it when the kernel may be gone.
    pub(crate) const fn lazy_name(&self) -> KernelName {
        // SAFETY: the descriptor is null or the kernel's own, and the code that launches a kernel
        // keeps its shared object loaded until the launch is over.
        unsafe { KernelName::new(self.descriptor, self.name) }
    }

    /// The closure, as users know it: its path and where it stands.
    #[cold]
    pub(crate) fn name(&self) -> String {
        self.lazy_name().to_string()
    }

    /// The host half's body, if it has one.
    pub(crate) fn native(&self) -> Option<NativeBody> {
        Some(NativeBody { chunk: self.native?, shares_threads: false })
    }
}

/// A kernel without its type and its data.
#[derive(Clone, Copy, Debug)]
pub struct ErasedKernel(RawKernel);

// SAFETY: a descriptor is a constant, but for its slot, which is atomic; functions may go anywhere,
// and there is no closure.
unsafe impl Send for ErasedKernel {}

/// A kernel's type as a constant, for launches that need the code of a device.
#[derive(Clone, Copy, Debug)]
pub struct KernelType {
    descriptor: fn() -> *const Descriptor,
    layout: Layout,
    name: fn() -> &'static str,
}

impl KernelType {
    /// That of a type.
    #[must_use]
    pub const fn of<K: Kernel<1>>() -> Self {
        let (descriptor, name) = (descriptor::<K, 1>, std::any::type_name::<K>);
        Self { descriptor, layout: Layout::new::<K>(), name }
    }

    /// The kernel.
    #[must_use]
    pub fn kernel(&self) -> ErasedKernel {
        let &Self { descriptor, layout, name } = self;
        let (descriptor, closure) = (descriptor(), std::ptr::null());
        ErasedKernel(RawKernel { descriptor, native: None, closure, layout, name })
    }
}

impl ErasedKernel {
    /// The address of the descriptor; 0 if the compiler made no kernel of the type.
    #[must_use]
    pub fn address(&self) -> usize {
        self.0.descriptor.expose_provenance()
    }

    /// The layout of the kernel's data.
    #[must_use]
    pub const fn layout(&self) -> Layout {
        self.0.layout
    }

    /// The name of the type.
    #[must_use]
    pub const fn type_name(&self) -> fn() -> &'static str {
        self.0.type_name()
    }

    /// The kernel with data at a place.
    pub(crate) const fn with_data(self, closure: *const ()) -> RawKernel {
        RawKernel { closure, ..self.0 }
    }

    pub(crate) const fn raw(&self) -> &RawKernel {
        &self.0
    }
}

/// Runs the work-items of one box by the host half's own body.
///
/// The kernel comes as a reference, not as a pointer, so that LLVM knows that no store of the body
/// changes the captures: they stay in registers, and the inner loop can be vectorised.
///
/// # Safety
/// The box lies inside the launch's range.
unsafe fn native_chunk<K: Kernel<D>, const D: usize>(kernel: &K, chunk: &CpuChunk) {
    let [x_begin, y_begin, z_begin] = chunk.begin;
    let [x_end, y_end, z_end] = chunk.end;
    let range = chunk.range;
    for z in z_begin..z_end {
        for y in y_begin..y_end {
            for x in x_begin..x_end {
                let at = Running { id: [x, y, z] };
                kernel.run_native(Item::new([x, y, z], range), chunk.offset);
                std::mem::forget(at);
            }
        }
    }
}

/// Dropped only when a work-item panics: takes note of which it was. Work-items that end do nothing
/// for it.
struct Running {
    id: [usize; 3],
}

impl Drop for Running {
    #[inline(always)]
    fn drop(&mut self) {
        failure::note_item(self.id);
    }
}
