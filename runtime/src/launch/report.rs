//! What became of launches, for programs that ask.

use std::sync::{Arc, Mutex, PoisonError};

/// Where a launch ran, and what that took: see [`Queue::report`](crate::Queue::report).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LaunchReport {
    /// The kernel, as errors name it.
    pub kernel: String,
    /// The device that ran it.
    pub device: String,
    /// Why that device: how the queue's was chosen, or why that did not run the kernel.
    pub why: String,
    /// Bytes that were copied to the queue's device for this launch, after another device ran it: all
    /// buffers that the kernel may have written to.
    pub bytes_to: u64,
    /// Bytes that were copied from the queue's device for this launch, before another device ran it.
    pub bytes_from: u64,
}

/// The reports of the launches of a handle.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reports(Arc<Mutex<Vec<LaunchReport>>>);

impl Reports {
    pub(crate) fn add(&self, report: LaunchReport) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(report);
    }

    pub(crate) fn take(&self) -> Vec<LaunchReport> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
