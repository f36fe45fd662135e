//! Devices and their selection.

use std::fmt;
use std::sync::Arc;

use crate::api::choice::{Chosen, Wish, choose};
use crate::code::aot;
use crate::code::compiler::about as stage2;
use crate::code::compiler_path::Missing;
use crate::error::DeviceError;
use crate::hal::dispatch::{self, DeviceKind};
use crate::launch::desc::OnRefusal;
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
            Some(order) => Self::first_of(&order, false, false),
            None => Self::first_of(&names(dispatch::BackendDevice::ORDER), true, false),
        }
    }

    /// The device with this name if it can be used, otherwise the host: `cpu`, or `native` if there is
    /// no code for that. `name` may also be an order of devices, such as `cuda:1, cuda:0`.
    ///
    /// The device need not run every kernel, nor hold every buffer, as for
    /// [`default_device`](Self::default_device); but nothing warns of it, as for
    /// [`Queue::optional`](crate::Queue::optional). The reports of launches say why it is this device.
    ///
    /// ```
    /// # fn main() -> Result<(), schism::Error> {
    /// use schism::prelude::*;
    ///
    /// let queue = Queue::on(&Device::optional("cuda:7")?)?;
    /// let (outcome, reports) = queue.report(|queue| queue.parallel_for(10, |_| ()));
    /// outcome?;
    /// // For example: cpu, because cuda: there is no /dev/nvidiactl
    /// println!("{}, because {}", reports[0].device, reports[0].why);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`DeviceError::Unknown`] for a name that no device can have; [`DeviceError::Forked`] if this
    /// process was forked while another thread was compiling a kernel.
    pub fn optional(name: &str) -> Result<Self, DeviceError> {
        trace::install();
        refuse_if_broken(name)?;
        let _no_fork = NoForkGuard::enter();
        let mut order = names(name);
        order.extend(names(dispatch::BackendDevice::ORDER_OF_HOST));
        Self::first_of(&order, true, true)
    }

    /// The GPU with the number `n` modulo their number: with four GPUs, 2 and 6 are the third one and
    /// 1000 is the first. So threads or processes that have a number each share the GPUs of any
    /// machine.
    ///
    /// GPUs are counted from 0 in the order of their names. If they have several drivers, those of one
    /// count: of `cuda`, `hip` and `opencl` the first that has any. The number belongs to the GPU as
    /// if it had been asked for by [name](Self::by_name): what it cannot do is an error. A program
    /// that has no number to ask for, or -1, leaves the choice to
    /// [`default_device`](Self::default_device).
    ///
    /// ```no_run
    /// # fn main() -> Result<(), schism::Error> {
    /// use std::thread;
    ///
    /// use schism::prelude::*;
    ///
    /// let mut parts = vec![vec![1.0_f32; 1000]; 8];
    /// thread::scope(|scope| {
    ///     let run = |(n, part): (usize, &mut Vec<f32>)| -> Result<(), schism::Error> {
    ///         let queue = Queue::on(&Device::nth_gpu(n)?)?;
    ///         queue.for_each(part, |x| *x += 1.0)?;
    ///         Ok(())
    ///     };
    ///     let threads: Vec<_> =
    ///         parts.iter_mut().enumerate().map(|part| scope.spawn(move || run(part))).collect();
    ///     threads.into_iter().try_for_each(|thread| thread.join().expect("no panic"))
    /// })?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// That of [`by_name`](Self::by_name) for `cuda` if there is no GPU.
    pub fn nth_gpu(n: usize) -> Result<Self, DeviceError> {
        let mut gpus = Self::gpus();
        match n.checked_rem(gpus.len()) {
            Some(index) => Ok(gpus.swap_remove(index)),
            None => Self::by_name("cuda"),
        }
    }

    /// The GPUs that have numbers.
    pub(crate) fn gpus() -> Vec<Self> {
        let mut gpus = Self::all();
        gpus.retain(|device| device.device.traits().is_gpu);
        if let Some(kind) = gpus.first().map(Self::kind) {
            gpus.retain(|device| device.kind() == kind);
        }
        gpus
    }

    /// As [`default_device`](Self::default_device) without the variable, of the host's devices; the
    /// user is not warned if it `is_silent`.
    pub(crate) fn default_of_host(is_silent: bool) -> Result<Self, DeviceError> {
        trace::install();
        refuse_if_broken("default")?;
        let _no_fork = NoForkGuard::enter();
        Self::first_of(&names(dispatch::BackendDevice::ORDER_OF_HOST), true, is_silent)
    }

    /// As [`choose`]; the user is not warned if it `is_silent`.
    fn first_of(order: &[&str], is_default: bool, is_silent: bool) -> Result<Self, DeviceError> {
        let Chosen { device, wish, missing } = choose(order, is_default, unknown)?;
        let wish = wish.map(|wish| Arc::new(Wish { is_silent, ..wish }));
        let chosen = Self { device, wish };
        if let Some(missing) = missing.filter(|_| !is_silent) {
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

    /// What becomes of what it refuses: an error, if the user chose it by name.
    pub(crate) fn on_refusal(&self) -> OnRefusal {
        match &self.wish {
            None => OnRefusal::Fail,
            // Nothing is there that could take its place.
            Some(wish) if wish.host.is_none() && !self.device.traits().runs_on_host => {
                OnRefusal::Fail
            }
            Some(wish) if wish.is_silent => OnRefusal::Silent,
            Some(_) => OnRefusal::Warn,
        }
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
            is_silent: wish.is_silent,
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
