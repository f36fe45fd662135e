//! Events: completion of a launch that was submitted to a scope.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use crate::error::LaunchError;
use crate::hal::NumberedLaunch;
use crate::hal::dispatch::{BackendPending, BackendQueue};
use crate::launch::failure;
use crate::util::fork;
use crate::util::timeline;

/// A launch that was submitted to a [scope](crate::Queue::scope).
#[derive(Clone)]
pub struct Event {
    launch: Launch,
}

#[derive(Clone)]
enum Launch {
    /// Its queue knows all of it.
    Numbered(BackendQueue, NumberedLaunch),
    /// The scope waits for it; with its index in the batch.
    Listed(Arc<Batch>, usize),
}

impl fmt::Debug for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Event")
            .field(match &self.launch {
                Launch::Numbered(_, launch) => launch,
                Launch::Listed(batch, index) => &batch.launches[*index],
            })
            .finish()
    }
}

/// The completion states of several consecutive launches, in one allocation: allocating and freeing
/// one for each would take as long as much of the rest of a launch.
#[derive(Debug)]
struct Batch {
    /// The process that submitted them.
    generation: u32,
    launches: [Completion; BATCH],
}

impl Default for Batch {
    fn default() -> Self {
        Self { generation: fork::generation(), launches: Default::default() }
    }
}

impl Batch {
    /// Whether this process was forked from the one that submitted the launches. They have ended
    /// already or never will, and locks may be held forever.
    fn is_of_parent(&self) -> bool {
        self.generation != fork::generation()
    }
}

const BATCH: usize = 16;

/// The launches of a scope, in order of submission.
#[derive(Debug, Default)]
pub(crate) struct Events {
    batches: Vec<Arc<Batch>>,
    /// How many entries of the last batch are in use.
    used: usize,
}

#[derive(Debug, Default)]
struct Completion {
    result: Mutex<Outcome>,
    changed: Condvar,
    complete: AtomicBool,
    duration: OnceLock<Duration>,
    /// Whether the user has received the result.
    observed: AtomicBool,
}

#[derive(Debug, Default)]
enum Outcome {
    /// [`Event::complete`] will be called.
    #[default]
    Unknown,
    /// The device runs it; ask the device.
    Pending(BackendPending),
    Known(Result<(), LaunchError>),
}

impl Events {
    /// Adds a launch; the caller will [complete](Completing::complete) it, or say that it is
    /// [pending](Completing::pending).
    pub(crate) fn add(&mut self) -> Completing {
        let batch = match self.batches.last() {
            Some(batch) if self.used < BATCH && !batch.is_of_parent() => batch,
            _ => {
                self.used = 0;
                self.batches.push(Arc::default());
                &self.batches[self.batches.len() - 1]
            }
        };
        let added = Completing { batch: Arc::clone(batch), index: self.used };
        self.used += 1;
        added
    }

    /// An upper bound for the number of launches.
    pub(crate) fn len(&self) -> usize {
        self.batches.len() * BATCH
    }

    /// Whether all launches have ended, successfully or not.
    pub(crate) fn are_complete(&self) -> bool {
        let last = self.batches.len().saturating_sub(1);
        self.batches.iter().enumerate().all(|(number, batch)| {
            let used = if number == last { self.used } else { BATCH };
            (0..used).all(|index| batch.is_complete_by(index, BackendPending::is_over))
        })
    }

    /// Waits for all launches. Returns the first error that no caller has received.
    ///
    /// # Errors
    /// That one.
    pub(crate) fn wait(self) -> Result<(), LaunchError> {
        let last = self.batches.len().saturating_sub(1);
        let mut first = Ok(());
        for (number, mut batch) in self.batches.into_iter().enumerate() {
            let used = if number == last { self.used } else { BATCH };
            for index in 0..used {
                let result = batch_result(&mut batch, index);
                if first.is_ok() && !batch.launches[index].observed.load(Ordering::Relaxed) {
                    first = result;
                }
            }
        }
        first
    }

