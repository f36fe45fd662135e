//! From a kernel's type to something that needs no generics.

use crate::__private::{Descriptor, Kernel, descriptor};
use crate::item::Item;

/// A box of the launch's range: `begin..end` in each of x, y, z.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct Chunk {
    pub(crate) begin: [usize; 3],
    pub(crate) end: [usize; 3],
    pub(crate) range: [usize; 3],
}

/// The host half's body of a kernel, over one chunk.
pub(crate) type NativeChunk = unsafe fn(kernel: *const (), chunk: &Chunk);

/// A kernel without its type: all that is generic about a launch ends here.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RawKernel {
    pub(crate) descriptor: *const Descriptor,
    pub(crate) native: NativeChunk,
    pub(crate) closure: *const (),
    pub(crate) name: fn() -> &'static str,
}

impl RawKernel {
    /// The kernel's data stays borrowed: whoever runs the result ensures that it lives.
    #[inline(always)]
    pub(crate) fn new<K: Kernel<D>, const D: usize>(kernel: *const K) -> Self {
        // SAFETY: `&K` and a thin raw pointer have the same ABI, and so have the rest of the two signatures.
        let native = unsafe { std::mem::transmute::<unsafe fn(&K, &Chunk), NativeChunk>(native_chunk::<K, D>) };
        Self { descriptor: descriptor::<K, D>(), native, closure: kernel.cast(), name: std::any::type_name::<K> }
    }
}

/// Runs the work-items of one chunk by the host half's own body.
///
/// The kernel comes as a reference, not as a pointer, so that LLVM knows that no store of the body changes the captures: they stay in
/// registers and the inner loop can be vectorised.
///
/// # Safety
/// The chunk lies inside the launch's range.
unsafe fn native_chunk<K: Kernel<D>, const D: usize>(kernel: &K, chunk: &Chunk) {
    let [x_begin, y_begin, z_begin] = chunk.begin;
    let [x_end, y_end, z_end] = chunk.end;
    let range = chunk.range;
    for z in z_begin..z_end {
        for y in y_begin..y_end {
            for x in x_begin..x_end {
                kernel.run(Item::new([x, y, z], range));
            }
        }
    }
}
