//! The GPUs of a driver, and for each the context in which this process uses it.

use std::alloc::Layout;
use std::ffi::c_int;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use schism_hcf::Target;

use crate::code::aot::{self, AotTarget};
use crate::code::compiler::{self, About};
use crate::code::kernels;
use crate::error::{BufferError, DeviceError, DriverError};
use crate::hal::address_window;
use crate::hal::gpu::api::{number, symbol};
use crate::hal::gpu::context::Context;
use crate::hal::gpu::driver::{self, Driver};
use crate::hal::gpu::mapping_log;
use crate::hal::gpu::memory::GpuMemory;
use crate::hal::gpu::properties::Properties;
use crate::hal::gpu::queue::GpuQueue;
use crate::hal::gpu::stream::Stream;
use crate::hal::gpu::vendor::Vendor;
use crate::hal::{DeviceOps, DeviceTraits};
use crate::util::fork::NoForkGuard;
use crate::util::objects;

/// A device of the driver.
#[derive(Debug)]
pub(crate) struct Gpu {
    properties: Properties,
    context: Mutex<Option<Arc<Context>>>,
}

/// The devices of a vendor's driver.
#[derive(Debug)]
pub(in crate::hal) struct Gpus {
    pub(in crate::hal) vendor: &'static Vendor,
    /// Describes the device with this number.
    pub(in crate::hal) properties: fn(&'static Driver, c_int) -> Result<Properties, DriverError>,
    /// Whether AOT code for a target may run on some device of this vendor's.
    pub(in crate::hal) has_target: fn(Target) -> bool,
    /// Those that were found, or why there are none.
    pub(in crate::hal) found: OnceLock<Result<Vec<Gpu>, String>>,
}

/// The driver's devices, which the first call searches for; or why there are none.
fn gpus(all: &'static Gpus) -> Result<&'static [Gpu], &'static str> {
    all.found.get_or_init(|| find(all)).as_deref().map_err(String::as_str)
}

fn find(all: &Gpus) -> Result<Vec<Gpu>, String> {
    let started = std::time::Instant::now();
    let driver = driver::initialise(all.vendor)?;
    let mut count: c_int = 0;
    // SAFETY: the number is ours to be written.
    let code = unsafe { (driver.api.device_count)(&raw mut count) };
    if code == number::NO_DEVICE {
        count = 0;
    } else {
        driver.check(code, symbol::device_count).map_err(|e| e.to_string())?;
    }
    let mut left_out = String::new();
    let gpus = (0..count.max(0)).filter_map(|ordinal| {
        let gpu = Gpu::new(all, driver, ordinal).inspect_err(|error| {
            tracing::warn!(ordinal, %error, "a GPU is left out");
            left_out = format!(": {error}");
        });
        gpu.ok()
    });
    let gpus: Vec<_> = gpus.collect();
    tracing::debug!(
        version = driver.version,
        gpus = gpus.len(),
        micros = started.elapsed().as_micros() as u64,
        "opened the driver"
    );
    if gpus.is_empty() {
        return Err(format!("the driver finds no GPU that can be used{left_out}"));
    }
    Ok(gpus)
}

impl Gpu {
    fn new(all: &Gpus, driver: &'static Driver, ordinal: c_int) -> Result<Self, DriverError> {
        let properties = (all.properties)(driver, ordinal)?;
        Ok(Self { properties, context: Mutex::default() })
    }

