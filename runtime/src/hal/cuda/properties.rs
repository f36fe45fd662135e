//! The properties of an NVIDIA GPU.

use std::ffi::{c_int, c_uint};

use schism_hcf::Processor;
use schism_jit_abi::{PTX_PROCESSORS, TARGET_PTX};

use crate::error::DriverError;
use crate::hal::cuda::aot::PtxTarget;
use crate::hal::cuda::libdevice::libdevice;
use crate::hal::gpu::api::{number, symbol};
use crate::hal::gpu::driver::Driver;
use crate::hal::gpu::properties::CodeFormat;
use crate::hal::gpu::properties::{Described, Properties};

/// Attributes of devices.
mod attribute {
    use super::c_uint;

    pub(super) const MAX_BLOCK: c_uint = 1;
    pub(super) const MAX_GRID_X: c_uint = 5;
    pub(super) const MAX_GRID_Y: c_uint = 6;
    pub(super) const MAX_GRID_Z: c_uint = 7;
    pub(super) const MAX_BLOCK_X: c_uint = 2;
    pub(super) const MAX_BLOCK_Y: c_uint = 3;
    pub(super) const MAX_BLOCK_Z: c_uint = 4;
    pub(super) const SHARED_MEMORY: c_uint = 8;
    pub(super) const MULTIPROCESSORS: c_uint = 16;
    pub(super) const MAPS_HOST_MEMORY: c_uint = 19;
    pub(super) const UNIFIED_ADDRESSING: c_uint = 41;
    pub(super) const MAJOR: c_uint = 75;
    pub(super) const MINOR: c_uint = 76;
    /// The device sees memory that is not registered.
    pub(super) const PAGEABLE_MEMORY: c_uint = 88;
    /// Host and device may access managed memory at the same time.
    pub(super) const CONCURRENT_MANAGED: c_uint = 89;
    /// Kernels use the host's own addresses of registered memory.
    pub(super) const HOST_ADDRESSES: c_uint = 91;
    pub(super) const SHARED_MEMORY_OPT_IN: c_uint = 97;
}

/// Asks a driver for its device with this number.
pub(super) fn properties(
    driver: &'static Driver,
    ordinal: c_int,
) -> Result<Properties, DriverError> {
    let Described { number, name, model, memory } = Described::new(driver, ordinal)?;
    let get = |attribute| driver.attribute(number, attribute);
    let shared_memory_unasked = get(attribute::SHARED_MEMORY)?;
    if get(attribute::UNIFIED_ADDRESSING)? == 0 || get(attribute::MAPS_HOST_MEMORY)? == 0 {
        // Then kernels could not write messages; no 64-bit driver is like that.
        return Err(DriverError {
            call: symbol::device_attribute(&driver.vendor.symbols),
            code: number::SUCCESS,
            name: "no unified addressing".to_owned(),
            text: "the device cannot reach memory of the host".to_owned(),
        });
    }
    let capability = (get(attribute::MAJOR)?, get(attribute::MINOR)?);
    let isa = newest_ptx(driver.version);
    let own = format!("sm_{}{}", capability.0, capability.1);
    let processor = processor_for(capability, isa).ok_or_else(|| DriverError {
        call: symbol::device_attribute(&driver.vendor.symbols),
        code: number::SUCCESS,
        name: "too old".to_owned(),
        text: format!("no code can be made for {own}, or not for this driver"),
    })?;
    if processor != own {
        tracing::info!(
            device = name,
            own,
            processor,
            "code for this GPU is made for an older processor: its own is not known, or too new for the driver"
        );
    }
    let mut description = own.clone();
    if processor != own {
        description = format!("{own} with code for {processor}");
    }
    Ok(Properties {
        driver,
        number,
        name,
        model,
        memory,
        code: CodeFormat {
            name: "PTX",
            target: TARGET_PTX,
            processor,
            isa,
            is_text: true,
            description,
            tick: None,
            mathematics: libdevice,
            aot: Box::new(move |_| Box::new(PtxTarget { capability, isa })),
        },
        max_block: get(attribute::MAX_BLOCK)?,
        max_block_xyz: [
            get(attribute::MAX_BLOCK_X)?,
            get(attribute::MAX_BLOCK_Y)?,
            get(attribute::MAX_BLOCK_Z)?,
        ],
        max_grid_xyz: [
            get(attribute::MAX_GRID_X)?,
            get(attribute::MAX_GRID_Y)?,
            get(attribute::MAX_GRID_Z)?,
        ],
        shared_memory: get(attribute::SHARED_MEMORY_OPT_IN)?.max(shared_memory_unasked),
        shared_memory_unasked,
        multiprocessors: get(attribute::MULTIPROCESSORS)?,
        sees_pageable_memory: get(attribute::PAGEABLE_MEMORY)? != 0,
        takes_host_addresses: get(attribute::HOST_ADDRESSES)? != 0
            && get(attribute::CONCURRENT_MANAGED)? != 0,
    })
}

/// The newest PTX version that a driver reads, times ten; 0 if that is unknown. It increases with
/// the driver's version: 11.0 reads 7.0, 12.0 reads 8.0, and so on, except for two steps that a
/// version skipped. Newer drivers read everything that older ones do.
fn newest_ptx(driver: u32) -> u32 {
    match (driver / 1000, driver % 1000 / 10) {
        (..=10, _) => 0,
        (11, minor) => 70 + minor.min(8),
        (12, minor @ 0..=5) => 80 + minor,
        (12, minor) => 79 + minor.min(9),
        (13, minor) => 90 + minor.min(9),
        _ => 99,
    }
}

/// The newest processor whose code runs on a compute capability, and that a PTX version knows.
fn processor_for(capability: (u32, u32), isa: u32) -> Option<&'static str> {
    PTX_PROCESSORS
        .iter()
        .filter(|(_, first)| isa == 0 || *first <= isa)
        .filter_map(|(name, _)| Some((name.parse::<Processor>().ok()?, *name)))
        .filter(|(processor, _)| processor.is_open() && processor.runs_on(capability))
        .max_by_key(|(processor, _)| processor.capability())
        .map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_is_for_the_newest_processor_that_all_know() {
        // Each current processor has its own.
        for (name, first) in PTX_PROCESSORS {
            let processor: Processor = name.parse().unwrap();
            if processor.is_open() {
                assert_eq!(processor_for(processor.capability(), 99), Some(name));
                assert_eq!(processor_for(processor.capability(), first), Some(name));
                assert_eq!(processor_for(processor.capability(), 0), Some(name));
            }
        }
        // Future ones, and one that was skipped.
        assert_eq!(processor_for((12, 2), 90), Some("sm_121"));
        assert_eq!(processor_for((15, 0), 99), Some("sm_121"));
        assert_eq!(processor_for((9, 9), 99), Some("sm_90"));
        // A driver that is older than the processor.
        assert_eq!(processor_for((12, 1), 87), Some("sm_120"));
        assert_eq!(processor_for((12, 0), 86), Some("sm_101"));
        assert_eq!(processor_for((9, 0), 70), Some("sm_80"));
        // A processor that is older than all of them.
        assert_eq!(processor_for((6, 1), 99), None);
    }

    #[test]
    fn ptx_counts_with_the_driver() {
        let known = [(10020, 0), (11000, 70), (11080, 78), (12000, 80), (12050, 85), (12060, 85)];
        let newer = [(12080, 87), (12090, 88), (13000, 90), (13020, 92), (14000, 99), (23050, 99)];
        for (driver, ptx) in known.into_iter().chain(newer) {
            assert_eq!(newest_ptx(driver), ptx, "{driver}");
        }
    }
}
