//! Moves bounds checks out of loops, merges them, decides them by sizes and narrows them.

pub mod clamped_checks;
pub(crate) mod conditions;
mod innermost;
pub mod loop_versioning;
pub mod merge_checks;
pub mod narrow_integers;
pub mod strip_mine;
