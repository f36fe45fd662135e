//! The environment variables of the cache. The runtime's table describes them.

/// `0`, `1`: whether compiled kernels are kept on disk.
pub(crate) const CACHE: &str = "SCHISM_CACHE";
/// A path: where they are kept.
pub(crate) const CACHE_DIR: &str = "SCHISM_CACHE_DIR";
/// Bytes, or a number with `K`, `M`, `G`: the most that is kept.
pub(crate) const CACHE_SIZE: &str = "SCHISM_CACHE_SIZE";
