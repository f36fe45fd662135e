//! A context: the memory, the streams and the code of this process on one GPU.
//!
//! Some errors of a kernel, such as an illegal address, destroy the context in which they happen:
//! from then on the driver returns the same error for every call. Such a context is *lost*.
//! Operations on its buffers and queues return that error, and a new queue asks for a new context.
//! The driver decides whether it gets one: after an illegal address it refuses until the process
//! ends, and the new queue's error says so. The process continues in any case, and so do its other
//! devices.

use std::ops::Deref;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use crate::data::free_list::FreeList;
use crate::error::{BufferError, DriverError};
use crate::hal::address_window::{Window, Windows};
use crate::hal::gpu::api::{DevicePtr, RawStream, number, symbol};
use crate::hal::gpu::handle::Handle;
use crate::hal::gpu::host_memory::HostMemory;
use crate::hal::gpu::process;
use crate::hal::gpu::properties::Properties;
use crate::hal::gpu::staging::{Direction, Staging};
use crate::hal::messages::MessageBuffers;
use crate::util::timeline;

/// See the module's documentation.
#[derive(Debug)]
pub(crate) struct Context {
    handle: Handle,
    /// For copies. Launches have streams of their own.
    transfers: OnceLock<RawStream>,
    free: Mutex<FreeList>,
    pub(super) message_buffers: MessageBuffers,
    staging: Staging,
    pub(super) host_memory: HostMemory,
    results: Mutex<Results>,
}

/// Host memory that the device accesses: for results, which kernels write and the host reads.
#[derive(Debug, Default)]
struct Results {
    free: FreeList,
    /// The block's address on the device, and on the host; `None` until it is needed.
    block: Option<(DevicePtr, usize)>,
    /// The driver has none.
    refused: bool,
}

/// Bytes of memory for results.
const RESULTS: usize = 64 << 10;

/// The minimum size of a memory block, unless less is free.
const BLOCK: usize = 32 << 20;

/// The granularity of larger blocks.
const LARGE_STEP: usize = 2 << 20;

/// Bytes of stack for each thread of a kernel whose need the driver cannot determine: a recursive
/// one. Such a kernel takes as much for all threads that the device can run at a time; others take
/// what they need.
const STACK: usize = 16 << 10;

impl Deref for Context {
    type Target = Handle;

    fn deref(&self) -> &Handle {
        &self.handle
    }
}

impl Context {
    pub(super) fn new(gpu: &'static Properties) -> Result<Arc<Self>, DriverError> {
        let (context, drivers) = process::make_context(|| Self::make(gpu));
        let context = context?;
        context.host_memory.leave_out(drivers);
        Ok(context)
    }

    fn make(gpu: &'static Properties) -> Result<Arc<Self>, DriverError> {
        static IDS: AtomicU64 = AtomicU64::new(1);
        let started = std::time::Instant::now();
        let this = Arc::new(Self {
            handle: Handle::new(gpu, IDS.fetch_add(1, Ordering::Relaxed))?,
            transfers: OnceLock::new(),
            free: Mutex::default(),
            message_buffers: MessageBuffers::default(),
            staging: Staging::default(),
            host_memory: HostMemory::default(),
            results: Mutex::default(),
        });
        let _ = this.transfers.set(this.create_stream()?);
        if gpu.driver.vendor.has_stack_limit {
            // SAFETY: the context is the thread's current one.
            let code = unsafe { (this.api().context_limit)(number::LIMIT_STACK, STACK) };
            this.check(code, symbol::context_limit)?;
        }
        tracing::debug!(
            device = gpu.name,
            micros = started.elapsed().as_micros() as u64,
            "made a context"
        );
        Ok(this)
    }

    /// The stream of copies.
    pub(super) fn transfers(&self) -> RawStream {
        self.transfers.get().copied().unwrap_or(RawStream::NULL)
    }

    /// Waits for the copies.
    fn finish_transfers(&self) -> Result<(), DriverError> {
        self.finish(self.transfers())
    }

    /// Copies bytes from the host to the device.
    ///
    /// # Safety
    /// `bytes` bytes can be read at `from`, and written at `to`, with no other access at the same
    /// time.
    pub(super) unsafe fn write(
        &self,
        to: DevicePtr,
        from: *const u8,
        bytes: usize,
    ) -> Result<(), DriverError> {
        self.enter()?;
        let _copy = timeline::copy(timeline::TO_DEVICE, bytes, &self.gpu.name);
        // SAFETY: the caller's promises.
        if unsafe {
            self.staging.copy(self, self.transfers(), to, Direction::ToDevice(from), bytes)
        }? {
            return Ok(());
        }
        // SAFETY: the caller's promises; the copy is over when this function is.
        let code = unsafe { (self.api().copy_to_device)(to, from.cast(), bytes, self.transfers()) };
        self.check(code, symbol::copy_to_device)?;
        self.finish_transfers()
    }

