//! Launches that outlive the call: what is submitted owns what it uses, until its event gives that back.

use std::cell::UnsafeCell;
use std::fmt;
use std::future::Future;
use std::panic::{self, AssertUnwindSafe};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use crate::api::queue::Queue;
use crate::api::scope::Scope;
use crate::api::watcher::Watched;
use crate::error::{Error, LaunchError};
use crate::launch::{failure, payload};
use crate::util::fork;
use crate::util::monitor::Monitor;
use crate::util::timeline;

/// Work that was [submitted](Queue::submit) to a queue, and what it uses: buffers, vectors, anything that
/// was moved there.
///
/// [`wait`](Self::wait) gives that back. As a [`Future`] it does the same, in any executor: a thread of the
/// queue's waits for the device, and wakes the task. An event that is dropped changes nothing for its work,
/// which is done as submitted; then what it owns is dropped.
///
/// At the end of the process work may be cut off that nothing has waited for.
#[must_use = "`wait` gives back what the work owns; drop it to let the work free that"]
pub struct OwnedEvent<T: Send + 'static> {
    /// `None` when it was given back.
    submission: Option<Arc<Submission<Option<T>>>>,
}

/// What was submitted, and what it owns.
struct Submission<T: ?Sized> {
    core: Arc<Core>,
    /// Of the launches while they run, and of the event afterwards.
    owned: UnsafeCell<T>,
}

// SAFETY: what it owns is used by the launches of the scope, which take references as they do of what a
// scope borrows, and is moved to the thread that has the event, or dropped by the last one that has this.
unsafe impl<T: ?Sized + Send> Send for Submission<T> {}
// SAFETY: as above; `owned` is used by one of them at a time.
unsafe impl<T: ?Sized + Send> Sync for Submission<T> {}

/// What all submissions have.
pub struct Core {
    scope: Scope<'static, 'static>,
    /// The process that submitted it.
    generation: u32,
    state: Monitor<State>,
    /// Whether it is done.
    has_ended: AtomicBool,
}

#[derive(Default)]
struct State {
    progress: Progress,
    /// Those who asked to be woken.
    wakers: Vec<Waker>,
    /// Whether a thread is to wait for the end.
    is_watched: bool,
    /// Its number among what was submitted to the queue, once it is.
    number: Option<u64>,
    /// What it owns, if its event was dropped before the end.
    kept: Option<Arc<Submission<dyn Send>>>,
}

#[derive(Default)]
enum Progress {
    /// Events before it have not ended, and none of it is submitted.
    #[default]
    Deferred,
    /// A thread submits it, or waits for it.
    Held,
    /// It is submitted.
    Running,
    /// It has ended, or was cancelled.
    Done(Result<(), Error>),
}

impl Core {
    fn new(queue: &Queue) -> Self {
        let (state, has_ended) = (Monitor::default(), AtomicBool::new(false));
        Self { scope: Scope::new(queue), generation: fork::generation(), state, has_ended }
    }

    fn queue(&self) -> &Queue {
        self.scope.queue()
    }

    /// Whether this process was forked from the one that submitted it: locks may be held for ever.
    fn is_of_parent(&self) -> bool {
        self.generation != fork::generation()
    }

    fn is_known_done(&self) -> bool {
        self.has_ended.load(Ordering::Acquire)
    }

    /// Whether it has ended, as the device says if it is asked.
    pub(super) fn is_done(&self) -> bool {
        if self.is_of_parent() {
            return true;
        }
        let state = self.state.lock();
        let is_over = matches!(state.progress, Progress::Running) && self.scope.is_over();
        let is_done = matches!(state.progress, Progress::Done(_));
        drop(state);
        if is_over {
            self.wait();
        }
        is_done || is_over
    }

    /// Waits until it has ended.
    fn wait(&self) {
        let mut state = self.state.lock();
        loop {
            match state.progress {
                Progress::Done(_) => return,
                Progress::Running => break,
                Progress::Held | Progress::Deferred => state = self.state.wait(state),
            }
        }
        state.progress = Progress::Held;
        drop(state);
        let result = self.scope.wait();
        self.end(result.map_err(Error::from));
    }

    /// It is submitted, and runs.
    fn is_submitted(this: &Arc<Self>) {
        let number = this.queue().watcher().list(Arc::clone(this) as _);
        let mut state = this.state.lock();
        state.progress = Progress::Running;
        state.number = Some(number);
        let is_watched = state.is_watched;
        drop(state);
        this.state.notify_all();
        if is_watched {
            this.watch();
        }
    }

