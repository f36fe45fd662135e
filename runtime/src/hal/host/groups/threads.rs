//! Threads for waiting work-items of the device `native`.
//!
//! The body of the host half may use thread-local variables, in anything that it calls. A scoped
//! one (`KEY.set(&value, || …)`) is set as long as a function runs, and relies on the thread doing
//! nothing else meanwhile. So a work-item that waits at a barrier must have its thread to itself,
//! unless it is known to use no such variable. Only one of a group's threads runs at a time; it
//! passes the right to run on, as a baton. So work-items run in the same order as on stacks that
//! one thread switches.
//!
//! Threads are kept when a group ends, and end when they have been idle for a while. There is a
//! maximum number, for all groups together: a group that needs more waits until others have ended,
//! and holds no reservation meanwhile.

use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::{self, Thread};
use std::time::Duration;

use crate::hal::host::groups::limits::MOST_ITEMS;
use crate::hal::host::stack;
use crate::launch::failure::Failure;
use crate::util::fork::PerProcess;
use crate::util::monitor::Monitor;

/// The maximum number of threads: those of two groups of the largest size.
const MOST: usize = 2 * MOST_ITEMS;

/// How long an idle thread waits for a group.
const IDLE: Duration = Duration::from_secs(10);

// Who holds the baton, or what the thread reported.

/// The owner of the thread holds it.
const OWNER: u8 = 0;
/// The thread holds it.
const THREAD: u8 = 1;
/// The thread has passed it back, and waits for it.
const WAITS: u8 = 2;
/// The thread has passed it back, and has nothing left to do.
const OVER: u8 = 3;
/// The thread shall end.
const END: u8 = 4;

/// The job of a thread: a function, and its argument.
#[derive(Clone, Copy)]
pub(super) struct Job {
    pub(super) run: unsafe fn(*const (), &Baton),
    pub(super) data: *const (),
}

/// The baton that a thread and its owner pass to each other.
pub(super) struct Baton {
    holder: AtomicU8,
    /// The thread.
    thread: OnceLock<Thread>,
    /// The thread's next job, and who waits for it. Written by the holder of the baton.
    next: UnsafeCell<Option<Job>>,
    giver: UnsafeCell<Option<Thread>>,
}

// SAFETY: `next` and `giver` are accessed only by the holder of the baton; passing it is a release,
// and observing that an acquire. The meaning of the job's pointer is up to the thread that passes the job.
unsafe impl Send for Baton {}
// SAFETY: as above.
unsafe impl Sync for Baton {}

impl Baton {
    fn new() -> Self {
        Self {
            holder: AtomicU8::new(OWNER),
            thread: OnceLock::new(),
            next: UnsafeCell::new(None),
            giver: UnsafeCell::new(None),
        }
    }

    /// Runs the thread, with a job if it has none, until it waits or is done. Returns whether it is
    /// done.
    ///
    /// # Safety
    /// The caller owns the thread. What the job's data points to lives until this has returned
    /// `true`, and may be used by any thread that holds the baton.
    pub(super) unsafe fn pass_to_thread(&self, job: Option<Job>) -> bool {
        // SAFETY: the thread waits, so the caller holds the baton.
        unsafe {
            if job.is_some() {
                *self.next.get() = job;
            }
            *self.giver.get() = Some(thread::current());
        }
        self.holder.store(THREAD, Ordering::Release);
        if let Some(thread) = self.thread.get() {
            thread.unpark();
        }
        loop {
            match self.holder.load(Ordering::Acquire) {
                THREAD => thread::park(),
                holder => return holder == OVER,
            }
        }
    }

    /// Passes the baton back and waits for it.
    ///
    /// # Safety
    /// Called by the thread, which holds the baton.
    pub(super) unsafe fn wait(&self) {
        // SAFETY: the caller's promise.
        unsafe { self.give_back(WAITS) };
        while self.holder.load(Ordering::Acquire) != THREAD {
            thread::park();
        }
    }

    /// # Safety
    /// Called by the thread, which holds the baton.
    unsafe fn give_back(&self, holder: u8) {
        // SAFETY: the caller's promise. Once the baton is passed, others may write there.
        let giver = unsafe { (*self.giver.get()).clone() };
        self.holder.store(holder, Ordering::Release);
        if let Some(giver) = giver {
            giver.unpark();
        }
    }
}

