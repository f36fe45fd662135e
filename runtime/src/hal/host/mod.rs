//! The host devices: `cpu`, which runs compiled kernels, and `native`, which runs the host half's own bodies.

pub(crate) mod groups;
pub(crate) mod in_order;
pub(crate) mod kernel;
pub(crate) mod math;
pub(crate) mod pool;
pub(crate) mod run;
pub(crate) mod stack;
pub(crate) mod tiles;
pub(crate) mod work_sharing;