    /// Has a thread wait for its end.
    fn watch(&self) {
        let mut state = self.state.lock();
        state.is_watched = true;
        let number = state.number.filter(|_| !matches!(state.progress, Progress::Done(_)));
        drop(state);
        if let Some(number) = number
            && let Err(error) = self.queue().watcher().watch(number)
        {
            tracing::warn!(%error, "no thread that waits for events");
            self.wait();
        }
    }

    /// All of it has ended. The scope has nothing of what is owned any more.
    fn end(&self, result: Result<(), Error>) {
        self.scope.give_up_copies();
        let mut state = self.state.lock();
        state.progress = Progress::Done(result);
        self.has_ended.store(true, Ordering::Release);
        let (wakers, kept) = (std::mem::take(&mut state.wakers), state.kept.take());
        drop(state);
        self.state.notify_all();
        self.queue().watcher().forget_ended();
        // Without the lock: all of these are the program's, and none keeps the others from their turn.
        let wakes = wakers.into_iter().map(|waker| panic::catch_unwind(|| waker.wake()));
        let drops = [panic::catch_unwind(AssertUnwindSafe(|| drop(kept)))];
        wakes.chain(drops).filter_map(Result::err).for_each(payload::discard);
    }

    /// How it ended, if it has.
    fn result(&self) -> Option<Result<(), Error>> {
        match &self.state.lock().progress {
            Progress::Done(result) => Some(result.clone()),
            _ => None,
        }
    }
}

impl Watched for Core {
    fn wait(&self) {
        Core::wait(self);
    }

    fn has_ended(&self) -> bool {
        self.is_known_done()
    }
}

/// Has a waker woken when a submission has ended; `false` if it has already.
pub(super) fn wake_at_end(core: &Core, waker: &Waker) -> bool {
    if core.is_of_parent() {
        return false;
    }
    let mut state = core.state.lock();
    if matches!(state.progress, Progress::Done(_)) {
        return false;
    }
    if !state.wakers.iter().any(|known| known.will_wake(waker)) {
        state.wakers.push(waker.clone());
    }
    drop(state);
    core.watch();
    true
}

impl<T: Send + 'static> Submission<Option<T>> {
    fn new(queue: &Queue, owned: T) -> Arc<Self> {
        Arc::new(Self { core: Arc::new(Core::new(queue)), owned: UnsafeCell::new(Some(owned)) })
    }

    /// Calls what submits launches. They wait for each other, and the scope for them.
    ///
    /// # Safety
    /// The state is `Held` by the caller, and is so for the first time.
    unsafe fn start<F>(&self, work: F) -> Result<(), Error>
    where
        F: for<'scope> FnOnce(&'scope Scope<'scope, 'static>, &'scope mut T) -> Result<(), Error>,
    {
        let scope = &raw const self.core.scope;
        // SAFETY: the scope and what is owned live until the launches have ended: the event has them, and
        // if it is dropped before that, `kept` has what is owned until `end`, and the list of the queue
        // the scope. An event that is leaked frees nothing. The closure is the same for all lifetimes, so
        // nothing but launches of the scope keeps a reference.
        let scope = unsafe { &*scope };
        // SAFETY: as above; nothing else refers to it before the launches have ended.
        match unsafe { &mut *self.owned.get() } {
            Some(owned) => work(scope, owned),
            // It is moved out when this is done.
            None => Ok(()),
        }
    }
}

