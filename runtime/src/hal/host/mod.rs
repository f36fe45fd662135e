//! The host devices: `cpu`, which runs compiled kernels, and `native`, which runs the host half's
//! own bodies.

pub(crate) mod aot;
pub(crate) mod body;
pub(crate) mod device;
pub(crate) mod groups;
pub(crate) mod in_order;
pub(crate) mod kernel;
pub(crate) mod lanes;
mod math;
pub(crate) mod memory;
pub(crate) mod pace;
pub(crate) mod pool;
pub(crate) mod queue;
pub(crate) mod run;
pub(crate) mod stack;
pub(crate) mod tiles;
pub(crate) mod work_sharing;

pub(crate) use self::device::{Cpu, Native};
#[cfg(test)]
pub(crate) use self::kernel::CpuLoader;
