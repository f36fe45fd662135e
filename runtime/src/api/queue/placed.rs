//! Where a launch of a queue runs: on its device, or on the host, if the device refuses it or a
//! condition says so; and what is reported of it.

use std::sync::OnceLock;

use super::Queue;
use crate::api::fallback::{CONDITION, Elsewhere, Fallback, Replaced};
use crate::error::LaunchError;
use crate::hal::dispatch;
use crate::launch::desc::{LaunchDesc, OnRefusal};
use crate::launch::report::LaunchReport;

impl Queue {
    /// Has the queue's device run a launch by `run`. If that refuses, and was not demanded, another one
    /// runs it; the result is `ended` then.
    ///
    /// # Safety
    /// As for [`submit_raw`](Self::submit_raw).
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
    /// As for [`submit_raw`](Self::submit_raw).
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
    /// As for [`submit_raw`](Self::submit_raw).
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
