//! Launches over sources without the types of these and of the kernel. What has these types is compiled
//! for each kernel of a program, so it is little.

use std::marker::PhantomData;

use crate::data::source::length::Lengths;
use crate::data::source::traits::Prepare;
use crate::error::LaunchError;
use crate::kernel::abi::Kernel;
use crate::kernel::group::local::Placement;
use crate::launch::erased::RawKernel;

/// What has the types.
pub(super) trait ErasedSources {
    /// Compares the sources' lengths.
    fn check(&self, lengths: &mut Lengths) -> Result<(), LaunchError>;

    /// Calls `run` once, with the kernel over the sources, which lives until that returns; `name` is that
    /// of the closure's type.
    fn with_kernel(
        &mut self,
        placement: &mut Placement,
        name: fn() -> &'static str,
        run: &mut dyn FnMut(&RawKernel, &Placement),
    );
}

/// Sources, and what makes a kernel of them.
pub(super) struct OverSources<M, S: Prepare<M>, G, const D: usize> {
    parts: Option<(S, G)>,
    mode: PhantomData<fn() -> M>,
}

impl<M, S: Prepare<M>, G, const D: usize> OverSources<M, S, G, D> {
    pub(super) const fn new(sources: S, kernel: G) -> Self {
        Self { parts: Some((sources, kernel)), mode: PhantomData }
    }
}

impl<M, S, G, K, const D: usize> ErasedSources for OverSources<M, S, G, D>
where
    S: Prepare<M>,
    G: FnOnce(S::Source) -> K,
    K: Kernel<D>,
{
    fn check(&self, lengths: &mut Lengths) -> Result<(), LaunchError> {
        let Some((sources, _)) = &self.parts else { return Ok(()) };
        sources.check(lengths)
    }

    fn with_kernel(
        &mut self,
        placement: &mut Placement,
        name: fn() -> &'static str,
        run: &mut dyn FnMut(&RawKernel, &Placement),
    ) {
        let Some((sources, kernel)) = self.parts.take() else { return };
        let ready = sources.prepare(placement);
        // SAFETY: the launch starts here, and only the kernel gets the sources.
        let kernel = kernel(unsafe { S::start(ready) });
        run(&RawKernel::new::<K, D>(&raw const kernel, name), placement);
    }
}