/// The main function of a thread.
fn work(baton: &Arc<Baton>) {
    loop {
        match baton.holder.load(Ordering::Acquire) {
            THREAD => {
                // SAFETY: this thread holds the baton.
                let job = unsafe { (*baton.next.get()).take() };
                if let Some(job) = job {
                    // SAFETY: the giver of a job promises that its data lives until the thread is done.
                    unsafe { (job.run)(job.data, baton) };
                }
                // SAFETY: as above.
                unsafe { baton.give_back(OVER) };
            }
            END => return,
            _ => {
                thread::park_timeout(IDLE);
                if baton.holder.load(Ordering::Acquire) != THREAD && leave(baton) {
                    return;
                }
            }
        }
    }
}

#[derive(Default)]
struct State {
    free: Vec<Free>,
    /// Reserved threads: those that groups have, and those that they may still start.
    taken: usize,
}

/// A thread without an owner.
struct Free {
    baton: Arc<Baton>,
    since: std::time::Instant,
}

/// The threads of this process.
fn shared() -> &'static Monitor<State> {
    static SHARED: PerProcess<Monitor<State>> = PerProcess::new();
    SHARED.get(Monitor::default)
}

/// Ends a thread that has been idle for long enough, if it has no owner.
fn leave(baton: &Arc<Baton>) -> bool {
    let mut state = shared().lock();
    let place = state
        .free
        .iter()
        .position(|free| Arc::ptr_eq(&free.baton, baton) && free.since.elapsed() >= IDLE);
    place.is_some_and(|place| {
        state.free.remove(place);
        true
    })
}

/// The threads of the groups that one thread runs, one after the other. It holds those that are not
/// in use.
#[derive(Default)]
pub(super) struct Threads {
    threads: Vec<Arc<Baton>>,
    reserved: usize,
    /// Where they come from.
    shared: Option<&'static Monitor<State>>,
}

impl Threads {
    /// Reserves `most` threads, which are less than the limit of a group's size.
    pub(super) fn reserve(&mut self, most: usize) {
        let more = most.saturating_sub(self.reserved);
        if more == 0 {
            return;
        }
        let shared = *self.shared.get_or_insert_with(shared);
        let mut state = shared.lock();
        // A waiting thread holds no reservation, so there is always one that does not wait.
        state.taken -= self.reserved;
        if state.taken + most > MOST {
            shared.notify_all();
            while state.taken + most > MOST {
                state = shared.wait(state);
            }
        }
        state.taken += most;
        let kept = state.free.len().saturating_sub(more);
        self.threads.extend(state.free.drain(kept..).map(|free| free.baton));
        let surplus = surplus(&mut state);
        drop(state);
        end(surplus);
        self.reserved = most;
    }

    /// Takes a thread; starts one if there is none.
    pub(super) fn take(&mut self) -> Result<Arc<Baton>, Failure> {
        if let Some(baton) = self.threads.pop() {
            return Ok(baton);
        }
        let baton = Arc::new(Baton::new());
        let own = Arc::clone(&baton);
        let handle = thread::Builder::new()
            .name("schism-item".to_owned())
            .stack_size(stack::settings::default_size() + stack::OF_THREADS)
            .spawn(move || work(&own))
            .map_err(|error| Failure::NoThread { reason: error.to_string() })?;
        // Before anybody passes it the baton.
        let _ = baton.thread.set(handle.thread().clone());
        Ok(baton)
    }

    /// Returns a thread that is done.
    pub(super) fn give(&mut self, baton: Arc<Baton>) {
        self.threads.push(baton);
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        let Some(shared) = self.shared.filter(|_| self.reserved != 0) else { return };
        if !std::ptr::eq(shared, self::shared()) {
            // The kernel has forked the process: what the parent's threads share stays as it is.
            return;
        }
        let since = std::time::Instant::now();
        let mut state = shared.lock();
        state.free.extend(self.threads.drain(..).map(|baton| Free { baton, since }));
        state.taken -= self.reserved;
        let surplus = surplus(&mut state);
        drop(state);
        shared.notify_all();
        end(surplus);
    }
}

/// Removes free threads for which there is no room beside the reserved ones.
fn surplus(state: &mut State) -> Vec<Free> {
    let surplus = state.free.len().saturating_sub(MOST.saturating_sub(state.taken));
    state.free.drain(..surplus).collect()
}

fn end(threads: Vec<Free>) {
    for Free { baton, .. } in threads {
        baton.holder.store(END, Ordering::Release);
        if let Some(thread) = baton.thread.get() {
            thread.unpark();
        }
    }
}
