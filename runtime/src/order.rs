//! In-order execution: one launch of a queue after the other.

use std::collections::VecDeque;
use std::panic::{self, AssertUnwindSafe};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use rayon_core::ThreadPool;

use crate::error::DeviceError;
use crate::fork::PerProcess;
use crate::panics;
use crate::pool::pool;

/// A launch that waits for its turn. It must not unwind.
pub(crate) type Task = Box<dyn FnOnce() + Send>;

/// What is next in a queue.
enum Next {
    /// A task for the worker threads.
    Task(Task),
    /// The turn of a thread that waits for it.
    Turn(Arc<Turn>),
}

#[derive(Debug, Default)]
struct Turn {
    come: Mutex<bool>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// Somebody has the turn and will hand it on.
    taken: bool,
    waiting: VecDeque<Next>,
}

/// The order of one queue. A forked process begins it anew: it has none of the launches that were in it, nor the threads that ran them.
pub(crate) struct Order {
    here: PerProcess<Arc<InProcess>>,
}

/// The order in one process.
pub(crate) struct InProcess {
    state: Mutex<State>,
    pool: &'static ThreadPool,
}

/// The calling thread's turn; it ends when this is dropped.
pub(crate) struct Token<'a> {
    order: &'a Arc<InProcess>,
}

impl Drop for Token<'_> {
    fn drop(&mut self) {
        InProcess::hand_on(self.order);
    }
}

impl Order {
    /// # Errors
    /// [`DeviceError::Threads`] if there are no threads to be had.
    pub(crate) fn new() -> Result<Arc<Self>, DeviceError> {
        let this = Self { here: PerProcess::new() };
        this.here()?;
        Ok(Arc::new(this))
    }

    /// The order in this process.
    ///
    /// # Errors
    /// As for [`new`](Self::new), the first time in a process.
    #[inline]
    pub(crate) fn here(&self) -> Result<&Arc<InProcess>, DeviceError> {
        match self.here.known() {
            Some(here) => Ok(here),
            None => self.begin(),
        }
    }

    #[cold]
    fn begin(&self) -> Result<&Arc<InProcess>, DeviceError> {
        let pool = pool()?;
        Ok(self.here.get(|| Arc::new(InProcess { state: Mutex::default(), pool })))
    }
}

impl InProcess {
    /// The threads that work.
    pub(crate) const fn pool(&self) -> &'static ThreadPool {
        self.pool
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until everything that came before is over.
    pub(crate) fn turn(this: &Arc<Self>) -> Token<'_> {
        let mut state = this.state();
        if state.taken {
            let turn = Arc::new(Turn::default());
            state.waiting.push_back(Next::Turn(Arc::clone(&turn)));
            drop(state);
            let mut come = turn.come.lock().unwrap_or_else(PoisonError::into_inner);
            while !*come {
                come = turn.changed.wait(come).unwrap_or_else(PoisonError::into_inner);
            }
        } else {
            state.taken = true;
        }
        Token { order: this }
    }

    /// Leaves a task to the worker threads, after everything that came before.
    pub(crate) fn submit(this: &Arc<Self>, task: Task) {
        let mut state = this.state();
        state.waiting.push_back(Next::Task(task));
        let idle = !state.taken;
        state.taken = true;
        drop(state);
        if idle {
            Self::hand_on(this);
        }
    }

    /// Ends the caller's turn: gives it to whoever is next.
    fn hand_on(this: &Arc<Self>) {
        let mut state = this.state();
        match state.waiting.pop_front() {
            None => state.taken = false,
            Some(Next::Turn(turn)) => {
                *turn.come.lock().unwrap_or_else(PoisonError::into_inner) = true;
                turn.changed.notify_one();
            }
            Some(Next::Task(task)) => {
                drop(state);
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
                panics::discard(payload);
            }
            let mut state = this.state();
            match state.waiting.pop_front() {
                Some(Next::Task(next)) => task = next,
                other => {
                    if let Some(turn) = other {
                        state.waiting.push_front(turn);
                    }
                    break;
                }
            }
        }
        Self::hand_on(this);
    }
}
