//! Moves bounds checks out of loops, merges them and narrows them.

mod conditions;
pub mod loop_versioning;
pub mod merge_checks;
pub mod narrow_checks;
pub mod strip_mine;
