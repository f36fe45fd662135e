//! What any module may use: locks across forks, retries, shared libraries, messages to the user.

pub(crate) mod fork;
pub(crate) mod library;
pub(crate) mod monitor;
pub(crate) mod retry;
pub(crate) mod trace;
pub(crate) mod warn_once;
