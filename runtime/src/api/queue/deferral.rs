//! Launches that return before they have ended, and are waited for later: those of directives with
//! `async`, and those that an algorithm follows.

use super::Queue;
use crate::data::device_copy::CopyOwner;
use crate::data::host_copies::HostCopies;
use crate::data::pending::{self, Deferral};
use crate::error::LaunchError;
use crate::launch::erased::RawKernel;
use crate::launch::shape::LaunchShape;

impl Queue {
    /// A handle to this queue whose [`for_each_in`](Self::for_each_in) waits as late as it may;
    /// `None` for one that waits always.
    #[cfg(feature = "directives")]
    pub(crate) fn deferring(&self, deferral: Option<Deferral>) -> Self {
        Self { deferral, ..self.clone() }
    }

    /// Runs a launch over such copies of the host's memory, or submits it, if the queue defers its waiting.
    ///
    /// # Safety
    /// As for [`run`](Self::run).
    pub(super) unsafe fn run_over(
        &self,
        raw: RawKernel,
        shape: &LaunchShape,
        bytes: usize,
        (copies, uses_buffers): (Option<HostCopies>, bool),
    ) -> Result<(), LaunchError> {
        if let Some(kept) = self.deferred(copies.as_ref(), uses_buffers)? {
            self.refuse_inside_kernels()?;
            // SAFETY: the caller's promises. What the launch uses is kept until it has ended.
            let launch = unsafe { self.submit(&raw, shape, bytes)? };
            pending::add(&self.queue, launch, kept);
            return Ok(());
        }
        // SAFETY: the caller's promises.
        self.finish(copies.as_ref(), unsafe { self.run(raw, shape, bytes) })
    }

    /// What is kept for a launch that need not be waited for; `None` for all others.
    #[inline]
    fn deferred(
        &self,
        copies: Option<&HostCopies>,
        uses_buffers: bool,
    ) -> Result<Option<Vec<CopyOwner>>, LaunchError> {
        let Some(deferral) = self.deferral.filter(|_| self.queue.has_own_memory()) else {
            return Ok(None);
        };
        if self.queue.tasks()?.is_some() || uses_buffers && deferral == Deferral::Copies {
            return Ok(None);
        }
        Ok(copies.map_or_else(|| uses_buffers.then(Vec::new), HostCopies::present))
    }
}
