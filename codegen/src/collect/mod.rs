//! What the kernels of a crate reach.

pub(crate) mod barrier_markers;
pub(crate) mod call_map;
pub(crate) mod check;
pub(crate) mod encoded_mir;
pub(crate) mod formatters;
pub(crate) mod imports;
pub(crate) mod panics;
pub(crate) mod spec_constants;
pub(crate) mod std_bodies;
pub(crate) mod threads;
pub(crate) mod walk;
