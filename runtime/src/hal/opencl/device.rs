//! The devices of all drivers of OpenCL, and for each the context in which this process uses it.

use std::alloc::Layout;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use crate::code::aot::{self, AotTarget};
use crate::code::compiler::{self, About};
use crate::error::{BufferError, DeviceError};
use crate::hal::opencl::aot::SpirvTarget;
use crate::hal::opencl::api::{RawDevice, RawPlatform, number, symbol};
use crate::hal::opencl::context::Context;
use crate::hal::opencl::driver;
use crate::hal::opencl::memory::ClMemory;
use crate::hal::opencl::properties::{DEVICES, Properties};
use crate::hal::opencl::queue::ClQueue;
use crate::hal::{Backend, DeviceOps, DeviceTraits};
use crate::util::fork::NoForkGuard;

/// Devices of OpenCL.
#[derive(Debug)]
pub(crate) enum OpenCl {}

/// A device of a driver.
#[derive(Debug)]
pub(crate) struct ClDevice {
    pub(super) properties: Properties,
    context: Mutex<Option<Arc<Context>>>,
}

/// The devices, which the first call searches for; or why there are none.
fn all() -> Result<&'static [ClDevice], &'static str> {
    static ALL: OnceLock<Result<Vec<ClDevice>, String>> = OnceLock::new();
    ALL.get_or_init(find).as_deref().map_err(String::as_str)
}

fn find() -> Result<Vec<ClDevice>, String> {
    let driver = driver::open()?;
    let api = &driver.api;
    let mut platforms = vec![RawPlatform::NULL; 64];
    let mut count = 0;
    let most = platforms.len() as u32;
    // SAFETY: there is room for as many, and the number can be written.
    let code = unsafe { (api.platform_ids)(most, platforms.as_mut_ptr(), &raw mut count) };
    driver::check(code, symbol::platform_ids).map_err(|error| error.to_string())?;
    platforms.truncate(count as usize);
    // A loader with a broken driver may have one that is none.
    platforms.retain(|platform| *platform != RawPlatform::NULL);
    let mut found = Vec::new();
    let mut left_out = Vec::new();
    for platform in platforms {
        let mut devices = vec![RawDevice::NULL; 64];
        let mut count = 0;
        let most = devices.len() as u32;
        // SAFETY: the platform is the loader's, there is room for as many, and the number can be
        // written.
        let code = unsafe {
            let (ids, count) = (devices.as_mut_ptr(), &raw mut count);
            (api.device_ids)(platform, number::ALL_DEVICES, most, ids, count)
        };
        if code != number::SUCCESS {
            continue;
        }
        devices.truncate(count as usize);
        for raw in devices {
            match Properties::new(driver, platform, raw, found.len() as u64) {
                Ok(properties) => found.push(ClDevice { properties, context: Mutex::default() }),
                Err(reason) => {
                    tracing::warn!(%reason, "a device of OpenCL is left out");
                    left_out.push(reason);
                }
            }
        }
    }
    tracing::debug!(devices = found.len(), "opened OpenCL");
    if found.is_empty() {
        left_out.insert(0, "OpenCL has no device that can be used".to_owned());
        return Err(left_out.join(": "));
    }
    Ok(found)
}

impl ClDevice {
    /// The context of this process.
    fn context(&'static self) -> Result<Arc<Context>, DeviceError> {
        let properties = &self.properties;
        if let Some(reason) = properties.forked() {
            return Err(DeviceError::Forked { device: properties.name.clone(), reason });
        }
        let mut slot = self.context.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(context) = &*slot {
            return Ok(Arc::clone(context));
        }
        let context = Context::new(properties).map_err(|source| DeviceError::Driver {
            device: properties.name.clone(),
            source: Box::new(source),
        })?;
        Ok(Arc::clone(slot.insert(context)))
    }
}

impl Backend for OpenCl {
    type Device = &'static ClDevice;

    fn devices() -> Vec<&'static ClDevice> {
        let all = all().unwrap_or_default().iter();
        all.filter(|device| device.properties.forked().is_none()).collect()
    }

    fn by_name(name: &str) -> Option<Result<&'static ClDevice, DeviceError>> {
        let which = name.strip_prefix(DEVICES)?;
        let which = if which.is_empty() { "0" } else { which.strip_prefix(':')? };
        let find = || {
            if !aot::is_there(&SpirvTarget) {
                compiler::require(name)?;
            }
            let missing =
                |reason: String| DeviceError::NoOpenCl { device: name.to_owned(), reason };
            let all = all().map_err(|reason| missing(reason.to_owned()))?;
            let mut found = all.iter().filter(|device| device.properties.is_called(which));
            found.next().filter(|_| !which.is_empty()).ok_or_else(|| {
                let named = |device: &ClDevice| {
                    format!("{} ({})", device.properties.name, device.properties.description())
                };
                let names: Vec<_> = all.iter().map(named).collect();
                missing(format!("the drivers have only {}", names.join(", ")))
            })
        };
        Some(find())
    }

    fn wished(name: &str) -> Option<Result<&'static ClDevice, DeviceError>> {
        if name != DEVICES {
            return Self::by_name(name);
        }
        let missing = |reason: String| DeviceError::NoOpenCl { device: name.to_owned(), reason };
        let find = || {
            if let Some(reason) = driver::absence() {
                return Err(missing(reason));
            }
            // What there is no code for is not searched for.
            if !aot::is_there(&SpirvTarget) {
                compiler::require(name)?;
            }
            let all = all().map_err(|reason| missing(reason.to_owned()))?;
            let found = all.iter().find(|device| device.properties.is_gpu);
            let gpu = found.ok_or_else(|| missing("no device of OpenCL is a GPU".to_owned()))?;
            match gpu.properties.forked() {
                Some(reason) => Err(DeviceError::Forked { device: name.to_owned(), reason }),
                None => Ok(gpu),
            }
        };
        Some(find())
    }
}

impl DeviceOps for &'static ClDevice {
    type Queue = ClQueue;

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

    fn aot_target(&self) -> Option<Box<dyn AotTarget>> {
        Some(Box::new(SpirvTarget))
    }

    fn max_group_size(&self) -> usize {
        self.properties.max_group
    }

    fn local_memory_size(&self) -> usize {
        self.properties.local_memory
    }

    fn concurrency(&self) -> usize {
        self.properties.compute_units
    }

    fn traits(&self) -> DeviceTraits {
        let is_gpu = self.properties.is_gpu;
        DeviceTraits { runs_on_host: false, is_gpu, runs_device_code: true, slow_barriers: false }
    }

    fn queue(&self) -> Result<ClQueue, DeviceError> {
        ClQueue::new(self.context()?).map_err(|source| DeviceError::Driver {
            device: self.properties.name.clone(),
            source: Box::new(source),
        })
    }

    fn allocate(&self, layout: Layout) -> Result<ClMemory, BufferError> {
        let _no_fork = NoForkGuard::enter();
        let context = self.context().map_err(|error| BufferError::Unavailable {
            device: self.properties.name.clone(),
            reason: error.to_string(),
        })?;
        ClMemory::new(&context, layout)
    }
}
