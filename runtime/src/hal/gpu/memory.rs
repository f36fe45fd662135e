//! Buffers in GPU memory, and the host copies of them.
//!
//! When the host reads a buffer through a view it reads a *host copy*, which is made when it is
//! first needed. It is a separate allocation, since the contents of a slice must not change: as
//! long as views may have given out slices of a host copy, it is not written again. When the device
//! may have changed the elements, the copy is *stale*, and the next read makes another one. Old
//! copies are freed when the buffer is borrowed exclusively, because then there are no slices of
//! them.

use std::alloc::{Layout, alloc, dealloc};
use std::collections::BTreeMap;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use crate::error::{BufferError, DriverError};
use crate::hal::gpu::api::{DevicePtr, RawStream};
use crate::hal::gpu::context::Context;
use crate::hal::{DeviceBlock, MemoryOps, Unreadable};
use crate::util::fork::NoForkGuard;

/// An allocation of a device's memory that belongs to a buffer.
#[derive(Debug)]
pub(crate) struct GpuMemory(Arc<Allocation>);

#[derive(Debug)]
struct Allocation {
    context: Arc<Context>,
    device: DevicePtr,
    /// Its window address.
    window: usize,
    /// Bytes of the buffer.
    bytes: usize,
    /// Bytes of the allocation.
    size: usize,
    /// Its address on the host, of memory for results.
    host: Option<usize>,
    host_copies: Mutex<HostCopies>,
    /// Whether the device may have changed the elements since the host copy was made.
    stale: AtomicBool,
    /// Whether the current views are of atomics.
    atomic: AtomicBool,
}

#[derive(Debug, Default)]
struct HostCopies {
    current: Option<HostCopy>,
    /// There may be slices of these.
    old: Vec<HostCopy>,
    /// There are no slices of it.
    spare: Option<HostCopy>,
}

/// A copy of an allocation.
#[derive(Debug)]
struct HostCopy {
    address: NonNull<u8>,
    layout: Layout,
}

// SAFETY: it owns its memory.
unsafe impl Send for HostCopy {}

impl HostCopy {
    const ALIGNMENT: usize = 128;

    fn new(bytes: usize) -> Option<Self> {
        let layout = Layout::from_size_align(bytes, Self::ALIGNMENT).ok()?;
        if bytes == 0 {
            return None;
        }
        // SAFETY: the size is not 0.
        let address = NonNull::new(unsafe { alloc(layout) })?;
        Some(Self { address, layout })
    }
}

impl Drop for HostCopy {
    fn drop(&mut self) {
        // SAFETY: allocated with this layout.
        unsafe { dealloc(self.address.as_ptr(), self.layout) };
    }
}

/// The allocations of all buffers, by the addresses of their windows.
static ALLOCATIONS: RwLock<BTreeMap<usize, Arc<Allocation>>> = RwLock::new(BTreeMap::new());

/// How many allocations have a host copy. While none has, launches need not look for those that
/// become stale.
static COPIED: AtomicUsize = AtomicUsize::new(0);

/// The allocation that contains an address.
fn allocation(address: usize) -> Option<Arc<Allocation>> {
    let _no_fork = NoForkGuard::enter();
    let allocations = ALLOCATIONS.read().unwrap_or_else(PoisonError::into_inner);
    let (begin, allocation) = allocations.range(..=address).next_back()?;
    (address - begin < allocation.bytes).then(|| Arc::clone(allocation))
}

/// Records that the device may change the contents at this address.
pub(super) fn becomes_stale(address: usize) {
    if COPIED.load(Ordering::Acquire) != 0
        && let Some(allocation) = allocation(address)
    {
        allocation.stale.store(true, Ordering::Release);
    }
}

/// The block of a context's memory that contains an address.
pub(super) fn block_at(context: &Arc<Context>, address: usize) -> Option<Arc<dyn DeviceBlock>> {
    let found = allocation(address)?;
    Arc::ptr_eq(&found.context, context).then_some(found as Arc<dyn DeviceBlock>)
}

/// Where the host can read the contents at a window address; `None` if the buffer is gone, which no
/// view outlives.
pub(in crate::hal) fn readable(address: usize) -> Option<Result<*const u8, Unreadable>> {
    allocation(address).map(|allocation| readable_in(&allocation, address))
}

