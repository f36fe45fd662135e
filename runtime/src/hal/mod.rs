//! The devices: a folder for each backend, behind the traits of this file.
//!
//! | trait | concern |
//! |---|---|
//! | [`Backend`] | which devices there are |
//! | [`DeviceOps`] | what a device is and can do; its queues |
//! | [`QueueOps`] | runs launches in order |
//! | [`PendingOps`] | a launch that the device runs by itself |
//! | [`MemoryOps`] | a buffer's memory, and copies |
//! | [`CodeLoader`] | makes and loads a kernel's machine code |
//!
//! [`dispatch`] is the only module that knows which backends there are. To add one: a folder here, and a line there.

pub(crate) mod address_window;
pub(crate) mod cuda;
pub(crate) mod dispatch;
pub(crate) mod host;
pub(crate) mod host_access;
#[cfg(test)]
mod recording;

use std::alloc::Layout;
use std::fmt::Debug;
use std::ptr::NonNull;
use std::sync::Arc;
use std::time::Duration;

use schism_hcf::{KernelRef, RecordRef};

use crate::code::aot::{AotCode, AotTarget};
use crate::code::assumptions::FlattenedParameters;
use crate::code::compiler::About;
use crate::code::imports::Linked;
use crate::code::profile::Profiler;
use crate::code::requirements::LaunchRequirements;
use crate::code::variant::Variant;
use crate::error::{BufferError, DeviceError, ImageError, LaunchError};
use crate::launch::desc::LaunchDesc;
use crate::launch::erased::NativeBody;

/// A kind of devices.
pub(crate) trait Backend {
    type Device: DeviceOps;

    /// Those of this machine that this process can use, whether or not there is code for them.
    fn devices() -> Vec<Self::Device>;

    /// The device of a name; `None` if devices of this kind have other names.
    ///
    /// # Errors
    /// There is no such device, or nothing that makes code for it.
    fn by_name(name: &str) -> Option<Result<Self::Device, DeviceError>>;

    /// Where the host reads what an address of the [window](address_window) stands for; `None` if it is of no memory of this backend's.
    fn readable(_address: usize) -> Option<Result<*const u8, Unreadable>> {
        None
    }

    /// Nobody but the caller has a view of the `bytes` at an address of the window.
    fn exclusive(_address: usize, _bytes: usize) {}
}

/// Why the host cannot read through a view.
#[derive(Debug)]
pub(crate) enum Unreadable {
    /// It is a view of atomics, which lie elsewhere.
    Atomic { device: String },
    /// The copy failed.
    Failed(BufferError),
}

/// A device.
pub(crate) trait DeviceOps: Clone + Debug + Send + Sync + 'static {
    type Queue: QueueOps;

    /// The name, as `SCHISM_DEVICE` takes it.
    fn name(&self) -> &str;

    /// For people: what runs the kernels. `compiler` makes the code, where there is one.
    fn description(&self, compiler: Option<&About>) -> String;

    /// The most work-items of a group.
    fn max_group_size(&self) -> usize;

    /// The most bytes of local memory of a group.
    fn local_memory_size(&self) -> usize;

    /// Which code that was made ahead of time runs on it; `None` for a device that needs no code but the program's own.
    fn aot_target(&self) -> Option<Box<dyn AotTarget>> {
        None
    }

    /// Another queue.
    ///
    /// # Errors
    /// There are no threads, or the driver refuses.
    fn queue(&self) -> Result<Self::Queue, DeviceError>;

    /// Memory of the device, of a layout with a size that is not 0.
    ///
    /// # Errors
    /// [`BufferError`].
    fn allocate(&self, layout: Layout) -> Result<<Self::Queue as QueueOps>::Memory, BufferError>;
}

/// An in-order queue of a device. Clones are the same queue.
pub(crate) trait QueueOps: Clone + Send + Sync + 'static {
    type Loader: CodeLoader;
    /// What runs a kernel.
    type Code;
    type Memory: MemoryOps;
    type Pending: PendingOps;
    /// How a launch is divided, which its requirements depend on.
    type Plan;
    /// Held while a thread has the queue's turn.
    type Turn<'a>;

    /// Whether closures may have addresses of a device's memory, which the queue then replaces by the device's own.
    const TRANSLATES_ADDRESSES: bool = false;

    /// The device's name.
    fn device_name(&self) -> &str;

    /// The most work-items of a group.
    fn max_group_size(&self) -> usize;

    /// What makes code of kernels; `None` where the host half's own bodies run.
    fn loader(&self) -> Option<&Self::Loader>;

    /// The code of a kernel that was made for this device.
    fn compiled(kernel: Arc<<Self::Loader as CodeLoader>::Kernel>) -> Self::Code;

    /// The host half's own body as code; `None` where that cannot run.
    fn native(body: NativeBody) -> Option<Self::Code>;

    /// Waits until all launches before are over, unless the device itself keeps the order.
    ///
    /// # Errors
    /// [`LaunchError::Forked`].
    fn turn(&self) -> Result<Self::Turn<'_>, LaunchError>;

    /// What runs launches that nobody waits for, in the queue's order; `None` if the device itself does.
    ///
    /// # Errors
    /// [`LaunchError::Forked`].
    fn tasks(&self) -> Result<Option<&dyn TaskQueue>, LaunchError>;

    /// How a launch will be divided.
    ///
    /// # Errors
    /// The device cannot run the launch, whatever its code is.
    fn plan(&self, launch: &LaunchDesc<'_>) -> Result<Self::Plan, LaunchError>;

    /// What the launch asks of its code. If `strict`, only code for exactly this size of groups will do.
    fn requirements<'a>(
        &self,
        launch: &LaunchDesc<'a>,
        _plan: &Self::Plan,
        _strict: bool,
    ) -> LaunchRequirements<'a> {
        LaunchRequirements::of(launch)
    }

    /// Whether the code can run groups of the launch's size.
    ///
    /// # Errors
    /// [`LaunchError::GroupTooLarge`], if stricter requirements have the same result.
    fn admits(&self, _launch: &LaunchDesc<'_>, _code: &Self::Code) -> Result<(), LaunchError> {
        Ok(())
    }

    /// Runs a launch, or has the device run it; the caller has the queue's turn.
    ///
    /// # Errors
    /// [`LaunchError`].
    ///
    /// # Safety
    /// The code is the kernel's. The kernel's data lives until this returns, can be shared by threads, and allows this range, which is
    /// not empty. What it refers to lives until the launch is over.
    unsafe fn submit(
        &self,
        launch: &LaunchDesc<'_>,
        code: Self::Code,
        plan: Self::Plan,
    ) -> Result<Option<Self::Pending>, LaunchError>;

    /// Asks the device which launches are over, for all of them at once.
    fn poll(&self) {}

    /// Memory of the device, of a layout with a size that is not 0.
    ///
    /// # Errors
    /// [`BufferError`].
    fn allocate(&self, layout: Layout) -> Result<Self::Memory, BufferError>;
}

