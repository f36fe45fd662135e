//! The devices: a folder for each backend, behind the traits of this file.
//!
//! | trait | concern |
//! |---|---|
//! | [`Backend`] | which devices there are |
//! | [`DeviceOps`] | properties of a device; its queues |
//! | [`QueueOps`] | runs launches in order |
//! | [`HostMemoryOps`] | access to the program's own memory, for a device with separate memory |
//! | [`PendingOps`] | a launch that the device runs asynchronously |
//! | [`MemoryOps`] | a buffer's memory, and copies |
//! | [`CodeLoader`] | what a kernel is compiled for; loads its machine code |
//!
//! [`dispatch`] is the only module that knows which backends exist. To add one: a folder here, and
//! a line there.

pub(crate) mod address_window;
pub(crate) mod cuda;
pub(crate) mod dispatch;
mod gpu;
pub(crate) mod hip;
pub(crate) mod host;
pub(crate) mod host_access;
pub(crate) mod messages;
pub(crate) mod opencl;
#[cfg(test)]
mod recording;

use std::alloc::Layout;
use std::fmt::Debug;
use std::ops::DerefMut;
use std::ptr::NonNull;
use std::sync::Arc;
use std::time::Duration;

use schism_cache::{KeyBuilder, Value};
use schism_hcf::KernelRef;

use crate::code::aot::{AotCode, AotTarget};
use crate::code::assumptions::FlattenedParameters;
use crate::code::compiler::About;
use crate::code::display_name::KernelName;
use crate::code::host_symbols::HostSymbols;
use crate::code::profile::Profiler;
use crate::code::recent::{KnownVersions, RecentCode};
use crate::code::request::Stage2Target;
use crate::code::requirements::LaunchRequirements;
use crate::code::variant::Variant;
use crate::error::{BufferError, DeviceError, DriverError, ImageError, LaunchError};
use crate::launch::desc::LaunchDesc;
use crate::launch::erased::NativeBody;

/// A kind of devices.
pub(crate) trait Backend {
    type Device: DeviceOps;

    /// The devices of this kind that this process can use, whether or not there is code for them.
    fn devices() -> Vec<Self::Device>;

    /// The device with this name; `None` if devices of this kind have other names.
    ///
    /// # Errors
    /// There is no such device, or no compiler for it.
    fn by_name(name: &str) -> Option<Result<Self::Device, DeviceError>>;

    /// As [`by_name`](Self::by_name), for a program that demands no device: no driver is opened where
    /// the system shows no such device. The name without a number is the first device that is a GPU.
    ///
    /// # Errors
    /// As for [`by_name`](Self::by_name).
    fn wished(name: &str) -> Option<Result<Self::Device, DeviceError>> {
        Self::by_name(name)
    }

    /// Called when a program starts that will use addresses of the host's in kernels.
    fn at_start() {}

    /// Where the host can read the contents at an address of the [window](address_window); `None`
    /// if the memory is not of this backend.
    fn readable(_address: usize) -> Option<Result<*const u8, Unreadable>> {
        None
    }

    /// Records that only the caller has a view of the `bytes` at a window address.
    fn exclusive(_address: usize, _bytes: usize) {}
}

/// Why the host cannot read through a view.
#[derive(Debug)]
pub(crate) enum Unreadable {
    /// It is a view of atomics, which only kernels can access.
    Atomic { device: String },
    /// The copy failed.
    Failed(BufferError),
}

/// What a device says of itself. Decisions outside of this folder depend on these, not on which
/// device it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceTraits {
    /// The host's own processors run the kernels, in the host's memory: few work-items at a time.
    pub runs_on_host: bool,
    /// It is a GPU.
    pub is_gpu: bool,
    /// It runs code that is compiled from the device half; otherwise the host half's own bodies.
    pub runs_device_code: bool,
    /// A work-item that waits at a barrier may keep a thread of the operating system.
    pub slow_barriers: bool,
}

