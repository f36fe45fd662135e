//! Passes for the CPU.

pub mod forward_group_memory;
pub mod split_at_barriers;
pub mod unique_backedges;
