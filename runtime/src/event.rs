//! The end of a launch that was not waited for.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use crate::cuda::Pending;
use crate::error::LaunchError;
use crate::panics;

/// A launch that was submitted to a [scope](crate::Queue::scope).
#[derive(Clone, Debug)]
pub struct Event {
    completion: Arc<Completion>,
}

#[derive(Debug, Default)]
struct Completion {
    result: Mutex<Outcome>,
    changed: Condvar,
    complete: AtomicBool,
    duration: OnceLock<Duration>,
    /// Whether the user has got the result.
    observed: AtomicBool,
}

#[derive(Debug, Default)]
enum Outcome {
    /// Somebody will call [`Event::complete`].
    #[default]
    Unknown,
    /// Whoever wants to know asks the device.
    Pending(Pending),
    Known(Result<(), LaunchError>),
}

impl Event {
    pub(crate) fn pending() -> Self {
        Self { completion: Arc::default() }
    }

    /// A launch that a device runs by itself, or that is over.
    pub(crate) fn submitted(started: Result<Option<Pending>, LaunchError>) -> Self {
        let (outcome, complete) = match started {
            Ok(Some(pending)) => (Outcome::Pending(pending), false),
            Ok(None) => (Outcome::Known(Ok(())), true),
            Err(error) => (Outcome::Known(Err(error)), true),
        };
        let (result, complete) = (Mutex::new(outcome), AtomicBool::new(complete));
        Self { completion: Arc::new(Completion { result, complete, ..Completion::default() }) }
    }

    /// The launch is over; what it borrowed is not used any more.
    pub(crate) fn complete(&self, result: Result<(), LaunchError>) {
        let completion = &self.completion;
        let mut known = completion.result.lock().unwrap_or_else(PoisonError::into_inner);
        *known = Outcome::Known(result);
        // Under the lock, so that whoever has waited also sees it complete.
        completion.complete.store(true, Ordering::Release);
        drop(known);
        completion.changed.notify_all();
    }

    /// Whether the launch is over, well or not.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.is_complete_by(Pending::is_over)
    }

    /// As [`is_complete`](Self::is_complete), by what is known of the device without asking it.
    pub(crate) fn is_known_complete(&self) -> bool {
        self.is_complete_by(Pending::is_known_over)
    }

    fn is_complete_by(&self, is_over: impl Fn(&Pending) -> bool) -> bool {
        if self.completion.complete.load(Ordering::Acquire) {
            return true;
        }
        // If another thread has it, that thread waits for the launch.
        let Ok(mut result) = self.completion.result.try_lock() else { return false };
        match &*result {
            Outcome::Pending(pending) if is_over(pending) => {
                self.finish(&mut result);
                true
            }
            Outcome::Pending(_) | Outcome::Unknown => false,
            Outcome::Known(_) => true,
        }
    }

    /// Waits for the device, if it runs the launch by itself.
    fn finish(&self, result: &mut Outcome) {
        if let Outcome::Pending(pending) = std::mem::take(result) {
            let (ended, duration) = pending.finish_timed();
            if let Some(duration) = duration {
                self.took(duration);
            }
            *result = Outcome::Known(ended);
            self.completion.complete.store(true, Ordering::Release);
        }
    }

    /// How long the launch took on its device: once it is over, if it was submitted by way of [`Queue::timed`](crate::Queue::timed).
    /// Time that it waited for its turn does not count; time to compile its kernel does on the host devices.
    ///
    /// ```
    /// # fn main() -> Result<(), schism::Error> {
    /// use schism::prelude::*;
    ///
    /// let queue = Queue::new()?;
    /// let mut numbers = Buffer::filled(&queue, 1000, 1.5_f32)?;
    /// let event = queue.timed().scope(|scope| Ok(scope.for_each(&mut numbers, |x| *x *= *x)?))?;
    /// let took = event.duration().expect("a launch that is over, of a timed queue");
    /// assert!(took.as_secs() < 60);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn duration(&self) -> Option<Duration> {
        self.is_complete().then(|| self.completion.duration.get().copied()).flatten()
    }

    pub(crate) fn took(&self, duration: Duration) {
        // Known once: a launch ends once.
        let _ = self.completion.duration.set(duration);
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
            if matches!(*result, Outcome::Pending(_)) {
                self.finish(&mut result);
            }
            if let Outcome::Known(result) = &*result {
                return result.clone();
            }
            result = self.completion.changed.wait(result).unwrap_or_else(PoisonError::into_inner);
        }
    }
}