fn readable_in(allocation: &Allocation, address: usize) -> Result<*const u8, Unreadable> {
    allocation.context.refuse_buffer_if_forked().map_err(Unreadable::Failed)?;
    if allocation.atomic.load(Ordering::Relaxed) {
        return Err(Unreadable::Atomic { device: allocation.context.gpu.name.clone() });
    }
    let host_copy = allocation.host_copy().map_err(Unreadable::Failed)?;
    // SAFETY: the address lies in the allocation, and the host copy is as large.
    Ok(unsafe { host_copy.add(address - allocation.window) }.as_ptr())
}

/// Records that only the caller has a view of the `bytes` at an address.
pub(in crate::hal) fn exclusive(address: usize, bytes: usize) {
    if COPIED.load(Ordering::Acquire) != 0
        && let Some(allocation) = allocation(address)
        && bytes == allocation.bytes
    {
        allocation.exclusive();
    }
}

impl Allocation {
    fn host_copies(&self) -> MutexGuard<'_, HostCopies> {
        self.host_copies.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn host_copy(&self) -> Result<NonNull<u8>, BufferError> {
        let mut host_copies = self.host_copies();
        if self.stale.swap(false, Ordering::AcqRel) {
            let current = host_copies.current.take();
            host_copies.old.extend(current);
        }
        if let Some(current) = &host_copies.current {
            return Ok(current.address);
        }
        let new = host_copies.spare.take().or_else(|| HostCopy::new(self.bytes));
        let new = new.ok_or_else(|| BufferError::OutOfMemory {
            bytes: self.bytes,
            device: "host".to_owned(),
            available: None,
        })?;
        // SAFETY: the host copy is as large as the allocation and there are no slices of it. A view
        // of the elements exists, so no launch changes them.
        let read = unsafe { self.context.read(new.address.as_ptr(), self.device, self.bytes) };
        read.map_err(|error| self.context.buffer_error(error))?;
        tracing::debug!(
            bytes = self.bytes,
            device = self.context.gpu.name,
            "copied to the host, for a view"
        );
        if host_copies.old.is_empty() {
            COPIED.fetch_add(1, Ordering::AcqRel);
        }
        Ok(host_copies.current.insert(new).address)
    }

    fn exclusive(&self) {
        if self.context.forked().is_some() {
            // There are no slices any more.
            return;
        }
        let mut host_copies = self.host_copies();
        if host_copies.current.is_some() || !host_copies.old.is_empty() {
            COPIED.fetch_sub(1, Ordering::AcqRel);
        }
        host_copies.old.clear();
        if let Some(current) = host_copies.current.take() {
            host_copies.spare = Some(current);
        }
    }
}

impl DeviceBlock for Allocation {
    fn begin(&self) -> usize {
        self.window
    }

    fn bytes(&self) -> usize {
        self.bytes
    }

    unsafe fn read(&self, to: *mut u8) -> Result<(), DriverError> {
        // SAFETY: the caller's promises; the memory is this one's.
        unsafe { self.context.read(to, self.device, self.bytes) }
    }

    unsafe fn write(&self, from: *const u8) -> Result<(), DriverError> {
        self.stale.store(true, Ordering::Release);
        // SAFETY: the caller's promises; the memory is this one's.
        unsafe { self.context.write(self.device, from, self.bytes) }
    }
}

impl GpuMemory {
    /// Allocates memory, not 0 bytes.
    pub(crate) fn new(context: &Arc<Context>, bytes: usize) -> Result<Self, BufferError> {
        context.refuse_buffer_if_forked()?;
        let _no_fork = NoForkGuard::enter();
        let (device, size, window) = context.take(bytes)?;
        Ok(Self::of(context, device, window, (bytes, size), None))
    }

    /// Allocates memory for results, not 0 bytes: on the host, if there is some.
    pub(super) fn for_results(context: &Arc<Context>, bytes: usize) -> Result<Self, BufferError> {
        context.refuse_buffer_if_forked()?;
        let _no_fork = NoForkGuard::enter();
        match context.take_result(bytes) {
            Some((device, size, window, host)) => {
                Ok(Self::of(context, device, window, (bytes, size), Some(host)))
            }
            None => Self::new(context, bytes),
        }
    }

    fn of(
        context: &Arc<Context>,
        device: DevicePtr,
        window: usize,
        (bytes, size): (usize, usize),
        host: Option<usize>,
    ) -> Self {
        let allocation = Arc::new(Allocation {
            context: Arc::clone(context),
            device,
            window,
            bytes,
            size,
            host,
            host_copies: Mutex::default(),
            stale: AtomicBool::new(false),
            atomic: AtomicBool::new(false),
        });
        ALLOCATIONS
            .write()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(window, Arc::clone(&allocation));
        Self(allocation)
    }

