//! A thread for each queue that waits for what was submitted there, where the program does not: it frees
//! what dropped events own, and wakes the tasks that poll futures.
//!
//! It exists while there is work, and somewhat longer, since the next often comes soon. The launches of a
//! queue end in the order in which they were submitted, so that one thread tells of all of them in time.

use std::collections::VecDeque;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Once};
use std::thread;
use std::time::{Duration, Instant};

use crate::launch::payload;
use crate::util::fork::{NoForkGuard, PerProcess};
use crate::util::monitor::Monitor;

/// What the thread does next. It may wait for a device.
pub(crate) type Job = Box<dyn FnOnce() + Send>;

/// How long the thread waits for another job.
const IDLE: Duration = Duration::from_millis(500);

/// The end of the process waits no longer for jobs that are running: a kernel may run for ever.
const LIMIT: Duration = Duration::from_secs(2);

/// The thread of a queue.
pub(crate) struct Watcher {
    /// A forked process has none of its parent's threads.
    here: PerProcess<Arc<Monitor<Jobs>>>,
}

#[derive(Default)]
struct Jobs {
    waiting: VecDeque<Job>,
    has_thread: bool,
}

/// How many jobs run now.
static RUNNING: PerProcess<AtomicUsize> = PerProcess::new();

/// Whether the process is ending: no other job begins.
static ENDING: AtomicBool = AtomicBool::new(false);

impl Watcher {
    pub(crate) const fn new() -> Self {
        Self { here: PerProcess::new() }
    }

    /// Has the thread do something after all that it was given before.
    ///
    /// # Errors
    /// There can be no thread; then the job is given back.
    pub(crate) fn submit(&self, job: Job) -> Result<(), (Job, io::Error)> {
        static AT_EXIT: Once = Once::new();
        AT_EXIT.call_once(|| {
            // SAFETY: the function does not unwind, and may be called at the end. If it cannot be
            // registered, the end of the process cuts off what runs.
            unsafe { libc::atexit(at_exit) };
        });
        let _no_fork = NoForkGuard::enter();
        let jobs = self.here.get(Arc::default);
        let mut state = jobs.lock();
        if !state.has_thread {
            let of_thread = Arc::clone(jobs);
            let builder = thread::Builder::new().name("schism-events".to_owned());
            if let Err(error) = builder.spawn(move || work(&of_thread)) {
                return Err((job, error));
            }
            state.has_thread = true;
        }
        state.waiting.push_back(job);
        drop(state);
        jobs.notify_all();
        Ok(())
    }
}

/// The thread.
fn work(jobs: &Monitor<Jobs>) {
    let mut state = jobs.lock();
    let mut idle = Instant::now();
    loop {
        if let Some(job) = state.waiting.pop_front() {
            drop(state);
            run(job);
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

fn run(job: Job) {
    let running = RUNNING.get(AtomicUsize::default);
    // Counted before it looks: the end of the process, which does these in the other order, sees the one
    // or is seen.
    running.fetch_add(1, Ordering::SeqCst);
    if ENDING.load(Ordering::SeqCst) {
        // The driver ends, too; what the job has is not freed.
        std::mem::forget(job);
    } else if let Err(payload) = catch_unwind(AssertUnwindSafe(job)) {
        // What it has dropped belongs to the program.
        payload::discard(payload);
    }
    running.fetch_sub(1, Ordering::SeqCst);
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