/// A device.
pub(crate) trait DeviceOps: Clone + Debug + Send + Sync + 'static {
    type Queue: QueueOps;

    /// The name, in the form of `SCHISM_DEVICE`.
    fn name(&self) -> &str;

    /// A description for people. `compiler` compiles for the device, if there is one.
    fn description(&self, compiler: Option<&About>) -> String;

    /// The maximum number of work-items of a group.
    fn max_group_size(&self) -> usize;

    /// The maximum local memory of a group in bytes.
    fn local_memory_size(&self) -> usize;

    /// About how many work-items make progress at the same time.
    fn concurrency(&self) -> usize;

    /// What callers may know of the device.
    fn traits(&self) -> DeviceTraits;

    /// Which AOT code runs on it; `None` for a device that needs no code but the program's own.
    fn aot_target(&self) -> Option<Box<dyn AotTarget>> {
        None
    }

    /// Creates a queue.
    ///
    /// # Errors
    /// Threads cannot be started, or the driver fails.
    fn queue(&self) -> Result<Self::Queue, DeviceError>;

    /// Memory of the device, of a layout with a size that is not 0.
    ///
    /// # Errors
    /// [`BufferError`].
    fn allocate(&self, layout: Layout) -> Result<<Self::Queue as QueueOps>::Memory, BufferError>;
}

/// An in-order queue of a device. Clones are the same queue.
pub(crate) trait QueueOps: Clone + Send + Sync + 'static {
    /// The one loader of this queue's kernels.
    type Loader: CodeLoader;
    /// The code of a kernel that the device runs.
    type Code<'a>;
    type Memory: MemoryOps;
    type Pending: PendingOps;
    /// How a launch is divided; its requirements depend on it.
    type Plan;
    /// What a submission changes in the queue.
    type Order;
    /// Held by a thread while its launch is submitted, or runs.
    type Guard<'a>: DerefMut<Target = HeldOf<Self>>;

    /// The device's name.
    fn device_name(&self) -> &str;

    /// Whether kernels reach no memory but the device's. Closures then contain
    /// [window](address_window) addresses, and slices of the host are copied.
    fn has_own_memory(&self) -> bool {
        false
    }

    /// The maximum number of work-items of a group.
    fn max_group_size(&self) -> usize;

    /// The loader that compiles kernels; `None` where the host half's own bodies run.
    fn loader(&self) -> Option<&Self::Loader>;

    /// Wraps a kernel that was compiled for this device.
    fn compiled(kernel: &Arc<<Self::Loader as CodeLoader>::Kernel>) -> Self::Code<'_>;

    /// Wraps the host half's own body; `None` where that cannot run.
    fn native<'a>(body: NativeBody) -> Option<Self::Code<'a>>;

    /// Waits until all earlier launches have ended, unless the device itself keeps the order, and
    /// holds the queue.
    ///
    /// # Errors
    /// [`LaunchError::Forked`].
    fn lock(&self) -> Result<Self::Guard<'_>, LaunchError>;

    /// As [`lock`](Self::lock), for a launch of a scope: the caller may hold the queue already.
    ///
    /// # Errors
    /// [`LaunchError::Forked`].
    ///
    /// # Safety
    /// Where the queue has [`tasks`](Self::tasks), the caller is one of them, and has no other
    /// guard.
    unsafe fn hold(&self) -> Result<Self::Guard<'_>, LaunchError> {
        self.lock()
    }

    /// The queue that runs launches of scopes in order; `None` if the device itself does.
    ///
    /// # Errors
    /// [`LaunchError::Forked`].
    fn tasks(&self) -> Result<Option<&dyn TaskQueue>, LaunchError>;

    /// Decides how to divide a launch.
    ///
    /// # Errors
    /// The device cannot run the launch, with any code.
    fn plan(&self, launch: &LaunchDesc<'_>) -> Result<Self::Plan, LaunchError>;

    /// What the launch requires of its code. If `strict`, only code for exactly this group size
    /// will do.
    fn requirements<'a>(
        &self,
        launch: &LaunchDesc<'a>,
        _plan: &Self::Plan,
        _strict: bool,
    ) -> LaunchRequirements<'a> {
        LaunchRequirements::of(launch)
    }

    /// Checks that the code can run groups of the launch's size.
    ///
    /// # Errors
    /// [`LaunchError::GroupTooLarge`]; the caller tries stricter requirements once.
    fn admits(&self, _launch: &LaunchDesc<'_>, _code: &Self::Code<'_>) -> Result<(), LaunchError> {
        Ok(())
    }

    /// Runs a launch, or has the device run it asynchronously; the caller holds the queue, and
    /// gives what of it a submission changes. By the versions that the code is one of, the launch may be
    /// [submitted again](Self::submit_again).
    ///
    /// # Errors
    /// [`LaunchError`].
    ///
    /// # Safety
    /// The code is the kernel's. The kernel's data lives until this returns, is `Sync`, and allows
    /// this range, which is not empty. What it refers to lives until the launch has ended.
    unsafe fn submit(
        &self,
        order: &mut Self::Order,
        launch: &LaunchDesc<'_>,
        code: Self::Code<'_>,
        plan: Self::Plan,
        versions: Option<KnownVersions>,
    ) -> Result<Submitted<Self::Pending>, LaunchError>;

    /// Whether it submits launches [again](Self::submit_again).
    const REPEATS: bool = false;

    /// As [`submit`](Self::submit), if the launch is the same as one before it whose code was of the same
    /// versions, so that nothing is to be decided; otherwise `None`, and nothing is submitted.
    ///
    /// # Safety
    /// As for [`submit`](Self::submit), without code; the range may be empty.
    #[inline]
    unsafe fn submit_again(
        &self,
        _order: &mut Self::Order,
        _launch: &LaunchDesc<'_>,
        _versions: KnownVersions,
    ) -> Option<Result<Submitted<Self::Pending>, LaunchError>> {
        None
    }

    /// Whether a [numbered](Submitted::Numbered) launch has ended, successfully or not.
    fn is_over(&self, _launch: u64) -> bool {
        true
    }

    /// Waits for the end of a [numbered](Submitted::Numbered) launch.
    ///
    /// # Errors
    /// [`LaunchError`].
    fn wait(&self, _launch: &NumberedLaunch) -> Result<(), LaunchError> {
        Ok(())
    }

    /// Polls the device for completed launches.
    fn poll(&self) {}

    /// Allocates memory of the device, with a layout whose size is not 0.
    ///
    /// # Errors
    /// [`BufferError`].
    fn allocate(&self, layout: Layout) -> Result<Self::Memory, BufferError>;

    /// Allocates a little memory of the device that the host reads without asking the device.
    ///
    /// # Errors
    /// [`BufferError`].
    fn allocate_for_results(&self, layout: Layout) -> Result<Self::Memory, BufferError> {
        self.allocate(layout)
    }

    /// Fills memory with zeros, before the launches that are submitted to this queue afterwards.
    /// Nothing else uses the memory until one of these has ended, or
    /// [`wait_for_zeros`](Self::wait_for_zeros) has.
    ///
    /// # Errors
    /// [`BufferError`].
    fn zero_in_order(&self, memory: &mut Self::Memory) -> Result<(), BufferError> {
        memory.fill(&[0])
    }

    /// Waits until what was to be filled with zeros is.
    fn wait_for_zeros(&self) {}

    /// Calls `run` after the end of all earlier launches. No kernel uses memory of the device's
    /// meanwhile. Nothing in `run` uses queues of the device.
    ///
    /// # Errors
    /// Earlier launches cannot be waited for; then `run` is not called.
    fn while_idle(&self, run: &mut dyn FnMut()) -> Result<(), DriverError> {
        run();
        Ok(())
    }

    /// The block of the device's memory that a [window](address_window) address represents; `None`
    /// if the queue's kernels cannot use the memory there, or the host can.
    fn block_at(&self, _address: usize) -> Option<Arc<dyn DeviceBlock>> {
        None
    }

    /// Its access to the program's own memory; `None` where kernels run on the host.
    fn host_memory(&self) -> Option<&dyn HostMemoryOps> {
        None
    }
}

