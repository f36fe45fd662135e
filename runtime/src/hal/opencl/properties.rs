//! Properties of a device.

use crate::error::DriverError;
use crate::hal::opencl::api::{RawDevice, RawPlatform, SharedMemory, number, symbol};
use crate::hal::opencl::driver::{self, Driver};
use crate::util::fork;

/// The name prefix of OpenCL's devices.
pub(super) const DEVICES: &str = "opencl";

/// The limit of what a kernel's code counts on: see `schism_jit`'s entry of GPUs.
const MOST_IN_GROUP: u64 = 1024;

/// What is known of a device.
#[derive(Debug)]
pub(crate) struct Properties {
    pub(super) driver: &'static Driver,
    pub(super) platform: RawPlatform,
    pub(super) raw: RawDevice,
    pub(super) number: u64,
    /// In the form of `SCHISM_DEVICE`.
    pub(super) name: String,
    /// The device's and the driver's own names, and what identifies the driver.
    model: String,
    platform_name: String,
    pub(super) version: String,
    pub(super) max_group: usize,
    pub(super) local_memory: usize,
    pub(super) compute_units: usize,
    /// Whether kernels can use all of the host's memory.
    pub(super) sees_host: bool,
    pub(super) shared: SharedMemory,
}

impl Properties {
    pub(super) fn new(
        driver: &'static Driver,
        platform: RawPlatform,
        raw: RawDevice,
        number: u64,
    ) -> Result<Self, String> {
        let api = &driver.api;
        let text = |what| driver::text_of(api.device_info, raw, what);
        let model = text(number::DEVICE_NAME);
        let lacks = |what: &str| format!("`{model}` has no {what}");
        if !text(number::DEVICE_IL_VERSION).contains("SPIR-V") {
            return Err(lacks("SPIR-V"));
        }
        let shared = SharedMemory::of(api, platform)
            .ok_or_else(|| lacks("memory that host and device share (clSharedMemAllocINTEL)"))?;
        let ask = |what, bytes| {
            driver::number_of(api.device_info, raw, what, bytes, symbol::device_info)
                .map_err(|error: DriverError| format!("`{model}`: {error}"))
        };
        let svm = ask(number::DEVICE_SVM, 8).unwrap_or(0);
        Ok(Self {
            max_group: ask(number::DEVICE_GROUP_SIZE, 8)?.clamp(1, MOST_IN_GROUP) as usize,
            local_memory: ask(number::DEVICE_LOCAL_MEMORY, 8)? as usize,
            compute_units: ask(number::DEVICE_COMPUTE_UNITS, 4)? as usize,
            sees_host: svm & number::SVM_FINE_GRAIN_SYSTEM != 0,
            name: format!("{DEVICES}:{number}"),
            platform_name: driver::text_of(api.platform_info, platform, number::PLATFORM_NAME),
            version: format!("{} {}", text(number::DEVICE_VERSION), text(number::DRIVER_VERSION)),
            model,
            driver,
            platform,
            raw,
            number,
            shared,
        })
    }

    /// Why this process cannot use it, if it was forked from one that did.
    pub(super) fn forked(&self) -> Option<String> {
        (self.driver.generation != fork::generation()).then(|| {
            format!(
                "`{}` is its parent's: OpenCL cannot be used on both sides of a fork",
                self.name
            )
        })
    }

    /// What identifies the device and its driver.
    pub(super) fn identity(&self) -> String {
        format!("{} {} {}", self.platform_name, self.model, self.version)
    }

    /// A description for people.
    pub(super) fn description(&self) -> String {
        format!("{} of {}, {}", self.model, self.platform_name, self.version)
    }
}
