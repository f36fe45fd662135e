//! Launches over sources, in steps. What has the types of sources and kernel is compiled for each kernel
//! of a program, so it is little: calls, one after the other, of what has none.

use std::mem::ManuallyDrop;
use std::rc::Rc;

use super::Queue;
use super::deferral::Uses;
use crate::data::host_copies::HostCopies;
use crate::data::host_range::AllPlaced;
use crate::data::known_places::KnownPlaces;
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

/// A launch whose sources are not copied yet, or are; then one that has ended, or was submitted. It has its
/// error, so that what has types need not pass it on.
pub(super) struct SourceLaunch(ManuallyDrop<State>);

struct State {
    shape: Option<LaunchShape>,
    lengths: Lengths,
    placement: Placement,
    copies: Option<HostCopies>,
    /// Where regions have all of the sources that are in the host's memory.
    known: Option<Rc<KnownPlaces>>,
    /// The launch is submitted behind others.
    _submitting: Option<Submitting>,
    outcome: Result<Submitted<BackendPending>, LaunchError>,
}

impl Drop for SourceLaunch {
    // So that programs have a call in the place of what ends all of these.
    #[inline(never)]
    fn drop(&mut self) {
        // SAFETY: it is not used again.
        unsafe { ManuallyDrop::drop(&mut self.0) };
    }
}

impl SourceLaunch {
    pub(super) fn lengths(&mut self) -> &mut Lengths {
        &mut self.0.lengths
    }

    pub(super) fn placement(&mut self) -> &mut Placement {
        &mut self.0.placement
    }

    /// How a launch has ended that was waited for.
    #[inline(never)]
    fn ended(self) -> Result<(), LaunchError> {
        self.submitted().map(drop)
    }

    /// What was submitted.
    #[inline(never)]
    fn submitted(mut self) -> Result<Submitted<BackendPending>, LaunchError> {
        std::mem::replace(&mut self.0.outcome, Ok(Submitted::Ended))
    }
}

impl Queue {
    /// Runs a launch over sources, over their common length if it has no range.
    ///
    /// # Safety
    /// The kernel over the sources is `Sync`, and allows the shape.
    #[inline(always)]
    pub(super) unsafe fn run_over_sources<M, S: Prepare<M>, K: Kernel<D>, const D: usize>(
        &self,
        shape: Option<Result<LaunchShape, LaunchError>>,
        sources: S,
        kernel: impl FnOnce(S::Source) -> K,
        name: fn() -> &'static str,
    ) -> Result<(), LaunchError> {
        let mut launch = self.begin(shape);
        self.over_sources::<M, _, _, D>(&mut launch, sources, kernel, name, |launch, raw| {
            // SAFETY: the kernel lives until this returns; the caller's promises.
            unsafe { self.run_placed_sources(launch, raw) };
        });
        launch.ended()
    }

    /// As [`run_over_sources`](Self::run_over_sources), but returns at once where the device itself
    /// keeps launches in order, and copies no slices.
    ///
    /// # Safety
    /// What the kernel refers to lives until the launch has ended; and that of `run_over_sources`.
    #[inline(always)]
    pub(super) unsafe fn start_over_sources<M, S: Prepare<M>, K: Kernel<D>, const D: usize>(
        &self,
        shape: Result<LaunchShape, LaunchError>,
        sources: S,
        kernel: impl FnOnce(S::Source) -> K,
        name: fn() -> &'static str,
    ) -> Result<Submitted<BackendPending>, LaunchError> {
        let mut launch = self.begin_without_copies(shape);
        self.over_sources::<M, _, _, D>(&mut launch, sources, kernel, name, |launch, raw| {
            // SAFETY: the kernel lives until this returns; the caller's promises.
            unsafe { self.submit_placed_sources(launch, raw) };
        });
        launch.submitted()
    }

    /// Checks the sources of a launch, has them where the kernel finds them, and calls `run` with the
    /// kernel, which lives until that returns; or leaves an error in the launch.
    #[inline(always)]
    fn over_sources<M, S: Prepare<M>, K: Kernel<D>, const D: usize>(
        &self,
        launch: &mut SourceLaunch,
        sources: S,
        kernel: impl FnOnce(S::Source) -> K,
        name: fn() -> &'static str,
        run: impl FnOnce(&mut SourceLaunch, &RawKernel),
    ) {
        let checked = sources.check(launch.lengths());
        if self.place(launch, checked, name) {
            let ready = sources.prepare(launch.placement());
            // SAFETY: the launch starts here, and only the kernel gets the sources.
            let kernel = kernel(unsafe { S::start(ready) });
            run(launch, &RawKernel::new::<K, D>(&raw const kernel, name));
        }
    }

