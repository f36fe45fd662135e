//! How large groups can be on the host devices.

/// The most work-items of a group, on the host devices.
pub(crate) const MOST_ITEMS: usize = 1024;

/// The most local memory of a group in bytes, on the host devices: what fits into the first caches of a core.
pub(crate) const LOCAL_MEMORY: usize = 64 << 10;
