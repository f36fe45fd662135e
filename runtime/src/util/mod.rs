//! Helpers for all modules: device nodes, forks, progress, retries, shared libraries and the process's objects, warnings, the trace, the timeline.

pub(crate) mod device_nodes;
pub(crate) mod fork;
pub(crate) mod library;
pub(crate) mod monitor;
pub(crate) mod objects;
pub(crate) mod progress;
pub(crate) mod report;
pub(crate) mod retry;
pub mod timeline;
pub(crate) mod trace;
pub mod variables;
pub(crate) mod warn_once;
