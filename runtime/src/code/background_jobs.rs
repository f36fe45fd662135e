//! The jobs of the background thread, and what of them the end of the process may cut.

use std::cell::Cell;
use std::collections::VecDeque;
use std::sync::MutexGuard;
use std::thread::{self, JoinHandle};

use crate::code::variant::Variant;
use crate::util::fork::{self, PerProcess, Wait};
use crate::util::monitor::Monitor;

thread_local! {
    /// Whether the thread is the one that takes jobs.
    pub(super) static IS_BACKGROUND: Cell<bool> = const { Cell::new(false) };
}

/// A job for a kernel of a container.
pub(super) struct Job {
    pub(super) container: usize,
    /// Whether a caller needs the result soon.
    pub(super) soon: bool,
    pub(super) run: Box<dyn FnOnce() + Send>,
}

#[derive(Default)]
pub(super) struct State {
    pub(super) waiting: VecDeque<Job>,
    /// The container of the current job.
    pub(super) running: Option<usize>,
    /// Whether the current job is in a part that the end of the process need not wait for.
    pub(super) may_be_cut: bool,
    /// Whether a thread takes jobs.
    pub(super) active: bool,
    /// The latest thread.
    pub(super) thread: Option<JoinHandle<()>>,
    /// Whether the process is ending.
    pub(super) ending: bool,
}

/// State shared with the thread; waiting means waiting for the end of a job, or for a part that may be
/// cut. A forked process does not have the thread, and starts with nothing.
pub(super) fn shared() -> &'static Monitor<State> {
    static SHARED: PerProcess<Monitor<State>> = PerProcess::new();
    SHARED.get(Monitor::default)
}

pub(super) fn state() -> MutexGuard<'static, State> {
    shared().lock()
}

/// Runs a part of a job that the end of the process may cut: it calls no driver, and leaves no file
/// half written. Where the process is ending, the thread does not come back from it.
pub(crate) fn may_be_cut<R>(run: impl FnOnce() -> R) -> R {
    if !IS_BACKGROUND.get() {
        return run();
    }
    let before = std::mem::replace(&mut state().may_be_cut, true);
    shared().notify_all();
    let result = run();
    let mut state = state();
    state.may_be_cut = before;
    let is_ending = state.ending;
    drop(state);
    if is_ending {
        fork::let_fork(Wait::Brief, || {
            loop {
                thread::park();
            }
        })
    }
    result
}

/// Has stage 2 compile, which a fork does not wait for to the end: see [`fork::let_fork`]. It waits
/// longer where a launch would fail without the code: one in the program's process can do without.
pub(crate) fn let_fork<R>(variant: &Variant, compile: impl FnOnce() -> R) -> R {
    let brief = variant.in_process || IS_BACKGROUND.get();
    fork::let_fork(if brief { Wait::Brief } else { Wait::Longer }, compile)
}
