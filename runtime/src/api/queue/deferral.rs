//! Launches that return before they have ended, and are waited for later: those of directives with
//! `async`, and those that an algorithm follows.

use super::Queue;
use crate::data::host_copies::HostCopies;
use crate::data::known_places::KnownPlaces;
use crate::data::pending::{self, Deferral, UsedCopies};
use crate::error::LaunchError;
use crate::launch::erased::RawKernel;
use crate::launch::shape::LaunchShape;

/// What the sources of a launch are in.
#[derive(Clone, Copy)]
pub(super) struct Uses<'a> {
    /// Copies of the host's memory.
    pub(super) copies: Option<&'a HostCopies>,
    /// Those of regions.
    pub(super) known: Option<&'a KnownPlaces>,
    /// Whether any is a buffer of a device.
    pub(super) buffers: bool,
}

impl Queue {
    /// This handle, whose [`for_each_in`](Self::for_each_in) waits as late as it may;
    /// `None` for one that waits always.
    #[cfg(feature = "directives")]
    pub(crate) fn deferring(self, deferral: Option<Deferral>) -> Self {
        Self { deferral, ..self }
    }

    /// This handle, whose launches are waited for.
    #[cfg(feature = "directives")]
    #[inline(never)]
    pub(crate) fn waiting(&self) -> Self {
        self.clone().deferring(None)
    }

    /// Runs a launch, or submits it, if the queue waits for it later.
    ///
    /// # Safety
    /// As for [`run`](Self::run).
    pub(super) unsafe fn run_or_submit(
        &self,
        raw: &RawKernel,
        shape: &LaunchShape,
        bytes: usize,
        uses: Uses<'_>,
    ) -> Result<(), LaunchError> {
        if let Some(kept) = self.kept_until_later(uses)? {
            self.refuse_inside_kernels()?;
            // SAFETY: the caller's promises. What the launch uses is kept until it has ended.
            let launch = unsafe { self.submit_raw(raw, shape, bytes)? };
            pending::add(&self.queue, launch, kept);
            return Ok(());
        }
        // SAFETY: the caller's promises.
        self.finish(uses.copies, unsafe { self.run(*raw, shape, bytes) })
    }

    /// What is kept for a launch that is waited for later; `None` for all others.
    #[inline]
    fn kept_until_later(&self, uses: Uses<'_>) -> Result<Option<UsedCopies>, LaunchError> {
        let Some(deferral) = self.deferral.filter(|_| self.queue.has_own_memory()) else {
            return Ok(None);
        };
        if self.queue.tasks()?.is_some() || uses.buffers && deferral == Deferral::Copies {
            return Ok(None);
        }
        Ok(match uses {
            Uses { known: Some(known), .. } => Some(UsedCopies::of_regions(&known.copies)),
            Uses { copies: Some(copies), .. } => copies.present().map(UsedCopies::owned),
            Uses { buffers, .. } => buffers.then(UsedCopies::default),
        })
    }
}
