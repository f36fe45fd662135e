//! Threads for work-items of the device `native` that wait for each other.
//!
//! The body of the host half may use thread-local variables, by way of whatever it calls. A scoped one (`KEY.set(&value, || …)`) is set
//! as long as a function runs, and relies on the thread doing nothing else meanwhile. So a work-item that waits at a barrier must have
//! its thread to itself, unless it is known that it uses no such variable. Only one of a group's threads runs at a time: who has the turn
//! hands it on. So work-items run in the same order as on stacks that one thread switches.
//!
//! Threads are kept when a group ends, and end when nobody has needed them for a while. There is a most, for all groups together: a
//! group that needs many waits until others have ended, and has the right to none meanwhile.

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

/// The most threads: those of two groups of the largest size.
const MOST: usize = 2 * MOST_ITEMS;

/// How long a thread waits for a group that needs it.
const IDLE: Duration = Duration::from_secs(10);

// Whose turn it is, or what became of it.

/// That of whoever has taken the thread.
const NOBODY: u8 = 0;
/// The thread's.
const THREAD: u8 = 1;
/// The thread has given it back, and waits for the next.
const WAITS: u8 = 2;
/// The thread has given it back, and has nothing to do.
const OVER: u8 = 3;
/// The thread shall end.
const END: u8 = 4;

/// What a thread does in its first turn: a function, and what it takes.
#[derive(Clone, Copy)]
pub(super) struct Job {
    pub(super) run: unsafe fn(*const (), &Baton),
    pub(super) data: *const (),
}

/// How a thread and whoever has taken it give each other the turn.
pub(super) struct Baton {
    turn: AtomicU8,
    /// The thread.
    thread: OnceLock<Thread>,
    /// What it shall do, and who waits for it. Written by who has the turn to give.
    next: UnsafeCell<Option<Job>>,
    giver: UnsafeCell<Option<Thread>>,
}

// SAFETY: `next` and `giver` are touched only by the side that has the turn; giving it is a release, and seeing it an acquire. What the
// job's pointer means is for who gives the job.
unsafe impl Send for Baton {}
// SAFETY: as above.
unsafe impl Sync for Baton {}

impl Baton {
    fn new() -> Self {
        Self {
            turn: AtomicU8::new(NOBODY),
            thread: OnceLock::new(),
            next: UnsafeCell::new(None),
            giver: UnsafeCell::new(None),
        }
    }

    /// Lets the thread run, with a job if it has none, until it waits or is done. Returns whether it is done.
    ///
    /// # Safety
    /// The caller has taken the thread. What the job's data points to lives until this has returned `true`, and may be used by any
    /// thread that has the turn.
    pub(super) unsafe fn give_turn(&self, job: Option<Job>) -> bool {
        // SAFETY: the thread waits, so the turn is the caller's.
        unsafe {
            if job.is_some() {
                *self.next.get() = job;
            }
            *self.giver.get() = Some(thread::current());
        }
        self.turn.store(THREAD, Ordering::Release);
        if let Some(thread) = self.thread.get() {
            thread.unpark();
        }
        loop {
            match self.turn.load(Ordering::Acquire) {
                THREAD => thread::park(),
                turn => return turn == OVER,
            }
        }
    }

    /// Gives the turn back and waits for the next one.
    ///
    /// # Safety
    /// Called by the thread, in its turn.
    pub(super) unsafe fn wait(&self) {
        // SAFETY: the caller's promise.
        unsafe { self.give_back(WAITS) };
        while self.turn.load(Ordering::Acquire) != THREAD {
            thread::park();
        }
    }

    /// # Safety
    /// Called by the thread, in its turn.
    unsafe fn give_back(&self, turn: u8) {
        // SAFETY: the caller's promise. Once the turn is given, others may write there.
        let giver = unsafe { (*self.giver.get()).clone() };
        self.turn.store(turn, Ordering::Release);
        if let Some(giver) = giver {
            giver.unpark();
        }
    }
}

/// What a thread does.
fn work(baton: &Arc<Baton>) {
    loop {
        match baton.turn.load(Ordering::Acquire) {
            THREAD => {
                // SAFETY: the turn is this thread's.
                let job = unsafe { (*baton.next.get()).take() };
                if let Some(job) = job {
                    // SAFETY: who gives a job promises that its data is there until the thread is done.
                    unsafe { (job.run)(job.data, baton) };
                }
                // SAFETY: as above.
                unsafe { baton.give_back(OVER) };
            }
            END => return,
            _ => {
                thread::park_timeout(IDLE);
                if baton.turn.load(Ordering::Acquire) != THREAD && leave(baton) {
                    return;
                }
            }
        }
    }
}

#[derive(Default)]
struct State {
    free: Vec<Free>,
    /// Threads that groups may have: those that they have, and those that they may still make.
    taken: usize,
}

/// A thread that nobody has taken.
struct Free {
    baton: Arc<Baton>,
    since: std::time::Instant,
}

/// Those of this process.
fn shared() -> &'static Monitor<State> {
    static SHARED: PerProcess<Monitor<State>> = PerProcess::new();
    SHARED.get(Monitor::default)
}

/// Whether a thread has been free for so long that it may end; nobody takes it then.
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

/// The threads of the groups that one thread runs, one after the other. Those that are not in use are in here.
#[derive(Default)]
pub(super) struct Threads {
    threads: Vec<Arc<Baton>>,
    reserved: usize,
    /// Where they come from.
    shared: Option<&'static Monitor<State>>,
}

impl Threads {
    /// Gets the right to have `most` threads, which are less than the limit of a group's size.
    pub(super) fn reserve(&mut self, most: usize) {
        let more = most.saturating_sub(self.reserved);
        if more == 0 {
            return;
        }
        let shared = *self.shared.get_or_insert_with(shared);
        let mut state = shared.lock();
        // Whoever waits has the right to none: so there is always somebody who does not wait.
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

    /// A thread, made if there is none.
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
        // Before anybody gives it the turn.
        let _ = baton.thread.set(handle.thread().clone());
        Ok(baton)
    }

    /// A thread that is done.
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

/// Takes out free threads for which there is no room beside those that others have, or may still make.
fn surplus(state: &mut State) -> Vec<Free> {
    let surplus = state.free.len().saturating_sub(MOST.saturating_sub(state.taken));
    state.free.drain(..surplus).collect()
}

fn end(threads: Vec<Free>) {
    for Free { baton, .. } in threads {
        baton.turn.store(END, Ordering::Release);
        if let Some(thread) = baton.thread.get() {
            thread.unpark();
        }
    }
}