    /// Copies bytes from the device to the host.
    ///
    /// # Safety
    /// `bytes` bytes can be read at `from`, where nothing writes, and written at `to`.
    pub(super) unsafe fn read(
        &self,
        to: *mut u8,
        from: DevicePtr,
        bytes: usize,
    ) -> Result<(), DriverError> {
        self.enter()?;
        let _copy = timeline::copy(timeline::TO_HOST, bytes, &self.gpu.name);
        // SAFETY: the caller's promises.
        if unsafe { self.staging.copy(self, self.transfers(), from, Direction::ToHost(to), bytes) }?
        {
            return Ok(());
        }
        // SAFETY: the caller's promises; the copy is over when this function is.
        let code = unsafe { (self.api().copy_to_host)(to.cast(), from, bytes, self.transfers()) };
        self.check(code, symbol::copy_to_host)?;
        self.finish_transfers()
    }

    /// Copies bytes within the device's memory.
    ///
    /// # Safety
    /// `bytes` bytes can be read at `from`, where nothing writes, and written at `to`, with no other
    /// access at the same time.
    pub(super) unsafe fn copy(
        &self,
        to: DevicePtr,
        from: DevicePtr,
        bytes: usize,
    ) -> Result<(), DriverError> {
        self.enter()?;
        let _copy = timeline::copy(timeline::ON_DEVICE, bytes, &self.gpu.name);
        // SAFETY: the caller's promises; the copy is over when this function is.
        let code = unsafe { (self.api().copy_on_device)(to, from, bytes, self.transfers()) };
        self.check(code, symbol::copy_on_device)?;
        self.finish_transfers()
    }

    /// Copies bytes from the device to the host, from any memory that the driver knows: it refuses
    /// other addresses. Of concurrent writes, either value may be copied.
    pub(super) fn read_bytes(&self, to: &mut [u8], from: DevicePtr) -> Result<(), DriverError> {
        // SAFETY: the bytes can be written. The driver reads, and it knows its memory.
        unsafe { self.read(to.as_mut_ptr(), from, to.len()) }
    }

    /// Fills device memory by repeating `pattern`.
    ///
    /// # Safety
    /// `bytes` bytes can be written at `to`, with no other access at the same time.
    pub(super) unsafe fn fill(
        &self,
        to: DevicePtr,
        pattern: &[u8],
        bytes: usize,
    ) -> Result<(), DriverError> {
        self.enter()?;
        let _copy = timeline::copy(timeline::FILL, bytes, &self.gpu.name);
        let stream = self.transfers();
        if let Some((first, rest)) = pattern.split_first()
            && rest.iter().all(|byte| byte == first)
        {
            // SAFETY: the caller's promises.
            let code = unsafe { (self.api().fill_bytes)(to, *first, bytes, stream) };
            self.check(code, symbol::fill_bytes)?;
            return self.finish_transfers();
        }
        // One copy of a chunk from the host; then the device doubles what it has.
        let most = bytes.min((64 << 10) / pattern.len() * pattern.len()).max(pattern.len());
        let piece: Vec<u8> = pattern.iter().copied().cycle().take(most.min(bytes)).collect();
        // SAFETY: the caller's promises; the piece lives until the copy is over.
        let code =
            unsafe { (self.api().copy_to_device)(to, piece.as_ptr().cast(), piece.len(), stream) };
        self.check(code, symbol::copy_to_device)?;
        let mut done = piece.len();
        while done < bytes {
            let more = done.min(bytes - done);
            // SAFETY: the caller's promises; the two parts do not overlap, and copies of a stream
            // follow one another.
            let code = unsafe { (self.api().copy_on_device)(to + done as u64, to, more, stream) };
            self.check(code, symbol::copy_on_device)?;
            done += more;
        }
        self.finish_transfers()
    }

    /// Has zeros written to memory, in the order of a stream.
    ///
    /// # Safety
    /// As for [`fill`](Self::fill), until the stream has done it.
    pub(super) unsafe fn zero(
        &self,
        stream: RawStream,
        to: DevicePtr,
        bytes: usize,
    ) -> Result<(), DriverError> {
        self.enter()?;
        // SAFETY: the caller's promises.
        let code = unsafe { (self.api().fill_bytes)(to, 0, bytes, stream) };
        self.check(code, symbol::fill_bytes)
    }

