//! The user's interface: devices, queues, scopes, events.

pub(crate) mod device;
pub(crate) mod event;
pub(crate) mod queue;
pub(crate) mod scope;

#[cfg(all(test, not(schism_driver)))]
mod native_tests;
