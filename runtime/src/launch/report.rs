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
    /// All so far.
    all: Mark,
}

/// How many launches there were so far, and how many bytes were copied.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Mark {
    pub(crate) launches: usize,
    pub(crate) bytes_to: u64,
    pub(crate) bytes_from: u64,
}

impl Mark {
    /// What there was after another.
    pub(crate) const fn since(&self, before: &Self) -> Self {
        Self {
            launches: self.launches - before.launches,
            bytes_to: self.bytes_to - before.bytes_to,
            bytes_from: self.bytes_from - before.bytes_from,
        }
    }
}

impl Reports {
    fn listed(&self) -> MutexGuard<'_, Listed> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn add(&self, mut report: LaunchReport) {
        let mut listed = self.listed();
        listed.all.launches += 1;
        listed.all.bytes_to += report.bytes_to;
        listed.all.bytes_from += report.bytes_from;
        report.bytes_to += std::mem::take(&mut listed.bytes_to);
        listed.launches.push(report);
    }

    /// Adds bytes that were copied to the device to the next launch.
    pub(crate) fn copied_to(&self, bytes: usize) {
        let mut listed = self.listed();
        listed.bytes_to += bytes as u64;
        listed.all.bytes_to += bytes as u64;
    }

    /// Adds bytes that were copied from the device to the latest launch.
    pub(crate) fn copied_from(&self, bytes: usize) {
        let mut listed = self.listed();
        listed.all.bytes_from += bytes as u64;
        if let Some(latest) = listed.launches.last_mut() {
            latest.bytes_from += bytes as u64;
        }
    }

    /// What there is so far.
    pub(crate) fn mark(&self) -> Mark {
        self.listed().all
    }

    /// The device and the reason of a launch after `before` that another device than this one ran.
    pub(crate) fn elsewhere(&self, before: &Mark, device: &str) -> Option<(String, String)> {
        let listed = self.listed();
        let mut launches = listed.launches.iter().skip(before.launches);
        let found = launches.find(|report| report.device != device)?;
        Some((found.device.clone(), found.why.clone()))
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
