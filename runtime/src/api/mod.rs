//! The user's interface: devices, queues, scopes, events.

pub(crate) mod after;
pub(crate) mod choice;
pub(crate) mod conditions;
pub(crate) mod device;
pub(crate) mod event;
pub(crate) mod fallback;
pub mod heap;
pub(crate) mod owned_event;
pub(crate) mod placement;
pub(crate) mod queue;
pub(crate) mod resident;
pub(crate) mod scope;
pub(crate) mod unchecked;
pub(crate) mod watcher;

#[cfg(all(test, not(schism_driver)))]
mod native_tests;
