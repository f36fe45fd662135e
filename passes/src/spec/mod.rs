//! The contract of a device module: what stage 1 tells the passes, what they tell it, and what
//! images may call.

pub mod builtins;
pub mod device;
pub mod image;
pub mod kernel;
pub mod lanes;
pub mod messages;
pub mod options;
pub mod report;
pub mod std_bodies;
pub mod target;
pub mod target_library;
pub mod text;
