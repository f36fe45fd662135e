//! Properties of a device.

use crate::error::DriverError;
use crate::hal::opencl::api::{RawDevice, RawPlatform, SharedMemory, number, symbol};
use crate::hal::opencl::driver::{self, Driver};
use crate::kernel::group::local::DYNAMIC_ALIGN;
use crate::util::fork;

/// Bytes that most kernels need more than their local memory has, because a driver puts it anywhere.
pub(super) const USUAL_SLACK: usize = DYNAMIC_ALIGN - 1;

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
    vendor: String,
    platform_name: String,
    pub(super) version: String,
    pub(super) max_group: usize,
    /// The most work-items that are together where the launch does not choose.
    pub(super) max_items: usize,
    /// Whether it is a processor.
    pub(super) is_cpu: bool,
    pub(super) is_gpu: bool,
    /// Without what a kernel's memory takes more because a driver puts it anywhere.
    pub(super) local_memory: usize,
    pub(super) compute_units: usize,
    /// Whether it can be asked for correct divisions and square roots of 32 bits.
    pub(super) divides_correctly: bool,
    /// Whether kernels can use all of the host's memory.
    pub(super) sees_host: bool,
    pub(super) shared: SharedMemory,
    features: Features,
}

/// What devices may lack and kernels may need.
#[derive(Clone, Copy, Debug)]
struct Features {
    doubles: bool,
    halves: bool,
    long_atomics: bool,
    sub_groups: bool,
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
        let ask = |what, bytes| {
            driver::number_of(api.device_info, raw, what, bytes, symbol::device_info)
                .map_err(|error: DriverError| format!("`{model}`: {error}"))
        };
        // What a driver does not know of, its device does not have.
        let mask = |what| ask(what, 8).unwrap_or(0);
        let svm = mask(number::DEVICE_SVM);
        let shared = shared_memory(driver, platform, svm, mask)
            .ok_or_else(|| lacks("memory that host and device share (clSharedMemAllocINTEL, clHostMemAllocINTEL, or fine-grained clSVMAlloc)"))?;
        let max_items = ask(number::DEVICE_GROUP_SIZE, 8)?;
        let extensions = text(number::DEVICE_EXTENSIONS);
        let has = |name: &str| extensions.split_ascii_whitespace().any(|it| it == name);
        let sub_groups = [
            "cl_intel_required_subgroup_size",
            "cl_khr_subgroup_ballot",
            "cl_khr_subgroup_shuffle",
        ];
        let sizes = driver::list_of(api.device_info, raw, number::DEVICE_SUB_GROUP_SIZES);
        let features = Features {
            doubles: mask(number::DEVICE_DOUBLE) != 0,
            halves: has("cl_khr_fp16"),
            long_atomics: has("cl_khr_int64_base_atomics") && has("cl_khr_int64_extended_atomics"),
            sub_groups: sub_groups.into_iter().all(has)
                && sizes.contains(&schism_jit_abi::SUB_GROUP_SIZE),
        };
        Ok(Self {
            max_group: max_items.clamp(1, MOST_IN_GROUP) as usize,
            max_items: max_items.max(1) as usize,
            is_cpu: mask(number::DEVICE_TYPE) & number::TYPE_CPU != 0,
            is_gpu: mask(number::DEVICE_TYPE) & number::TYPE_GPU != 0,
            // Rounded down, so that it is a number of elements of any type.
            local_memory: (ask(number::DEVICE_LOCAL_MEMORY, 8)? as usize)
                .saturating_sub(USUAL_SLACK)
                / DYNAMIC_ALIGN
                * DYNAMIC_ALIGN,
            compute_units: ask(number::DEVICE_COMPUTE_UNITS, 4)? as usize,
            divides_correctly: mask(number::DEVICE_FLOAT) & number::FLOAT_DIVIDES_CORRECTLY != 0,
            sees_host: svm & number::SVM_FINE_GRAIN_SYSTEM != 0
                || mask(number::DEVICE_SYSTEM_MEMORY) & number::MEMORY_ACCESS != 0,
            name: format!("{DEVICES}:{number}"),
            platform_name: driver::text_of(api.platform_info, platform, number::PLATFORM_NAME),
            vendor: text(number::DEVICE_VENDOR),
            version: format!("{} {}", text(number::DEVICE_VERSION), text(number::DRIVER_VERSION)),
            model,
            driver,
            platform,
            raw,
            number,
            shared,
            features,
        })
    }

    /// What a module of SPIR-V needs and the device lacks.
    pub(super) fn lacks(&self, code: &[u8]) -> Option<&'static str> {
        /// The words before the instructions.
        const HEADER: usize = 5;
        const CAPABILITY: u32 = 17;
        let features = &self.features;
        let mut words =
            code.as_chunks().0.iter().map(|word| u32::from_le_bytes(*word)).skip(HEADER);
        // Capabilities come first, and each has two words.
        while words.next().is_some_and(|word| word & 0xFFFF == CAPABILITY) {
            let lacking = match words.next()? {
                9 if !features.halves => "floating-point numbers of 16 bits",
                10 if !features.doubles => "floating-point numbers of 64 bits",
                12 if !features.long_atomics => "atomic accesses of 64 bits",
                58 if !features.sub_groups => "sub-groups of 32 work-items",
                _ => continue,
            };
            return Some(lacking);
        }
        None
    }

    /// Whether a text names it: its number, or a part of its model, its vendor, or its driver,
    /// whatever the case.
    pub(super) fn is_called(&self, text: &str) -> bool {
        if let Ok(number) = text.parse::<u64>() {
            return number == self.number;
        }
        let text = text.to_lowercase();
        let names = [&self.model, &self.vendor, &self.platform_name];
        names.into_iter().any(|name| name.to_lowercase().contains(&text))
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

/// The best kind of memory that host and device share: what the driver moves, then the host's, then
/// that of OpenCL 2.
fn shared_memory(
    driver: &Driver,
    platform: RawPlatform,
    svm: u64,
    mask: impl Fn(u32) -> u64,
) -> Option<SharedMemory> {
    let kinds = [(number::DEVICE_SHARED_MEMORY, true), (number::DEVICE_HOST_MEMORY, false)];
    let usable = kinds.into_iter().filter(|(what, _)| mask(*what) & number::MEMORY_ACCESS != 0);
    let found = usable
        .filter_map(|(_, is_moved)| SharedMemory::of_extension(&driver.api, platform, is_moved))
        .next();
    found.or_else(|| driver.svm.clone().filter(|_| svm & number::SVM_FINE_GRAIN_BUFFER != 0))
}
