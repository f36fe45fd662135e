//! A queue of a host device: launches run on all cores, one after the other.

use std::alloc::Layout;
use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use crate::code::recent::KnownVersions;
use crate::code::requirements::LaunchRequirements;
use crate::error::{BufferError, DeviceError, KernelPanic, LaunchError};
use crate::hal::host::body::Body;
use crate::hal::host::groups::{GroupWork, limits};
use crate::hal::host::in_order::{InOrderExecutor, InOrderGuard, InOrderQueue};
use crate::hal::host::kernel::{CpuKernel, CpuLoader};
use crate::hal::host::memory::HostMemory;
use crate::hal::host::run::Work;
use crate::hal::host::stack::{self, TooMuch};
use crate::hal::host::work_sharing;
use crate::hal::messages::RangeShape;
use crate::hal::{PendingOps, QueueOps, Submitted, TaskQueue};
use crate::launch::adaptivity::Adaptivity;
use crate::launch::desc::{GroupDesc, HostAddresses, LaunchDesc};
use crate::launch::erased::{NativeBody, RawKernel};
use crate::launch::failure::{Failure, Panic};
use crate::util::fork;
use crate::util::timeline::{self, Clock};

/// See the module's documentation.
#[derive(Clone)]
pub(crate) struct HostQueue {
    /// The device's name.
    device: &'static str,
    loader: Option<CpuLoader>,
    has_own_memory: bool,
    executor: Arc<InOrderExecutor>,
}

/// There is none: a launch has ended when its submission returns.
#[derive(Debug)]
pub(crate) enum NoPending {}

impl PendingOps for NoPending {
    fn is_over(&self) -> bool {
        match *self {}
    }

    fn is_known_over(&self) -> bool {
        match *self {}
    }

    fn finish(self) -> (Result<(), LaunchError>, Option<Duration>) {
        match self {}
    }
}

impl HostQueue {
    /// Creates a queue of a device, which runs what the loader compiles, or else the host half's
    /// own bodies, and has its own memory or uses the host's.
    ///
    /// # Errors
    /// [`DeviceError::CpuStack`], [`DeviceError::Threads`].
    pub(crate) fn new(
        device: &'static str,
        loader: Option<CpuLoader>,
        has_own_memory: bool,
    ) -> Result<Self, DeviceError> {
        stack::settings::check()?;
        Ok(Self { device, loader, has_own_memory, executor: InOrderExecutor::new()? })
    }

    /// The queue in this process. Only a forked process may have to create it, and threads with it.
    #[inline]
    fn in_order_queue(&self) -> Result<&Arc<InOrderQueue>, LaunchError> {
        self.executor.known().map_or_else(|| self.begin(), Ok)
    }

    #[cold]
    fn begin(&self) -> Result<&Arc<InOrderQueue>, LaunchError> {
        self.executor.here().map_err(|error| LaunchError::Forked { reason: error.to_string() })
    }

    /// Runs a launch with groups.
    ///
    /// # Safety
    /// As for [`submit`](QueueOps::submit).
    unsafe fn submit_groups(
        &self,
        launch: &LaunchDesc<'_>,
        groups: &GroupDesc<'_>,
        body: Body<'_>,
    ) -> Result<(), LaunchError> {
        let kernel = launch.kernel;
        let in_groups = GroupWork::new(launch.range, groups, &body)
            .map_err(|bytes| self.local_memory(kernel, bytes))?;
        let options = launch.options.cloned();
        let work = Work::new(body, kernel, groups.count, Some(in_groups), options);
        // SAFETY: the caller's promises.
        unsafe { self.execute(&work, launch) }
    }

    /// Runs the work on all threads.
    ///
    /// # Safety
    /// As for [`submit`](QueueOps::submit); the work is the launch's.
    unsafe fn execute(&self, work: &Work, launch: &LaunchDesc<'_>) -> Result<(), LaunchError> {
        let (kernel, executor) = (launch.kernel, self.in_order_queue()?);
        let has_own_memory = self.has_own_memory && launch.host_addresses == HostAddresses::None;
        if let Body::Cpu(code) = &work.body
            // SAFETY: the closure is of the kernel's type.
            && let Some(memory) = unsafe { code.foreign_memory(work.closure.cast(), has_own_memory) }
        {
            return Err(self.foreign_buffer(kernel, memory));
        }
        if let Some(too_much) = work.too_much_stack() {
            return Err(self.stack(kernel, too_much));
        }
        let started = tracing::enabled!(tracing::Level::DEBUG).then(|| {
            let version = match &work.body {
                Body::Cpu(code) => code.version.clone(),
                Body::Native(_) => Box::from("the host's"),
            };
            (std::time::Instant::now(), version)
        });
        let seen = launch.seen();
        // SAFETY: the caller's promises.
        let dispatch = unsafe { work_sharing::run(work, executor.pool(), launch.threads) };
        if let Some(seen) = seen {
            let time = (seen.submitted(), timeline::now());
            seen.ran((self.device, executor.track()), time, Clock::Host);
        }
        let dispatch =
            dispatch.map_err(|failure| self.failed(kernel, &RangeShape::of(launch), failure))?;
        if let Some((started, version)) = started {
            tracing::debug!(
                kernel = kernel.name(), device = %self.device, version, range = ?work.extent.slowest_first(),
                intervals = dispatch.intervals, helpers = dispatch.helpers, micros = started.elapsed().as_micros() as u64, "launched"
            );
        }
        Ok(())
    }

    #[cold]
    fn foreign_buffer(&self, kernel: &RawKernel, memory: &str) -> LaunchError {
        let (kernel, device) = (kernel.name(), self.device.to_owned());
        LaunchError::ForeignBuffer { kernel, device, memory: memory.to_owned() }
    }

