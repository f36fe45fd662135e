//! Several events: waiting for one or all of them, and work that comes after them.

use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Wake, Waker};
use std::thread::{self, Thread};

use crate::api::owned_event::{Core, OwnedEvent, deferred, wake_at_end};
use crate::api::queue::Queue;
use crate::api::scope::Scope;
use crate::api::watcher::{Job, Watcher};
use crate::error::Error;
use crate::launch::failure;

mod sealed {
    use super::{Arc, Core};

    pub trait Submitted {
        /// What was submitted; `None` if it was given back.
        fn submitted(&self) -> Option<Arc<Core>>;
    }
}

/// An [`OwnedEvent`], whatever it owns.
pub trait AnyEvent: sealed::Submitted {}

impl<T: Send + 'static> sealed::Submitted for OwnedEvent<T> {
    fn submitted(&self) -> Option<Arc<Core>> {
        self.core()
    }
}

impl<T: Send + 'static> AnyEvent for OwnedEvent<T> {}

impl<E: AnyEvent + ?Sized> sealed::Submitted for &E {
    fn submitted(&self) -> Option<Arc<Core>> {
        (**self).submitted()
    }
}

impl<E: AnyEvent + ?Sized> AnyEvent for &E {}

/// Wakes a thread.
struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

thread_local! {
    static UNPARK: Waker = Waker::from(Arc::new(Unpark(thread::current())));
}

/// Waits until one of several events has ended, successfully or not, and returns its index; `None` if there
/// are none. A kernel that calls this does not wait, and gets `None` if none has ended.
///
/// ```
/// # fn main() -> Result<(), schism::Error> {
/// use schism::prelude::*;
///
/// let (one, two) = (Queue::new()?, Queue::new()?);
/// let work = |queue: &Queue| {
///     let numbers = Buffer::filled(queue, 1000, 1_u32)?;
///     queue.submit(numbers, |scope, numbers| {
///         scope.for_each(numbers, |x| *x += 1)?;
///         Ok(())
///     })
/// };
/// let mut events = vec![work(&one)?, work(&two)?];
/// while let Some(first) = schism::wait_any(&events) {
///     let numbers = events.remove(first).wait()?;
///     assert_eq!(numbers.to_vec(), [2; 1000]);
/// }
/// # Ok(())
/// # }
/// ```
#[must_use]
pub fn wait_any<'a, E: AnyEvent + ?Sized + 'a>(
    events: impl IntoIterator<Item = &'a E>,
) -> Option<usize> {
    let all: Vec<_> = events.into_iter().map(|event| event.submitted()).collect();
    let is_done = |event: &Option<Arc<Core>>| event.as_ref().is_none_or(|core| core.is_done());
    let first = || all.iter().position(is_done);
    if all.is_empty() || failure::inside() {
        return first();
    }
    let waker = UNPARK.try_with(Waker::clone);
    let waker = waker.unwrap_or_else(|_| Waker::from(Arc::new(Unpark(thread::current()))));
    loop {
        if let Some(first) = first() {
            return Some(first);
        }
        if all.iter().flatten().all(|core| wake_at_end(core, &waker)) {
            thread::park();
        }
    }
}

/// Waits until all of several events have ended, and gives back what they own.
///
/// # Errors
/// The first error of one of them; what the others own is dropped.
pub fn wait_all<T: Send + 'static>(
    events: impl IntoIterator<Item = OwnedEvent<T>>,
) -> Result<Vec<T>, Error> {
    let all: Vec<_> = events.into_iter().map(OwnedEvent::wait).collect();
    all.into_iter().collect()
}

/// Submits work that begins when events have ended: see [`Queue::after`].
#[must_use = "`submit` submits the work"]
pub struct After {
    queue: Queue,
    before: Vec<Arc<Core>>,
}

impl Queue {
    /// Submits work to this queue that begins when events have ended, successfully or not: those of other
    /// queues and devices, since the launches of one queue run in order anyway. Until then none of it is
    /// submitted: launches that are submitted to this queue meanwhile come before it, and it can be
    /// [cancelled](OwnedEvent::cancel).
    ///
    /// ```
    /// # fn main() -> Result<(), schism::Error> {
    /// use std::sync::Arc;
    ///
    /// use schism::prelude::*;
    ///
    /// let (first, second) = (Queue::new()?, Queue::new()?);
    /// let filled = |queue: &Queue, number: u32| {
    ///     let numbers = Buffer::filled(queue, 1000, 0)?;
    ///     queue.submit(numbers, move |scope, numbers| {
    ///         scope.for_each(numbers, move |x| *x = number)?;
    ///         Ok(())
    ///     })
    /// };
    /// let (one, two) = (filled(&first, 1)?, filled(&second, 2)?);
    /// let numbers = Buffer::filled(&first, 1000, 3)?;
    /// let third = first.after([&one, &two]).submit(numbers, |scope, numbers| {
    ///     scope.for_each(numbers, |x| *x += 1)?;
    ///     Ok(())
    /// })?;
    /// assert_eq!(third.wait()?.to_vec(), [4; 1000]);
    /// assert!(one.is_done() && two.is_done());
    /// # Ok(())
    /// # }
    /// ```
    pub fn after<'a, E: AnyEvent + ?Sized + 'a>(
        &self,
        events: impl IntoIterator<Item = &'a E>,
    ) -> After {
        let before = events.into_iter().filter_map(|event| event.submitted());
        After { queue: self.clone(), before: before.collect() }
    }
}

impl After {
    /// As [`Queue::submit`]. The closure is called later, perhaps by another thread; its error, or its panic
    /// as [`LaunchError::Panicked`](crate::LaunchError::Panicked), is that of the event.
    ///
    /// # Errors
    /// [`LaunchError::InsideKernel`](crate::LaunchError::InsideKernel) if a kernel calls this.
    pub fn submit<T, F>(self, owned: T, work: F) -> Result<OwnedEvent<T>, Error>
    where
        T: Send + 'static,
        F: for<'scope> FnOnce(&'scope Scope<'scope, 'static>, &'scope mut T) -> Result<(), Error>
            + Send
            + 'static,
    {
        self.queue.refuse_inside_kernels()?;
        let (event, begin) = deferred(&self.queue, owned, work);
        let countdown = Arc::new(Countdown {
            left: AtomicUsize::new(self.before.len() + 1),
            begin: Mutex::new(Some(begin)),
            watcher: Arc::clone(self.queue.watcher()),
        });
        for core in &self.before {
            if !wake_at_end(core, &Waker::from(Arc::new(Once(Arc::clone(&countdown))))) {
                countdown.count();
            }
        }
        countdown.count();
        Ok(event)
    }
}

impl fmt::Debug for After {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("After").field("events", &self.before.len()).finish_non_exhaustive()
    }
}

/// Submits work when the last of several events has ended.
struct Countdown {
    left: AtomicUsize,
    begin: Mutex<Option<Job>>,
    watcher: Arc<Watcher>,
}

/// Counts for one event. Each is another waker, since an event wakes one of several that are the same.
struct Once(Arc<Countdown>);

impl Wake for Once {
    fn wake(self: Arc<Self>) {
        self.0.count();
    }
}

impl Countdown {
    fn count(&self) {
        if self.left.fetch_sub(1, Ordering::AcqRel) == 1
            && let Some(begin) = self.begin.lock().unwrap_or_else(PoisonError::into_inner).take()
            && let Err((begin, error)) = self.watcher.begin(begin)
        {
            tracing::warn!(%error, "no thread that waits for events");
            begin();
        }
    }
}