/// Access of a device with separate memory to the memory of a program that has no buffers: a
/// rayon pipeline that became a kernel. Where host and device share no memory in particular, the
/// first function is enough.
pub(crate) trait HostMemoryOps {
    /// Calls `run`, which runs launches whose kernels use addresses of the host's as they are.
    ///
    /// # Errors
    /// Which memory the device cannot access, and why. Then `run` is not called.
    fn with_all(&self, run: &mut dyn FnMut()) -> Result<(), String>;

    /// Calls `run`, which runs launches whose kernels use no other memory of the host's than what is
    /// [shared](Self::reserve_shared). Where nothing is, these fail.
    fn with_shared(&self, run: &mut dyn FnMut()) {
        run();
    }

    /// Reserves addresses that host and device share, for as long as the process runs: the memory
    /// behind them moves to where it is used. `None` where all memory is shared, or none.
    fn reserve_shared(&self, _bytes: usize) -> Option<usize> {
        None
    }

    /// Has shared memory moved to the device, where it `is_new` or was used by the host since and
    /// does not stay, and says in the ranges what is moved. It is a hint.
    fn prefetch(&self, _ranges: &mut [SharedRange]) {}

    /// Reads shared memory where it is, so that it stays there; `false` if that cannot be, and nothing
    /// is read.
    ///
    /// # Safety
    /// There is shared memory at `from`, and room at `to`; the former is not written meanwhile.
    unsafe fn read_shared(&self, _from: usize, _to: *mut u8, _bytes: usize) -> bool {
        false
    }

