//! What became of launches, for programs that ask.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

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
    /// Bytes that were copied to the queue's device for this launch: slices of the host, also those of
    /// a [region](crate::Queue::resident) or an [algorithm](crate::algorithms) that began after the
    /// launch before it; and buffers after another device ran it.
    pub bytes_to: u64,
    /// Bytes that were copied from the queue's device for this launch: slices of the host, also those of
    /// a region or an algorithm that ended before the launch after it; and buffers before another device
    /// ran it.
    pub bytes_from: u64,
}

/// The reports of the launches of a handle.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reports(Arc<Mutex<Listed>>);

#[derive(Debug, Default)]
struct Listed {
    launches: Vec<LaunchReport>,
    /// Bytes that were copied to the device for the next launch.
    bytes_to: u64,
}

impl Reports {
    fn listed(&self) -> MutexGuard<'_, Listed> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn add(&self, mut report: LaunchReport) {
        let mut listed = self.listed();
        report.bytes_to += std::mem::take(&mut listed.bytes_to);
        listed.launches.push(report);
    }

    /// Adds bytes that were copied to the device to the next launch.
    pub(crate) fn copied_to(&self, bytes: usize) {
        self.listed().bytes_to += bytes as u64;
    }

    /// Adds bytes that were copied from the device to the latest launch.
    pub(crate) fn copied_from(&self, bytes: usize) {
        if let Some(latest) = self.listed().launches.last_mut() {
            latest.bytes_from += bytes as u64;
        }
    }

    pub(crate) fn take(&self) -> Vec<LaunchReport> {
        let mut listed = std::mem::take(&mut *self.listed());
        // What was copied for a launch that has not run.
        if let Some(latest) = listed.launches.last_mut() {
            latest.bytes_to += listed.bytes_to;
        }
        listed.launches
    }
}