    /// Drops launches that are known to have ended without asking a device, but for those whose
    /// error [`wait`](Self::wait) may return.
    pub(crate) fn forget_complete(&mut self) {
        let last = self.batches.last().filter(|_| self.used < BATCH).map(Arc::as_ptr);
        // Whether an earlier launch has failed whose error no event can return any more.
        let mut has_failed = false;
        self.batches.retain(|batch| {
            // The last one ends last.
            if Some(Arc::as_ptr(batch)) == last
                || !(0..BATCH).rev().all(|index| batch.is_known_complete(index))
            {
                return true;
            }
            if has_failed || !(0..BATCH).any(|index| batch.has_unreceived_error(index)) {
                return false;
            }
            has_failed = Arc::strong_count(batch) == 1;
            true
        });
    }
}

/// The result of a launch of a batch, when it has ended. Nothing is locked where this is the only
/// event of the batch.
fn batch_result(batch: &mut Arc<Batch>, index: usize) -> Result<(), LaunchError> {
    if !batch.is_of_parent()
        && let Some(alone) = Arc::get_mut(batch)
        && let Some(result) = alone.launches[index].end()
    {
        return result;
    }
    batch.result(index)
}

impl Completion {
    /// Waits for the end of a launch that no other thread waits for; `None` if it is still to be
    /// submitted.
    fn end(&mut self) -> Option<Result<(), LaunchError>> {
        let result = self.result.get_mut().unwrap_or_else(PoisonError::into_inner);
        match std::mem::take(result) {
            Outcome::Unknown => None,
            Outcome::Known(ended) => Some(ended),
            Outcome::Pending(pending) => Some(pending.finish().0),
        }
    }
}

/// The side of an event that submits the launch, and tells when it has ended.
#[derive(Clone, Debug)]
pub(crate) struct Completing {
    batch: Arc<Batch>,
    index: usize,
}

impl Completing {
    pub(crate) fn into_event(self) -> Event {
        Event { launch: Launch::Listed(self.batch, self.index) }
    }

    fn completion(&self) -> &Completion {
        &self.batch.launches[self.index]
    }

    /// The device runs the launch asynchronously.
    pub(crate) fn pending(&self, pending: BackendPending) {
        let result = &self.completion().result;
        *result.lock().unwrap_or_else(PoisonError::into_inner) = Outcome::Pending(pending);
    }

    /// The launch has ended; what it borrowed is no longer used.
    pub(crate) fn complete(&self, result: Result<(), LaunchError>) {
        let completion = self.completion();
        let mut known = completion.result.lock().unwrap_or_else(PoisonError::into_inner);
        *known = Outcome::Known(result);
        // Under the lock, so that a thread that has waited also sees it as complete.
        completion.complete.store(true, Ordering::Release);
        drop(known);
        completion.changed.notify_all();
    }

    pub(crate) fn took(&self, duration: Duration) {
        self.completion().took(duration);
    }
}

impl Event {
    /// The event of a launch that was submitted to the queue.
    pub(crate) const fn numbered(queue: BackendQueue, launch: NumberedLaunch) -> Self {
        Self { launch: Launch::Numbered(queue, launch) }
    }

    /// Whether the launch has ended, successfully or not.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        match &self.launch {
            Launch::Numbered(queue, launch) => queue.is_over(launch.number),
            Launch::Listed(batch, index) => batch.is_complete_by(*index, BackendPending::is_over),
        }
    }

    /// How long the launch ran on its device: available once it has ended, if it was submitted
    /// through [`Queue::with_timing`](crate::Queue::with_timing). Time in the queue does not count;
    /// on the host devices, the time to compile its kernel does.
    ///
    /// ```
    /// # fn main() -> Result<(), schism::Error> {
    /// use schism::prelude::*;
    ///
    /// let queue = Queue::new()?;
    /// let mut numbers = Buffer::filled(&queue, 1000, 1.5_f32)?;
    /// let event = queue.with_timing().scope(|scope| Ok(scope.for_each(&mut numbers, |x| *x *= *x)?))?;
    /// let took = event.duration().expect("a launch that is over, of a timed queue");
    /// assert!(took.as_secs() < 60);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn duration(&self) -> Option<Duration> {
        match &self.launch {
            // Timed ones are not.
            Launch::Numbered(..) => None,
            Launch::Listed(batch, index) => {
                let known = || batch.launches[*index].duration.get().copied();
                self.is_complete().then(known).flatten()
            }
        }
    }

    /// Waits for the end of the launch. Each call returns its error; the scope then no longer
    /// returns it, unless the device is lost.
    ///
    /// # Errors
    /// The error of the launch; [`LaunchError::InsideKernel`] if a kernel calls this;
    /// [`LaunchError::Forked`] in a process that was forked before the launch ended.
    pub fn wait(&self) -> Result<(), LaunchError> {
        if failure::inside() && !self.is_complete() {
            return Err(LaunchError::InsideKernel);
        }
        match &self.launch {
            Launch::Numbered(queue, launch) => queue.wait(launch),
            Launch::Listed(batch, index) => {
                batch.launches[*index].observed.store(true, Ordering::Relaxed);
                batch.result(*index)
            }
        }
    }
}

