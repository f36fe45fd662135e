//! Limits of groups on the host devices.

/// The maximum number of work-items of a group.
pub(crate) const MOST_ITEMS: usize = 1024;

/// The maximum local memory of a group in bytes: what fits into the first-level caches of a core.
pub(crate) const LOCAL_MEMORY: usize = 64 << 10;
