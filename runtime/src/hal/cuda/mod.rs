//! NVIDIA GPUs, through their driver: devices of the kind [`Cuda`](crate::DeviceKind::Cuda).
//!
//! | file | concern |
//! |---|---|
//! | `api` | the table of the driver's functions |
//! | `driver` | opens it; its errors |
//! | `properties` | properties of a device |
//! | `device` | the devices, and the context of each |
//! | `handle` | a driver context: calls in it, its loss |
//! | `context` | memory and copies of a process on a device |
//! | `host_memory`, `in_system_call`, `leaving`, `mapping_log`, `mappings`, `page_table`, `process`, `watch` | kernels that use the host's own addresses |
//! | `memory` | a buffer's memory, and what the host reads of it |
//! | `kernel` | a kernel, compiled and loaded |
//! | `queue`, `stream`, `launch` | launches |
//! | `aot` | which AOT code a device can load |
//! | `libdevice` | the vendor's mathematics library, if requested |
//! | `messages` | messages of kernels |
//! | `staging` | large copies |

pub(crate) mod aot;
mod api;
mod context;
mod device;
mod driver;
mod handle;
mod host_memory;
mod in_system_call;
mod kernel;
mod launch;
mod leaving;
mod libdevice;
mod mapping_log;
mod mappings;
mod memory;
mod messages;
mod page_table;
mod process;
mod properties;
mod queue;
mod staging;
mod stream;
mod watch;

pub(crate) use device::Cuda;
