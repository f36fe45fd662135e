//! NVIDIA's GPUs, by their driver: devices of the kind [`Cuda`](crate::DeviceKind::Cuda).
//!
//! | file | concern |
//! |---|---|
//! | `api` | the table of the driver's functions |
//! | `driver` | opening it, its errors |
//! | `gpu` | a device, and its context |
//! | `context` | memory, streams and copies of a process on a device; its loss |
//! | `free_list` | which parts of the memory are free |
//! | `shadow` | host addresses that stand for memory of a device |
//! | `memory` | a buffer's memory, and what the host reads of it |
//! | `kernel` | a kernel, compiled and loaded |
//! | `stream`, `launch` | launches |
//! | `libdevice` | the vendor's mathematics, where it is asked for |
//! | `record` | messages of kernels |
//! | `staging` | large copies |

mod api;
mod context;
mod driver;
mod free_list;
mod gpu;
mod kernel;
mod launch;
mod libdevice;
mod memory;
mod record;
mod shadow;
mod staging;
mod stream;

pub(crate) use context::Context;
pub(crate) use driver::gpus;
pub(crate) use gpu::Gpu;
pub(crate) use kernel::CudaKernel;
pub(crate) use launch::{Pending, Shape, launch};
pub(crate) use memory::{Memory, Unreadable, exclusive, readable};
pub(crate) use shadow::{is_in_buffer, is_shadow};
pub(crate) use stream::Stream;
