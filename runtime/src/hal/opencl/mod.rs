//! Devices of OpenCL, through their drivers: devices of the kind [`OpenCl`](crate::DeviceKind::OpenCl).
//!
//! | file | concern |
//! |---|---|
//! | `aot` | which code that was made ahead of time runs here |
//! | `api` | the table of OpenCL's functions |
//! | `driver` | opens the loader; errors |
//! | `properties` | properties of a device |
//! | `device` | the devices, and the context of each |
//! | `context` | memory of a process on a device |
//! | `memory` | a buffer's memory |
//! | `kernel` | a kernel, compiled and built by the driver |
//! | `queue`, `grid`, `launch` | launches |
//!
//! Memory is what OpenCL calls shared: host and device access it at one address, and the driver
//! moves it where it has to. So closures contain addresses that hold on both.
//!
//! A device is used only if `SCHISM_DEVICE` or the program names it.

mod aot;
mod api;
mod context;
mod device;
mod driver;
mod grid;
mod kernel;
mod launch;
mod memory;
mod properties;
mod queue;

pub(crate) use device::OpenCl;
