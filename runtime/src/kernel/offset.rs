//! The offset of a launch.
//!
//! The type of a kernel says whether its launch has an offset: only the device code of such a type
//! reads it, so all other kernels pay nothing for it.

use std::fmt::Debug;
use std::hash::Hash;
use std::marker::PhantomData;

use crate::kernel::abi::Kernel;
use crate::kernel::item::Item;

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::NoOffset {}
    impl Sealed for super::WithOffset {}
}

/// Where a launch begins, as a type: at zero, [`NoOffset`], or at the launch's offset,
/// [`WithOffset`].
///
/// It is a part of the type [`NdRange`](crate::NdRange), and follows from the range that the
/// `NdRange` is made of.
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
pub enum NoOffset {}

/// The launch has an offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WithOffset {}

impl Origin for NoOffset {
    #[inline(always)]
    fn place<const D: usize>(item: Item<D>) -> Item<D> {
        item
    }

    #[inline(always)]
    fn place_native<const D: usize>(item: Item<D>, _: [usize; 3]) -> Item<D> {
        item
    }
}

// Stage 1 defines these; the host half never calls them.
unsafe extern "C" {
    safe fn __schism_global_offset_x() -> usize;
    safe fn __schism_global_offset_y() -> usize;
    safe fn __schism_global_offset_z() -> usize;
}

impl Origin for WithOffset {
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
