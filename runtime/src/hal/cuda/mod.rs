//! NVIDIA's GPUs, by their driver: devices of the kind [`Cuda`](crate::DeviceKind::Cuda).
//!
//! | file | concern |
//! |---|---|
//! | `api` | the table of the driver's functions |
//! | `driver` | opening it, its errors |
//! | `properties` | what a device is and can do |
//! | `device` | the devices, and the context of each |
//! | `handle` | a context as the driver knows it; calls in it, its loss |
//! | `context` | memory and copies of a process on a device |
//! | `free_list` | which parts of the memory are free |
//! | `memory` | a buffer's memory, and what the host reads of it |
//! | `kernel` | a kernel, compiled and loaded |
//! | `queue`, `stream`, `launch` | launches |
//! | `aot` | which code made ahead of time a device takes |
//! | `libdevice` | the vendor's mathematics, where it is asked for |
//! | `messages` | messages of kernels |
//! | `staging` | large copies |

pub(crate) mod aot;
mod api;
mod context;
mod device;
mod driver;
mod free_list;
mod handle;
mod kernel;
mod launch;
mod libdevice;
mod memory;
mod messages;
mod properties;
mod queue;
mod staging;
mod stream;

pub(crate) use device::Cuda;
