//! What the drivers of GPUs differ in.
//!
//! A folder for each vendor's interface (`hal/cuda`, `hal/hip`) has one [`Vendor`], and says of each
//! device which [code](CodeFormat) it takes.

use std::ffi::{c_int, c_uint};
use std::fmt;

use libloading::Library;
use schism_cache::Key;
use schism_hcf::Target;

use crate::code::aot::AotTarget;
use crate::error::DriverError;
use crate::hal::gpu::api::{Contexts, Symbols};
use crate::hal::gpu::device::Slot;
use crate::hal::gpu::driver::Driver;
use crate::hal::gpu::properties::Properties;

/// A vendor's driver.
#[derive(Debug)]
pub(in crate::hal) struct Vendor {
    /// The vendor's name.
    pub(in crate::hal) name: &'static str,
    /// The name of the interface.
    pub(in crate::hal) interface: &'static str,
    /// The prefix of its devices' names.
    pub(in crate::hal) devices: &'static str,
    /// The environment variable that names the driver's library; no other place is searched then.
    /// An empty value means that there is no driver.
    pub(in crate::hal) variable: &'static str,
    /// Where the driver is installed, as the dynamic linker knows it.
    pub(in crate::hal) file_names: &'static [&'static str],
    /// Its functions' symbols.
    pub(in crate::hal) symbols: Symbols,
    /// Looks up the functions of contexts.
    pub(in crate::hal) contexts: unsafe fn(&Library) -> Result<Contexts, &'static str>,
    /// What contexts are made with.
    pub(in crate::hal) context_flags: c_uint,
    /// Whether calls with a stream or an event of a context that is not current are refused.
    pub(in crate::hal) refuses_other_contexts: bool,
    /// Whether the stacks of kernels have a size that the context sets.
    pub(in crate::hal) has_stack_limit: bool,
    /// Describes the device with this number.
    pub(in crate::hal) properties: fn(&'static Driver, c_int) -> Result<Properties, DriverError>,
    /// Whether AOT code for a target may run on some device of this vendor's.
    pub(in crate::hal) has_target: fn(Target) -> bool,
    /// Its devices, once they are searched for.
    pub(in crate::hal) slot: Slot,
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
