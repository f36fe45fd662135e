//! A queue of a device, which the driver keeps in order.

use std::alloc::Layout;
use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::code::recent::KnownVersions;
use crate::code::requirements::LaunchRequirements;
use crate::error::{BufferError, DriverError, LaunchError};
use crate::hal::opencl::api::{RawQueue, symbol};
use crate::hal::opencl::context::Context;
use crate::hal::opencl::driver;
use crate::hal::opencl::grid::Grid;
use crate::hal::opencl::kernel::ClKernel;
use crate::hal::opencl::launch::{self, ClPending};
use crate::hal::opencl::memory::ClMemory;
use crate::hal::{Held, HostMemoryOps, QueueOps, Submitted, TaskQueue};
use crate::launch::desc::{HostAddresses, LaunchDesc};
use crate::launch::erased::NativeBody;
use crate::util::fork::NoForkGuard;
use crate::util::timeline::Track;

/// Why kernels cannot use the program's own memory.
const NO_SYSTEM_MEMORY: &str = "its driver gives kernels no access to the host's memory \
    (CL_DEVICE_SVM_FINE_GRAIN_SYSTEM, or shared system memory of cl_intel_unified_shared_memory)";

/// See the module's documentation.
#[derive(Clone)]
pub(crate) struct ClQueue {
    shared: Arc<Shared>,
}

struct Shared {
    context: Arc<Context>,
    raw: RawQueue,
    held: Mutex<Held<ClKernel, ()>>,
    /// Its track in the timeline.
    track: Arc<Track>,
}

/// Holds the queue while a launch is submitted.
pub(crate) struct ClGuard<'a> {
    held: MutexGuard<'a, Held<ClKernel, ()>>,
    #[expect(dead_code, reason = "it keeps a fork waiting until the launch is submitted")]
    no_fork: NoForkGuard,
}

impl Deref for ClGuard<'_> {
    type Target = Held<ClKernel, ()>;

    fn deref(&self) -> &Self::Target {
        &self.held
    }
}

impl DerefMut for ClGuard<'_> {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.held
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // SAFETY: the context made it, and it is released once.
        unsafe { self.context.release_queue(self.raw) };
    }
}

impl ClQueue {
    pub(super) fn new(context: Arc<Context>) -> Result<Self, DriverError> {
        let raw = context.create_queue()?;
        let (held, track) = (Mutex::default(), Arc::new(Track::new()));
        Ok(Self { shared: Arc::new(Shared { context, raw, held, track }) })
    }

    #[cold]
    fn group_too_large(&self, launch: &LaunchDesc<'_>, limit: usize) -> LaunchError {
        let local = launch.groups.as_ref().map(|groups| groups.local);
        LaunchError::GroupTooLarge {
            local: local.map_or_else(Vec::new, |local| local.slowest_first()),
            items: local.map_or(1, |local| local.items),
            limit,
            device: self.device_name().to_owned(),
        }
    }

    #[cold]
    fn not_shared(&self) -> LaunchError {
        let reason = "it shares no heap with the program".to_owned();
        LaunchError::HostMemory { device: self.device_name().to_owned(), reason }
    }
}

impl QueueOps for ClQueue {
    type Loader = Arc<Context>;
    type Code<'a> = &'a Arc<ClKernel>;
    type Memory = ClMemory;
    type Pending = ClPending;
    type Plan = Grid;
    type Order = ();
    type Guard<'a> = ClGuard<'a>;

    fn device_name(&self) -> &str {
        self.shared.context.name()
    }

    fn max_group_size(&self) -> usize {
        self.shared.context.device.max_group
    }

    fn loader(&self) -> Option<&Arc<Context>> {
        Some(&self.shared.context)
    }

    fn compiled(kernel: &Arc<ClKernel>) -> &Arc<ClKernel> {
        kernel
    }

    fn native<'a>(_: NativeBody) -> Option<Self::Code<'a>> {
        None
    }

    fn lock(&self) -> Result<ClGuard<'_>, LaunchError> {
        if let Some(reason) = self.shared.context.forked() {
            // The parent may have locked it for ever.
            return Err(LaunchError::Forked { reason });
        }
        let no_fork = NoForkGuard::enter();
        let held = self.shared.held.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(ClGuard { held, no_fork })
    }

    fn tasks(&self) -> Result<Option<&dyn TaskQueue>, LaunchError> {
        Ok(None)
    }

    fn plan(&self, launch: &LaunchDesc<'_>) -> Result<Grid, LaunchError> {
        let context = &*self.shared.context;
        let grid = Grid::of(launch, context.device);
        if !grid.group_fits() {
            return Err(self.group_too_large(launch, context.device.max_group));
        }
        Ok(grid)
    }

    fn requirements<'a>(
        &self,
        launch: &LaunchDesc<'a>,
        grid: &Grid,
        _strict: bool,
    ) -> LaunchRequirements<'a> {
        LaunchRequirements {
            sub_grids: grid.is_too_large(),
            assumptions: grid.assumptions(launch),
            groups: launch.groups.is_some(),
            ..LaunchRequirements::of(launch)
        }
    }

    fn admits(&self, launch: &LaunchDesc<'_>, code: &&Arc<ClKernel>) -> Result<(), LaunchError> {
        match &launch.groups {
            Some(groups) if groups.local.items > code.max_group => {
                Err(self.group_too_large(launch, code.max_group))
            }
            _ => Ok(()),
        }
    }

    unsafe fn submit(
        &self,
        (): &mut (),
        desc: &LaunchDesc<'_>,
        code: &Arc<ClKernel>,
        grid: Grid,
        _: Option<KnownVersions>,
    ) -> Result<Submitted<ClPending>, LaunchError> {
        if desc.host_addresses == HostAddresses::Shared {
            return Err(self.not_shared());
        }
        let Shared { context, raw, track, .. } = &*self.shared;
        // SAFETY: the caller's promises; the code is this kernel's.
        unsafe { launch::launch(context, (*raw, track), Arc::clone(code), desc, grid) }
            .map(Submitted::Pending)
    }

    /// The host uses all memory of the device's as its kernels do.
    fn while_idle(&self, run: &mut dyn FnMut()) -> Result<(), DriverError> {
        let Shared { context, raw, held, .. } = &*self.shared;
        context.refuse_if_forked(symbol::queue_finish)?;
        let held = held.lock().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: the queue is this one's.
        let code = unsafe { (context.api().queue_finish)(*raw) };
        driver::check(code, symbol::queue_finish)?;
        run();
        drop(held);
        Ok(())
    }

    fn allocate(&self, layout: Layout) -> Result<ClMemory, BufferError> {
        ClMemory::new(&self.shared.context, layout)
    }

    fn host_memory(&self) -> Option<&dyn HostMemoryOps> {
        Some(self)
    }
}

impl HostMemoryOps for ClQueue {
    fn with_all(&self, run: &mut dyn FnMut()) -> Result<(), String> {
        if !self.shared.context.device.sees_host {
            return Err(NO_SYSTEM_MEMORY.to_owned());
        }
        run();
        Ok(())
    }
}
