//! Devices and their selection.

use std::fmt;

use crate::code::aot;
use crate::code::compiler::about as stage2;
use crate::code::compiler_path::Missing;
use crate::code::images;
use crate::error::DeviceError;
use crate::hal::dispatch::{self, DeviceKind};
use crate::util::fork::{self, NoForkGuard};
use crate::util::trace;
use crate::util::variables::DEVICE;
use crate::util::warn_once::WarnOnce;

/// A device that runs kernels.
///
/// ```
/// use schism::prelude::*;
///
/// for device in Device::all() {
///     println!("{device}: {}", device.description());
/// }
/// ```
#[derive(Clone, Debug)]
pub struct Device {
    device: dispatch::BackendDevice,
    /// Whether the user chose it by name. If so, nothing falls back to another device.
    demanded: bool,
}

impl PartialEq for Device {
    fn eq(&self, other: &Self) -> bool {
        self.name() == other.name()
    }
}

impl Eq for Device {}

impl Device {
    /// All devices of this machine. The first call searches for them, which takes some
    /// milliseconds.
    ///
    /// A forked process does not list the GPUs that its parent used. If it was forked while another
    /// thread was compiling a kernel, and the fork timed out waiting for that, the list is empty.
    ///
    /// Devices that need a compiler are left out where there is none. If a compiler is found that
    /// does not fit the program, the user is warned once, unless `SCHISM_DEVICE` is `native`.
    #[must_use]
    pub fn all() -> Vec<Self> {
        trace::install();
        if fork::is_broken() {
            return Vec::new();
        }
        let _no_fork = NoForkGuard::enter();
        let (there, left_out): (Vec<_>, Vec<_>) = dispatch::BackendDevice::all()
            .into_iter()
            .map(|device| Self { device, demanded: true })
            .partition(|device| {
                let target = device.device.aot_target();
                target.is_none_or(|target| stage2().is_ok() || aot::is_there(&*target))
            });
        let fallback = dispatch::BackendDevice::FALLBACK;
        let is_fallback = || DEVICE.get().is_some_and(|name| name == fallback.name());
        if let Err(missing) = &stage2()
            && missing.is_a_surprise()
            && !left_out.is_empty()
            && !is_fallback()
        {
            let names: Vec<_> = left_out.iter().map(|device| format!("`{device}`")).collect();
            let devices = if names.len() == 1 { "the device" } else { "the devices" };
            report_missing(format_args!("{devices} {} cannot be used", names.join(", ")), missing);
        }
        there
    }

    /// The device that the environment variable `SCHISM_DEVICE` names; without it `cpu`, or
    /// `native` where `cpu` is unavailable.
    ///
    /// A device chosen by name is always used: what it cannot do is an error. Without a choice, the
    /// program falls back to `native` and warns once.
    ///
    /// # Errors
    /// As for [`Device::by_name`], for the named device.
    pub fn default_device() -> Result<Self, DeviceError> {
        trace::install();
        refuse_if_broken("default")?;
        let _no_fork = NoForkGuard::enter();
        if let Some(name) = DEVICE.set() {
            return Self::by_name(&name.to_string_lossy());
        }
        let default = dispatch::BackendDevice::DEFAULT;
        // Programs without device code need not load LLVM; the first launch warns about that.
        let device = if !images::has_device_code() {
            dispatch::BackendDevice::FALLBACK
        } else if default.aot_target().is_some_and(|target| aot::is_there(&*target)) {
            // AOT code needs no compiler, so none is searched for.
            default
        } else {
            match stage2() {
                Ok(_) => default,
                Err(missing) => {
                    report_missing("kernels run on the device `native`", &missing);
                    dispatch::BackendDevice::FALLBACK
                }
            }
        };
        Ok(Self { device, demanded: false })
    }

    /// The device with this name: `cpu`, `native`, or `cuda:0`, `hip:1` and so on; `cuda` is the
    /// first GPU.
    ///
    /// # Errors
    /// [`DeviceError::Unknown`]; [`DeviceError::Stage2`] if the compiler for `cpu` or `cuda` cannot
    /// be loaded, and [`DeviceError::Stage2Version`] if it is of another version of schism;
    /// [`DeviceError::NoGpu`] if there is no driver, or it finds no GPU; [`DeviceError::Forked`] if
    /// this process was forked while another thread was compiling a kernel.
    pub fn by_name(name: &str) -> Result<Self, DeviceError> {
        trace::install();
        refuse_if_broken(name)?;
        let _no_fork = NoForkGuard::enter();
        let name = name.trim();
        let found = dispatch::BackendDevice::by_name(name).unwrap_or_else(|| {
            let names: Vec<_> = Self::all().iter().map(|device| device.name().to_owned()).collect();
            Err(DeviceError::Unknown { requested: name.to_owned(), available: names.join(", ") })
        });
        Ok(Self { device: found?, demanded: true })
    }

    /// The name, as `SCHISM_DEVICE` takes it.
    #[must_use]
    pub fn name(&self) -> &str {
        self.device.name()
    }

    /// The kind.
    #[must_use]
    pub const fn kind(&self) -> DeviceKind {
        self.device.kind()
    }

    /// A description for people: the hardware and what compiles for it.
    #[must_use]
    pub fn description(&self) -> String {
        if fork::is_broken() {
            return "not known in this process".to_owned();
        }
        let _no_fork = NoForkGuard::enter();
        self.device.description(stage2().ok())
    }

    /// The maximum number of work-items in a work-group.
    #[must_use]
    pub fn max_group_size(&self) -> usize {
        self.device.max_group_size()
    }

    /// The maximum local memory of a work-group in bytes: the kernel's arrays plus those that the
    /// launch adds.
    #[must_use]
    pub fn local_memory_size(&self) -> usize {
        self.device.local_memory_size()
    }

    pub(crate) fn backend(&self) -> &dispatch::BackendDevice {
        &self.device
    }

    pub(crate) const fn demanded(&self) -> bool {
        self.demanded
    }

    /// Returns an error if this process cannot use any device.
    pub(crate) fn refuse_if_broken(&self) -> Result<(), DeviceError> {
        refuse_if_broken(self.name())
    }
}

fn refuse_if_broken(device: &str) -> Result<(), DeviceError> {
    if !fork::is_broken() {
        return Ok(());
    }
    Err(DeviceError::Forked { device: device.to_owned(), reason: fork::BROKEN_BY.to_owned() })
}

/// Warns once in a process that stage 2 is missing, with the consequence and a remedy.
fn report_missing(consequence: impl fmt::Display, missing: &Missing) {
    static WARNING: WarnOnce = WarnOnce::new();
    let remedy = match missing {
        Missing::Version { .. } => {
            "run `cargo schism setup` and build the program again, both with one version, point SCHISM_JIT at the libschism_jit.so of the \
             program's version"
        }
        Missing::Untrusted { .. } => {
            "run `cargo schism setup` and see to it that nobody else can change the file, point SCHISM_JIT at a libschism_jit.so of yours"
        }
        _ => "run `cargo schism setup`, point SCHISM_JIT at libschism_jit.so",
    };
    WARNING.warn(format_args!(
        "{consequence}, because the compiler for kernels cannot be loaded: {missing}; {remedy}, or set SCHISM_DEVICE=native to be content with \
         this"
    ));
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