    #[inline(never)]
    fn begin(&self, shape: Option<Result<LaunchShape, LaunchError>>) -> SourceLaunch {
        let submitting = self.deferral.is_some().then(Submitting::new);
        SourceLaunch::new(shape.transpose(), is_locating(&self.queue), submitting)
    }

    #[inline(never)]
    fn begin_without_copies(&self, shape: Result<LaunchShape, LaunchError>) -> SourceLaunch {
        SourceLaunch::new(shape.map(Some), false, None)
    }

    /// Has the sources, which were `checked`, where the kernel finds them, and says whether they are.
    #[inline(never)]
    fn place(
        &self,
        launch: &mut SourceLaunch,
        checked: Result<(), LaunchError>,
        name: fn() -> &'static str,
    ) -> bool {
        let state = &mut *launch.0;
        if state.outcome.is_ok()
            && let Err(error) = checked.and_then(|()| self.place_sources(state, name))
        {
            state.outcome = Err(error);
        }
        state.outcome.is_ok()
    }

    fn place_sources(
        &self,
        state: &mut State,
        name: fn() -> &'static str,
    ) -> Result<(), LaunchError> {
        let State { shape, lengths, placement, copies, known, .. } = state;
        self.check_memory(lengths, name)?;
        let shape = match shape {
            Some(shape) => shape,
            None => shape.insert(lengths.length()?.shape()?),
        };
        let ranges = lengths.host_ranges();
        if !ranges.is_empty() && shape.range.items != 0 && !lengths.has_host_atomics() {
            self.refuse_inside_kernels()?;
            *known = KnownPlaces::of(&self.queue, ranges);
        }
        if let Some(known) = known {
            *placement = Placement::new(known.placed());
            return Ok(());
        }
        // SAFETY: the sources borrow the ranges until the launch has ended.
        let (made, placed) =
            unsafe { self.copy_sources(lengths, shape, &|layout| self.allocate(layout))? };
        *copies = made;
        *placement = Placement::new(placed);
        Ok(())
    }

    /// # Safety
    /// The kernel lives until this returns, is `Sync`, and allows the shape.
    #[inline(never)]
    unsafe fn run_placed_sources(&self, launch: &mut SourceLaunch, raw: &RawKernel) {
        let State { shape, lengths, placement, copies, known, outcome, .. } = &mut *launch.0;
        let shape = shape.as_ref().expect("sources are placed before they are used");
        let (copies, known) = (copies.as_ref(), known.as_deref());
        let uses = Uses { copies, known, buffers: lengths.is_in_device_memory() };
        // SAFETY: the caller's promises.
        let ran = unsafe { self.run_or_submit(raw, shape, placement.bytes(), uses) };
        *outcome = ran.map(|()| Submitted::Ended);
    }

    /// # Safety
    /// As for [`run_placed_sources`](Self::run_placed_sources); and what the kernel refers to lives until
    /// the launch has ended.
    #[inline(never)]
    unsafe fn submit_placed_sources(&self, launch: &mut SourceLaunch, raw: &RawKernel) {
        let State { shape, placement, outcome, .. } = &mut *launch.0;
        let shape = shape.as_ref().expect("sources are placed before they are used");
        // SAFETY: the caller's promises.
        *outcome = unsafe { self.submit_raw(raw, shape, placement.bytes()) };
    }
}

impl SourceLaunch {
    fn new(
        shape: Result<Option<LaunchShape>, LaunchError>,
        copies_slices: bool,
        submitting: Option<Submitting>,
    ) -> Self {
        let (shape, outcome) = match shape {
            Ok(shape) => (shape, Ok(Submitted::Ended)),
            Err(error) => (None, Err(error)),
        };
        let lengths = shape.as_ref().map_or_else(Lengths::default, LaunchShape::lengths);
        Self(ManuallyDrop::new(State {
            shape,
            lengths: lengths.listing_host_ranges(copies_slices),
            placement: Placement::new(AllPlaced::new()),
            copies: None,
            known: None,
            _submitting: submitting,
            outcome,
        }))
    }
}
