//! Helpers for all modules: forks, retries, shared libraries, warnings, the trace.

pub(crate) mod fork;
pub(crate) mod library;
pub(crate) mod monitor;
pub(crate) mod report;
pub(crate) mod retry;
pub(crate) mod trace;
pub(crate) mod warn_once;
