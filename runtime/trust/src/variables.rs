//! The environment variables that say where schism's home is.

/// A path: schism's home. The runtime's table describes it.
pub(crate) const HOME: &str = "SCHISM_HOME";
