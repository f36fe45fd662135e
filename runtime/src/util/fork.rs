//! Support for forking a process that uses this crate.
//!
//! A forked process has a copy of the memory, and one thread: the one that forked. The work of
//! other threads is never finished there, and locks that they held stay locked. Three things make
//! this crate work in such a process:
//!
//! - While a thread looks for kernels, compiles, or opens a library, it holds a [`NoForkGuard`],
//!   because it holds locks or changes shared state. A fork waits until no thread has one, so the
//!   child finds all state consistent. Kernels run without a guard, however long they take.
//! - State that belongs to threads, or that each launch locks (the thread pool, in-order queues,
//!   stacks, the background thread, the kernels), is created again in the child, see
//!   [`PerProcess`]. The parent's copy is left alone, because it may be locked. So a child loads
//!   its kernels again.
//! - State that cannot be recreated (launches that the parent had submitted, contexts of GPUs)
//!   belongs to a *generation*, a number that a fork increments in the child. Using such state
//!   there is an error.
//!
//! While a thread compiles, it has none, since that may take long: see [`let_fork`]. A fork waits for
//! it no longer than a [`Wait`] says, and if that is not enough, the child has no compiler
//! ([`has_compiler`]), since other threads of its parent were in the middle of it.
//!
//! A fork waits for [`PATIENCE`] at most. If a guard is still held by then, or the forking thread
//! holds one itself, the child is *broken*: all devices and launches return errors there.
//!
//! `pthread_atfork` notifies this module of forks. A process that was made by a raw system call,
//! bypassing the C library, cannot use this crate, nor most of the standard library.

use std::cell::Cell;
use std::marker::PhantomData;
use std::ptr::null_mut;
use std::sync::Once;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Release, SeqCst};
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicUsize};
use std::thread;
use std::time::{Duration, Instant};

/// How long a fork waits for other threads. Compiling a kernel usually takes a tenth of a second.
const PATIENCE: Duration = Duration::from_secs(5);

/// How long a fork waits for a compilation. Most take a tenth of a second.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Wait {
    /// In the background, or of a pipeline that rayon runs as well: the program does not know of it.
    Brief,
    /// A launch waits for it, too.
    Longer,
}

impl Wait {
    const fn time(self) -> Duration {
        Duration::from_millis(match self {
            Self::Brief => 5,
            Self::Longer => 500,
        })
    }
}

/// The polling interval of a thread that waits for a fork, and of a fork that waits for threads.
const PAUSE: Duration = Duration::from_micros(50);

/// The number of forks between this process and the first one that used this crate.
static GENERATION: AtomicU32 = AtomicU32::new(0);

/// Whether the parent was forked while a guard was held.
static BROKEN: AtomicBool = AtomicBool::new(false);

/// The number of threads that compile, for each [`Wait`].
static COMPILING: [AtomicU32; 2] = [const { AtomicU32::new(0) }; 2];

/// Whether the parent was forked while one did.
static WITHOUT_COMPILER: AtomicBool = AtomicBool::new(false);

/// The number of threads that are forking.
static FORKING: AtomicU32 = AtomicU32::new(0);

/// Whether the current fork timed out.
static UNCLEAN: AtomicBool = AtomicBool::new(false);

/// Threads with guards. Several counters, so that threads that launch at the same time do not share
/// one: the first threads have one each, and later ones share the others.
static INSIDE: [Counter; OWN + 16] = [const { Counter(AtomicUsize::new(0)) }; OWN + 16];

/// How many threads have a counter of their own. Only such a thread changes its counter, so it need
/// not add to what others have counted: that halves what a guard costs.
const OWN: usize = 16;

/// A counter in separate cache lines.
#[repr(align(128))]
struct Counter(AtomicUsize);

thread_local! {
    /// How many nested guards the thread holds.
    static DEPTH: Cell<u32> = const { Cell::new(0) };
    /// The index of its counter plus one; 0 if it has none yet.
    static COUNTER: Cell<usize> = const { Cell::new(0) };
}

