//! The end of a launch that was not waited for.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};

use crate::error::LaunchError;
use crate::panics;

/// A launch that was submitted to a [scope](crate::Queue::scope).
#[derive(Clone, Debug)]
pub struct Event {
    completion: Arc<Completion>,
}

#[derive(Debug, Default)]
struct Completion {
    result: Mutex<Option<Result<(), LaunchError>>>,
    changed: Condvar,
    complete: AtomicBool,
    /// Whether the user has got the result.
    observed: AtomicBool,
}

impl Event {
    pub(crate) fn pending() -> Self {
        Self { completion: Arc::default() }
    }

    /// The launch is over; what it borrowed is not used any more.
    pub(crate) fn complete(&self, result: Result<(), LaunchError>) {
        let completion = &self.completion;
        let mut known = completion.result.lock().unwrap_or_else(PoisonError::into_inner);
        *known = Some(result);
        // Under the lock, so that whoever has waited also sees it complete.
        completion.complete.store(true, Ordering::Release);
        drop(known);
        completion.changed.notify_all();
    }

    /// Whether the launch is over, well or not.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.completion.complete.load(Ordering::Acquire)
    }

    /// Waits for the end of the launch. Its error is returned here, each time, and then no more by the scope.
    ///
    /// # Errors
    /// What the launch failed with; [`LaunchError::InsideKernel`] if a kernel calls this.
    pub fn wait(&self) -> Result<(), LaunchError> {
        if panics::inside() && !self.is_complete() {
            return Err(LaunchError::InsideKernel);
        }
        self.completion.observed.store(true, Ordering::Relaxed);
        self.result()
    }

    pub(crate) fn is_observed(&self) -> bool {
        self.completion.observed.load(Ordering::Relaxed)
    }

    /// Waits for the end of the launch.
    pub(crate) fn result(&self) -> Result<(), LaunchError> {
        let mut result = self.completion.result.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if let Some(result) = &*result {
                return result.clone();
            }
            result = self.completion.changed.wait(result).unwrap_or_else(PoisonError::into_inner);
        }
    }
}
