//! In-order execution of the launches of a queue.

use std::cell::UnsafeCell;
use std::collections::VecDeque;
use std::ops::{Deref, DerefMut};
use std::panic::{self, AssertUnwindSafe};
use std::sync::atomic::AtomicU8;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Release};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rayon_core::ThreadPool;

use crate::error::DeviceError;
use crate::hal::host::kernel::CpuKernel;
use crate::hal::host::pool::pool;
use crate::hal::{Held, Task, TaskQueue};
use crate::launch::payload;
use crate::util::fork::PerProcess;
use crate::util::monitor::Monitor;
use crate::util::timeline::{self, Track};

/// What is next in a queue.
enum Next {
    /// A task for the worker threads.
    Task(Task),
    /// A thread that waits for the queue.
    Waiter(Arc<Waiter>),
}

#[derive(Debug, Default)]
struct Waiter {
    woken: Monitor<bool>,
}

// The states of a queue.

/// No thread holds the queue.
const FREE: u8 = 0;
/// A thread holds the queue and nothing waits. Taking and releasing it then needs no mutex.
const ALONE: u8 = 1;
/// A thread holds the queue, and something waits or did. Releasing it needs the mutex.
const SHARED: u8 = 2;

/// Tasks wait for a queue up to this number.
const MOST_WAITING: usize = 1 << 12;

/// A thread that submits one more waits no longer: a kernel may wait for that very thread.
const PATIENCE: Duration = Duration::from_secs(1);

/// Runs the launches of one queue one after the other. A forked process starts with an empty queue:
/// it has neither the parent's launches nor the threads that ran them.
pub(crate) struct InOrderExecutor {
    here: PerProcess<Arc<InOrderQueue>>,
}

/// The state of the queue in one process.
pub(crate) struct InOrderQueue {
    /// [`FREE`], [`ALONE`] or [`SHARED`]. It enters and leaves `SHARED` under the mutex only.
    state: AtomicU8,
    /// What waits for the queue; empty unless the state is `SHARED`.
    waiting: Mutex<VecDeque<Next>>,
    /// Notified when less than half as much waits as may.
    room: Condvar,
    pool: &'static ThreadPool,
    track: Track,
    /// The holder's.
    held: UnsafeCell<Held<CpuKernel, ()>>,
}

// SAFETY: only a guard reaches `held`, and there is one at a time.
unsafe impl Sync for InOrderQueue {}

/// Holds the queue for the calling thread; dropping it releases the queue, except that of a task.
pub(crate) struct InOrderGuard<'a> {
    queue: &'a Arc<InOrderQueue>,
    of_task: bool,
}

impl Drop for InOrderGuard<'_> {
    #[inline]
    fn drop(&mut self) {
        if !self.of_task {
            InOrderQueue::unlock(self.queue);
        }
    }
}

impl Deref for InOrderGuard<'_> {
    type Target = Held<CpuKernel, ()>;

    #[inline]
    fn deref(&self) -> &Self::Target {
        // SAFETY: this thread holds the queue, and has this guard only.
        unsafe { &*self.queue.held.get() }
    }
}

impl DerefMut for InOrderGuard<'_> {
    #[inline]
    fn deref_mut(&mut self) -> &mut Self::Target {
        // SAFETY: as above.
        unsafe { &mut *self.queue.held.get() }
    }
}

impl InOrderExecutor {
    /// # Errors
    /// [`DeviceError::Threads`] if the worker threads cannot be started.
    pub(crate) fn new() -> Result<Arc<Self>, DeviceError> {
        let this = Self { here: PerProcess::new() };
        this.here()?;
        Ok(Arc::new(this))
    }

    /// The queue of this process, if it exists already.
    #[inline]
    pub(crate) fn known(&self) -> Option<&Arc<InOrderQueue>> {
        self.here.known()
    }

    /// The queue of this process; the first call creates it.
    ///
    /// # Errors
    /// As for [`new`](Self::new), the first time in a process.
    pub(crate) fn here(&self) -> Result<&Arc<InOrderQueue>, DeviceError> {
        let pool = pool()?;
        Ok(self.here.get(|| {
            Arc::new(InOrderQueue {
                state: AtomicU8::new(FREE),
                waiting: Mutex::default(),
                room: Condvar::new(),
                pool,
                track: Track::new(),
                held: UnsafeCell::default(),
            })
        }))
    }
}