/// A part of a program that waits for a queue's turn. It must not unwind.
pub(crate) type Task = Box<dyn FnOnce() + Send>;

/// Runs tasks one after the other.
pub(crate) trait TaskQueue {
    /// Leaves a task to other threads, after everything that came before.
    fn submit(&self, task: Task);
}

/// A launch that the device runs by itself, or has run.
pub(crate) trait PendingOps: Debug + Send {
    /// Whether it is known to be over, well or not.
    fn is_over(&self) -> bool;

    /// As [`is_over`](Self::is_over), without asking the device.
    fn is_known_over(&self) -> bool;

    /// Waits for its end, and says how long it took, if it was to be timed.
    fn finish(self) -> (Result<(), LaunchError>, Option<Duration>);
}

/// Memory of a buffer.
pub(crate) trait MemoryOps: Debug + Send + Sync {
    /// The first byte, or an address of the [window](address_window) that stands for it.
    fn address(&self) -> NonNull<u8>;

    /// Whether the host reaches the memory itself.
    const ON_HOST: bool;

    /// Copies `bytes` bytes to the memory.
    ///
    /// # Errors
    /// [`BufferError`].
    ///
    /// # Safety
    /// So many bytes can be read at `from`, and so many there are in the memory behind `offset`.
    unsafe fn write(
        &mut self,
        offset: usize,
        from: *const u8,
        bytes: usize,
    ) -> Result<(), BufferError>;

    /// Copies `bytes` bytes to the host.
    ///
    /// # Errors
    /// [`BufferError`].
    ///
    /// # Safety
    /// So many bytes can be written at `to`, and so many there are in the memory behind `offset`.
    unsafe fn read(&self, offset: usize, to: *mut u8, bytes: usize) -> Result<(), BufferError>;

    /// Copies all bytes from other memory of the same size, if the device can do that by itself; returns whether it has.
    ///
    /// # Errors
    /// [`BufferError`].
    fn copy_from(&mut self, _from: &Self) -> Result<bool, BufferError> {
        Ok(false)
    }

    /// Repeats a pattern over all of the memory.
    ///
    /// # Errors
    /// [`BufferError`].
    fn fill(&mut self, pattern: &[u8]) -> Result<(), BufferError>;

    /// The buffer is borrowed exclusively, so nobody has a view. If `atomic`, the next views are of atomics.
    fn exclusive(&mut self, _atomic: bool) {}

    /// The buffer gives out a view that is not of atomics.
    fn shared(&self) {}
}

/// Makes and loads machine code of kernels for a device, or for what a process has of one.
pub(crate) trait CodeLoader: Clone + Send + 'static {
    type Kernel: Send + Sync + 'static;

    /// Whether code counts on what closures hold: alignments of addresses, small numbers.
    const COUNTS_ON_CAPTURES: bool;

    /// Tells loaders apart. Those below [`PERMANENT`] are there as long as the process.
    fn id(&self) -> u64;

    /// The device's name.
    fn name(&self) -> &str;

    /// Takes note of launches of a kernel.
    fn profiler(flattened: &FlattenedParameters) -> Profiler;

    /// Whether mathematics comes from schism's own library where the device has another.
    fn portable_math(&self) -> bool {
        false
    }

    /// Which code that was made ahead of time is looked for.
    fn aot_target(&self) -> Box<dyn AotTarget>;

    /// Loads code that was made ahead of time.
    ///
    /// # Errors
    /// [`ImageError`].
    fn load(
        &self,
        aot_code: &AotCode<'_, '_>,
        kernel: &KernelRef<'_>,
        variant: &Variant,
    ) -> Result<Self::Kernel, ImageError>;

    /// Finds or makes code.
    ///
    /// # Errors
    /// [`ImageError`].
    fn compile(
        &self,
        record: &RecordRef<'_>,
        kernel: &KernelRef<'_>,
        image: &[u8],
        linked: &Linked,
        variant: &Variant,
    ) -> Result<Self::Kernel, ImageError>;
}

/// How many [loaders](CodeLoader::id) are there as long as the process.
pub(crate) const PERMANENT: usize = 1;