impl Queue {
    /// Submits launches that own what they use, and returns at once. `work` gets `owned` and a
    /// [scope](Scope), as that of [`scope`](Self::scope); its launches may refer to `owned`, which the event
    /// gives back. They run in order with the other launches of this queue.
    ///
    /// What several submissions read is an `Arc`: `owned` may contain clones of one. Kernels take other
    /// values by `move`.
    ///
    /// A launch that is the first with its kernel on a GPU is submitted when it is compiled. One over
    /// slices of the host, such as a `Vec`, returns when it has ended where the device copies them; one over
    /// buffers never waits.
    ///
    /// ```
    /// # fn main() -> Result<(), schism::Error> {
    /// use std::sync::Arc;
    ///
    /// use schism::prelude::*;
    ///
    /// let queue = Queue::new()?;
    /// let x = Arc::new(Buffer::from_slice(&queue, &[1, 2, 3, 4])?);
    /// let sums = Buffer::with_len(&queue, 2)?;
    /// let event = queue.submit((Arc::clone(&x), sums), |scope, (x, sums)| {
    ///     scope.for_each((sums, x.chunks(2)), |(sum, x)| *sum = x[0] + x[1])?;
    ///     Ok(())
    /// })?;
    /// // Here the host is free to do something else.
    /// let (_, sums) = event.wait()?;
    /// assert_eq!(sums.to_vec(), [3, 7]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// What launches use must be owned:
    ///
    /// ```compile_fail,E0373
    /// # fn main() -> Result<(), schism::Error> {
    /// # use schism::prelude::*;
    /// # let queue = Queue::new()?;
    /// let mut numbers = Buffer::from_slice(&queue, &[1, 2, 3])?;
    /// let event = queue.submit((), |scope, _| {
    ///     scope.for_each(&mut numbers, |x| *x += 1)?;
    ///     Ok(())
    /// })?;
    /// # event.wait()?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// The error of `work`, after waiting for its launches; `owned` is dropped then.
    /// [`LaunchError::InsideKernel`] if a kernel calls this.
    ///
    /// # Panics
    /// If `work` panics, after waiting for its launches.
    pub fn submit<T, F>(&self, owned: T, work: F) -> Result<OwnedEvent<T>, Error>
    where
        T: Send + 'static,
        F: for<'scope> FnOnce(&'scope Scope<'scope, 'static>, &'scope mut T) -> Result<(), Error>,
    {
        self.refuse_inside_kernels()?;
        let submission = Submission::new(self, owned);
        submission.core.state.lock().progress = Progress::Held;
        // SAFETY: it was made just now, and the state is set above.
        let submit = || unsafe { submission.start(work) };
        let submitted = panic::catch_unwind(AssertUnwindSafe(submit));
        if !matches!(submitted, Ok(Ok(()))) {
            // An error is returned anyway.
            let _ = submission.core.scope.wait();
        }
        match submitted {
            Err(payload) => panic::resume_unwind(payload),
            Ok(submitted) => submitted?,
        }
        Core::is_submitted(&submission.core);
        Ok(OwnedEvent { submission: Some(submission) })
    }
}

/// Makes an event of work that is submitted when `begin` is called, which it is once.
pub(super) fn deferred<T, F>(
    queue: &Queue,
    owned: T,
    work: F,
) -> (OwnedEvent<T>, Box<dyn FnOnce() + Send>)
where
    T: Send + 'static,
    F: for<'scope> FnOnce(&'scope Scope<'scope, 'static>, &'scope mut T) -> Result<(), Error>
        + Send
        + 'static,
{
    let submission = Submission::new(queue, owned);
    let event = OwnedEvent { submission: Some(Arc::clone(&submission)) };
    let begin = move || {
        let core = &submission.core;
        {
            let mut state = core.state.lock();
            if !matches!(state.progress, Progress::Deferred) {
                return;
            }
            state.progress = Progress::Held;
        }
        // SAFETY: the state is set above, for the first time.
        let submit = || unsafe { submission.start(work) };
        let submitted = panic::catch_unwind(AssertUnwindSafe(submit)).unwrap_or_else(|payload| {
            let what = "(what submits launches)";
            Err(failure::outside(payload, what, core.queue().device().name()).into())
        });
        match submitted {
            Ok(()) => Core::is_submitted(core),
            Err(error) => {
                // The first error is that one.
                let _ = core.scope.wait();
                core.end(Err(error));
            }
        }
    };
    (event, Box::new(begin))
}

