//! Scopes: launches that return at once.

use std::any::{Any, type_name};
use std::marker::PhantomData;
use std::mem::needs_drop;
use std::panic::{self, AssertUnwindSafe};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Instant;

use crate::api::event::{Completing, Event, Events};
use crate::api::queue::Queue;
use crate::code::display_name::KernelName;
use crate::data::host_copies::HostCopies;
use crate::data::present::{PresentCopy, is_locating};
use crate::data::source::length::Lengths;
use crate::data::source::lent::Lent;
use crate::data::source::traits::{IntoSource, Scoped, Source};
use crate::data::view::ViewMut;
use crate::error::{Error, LaunchError};
use crate::hal::dispatch::BackendPending;
use crate::hal::{NumberedLaunch, Submitted, Task};
use crate::kernel::abi::Kernel;
use crate::kernel::capture::Capture;
use crate::kernel::element::Element;
use crate::kernel::group::local::Placement;
use crate::kernel::offset::At;
use crate::launch::elementwise::{ForEach, ForEachIn, ParallelFor};
use crate::launch::erased::RawKernel;
use crate::launch::failure;
use crate::launch::shape::{LaunchRange, LaunchShape};
use crate::util::fork::NoForkGuard;

/// Submits launches that may borrow from outside the scope: see [`Queue::scope`].
#[derive(Debug)]
pub struct Scope<'scope, 'env: 'scope> {
    queue: Queue,
    /// Launches that may still be running.
    launches: Mutex<Launches>,
    numbered: Numbered,
    /// Copies of slices, which the scope borrows until it ends.
    present: Mutex<Vec<PresentCopy>>,
    scope: PhantomData<&'scope mut &'scope ()>,
    env: PhantomData<&'env mut &'env ()>,
}

/// The launches that the queue has numbered.
#[derive(Debug, Default)]
struct Numbered {
    /// The number of the last one that is not waited for; 0 if there is none.
    last: AtomicU64,
    /// The kernel of the first one, for errors.
    kernel: OnceLock<KernelName>,
}

impl Numbered {
    #[inline]
    fn add(&self, launch: NumberedLaunch) {
        self.kernel.get_or_init(|| launch.kernel);
        self.last.fetch_max(launch.number, Ordering::AcqRel);
    }

    /// What stands for all of them; `None` if there is none.
    fn take(&self) -> Option<NumberedLaunch> {
        let number = self.last.swap(0, Ordering::AcqRel);
        let kernel = *self.kernel.get()?;
        (number != 0).then_some(NumberedLaunch { number, kernel })
    }
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
        let scope = Scope::new(self);
        let submitted = panic::catch_unwind(AssertUnwindSafe(|| submit(&scope)));
        let launched = scope.wait();
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
    pub(super) fn new(queue: &Queue) -> Self {
        Self {
            queue: queue.clone(),
            launches: Mutex::new(Launches { events: Events::default(), many: MANY_EVENTS }),
            numbered: Numbered::default(),
            present: Mutex::default(),
            scope: PhantomData,
            env: PhantomData,
        }
    }

    pub(super) const fn queue(&self) -> &Queue {
        &self.queue
    }

    /// Waits for all launches. Returns the first error that no event has returned.
    ///
    /// # Errors
    /// That one.
    pub(super) fn wait(&self) -> Result<(), LaunchError> {
        let mut launched = Ok(());
        // A kernel on the native device may submit to its own scope, from threads that it starts. Such
        // a launch is listed before the launch of that kernel ends, so when the list stays empty
        // nothing is left.
        loop {
            let events = std::mem::take(&mut self.launches().events);
            let numbered = self.numbered.take();
            if events.len() == 0 && numbered.is_none() {
                return launched;
            }
            let ended = events.wait();
            let numbered = numbered.map_or(Ok(()), |launch| self.queue.backend().wait(&launch));
            launched = launched.and(ended).and(numbered);
        }
    }

    /// Whether all launches have ended, successfully or not.
    pub(super) fn is_over(&self) -> bool {
        let last = self.numbered.last.load(Ordering::Acquire);
        (last == 0 || self.queue.backend().is_over(last)) && self.launches().events.are_complete()
    }

    /// Ends the copies of slices that launches have left.
    pub(super) fn give_up_copies(&self) {
        let copies = std::mem::take(&mut *self.present());
        drop(copies);
    }