    /// How many of a few pages of shared memory the host has: always the same ones of a range.
    fn pages_on_host(&self, _begin: usize, _size: usize) -> usize {
        0
    }
}

/// What belongs to the thread that holds a queue.
#[derive(Debug)]
pub(crate) struct Held<K, O> {
    /// The code that it looks for first.
    pub(crate) recent: RecentCode<K>,
    /// What a submission changes.
    pub(crate) order: O,
}

/// What belongs to the thread that holds a queue of this type.
pub(crate) type HeldOf<Q> =
    Held<<<Q as QueueOps>::Loader as CodeLoader>::Kernel, <Q as QueueOps>::Order>;

impl<K, O: Default> Default for Held<K, O> {
    fn default() -> Self {
        Self { recent: RecentCode::default(), order: O::default() }
    }
}

/// What has become of a launch.
#[derive(Debug)]
pub(crate) enum Submitted<P> {
    /// It has ended.
    Ended,
    /// The device runs it. Its queue says by the number when it has ended; there is nothing else to
    /// know of it, and nothing to free.
    Numbered(NumberedLaunch),
    /// The device runs it.
    Pending(P),
}

/// A launch that the device runs, or has run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NumberedLaunch {
    /// From 1 on.
    pub(crate) number: u64,
    /// For errors.
    pub(crate) kernel: KernelName,
}

impl<P> Submitted<P> {
    pub(crate) fn map<T>(self, pending: impl FnOnce(P) -> T) -> Submitted<T> {
        match self {
            Self::Ended => Submitted::Ended,
            Self::Numbered(launch) => Submitted::Numbered(launch),
            Self::Pending(inner) => Submitted::Pending(pending(inner)),
        }
    }
}

/// A range of the memory that host and device share.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SharedRange {
    pub(crate) begin: usize,
    pub(crate) size: usize,
    /// Whether no launch has referred to some of it before.
    pub(crate) is_new: bool,
    /// Whether it is left where it is.
    pub(crate) stays: bool,
    /// Whether it is moved to the device.
    pub(crate) is_moved: bool,
    /// How many of a few pages the host has, if it may have some.
    pub(crate) on_host: usize,
}

impl SharedRange {
    pub(crate) const fn new(begin: usize, size: usize, is_new: bool) -> Self {
        Self { begin, size, is_new, stays: false, is_moved: false, on_host: 0 }
    }

    pub(crate) const fn contains(&self, address: usize) -> bool {
        address.wrapping_sub(self.begin) < self.size
    }
}

/// A task that a queue runs in order. It must not unwind.
pub(crate) type Task = Box<dyn FnOnce() + Send>;

/// Runs tasks one after the other.
pub(crate) trait TaskQueue {
    /// Hands a task to other threads, to run after everything submitted before.
    fn submit(&self, task: Task);
}

/// A launch that the device runs asynchronously, or has run.
pub(crate) trait PendingOps: Debug + Send {
    /// Whether it is known to have ended, successfully or not.
    fn is_over(&self) -> bool;

    /// Like [`is_over`](Self::is_over), without asking the device.
    fn is_known_over(&self) -> bool;

    /// Waits for its end, and returns how long it ran, if it was timed.
    fn finish(self) -> (Result<(), LaunchError>, Option<Duration>);
}

/// Memory of a buffer.
pub(crate) trait MemoryOps: Debug + Send + Sync {
    /// The first byte, or an address of the [window](address_window) that represents it.
    fn address(&self) -> NonNull<u8>;

    /// Whether the host accesses the memory directly.
    fn is_on_host(&self) -> bool;

    /// Copies `bytes` bytes to the memory.
    ///
    /// # Errors
    /// [`BufferError`].
    ///
    /// # Safety
    /// `bytes` bytes can be read at `from`, and lie in the memory from `offset` on.
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
    /// `bytes` bytes can be written at `to`, and lie in the memory from `offset` on.
    unsafe fn read(&self, offset: usize, to: *mut u8, bytes: usize) -> Result<(), BufferError>;