    #[cold]
    fn failed(&self, kernel: &RawKernel, shape: &RangeShape, failure: Failure) -> LaunchError {
        let (name, device) = (kernel.name(), self.device.to_owned());
        match failure {
            Failure::Panic(Panic { message, location, work_item, local_id, payload }) => {
                LaunchError::Panicked(Box::new(KernelPanic {
                    kernel: name,
                    device,
                    message,
                    location,
                    work_item: work_item.map(|xyz| shape.moved(xyz)),
                    local_id: local_id.map(|xyz| shape.place(xyz)),
                    payload,
                }))
            }
            Failure::DivergentBarrier { group, waiting, ended } => LaunchError::DivergentBarrier {
                kernel: name,
                device,
                group: shape.place(group),
                waiting,
                ended,
            },
            Failure::DivergentSubGroup { group, sub_group, waiting, elsewhere } => {
                LaunchError::DivergentSubGroup {
                    kernel: name,
                    device,
                    group: shape.place(group),
                    sub_group,
                    waiting,
                    elsewhere,
                }
            }
            Failure::NoStack { bytes, reason } => {
                LaunchError::NoStack { kernel: name, device, bytes, reason }
            }
            Failure::NoMemory { bytes } => LaunchError::NoStack {
                kernel: name,
                device,
                bytes,
                reason: "the allocator has no memory for what work-items keep across barriers"
                    .to_owned(),
            },
            Failure::NoThread { reason } => LaunchError::NoThread { kernel: name, device, reason },
            Failure::LocalMemory { bytes } => self.local_memory(kernel, bytes),
            Failure::Forked => LaunchError::Forked { reason: fork::OF_PARENT.to_owned() },
        }
    }

    #[cold]
    fn local_memory(&self, kernel: &RawKernel, bytes: usize) -> LaunchError {
        LaunchError::LocalMemory {
            kernel: kernel.name(),
            bytes,
            limit: limits::LOCAL_MEMORY,
            device: self.device.to_owned(),
        }
    }

    #[cold]
    fn stack(&self, kernel: &RawKernel, TooMuch { bytes, items, limit }: TooMuch) -> LaunchError {
        let (kernel, device) = (kernel.name(), self.device.to_owned());
        LaunchError::Stack { kernel, device, bytes, items, limit }
    }
}

/// The size of a group as code can count on it, or zeros.
#[inline]
fn block_of(local: [usize; 3]) -> [u32; 3] {
    let fits = local.iter().all(|&items| u32::try_from(items).is_ok());
    if fits { local.map(|items| items as u32) } else { [0; 3] }
}

impl QueueOps for HostQueue {
    type Loader = CpuLoader;
    type Code<'a> = Body<'a>;
    type Memory = HostMemory;
    type Pending = NoPending;
    type Plan = ();
    type Order = ();
    type Guard<'a> = InOrderGuard<'a>;

    #[inline]
    fn device_name(&self) -> &str {
        self.device
    }

    #[inline]
    fn has_own_memory(&self) -> bool {
        self.has_own_memory
    }

    #[inline]
    fn max_group_size(&self) -> usize {
        limits::MOST_ITEMS
    }

    #[inline]
    fn loader(&self) -> Option<&CpuLoader> {
        self.loader.as_ref()
    }

    #[inline]
    fn compiled(kernel: &Arc<CpuKernel>) -> Body<'_> {
        Body::Cpu(Cow::Borrowed(kernel))
    }

    #[inline]
    fn native<'a>(body: NativeBody) -> Option<Self::Code<'a>> {
        Some(Body::Native(body))
    }

    #[inline]
    fn lock(&self) -> Result<InOrderGuard<'_>, LaunchError> {
        Ok(InOrderQueue::lock(self.in_order_queue()?))
    }

    #[inline]
    unsafe fn hold(&self) -> Result<InOrderGuard<'_>, LaunchError> {
        // SAFETY: the caller's promise.
        Ok(unsafe { InOrderQueue::of_task(self.in_order_queue()?) })
    }

    fn tasks(&self) -> Result<Option<&dyn TaskQueue>, LaunchError> {
        Ok(Some(self.in_order_queue()?))
    }

    #[inline]
    fn plan(&self, _: &LaunchDesc<'_>) -> Result<(), LaunchError> {
        Ok(())
    }

    #[inline]
    fn requirements<'a>(
        &self,
        launch: &LaunchDesc<'a>,
        (): &(),
        _strict: bool,
    ) -> LaunchRequirements<'a> {
        let mut requirements = LaunchRequirements::of(launch);
        if let Some(groups) = launch.groups.filter(|_| launch.adaptivity != Adaptivity::Off) {
            // Loops over the work-items of a group then have known lengths.
            requirements.groups = true;
            requirements.assumptions.block = block_of(groups.local.xyz);
        }
        requirements
    }

    #[inline]
    unsafe fn submit(
        &self,
        (): &mut (),
        launch: &LaunchDesc<'_>,
        body: Body<'_>,
        (): (),
        _: Option<KnownVersions>,
    ) -> Result<Submitted<NoPending>, LaunchError> {
        if let Some(groups) = &launch.groups {
            // SAFETY: the caller's promises.
            unsafe { self.submit_groups(launch, groups, body) }?;
            return Ok(Submitted::Ended);
        }
        // Work is large, so it is made where it stays.
        let work = Work::new(body, launch.kernel, launch.range, None, launch.options.cloned());
        // SAFETY: the caller's promises.
        unsafe { self.execute(&work, launch) }?;
        Ok(Submitted::Ended)
    }

    fn allocate(&self, layout: Layout) -> Result<HostMemory, BufferError> {
        if self.has_own_memory {
            return HostMemory::in_window(layout, self.device);
        }
        HostMemory::new(layout, self.device)
    }
}
