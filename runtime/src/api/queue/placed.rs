//! Where a launch of a queue runs: on its device, or on the host, if the device refuses it or a
//! condition says so; and what is reported of it.

use std::sync::OnceLock;

use super::Queue;
use super::deferral::Uses;
use super::over_sources::ErasedSources;
use crate::api::fallback::{CONDITION, Elsewhere, Fallback, Replaced};
use crate::data::pending::Submitting;
use crate::data::present::is_locating;
use crate::data::source::length::Lengths;
use crate::error::LaunchError;
use crate::hal::Submitted;
use crate::hal::dispatch::{self, BackendPending};
use crate::kernel::group::local::Placement;
use crate::launch::desc::{LaunchDesc, OnRefusal};
use crate::launch::erased::RawKernel;
use crate::launch::report::LaunchReport;
use crate::launch::shape::{LaunchRange, LaunchShape};

impl Queue {
    /// Has the queue's device run a launch by `run`. If that refuses, and was not demanded, another one
    /// runs it; the result is `ended` then.
    ///
    /// # Safety
    /// As for [`submit`](Self::submit).
    #[inline]
    pub(super) unsafe fn run_somewhere<T>(
        &self,
        launch: &LaunchDesc<'_>,
        run: impl FnOnce(&LaunchDesc<'_>) -> Result<T, LaunchError>,
        ended: T,
    ) -> Result<T, LaunchError> {
        if self.reports.is_some() {
            // SAFETY: the caller's promises.
            return unsafe { self.run_reported(launch, run, ended) };
        }
        // SAFETY: as above.
        unsafe { self.run_placed(launch, run, ended) }.1
    }

    /// As [`run_somewhere`](Self::run_somewhere), and tells where, if another device has run it.
    ///
    /// # Safety
    /// As for [`submit`](Self::submit).
    #[inline]
    unsafe fn run_placed<T>(
        &self,
        launch: &LaunchDesc<'_>,
        run: impl FnOnce(&LaunchDesc<'_>) -> Result<T, LaunchError>,
        ended: T,
    ) -> (Option<Replaced>, Result<T, LaunchError>) {
        let placed = |ran: Result<Elsewhere, LaunchError>| match ran {
            Ok((replaced, outcome)) => (Some(replaced), outcome.map(|()| ended)),
            Err(error) => (None, Err(error)),
        };
        if let (Some(condition), Some(fallback)) = (&self.condition, &self.fallback)
            && let Some(device) = &condition.device
        {
            // SAFETY: the caller's promises.
            return placed(unsafe { fallback.run_conditional(device, launch) });
        }
        match (run(launch), self.fallback()) {
            (Err(refused), Some(fallback)) => {
                // SAFETY: the caller's promises; nothing has run.
                placed(unsafe { fallback.run(&self.queue, launch, refused) })
            }
            (outcome, _) => (None, outcome),
        }
    }

    /// What takes the place of the device where that refuses something.
    pub(super) fn fallback(&self) -> Option<&Fallback> {
        let is_used = self.on_refusal != OnRefusal::Fail && self.condition.is_none();
        self.fallback.as_deref().filter(|_| is_used)
    }

    /// As [`run_somewhere`](Self::run_somewhere), and adds a report.
    ///
    /// # Safety
    /// As for [`submit`](Self::submit).
    #[cold]
    unsafe fn run_reported<T>(
        &self,
        launch: &LaunchDesc<'_>,
        run: impl FnOnce(&LaunchDesc<'_>) -> Result<T, LaunchError>,
        ended: T,
    ) -> Result<T, LaunchError> {
        let native = OnceLock::new();
        let launch = LaunchDesc { replaced: Some(&native), ..*launch };
        // SAFETY: the caller's promises.
        let (replaced, outcome) = unsafe { self.run_placed(&launch, run, ended) };
        let has_run = match &outcome {
            Ok(_) => launch.range.items != 0,
            Err(error) => error.has_run(),
        };
        if let Some(reports) = self.reports.as_ref().filter(|_| has_run) {
            let kernel = launch.kernel.name();
            let Replaced { mut device, mut why, bytes_to, bytes_from } =
                replaced.unwrap_or_else(|| Replaced {
                    device: self.device.name().to_owned(),
                    why: self
                        .condition
                        .as_ref()
                        .map_or(self.device.why(), |_| CONDITION)
                        .to_owned(),
                    bytes_to: 0,
                    bytes_from: 0,
                });
            if let Some(reason) = native.into_inner() {
                device = dispatch::BackendDevice::FALLBACK.name().to_owned();
                why = if self.condition.is_some() { format!("{why}; {reason}") } else { reason };
            }
            reports.add(LaunchReport { kernel, device, why, bytes_to, bytes_from });
        }
        outcome
    }
}

/// The sources of a launch, and the name of its closure's type.
type NamedSources<'a> = (&'a mut dyn ErasedSources, fn() -> &'static str);

impl Queue {
    /// Runs a launch over sources, over their common length if it has no range.
    #[inline(never)]
    pub(super) fn run_over_sources(
        &self,
        shape: Option<Result<LaunchShape, LaunchError>>,
        (sources, name): NamedSources<'_>,
    ) -> Result<(), LaunchError> {
        let copies_slices = is_locating(&self.queue);
        let _submitting = self.deferral.is_some().then(Submitting::new);
        self.launch_over_sources(
            shape,
            (sources, name),
            copies_slices,
            |raw, shape, bytes, uses| {
                // SAFETY: the kernel lives until this returns, is `Sync`, and allows the shape.
                unsafe { self.run_or_submit(raw, shape, bytes, uses) }
            },
        )
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
        (sources, name): NamedSources<'_>,
    ) -> Result<Submitted<BackendPending>, LaunchError> {
        self.launch_over_sources(Some(shape), (sources, name), false, |raw, shape, bytes, _| {
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
        (sources, name): NamedSources<'_>,
        copies_slices: bool,
        launch: impl Fn(&RawKernel, &LaunchShape, usize, Uses<'_>) -> Result<T, LaunchError>,
    ) -> Result<T, LaunchError> {
        let shape = shape.transpose()?;
        let lengths = shape.as_ref().map_or_else(Lengths::default, LaunchShape::lengths);
        let mut lengths = lengths.listing_host_ranges(copies_slices);
        sources.check(&mut lengths)?;
        self.check_memory(&lengths, name)?;
        let shape = shape.map_or_else(|| lengths.length()?.shape(), Ok)?;
        // SAFETY: the sources borrow the ranges until `launch` has returned.
        let (copies, placed) =
            unsafe { self.copy_sources(&mut lengths, &shape, &|layout| self.allocate(layout))? };
        let mut placement = Placement::new(placed);
        let uses = Uses { copies: copies.as_ref(), buffers: lengths.is_in_device_memory() };
        let mut outcome = None;
        sources.with_kernel(&mut placement, name, &mut |raw, placement| {
            outcome = Some(launch(raw, &shape, placement.bytes(), uses));
        });
        outcome.expect("sources are launched once")
    }
}