    /// Has zeros written, in the order of a stream.
    ///
    /// # Safety
    /// Nothing else uses the memory until the stream has done it.
    pub(super) unsafe fn zero(&mut self, stream: RawStream) -> Result<(), BufferError> {
        self.exclusive(false);
        let Allocation { context, device, bytes, .. } = &*self.0;
        // SAFETY: the memory is the buffer's, and the caller's promise.
        let submitted = unsafe { context.zero(stream, *device, *bytes) };
        submitted.map_err(|error| context.buffer_error(error))
    }
}

impl MemoryOps for GpuMemory {
    fn is_on_host(&self) -> bool {
        false
    }

    fn address(&self) -> NonNull<u8> {
        NonNull::new(std::ptr::with_exposed_provenance_mut(self.0.window))
            .unwrap_or(NonNull::dangling())
    }

    unsafe fn write(
        &mut self,
        offset: usize,
        from: *const u8,
        bytes: usize,
    ) -> Result<(), BufferError> {
        self.exclusive(false);
        let Allocation { context, device, .. } = &*self.0;
        // SAFETY: the caller's promise; the memory is the buffer's, which is borrowed exclusively.
        let written = unsafe { context.write(*device + offset as u64, from, bytes) };
        written.map_err(|error| context.buffer_error(error))
    }

    unsafe fn read(&self, offset: usize, to: *mut u8, bytes: usize) -> Result<(), BufferError> {
        let Allocation { context, device, host, .. } = &*self.0;
        if let Some(host) = host {
            context.refuse_buffer_if_forked()?;
            let from = std::ptr::with_exposed_provenance::<u8>(host + offset);
            // SAFETY: the caller's promise; the memory is the buffer's, and launches that wrote it
            // have ended.
            unsafe { std::ptr::copy_nonoverlapping(from, to, bytes) };
            return Ok(());
        }
        // SAFETY: the caller's promise; the memory is the buffer's, which is borrowed, so that no
        // launch changes it.
        let read = unsafe { context.read(to, *device + offset as u64, bytes) };
        read.map_err(|error| context.buffer_error(error))
    }

    unsafe fn write_part(
        &self,
        offset: usize,
        from: *const u8,
        bytes: usize,
    ) -> Result<(), BufferError> {
        let Allocation { context, device, stale, .. } = &*self.0;
        // SAFETY: the caller's promises; the memory is this one's.
        let written = unsafe { context.write(*device + offset as u64, from, bytes) };
        // There may be slices of the host copies so far, which stay.
        stale.store(true, Ordering::Release);
        written.map_err(|error| context.buffer_error(error))
    }

    fn device_address(&self) -> usize {
        self.0.device as usize
    }

    fn copy_from(&mut self, from: &Self) -> Result<bool, BufferError> {
        if self.0.context.id != from.0.context.id {
            return Ok(false);
        }
        self.exclusive(false);
        let Allocation { context, device, bytes, .. } = &*self.0;
        // SAFETY: both are as large. This is borrowed exclusively, and the other one so that no
        // launch changes it.
        unsafe { context.copy(*device, from.0.device, from.0.bytes.min(*bytes)) }
            .map_err(|error| context.buffer_error(error))?;
        Ok(true)
    }

    fn fill(&mut self, pattern: &[u8]) -> Result<(), BufferError> {
        self.exclusive(false);
        let Allocation { context, device, bytes, .. } = &*self.0;
        // SAFETY: the memory is the buffer's, which is borrowed exclusively.
        let filled = unsafe { context.fill(*device, pattern, *bytes) };
        filled.map_err(|error| context.buffer_error(error))
    }

    fn exclusive(&mut self, atomic: bool) {
        self.0.exclusive();
        self.0.atomic.store(atomic, Ordering::Relaxed);
    }

    fn shared(&self) {
        self.0.atomic.store(false, Ordering::Relaxed);
    }
}

impl Drop for GpuMemory {
    fn drop(&mut self) {
        self.0.exclusive();
        let _no_fork = NoForkGuard::enter();
        ALLOCATIONS.write().unwrap_or_else(PoisonError::into_inner).remove(&self.0.window);
    }
}

impl Drop for Allocation {
    fn drop(&mut self) {
        if self.context.forked().is_some() {
            return;
        }
        if self.host.is_some() {
            self.context.give_result(self.device, self.size);
        } else {
            self.context.give(self.device, self.size);
        }
    }
}
