//! Devices and their selection.

use std::env;
use std::fmt;

use crate::error::DeviceError;
use crate::groups;
use crate::notice::Notice;
use crate::registry;
use crate::stage2::about as stage2;

/// Chooses the default device.
const VARIABLE: &str = "SCHISM_DEVICE";

/// What kind of device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DeviceKind {
    /// All cores of the host, running code that LLVM made for exactly this processor from the program's device half.
    Cpu,
    /// All cores of the host, running the host half's own bodies: what rustc compiled. It needs nothing but the program.
    Native,
}

impl DeviceKind {
    const fn name(self) -> &'static str {
        match self {
            Self::Cpu => "cpu",
            Self::Native => "native",
        }
    }
}

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
    kind: DeviceKind,
    /// Whether the user chose it. If so, nothing runs elsewhere instead.
    demanded: bool,
}

impl PartialEq for Device {
    fn eq(&self, other: &Self) -> bool {
        self.kind == other.kind
    }
}

impl Eq for Device {}

impl Device {
    /// All devices of this machine. The first call looks for them, which takes some milliseconds.
    #[must_use]
    pub fn all() -> Vec<Self> {
        let cpu = stage2().is_ok().then_some(DeviceKind::Cpu);
        cpu.into_iter()
            .chain([DeviceKind::Native])
            .map(|kind| Self { kind, demanded: true })
            .collect()
    }

    /// The device that the environment variable `SCHISM_DEVICE` names; without it `cpu`, or `native` where that cannot be had.
    ///
    /// A device that was chosen by name is the one that is used: where it cannot do something, there is an error. Without a
    /// choice the program goes on with `native` and warns once.
    ///
    /// # Errors
    /// [`DeviceError::Unknown`] and [`DeviceError::Stage2`], for the named device.
    pub fn default_device() -> Result<Self, DeviceError> {
        if let Some(name) = env::var_os(VARIABLE).filter(|name| !name.is_empty()) {
            return Self::by_name(&name.to_string_lossy());
        }
        // Programs without device code need not load LLVM; they are told at the first launch.
        let kind = if registry::has_device_code() {
            match stage2() {
                Ok(_) => DeviceKind::Cpu,
                Err(reason) => {
                    static NOTICE: Notice = Notice::new();
                    NOTICE.warn(format_args!(
                        "kernels run on the device `native`, because the compiler for the device `cpu` cannot be loaded: \
                         {reason}; run `cargo schism setup`, point SCHISM_JIT at libschism_jit.so, or set SCHISM_DEVICE=native \
                         to be content with this"
                    ));
                    DeviceKind::Native
                }
            }
        } else {
            DeviceKind::Native
        };
        Ok(Self { kind, demanded: false })
    }

    /// The device of that name: `cpu` or `native`.
    ///
    /// # Errors
    /// [`DeviceError::Unknown`], and [`DeviceError::Stage2`] if the compiler for `cpu` cannot be loaded.
    pub fn by_name(name: &str) -> Result<Self, DeviceError> {
        let kind = match name.trim() {
            "native" => DeviceKind::Native,
            "cpu" => match stage2() {
                Ok(_) => DeviceKind::Cpu,
                Err(reason) => return Err(DeviceError::Stage2 { reason: reason.to_owned() }),
            },
            other => {
                let names: Vec<_> = Self::all().iter().map(|device| device.name()).collect();
                return Err(DeviceError::Unknown {
                    requested: other.to_owned(),
                    available: names.join(", "),
                });
            }
        };
        Ok(Self { kind, demanded: true })
    }

    /// The name, as `SCHISM_DEVICE` takes it.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        self.kind.name()
    }

    /// The kind.
    #[must_use]
    pub const fn kind(&self) -> DeviceKind {
        self.kind
    }

    /// For people: what runs the kernels.
    #[must_use]
    pub fn description(&self) -> String {
        match (self.kind, stage2()) {
            (DeviceKind::Cpu, Ok(stage2)) => format!("{}, for {}", stage2.version, stage2.cpu),
            _ => "the host's own code".to_owned(),
        }
    }

    /// The most work-items that a work-group can have.
    #[must_use]
    pub const fn max_group_size(&self) -> usize {
        match self.kind {
            DeviceKind::Cpu | DeviceKind::Native => groups::MOST_ITEMS,
        }
    }

    /// Bytes of local memory that a work-group can have: the kernel's arrays, and those that the launch adds.
    #[must_use]
    pub const fn local_memory_size(&self) -> usize {
        match self.kind {
            DeviceKind::Cpu | DeviceKind::Native => groups::LOCAL_MEMORY,
        }
    }

    pub(crate) const fn demanded(&self) -> bool {
        self.demanded
    }
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
