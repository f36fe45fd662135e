//! A background thread that compiles better versions, while launches use what there is.
//!
//! It exists while there is work. It has the lowest priority, unless a caller needs the result soon
//! ([`submit_now`]). Unloading the kernel's shared object waits for its current job.
//!
//! The end of the process does not, since a compilation may take long: it stops stage 2
//! ([`compiler::stop`]), which nothing may run while the destructors of LLVM's static objects do. It
//! waits for the parts of a job that call a driver, which is ending, too; other parts may be cut
//! ([`may_be_cut`]).
//!
//! The functions of `atexit` run in the reverse order of their registration. Stage 2 has one, from
//! before it first compiles; the one here is for a library that is being opened, and for drivers. The
//! thread-locals of the thread that calls `exit` are dropped before all of them, so the main thread
//! has one that stops all of this before any function of the program's ([`guard_main_thread`]).

use std::cell::Cell;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Once;
use std::thread;
use std::time::{Duration, Instant};

use crate::code::background_jobs::{IS_BACKGROUND, Job, shared, state};
use crate::code::compiler::{self, stage2};
use crate::launch::payload;
use crate::util::fork::NoForkGuard;

/// Further jobs are refused; kernels will ask again.
const MOST_WAITING: usize = 32;

/// The end of the process waits no longer for a driver.
const LIMIT: Duration = Duration::from_secs(2);

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
    AT_EXIT.call_once(finish_at_exit);
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
    IS_BACKGROUND.set(true);
    // Opening the compiler before the function is registered makes the compiler's clean-up run
    // after it. The job reports a missing compiler.
    {
        let _no_fork = NoForkGuard::enter();
        let _ = stage2();
    }
    AT_EXIT.call_once(finish_at_exit);
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
            payload::discard(payload);
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
    // When the process is ending, such a part has no end.
    while state.running == Some(container) && !(state.ending && state.may_be_cut) {
        state = shared().wait(state);
    }
    drop(state);
    // Without the lock: a job may hold the last reference to something.
    drop::<VecDeque<Job>>(dropped);
}

/// Accepts no more jobs, drops the queued ones, and waits for what cannot be cut.
fn finish() {
    let dropped = {
        let mut state = state();
        state.ending = true;
        std::mem::take(&mut state.waiting)
    };
    // The process is ending, and frees what the jobs hold.
    std::mem::forget(dropped);
    compiler::stop();
    if IS_BACKGROUND.try_with(Cell::get).unwrap_or(false) {
        return;
    }
    let begin = Instant::now();
    let mut state = state();
    while state.running.is_some()
        && !state.may_be_cut
        && let Some(left) = LIMIT.checked_sub(begin.elapsed())
    {
        state = shared().wait_for(state, left);
    }
}

/// Has the end of the process, or of this shared object, call [`finish`].
fn finish_at_exit() {
    extern "C" fn at_exit() {
        finish();
    }
    // SAFETY: the function does not unwind, and may be called at the end. If it cannot be
    // registered, stage 2's own is what there is.
    unsafe { libc::atexit(at_exit) };
}

/// Has the end of the main thread call [`finish`], before any function of `atexit` runs. To be called
/// before `main`, by the main thread, and only if this code belongs to the executable: a thread-local
/// keeps its shared object from being unloaded.
pub(crate) fn guard_main_thread() {
    struct Finish;

    impl Drop for Finish {
        fn drop(&mut self) {
            finish();
        }
    }

    thread_local! {
        static FINISH: Finish = const { Finish };
    }
    FINISH.with(|_| ());
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
            began.send(()).expect("the test listens");
            may_go.recv().expect("it is told");
            thread::sleep(Duration::from_millis(20));
            told.send(1).expect("the test listens");
        };
        assert!(submit(1, Box::new(first)));
        for (container, number) in [(2, 2), (1, 3), (2, 4)] {
            let done = done.clone();
            let run = move || {
                done.send(number).expect("the test listens");
                panic!("no caller sees this");
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
