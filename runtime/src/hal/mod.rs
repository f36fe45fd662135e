//! The devices: a folder for each backend.

pub(crate) mod cuda;
pub(crate) mod host;
