//! Devices and their selection.

use std::env;
use std::fmt;

use crate::code::aot;
use crate::code::compiler::about as stage2;
use crate::code::compiler_path::Missing;
use crate::code::images;
use crate::error::DeviceError;
use crate::hal::dispatch::{self, DeviceKind};
use crate::util::fork::{self, Section};
use crate::util::trace;
use crate::util::warn_once::WarnOnce;

/// Chooses the default device.
const VARIABLE: &str = "SCHISM_DEVICE";

/// Something that runs kernels.
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
    /// Whether the user chose it. If so, nothing runs elsewhere instead.
    demanded: bool,
}

impl PartialEq for Device {
    fn eq(&self, other: &Self) -> bool {
        self.name() == other.name()
    }
}

impl Eq for Device {}

impl Device {
    /// All devices of this machine. The first call looks for them, which takes some milliseconds.
    ///
    /// In a process that was forked, the GPUs that its parent used are left out. If it was forked while another thread was compiling a
    /// kernel, and that took longer than a fork waits, nothing is left.
    ///
    /// Devices that need a compiler are left out where there is none. Where one is found that does not fit the program, the user is
    /// told, once, unless `SCHISM_DEVICE` is `native`.
    #[must_use]
    pub fn all() -> Vec<Self> {
        trace::install();
        if fork::is_broken() {
            return Vec::new();
        }
        let _section = Section::enter();
        let (there, left_out): (Vec<_>, Vec<_>) = dispatch::BackendDevice::all()
            .into_iter()
            .map(|device| Self { device, demanded: true })
            .partition(|device| {
                let target = device.device.aot_target();
                target.is_none_or(|target| stage2().is_ok() || aot::is_there(&*target))
            });
        let fallback = dispatch::BackendDevice::FALLBACK;
        let is_fallback = || env::var_os(VARIABLE).is_some_and(|name| name == fallback.name());
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

    /// The device that the environment variable `SCHISM_DEVICE` names; without it `cpu`, or `native` where that cannot be had.
    ///
    /// A device that was chosen by name is the one that is used: where it cannot do something, there is an error. Without a
    /// choice the program goes on with `native` and warns once.
    ///
    /// # Errors
    /// As for [`Device::by_name`], for the named device.
    pub fn default_device() -> Result<Self, DeviceError> {
        trace::install();
        refuse_if_broken("default")?;
        let _section = Section::enter();
        if let Some(name) = env::var_os(VARIABLE).filter(|name| !name.is_empty()) {
            return Self::by_name(&name.to_string_lossy());
        }
        let default = dispatch::BackendDevice::DEFAULT;
        // Programs without device code need not load LLVM; they are told at the first launch.
        let device = if !images::has_device_code() {
            dispatch::BackendDevice::FALLBACK
        } else if default.aot_target().is_some_and(|target| aot::is_there(&*target)) {
            // Code that was made ahead of time needs no compiler, so nobody looks for one.
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

    /// The device of that name: `cpu`, `native`, or `cuda:0`, `cuda:1` and so on; `cuda` is the first of these.
    ///
    /// # Errors
    /// [`DeviceError::Unknown`]; [`DeviceError::Stage2`] if the compiler for `cpu` or `cuda` cannot be loaded, and
    /// [`DeviceError::Stage2Version`] if it is of another version of schism; [`DeviceError::NoGpu`] if there is no driver, or it finds no
    /// GPU; [`DeviceError::Forked`] if this process was forked while another thread was compiling a kernel.
    pub fn by_name(name: &str) -> Result<Self, DeviceError> {
        trace::install();
        refuse_if_broken(name)?;
        let _section = Section::enter();
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

    /// For people: what runs the kernels.
    #[must_use]
    pub fn description(&self) -> String {
        if fork::is_broken() {
            return "not known in this process".to_owned();
        }
        let _section = Section::enter();
        self.device.description(stage2().ok())
    }

    /// The most work-items that a work-group can have.
    #[must_use]
    pub fn max_group_size(&self) -> usize {
        self.device.max_group_size()
    }

    /// Bytes of local memory that a work-group can have: the kernel's arrays, and those that the launch adds.
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

    /// Whether there is nothing that this process could do with it.
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

/// Tells the user, once in a process, what comes of it that there is no stage 2.
fn report_missing(consequence: impl fmt::Display, missing: &Missing) {
    static NOTICE: WarnOnce = WarnOnce::new();
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
    NOTICE.warn(format_args!(
        "{consequence}, because the compiler for kernels cannot be loaded: {missing}; {remedy}, or set SCHISM_DEVICE=native to be content with \
         this"
    ));
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
