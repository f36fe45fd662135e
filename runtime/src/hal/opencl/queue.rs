//! A queue of a device, which the driver keeps in order.

use std::alloc::Layout;
use std::sync::Arc;

use crate::code::requirements::LaunchRequirements;
use crate::error::{BufferError, DriverError, LaunchError};
use crate::hal::opencl::api::RawQueue;
use crate::hal::opencl::context::Context;
use crate::hal::opencl::kernel::ClKernel;
use crate::hal::opencl::launch::{self, ClPending, Grid};
use crate::hal::opencl::memory::ClMemory;
use crate::hal::{QueueOps, TaskQueue};
use crate::launch::desc::LaunchDesc;
use crate::launch::erased::NativeBody;
use crate::util::fork::NoForkGuard;

/// See the module's documentation.
#[derive(Clone)]
pub(crate) struct ClQueue {
    shared: Arc<Shared>,
}

struct Shared {
    context: Arc<Context>,
    raw: RawQueue,
}

impl Drop for Shared {
    fn drop(&mut self) {
        // SAFETY: the context made it, and it is released once.
        unsafe { self.context.release_queue(self.raw) };
    }
}

/// How a launch is divided.
#[derive(Debug)]
pub(crate) struct LaunchPlan {
    grid: Grid,
    #[expect(dead_code, reason = "it only keeps a fork waiting until the launch is submitted")]
    no_fork: NoForkGuard,
}

impl ClQueue {
    pub(super) fn new(context: Arc<Context>) -> Result<Self, DriverError> {
        let raw = context.create_queue()?;
        Ok(Self { shared: Arc::new(Shared { context, raw }) })
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
}

impl QueueOps for ClQueue {
    type Loader = Arc<Context>;
    type Code = Arc<ClKernel>;
    type Memory = ClMemory;
    type Pending = ClPending;
    type Plan = LaunchPlan;
    type Guard<'a> = ();

    fn device_name(&self) -> &str {
        self.shared.context.name()
    }

    fn max_group_size(&self) -> usize {
        self.shared.context.device.max_group
    }

    fn loader(&self) -> Option<&Arc<Context>> {
        Some(&self.shared.context)
    }

    fn compiled(kernel: Arc<ClKernel>) -> Arc<ClKernel> {
        kernel
    }

    fn native(_: NativeBody) -> Option<Arc<ClKernel>> {
        None
    }

    fn lock(&self) -> Result<(), LaunchError> {
        Ok(())
    }

    fn tasks(&self) -> Result<Option<&dyn TaskQueue>, LaunchError> {
        Ok(None)
    }

    fn plan(&self, launch: &LaunchDesc<'_>) -> Result<LaunchPlan, LaunchError> {
        let context = &*self.shared.context;
        if let Some(reason) = context.forked() {
            return Err(LaunchError::Forked { reason });
        }
        let no_fork = NoForkGuard::enter();
        let grid = Grid::of(launch, context.device);
        if !grid.group_fits() {
            return Err(self.group_too_large(launch, context.device.max_group));
        }
        Ok(LaunchPlan { grid, no_fork })
    }

    fn requirements<'a>(
        &self,
        launch: &LaunchDesc<'a>,
        plan: &LaunchPlan,
        _strict: bool,
    ) -> LaunchRequirements<'a> {
        LaunchRequirements {
            sub_grids: plan.grid.is_too_large(),
            assumptions: plan.grid.assumptions(launch),
            groups: launch.groups.is_some(),
            ..LaunchRequirements::of(launch)
        }
    }

    fn admits(&self, launch: &LaunchDesc<'_>, code: &Arc<ClKernel>) -> Result<(), LaunchError> {
        match &launch.groups {
            Some(groups) if groups.local.items > code.max_group => {
                Err(self.group_too_large(launch, code.max_group))
            }
            _ => Ok(()),
        }
    }

    unsafe fn submit(
        &self,
        desc: &LaunchDesc<'_>,
        code: Arc<ClKernel>,
        plan: LaunchPlan,
    ) -> Result<Option<ClPending>, LaunchError> {
        let Shared { context, raw } = &*self.shared;
        // SAFETY: the caller's promises; the code is this kernel's.
        unsafe { launch::launch(context, *raw, code, desc, plan.grid) }.map(Some)
    }

    fn allocate(&self, layout: Layout) -> Result<ClMemory, BufferError> {
        ClMemory::new(&self.shared.context, layout)
    }
}
