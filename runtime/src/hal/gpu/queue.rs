//! A queue of a GPU: a stream, which the driver keeps in order.

use std::alloc::Layout;
use std::sync::Arc;

use crate::code::recent::KnownVersions;
use crate::code::requirements::LaunchRequirements;
use crate::data::shared_heap;
use crate::error::{BufferError, DriverError, LaunchError};
use crate::hal::address_window;
use crate::hal::gpu::api::DevicePtr;
use crate::hal::gpu::context::Context;
use crate::hal::gpu::host_memory;
use crate::hal::gpu::kernel::LoadedKernel;
use crate::hal::gpu::launch::{self, GpuPending, Grid};
use crate::hal::gpu::memory::{self, GpuMemory};
use crate::hal::gpu::page_table;
use crate::hal::gpu::stream::{Order, Stream, StreamGuard};
use crate::hal::{
    DeviceBlock, HostMemoryOps, NumberedLaunch, QueueOps, SharedRange, Submitted, TaskQueue,
};
use crate::launch::desc::{HostAddresses, LaunchDesc};
use crate::launch::erased::NativeBody;
use crate::util::fork;

/// See the module's documentation.
#[derive(Clone)]
pub(crate) struct GpuQueue {
    pub(super) stream: Arc<Stream>,
}

impl GpuQueue {
    #[cold]
    fn group_too_large(&self, launch: &LaunchDesc<'_>, most: u32) -> LaunchError {
        let local = launch.groups.as_ref().map(|groups| groups.local);
        LaunchError::GroupTooLarge {
            local: local.map_or_else(Vec::new, |local| local.slowest_first()),
            items: local.map_or(1, |local| local.items),
            limit: self.max_group_size().min(most as usize),
            device: self.device_name().to_owned(),
        }
    }

    #[cold]
    fn device_lost(&self, launch: &LaunchDesc<'_>, lost: &DriverError) -> LaunchError {
        let (kernel, device) = (launch.kernel.name(), self.device_name().to_owned());
        LaunchError::DeviceLost { kernel, device, source: Box::new(lost.clone()) }
    }

    #[cold]
    fn not_shared(&self) -> LaunchError {
        let reason = "its kernel may use memory that is not shared with the device".to_owned();
        LaunchError::HostMemory { device: self.device_name().to_owned(), reason }
    }
}

impl QueueOps for GpuQueue {
    type Loader = Arc<Context>;
    type Code<'a> = &'a Arc<LoadedKernel>;
    type Memory = GpuMemory;
    type Pending = GpuPending;
    type Plan = Grid;
    type Order = Order;
    type Guard<'a> = StreamGuard<'a>;

    #[inline]
    fn device_name(&self) -> &str {
        self.stream.context.name()
    }

    #[inline]
    fn has_own_memory(&self) -> bool {
        true
    }

    #[inline]
    fn max_group_size(&self) -> usize {
        self.stream.context.gpu.max_block as usize
    }

    #[inline]
    fn loader(&self) -> Option<&Arc<Context>> {
        Some(&self.stream.context)
    }

    #[inline]
    fn compiled(kernel: &Arc<LoadedKernel>) -> &Arc<LoadedKernel> {
        kernel
    }

    /// The data of a launch is in GPU memory, so only device code can run it.
    fn native<'a>(_: NativeBody) -> Option<Self::Code<'a>> {
        None
    }

