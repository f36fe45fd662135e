//! Devices and their selection.

use std::fmt;
use std::sync::Arc;

use crate::api::choice::{Chosen, Wish, choose};
use crate::code::aot;
use crate::code::compiler::about as stage2;
use crate::code::compiler_path::Missing;
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
    /// How it was chosen, unless the user named it: then nothing takes its place.
    wish: Option<Arc<Wish>>,
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
            .map(|device| Self { device, wish: None })
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

    /// The device that the environment variable `SCHISM_DEVICE` names; without it the first that is
    /// there of these: a GPU (`cuda`, `hip`, `opencl`), `cpu`, `native`.
    ///
    /// A device chosen by name is always used: what it cannot do is an error. The variable may also
    /// name an order, such as `cuda,cpu`: a wish. The first device of it that can be used is chosen;
    /// the last one is demanded if all others are passed over. The order of programs without the variable ends with `native`.
    ///
    /// A device that was not demanded need not run every kernel, nor hold every buffer. A kernel that
    /// cannot be had there, because it needs what the device lacks, or because its code cannot be made,
    /// runs on the first device of the host's after it in the order, over a copy of the buffers, and
    /// the bytes that it writes are copied back. A buffer for which the device has no memory is made in
    /// the host's. The user is warned once, and [`Queue::report`](crate::Queue::report) tells the
    /// program.
    ///
    /// The search does not cost a program without a GPU a millisecond: a driver is opened only where
    /// the system has its device nodes. Where it has, the driver is asked for its devices, and has
    /// no context before there is a queue or a buffer.
    ///
    /// # Errors
    /// As for [`Device::by_name`], for the named device, or for the last one of an order.
    pub fn default_device() -> Result<Self, DeviceError> {
        trace::install();
        refuse_if_broken("default")?;
        let _no_fork = NoForkGuard::enter();
        let given = DEVICE.set().map(|order| order.to_string_lossy());
        let given = given.as_deref().map(names).filter(|names| !names.is_empty());
        if let Some([name]) = given.as_deref() {
            return Self::by_name(name);
        }
        match given {
            Some(order) => Self::first_of(&order, false),
            None => Self::first_of(&names(dispatch::BackendDevice::ORDER), true),
        }
    }

    /// As [`default_device`](Self::default_device) without the variable, of the host's devices.
    pub(crate) fn default_of_host() -> Result<Self, DeviceError> {
        trace::install();
        refuse_if_broken("default")?;
        let _no_fork = NoForkGuard::enter();
        Self::first_of(&names(dispatch::BackendDevice::ORDER_OF_HOST), true)
    }

    fn first_of(order: &[&str], is_default: bool) -> Result<Self, DeviceError> {
        let Chosen { device, wish, missing } = choose(order, is_default, unknown)?;
        let chosen = Self { device, wish: wish.map(Arc::new) };
        if let Some(missing) = missing {
            report_missing(format_args!("kernels run on the device `{chosen}`"), &missing);
        }
        tracing::debug!(device = chosen.name(), why = chosen.why(), "chose the device");
        Ok(chosen)
    }

    /// The device with this name: `cpu`, `native`, or `cuda:0`, `hip:1` and so on; `cuda` is the
    /// first GPU. `cpu:copies`, which [`all`](Self::all) does not list, is `cpu` with its own
    /// memory: it copies slices as a GPU does, so that tests of what is copied need no GPU.
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
        let found = dispatch::BackendDevice::by_name(name).unwrap_or_else(|| Err(unknown(name)));
        Ok(Self { device: found?, wish: None })
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

    /// Whether the user chose it by name: nothing takes its place.
    pub(crate) const fn demanded(&self) -> bool {
        self.wish.is_none()
    }

    /// Why it is the program's device.
    pub(crate) fn why(&self) -> &str {
        self.wish.as_ref().map_or("it was asked for by name", |wish| &wish.why)
    }

    /// The device of the host's that takes its place where it cannot do something, and which nothing
    /// takes the place of if it is demanded in turn. `None` if this one was demanded, or is the
    /// host's.
    pub(crate) fn substitute(&self) -> Option<Self> {
        let wish = self.wish.as_ref().filter(|_| !self.device.traits().runs_on_host)?;
        let device = wish.host.clone()?;
        let next = || Wish {
            why: format!("`{self}` cannot be used; {}", wish.why),
            host: None,
            is_host_last: true,
        };
        Some(Self { device, wish: (!wish.is_host_last).then(|| Arc::new(next())) })
    }

    /// Returns an error if this process cannot use any device.
    pub(crate) fn refuse_if_broken(&self) -> Result<(), DeviceError> {
        refuse_if_broken(self.name())
    }
}

/// The names in a list, separated by commas.
fn names(order: &str) -> Vec<&str> {
    order.split(',').map(str::trim).filter(|name| !name.is_empty()).collect()
}

/// The error for a name that no device can have.
fn unknown(name: &str) -> DeviceError {
    let names: Vec<_> = Device::all().iter().map(|device| device.name().to_owned()).collect();
    DeviceError::Unknown { requested: name.to_owned(), available: names.join(", ") }
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
            "run `cargo schism setup` and see to it that no other user can change the file, point SCHISM_JIT at a libschism_jit.so of yours"
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
