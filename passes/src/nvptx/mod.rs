//! Passes for NVIDIA's GPUs.

pub mod approx_math;
pub mod circular_statics;
pub mod hoist_loads;
pub mod launch_bounds;
pub mod no_return_atomics;
pub mod separate_bytes;
pub mod vectorize_relaxed;
