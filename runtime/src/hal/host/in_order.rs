//! In-order execution: one launch of a queue after the other.

use std::collections::VecDeque;
use std::panic::{self, AssertUnwindSafe};
use std::sync::atomic::AtomicU8;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Release};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rayon_core::ThreadPool;

use crate::error::DeviceError;
use crate::hal::host::pool::pool;
use crate::hal::{Task, TaskQueue};
use crate::launch::failure;
use crate::util::fork::PerProcess;
use crate::util::monitor::Monitor;

/// What is next in a queue.
enum Next {
    /// A task for the worker threads.
    Task(Task),
    /// The turn of a thread that waits for it.
    Turn(Arc<Turn>),
}

#[derive(Debug, Default)]
struct Turn {
    come: Monitor<bool>,
}

// Who has the turn.

/// Nobody.
const FREE: u8 = 0;
/// Somebody, who hands it to nobody: nothing is waiting. To take and to give back such a turn takes no lock.
const ALONE: u8 = 1;
/// Somebody, who hands it on with the lock: something is waiting, or was.
const SHARED: u8 = 2;

/// The order of one queue. A forked process begins it anew: it has none of the launches that were in it, nor the threads that ran them.
pub(crate) struct InOrderExecutor {
    here: PerProcess<Arc<InProcess>>,
}

/// The order in one process.
pub(crate) struct InProcess {
    /// [`FREE`], [`ALONE`] or [`SHARED`]. It becomes `SHARED` with the lock, and is no longer `SHARED` with the lock.
    turn: AtomicU8,
    /// What waits for the turn; empty if it is not `SHARED`.
    waiting: Mutex<VecDeque<Next>>,
    pool: &'static ThreadPool,
}

/// The calling thread's turn; it ends when this is dropped.
pub(crate) struct TurnGuard<'a> {
    order: &'a Arc<InProcess>,
}

impl Drop for TurnGuard<'_> {
    #[inline]
    fn drop(&mut self) {
        InProcess::hand_on(self.order);
    }
}

impl InOrderExecutor {
    /// # Errors
    /// [`DeviceError::Threads`] if there are no threads to be had.
    pub(crate) fn new() -> Result<Arc<Self>, DeviceError> {
        let this = Self { here: PerProcess::new() };
        this.here()?;
        Ok(Arc::new(this))
    }

    /// The order in this process, if it has begun.
    #[inline]
    pub(crate) fn known(&self) -> Option<&Arc<InProcess>> {
        self.here.known()
    }

    /// The order in this process, which begins with the first call.
    ///
    /// # Errors
    /// As for [`new`](Self::new), the first time in a process.
    pub(crate) fn here(&self) -> Result<&Arc<InProcess>, DeviceError> {
        let pool = pool()?;
        Ok(self.here.get(|| {
            let (turn, waiting) = (AtomicU8::new(FREE), Mutex::default());
            Arc::new(InProcess { turn, waiting, pool })
        }))
    }
}

