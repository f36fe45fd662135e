//! The properties of an AMD GPU.

use std::ffi::{CStr, c_int, c_uint};

use schism_jit_abi::{AMD_PROCESSORS, TARGET_CODE_OBJECT};

use crate::error::DriverError;
use crate::hal::gpu::api::{ResultCode, number, symbol};
use crate::hal::gpu::driver::Driver;
use crate::hal::gpu::properties::CodeFormat;
use crate::hal::gpu::properties::{Described, Properties};
use crate::hal::hip::aot::AmdgcnTarget;

/// Attributes of devices, as HIP 5 and later versions number them.
mod attribute {
    use super::c_uint;

    pub(super) const MAPS_HOST_MEMORY: c_uint = 3;
    pub(super) const MAX_BLOCK_X: c_uint = 26;
    pub(super) const MAX_BLOCK_Y: c_uint = 27;
    pub(super) const MAX_BLOCK_Z: c_uint = 28;
    pub(super) const MAX_GRID_X: c_uint = 29;
    pub(super) const MAX_GRID_Y: c_uint = 30;
    pub(super) const MAX_GRID_Z: c_uint = 31;
    pub(super) const MAX_BLOCK: c_uint = 56;
    pub(super) const MULTIPROCESSORS: c_uint = 63;
    /// The device sees memory that is not registered.
    pub(super) const PAGEABLE_MEMORY: c_uint = 65;
    pub(super) const SHARED_MEMORY: c_uint = 74;
    /// The rate of the clock that does not change, in kHz.
    pub(super) const CLOCK_RATE: c_uint = 10_017;
}

/// The function that tells a processor's name. The suffix fixes the layout of the structure.
const PROPERTIES: &str = "hipGetDevicePropertiesR0600";

/// The structure's size, and where the processor's name is in it.
const PROPERTIES_SIZE: usize = 1472;
const PROCESSOR: std::ops::Range<usize> = 1160..1416;

type GetProperties = unsafe extern "C" fn(properties: *mut u64, device: c_int) -> ResultCode;

/// A launch has no more work-items than this in a dimension, and a group at most 1024 of them.
const MAX_GROUPS: u32 = u32::MAX / 1024;

/// Stage 2 makes no code for more work-items of a group in the third dimension.
const MAX_GROUP_Z: u32 = 64;

/// Code counts on no more groups than this in the second and in the third dimension.
const MAX_GROUPS_YZ: u32 = 65_535;

/// Asks HIP for its device with this number.
pub(super) fn properties(
    driver: &'static Driver,
    ordinal: c_int,
) -> Result<Properties, DriverError> {
    let Described { number, name, model, memory } = Described::new(driver, ordinal)?;
    let get = |attribute| driver.attribute(number, attribute);
    let refused = |name: &str, text: String| DriverError {
        call: symbol::device_attribute(&driver.vendor.symbols),
        code: number::SUCCESS,
        name: name.to_owned(),
        text,
    };
    if get(attribute::MAPS_HOST_MEMORY)? == 0 {
        // Then kernels could not write messages.
        let text = "the device cannot reach memory of the host".to_owned();
        return Err(refused("no host memory", text));
    }
    let own = processor_name(driver, number)?;
    let processor = known(&own).ok_or_else(|| {
        let names: Vec<&str> = AMD_PROCESSORS.iter().map(|(name, _)| *name).collect();
        let text = format!("no code can be made for {own}, only for {}", names.join(", "));
        refused("unknown processor", text)
    })?;
    let shared_memory = get(attribute::SHARED_MEMORY)?;
    Ok(Properties {
        driver,
        number,
        name,
        model,
        memory,
        code: CodeFormat {
            name: "AMDGCN",
            target: TARGET_CODE_OBJECT,
            processor,
            isa: 0,
            is_text: false,
            description: processor.to_owned(),
            tick: get(attribute::CLOCK_RATE).ok().and_then(tick),
            mathematics: || None,
            aot: Box::new(move |_| Box::new(AmdgcnTarget { processor })),
        },
        max_block: get(attribute::MAX_BLOCK)?,
        max_block_xyz: [
            get(attribute::MAX_BLOCK_X)?,
            get(attribute::MAX_BLOCK_Y)?,
            get(attribute::MAX_BLOCK_Z)?.min(MAX_GROUP_Z),
        ],
        max_grid_xyz: [
            get(attribute::MAX_GRID_X)?.min(MAX_GROUPS),
            get(attribute::MAX_GRID_Y)?.min(MAX_GROUPS_YZ),
            get(attribute::MAX_GRID_Z)?.min(MAX_GROUPS_YZ),
        ],
        shared_memory,
        shared_memory_unasked: shared_memory,
        multiprocessors: get(attribute::MULTIPROCESSORS)?,
        sees_pageable_memory: get(attribute::PAGEABLE_MEMORY)? != 0,
        // Registered memory was never tried.
        takes_host_addresses: false,
    })
}

/// The name of a device's processor with its features, such as `gfx90a:sramecc+:xnack-`.
fn processor_name(driver: &Driver, device: c_int) -> Result<String, DriverError> {
    let error = |code: ResultCode, name: &str, text: &str| DriverError {
        call: PROPERTIES,
        code,
        name: name.to_owned(),
        text: text.to_owned(),
    };
    // SAFETY: the function has this type in every version that has it.
    let ask = unsafe { driver.function::<GetProperties>(PROPERTIES) };
    let ask = ask.ok_or_else(|| {
        error(number::SUCCESS, "too old", "this HIP does not have it; version 6.0 does")
    })?;
    // Twice the size, for versions that may add to it.
    let mut bytes = [0_u64; 2 * PROPERTIES_SIZE / 8];
    // SAFETY: the structure fits.
    let code = unsafe { ask(bytes.as_mut_ptr(), device) };
    if code != number::SUCCESS {
        return Err(driver.error_of(code, PROPERTIES));
    }
    let bytes: Vec<u8> = bytes.iter().flat_map(|word| word.to_ne_bytes()).collect();
    let text = CStr::from_bytes_until_nul(&bytes[PROCESSOR]).unwrap_or_default();
    let text = text.to_string_lossy().into_owned();
    if !text.starts_with("gfx") {
        return Err(error(number::SUCCESS, "unknown layout", "it names no processor"));
    }
    Ok(text)
}

/// Stage 2's name for a processor, without features: code is made for any of them.
fn known(own: &str) -> Option<&'static str> {
    let own = own.split(':').next()?;
    AMD_PROCESSORS.iter().map(|(name, _)| *name).find(|name| *name == own)
}

/// The length of a tick of a clock with that rate in kHz: nanoseconds times 2³².
fn tick(rate: u32) -> Option<u64> {
    (1_000_000_u64 << 32).checked_div(u64::from(rate))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn features_are_no_part_of_a_processor() {
        assert_eq!(known("gfx90a:sramecc+:xnack-"), Some("gfx90a"));
        assert_eq!(known("gfx1100"), Some("gfx1100"));
        assert_eq!(known("gfx1101"), None);
        assert_eq!(known(""), None);
    }

    #[test]
    fn ticks_are_nanoseconds() {
        assert_eq!(tick(100_000), Some(10 << 32));
        assert_eq!(tick(25_000), Some(40 << 32));
        assert_eq!(tick(0), None);
    }

    #[test]
    fn code_can_be_made_ahead_of_time_for_the_same_processors() {
        assert_eq!(AMD_PROCESSORS.map(|(name, _)| name), schism_hcf::AMD_PROCESSORS);
    }
}
