//! A state behind a lock, and a condition to wait on: a monitor (C. A. R. Hoare, "Monitors: an operating system structuring concept",
//! 1974; with the signals of Lampson and Redell, "Experience with processes and monitors in Mesa", 1980: who was woken looks again).

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// A state that threads share.
///
/// A thread that panics while it has the lock does not keep others out: all that is done under such a lock leaves the state whole.
#[derive(Debug, Default)]
pub(crate) struct Monitor<S> {
    state: Mutex<S>,
    changed: Condvar,
}

impl<S> Monitor<S> {
    pub(crate) fn lock(&self) -> MutexGuard<'_, S> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives the lock away until somebody has [told](Self::notify_all) of a change, or for no reason at all.
    pub(crate) fn wait<'a>(&self, state: MutexGuard<'a, S>) -> MutexGuard<'a, S> {
        self.changed.wait(state).unwrap_or_else(PoisonError::into_inner)
    }

    /// Wakes all who wait.
    pub(crate) fn notify_all(&self) {
        self.changed.notify_all();
    }
}
