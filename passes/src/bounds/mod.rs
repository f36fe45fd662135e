//! Bounds checks out of the way of loops.

pub mod loop_versioning;
pub mod merge_checks;
pub mod narrow_checks;
pub mod strip_mine;
