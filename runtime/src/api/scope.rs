//! Scopes: launches that return at once.

use std::any::{Any, type_name};
use std::marker::PhantomData;
use std::mem::needs_drop;
use std::panic::{self, AssertUnwindSafe};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use crate::api::event::{Event, Events};
use crate::api::queue::Queue;
use crate::data::buffer::Buffer;
use crate::data::source::length::Lengths;
use crate::data::source::lent::Lent;
use crate::data::source::traits::{IntoSource, Scoped, Source};
use crate::error::{Error, LaunchError};
use crate::hal::dispatch::BackendPending;
use crate::hal::{Submitted, Task};
use crate::kernel::capture::Capture;
use crate::kernel::element::Element;
use crate::kernel::group::local::Placement;
use crate::kernel::offset::At;
use crate::launch::elementwise::{ForEach, ForEachIn, ParallelFor};
use crate::launch::erased::RawKernel;
use crate::launch::failure;
use crate::launch::shape::LaunchRange;
use crate::util::fork::NoForkGuard;

/// Submits launches that may borrow from outside the scope: see [`Queue::scope`].
#[derive(Debug)]
pub struct Scope<'scope, 'env: 'scope> {
    queue: Queue,
    /// Launches that may still be running.
    launches: Mutex<Launches>,
    scope: PhantomData<&'scope mut &'scope ()>,
    env: PhantomData<&'env mut &'env ()>,
}

#[derive(Debug)]
struct Launches {
    events: Events,
    /// The number of launches at which completed ones are dropped.
    many: usize,
}

/// A scope with more launches than this drops completed ones.
const MANY_EVENTS: usize = 256;

impl Queue {
    /// Runs `submit` with a scope, whose launches return at once and run in order, and then waits
    /// for all of them.
    ///
    /// Like [`std::thread::scope`]: launches may borrow anything that outlives the scope, because
    /// the scope ends after them. A buffer that several launches use, one of which changes it, is
    /// [lent](Scope::lend) to the scope first.
    ///
    /// ```
    /// # fn main() -> Result<(), schism::Error> {
    /// use schism::prelude::*;
    ///
    /// let queue = Queue::new()?;
    /// let x = Buffer::from_slice(&queue, &[1, 2, 3, 4])?;
    /// let mut y = Buffer::with_len(&queue, 4)?;
    /// let mut sums = Buffer::with_len(&queue, 2)?;
    /// queue.scope(|scope| {
    ///     let mut y = scope.lend(&mut y);
    ///     scope.for_each((&mut y, &x), |(y, x)| *y = x * x)?;
    ///     scope.for_each((&mut sums, y.chunks(2)), |(sum, y)| *sum = y[0] + y[1])?;
    ///     // Here the host is free to do something else.
    ///     Ok(())
    /// })?;
    /// assert_eq!(sums.to_vec(), [5, 25]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// The error of `submit`; otherwise the first error of a launch that [`Event::wait`] has not
    /// returned already; [`LaunchError::InsideKernel`] if a kernel calls this.
    ///
    /// # Panics
    /// If `submit` panics, after waiting for its launches.
    pub fn scope<'env, R, F>(&self, submit: F) -> Result<R, Error>
    where
        F: for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> Result<R, Error>,
    {
        self.refuse_inside_kernels()?;
        let scope = Scope {
            queue: self.clone(),
            launches: Mutex::new(Launches { events: Events::default(), many: MANY_EVENTS }),
            scope: PhantomData,
            env: PhantomData,
        };
        let submitted = panic::catch_unwind(AssertUnwindSafe(|| submit(&scope)));
        let mut launched = Ok(());
        // A kernel on the native device may submit to its own scope, from threads of its own. Such
        // a launch is listed before the launch of that kernel ends, so when the list stays empty
        // nothing is left.
        loop {
            let events = std::mem::take(&mut scope.launches().events);
            if events.len() == 0 {
                break;
            }
            let ended = events.wait();
            launched = launched.and(ended);
        }
        match submitted {
            Err(payload) => panic::resume_unwind(payload),
            Ok(submitted) => {
                let submitted = submitted?;
                launched?;
                Ok(submitted)
            }
        }
    }
}