/// A function that runs first in each forked process; null if there is none.
static IN_CHILD: AtomicPtr<()> = AtomicPtr::new(null_mut());

/// Registers a function that runs first in each forked process. It must neither lock nor allocate.
/// There is only one such function.
pub(crate) fn in_child_run(hook: fn()) {
    IN_CHILD.store(hook as *mut (), Release);
}

/// Why a launch never completes in a forked process.
pub(crate) const OF_PARENT: &str = "the launch is its parent's";

/// The reason that errors give in a process that cannot use the compiler.
pub(crate) const WITHOUT_COMPILER_BY: &str = "its parent was compiling a kernel when this process was forked, so it can launch only kernels that are cached";

/// The reason that errors give in a process that cannot use this crate.
pub(crate) const BROKEN_BY: &str =
    "other threads of its parent were looking for or compiling kernels at that time";

/// The number of this process, which differs in each forked process. State of another generation
/// belongs to the parent.
#[inline]
pub(crate) fn generation() -> u32 {
    // The child's only thread, which forked, sees the change.
    GENERATION.load(Acquire)
}

/// Whether the fork of this process timed out waiting for the parent's threads.
#[inline]
pub(crate) fn is_broken() -> bool {
    BROKEN.load(Acquire)
}

/// Whether this process may use the compiler: no thread of its parent was in the middle of it.
#[inline]
pub(crate) fn has_compiler() -> bool {
    !WITHOUT_COMPILER.load(Acquire)
}

/// Runs the compiler without the guards that the thread has. It holds no locks but the compiler's own,
/// and those of state that a child makes again.
pub(crate) fn let_fork<R>(wait: Wait, compile: impl FnOnce() -> R) -> R {
    struct Within {
        wait: Wait,
        depth: u32,
    }

    impl Drop for Within {
        fn drop(&mut self) {
            COMPILING[self.wait as usize].fetch_sub(1, SeqCst);
            if self.depth != 0 {
                enter(counter());
                DEPTH.set(self.depth);
            }
        }
    }

    COMPILING[wait as usize].fetch_add(1, SeqCst);
    let within = Within { wait, depth: DEPTH.replace(0) };
    if within.depth != 0 {
        end(counter());
    }
    compile()
}

/// While this lives, forks by other threads wait.
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
            enter(counter());
        }
        DEPTH.set(depth + 1);
        Self { thread: PhantomData }
    }
}

impl Drop for NoForkGuard {
    #[inline]
    fn drop(&mut self) {
        let depth = DEPTH.get() - 1;
        DEPTH.set(depth);
        if depth == 0 {
            end(counter());
        }
    }
}

/// Counts the calling thread, whose counter has this number, when no thread forks.
#[inline]
fn enter(number: usize) {
    begin(number);
    while FORKING.load(SeqCst) != 0 {
        end(number);
        wait_for_forks();
        begin(number);
    }
}

/// Counts the calling thread, whose counter has this number. A fork that has begun before is seen
/// afterwards, or it sees the counter.
#[inline]
fn begin(number: usize) {
    let counter = &INSIDE[number].0;
    if number < OWN {
        counter.store(1, SeqCst);
    } else {
        counter.fetch_add(1, SeqCst);
    }
}

/// The opposite.
#[inline]
fn end(number: usize) {
    let counter = &INSIDE[number].0;
    if number < OWN {
        counter.store(0, Release);
    } else {
        counter.fetch_sub(1, SeqCst);
    }
}

/// The number of the thread's counter.
#[inline]
fn counter() -> usize {
    match COUNTER.get() {
        0 => choose_counter(),
        known => known - 1,
    }
}

/// Gives the calling thread a counter that no other thread has, as long as there are such.
#[cold]
fn choose_counter() -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    let next = NEXT.fetch_add(1, AcqRel);
    let number = if next < OWN { next } else { OWN + next % (INSIDE.len() - OWN) };
    COUNTER.set(number + 1);
    number
}

#[cold]
fn wait_for_forks() {
    while FORKING.load(SeqCst) != 0 {
        thread::sleep(PAUSE);
    }
}

