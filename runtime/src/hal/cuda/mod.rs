//! NVIDIA's GPUs, by their driver: devices of the kind [`Cuda`](crate::DeviceKind::Cuda).
//!
//! | file | concern |
//! |---|---|
//! | `api` | the table of the driver's functions |
//! | `driver` | opening it, its errors |
//! | `device` | a device, and its context |
//! | `context` | memory, streams and copies of a process on a device; its loss |
//! | `free_list` | which parts of the memory are free |
//! | `address_window` | host addresses that stand for memory of a device |
//! | `memory` | a buffer's memory, and what the host reads of it |
//! | `kernel` | a kernel, compiled and loaded |
//! | `stream`, `launch` | launches |
//! | `libdevice` | the vendor's mathematics, where it is asked for |
//! | `messages` | messages of kernels |
//! | `staging` | large copies |

mod address_window;
mod api;
mod context;
mod device;
mod driver;
mod free_list;
mod kernel;
mod launch;
mod libdevice;
mod memory;
mod messages;
mod staging;
mod stream;

pub(crate) use address_window::{is_in_buffer, is_shadow};
pub(crate) use context::Context;
pub(crate) use device::Gpu;
pub(crate) use driver::gpus;
pub(crate) use kernel::CudaKernel;
pub(crate) use launch::{Pending, Shape, launch};
pub(crate) use memory::{Memory, Unreadable, exclusive, readable};
pub(crate) use stream::Stream;
