//! Processes that are forked while this crate is in use.
//!
//! A forked process has a copy of the memory, and one thread: the one that forked. What other threads were at will never be finished
//! there, and locks that they held stay locked. Three things make this crate work in such a process:
//!
//! - Whoever is in a *section* ([`NoForkGuard`]: looking for kernels, compiling, opening a library) holds locks or changes what all threads
//!   share. A fork waits until nobody is, so the child finds all of it whole. Kernels run outside of sections, however long they take.
//! - What belongs to threads, and what each launch locks (the pool, the order of a queue, stacks, the background, the kernels), is made
//!   anew in the child, see [`PerProcess`]. What the parent has of it is left alone: it may be locked. So a child loads its kernels anew.
//! - What cannot be had again (launches that the parent had submitted, contexts of GPUs) is of a *generation*, a number that a fork
//!   raises in the child, and whoever asks for it there gets an error.
//!
//! A fork waits for [`PATIENCE`] at most. If a section has not ended by then, or a thread in one forks, the child is *broken*: there,
//! all devices and launches say so at once.
//!
//! The system tells of forks by `pthread_atfork`. A process that was made by the system call itself, past the C library, has no way to
//! use this crate, nor most of the standard library.

use std::cell::Cell;
use std::marker::PhantomData;
use std::ptr::null_mut;
use std::sync::Once;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Release, SeqCst};
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicUsize};
use std::thread;
use std::time::{Duration, Instant};

/// How long a fork waits for other threads. To compile a kernel takes a tenth of a second, mostly.
const PATIENCE: Duration = Duration::from_secs(5);

/// A thread that waits for a fork, or a fork for threads, looks so often.
const PAUSE: Duration = Duration::from_micros(50);

/// How many forks lie between this process and the first one that used this crate.
static GENERATION: AtomicU32 = AtomicU32::new(0);

/// The parent was in a section.
static BROKEN: AtomicBool = AtomicBool::new(false);

/// So many threads are forking.
static FORKING: AtomicU32 = AtomicU32::new(0);

/// A fork that is under way did not get what it waited for.
static UNCLEAN: AtomicBool = AtomicBool::new(false);

/// Threads in sections. Several counters, so that threads that launch at the same time have one each.
static INSIDE: [Counter; 16] = [const { Counter(AtomicUsize::new(0)) }; 16];

/// Alone in its cache lines.
#[repr(align(128))]
struct Counter(AtomicUsize);

thread_local! {
    /// In how many sections the thread is, one in the other.
    static DEPTH: Cell<u32> = const { Cell::new(0) };
    /// Its counter; 0 as long as it has none, else one more.
    static COUNTER: Cell<usize> = const { Cell::new(0) };
}

/// A function that runs in each forked process, first of all; null if there is none.
static IN_CHILD: AtomicPtr<()> = AtomicPtr::new(null_mut());

/// Has a function run in each forked process, first of all. It takes no lock and no memory. There is one such function.
pub(crate) fn in_child_run(hook: fn()) {
    IN_CHILD.store(hook as *mut (), Release);
}

/// Why a launch does not end in a forked process.
pub(crate) const OF_PARENT: &str = "the launch is its parent's";

/// What is said of a process that cannot use this crate.
pub(crate) const BROKEN_BY: &str =
    "other threads of its parent were looking for or compiling kernels at that time";

/// The number of this process: another one in each forked process. What was made in a process is that process's.
#[inline]
pub(crate) fn generation() -> u32 {
    // A fork is seen by the one thread of the child, in which it happened.
    GENERATION.load(Acquire)
}

/// Whether this process was forked when the parent could not be waited for.
#[inline]
pub(crate) fn is_broken() -> bool {
    BROKEN.load(Acquire)
}

/// While this lives, forks of other threads wait.
#[derive(Debug)]
pub(crate) struct NoForkGuard {
    /// It belongs to the thread.
    thread: PhantomData<*const ()>,
}

impl NoForkGuard {
    #[inline]
    pub(crate) fn enter() -> Self {
        static REGISTERED: Once = Once::new();
        REGISTERED.call_once(register);
        let depth = DEPTH.get();
        if depth == 0 {
            let counter = counter();
            counter.fetch_add(1, SeqCst);
            while FORKING.load(SeqCst) != 0 {
                counter.fetch_sub(1, SeqCst);
                wait_for_forks();
                counter.fetch_add(1, SeqCst);
            }
        }
        DEPTH.set(depth + 1);
        Self { thread: PhantomData }
    }
}

impl Drop for NoForkGuard {
    fn drop(&mut self) {
        let depth = DEPTH.get() - 1;
        DEPTH.set(depth);
        if depth == 0 {
            counter().fetch_sub(1, SeqCst);
        }
    }
}

/// The thread's counter.
fn counter() -> &'static AtomicUsize {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    if COUNTER.get() == 0 {
        COUNTER.set(NEXT.fetch_add(1, AcqRel) % INSIDE.len() + 1);
    }
    &INSIDE[COUNTER.get() - 1].0
}

#[cold]
fn wait_for_forks() {
    while FORKING.load(SeqCst) != 0 {
        thread::sleep(PAUSE);
    }
}