/// Registers the handlers for forks.
#[cold]
fn register() {
    // SAFETY: the functions do not unwind and stay as long as this crate does: the C library
    // forgets them when it unloads the shared object that contains them. If it cannot register
    // them, forks go unnoticed.
    unsafe { libc::pthread_atfork(Some(prepare), Some(in_parent), Some(in_child)) };
}

/// Runs in the thread that forks, before the fork.
extern "C" fn prepare() {
    FORKING.fetch_add(1, SeqCst);
    // The thread may hold a guard itself, for example in a driver that starts a helper process.
    // Others may be waiting for it.
    let inside = DEPTH.get() != 0;
    let begin = Instant::now();
    let waits =
        |wait: Wait| COMPILING[wait as usize].load(SeqCst) != 0 && begin.elapsed() < wait.time();
    while !inside && (waits(Wait::Brief) || waits(Wait::Longer)) {
        thread::sleep(PAUSE);
    }
    // A thread that wants a guard is counted for a moment, and then waits for the fork; so it is
    // enough to see all counters at 0 once.
    let is_empty = || INSIDE.iter().all(|counter| counter.0.load(SeqCst) == 0);
    let mut clean = !inside && is_empty();
    while !clean && !inside && begin.elapsed() < PATIENCE {
        thread::sleep(PAUSE);
        clean = is_empty();
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
    for compiling in &COMPILING {
        if compiling.swap(0, SeqCst) != 0 {
            WITHOUT_COMPILER.store(true, SeqCst);
        }
    }
    for counter in &INSIDE {
        counter.0.store(0, SeqCst);
    }
    if DEPTH.get() != 0 {
        begin(counter());
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

/// A value that each process creates for itself. A forked process creates another one, and leaves
/// the parent's alone.
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

    /// This process's value, if it exists.
    #[inline]
    pub(crate) fn known(&self) -> Option<&T> {
        // SAFETY: null, or a value that stays as long as `self` does.
        let made = unsafe { self.current.load(Acquire).as_ref() };
        made.filter(|made| made.generation == generation()).map(|made| &made.value)
    }

    /// This process's value; created if there is none.
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
            // The parent's value is leaked: threads that do not exist here may hold its locks.
            Ok(_) => new,
            Err(other) => {
                // SAFETY: created just now, and not shared yet.
                drop(unsafe { Box::from_raw(new) });
                other
            }
        };
        // SAFETY: `current` has it, where it stays as long as `self` does, unless a fork replaces
        // it; then it is leaked.
        unsafe { &(*made).value }
    }
}

impl<T> Drop for PerProcess<T> {
    fn drop(&mut self) {
        let current = *self.current.get_mut();
        // SAFETY: null, or a value that stays as long as `self` does.
        if unsafe { current.as_ref() }.is_some_and(|made| made.generation == generation()) {
            // SAFETY: it came from a box, and there are no references: they live no longer than
            // `self`.
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
    fn a_fork_does_not_wait_for_a_compilation() {
        let (began, has_begun) = std::sync::mpsc::channel();
        let (end, may_end) = std::sync::mpsc::channel::<()>();
        let compiling = thread::spawn(move || {
            let _guard = NoForkGuard::enter();
            let depth = DEPTH.get();
            let_fork(Wait::Brief, || {
                began.send(()).expect("the test listens");
                may_end.recv().expect("it is told");
            });
            assert_eq!(DEPTH.get(), depth);
        });
        has_begun.recv().expect("it begins");
        // SAFETY: the child asks, and leaves by `_exit`.
        let child = unsafe { libc::fork() };
        if child == 0 {
            let code = i32::from(has_compiler()) + 2 * i32::from(is_broken());
            // SAFETY: it ends the process.
            unsafe { libc::_exit(code) };
        }
        let mut status = 0;
        // SAFETY: our own child; the status is ours to be written.
        assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
        assert_eq!(status, 0, "the child has a compiler that other threads were in the middle of");
        assert!(has_compiler());
        end.send(()).expect("it waits");
        compiling.join().expect("no panic");
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