impl<'scope, 'env> Scope<'scope, 'env> {
    /// Lends a buffer to the scope's launches; they may read or change it one after the other.
    #[must_use]
    pub fn lend<T: Element>(&'scope self, buffer: &'scope mut Buffer<T>) -> Lent<'scope, T> {
        Lent::new(buffer)
    }

    /// Submits what [`Queue::parallel_for`] runs.
    ///
    /// # Errors
    /// [`LaunchError::RangeOverflow`]; other errors come from the event and from the scope.
    pub fn parallel_for<const D: usize, R, F>(
        &'scope self,
        range: R,
        kernel: F,
    ) -> Result<Event, LaunchError>
    where
        R: LaunchRange<D>,
        F: for<'g> Fn(R::Item<'g>) + Send + Sync + Capture + 'scope,
    {
        self.queue.refuse_inside_kernels()?;
        let shape = range.shape()?;
        Ok(self.submit(move |queue| {
            // SAFETY: it runs over this range.
            let kernel = At::<R::Origin, _>::new(unsafe { ParallelFor::<R, _>::new(kernel) });
            let raw = RawKernel::new::<_, D>(&raw const kernel, type_name::<F>);
            // SAFETY: the kernel lives in this frame, and is `Sync`.
            unsafe { queue.submit(raw, &shape, 0) }
        }))
    }

    /// Submits what [`Queue::for_each`] runs.
    ///
    /// # Errors
    /// Errors of the sources' lengths; other errors come from the event and from the scope.
    pub fn for_each<S, F>(&'scope self, sources: S, kernel: F) -> Result<Event, LaunchError>
    where
        S: IntoSource<Scoped<'scope>>,
        S::Ready: 'scope,
        F: for<'item> Fn(<S::Source as Source>::Item<'item>) + Send + Sync + Capture + 'scope,
    {
        self.queue.refuse_inside_kernels()?;
        let mut lengths = Lengths::default();
        sources.check(&mut lengths)?;
        self.queue.check_memory(&lengths, type_name::<F>)?;
        let shape = lengths.length()?.shape()?;
        let mut placement = Placement::new();
        let ready = sources.prepare(&mut placement);
        let dynamic = placement.bytes();
        Ok(self.submit(move |queue| {
            // SAFETY: the launch starts here; it runs once, over the sources' length.
            let kernel = unsafe { ForEach::new(S::start(ready), kernel) };
            let raw = RawKernel::new::<_, 1>(&raw const kernel, type_name::<F>);
            // SAFETY: the kernel lives in this frame, and is `Sync`.
            unsafe { queue.submit(raw, &shape, dynamic) }
        }))
    }

    /// Submits what [`Queue::for_each_in`] runs.
    ///
    /// # Errors
    /// Errors of the range and of the sources' lengths; other errors come from the event and from
    /// the scope.
    pub fn for_each_in<const D: usize, R, S, F>(
        &'scope self,
        range: R,
        sources: S,
        kernel: F,
    ) -> Result<Event, LaunchError>
    where
        R: LaunchRange<D>,
        S: IntoSource<R::Mode<Scoped<'scope>>>,
        S::Ready: 'scope,
        F: for<'g> Fn(R::Item<'g>, <S::Source as Source>::Item<'g>)
            + Send
            + Sync
            + Capture
            + 'scope,
    {
        self.queue.refuse_inside_kernels()?;
        let shape = range.shape()?;
        let mut lengths = shape.lengths();
        sources.check(&mut lengths)?;
        self.queue.check_memory(&lengths, type_name::<F>)?;
        let mut placement = Placement::new();
        let ready = sources.prepare(&mut placement);
        let dynamic = placement.bytes();
        Ok(self.submit(move |queue| {
            // SAFETY: the launch starts here; it runs once, over a range of the sources' length,
            // with the memory that they have asked for.
            let kernel = unsafe { ForEachIn::<R, _, _>::new(S::start(ready), kernel) };
            let kernel = At::<R::Origin, _>::new(kernel);
            let raw = RawKernel::new::<_, D>(&raw const kernel, type_name::<F>);
            // SAFETY: the kernel lives in this frame, and is `Sync`.
            unsafe { queue.submit(raw, &shape, dynamic) }
        }))
    }

    fn launches(&self) -> MutexGuard<'_, Launches> {
        self.launches.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Submits a launch to the queue. `run` is called by a task of the queue where that has tasks,
    /// and is dropped before the event completes.
    fn submit<R>(&'scope self, run: R) -> Event
    where
        R: FnOnce(&Queue) -> Result<Submitted<BackendPending>, LaunchError> + Send + 'scope,
    {
        let tasks = match self.queue.backend().tasks() {
            Ok(Some(tasks)) => tasks,
            Ok(None) => {
                // Where captures run no code of the program when they are dropped, one guard is for
                // the launch and its event.
                let _no_fork = (!needs_drop::<R>()).then(NoForkGuard::enter);
                let result = panic::catch_unwind(AssertUnwindSafe(|| run(&self.queue)));
                let result =
                    result.unwrap_or_else(|payload| Err(while_dropping(payload, &self.queue)));
                // SAFETY: the event is this launch's, and of its queue.
                return self.list(|event| unsafe { event.submitted(result) });
            }
            Err(error) => return self.list(|event| event.complete(Err(error))),
        };
        let event = self.list(|_| ());
        let (queue, completion) = (self.queue.clone(), event.clone());
        let task: Box<dyn FnOnce() + Send + 'scope> = Box::new(move || {
            // The kernel's captures are dropped here too; in a program for the native device only,
            // their destructors may do anything.
            let started = queue.is_timed().then(Instant::now);
            let result = panic::catch_unwind(AssertUnwindSafe(|| run(&queue)));
            if let Some(started) = started {
                completion.took(started.elapsed());
            }
            let result = result.unwrap_or_else(|payload| Err(while_dropping(payload, &queue)));
            completion.complete(result.and_then(|launch| queue.backend().finish(launch).0));
        });
        // SAFETY: only the lifetime changes. The task is called or dropped before its event
        // completes, and the scope, which ends before 'scope does, waits for that.
        let task = unsafe { std::mem::transmute::<Box<dyn FnOnce() + Send + 'scope>, Task>(task) };
        tasks.submit(task);
        event
    }

    /// Adds a launch to those that the scope waits for; `begin` gets its event before anybody else
    /// does.
    fn list(&self, begin: impl FnOnce(&Event)) -> Event {
        let _no_fork = NoForkGuard::enter();
        let mut launches = self.launches();
        let event = launches.events.add(self.queue.backend());
        begin(&event);
        if launches.events.len() > launches.many {
            self.queue.backend().poll();
            launches.events.forget_complete();
            launches.many = MANY_EVENTS.max(2 * launches.events.len());
        }
        event
    }
}

/// The error of a launch whose captures panicked when they were dropped.
fn while_dropping(payload: Box<dyn Any + Send>, queue: &Queue) -> LaunchError {
    failure::while_dropping(payload, queue.device().name())
}
