//! Passes for the CPU.

pub mod split_at_barriers;
