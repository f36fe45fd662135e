//! What passes ask about code; nothing here changes it.

pub mod addresses_passed;
pub mod call_sites;
pub(crate) mod callees;
pub(crate) mod cleanup;
pub mod cold_paths;
pub(crate) mod effects;
pub(crate) mod local_elements;
pub(crate) mod scev;
pub(crate) mod statics;
pub mod structural_hash;
pub mod trip_count;
pub(crate) mod uses;
pub(crate) mod value_range;
