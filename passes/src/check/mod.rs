//! What no device has, and what makes kernels slow: errors, requirements and warnings.

pub(crate) mod address_identity;
pub mod capabilities;
pub mod cleanup;
pub mod device_check;
pub mod exports;
pub(crate) mod host_memory;
pub mod performance_lints;
pub mod recursion;
