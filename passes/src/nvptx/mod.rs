//! Passes for NVIDIA's GPUs.

pub mod approx_math;
pub mod circular_statics;
pub(crate) mod hoist_loads;
pub mod launch_bounds;
pub(crate) mod no_return_atomics;
pub mod nvptx_prepare;
pub(crate) mod separate_bytes;
pub(crate) mod vectorize_relaxed;