    fn free(&self) -> MutexGuard<'_, FreeList> {
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Allocates memory, not 0 bytes: returns its address, the size that [`give`](Self::give)
    /// takes, and its window address.
    pub(super) fn take(&self, bytes: usize) -> Result<(DevicePtr, usize, usize), BufferError> {
        let out_of_memory = || self.out_of_memory(bytes);
        let size = FreeList::rounded(bytes).ok_or_else(out_of_memory)?;
        self.enter().map_err(|error| self.buffer_error(error))?;
        let mut free = self.free();
        let address = if let Some(address) = free.take(size) {
            address
        } else {
            let large = size.checked_next_multiple_of(LARGE_STEP).ok_or_else(out_of_memory)?;
            let mut added = self.add_block(&mut free, large.max(BLOCK))?;
            if !added {
                // First frees blocks that are not in use.
                let unused = free.take_unused_blocks();
                self.free_blocks(unused);
                added = self.add_block(&mut free, large.max(BLOCK))?
                    || self.add_block(&mut free, large)?
                    || self.add_block(&mut free, size)?;
            }
            added.then(|| free.take(size)).flatten().ok_or_else(out_of_memory)?
        };
        let window = {
            let windows = Windows::read();
            windows.of_device(address, self.id).ok_or_else(out_of_memory)?
        };
        timeline::memory(&self.gpu.name, || size as i64);
        Ok((address, size, window))
    }

    /// Frees memory.
    pub(super) fn give(&self, address: DevicePtr, size: usize) {
        timeline::memory(&self.gpu.name, || -(size as i64));
        self.free().give(address, size);
    }

    fn results(&self) -> MutexGuard<'_, Results> {
        self.results.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Allocates memory for results, not 0 bytes: returns its address, the size that
    /// [`give_result`](Self::give_result) takes, its window address, and its address on the host;
    /// `None` if there is none left.
    pub(super) fn take_result(&self, bytes: usize) -> Option<(DevicePtr, usize, usize, usize)> {
        let size = FreeList::rounded(bytes).filter(|size| *size <= RESULTS)?;
        let mut results = self.results();
        if results.block.is_none() && !results.refused {
            results.refused = true;
            let (host, device) = self.pinned(RESULTS).ok()?;
            // The driver keeps the memory until the context is destroyed.
            Window::reserve(RESULTS, device, self.id).ok()?;
            results.free.add_block(device, RESULTS);
            results.block = Some((device, host.expose_provenance()));
        }
        let (begin, host) = results.block?;
        let address = results.free.take(size)?;
        let Some(window) = Windows::read().of_device(address, self.id) else {
            results.free.give(address, size);
            return None;
        };
        Some((address, size, window, host + (address - begin) as usize))
    }

    /// Frees memory for results.
    pub(super) fn give_result(&self, address: DevicePtr, size: usize) {
        self.results().free.give(address, size);
    }

    /// Allocates a block from the driver; `false` if there is no room for it.
    fn add_block(&self, free: &mut FreeList, size: usize) -> Result<bool, BufferError> {
        let mut address: DevicePtr = 0;
        // SAFETY: the address can be written.
        let code = unsafe { (self.api().memory_allocate)(&raw mut address, size) };
        if code == number::OUT_OF_MEMORY {
            return Ok(false);
        }
        self.check(code, symbol::memory_allocate).map_err(|error| self.buffer_error(error))?;
        if let Err(error) = Window::reserve(size, address, self.id) {
            // SAFETY: it was allocated just now, and nothing uses it.
            unsafe { (self.api().memory_free)(address) };
            return Err(BufferError::AddressSpace { bytes: size, reason: error.to_string() });
        }
        free.add_block(address, size);
        tracing::debug!(device = self.gpu.name, bytes = size, "got memory");
        Ok(true)
    }

    fn free_blocks(&self, blocks: Vec<(DevicePtr, usize)>) {
        for (address, _) in blocks {
            Window::release(address, self.id);
            // SAFETY: allocated by `add_block`, and nothing uses it. If it fails, the memory stays
            // allocated until the context is destroyed.
            unsafe { (self.api().memory_free)(address) };
        }
    }

    #[cold]
    fn out_of_memory(&self, bytes: usize) -> BufferError {
        let (mut free, mut total) = (0, 0);
        // SAFETY: the numbers can be written.
        let known = self.enter().is_ok()
            && unsafe { (self.api().memory_info)(&raw mut free, &raw mut total) }
                == number::SUCCESS;
        BufferError::OutOfMemory {
            bytes,
            device: self.gpu.name.clone(),
            available: known.then_some(free),
        }
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        if self.forked().is_some() {
            // All of it belongs to the parent.
            return;
        }
        let blocks = self.free.get_mut().unwrap_or_else(PoisonError::into_inner).take_all_blocks();
        for (address, _) in blocks {
            Window::release(address, self.id);
        }
        let results = self.results.get_mut().unwrap_or_else(PoisonError::into_inner);
        if let Some((address, _)) = results.block {
            Window::release(address, self.id);
        }
        // SAFETY: nothing of the context is in use: buffers, queues and kernels keep it alive. Its
        // memory and streams are destroyed with it.
        unsafe { (self.api().contexts.destroy)(self.handle.raw) };
    }
}
