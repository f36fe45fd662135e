//! What stage 2 knows of a launch becomes part of the code.

pub mod dead_arguments;
pub mod device_library;
pub mod fast_math;
pub mod promote_locals;
pub mod spec_constants;
