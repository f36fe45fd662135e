//! The properties of a GPU.

use std::ffi::{c_char, c_int};
use std::fmt;

use schism_cache::Key;

use crate::code::aot::AotTarget;
use crate::error::DriverError;
use crate::hal::gpu::api::{DeviceNumber, symbol};
use crate::hal::gpu::driver::Driver;
use crate::util::fork;

/// A device of the driver.
pub(crate) struct Properties {
    pub(in crate::hal) driver: &'static Driver,
    pub(in crate::hal) number: DeviceNumber,
    /// The name, in the form of `SCHISM_DEVICE`.
    pub(crate) name: String,
    /// The vendor's name of the model.
    pub(crate) model: String,
    pub(crate) memory: usize,
    /// The code that it takes.
    pub(in crate::hal) code: CodeFormat,
    /// The maximum number of threads of a block, in total and in each dimension.
    pub(crate) max_block: u32,
    pub(in crate::hal) max_block_xyz: [u32; 3],
    pub(in crate::hal) max_grid_xyz: [u32; 3],
    /// Bytes of shared memory that a block can have if its kernel opts in.
    pub(crate) shared_memory: u32,
    /// Bytes of shared memory that a kernel gets by default.
    pub(in crate::hal) shared_memory_unasked: u32,
    pub(in crate::hal) multiprocessors: u32,
    /// Whether it sees memory of the host's that is not registered.
    pub(in crate::hal) sees_pageable_memory: bool,
    /// Whether kernels can use the host's own addresses of registered and of managed memory, while
    /// the host uses that memory too.
    pub(in crate::hal) takes_host_addresses: bool,
}

/// Bitcode of mathematics that replaces schism's own.
pub(in crate::hal) struct Mathematics {
    /// LLVM bitcode.
    pub(in crate::hal) bitcode: Vec<u8>,
    /// Identifies it in cache keys.
    pub(in crate::hal) key: Key,
}

/// Finds which AOT code a device can load.
pub(in crate::hal) type FindAot = Box<dyn Fn(&Properties) -> Box<dyn AotTarget> + Send + Sync>;

/// The code that a device takes.
pub(in crate::hal) struct CodeFormat {
    /// What it is called.
    pub(in crate::hal) name: &'static str,
    /// Stage 2's number for it.
    pub(in crate::hal) target: u32,
    /// The processor that stage 2 compiles for: the device's, or one whose code it runs.
    pub(in crate::hal) processor: &'static str,
    /// The newest version of the format that the driver reads, times ten; 0 if it has none.
    pub(in crate::hal) isa: u32,
    /// Whether it is a text, which the driver compiles, and not a file that it loads.
    pub(in crate::hal) is_text: bool,
    /// The processor, for people.
    pub(in crate::hal) description: String,
    /// The length of a tick of the clock, where the code does not know it.
    pub(in crate::hal) tick: Option<u64>,
    /// The vendor's mathematics, if it is requested.
    pub(in crate::hal) mathematics: fn() -> Option<&'static Mathematics>,
    /// Which AOT code the device can load.
    pub(in crate::hal) aot: FindAot,
}

impl fmt::Debug for CodeFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CodeFormat({} for {})", self.name, self.processor)
    }
}

/// What every driver says of a device.
pub(in crate::hal) struct Described {
    pub(in crate::hal) number: DeviceNumber,
    pub(in crate::hal) name: String,
    pub(in crate::hal) model: String,
    pub(in crate::hal) memory: usize,
}

impl Described {
    /// Asks a driver for its device with this number.
    pub(in crate::hal) fn new(
        driver: &'static Driver,
        ordinal: c_int,
    ) -> Result<Self, DriverError> {
        let mut number: DeviceNumber = 0;
        // SAFETY: the number can be written.
        let code = unsafe { (driver.api.device_get)(&raw mut number, ordinal) };
        driver.check(code, symbol::device_get)?;
        let mut model = [0_u8; 256];
        let (text, len) = (model.as_mut_ptr().cast::<c_char>(), model.len() as c_int);
        // SAFETY: the text can be written, up to its length.
        let code = unsafe { (driver.api.device_name)(text, len, number) };
        driver.check(code, symbol::device_name)?;
        let end = model.iter().position(|byte| *byte == 0).unwrap_or(model.len());
        let mut memory = 0;
        // SAFETY: the number can be written.
        let code = unsafe { (driver.api.device_memory)(&raw mut memory, number) };
        driver.check(code, symbol::device_memory)?;
        Ok(Self {
            number,
            name: format!("{}:{ordinal}", driver.vendor.devices),
            model: String::from_utf8_lossy(&model[..end]).into_owned(),
            memory,
        })
    }
}

impl Properties {
    /// How many threads its multiprocessors hold at the same time, of kernels with the usual need
    /// of registers.
    pub(in crate::hal) const fn threads(&self) -> usize {
        1024 * self.multiprocessors as usize
    }

    /// Why this process cannot use it, if it was forked from one that did.
    #[inline]
    pub(crate) fn forked(&self) -> Option<String> {
        (self.driver.generation != fork::generation()).then(|| self.of_parent())
    }

    #[cold]
    #[inline(never)]
    fn of_parent(&self) -> String {
        format!(
            "`{}` is its parent's: {} cannot be used on both sides of a fork",
            self.name, self.driver.vendor.interface
        )
    }

    /// A description for people.
    pub(crate) fn description(&self) -> String {
        let gib = self.memory as f64 / f64::from(1 << 30);
        format!("{}, {}, {gib:.0} GiB", self.model, self.code.description)
    }

    /// Which AOT code it can load.
    pub(crate) fn aot_target(&self) -> Box<dyn AotTarget> {
        (self.code.aot)(self)
    }
}

impl fmt::Debug for Properties {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Properties")
            .field("name", &self.name)
            .field("model", &self.model)
            .finish_non_exhaustive()
    }
}