/// Has the system tell of forks.
#[cold]
fn register() {
    // SAFETY: the functions do not unwind and stay as long as this crate does: the C library forgets them when it unloads the shared
    // object that they are in. If it has no room for them, forks are not noticed.
    unsafe { libc::pthread_atfork(Some(prepare), Some(in_parent), Some(in_child)) };
}

/// Runs in the thread that forks, before it does.
extern "C" fn prepare() {
    FORKING.fetch_add(1, SeqCst);
    // A driver that starts a helper, say, which runs another program at once. Others may be waiting for this very thread.
    let inside = DEPTH.get() != 0;
    let begin = Instant::now();
    // Who wants to enter is counted for a moment, and then waits for the fork; so one look at which nobody is counted is enough.
    let nobody = || INSIDE.iter().all(|counter| counter.0.load(SeqCst) == 0);
    let mut clean = !inside && nobody();
    while !clean && !inside && begin.elapsed() < PATIENCE {
        thread::sleep(PAUSE);
        clean = nobody();
    }
    UNCLEAN.store(!clean, SeqCst);
}

extern "C" fn in_parent() {
    FORKING.fetch_sub(1, SeqCst);
}

extern "C" fn in_child() {
    if UNCLEAN.load(SeqCst) {
        BROKEN.store(true, SeqCst);
    }
    for counter in &INSIDE {
        counter.0.store(0, SeqCst);
    }
    if DEPTH.get() != 0 {
        counter().store(1, SeqCst);
    }
    FORKING.store(0, SeqCst);
    let hook = IN_CHILD.load(Acquire);
    if !hook.is_null() {
        // SAFETY: `in_child_run` has stored a function of this type.
        let hook = unsafe { std::mem::transmute::<*mut (), fn()>(hook) };
        hook();
    }
    GENERATION.fetch_add(1, SeqCst);
}

/// A value that each process makes for itself. A forked process makes another one, and leaves that of the parent alone.
#[derive(Debug)]
pub(crate) struct PerProcess<T> {
    current: AtomicPtr<Initialised<T>>,
    value: PhantomData<T>,
}

#[derive(Debug)]
struct Initialised<T> {
    generation: u32,
    value: T,
}

// SAFETY: it owns values that threads share and that any of them may drop.
unsafe impl<T: Send + Sync> Sync for PerProcess<T> {}

impl<T> PerProcess<T> {
    pub(crate) const fn new() -> Self {
        Self { current: AtomicPtr::new(null_mut()), value: PhantomData }
    }

    /// This process's value, if there is one.
    #[inline]
    pub(crate) fn known(&self) -> Option<&T> {
        // SAFETY: null, or a value that stays as long as `self` does.
        let made = unsafe { self.current.load(Acquire).as_ref() };
        made.filter(|made| made.generation == generation()).map(|made| &made.value)
    }

    /// This process's value, which is made if there is none.
    #[inline]
    pub(crate) fn get(&self, make: impl FnOnce() -> T) -> &T {
        match self.known() {
            Some(value) => value,
            None => self.make(make()),
        }
    }

    #[cold]
    fn make(&self, value: T) -> &T {
        let known = self.current.load(Acquire);
        // SAFETY: as above.
        if unsafe { known.as_ref() }.is_some_and(|made| made.generation == generation()) {
            // Another thread was faster.
            // SAFETY: as above.
            return unsafe { &(*known).value };
        }
        let new = Box::into_raw(Box::new(Initialised { generation: generation(), value }));
        let made = match self.current.compare_exchange(known, new, AcqRel, Acquire) {
            // What the parent had is leaked: locks in it may be held by threads that are not there.
            Ok(_) => new,
            Err(other) => {
                // SAFETY: made just now, and nobody else knows it.
                drop(unsafe { Box::from_raw(new) });
                other
            }
        };
        // SAFETY: it is in its place, where it stays as long as `self` does, unless a fork replaces it; then it is leaked.
        unsafe { &(*made).value }
    }
}

impl<T> Drop for PerProcess<T> {
    fn drop(&mut self) {
        let current = *self.current.get_mut();
        // SAFETY: null, or a value that stays as long as `self` does.
        if unsafe { current.as_ref() }.is_some_and(|made| made.generation == generation()) {
            // SAFETY: it came from a box, and nobody has a reference: they live no longer than `self`.
            drop(unsafe { Box::from_raw(current) });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_made_once() {
        let value = PerProcess::new();
        let values: Vec<usize> = thread::scope(|scope| {
            let threads: Vec<_> = (0..8)
                .map(|number| {
                    scope.spawn({
                        let value = &value;
                        move || *value.get(|| number)
                    })
                })
                .collect();
            threads.into_iter().map(|thread| thread.join().expect("no panic")).collect()
        });
        assert!(values.iter().all(|other| *other == values[0]));
    }

    #[test]
    fn sections_are_left_by_panics() {
        let _outer = NoForkGuard::enter();
        let depth = DEPTH.get();
        let caught = std::panic::catch_unwind(|| {
            let _inner = NoForkGuard::enter();
            assert_eq!(DEPTH.get(), depth + 1);
            std::panic::resume_unwind(Box::new(()));
        });
        assert!(caught.is_err());
        assert_eq!(DEPTH.get(), depth);
    }
}
