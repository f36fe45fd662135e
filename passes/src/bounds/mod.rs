//! Bounds checks out of the way of loops.

mod conditions;
pub mod loop_versioning;
pub mod merge_checks;
pub mod narrow_checks;
pub mod strip_mine;
