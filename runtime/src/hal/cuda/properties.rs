//! The properties of a GPU.

use std::ffi::{c_char, c_int};
use std::fmt;

use schism_hcf::Processor;
use schism_jit_abi::PTX_PROCESSORS;

use crate::error::DriverError;
use crate::hal::cuda::aot::PtxTarget;
use crate::hal::cuda::api::{DeviceNumber, number, symbol};
use crate::hal::cuda::driver::Driver;
use crate::util::fork;

/// A device of the driver.
pub(crate) struct Properties {
    pub(super) driver: &'static Driver,
    pub(super) number: DeviceNumber,
    /// The name, in the form of `SCHISM_DEVICE`.
    pub(crate) name: String,
    /// The vendor's name of the model.
    pub(crate) model: String,
    pub(crate) memory: usize,
    /// The compute capability: major and minor.
    pub(crate) capability: (u32, u32),
    /// The processor that stage 2 compiles for: this one, or the newest one before it that stage 2
    /// and the driver know.
    pub(super) processor: &'static str,
    /// The newest PTX version that the driver reads, times ten.
    pub(super) isa: u32,
    /// The maximum number of threads of a block, in total and in each dimension.
    pub(crate) max_block: u32,
    pub(super) max_block_xyz: [u32; 3],
    pub(super) max_grid_xyz: [u32; 3],
    /// Bytes of shared memory that a block can have if its kernel opts in.
    pub(crate) shared_memory: u32,
    /// Bytes of shared memory that a kernel gets by default.
    pub(super) shared_memory_unasked: u32,
    pub(super) multiprocessors: u32,
    /// Whether it sees memory of the host's that nobody has registered.
    pub(super) sees_pageable_memory: bool,
    /// Whether kernels can use the host's own addresses of registered and of managed memory, while
    /// the host uses that memory too.
    pub(super) takes_host_addresses: bool,
}

impl Properties {
    pub(super) fn new(driver: &'static Driver, ordinal: c_int) -> Result<Self, DriverError> {
        let mut device: DeviceNumber = 0;
        // SAFETY: the number can be written.
        let code = unsafe { (driver.api.device_get)(&raw mut device, ordinal) };
        driver.check(code, symbol::device_get)?;
        let mut model = [0_u8; 256];
        let (text, len) = (model.as_mut_ptr().cast::<c_char>(), model.len() as c_int);
        // SAFETY: the text can be written, up to its length.
        let code = unsafe { (driver.api.device_name)(text, len, device) };
        driver.check(code, symbol::device_name)?;
        let end = model.iter().position(|byte| *byte == 0).unwrap_or(model.len());
        let mut memory = 0;
        // SAFETY: the number can be written.
        let code = unsafe { (driver.api.device_memory)(&raw mut memory, device) };
        driver.check(code, symbol::device_memory)?;
        let get = |attribute| driver.attribute(device, attribute);
        let shared_memory_unasked = get(number::SHARED_MEMORY)?;
        if get(number::UNIFIED_ADDRESSING)? == 0 || get(number::MAPS_HOST_MEMORY)? == 0 {
            // Then kernels could not write messages; no 64-bit driver is like that.
            return Err(DriverError {
                call: symbol::device_attribute,
                code: number::SUCCESS,
                name: "no unified addressing".to_owned(),
                text: "the device cannot reach memory of the host".to_owned(),
            });
        }
        let name = format!("cuda:{ordinal}");
        let capability = (get(number::MAJOR)?, get(number::MINOR)?);
        let isa = newest_ptx(driver.version);
        let own = format!("sm_{}{}", capability.0, capability.1);
        let processor = processor_for(capability, isa).ok_or_else(|| DriverError {
            call: symbol::device_attribute,
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
        Ok(Self {
            driver,
            number: device,
            name,
            model: String::from_utf8_lossy(&model[..end]).into_owned(),
            memory,
            capability,
            processor,
            isa,
            max_block: get(number::MAX_BLOCK)?,
            max_block_xyz: [
                get(number::MAX_BLOCK_X)?,
                get(number::MAX_BLOCK_Y)?,
                get(number::MAX_BLOCK_Z)?,
            ],
            max_grid_xyz: [
                get(number::MAX_GRID_X)?,
                get(number::MAX_GRID_Y)?,
                get(number::MAX_GRID_Z)?,
            ],
            shared_memory: get(number::SHARED_MEMORY_OPT_IN)?.max(shared_memory_unasked),
            shared_memory_unasked,
            multiprocessors: get(number::MULTIPROCESSORS)?,
            sees_pageable_memory: get(number::PAGEABLE_MEMORY)? != 0,
            takes_host_addresses: get(number::HOST_ADDRESSES)? != 0
                && get(number::CONCURRENT_MANAGED)? != 0,
        })
    }

    /// How many threads its multiprocessors hold at the same time, of kernels with the usual need
    /// of registers.
    pub(super) const fn threads(&self) -> usize {
        1024 * self.multiprocessors as usize
    }

    /// Why this process cannot use it, if it was forked from one that did.
    #[inline]
    pub(crate) fn forked(&self) -> Option<String> {
        (self.driver.generation != fork::generation()).then(|| {
            format!("`{}` is its parent's: CUDA cannot be used on both sides of a fork", self.name)
        })
    }

    /// A description for people.
    pub(crate) fn description(&self) -> String {
        let (major, minor) = self.capability;
        let gib = self.memory as f64 / f64::from(1 << 30);
        let mut own = format!("sm_{major}{minor}");
        if self.processor != own {
            own = format!("{own} with code for {}", self.processor);
        }
        format!("{}, {own}, {gib:.0} GiB", self.model)
    }

    /// Which AOT code it can load.
    pub(crate) fn aot_target(&self) -> PtxTarget {
        PtxTarget { capability: self.capability, isa: self.isa }
    }
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

impl fmt::Debug for Properties {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Properties")
            .field("name", &self.name)
            .field("model", &self.model)
            .finish_non_exhaustive()
    }
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