impl InProcess {
    /// The threads that work.
    pub(crate) const fn pool(&self) -> &'static ThreadPool {
        self.pool
    }

    fn waiting(&self) -> MutexGuard<'_, VecDeque<Next>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the turn was `from`, and is `to` now.
    #[inline]
    fn change(&self, from: u8, to: u8) -> bool {
        self.turn.compare_exchange(from, to, AcqRel, Acquire).is_ok()
    }

    /// Takes the turn if nobody has it, or else makes sure that whoever has it looks at what is waiting. Returns whether the turn was
    /// taken, which is then `SHARED`, too. The caller has the lock.
    fn take_or_share(&self) -> bool {
        loop {
            if self.change(FREE, SHARED) {
                return true;
            }
            // Without the lock it may become free in between.
            if self.change(ALONE, SHARED) || self.turn.load(Acquire) == SHARED {
                return false;
            }
        }
    }

    /// Waits until everything that came before is over.
    #[inline]
    pub(crate) fn turn(this: &Arc<Self>) -> TurnGuard<'_> {
        if !this.change(FREE, ALONE) {
            this.queue_up();
        }
        TurnGuard { order: this }
    }

    /// Waits behind all who wait.
    #[cold]
    fn queue_up(&self) {
        let mut waiting = self.waiting();
        if self.take_or_share() {
            return;
        }
        let turn = Arc::new(Turn::default());
        waiting.push_back(Next::Turn(Arc::clone(&turn)));
        drop(waiting);
        let mut come = turn.come.lock();
        while !*come {
            come = turn.come.wait(come);
        }
    }

    /// Ends the caller's turn: gives it to whoever is next.
    #[inline]
    fn hand_on(this: &Arc<Self>) {
        if !this.change(ALONE, FREE) {
            Self::hand_to_next(this);
        }
    }

    #[cold]
    fn hand_to_next(this: &Arc<Self>) {
        let mut waiting = this.waiting();
        match waiting.pop_front() {
            None => this.turn.store(FREE, Release),
            Some(Next::Turn(turn)) => {
                *turn.come.lock() = true;
                turn.come.notify_all();
            }
            Some(Next::Task(task)) => {
                drop(waiting);
                let order = Arc::clone(this);
                this.pool.spawn(move || Self::run_tasks(&order, task));
            }
        }
    }

    /// Runs tasks until none is next, and hands on.
    fn run_tasks(this: &Arc<Self>, first: Task) {
        let mut task = first;
        loop {
            // Tasks catch panics themselves; this keeps the queue going if one did not.
            if let Err(payload) = panic::catch_unwind(AssertUnwindSafe(task)) {
                failure::discard(payload);
            }
            let mut waiting = this.waiting();
            match waiting.pop_front() {
                Some(Next::Task(next)) => task = next,
                other => {
                    if let Some(turn) = other {
                        waiting.push_front(turn);
                    }
                    break;
                }
            }
        }
        Self::hand_on(this);
    }
}

impl TaskQueue for Arc<InProcess> {
    /// Leaves a task to the worker threads, after everything that came before.
    fn submit(&self, task: Task) {
        let mut waiting = self.waiting();
        waiting.push_back(Next::Task(task));
        let taken = self.take_or_share();
        drop(waiting);
        if taken {
            InProcess::hand_on(self);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::UnsafeCell;
    use std::thread;

    use super::*;

    /// What only who has the turn touches.
    struct Guarded(UnsafeCell<Vec<u32>>);

    // SAFETY: that is what is tested.
    unsafe impl Sync for Guarded {}

    /// Threads that take their turn and tasks, all at once: one at a time, nobody is left out, and a thread's own are in order.
    #[test]
    fn one_at_a_time_and_in_order() {
        const THREADS: u32 = 6;
        const ROUNDS: u32 = 300;
        let order = InOrderExecutor::new().expect("threads");
        let guarded = Arc::new(Guarded(UnsafeCell::new(Vec::new())));
        thread::scope(|scope| {
            for number in 0..THREADS {
                let (order, guarded) = (&order, &guarded);
                scope.spawn(move || {
                    let order = order.known().expect("it has begun");
                    for round in 0..ROUNDS {
                        let entry = number * ROUNDS + round;
                        if (round / 7 + number) % 3 == 0 {
                            let guarded = Arc::clone(guarded);
                            // SAFETY: the task has the turn.
                            let task = move || unsafe { (*guarded.0.get()).push(entry) };
                            order.submit(Box::new(task));
                        } else {
                            let _turn = InProcess::turn(order);
                            // SAFETY: this thread has the turn.
                            unsafe { (*guarded.0.get()).push(entry) };
                        }
                    }
                });
            }
        });
        let order = order.known().expect("it has begun");
        let turn = InProcess::turn(order);
        // SAFETY: this thread has the turn.
        let entries = unsafe { &*guarded.0.get() }.clone();
        drop(turn);
        assert_eq!(entries.len() as u32, THREADS * ROUNDS);
        for number in 0..THREADS {
            let own = entries.iter().filter(|entry| **entry / ROUNDS == number);
            assert!(own.is_sorted(), "the order of thread {number}");
        }
        assert_eq!(order.turn.load(Acquire), FREE);
    }
}
