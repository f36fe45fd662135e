//! Helpers for all modules: device nodes, forks, retries, shared libraries and the process's objects, warnings, the trace.

pub(crate) mod device_nodes;
pub(crate) mod fork;
pub(crate) mod library;
pub(crate) mod monitor;
pub(crate) mod objects;
pub(crate) mod report;
pub(crate) mod retry;
pub(crate) mod trace;
pub mod variables;
pub(crate) mod warn_once;