    /// Lends a buffer, a slice or a view to the scope's launches; they may read or change it one
    /// after the other.
    #[must_use]
    pub fn lend<T: Element>(
        &'scope self,
        elements: impl Into<ViewMut<'scope, T>>,
    ) -> Lent<'scope, T> {
        Lent::new(elements.into())
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
        // SAFETY: it runs over this range.
        let start = || At::<R::Origin, _>::new(unsafe { ParallelFor::<R, _>::new(kernel) });
        // SAFETY: as above, and it is `Sync`.
        Ok(unsafe { self.submit::<D, _>(shape, 0, type_name::<F>, start) })
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
        let mut lengths = Lengths::default().listing_host_ranges(is_locating(self.queue.backend()));
        let checked = sources.check(&mut lengths);
        // SAFETY: the sources borrow the ranges for longer than this call, which waits.
        let (shape, copies, mut placement) =
            unsafe { self.copy_sources(&mut lengths, checked, None, type_name::<F>)? };
        let ready = sources.prepare(&mut placement);
        let dynamic = placement.bytes();
        // SAFETY: the launch starts here; it runs once, over the sources' length.
        let start = || unsafe { ForEach::new(S::start(ready), kernel) };
        // SAFETY: as above, and it is `Sync`.
        let event = unsafe { self.submit::<1, _>(shape, dynamic, type_name::<F>, start) };
        if let Some(copies) = copies {
            self.finish(copies, &event)?;
        }
        Ok(event)
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
        let mut lengths = shape.lengths().listing_host_ranges(is_locating(self.queue.backend()));
        let checked = sources.check(&mut lengths);
        // SAFETY: the sources borrow the ranges for longer than this call, which waits.
        let (shape, copies, mut placement) =
            unsafe { self.copy_sources(&mut lengths, checked, Some(shape), type_name::<F>)? };
        let ready = sources.prepare(&mut placement);
        let dynamic = placement.bytes();
        let start = || {
            // SAFETY: the launch starts here; it runs once, over a range of the sources' length,
            // with the memory that they have asked for.
            At::<R::Origin, _>::new(unsafe { ForEachIn::<R, _, _>::new(S::start(ready), kernel) })
        };
        // SAFETY: as above, and it is `Sync`.
        let event = unsafe { self.submit::<D, _>(shape, dynamic, type_name::<F>, start) };
        if let Some(copies) = copies {
            self.finish(copies, &event)?;
        }
        Ok(event)
    }

    /// Copies sources in the host's memory to the device, if it needs that. Where it has no room, the
    /// copies that earlier launches have left go.
    ///
    /// # Safety
    /// As for [`HostCopies::new`].
    unsafe fn copy_sources(
        &self,
        lengths: &mut Lengths,
        checked: Result<(), LaunchError>,
        shape: Option<LaunchShape>,
        kernel: fn() -> &'static str,
    ) -> Result<(LaunchShape, Option<HostCopies>, Placement), LaunchError> {
        checked?;
        self.queue.check_memory(lengths, kernel)?;
        let shape = shape.map_or_else(|| lengths.length()?.shape(), Ok)?;
        let allocate = |layout| {
            self.queue.allocate(layout).or_else(|error| {
                let left = std::mem::take(&mut *self.present());
                if left.is_empty() {
                    return Err(error);
                }
                drop(left);
                self.queue.allocate(layout)
            })
        };
        // SAFETY: the caller's promise.
        let (copies, placed) = unsafe { self.queue.copy_sources(lengths, &shape, &allocate)? };
        Ok((shape, copies, Placement::new(placed)))
    }

    /// Waits for a launch over copies, and copies back what it has changed. Later launches of the
    /// scope find what it has read: the scope borrows that until it ends.
    fn finish(&'scope self, copies: HostCopies, event: &Event) -> Result<(), LaunchError> {
        self.queue.finish(Some(&copies), event.wait())?;
        self.present().extend(copies.leave(self.queue.backend().device_name()));
        Ok(())
    }

    fn present(&self) -> MutexGuard<'_, Vec<PresentCopy>> {
        self.present.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn launches(&self) -> MutexGuard<'_, Launches> {
        self.launches.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Submits a launch to the queue. `start` makes its kernel, which is dropped before the event
    /// completes, in a task of the queue where that has tasks. `name` is that of the user's closure.
    ///
    /// # Safety
    /// The kernel is `Sync`, and allows this shape, with `dynamic` bytes of local memory that the
    /// launch adds for each group.
    unsafe fn submit<const D: usize, K: Kernel<D>>(
        &'scope self,
        shape: LaunchShape,
        dynamic: usize,
        name: fn() -> &'static str,
        start: impl FnOnce() -> K + Send + 'scope,
    ) -> Event {
        let tasks = match self.queue.backend().tasks() {
            Ok(Some(tasks)) => tasks,
            Ok(None) => {
                // Where captures run no code of the program when they are dropped, one guard is for
                // the launch and its event.
                let _no_fork = (!needs_drop::<K>()).then(NoForkGuard::enter);
                let run = || {
                    let kernel = start();
                    let raw = RawKernel::new::<_, D>(&raw const kernel, name);
                    // SAFETY: the kernel lives in this frame; the caller's promises.
                    self.listed(unsafe { self.queue.submit_raw(&raw, &shape, dynamic) })
                };
                let event = panic::catch_unwind(AssertUnwindSafe(run));
                return event.unwrap_or_else(|payload| {
                    self.listed(Err(while_dropping(payload, &self.queue)))
                });
            }
            Err(error) => return self.listed(Err(error)),
        };
        let completion = self.list(|_| ());
        let (queue, event) = (self.queue.clone(), completion.clone().into_event());
        let task: Box<dyn FnOnce() + Send + 'scope> = Box::new(move || {
            let started = queue.is_timed().then(Instant::now);
            // SAFETY: the caller's promises.
            let result = unsafe { submit_to(&queue, &shape, dynamic, name, start) };
            if let Some(started) = started {
                completion.took(started.elapsed());
            }
            completion.complete(result.and_then(|launch| queue.backend().finish(launch).0));
        });
        // SAFETY: only the lifetime changes. The task is called or dropped before its event
        // completes, and the scope, which ends before 'scope does, waits for that.
        let task = unsafe { std::mem::transmute::<Box<dyn FnOnce() + Send + 'scope>, Task>(task) };
        tasks.submit(task);
        event
    }

    /// Adds a launch that was submitted to those that the scope waits for.
    #[inline(never)]
    fn listed(&self, result: Result<Submitted<BackendPending>, LaunchError>) -> Event {
        let listed = match result {
            Ok(Submitted::Numbered(launch)) => {
                self.numbered.add(launch);
                return Event::numbered(self.queue.backend().clone(), launch);
            }
            Ok(Submitted::Pending(pending)) => self.list(|listed| listed.pending(pending)),
            Ok(Submitted::Ended) => self.list(|listed| listed.complete(Ok(()))),
            Err(error) => self.list(|listed| listed.complete(Err(error))),
        };
        listed.into_event()
    }

    /// Adds a launch to those that the scope waits for; `begin` gets it before anybody else does.
    fn list(&self, begin: impl FnOnce(&Completing)) -> Completing {
        let _no_fork = NoForkGuard::enter();
        let mut launches = self.launches();
        let added = launches.events.add();
        begin(&added);
        if launches.events.len() > launches.many {
            self.queue.backend().poll();
            launches.events.forget_complete();
            launches.many = MANY_EVENTS.max(2 * launches.events.len());
        }
        added
    }
}

/// Makes a kernel and submits it. What it captures is dropped here too: in a program for the native
/// device only, destructors may do anything.
///
/// # Safety
/// As for [`Scope::submit`]; if the queue has tasks, the caller is one.
unsafe fn submit_to<const D: usize, K: Kernel<D>>(
    queue: &Queue,
    shape: &LaunchShape,
    dynamic: usize,
    name: fn() -> &'static str,
    start: impl FnOnce() -> K,
) -> Result<Submitted<BackendPending>, LaunchError> {
    let run = || {
        let kernel = start();
        let raw = RawKernel::new::<_, D>(&raw const kernel, name);
        // SAFETY: the kernel lives in this frame; the caller's promises.
        unsafe { queue.submit_raw(&raw, shape, dynamic) }
    };
    panic::catch_unwind(AssertUnwindSafe(run))
        .unwrap_or_else(|payload| Err(while_dropping(payload, queue)))
}

/// The error of a launch whose captures panicked when they were dropped.
fn while_dropping(payload: Box<dyn Any + Send>, queue: &Queue) -> LaunchError {
    failure::while_dropping(payload, queue.device().name())
}