    /// The context for new queues and buffers: a new one, if there is none or the last one was
    /// lost.
    fn context(&'static self) -> Result<Arc<Context>, DeviceError> {
        let properties = &self.properties;
        if let Some(reason) = properties.forked() {
            return Err(DeviceError::Forked { device: properties.name.clone(), reason });
        }
        let mut slot = self.context.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(context) = &*slot
            && context.lost().is_none()
        {
            return Ok(Arc::clone(context));
        }
        // Remaining users of the lost one keep it alive; its kernels are useless.
        if let Some(lost) = slot.take() {
            kernels::forget_loader(lost.id());
        }
        let context = Context::new(properties).map_err(|source| DeviceError::Driver {
            device: properties.name.clone(),
            source: Box::new(source),
        })?;
        *slot = Some(Arc::clone(&context));
        Ok(context)
    }
}

/// All devices of a vendor's driver that this process can use.
pub(in crate::hal) fn devices(all: &'static Gpus) -> Vec<&'static Gpu> {
    let gpus = gpus(all).unwrap_or_default().iter();
    gpus.filter(|gpu| gpu.properties.forked().is_none()).collect()
}

/// The device of a vendor's with this name; `None` if no device of the vendor's can have it.
pub(in crate::hal) fn by_name(
    all: &'static Gpus,
    name: &str,
) -> Option<Result<&'static Gpu, DeviceError>> {
    let vendor = all.vendor;
    is_gpu(vendor, name).then(|| {
        if !aot::is_there_for(all.has_target) {
            compiler::require(name)?;
        }
        let missing = |reason: String| DeviceError::NoGpu { device: name.to_owned(), reason };
        let gpus = gpus(all).map_err(|reason| missing(reason.to_owned()))?;
        let mut found = gpus.iter().filter(|gpu| name == vendor.devices || gpu.name() == name);
        let gpu = found.next().ok_or_else(|| {
            let names: Vec<_> = gpus.iter().map(|gpu| gpu.properties.name.as_str()).collect();
            missing(format!("the driver finds only {}", names.join(", ")))
        })?;
        if !aot::is_there(&*gpu.properties.aot_target()) {
            compiler::require(name)?;
        }
        Ok(gpu)
    })
}

/// As [`by_name`], for a program that demands no device.
pub(in crate::hal) fn wished(
    all: &'static Gpus,
    name: &str,
) -> Option<Result<&'static Gpu, DeviceError>> {
    let device = || name.to_owned();
    let is_known = all.found.get().is_some();
    if is_gpu(all.vendor, name)
        && !is_known
        && let Some(reason) = driver::absence(all.vendor)
    {
        return Some(Err(DeviceError::NoGpu { device: device(), reason }));
    }
    let found = by_name(all, name)?;
    Some(found.and_then(|gpu| match gpu.properties.forked() {
        Some(reason) => Err(DeviceError::Forked { device: device(), reason }),
        None => Ok(gpu),
    }))
}

/// A program starts that will use addresses of the host's in kernels.
pub(in crate::hal) fn at_start() {
    objects::at_start();
    mapping_log::at_start();
}

/// Whether a name is that of a GPU of the vendor's, on this machine or another.
fn is_gpu(vendor: &Vendor, name: &str) -> bool {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let number = name.strip_prefix(vendor.devices).and_then(|rest| rest.strip_prefix(':'));
    name == vendor.devices || number.is_some_and(is_number)
}

impl DeviceOps for &'static Gpu {
    type Queue = GpuQueue;

    fn name(&self) -> &str {
        &self.properties.name
    }

    fn description(&self, compiler: Option<&About>) -> String {
        let own = self.properties.description();
        match compiler {
            Some(compiler) => format!("{}, for {own}", compiler.version),
            None => format!("made ahead of time, on {own}"),
        }
    }

    fn max_group_size(&self) -> usize {
        self.properties.max_block as usize
    }

    fn local_memory_size(&self) -> usize {
        self.properties.shared_memory as usize
    }

    fn concurrency(&self) -> usize {
        self.properties.threads()
    }

    fn traits(&self) -> DeviceTraits {
        DeviceTraits {
            runs_on_host: false,
            is_gpu: true,
            runs_device_code: true,
            slow_barriers: false,
        }
    }

    fn aot_target(&self) -> Option<Box<dyn AotTarget>> {
        Some(self.properties.aot_target())
    }

    fn queue(&self) -> Result<GpuQueue, DeviceError> {
        let stream = Stream::new(self.context()?).map_err(|source| DeviceError::Driver {
            device: self.properties.name.clone(),
            source: Box::new(source),
        })?;
        Ok(GpuQueue { stream })
    }

    fn allocate(&self, layout: Layout) -> Result<GpuMemory, BufferError> {
        address_window::add_buffer();
        let _no_fork = NoForkGuard::enter();
        let context = self.context().map_err(|error| BufferError::Unavailable {
            device: self.properties.name.clone(),
            reason: error.to_string(),
        })?;
        GpuMemory::new(&context, layout.size())
    }
}
