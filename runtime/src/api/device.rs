//! Devices and their selection.

use std::env;
use std::fmt;

use crate::code::aot::{self, On};
use crate::code::compiler::{Missing, about as stage2};
use crate::code::images;
use crate::error::DeviceError;
use crate::hal::cuda::{self, Gpu};
use crate::hal::host::groups;
use crate::util::fork::{self, Section};
use crate::util::trace;
use crate::util::warn_once::Notice;

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
    /// A GPU of NVIDIA's, by its driver, running code that LLVM made from the program's device half. It has memory of its own.
    Cuda,
}

/// Where kernels run.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Place {
    Cpu,
    Native,
    Cuda(&'static Gpu),
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
    place: Place,
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
        let gpus = cuda::gpus().unwrap_or_default().iter().filter(|gpu| gpu.forked().is_none());
        let all = [Place::Cpu, Place::Native].into_iter().chain(gpus.map(Place::Cuda));
        let (there, left_out): (Vec<_>, Vec<_>) = all
            .map(|place| Self { place, demanded: true })
            .partition(|device| match device.place {
                Place::Native => true,
                Place::Cpu => stage2().is_ok() || aot::is_there(On::Cpu),
                Place::Cuda(gpu) => stage2().is_ok() || aot::is_there(gpu.ahead()),
            });
        let is_native = || env::var_os(VARIABLE).is_some_and(|name| name == "native");
        if let Err(missing) = &stage2()
            && missing.is_a_surprise()
            && !left_out.is_empty()
            && !is_native()
        {
            let names: Vec<_> = left_out.iter().map(|device| format!("`{device}`")).collect();
            let devices = if names.len() == 1 { "the device" } else { "the devices" };
            tell_missing(format_args!("{devices} {} cannot be used", names.join(", ")), missing);
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
        // Programs without device code need not load LLVM; they are told at the first launch.
        let place = if !images::has_device_code() {
            Place::Native
        } else if aot::is_there(On::Cpu) {
            // Code that was made ahead of time needs no compiler, so nobody looks for one.
            Place::Cpu
        } else {
            match stage2() {
                Ok(_) => Place::Cpu,
                Err(missing) => {
                    tell_missing("kernels run on the device `native`", &missing);
                    Place::Native
                }
            }
        };
        Ok(Self { place, demanded: false })
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
        let stage2 =
            |device: &str| stage2().map(|_| ()).map_err(|missing| missing.error_for(device));
        let place = match name.trim() {
            "native" => Place::Native,
            "cpu" => {
                if !aot::is_there(On::Cpu) {
                    stage2("cpu")?;
                }
                Place::Cpu
            }
            name if is_gpu(name) => {
                if !aot::is_there_for_gpus() {
                    stage2(name)?;
                }
                let missing =
                    |reason: String| DeviceError::NoGpu { device: name.to_owned(), reason };
                let gpus = cuda::gpus().map_err(|reason| missing(reason.to_owned()))?;
                let gpu =
                    gpus.iter().find(|gpu| name == GPUS || gpu.name == name).ok_or_else(|| {
                        let names: Vec<_> = gpus.iter().map(|gpu| &*gpu.name).collect();
                        missing(format!("the driver finds only {}", names.join(", ")))
                    })?;
                if !aot::is_there(gpu.ahead()) {
                    stage2(name)?;
                }
                Place::Cuda(gpu)
            }
            other => {
                let names: Vec<_> =
                    Self::all().iter().map(|device| device.name().to_owned()).collect();
                return Err(DeviceError::Unknown {
                    requested: other.to_owned(),
                    available: names.join(", "),
                });
            }
        };
        Ok(Self { place, demanded: true })
    }

    /// The name, as `SCHISM_DEVICE` takes it.
    #[must_use]
    pub fn name(&self) -> &str {
        match self.place {
            Place::Cpu => "cpu",
            Place::Native => "native",
            Place::Cuda(gpu) => &gpu.name,
        }
    }

    /// The kind.
    #[must_use]
    pub const fn kind(&self) -> DeviceKind {
        match self.place {
            Place::Cpu => DeviceKind::Cpu,
            Place::Native => DeviceKind::Native,
            Place::Cuda(_) => DeviceKind::Cuda,
        }
    }

    pub(crate) const fn place(&self) -> Place {
        self.place
    }

    /// For people: what runs the kernels.
    #[must_use]
    pub fn description(&self) -> String {
        if fork::is_broken() {
            return "not known in this process".to_owned();
        }
        let _section = Section::enter();
        match (self.place, stage2()) {
            (Place::Cpu, Ok(stage2)) => format!("{}, for {}", stage2.version, stage2.cpu),
            (Place::Cuda(gpu), Ok(stage2)) => {
                format!("{}, for {}", stage2.version, gpu.description())
            }
            (Place::Cpu, Err(_)) => format!("made ahead of time, on {}", aot::level()),
            (Place::Cuda(gpu), Err(_)) => format!("made ahead of time, on {}", gpu.description()),
            (Place::Native, _) => "the host's own code".to_owned(),
        }
    }

    /// The most work-items that a work-group can have.
    #[must_use]
    pub const fn max_group_size(&self) -> usize {
        match self.place {
            Place::Cpu | Place::Native => groups::MOST_ITEMS,
            Place::Cuda(gpu) => gpu.max_block as usize,
        }
    }

    /// Bytes of local memory that a work-group can have: the kernel's arrays, and those that the launch adds.
    #[must_use]
    pub const fn local_memory_size(&self) -> usize {
        match self.place {
            Place::Cpu | Place::Native => groups::LOCAL_MEMORY,
            Place::Cuda(gpu) => gpu.shared_memory as usize,
        }
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
fn tell_missing(consequence: impl fmt::Display, missing: &Missing) {
    static NOTICE: Notice = Notice::new();
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

/// The name of all GPUs of NVIDIA's.
const GPUS: &str = "cuda";

/// Whether a name is that of a GPU, here or elsewhere.
fn is_gpu(name: &str) -> bool {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let number = name.strip_prefix(GPUS).and_then(|rest| rest.strip_prefix(':'));
    name == GPUS || number.is_some_and(is_number)
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
