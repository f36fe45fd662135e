//! Monitors: state behind a lock, with a condition to wait on (C. A. R. Hoare, "Monitors: an
//! operating system structuring concept", 1974; with the signals of Lampson and Redell, "Experience
//! with processes and monitors in Mesa", 1980: a woken thread checks the condition again).

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// State that threads share.
///
/// A panic with the lock held does not poison it: every critical section leaves the state
/// consistent.
#[derive(Debug, Default)]
pub(crate) struct Monitor<S> {
    state: Mutex<S>,
    changed: Condvar,
}

impl<S> Monitor<S> {
    pub(crate) fn lock(&self) -> MutexGuard<'_, S> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Releases the lock until [`notify_all`](Self::notify_all), or a spurious wake-up.
    pub(crate) fn wait<'a>(&self, state: MutexGuard<'a, S>) -> MutexGuard<'a, S> {
        self.changed.wait(state).unwrap_or_else(PoisonError::into_inner)
    }

    /// The same, for no longer than this.
    pub(crate) fn wait_for<'a>(
        &self,
        state: MutexGuard<'a, S>,
        time: Duration,
    ) -> MutexGuard<'a, S> {
        self.changed.wait_timeout(state, time).unwrap_or_else(PoisonError::into_inner).0
    }

    /// Wakes all waiting threads.
    pub(crate) fn notify_all(&self) {
        self.changed.notify_all();
    }
}
