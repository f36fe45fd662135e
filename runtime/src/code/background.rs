//! A background thread that compiles better versions, while launches use what there is.
//!
//! It exists while there is work. It has the lowest priority, unless somebody needs the result soon
//! ([`submit_now`]). Two events wait for its current job: the end of the process, because the
//! destructors of LLVM's static objects must not run during it, and unloading the kernel's shared
//! object.
//!
//! The functions of `atexit` run in the reverse order of their registration, and LLVM constructs
//! some static objects, and so registers their destructors, in the middle of a job. A function of
//! ours would come too late. The thread-locals of the thread that calls `exit` are dropped before
//! all of them, so the main thread has one that waits ([`guard_main_thread`]). Another thread that
//! calls `exit` has only the functions of `atexit`.

use std::collections::VecDeque;
use std::os::unix::thread::JoinHandleExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{MutexGuard, Once};
use std::thread::{self, JoinHandle};

use crate::code::compiler::stage2;
use crate::launch::failure;
use crate::util::fork::{NoForkGuard, PerProcess};
use crate::util::monitor::Monitor;

/// Further jobs are refused; kernels will ask again.
const MOST_WAITING: usize = 32;

/// A job for a kernel of a container.
struct Job {
    container: usize,
    /// Whether somebody needs the result soon.
    soon: bool,
    run: Box<dyn FnOnce() + Send>,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<Job>,
    /// The container of the current job.
    running: Option<usize>,
    /// Whether a thread takes jobs.
    active: bool,
    /// The latest thread.
    thread: Option<JoinHandle<()>>,
    /// Whether the process is ending.
    ending: bool,
}

/// State shared with the thread; waiting means waiting for the end of a job. A forked process does
/// not have the thread, and starts with nothing.
fn shared() -> &'static Monitor<State> {
    static SHARED: PerProcess<Monitor<State>> = PerProcess::new();
    SHARED.get(Monitor::default)
}

fn state() -> MutexGuard<'static, State> {
    shared().lock()
}

/// Queues a job for the thread. Returns whether there was room.
///
/// The job's references into the container's shared object stay valid while it runs: see
/// [`forget`].
pub(crate) fn submit(container: usize, run: Box<dyn FnOnce() + Send>) -> bool {
    add(Job { container, soon: false, run })
}

/// The same for a job whose result is needed soon: it goes before the others, and has the priority
/// of its thread's beginning, unless that has worked on others before.
pub(crate) fn submit_now(container: usize, run: Box<dyn FnOnce() + Send>) -> bool {
    add(Job { container, soon: true, run })
}

fn add(job: Job) -> bool {
    // At the end of a process, the function registered last runs first. This one is for a compiler
    // that is not open yet.
    static AT_EXIT: Once = Once::new();
    AT_EXIT.call_once(wait_at_exit);
    let mut state = state();
    if state.ending || state.waiting.len() >= MOST_WAITING {
        return false;
    }
    if !state.active {
        // The previous thread is ending, and waits for nothing.
        if let Some(before) = state.thread.take() {
            let _ = before.join();
        }
        let builder = thread::Builder::new().name("schism-background".to_owned());
        let Ok(thread) = builder.spawn(work) else { return false };
        state.thread = Some(thread);
        state.active = true;
    }
    let others = |waiting: &Job| job.soon && !waiting.soon;
    let place = state.waiting.iter().position(others).unwrap_or(state.waiting.len());
    state.waiting.insert(place, job);
    true
}

/// The thread: runs queued jobs, and then ends.
fn work() {
    static AT_EXIT: Once = Once::new();
    // Opening the compiler before the function is registered makes the compiler's clean-up run
    // after it. The job reports a missing compiler.
    {
        let _no_fork = NoForkGuard::enter();
        let _ = stage2();
    }
    AT_EXIT.call_once(wait_at_exit);
    let mut state = state();
    while let Some(job) = state.waiting.pop_front() {
        state.running = Some(job.container);
        drop(state);
        if !job.soon {
            // SAFETY: it lowers the priority of the calling thread only. Threads that the compiler
            // starts inherit that.
            #[cfg(target_os = "linux")]
            unsafe {
                libc::setpriority(libc::PRIO_PROCESS, 0, 19);
            }
        }
        let no_fork = NoForkGuard::enter();
        if let Err(payload) = catch_unwind(AssertUnwindSafe(job.run)) {
            failure::discard(payload);
        }
        drop(no_fork);
        state = self::state();
        state.running = None;
        shared().notify_all();
    }
    state.active = false;
}

