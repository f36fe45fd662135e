//! Parallel algorithms over slices and device data.
pub use operand::{Function, Input, Output};
pub use scan::inclusive_scan;

mod chunks;
mod collect;
mod operand;
mod scan;
