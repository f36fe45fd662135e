//! What the devices of GPUs' vendors have in common: drivers whose interfaces have the shape of
//! CUDA's.
//!
//! | file | concern |
//! |---|---|
//! | `vendor` | what the drivers differ in |
//! | `api` | the table of a driver's functions |
//! | `driver` | opens it; its errors |
//! | `properties` | properties of a device |
//! | `device` | the devices, and the context of each |
//! | `handle` | a driver context: calls in it, its loss |
//! | `context` | memory and copies of a process on a device |
//! | `host_memory`, `in_system_call`, `leaving`, `mapping_log`, `mappings`, `page_table`, `process`, `watch` | kernels that use the host's own addresses |
//! | `memory` | a buffer's memory, and what the host reads of it |
//! | `kernel` | a kernel, compiled and loaded |
//! | `queue`, `stream`, `launch`, `repeat` | launches |
//! | `staging` | large copies |

pub(in crate::hal) mod api;
mod context;
pub(in crate::hal) mod device;
pub(in crate::hal) mod driver;
mod handle;
mod host_memory;
mod in_system_call;
mod kernel;
mod launch;
mod leaving;
mod mapping_log;
mod mappings;
pub(in crate::hal) mod memory;
mod page_table;
mod process;
pub(in crate::hal) mod properties;
mod queue;
mod repeat;
mod staging;
mod stream;
pub(in crate::hal) mod vendor;
mod watch;
