//! Moves bounds checks out of loops, merges them, decides them by sizes and narrows them.

pub mod clamped_checks;
pub(crate) mod conditions;
pub mod group_bailouts;
mod group_ranges;
pub mod group_versioning;
mod halves;
mod innermost;
mod irregular;
pub mod join_bailouts;
pub mod join_guards;
pub mod late_checks;
pub mod loop_versioning;
pub mod merge_checks;
pub mod narrow_checks;
pub mod narrow_comparisons;
pub mod narrow_counters;
pub mod narrow_indices;
pub mod segment_checks;
pub mod short_numbers;
pub mod strip_mine;
pub(crate) mod versions;