    #[inline]
    fn lock(&self) -> Result<StreamGuard<'_>, LaunchError> {
        match self.stream.context.forked() {
            // The parent may have locked it for ever.
            Some(reason) => Err(LaunchError::Forked { reason }),
            None => Ok(self.stream.hold()),
        }
    }

    fn tasks(&self) -> Result<Option<&dyn TaskQueue>, LaunchError> {
        Ok(None)
    }

    #[inline]
    fn plan(&self, launch: &LaunchDesc<'_>) -> Result<Grid, LaunchError> {
        let context = &self.stream.context;
        if let Some(lost) = context.lost() {
            return Err(self.device_lost(launch, lost));
        }
        if !launch::group_fits(launch, context, u32::MAX) {
            return Err(self.group_too_large(launch, u32::MAX));
        }
        Ok(Grid::of(launch, context))
    }

    #[inline]
    fn requirements<'a>(
        &self,
        launch: &LaunchDesc<'a>,
        grid: &Grid,
        strict: bool,
    ) -> LaunchRequirements<'a> {
        grid.requirements(launch, strict)
    }

    #[inline]
    fn admits(
        &self,
        launch: &LaunchDesc<'_>,
        code: &&Arc<LoadedKernel>,
    ) -> Result<(), LaunchError> {
        if launch::group_fits(launch, &self.stream.context, code.max_block) {
            return Ok(());
        }
        Err(self.group_too_large(launch, code.max_block))
    }

    unsafe fn submit(
        &self,
        order: &mut Order,
        desc: &LaunchDesc<'_>,
        code: &Arc<LoadedKernel>,
        grid: Grid,
        versions: Option<KnownVersions>,
    ) -> Result<Submitted<GpuPending>, LaunchError> {
        if desc.host_addresses == HostAddresses::Shared {
            let closure = desc.kernel.closure.cast();
            // SAFETY: the code is this kernel's.
            if !unsafe { code.uses_only(closure, shared_heap::is_in_arena) } {
                return Err(self.not_shared());
            }
        }
        // SAFETY: the caller's promises; the code is this kernel's.
        unsafe { launch::launch((&self.stream, order), code, desc, &grid, versions) }
    }

    const REPEATS: bool = true;

    #[inline]
    unsafe fn submit_again(
        &self,
        order: &mut Order,
        desc: &LaunchDesc<'_>,
        versions: KnownVersions,
    ) -> Option<Result<Submitted<GpuPending>, LaunchError>> {
        // SAFETY: the caller's promises.
        unsafe { launch::launch_again((&self.stream, order), desc, versions) }
    }

    fn is_over(&self, launch: u64) -> bool {
        self.stream.is_over(launch)
    }

    fn wait(&self, launch: &NumberedLaunch) -> Result<(), LaunchError> {
        let context = &*self.stream.context;
        if !self.stream.is_done(launch.number) && context.forked().is_some() {
            return Err(LaunchError::Forked { reason: fork::OF_PARENT.to_owned() });
        }
        let failed = |error| context.launch_error(launch.kernel.to_string(), error);
        self.stream.wait(launch.number).map_err(failed)
    }

    fn poll(&self) {
        self.stream.look();
    }

    fn allocate(&self, layout: Layout) -> Result<GpuMemory, BufferError> {
        address_window::add_buffer();
        GpuMemory::new(&self.stream.context, layout.size())
    }

    fn allocate_for_results(&self, layout: Layout) -> Result<GpuMemory, BufferError> {
        address_window::add_buffer();
        GpuMemory::for_results(&self.stream.context, layout.size())
    }

    fn zero_in_order(&self, memory: &mut GpuMemory) -> Result<(), BufferError> {
        // SAFETY: the caller lets nothing else use it until it is done.
        self.stream.submit_zeros(|stream| unsafe { memory.zero(stream) })
    }

    fn wait_for_zeros(&self) {
        let context = &self.stream.context;
        if context.forked().is_none()
            && let Err(error) = self.stream.wait_for_zeros()
        {
            // The context is lost, and the memory with it.
            tracing::debug!(device = context.name(), %error, "no zeros");
        }
    }

    fn while_idle(&self, run: &mut dyn FnMut()) -> Result<(), DriverError> {
        self.stream.context.check_usable()?;
        Stream::while_idle(&self.stream.context, run)
    }

    fn block_at(&self, address: usize) -> Option<Arc<dyn DeviceBlock>> {
        memory::block_at(&self.stream.context, address)
    }

    fn host_memory(&self) -> Option<&dyn HostMemoryOps> {
        Some(self)
    }
}

impl HostMemoryOps for GpuQueue {
    fn with_all(&self, run: &mut dyn FnMut()) -> Result<(), String> {
        let context = &*self.stream.context;
        host_memory::with_all(context, &context.host_memory, run)
    }

    fn with_shared(&self, run: &mut dyn FnMut()) {
        host_memory::with_shared(&self.stream.context.host_memory, run);
    }

    fn reserve_shared(&self, bytes: usize) -> Option<usize> {
        host_memory::reserve(&self.stream.context, bytes)
    }

    fn prefetch(&self, ranges: &mut [SharedRange]) {
        let context = &*self.stream.context;
        context.host_memory.find_returned(ranges);
        for range in ranges.iter().filter(|range| range.is_moved) {
            host_memory::prefetch(context, context.transfers(), range.begin, range.size);
        }
    }

    unsafe fn read_shared(&self, from: usize, to: *mut u8, bytes: usize) -> bool {
        // SAFETY: the caller's promises. The driver knows where managed memory is.
        unsafe { self.stream.context.read(to, from as DevicePtr, bytes) }.is_ok()
    }

    fn pages_on_host(&self, begin: usize, size: usize) -> usize {
        page_table::samples_there(begin, size)
    }
}
