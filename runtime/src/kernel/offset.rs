//! Where a launch begins.
//!
//! Whether a launch has a beginning of its own is a matter of types: the kernel of one that has is another type, whose device
//! code asks for the offset. So all other kernels are not even asked.

use std::fmt::Debug;
use std::hash::Hash;
use std::marker::PhantomData;

use crate::kernel::abi::Kernel;
use crate::kernel::item::Item;

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::Zero {}
    impl Sealed for super::Begin {}
}

/// Where a launch begins, as far as types know it: at [`Zero`], or where the launch says, [`Begin`].
///
/// It is a part of the type [`NdRange`](crate::NdRange), and follows from the range that one is made of.
pub trait Origin: Copy + Eq + Hash + Debug + Send + Sync + 'static + sealed::Sealed {
    /// On a device.
    #[doc(hidden)]
    fn place<const D: usize>(item: Item<D>) -> Item<D>;

    /// On the host, for a launch that begins at `offset` (x, y, z).
    #[doc(hidden)]
    fn place_native<const D: usize>(item: Item<D>, offset: [usize; 3]) -> Item<D>;
}

/// The launch begins at zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Zero {}

/// The launch says where it begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Begin {}

impl Origin for Zero {
    #[inline(always)]
    fn place<const D: usize>(item: Item<D>) -> Item<D> {
        item
    }

    #[inline(always)]
    fn place_native<const D: usize>(item: Item<D>, _: [usize; 3]) -> Item<D> {
        item
    }
}

// Stage 1 gives these their values; the host half never calls them.
unsafe extern "C" {
    safe fn __schism_global_offset_x() -> usize;
    safe fn __schism_global_offset_y() -> usize;
    safe fn __schism_global_offset_z() -> usize;
}

impl Origin for Begin {
    #[inline(always)]
    fn place<const D: usize>(item: Item<D>) -> Item<D> {
        item.begun_at([
            __schism_global_offset_x(),
            if D > 1 { __schism_global_offset_y() } else { 0 },
            if D > 2 { __schism_global_offset_z() } else { 0 },
        ])
    }

    #[inline(always)]
    fn place_native<const D: usize>(item: Item<D>, offset: [usize; 3]) -> Item<D> {
        item.begun_at(offset)
    }
}

/// A kernel over a range with that kind of origin.
#[derive(Debug)]
pub(crate) struct At<O, K> {
    kernel: K,
    origin: PhantomData<fn() -> O>,
}

impl<O, K> At<O, K> {
    pub(crate) const fn new(kernel: K) -> Self {
        Self { kernel, origin: PhantomData }
    }
}

impl<O: Origin, K: Kernel<D>, const D: usize> Kernel<D> for At<O, K> {
    #[inline(always)]
    fn run(&self, item: Item<D>) {
        self.kernel.run(O::place(item));
    }

    #[inline(always)]
    fn run_native(&self, item: Item<D>, offset: [usize; 3]) {
        self.kernel.run_native(O::place_native(item, offset), offset);
    }
}
