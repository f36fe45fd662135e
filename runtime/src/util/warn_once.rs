//! Warnings for the user.

use std::fmt::Display;
use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

/// Whether the trace already prints warnings to standard error.
static TRACED: AtomicBool = AtomicBool::new(false);

/// Records that the trace prints warnings to standard error.
#[cfg(feature = "trace")]
pub(crate) fn are_traced() {
    TRACED.store(true, Ordering::Relaxed);
}

/// A warning that is printed at most once in a process.
#[derive(Debug)]
pub(crate) struct WarnOnce(AtomicBool);

impl WarnOnce {
    pub(crate) const fn new() -> Self {
        Self(AtomicBool::new(false))
    }

    /// Warns in the trace and on standard error, once.
    pub(crate) fn warn(&self, text: impl Display) {
        // Each launch of such a program comes here, so most of them only read.
        if self.0.load(Ordering::Relaxed) || self.0.swap(true, Ordering::Relaxed) {
            return;
        }
        warn(text);
    }

    /// As [`warn`](Self::warn); a step of the trace if it `is_silent`.
    pub(crate) fn warn_unless(&self, is_silent: bool, text: impl Display) {
        if is_silent {
            tracing::debug!("{text}");
        } else {
            self.warn(text);
        }
    }
}

/// Warns once of what several parts of the runtime find.
pub(crate) fn warn_once(text: String) {
    static WARNED: Mutex<Vec<String>> = Mutex::new(Vec::new());
    let mut warned = WARNED.lock().unwrap_or_else(PoisonError::into_inner);
    if !warned.contains(&text) {
        warn(&text);
        warned.push(text);
    }
}

/// Warns in the trace and on standard error.
pub(crate) fn warn(text: impl Display) {
    tracing::warn!("{text}");
    // Not twice, if the trace goes to standard error, too.
    if !TRACED.load(Ordering::Relaxed) {
        say(text);
    }
}

/// Writes a line to standard error. Errors are ignored: a warning must not end the program.
pub(crate) fn say(text: impl Display) {
    let _ = writeln!(io::stderr(), "schism: {text}");
}