impl<T: Send + 'static> OwnedEvent<T> {
    /// What was submitted; `None` when it was given back, which only `poll` can meet.
    fn known(&self) -> Option<&Arc<Submission<Option<T>>>> {
        self.submission.as_ref()
    }

    pub(super) fn core(&self) -> Option<Arc<Core>> {
        self.known().map(|submission| Arc::clone(&submission.core))
    }

    /// Waits until all launches have ended, and gives back what they own.
    ///
    /// # Errors
    /// The error of the submission's closure, if it was submitted [after](Queue::after) others; otherwise
    /// the first error of a launch. What is owned is dropped then: [`result`](Self::result) and
    /// [`reclaim`](Self::reclaim) keep it. [`LaunchError::InsideKernel`] if a kernel calls this;
    /// [`LaunchError::Forked`] in a process that was forked before the launches ended.
    pub fn wait(mut self) -> Result<T, Error> {
        self.result()?;
        self.take().ok_or_else(|| of_parent().into())
    }

    /// Waits until all launches have ended, and says how.
    ///
    /// ```
    /// # fn main() -> Result<(), schism::Error> {
    /// use schism::prelude::*;
    ///
    /// let queue = Queue::new()?;
    /// let numbers = Buffer::from_slice(&queue, &[1, 2, 3])?;
    /// let event = queue.submit(numbers, |scope, numbers| {
    ///     scope.for_each(numbers, |x| assert!(*x < 3))?;
    ///     Ok(())
    /// })?;
    /// let error = event.result().expect_err("one is 3");
    /// assert!(error.to_string().contains("panicked"));
    /// let numbers = event.reclaim().expect("all has ended");
    /// assert_eq!(numbers.to_vec(), [1, 2, 3]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As for [`wait`](Self::wait). Each call returns the same.
    pub fn result(&self) -> Result<(), Error> {
        let Some(submission) = self.known() else { return Ok(()) };
        let core = &submission.core;
        if core.is_of_parent() {
            return Err(of_parent().into());
        }
        if failure::inside() && !core.is_known_done() {
            return Err(LaunchError::InsideKernel.into());
        }
        if !core.is_known_done() {
            let _wait = timeline::wait(core.queue().device().name());
            core.wait();
        }
        core.result().unwrap_or(Ok(()))
    }

    /// Whether all launches have ended, successfully or not.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.known().is_none_or(|submission| submission.core.is_done())
    }

    /// Waits until all launches have ended, but no longer than this; returns whether they have. Then
    /// [`wait`](Self::wait) returns at once.
    #[must_use]
    pub fn wait_timeout(&self, timeout: Duration) -> bool {
        let begin = Instant::now();
        if self.is_done() || failure::inside() {
            return self.is_done();
        }
        let Some(submission) = self.known() else { return true };
        let core = &submission.core;
        core.watch();
        let mut state = core.state.lock();
        while !matches!(state.progress, Progress::Done(_)) {
            let Some(left) = timeout.checked_sub(begin.elapsed()).filter(|left| !left.is_zero())
            else {
                break;
            };
            state = core.state.wait_for(state, left);
        }
        drop(state);
        self.is_done()
    }

    /// Gives back what the launches own if they have ended, also where they have failed; otherwise the
    /// event.
    ///
    /// # Errors
    /// The event, if they may be running.
    pub fn reclaim(mut self) -> Result<T, Self> {
        if self.is_done() && self.known().is_some_and(|submission| submission.core.is_known_done())
        {
            return self.take().ok_or(self);
        }
        Err(self)
    }

    /// Gives back what the work owns if none of it was submitted: the events that it was to come
    /// [after](Queue::after) have not ended. Then it never will be.
    ///
    /// # Errors
    /// The event, if it was submitted.
    pub fn cancel(mut self) -> Result<T, Self> {
        let Some(submission) = self.known() else { return Err(self) };
        let core = &submission.core;
        if core.is_of_parent() {
            return Err(self);
        }
        {
            let mut state = core.state.lock();
            if !matches!(state.progress, Progress::Deferred) {
                drop(state);
                return Err(self);
            }
            state.progress = Progress::Held;
        }
        core.end(Ok(()));
        self.take().ok_or(self)
    }

    /// Moves out what is owned, of work that is known to be done.
    fn take(&mut self) -> Option<T> {
        let submission = self.submission.take()?;
        if !submission.core.is_known_done() {
            self.submission = Some(submission);
            return None;
        }
        // SAFETY: its launches have ended. Others who have it only ask for its state, or drop it, and this
        // was the only event.
        unsafe { (*submission.owned.get()).take() }
    }
}

fn of_parent() -> LaunchError {
    LaunchError::Forked { reason: fork::OF_PARENT.to_owned() }
}

/// Gives what the work owns, or its error, as [`wait`](OwnedEvent::wait) does. A task that drops it, or stops
/// polling, changes nothing for the work.
impl<T: Send + 'static> Future for OwnedEvent<T> {
    type Output = Result<T, Error>;

    /// # Panics
    /// If it was polled after it had given its result.
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let submission = self.known().expect("an event gives its result once");
        if wake_at_end(&submission.core, context.waker()) {
            return Poll::Pending;
        }
        Poll::Ready(match self.result() {
            Ok(()) => self.take().ok_or_else(|| of_parent().into()),
            Err(error) => {
                self.submission = None;
                Err(error)
            }
        })
    }
}

impl<T: Send + 'static> Drop for OwnedEvent<T> {
    fn drop(&mut self) {
        let Some(submission) = self.submission.take() else { return };
        let core = Arc::clone(&submission.core);
        if core.is_of_parent() {
            // Locks in it may be held for ever.
            std::mem::forget((submission, core));
            return;
        }
        let mut state = core.state.lock();
        if matches!(state.progress, Progress::Done(_)) {
            drop(state);
            drop(submission);
        } else {
            state.kept = Some(submission);
            drop(state);
            core.watch();
        }
    }
}

impl<T: Send + 'static> fmt::Debug for OwnedEvent<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_done = self.known().is_none_or(|submission| submission.core.is_known_done());
        f.debug_struct("OwnedEvent").field("is_done", &is_done).finish_non_exhaustive()
    }
}