/// Handles unloading of a container: drops its queued jobs, and waits for the current one.
pub(crate) fn forget(container: usize) {
    let mut state = state();
    let (dropped, kept) = state.waiting.drain(..).partition(|job| job.container == container);
    state.waiting = kept;
    while state.running == Some(container) {
        state = shared().wait(state);
    }
    drop(state);
    // Without the lock: a job may hold the last reference to something.
    drop::<VecDeque<Job>>(dropped);
}

/// Accepts no more jobs, drops the queued ones, and waits for the current one.
fn finish() {
    let (thread, dropped) = {
        let mut state = state();
        state.ending = true;
        (state.thread.take(), std::mem::take(&mut state.waiting))
    };
    // The process is ending, and frees what the jobs hold.
    std::mem::forget(dropped);
    // SAFETY: it only compares.
    let is_own = |thread: &JoinHandle<()>| unsafe {
        libc::pthread_equal(thread.as_pthread_t(), libc::pthread_self()) != 0
    };
    if let Some(thread) = thread.filter(|thread| !is_own(thread)) {
        let _ = thread.join();
    }
}

/// Makes the end of the process, or of this shared object, wait for the thread.
fn wait_at_exit() {
    extern "C" fn wait() {
        finish();
    }
    // SAFETY: the function does not unwind, and may be called at the end. If it cannot be
    // registered, nothing is waited for.
    unsafe { libc::atexit(wait) };
}

/// Makes the end of the main thread wait for the background thread, before any function of
/// `atexit` runs. To be called before `main`, by the main thread, and only if this code belongs to
/// the executable: a thread-local keeps its shared object from being unloaded.
pub(crate) fn guard_main_thread() {
    struct Wait;

    impl Drop for Wait {
        fn drop(&mut self) {
            finish();
        }
    }

    thread_local! {
        static WAIT: Wait = const { Wait };
    }
    WAIT.with(|_| ());
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::time::Duration;

    use super::*;

    #[test]
    fn work_is_done_dropped_and_waited_for() {
        let (done, is_done) = mpsc::channel();
        let (go, may_go) = mpsc::channel::<()>();
        let (began, has_begun) = mpsc::channel();
        let told = done.clone();
        let first = move || {
            began.send(()).expect("somebody listens");
            may_go.recv().expect("it is told");
            thread::sleep(Duration::from_millis(20));
            told.send(1).expect("somebody listens");
        };
        assert!(submit(1, Box::new(first)));
        for (container, number) in [(2, 2), (1, 3), (2, 4)] {
            let done = done.clone();
            let run = move || {
                done.send(number).expect("somebody listens");
                panic!("this is nobody's business");
            };
            assert!(submit(container, Box::new(run)));
        }
        has_begun.recv().expect("it begins");
        go.send(()).expect("it waits");
        forget(1);
        assert_eq!(is_done.try_recv(), Ok(1), "what was begun is waited for");
        assert_eq!((is_done.recv(), is_done.recv()), (Ok(2), Ok(4)));
        drop(done);
        // There is room for that many.
        let (go, may_go) = mpsc::channel::<()>();
        assert!(submit(7, Box::new(move || may_go.recv().expect("it is told"))));
        let taken = (0..100).filter(|_| submit(8, Box::new(|| ()))).count();
        assert!((MOST_WAITING - 1..=MOST_WAITING).contains(&taken), "{taken}");
        go.send(()).expect("it waits");
        forget(8);
        forget(7);
        assert!(submit(9, Box::new(|| ())));
        forget(9);
    }
}