impl Batch {
    /// Like [`Event::is_complete`], but does not ask the device.
    fn is_known_complete(&self, index: usize) -> bool {
        self.is_complete_by(index, BackendPending::is_known_over)
    }

    /// Whether a launch that has ended has failed, and no event has returned that.
    fn has_unreceived_error(&self, index: usize) -> bool {
        !self.launches[index].observed.load(Ordering::Relaxed) && self.result(index).is_err()
    }

    fn is_complete_by(&self, index: usize, is_over: impl Fn(&BackendPending) -> bool) -> bool {
        let completion = &self.launches[index];
        if completion.complete.load(Ordering::Acquire) || self.is_of_parent() {
            return true;
        }
        // If another thread holds the lock, that thread waits for the launch.
        let Ok(mut result) = completion.result.try_lock() else { return false };
        match &*result {
            Outcome::Pending(pending) if is_over(pending) => {
                completion.finish(&mut result);
                true
            }
            Outcome::Pending(_) | Outcome::Unknown => false,
            Outcome::Known(_) => true,
        }
    }

    /// Waits for the end of the launch.
    fn result(&self, index: usize) -> Result<(), LaunchError> {
        let completion = &self.launches[index];
        if self.is_of_parent() {
            return completion.result_of_parent();
        }
        let mut result = completion.result.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if matches!(*result, Outcome::Pending(_)) {
                completion.finish(&mut result);
            }
            if let Outcome::Known(result) = &*result {
                return result.clone();
            }
            let _wait = timeline::wait("host");
            result = completion.changed.wait(result).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl Completion {
    /// Waits for the device if it runs the launch asynchronously.
    fn finish(&self, result: &mut Outcome) {
        if let Outcome::Pending(pending) = std::mem::take(result) {
            let (ended, duration) = pending.finish();
            if let Some(duration) = duration {
                self.took(duration);
            }
            *result = Outcome::Known(ended);
            self.complete.store(true, Ordering::Release);
        }
    }

    fn took(&self, duration: Duration) {
        // A launch ends once, so this is set once.
        let _ = self.duration.set(duration);
    }

    /// The result of a launch that the parent of this forked process submitted.
    #[cold]
    fn result_of_parent(&self) -> Result<(), LaunchError> {
        if let Ok(result) = self.result.try_lock()
            && let Outcome::Known(result) = &*result
        {
            return result.clone();
        }
        Err(LaunchError::Forked { reason: fork::OF_PARENT.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failure(number: usize) -> Result<(), LaunchError> {
        Err(LaunchError::Forked { reason: format!("launch {number}") })
    }

    #[test]
    fn launches_that_have_failed_are_dropped_but_for_the_first() {
        let mut events = Events::default();
        let mut received = None;
        for number in 0..50 * BATCH {
            let added = events.add();
            added.complete(if number % 3 == 1 { failure(number) } else { Ok(()) });
            // The user has the event of the first one that fails, and asks later.
            if number == 1 {
                received = Some(added.into_event());
            }
            if number % 100 == 0 {
                events.forget_complete();
            }
        }
        events.forget_complete();
        // The batch of that event, and one with the first error that no event can return.
        assert!(events.batches.len() <= 3, "{}", events.batches.len());
        assert!(received.expect("it is there").wait().is_err());
        let first = events.wait().expect_err("some have failed").to_string();
        assert!(first.contains("launch 4"), "{first}");
    }
}
