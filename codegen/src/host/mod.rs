//! The host half: what is changed in the modules that rustc lowers for the host.

pub(crate) mod descriptors;
pub(crate) mod heap;
