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
    /// Why that device: how the queue's was chosen, or why that did not run the kernel, or that the
    /// condition of [`when`](crate::Queue::when) is false.
    pub why: String,
    /// Bytes that were copied to the queue's device for this launch: slices of the host, and buffers
    /// after another device ran it.
    pub bytes_to: u64,
    /// Bytes that were copied from the queue's device for this launch: slices of the host, and
    /// buffers before another device ran it.
    pub bytes_from: u64,
}

/// The reports of the launches of a handle.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reports(Arc<Mutex<Vec<LaunchReport>>>);

impl Reports {
    pub(crate) fn add(&self, report: LaunchReport) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(report);
    }

    /// Adds copies to the launch that was reported last.
    pub(crate) fn add_copies(&self, to: u64, from: u64) {
        let mut reports = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(last) = reports.last_mut() {
            last.bytes_to += to;
            last.bytes_from += from;
        }
    }

    pub(crate) fn take(&self) -> Vec<LaunchReport> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