impl InOrderQueue {
    /// The worker threads.
    pub(crate) const fn pool(&self) -> &'static ThreadPool {
        self.pool
    }

    /// Its track in the timeline.
    pub(crate) const fn track(&self) -> &Track {
        &self.track
    }

    fn waiting(&self) -> MutexGuard<'_, VecDeque<Next>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the state from `from` to `to`. Returns whether it was `from`.
    #[inline]
    fn change(&self, from: u8, to: u8) -> bool {
        self.state.compare_exchange(from, to, AcqRel, Acquire).is_ok()
    }

    /// Takes the queue if it is free; otherwise makes sure that the holder looks at what
    /// waits. The state is `SHARED` afterwards in both cases. Returns whether the queue was taken.
    /// The caller holds the mutex.
    fn lock_or_share(&self) -> bool {
        loop {
            if self.change(FREE, SHARED) {
                return true;
            }
            // It may become free in between: that does not need the mutex.
            if self.change(ALONE, SHARED) || self.state.load(Acquire) == SHARED {
                return false;
            }
        }
    }

    /// Waits until everything submitted before has ended, and takes the queue.
    #[inline]
    pub(crate) fn lock(this: &Arc<Self>) -> InOrderGuard<'_> {
        if !this.change(FREE, ALONE) {
            this.wait_in_line();
        }
        InOrderGuard { queue: this, of_task: false }
    }

    /// The guard of a task that the queue runs.
    ///
    /// # Safety
    /// The caller is such a task, and has no other guard.
    #[inline]
    pub(crate) const unsafe fn of_task(this: &Arc<Self>) -> InOrderGuard<'_> {
        InOrderGuard { queue: this, of_task: true }
    }

    /// Waits behind everything that waits already.
    #[cold]
    fn wait_in_line(&self) {
        let _wait = timeline::wait("host");
        let mut waiting = self.waiting();
        if self.lock_or_share() {
            return;
        }
        let waiter = Arc::new(Waiter::default());
        waiting.push_back(Next::Waiter(Arc::clone(&waiter)));
        drop(waiting);
        let mut woken = waiter.woken.lock();
        while !*woken {
            woken = waiter.woken.wait(woken);
        }
    }

    /// Releases the queue to what waits next.
    #[inline]
    fn unlock(this: &Arc<Self>) {
        if !this.change(ALONE, FREE) {
            Self::unlock_to_next(this);
        }
    }

    #[cold]
    fn unlock_to_next(this: &Arc<Self>) {
        let mut waiting = this.waiting();
        match waiting.pop_front() {
            None => this.state.store(FREE, Release),
            Some(Next::Waiter(waiter)) => {
                *waiter.woken.lock() = true;
                waiter.woken.notify_all();
            }
            Some(Next::Task(task)) => {
                drop(waiting);
                let queue = Arc::clone(this);
                this.pool.spawn(move || Self::run_tasks(&queue, task));
            }
        }
    }

    /// Runs tasks until the next entry is not one, then releases the queue.
    fn run_tasks(this: &Arc<Self>, first: Task) {
        let mut task = first;
        loop {
            // Tasks catch panics themselves; this keeps the queue going if one did not.
            if let Err(payload) = panic::catch_unwind(AssertUnwindSafe(task)) {
                payload::discard(payload);
            }
            let mut waiting = this.waiting();
            if waiting.len() == MOST_WAITING / 2 {
                this.room.notify_all();
            }
            match waiting.pop_front() {
                Some(Next::Task(next)) => task = next,
                other => {
                    if let Some(waiter) = other {
                        waiting.push_front(waiter);
                    }
                    break;
                }
            }
        }
        Self::unlock(this);
    }
}

impl TaskQueue for Arc<InOrderQueue> {
    /// Hands a task to the worker threads, to run after everything submitted before. Where too many
    /// wait already, it waits for some of them: a thread that submits faster than the device runs
    /// would fill the memory.
    fn submit(&self, task: Task) {
        let mut waiting = self.waiting();
        if waiting.len() >= MOST_WAITING {
            let is_full = |waiting: &mut VecDeque<Next>| waiting.len() >= MOST_WAITING;
            waiting = self
                .room
                .wait_timeout_while(waiting, PATIENCE, is_full)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
        waiting.push_back(Next::Task(task));
        let taken = self.lock_or_share();
        drop(waiting);
        if taken {
            InOrderQueue::unlock(self);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    /// Touched only by the holder of the queue.
    struct Guarded(UnsafeCell<Vec<u32>>);

    // SAFETY: that is what is tested.
    unsafe impl Sync for Guarded {}

    /// Many threads lock the queue and submit tasks at once: one runs at a time, none is lost, and
    /// each thread's own run in order.
    #[test]
    fn one_at_a_time_and_in_order() {
        const THREADS: u32 = 6;
        const ROUNDS: u32 = 300;
        let executor = InOrderExecutor::new().expect("threads");
        let guarded = Arc::new(Guarded(UnsafeCell::new(Vec::new())));
        thread::scope(|scope| {
            for number in 0..THREADS {
                let (executor, guarded) = (&executor, &guarded);
                scope.spawn(move || {
                    let queue = executor.known().expect("it exists");
                    for round in 0..ROUNDS {
                        let entry = number * ROUNDS + round;
                        if (round / 7 + number) % 3 == 0 {
                            let guarded = Arc::clone(guarded);
                            // SAFETY: the task holds the queue.
                            let task = move || unsafe { (*guarded.0.get()).push(entry) };
                            queue.submit(Box::new(task));
                        } else {
                            let _guard = InOrderQueue::lock(queue);
                            // SAFETY: this thread holds the queue.
                            unsafe { (*guarded.0.get()).push(entry) };
                        }
                    }
                });
            }
        });
        let queue = executor.known().expect("it exists");
        let guard = InOrderQueue::lock(queue);
        // SAFETY: this thread holds the queue.
        let entries = unsafe { &*guarded.0.get() }.clone();
        drop(guard);
        assert_eq!(entries.len() as u32, THREADS * ROUNDS);
        for number in 0..THREADS {
            let own = entries.iter().filter(|entry| **entry / ROUNDS == number);
            assert!(own.is_sorted(), "the order of thread {number}");
        }
        assert_eq!(queue.state.load(Acquire), FREE);
    }
}
