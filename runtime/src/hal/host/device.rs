//! The two host devices.

use std::alloc::Layout;

use crate::code::aot::{self, AotTarget};
use crate::code::compiler::{self, About};
use crate::error::{BufferError, DeviceError};
use crate::hal::address_window::is_on_host;
use crate::hal::host::aot::{HostTarget, level};
use crate::hal::host::groups::limits;
use crate::hal::host::kernel::CpuLoader;
use crate::hal::host::lanes;
use crate::hal::host::math;
use crate::hal::host::memory::HostMemory;
use crate::hal::host::pool;
use crate::hal::host::queue::HostQueue;
use crate::hal::{Backend, DeviceOps, DeviceTraits, Unreadable};

/// The device `cpu`: all cores of the host, which run compiled kernels; and the device `cpu:copies`,
/// which is the same with its own memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cpu {
    name: &'static str,
    has_own_memory: bool,
}

impl Cpu {
    const SHARED: Self = Self { name: "cpu", has_own_memory: false };
    const COPIES: Self = Self { name: "cpu:copies", has_own_memory: true };
}

/// The device `native`: all cores of the host, which run the host half's own bodies.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Native;

impl Backend for Cpu {
    type Device = Self;

    fn devices() -> Vec<Self> {
        vec![Self::SHARED]
    }

    fn by_name(name: &str) -> Option<Result<Self, DeviceError>> {
        let found = [Self::SHARED, Self::COPIES].into_iter().find(|device| device.name == name)?;
        let code = if aot::is_there(&HostTarget) { Ok(()) } else { compiler::require(name) };
        Some(code.map(|()| found))
    }

    fn readable(address: usize) -> Option<Result<*const u8, Unreadable>> {
        is_on_host(address).then(|| Ok(std::ptr::with_exposed_provenance(address)))
    }
}

impl DeviceOps for Cpu {
    type Queue = HostQueue;

    fn name(&self) -> &str {
        self.name
    }

    fn description(&self, compiler: Option<&About>) -> String {
        match compiler {
            Some(compiler) => format!("{}, for {}", compiler.version, compiler.cpu),
            None => format!("made ahead of time, on {}", level()),
        }
    }

    fn max_group_size(&self) -> usize {
        limits::MOST_ITEMS
    }

    fn local_memory_size(&self) -> usize {
        limits::LOCAL_MEMORY
    }

    fn concurrency(&self) -> usize {
        pool::size()
    }

    fn traits(&self) -> DeviceTraits {
        DeviceTraits {
            runs_on_host: true,
            is_gpu: false,
            runs_device_code: true,
            slow_barriers: false,
        }
    }

    fn aot_target(&self) -> Option<Box<dyn AotTarget>> {
        Some(Box::new(HostTarget))
    }

    fn queue(&self) -> Result<HostQueue, DeviceError> {
        math::portable(false)?;
        lanes::check()?;
        HostQueue::new(self.name, Some(CpuLoader), self.has_own_memory)
    }

    fn allocate(&self, layout: Layout) -> Result<HostMemory, BufferError> {
        if self.has_own_memory {
            return HostMemory::in_window(layout, self.name);
        }
        HostMemory::new(layout, self.name)
    }
}

impl Backend for Native {
    type Device = Self;

    fn devices() -> Vec<Self> {
        vec![Self]
    }

    fn by_name(name: &str) -> Option<Result<Self, DeviceError>> {
        (name == Self.name()).then_some(Ok(Self))
    }
}

impl DeviceOps for Native {
    type Queue = HostQueue;

    fn name(&self) -> &str {
        "native"
    }

    fn description(&self, _: Option<&About>) -> String {
        "the host's own code".to_owned()
    }

    fn max_group_size(&self) -> usize {
        limits::MOST_ITEMS
    }

    fn local_memory_size(&self) -> usize {
        limits::LOCAL_MEMORY
    }

    fn concurrency(&self) -> usize {
        pool::size()
    }

    fn traits(&self) -> DeviceTraits {
        DeviceTraits {
            runs_on_host: true,
            is_gpu: false,
            runs_device_code: false,
            slow_barriers: true,
        }
    }

    fn queue(&self) -> Result<HostQueue, DeviceError> {
        HostQueue::new("native", None, false)
    }

    fn allocate(&self, layout: Layout) -> Result<HostMemory, BufferError> {
        HostMemory::new(layout, "native")
    }
}
