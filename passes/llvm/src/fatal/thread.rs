//! The state of a compile thread.

use std::cell::OnceCell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

thread_local! {
    /// On a compile thread: its own state.
    pub static OWN: OnceCell<Arc<Shared>> = const { OnceCell::new() };
}

/// What a compile thread shares with the thread that started it.
#[derive(Default)]
pub struct Shared {
    /// The system's number for the compile thread.
    pub number: OnceLock<libc::pid_t>,
    pub is_abandoned: AtomicBool,
    /// Whether it runs LLVM no more.
    pub is_done: AtomicBool,
    /// Whether the end of the process has stopped it.
    pub is_parked: AtomicBool,
}

impl Shared {
    pub fn is_done(&self) -> bool {
        self.is_done.load(Ordering::Acquire)
    }

    pub fn is_stopped(&self) -> bool {
        self.is_done() || self.is_parked.load(Ordering::Acquire)
    }
}