    /// As [`write`](Self::write), while others may use other parts of the memory.
    ///
    /// # Errors
    /// [`BufferError`].
    ///
    /// # Safety
    /// As for [`write`](Self::write), and nothing else accesses these bytes.
    unsafe fn write_part(
        &self,
        offset: usize,
        from: *const u8,
        bytes: usize,
    ) -> Result<(), BufferError>;

    /// The first byte's address for the device's own libraries.
    fn device_address(&self) -> usize {
        self.address().addr().get()
    }

    /// Copies all bytes from other memory of the same size, if the device can do that by itself;
    /// returns whether it did.
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

    /// The buffer is borrowed exclusively, so there are no views. If `atomic`, the next views are
    /// of atomics.
    fn exclusive(&mut self, _atomic: bool) {}

    /// The buffer creates a view that is not of atomics.
    fn shared(&self) {}
}

/// A block of a device's memory that the host has no access to.
pub(crate) trait DeviceBlock: Debug + Send + Sync {
    /// Its window address.
    fn begin(&self) -> usize;

    /// How many bytes it has.
    fn bytes(&self) -> usize;

    /// Copies all of it to the host.
    ///
    /// # Errors
    /// [`DriverError`].
    ///
    /// # Safety
    /// There is room for it. No kernel changes it meanwhile.
    unsafe fn read(&self, to: *mut u8) -> Result<(), DriverError>;

    /// Copies all of it from the host.
    ///
    /// # Errors
    /// [`DriverError`].
    ///
    /// # Safety
    /// As many bytes are there. No kernel uses it meanwhile.
    unsafe fn write(&self, from: *const u8) -> Result<(), DriverError>;
}

/// Loads machine code of kernels for a device, or for a context of it.
pub(crate) trait CodeLoader: Clone + Send + 'static {
    type Kernel: Send + Sync + 'static;

    /// Whether code relies on what closures contain: alignments of addresses, small numbers.
    const COUNTS_ON_CAPTURES: bool;
    /// Whether its kernels run in the program's own process.
    const IN_PROCESS: bool = false;
    /// Whether alignments matter to it.
    const COUNTS_ON_ALIGNMENT: bool = true;

    /// The capabilities of stage 1's that the device has not, and words for errors.
    const LACKS: &'static [(&'static str, &'static str)] = &[];

    /// The loader's id. Loaders with ids below [`PERMANENT`] exist as long as the process.
    fn id(&self) -> u64;

    /// The device's name.
    fn name(&self) -> &str;

    /// Creates the profiler for launches of a kernel.
    fn profiler(flattened: &FlattenedParameters) -> Profiler;

    /// Whether mathematics comes from schism's own library although the device could call another.
    fn portable_math(&self, _in_process: bool) -> bool {
        false
    }

    /// Which AOT code it can load.
    fn aot_target(&self) -> Box<dyn AotTarget>;

    /// The form of its code, for the cache's keys.
    fn format(&self) -> &'static str;

    /// What stage 2 compiles for.
    fn target(&self) -> Stage2Target<'_>;

    /// Adds to a key of the cache what code depends on besides its kernel and its request. `None`
    /// if that is unknown.
    fn add_to_key(&self, key: KeyBuilder) -> Option<KeyBuilder>;

    /// Loads AOT code.
    ///
    /// # Errors
    /// [`ImageError`].
    fn load_aot(
        &self,
        aot_code: &AotCode<'_, '_>,
        kernel: &KernelRef<'_>,
        variant: &Variant,
        host: Option<HostSymbols<'_>>,
    ) -> Result<Self::Kernel, ImageError>;

    /// Loads what stage 2 made, and says how many bytes of code it is.
    ///
    /// # Errors
    /// [`ImageError`].
    fn load(
        &self,
        value: &Value,
        kernel: &KernelRef<'_>,
        variant: &Variant,
        host: Option<HostSymbols<'_>>,
    ) -> Result<(Self::Kernel, usize), ImageError>;
}

/// The capabilities of stage 1's that no GPU has, nor any device of OpenCL, and words for errors.
const GPUS_LACK: &[(&str, &str)] = &[
    ("fp128", "floating-point numbers of 128 bits"),
    ("constant-addresses", "constants at the host's addresses"),
    ("host-atomics", "atomic updates of the host's memory"),
];

/// How many [loaders](CodeLoader::id) exist as long as the process.
pub(crate) const PERMANENT: usize = 1;
