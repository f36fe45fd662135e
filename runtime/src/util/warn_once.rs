//! What the user must be told.

use std::fmt::Display;
use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether the trace goes to standard error, with warnings.
static TRACED: AtomicBool = AtomicBool::new(false);

/// From now on the trace shows warnings on standard error.
#[cfg(feature = "trace")]
pub(crate) fn are_traced() {
    TRACED.store(true, Ordering::Relaxed);
}

/// Something to be said at most once in a process.
#[derive(Debug)]
pub(crate) struct WarnOnce(AtomicBool);

impl WarnOnce {
    pub(crate) const fn new() -> Self {
        Self(AtomicBool::new(false))
    }

    /// Warns in the trace and on standard error, the first time.
    pub(crate) fn warn(&self, text: impl Display) {
        // Each launch of such a program comes here, so most of them only read.
        if self.0.load(Ordering::Relaxed) || self.0.swap(true, Ordering::Relaxed) {
            return;
        }
        warn(text);
    }
}

/// Warns in the trace and on standard error.
pub(crate) fn warn(text: impl Display) {
    tracing::warn!("{text}");
    // Not twice, if the trace goes to standard error as well.
    if !TRACED.load(Ordering::Relaxed) {
        say(text);
    }
}

/// Writes a line to standard error, where that can be written: a program does not end because nobody hears this.
pub(crate) fn say(text: impl Display) {
    let _ = writeln!(io::stderr(), "schism: {text}");
}
