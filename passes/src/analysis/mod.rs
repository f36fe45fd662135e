//! What passes ask about code; nothing here changes it.

pub mod call_sites;
pub(crate) mod callees;
pub(crate) mod scev;
pub mod structural_hash;
