//! Launches over sources without the types of these and of the kernel. What has these types is compiled
//! for each kernel of a program, so it is little.

use crate::api::queue::Queue;
use crate::api::queue::deferral::Uses;
use crate::data::pending::Submitting;
use crate::data::present::is_locating;
use crate::data::source::length::Lengths;
use crate::data::source::traits::Prepare;
use crate::error::LaunchError;
use crate::hal::Submitted;
use crate::hal::dispatch::BackendPending;
use crate::kernel::abi::Kernel;
use crate::kernel::group::local::Placement;
use crate::launch::erased::RawKernel;
use crate::launch::shape::{LaunchRange, LaunchShape};

/// What has the types.
pub(super) trait ErasedSources {
    /// Compares the sources' lengths.
    fn check(&self, lengths: &mut Lengths) -> Result<(), LaunchError>;

    /// Calls `run` once, with the kernel over the sources, which lives until that returns.
    fn with_kernel(
        &mut self,
        placement: &mut Placement,
        run: &mut dyn FnMut(&RawKernel, &Placement),
    );

    /// The name of the closure's type.
    fn name(&self) -> fn() -> &'static str;
}

/// Sources, and what makes a kernel of them.
pub(super) struct OverSources<M, S: Prepare<M>, G, const D: usize> {
    parts: Option<(S, G)>,
    name: fn() -> &'static str,
    mode: std::marker::PhantomData<fn() -> M>,
}

impl<M, S: Prepare<M>, G, const D: usize> OverSources<M, S, G, D> {
    pub(super) const fn new(sources: S, name: fn() -> &'static str, kernel: G) -> Self {
        Self { parts: Some((sources, kernel)), name, mode: std::marker::PhantomData }
    }
}

impl<M, S, G, K, const D: usize> ErasedSources for OverSources<M, S, G, D>
where
    S: Prepare<M>,
    G: FnOnce(S::Source) -> K,
    K: Kernel<D>,
{
    fn check(&self, lengths: &mut Lengths) -> Result<(), LaunchError> {
        match &self.parts {
            Some((sources, _)) => sources.check(lengths),
            None => Ok(()),
        }
    }

    fn with_kernel(
        &mut self,
        placement: &mut Placement,
        run: &mut dyn FnMut(&RawKernel, &Placement),
    ) {
        let Some((sources, kernel)) = self.parts.take() else { return };
        let ready = sources.prepare(placement);
        // SAFETY: the launch starts here, and only the kernel gets the sources.
        let kernel = kernel(unsafe { S::start(ready) });
        run(&RawKernel::new::<K, D>(&raw const kernel, self.name), placement);
    }

    fn name(&self) -> fn() -> &'static str {
        self.name
    }
}

impl Queue {
    /// Runs a launch over sources, over their common length if it has no range.
    #[inline(never)]
    pub(super) fn run_over_sources(
        &self,
        shape: Option<Result<LaunchShape, LaunchError>>,
        sources: &mut dyn ErasedSources,
    ) -> Result<(), LaunchError> {
        let copies_slices = is_locating(&self.queue);
        let _submitting = self.deferral.is_some().then(Submitting::new);
        self.launch_over_sources(shape, sources, copies_slices, |raw, shape, bytes, uses| {
            // SAFETY: the kernel lives until this returns, is `Sync`, and allows the shape.
            unsafe { self.run_or_submit(raw, shape, bytes, uses) }
        })
    }

    /// As [`run_over_sources`](Self::run_over_sources), but returns at once where the device itself
    /// keeps launches in order, and copies no slices.
    ///
    /// # Safety
    /// What the kernel refers to lives until the launch has ended.
    #[inline(never)]
    pub(super) unsafe fn start_over_sources(
        &self,
        shape: Result<LaunchShape, LaunchError>,
        sources: &mut dyn ErasedSources,
    ) -> Result<Submitted<BackendPending>, LaunchError> {
        self.launch_over_sources(Some(shape), sources, false, |raw, shape, bytes, _| {
            // SAFETY: the kernel lives until this returns, is `Sync`, and allows the shape; the
            // caller's promise.
            unsafe { self.submit(raw, shape, bytes) }
        })
    }

    /// Checks the sources of a launch, and calls `launch` once: with the kernel, which lives until that
    /// returns, its shape, the bytes of local memory that the sources take, and the copies of those in
    /// the host's memory, if it `copies_slices`.
    fn launch_over_sources<T>(
        &self,
        shape: Option<Result<LaunchShape, LaunchError>>,
        sources: &mut dyn ErasedSources,
        copies_slices: bool,
        launch: impl Fn(&RawKernel, &LaunchShape, usize, Uses<'_>) -> Result<T, LaunchError>,
    ) -> Result<T, LaunchError> {
        let shape = shape.transpose()?;
        let lengths = shape.as_ref().map_or_else(Lengths::default, LaunchShape::lengths);
        let mut lengths = lengths.listing_host_ranges(copies_slices);
        sources.check(&mut lengths)?;
        self.check_memory(&lengths, sources.name())?;
        let shape = shape.map_or_else(|| lengths.length()?.shape(), Ok)?;
        // SAFETY: the sources borrow the ranges until `launch` has returned.
        let (copies, placed) =
            unsafe { self.copy_sources(&mut lengths, &shape, &|layout| self.allocate(layout))? };
        let mut placement = Placement::new(placed);
        let uses = Uses { copies: copies.as_ref(), buffers: lengths.is_in_device_memory() };
        let mut outcome = None;
        sources.with_kernel(&mut placement, &mut |raw, placement| {
            outcome = Some(launch(raw, &shape, placement.bytes(), uses));
        });
        outcome.expect("sources are launched once")
    }
}
