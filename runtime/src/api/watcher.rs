//! A thread for each queue that waits for what was submitted there, where the program does not: it frees
//! what dropped events own, and wakes the tasks that poll futures.
//!
//! It exists while there is work, and somewhat longer, since the next often comes soon. All that is
//! submitted is listed, and the thread waits in this order, until the last that it was asked for: the launches of a
//! queue end in the order in which they were submitted, so that none is told of too late because the
//! thread waits for a later one.

use std::collections::VecDeque;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, MutexGuard, Once};
use std::thread;
use std::time::{Duration, Instant};

use crate::launch::payload;
use crate::util::fork::{NoForkGuard, PerProcess};
use crate::util::monitor::Monitor;

/// What was submitted to the queue.
pub(super) trait Watched: Send + Sync {
    /// Waits for its end.
    fn wait(&self);

    /// Whether it is known to have ended.
    fn has_ended(&self) -> bool;
}

/// What the thread does before it waits again.
pub(super) type Job = Box<dyn FnOnce() + Send>;

/// How long the thread waits for another job.
const IDLE: Duration = Duration::from_millis(500);

/// The end of the process waits no longer for jobs that are running: a kernel may run for ever.
const LIMIT: Duration = Duration::from_secs(2);

/// The thread of a queue.
pub(crate) struct Watcher {
    /// A forked process has none of its parent's threads.
    here: PerProcess<Arc<Monitor<Jobs>>>,
    /// Whether the queue's launches are a driver's, which ends with the process.
    has_driver: bool,
}

#[derive(Default)]
struct Jobs {
    /// Is done first.
    jobs: VecDeque<Job>,
    /// What was submitted and is not known to have ended, in order.
    submitted: VecDeque<Arc<dyn Watched>>,
    /// The number of the first of these.
    first: u64,
    /// Those with lower numbers are waited for.
    end: u64,
    has_thread: bool,
}

/// How many jobs run now that may call a driver.
static RUNNING: PerProcess<AtomicUsize> = PerProcess::new();

/// Whether the process is ending: no other job begins.
static ENDING: AtomicBool = AtomicBool::new(false);

impl Jobs {
    /// Takes from the list what has ended.
    fn take_ended(&mut self) -> Vec<Arc<dyn Watched>> {
        let mut ended = Vec::new();
        while let Some(first) = self.submitted.pop_front_if(|first| first.has_ended()) {
            self.first += 1;
            ended.push(first);
        }
        ended
    }
}

impl Watcher {
    pub(crate) const fn new(has_driver: bool) -> Self {
        Self { here: PerProcess::new(), has_driver }
    }

    fn jobs(&self) -> &Arc<Monitor<Jobs>> {
        self.here.get(Arc::default)
    }

    /// Lists what was submitted, and gives its number.
    pub(super) fn list(&self, submitted: Arc<dyn Watched>) -> u64 {
        let _no_fork = NoForkGuard::enter();
        let mut state = self.jobs().lock();
        state.submitted.push_back(submitted);
        state.first + state.submitted.len() as u64 - 1
    }

    /// Takes from the list what has ended. To be called when something has.
    pub(super) fn forget_ended(&self) {
        let _no_fork = NoForkGuard::enter();
        let ended = self.jobs().lock().take_ended();
        // Without the lock: one may be the last that has the queue.
        drop(ended);
    }

    /// Has the thread wait for what has this number.
    ///
    /// # Errors
    /// There can be no thread.
    pub(super) fn watch(&self, number: u64) -> io::Result<()> {
        let _no_fork = NoForkGuard::enter();
        let jobs = self.jobs();
        let mut state = self.with_thread(jobs)?;
        state.end = state.end.max(number + 1);
        drop(state);
        jobs.notify_all();
        Ok(())
    }

    /// Has the thread do something.
    ///
    /// # Errors
    /// There can be no thread; then the job is given back.
    pub(super) fn begin(&self, job: Job) -> Result<(), (Job, io::Error)> {
        let _no_fork = NoForkGuard::enter();
        let jobs = self.jobs();
        match self.with_thread(jobs) {
            Ok(mut state) => state.jobs.push_back(job),
            Err(error) => return Err((job, error)),
        }
        jobs.notify_all();
        Ok(())
    }

    /// The state, with a thread that looks at it.
    fn with_thread<'a>(&self, jobs: &'a Arc<Monitor<Jobs>>) -> io::Result<MutexGuard<'a, Jobs>> {
        static AT_EXIT: Once = Once::new();
        AT_EXIT.call_once(|| {
            // SAFETY: the function does not unwind, and may be called at the end. If it cannot be
            // registered, the end of the process cuts off what runs.
            unsafe { libc::atexit(at_exit) };
        });
        let mut state = jobs.lock();
        if !state.has_thread {
            let (of_thread, has_driver) = (Arc::clone(jobs), self.has_driver);
            let builder = thread::Builder::new().name("schism-events".to_owned());
            builder.spawn(move || work(&of_thread, has_driver))?;
            state.has_thread = true;
        }
        Ok(state)
    }
}

/// The thread.
fn work(jobs: &Monitor<Jobs>, has_driver: bool) {
    let mut state = jobs.lock();
    let mut idle = Instant::now();
    loop {
        let job = state.jobs.pop_front();
        let is_watched = state.first < state.end;
        let first = state.submitted.front().filter(|_| is_watched && job.is_none()).cloned();
        if job.is_some() || first.is_some() {
            drop(state);
            let is_ending = !run(has_driver, || match job {
                Some(job) => job(),
                None => first.iter().for_each(|first| first.wait()),
            });
            if is_ending {
                return;
            }
            // Another thread may have waited for it, and takes it from the list later.
            let ended = jobs.lock().take_ended();
            drop(ended);
            state = jobs.lock();
            idle = Instant::now();
        } else if let Some(left) = IDLE.checked_sub(idle.elapsed()) {
            state = jobs.wait_for(state, left);
        } else {
            state.has_thread = false;
            return;
        }
    }
}

/// Does something, unless the process is ending, and the driver with it: then it returns `false`, and what
/// the job has is not freed.
fn run(has_driver: bool, job: impl FnOnce()) -> bool {
    let running = RUNNING.get(AtomicUsize::default);
    // Counted before it looks: the end of the process, which does these in the other order, sees the one
    // or is seen.
    running.fetch_add(has_driver.into(), Ordering::SeqCst);
    let is_ending = ENDING.load(Ordering::SeqCst);
    if is_ending {
        std::mem::forget(job);
    } else if let Err(payload) = catch_unwind(AssertUnwindSafe(job)) {
        payload::discard(payload);
    }
    running.fetch_sub(has_driver.into(), Ordering::SeqCst);
    !is_ending
}

/// Waits for the jobs that call a driver, which is ending, too.
extern "C" fn at_exit() {
    ENDING.store(true, Ordering::SeqCst);
    let begin = Instant::now();
    let is_running = || RUNNING.known().is_some_and(|running| running.load(Ordering::SeqCst) != 0);
    while is_running() && begin.elapsed() < LIMIT {
        thread::sleep(Duration::from_micros(200));
    }
}
