//! What the kernels of `cargo schism bench gpu` and their baselines in OpenCL C share.

pub mod data;
pub mod settings;
