//! The backends. This is the only module that matches on them.
//!
//! Each line of [`backends!`] becomes a device kind that users see, and a variant of the enums for
//! the devices, queues, memory and pending launches of all backends. The match is static, so it
//! costs a launch one comparison.

use std::alloc::Layout;
use std::ptr::NonNull;
use std::sync::Arc;
use std::time::Duration;

use crate::code::aot::AotTarget;
use crate::code::compiler::About;
use crate::code::submit;
use crate::error::{BufferError, DeviceError, DriverError, LaunchError};
#[cfg(test)]
use crate::hal::recording;
use crate::hal::{
    Backend, CodeLoader, DeviceBlock, DeviceOps, DeviceTraits, HostMemoryOps, MemoryOps,
    NumberedLaunch, PendingOps, QueueOps, Submitted, TaskQueue, Unreadable, cuda, hip, host,
    opencl,
};
use crate::launch::desc::LaunchDesc;

type DeviceOf<B> = <B as Backend>::Device;
type QueueOf<B> = <DeviceOf<B> as DeviceOps>::Queue;
type MemoryOf<B> = <QueueOf<B> as QueueOps>::Memory;
type PendingOf<B> = <QueueOf<B> as QueueOps>::Pending;

macro_rules! backends {
    ($($(#[doc = $doc:literal])* $(#[cfg($cfg:meta)])? $Kind:ident($backend:ty),)*) => {
        /// The kinds of devices.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum DeviceKind {
            $($(#[doc = $doc])* $(#[cfg($cfg)])? $Kind,)*
        }

        /// A device of any backend.
        #[derive(Clone, Debug)]
        pub(crate) enum BackendDevice {
            $($(#[cfg($cfg)])? $Kind(DeviceOf<$backend>),)*
        }

        /// A queue of any backend.
        #[derive(Clone)]
        pub(crate) enum BackendQueue {
            $($(#[cfg($cfg)])? $Kind(QueueOf<$backend>),)*
        }

        /// A buffer's memory, of any backend.
        #[derive(Debug)]
        pub(crate) enum BackendMemory {
            $($(#[cfg($cfg)])? $Kind(MemoryOf<$backend>),)*
        }

        /// A launch that a device runs asynchronously, of any backend.
        #[derive(Debug)]
        pub(crate) enum BackendPending {
            $($(#[cfg($cfg)])? $Kind(PendingOf<$backend>),)*
        }

        impl BackendDevice {
            /// All devices of this machine, whether or not there is code for them.
            pub(crate) fn all() -> Vec<Self> {
                let mut all = Vec::new();
                $($(#[cfg($cfg)])? all.extend(<$backend>::devices().into_iter().map(Self::$Kind));)*
                all
            }

            /// The device with this name; `None` if no kind has devices with such names.
            pub(crate) fn by_name(name: &str) -> Option<Result<Self, DeviceError>> {
                $($(#[cfg($cfg)])? if let Some(found) = <$backend>::by_name(name) {
                    return Some(found.map(Self::$Kind));
                })*
                None
            }

            /// See [`Backend::wished`].
            pub(crate) fn wished(name: &str) -> Option<Result<Self, DeviceError>> {
                $($(#[cfg($cfg)])? if let Some(found) = <$backend>::wished(name) {
                    return Some(found.map(Self::$Kind));
                })*
                None
            }

            pub(crate) const fn kind(&self) -> DeviceKind {
                match self { $($(#[cfg($cfg)])? Self::$Kind(_) => DeviceKind::$Kind,)* }
            }

            pub(crate) fn name(&self) -> &str {
                match self { $($(#[cfg($cfg)])? Self::$Kind(device) => device.name(),)* }
            }

            pub(crate) fn description(&self, compiler: Option<&About>) -> String {
                match self { $($(#[cfg($cfg)])? Self::$Kind(device) => device.description(compiler),)* }
            }

            pub(crate) fn max_group_size(&self) -> usize {
                match self { $($(#[cfg($cfg)])? Self::$Kind(device) => device.max_group_size(),)* }
            }

            pub(crate) fn local_memory_size(&self) -> usize {
                match self { $($(#[cfg($cfg)])? Self::$Kind(device) => device.local_memory_size(),)* }
            }

            pub(crate) fn concurrency(&self) -> usize {
                match self { $($(#[cfg($cfg)])? Self::$Kind(device) => device.concurrency(),)* }
            }

            pub(crate) fn traits(&self) -> DeviceTraits {
                match self { $($(#[cfg($cfg)])? Self::$Kind(device) => device.traits(),)* }
            }

            pub(crate) fn aot_target(&self) -> Option<Box<dyn AotTarget>> {
                match self { $($(#[cfg($cfg)])? Self::$Kind(device) => device.aot_target(),)* }
            }

            /// See [`CodeLoader::LACKS`].
            pub(crate) const fn lacks(&self) -> &'static [(&'static str, &'static str)] {
                match self { $($(#[cfg($cfg)])? Self::$Kind(_) => <QueueOf<$backend> as QueueOps>::Loader::LACKS,)* }
            }

            pub(crate) fn queue(&self) -> Result<BackendQueue, DeviceError> {
                match self { $($(#[cfg($cfg)])? Self::$Kind(device) => device.queue().map(BackendQueue::$Kind),)* }
            }

            pub(crate) fn allocate(&self, layout: Layout) -> Result<BackendMemory, BufferError> {
                match self { $($(#[cfg($cfg)])? Self::$Kind(device) => device.allocate(layout).map(BackendMemory::$Kind),)* }
            }
        }

        impl BackendQueue {
            /// Locks the queue, runs a launch, and waits for its end.
            ///
            /// # Errors
            /// [`LaunchError`].
            ///
            /// # Safety
            /// As for [`QueueOps::submit`]; the range may be empty.
            #[inline]
            pub(crate) unsafe fn run(&self, launch: &LaunchDesc<'_>) -> Result<(), LaunchError> {
                // SAFETY: the caller's promises.
                unsafe { match self { $($(#[cfg($cfg)])? Self::$Kind(queue) => submit::run(queue, launch),)* } }
            }

            /// Has the code of a launch there, and launches nothing.
            ///
            /// # Errors
            /// [`LaunchError`].
            ///
            /// # Safety
            /// As for [`submit::prepare`].
            pub(crate) unsafe fn prepare(&self, launch: &LaunchDesc<'_>) -> Result<(), LaunchError> {
                // SAFETY: the caller's promises.
                unsafe { match self { $($(#[cfg($cfg)])? Self::$Kind(queue) => submit::prepare(queue, launch),)* } }
            }

            /// Runs a launch of a scope, or has the device run it asynchronously.
            ///
            /// # Errors
            /// [`LaunchError`].
            ///
            /// # Safety
            /// As for [`submit::submit`].
            #[inline]
            pub(crate) unsafe fn submit(
                &self,
                launch: &LaunchDesc<'_>,
            ) -> Result<Submitted<BackendPending>, LaunchError> {
                // SAFETY: the caller's promises.
                unsafe {
                    match self {
                        $($(#[cfg($cfg)])? Self::$Kind(queue) => {
                            Ok(submit::submit(queue, launch)?.map(BackendPending::$Kind))
                        })*
                    }
                }
            }

            pub(crate) fn device_name(&self) -> &str {
                match self { $($(#[cfg($cfg)])? Self::$Kind(queue) => queue.device_name(),)* }
            }

            /// See [`QueueOps::is_over`].
            pub(crate) fn is_over(&self, launch: u64) -> bool {
                match self { $($(#[cfg($cfg)])? Self::$Kind(queue) => queue.is_over(launch),)* }
            }

            /// See [`QueueOps::wait`].
            pub(crate) fn wait(&self, launch: &NumberedLaunch) -> Result<(), LaunchError> {
                match self { $($(#[cfg($cfg)])? Self::$Kind(queue) => queue.wait(launch),)* }
            }

            #[inline]
            pub(crate) fn tasks(&self) -> Result<Option<&dyn TaskQueue>, LaunchError> {
                match self { $($(#[cfg($cfg)])? Self::$Kind(queue) => queue.tasks(),)* }
            }

            pub(crate) fn poll(&self) {
                match self { $($(#[cfg($cfg)])? Self::$Kind(queue) => queue.poll(),)* }
            }

            /// See [`QueueOps::has_own_memory`].
            #[inline]
            pub(crate) fn has_own_memory(&self) -> bool {
                match self { $($(#[cfg($cfg)])? Self::$Kind(queue) => queue.has_own_memory(),)* }
            }

            /// See [`QueueOps::while_idle`].
            pub(crate) fn while_idle(&self, run: &mut dyn FnMut()) -> Result<(), DriverError> {
                match self { $($(#[cfg($cfg)])? Self::$Kind(queue) => queue.while_idle(run),)* }
            }

            /// See [`QueueOps::block_at`].
            pub(crate) fn block_at(&self, address: usize) -> Option<Arc<dyn DeviceBlock>> {
                match self { $($(#[cfg($cfg)])? Self::$Kind(queue) => queue.block_at(address),)* }
            }

            /// See [`QueueOps::host_memory`].
            pub(crate) fn host_memory(&self) -> Option<&dyn HostMemoryOps> {
                match self { $($(#[cfg($cfg)])? Self::$Kind(queue) => queue.host_memory(),)* }
            }

            pub(crate) fn allocate_for_results(&self, layout: Layout) -> Result<BackendMemory, BufferError> {
                match self { $($(#[cfg($cfg)])? Self::$Kind(queue) => queue.allocate_for_results(layout).map(BackendMemory::$Kind),)* }
            }

            /// See [`QueueOps::zero_in_order`].
            pub(crate) fn zero_in_order(&self, memory: &mut BackendMemory) -> Result<(), BufferError> {
                match (self, memory) {
                    $($(#[cfg($cfg)])? (Self::$Kind(queue), BackendMemory::$Kind(memory)) => queue.zero_in_order(memory),)*
                    // Memory of another device.
                    #[allow(unreachable_patterns)]
                    (_, memory) => memory.fill(&[0]),
                }
            }

            /// See [`QueueOps::wait_for_zeros`].
            pub(crate) fn wait_for_zeros(&self) {
                match self { $($(#[cfg($cfg)])? Self::$Kind(queue) => queue.wait_for_zeros(),)* }
            }

            pub(crate) fn allocate(&self, layout: Layout) -> Result<BackendMemory, BufferError> {
                match self { $($(#[cfg($cfg)])? Self::$Kind(queue) => queue.allocate(layout).map(BackendMemory::$Kind),)* }
            }
        }

        impl BackendMemory {
            pub(crate) fn address(&self) -> NonNull<u8> {
                match self { $($(#[cfg($cfg)])? Self::$Kind(memory) => memory.address(),)* }
            }

            /// See [`MemoryOps::is_on_host`].
            pub(crate) fn is_on_host(&self) -> bool {
                match self { $($(#[cfg($cfg)])? Self::$Kind(memory) => memory.is_on_host(),)* }
            }

            /// # Safety
            /// As for [`MemoryOps::write`].
            pub(crate) unsafe fn write(
                &mut self,
                offset: usize,
                from: *const u8,
                bytes: usize,
            ) -> Result<(), BufferError> {
                // SAFETY: the caller's promises.
                unsafe { match self { $($(#[cfg($cfg)])? Self::$Kind(memory) => memory.write(offset, from, bytes),)* } }
            }

            /// # Safety
            /// As for [`MemoryOps::read`].
            pub(crate) unsafe fn read(
                &self,
                offset: usize,
                to: *mut u8,
                bytes: usize,
            ) -> Result<(), BufferError> {
                // SAFETY: the caller's promises.
                unsafe { match self { $($(#[cfg($cfg)])? Self::$Kind(memory) => memory.read(offset, to, bytes),)* } }
            }

            /// # Safety
            /// As for [`MemoryOps::write_part`].
            pub(crate) unsafe fn write_part(
                &self,
                offset: usize,
                from: *const u8,
                bytes: usize,
            ) -> Result<(), BufferError> {
                // SAFETY: the caller's promises.
                unsafe { match self { $($(#[cfg($cfg)])? Self::$Kind(memory) => memory.write_part(offset, from, bytes),)* } }
            }

            /// See [`MemoryOps::device_address`].
            pub(crate) fn device_address(&self) -> usize {
                match self { $($(#[cfg($cfg)])? Self::$Kind(memory) => memory.device_address(),)* }
            }

            /// Copies all bytes from other memory of the same size, if the device can do that
            /// without the host; returns whether it did.
            pub(crate) fn copy_from(&mut self, from: &Self) -> Result<bool, BufferError> {
                match (self, from) {
                    $($(#[cfg($cfg)])? (Self::$Kind(memory), Self::$Kind(from)) => memory.copy_from(from),)*
                    _ => Ok(false),
                }
            }

            pub(crate) fn fill(&mut self, pattern: &[u8]) -> Result<(), BufferError> {
                match self { $($(#[cfg($cfg)])? Self::$Kind(memory) => memory.fill(pattern),)* }
            }

            #[inline]
            pub(crate) fn exclusive(&mut self, atomic: bool) {
                match self { $($(#[cfg($cfg)])? Self::$Kind(memory) => memory.exclusive(atomic),)* }
            }

            #[inline]
            pub(crate) fn shared(&self) {
                match self { $($(#[cfg($cfg)])? Self::$Kind(memory) => memory.shared(),)* }
            }
        }

        impl BackendPending {
            pub(crate) fn is_over(&self) -> bool {
                match self { $($(#[cfg($cfg)])? Self::$Kind(pending) => pending.is_over(),)* }
            }

            pub(crate) fn is_known_over(&self) -> bool {
                match self { $($(#[cfg($cfg)])? Self::$Kind(pending) => pending.is_known_over(),)* }
            }

            pub(crate) fn finish(self) -> (Result<(), LaunchError>, Option<Duration>) {
                match self { $($(#[cfg($cfg)])? Self::$Kind(pending) => pending.finish(),)* }
            }
        }

        /// Where the host can read the contents at a window address; `None` if the address
        /// represents nothing.
        pub(crate) fn readable(address: usize) -> Option<Result<*const u8, Unreadable>> {
            let found: Option<Result<*const u8, Unreadable>> = None;
            $($(#[cfg($cfg)])? let found = found.or_else(|| <$backend>::readable(address));)*
            found
        }

        /// Call it when a program starts that will use addresses of the host's in kernels.
        pub(crate) fn at_start() {
            $($(#[cfg($cfg)])? <$backend>::at_start();)*
        }

        /// Records that only the caller has a view of the `bytes` at a window address.
        pub(crate) fn exclusive(address: usize, bytes: usize) {
            $($(#[cfg($cfg)])? <$backend>::exclusive(address, bytes);)*
        }
    };
}

backends! {
    /// All cores of the host, running code that LLVM compiled for this very processor from the
    /// program's device half.
    Cpu(host::Cpu),
    /// All cores of the host, running the host half's own bodies as rustc compiled them. It needs
    /// nothing but the program.
    Native(host::Native),
    /// An NVIDIA GPU, through its driver, running code that LLVM compiled from the program's device
    /// half. It has separate memory.
    Cuda(cuda::Cuda),
    /// An AMD GPU, through the driver HIP, running code that LLVM compiled from the program's device
    /// half. It has separate memory.
    Hip(hip::Hip),
    /// A device of OpenCL, through its driver, running SPIR-V that was made from the program's
    /// device half. Programs that choose no device use it if it is a GPU, and there is no other.
    OpenCl(opencl::OpenCl),
    /// Runs nothing, and records what is requested.
    #[cfg(test)] Recording(recording::Recording),
}

impl BackendDevice {
    /// The devices of programs that choose none, the best first: they use the first that is there.
    pub(crate) const ORDER: &str = "cuda, hip, opencl, cpu, native";

    /// Those of them that are the host.
    pub(crate) const ORDER_OF_HOST: &str = "cpu, native";

    /// The device that needs neither a compiler nor device code.
    pub(crate) const FALLBACK: Self = Self::Native(host::Native);
}

impl BackendQueue {
    /// Waits for the end of a launch that was submitted to this queue. Returns how long it ran, if
    /// it was timed.
    pub(crate) fn finish(
        &self,
        launch: Submitted<BackendPending>,
    ) -> (Result<(), LaunchError>, Option<Duration>) {
        match launch {
            Submitted::Ended => (Ok(()), None),
            Submitted::Numbered(launch) => (self.wait(&launch), None),
            Submitted::Pending(pending) => pending.finish(),
        }
    }
}
