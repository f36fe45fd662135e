//! A copy of a range of the host's memory on a device, which launches use instead of the range.

use std::alloc::Layout;
use std::any::Any;
use std::fmt;
use std::mem::MaybeUninit;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::data::host_range::HostRange;
use crate::error::BufferError;
use crate::hal::dispatch::{BackendMemory, BackendQueue};

/// Copies keep the host's alignment up to this many bytes.
pub(crate) const ALIGNMENT: usize = 256;

/// The memory with a copy, which is kept as long as it is used.
pub(crate) type CopyOwner = Arc<dyn Any + Send + Sync>;

/// Allocates memory of a device.
pub(crate) type Allocate<'a> = &'a dyn Fn(Layout) -> Result<BackendMemory, BufferError>;

/// Allocates memory for a copy of a range, which begins at an offset.
///
/// # Errors
/// [`BufferError`].
pub(crate) fn allocate_for(
    range: &HostRange,
    offset: usize,
    allocate: Allocate<'_>,
) -> Result<BackendMemory, BufferError> {
    let layout = offset
        .checked_add(range.bytes)
        .and_then(|bytes| Layout::from_size_align(bytes, ALIGNMENT.max(range.align)).ok())
        .ok_or(BufferError::TooLarge { len: range.bytes, element_size: 1 })?;
    allocate(layout)
}

/// What a copy is a copy of.
#[derive(Debug)]
pub(crate) enum Original {
    /// The host's memory.
    Host,
    /// A copy on another device.
    Device(Arc<DeviceCopy>),
}

/// The values of a range of the host's memory as long as launches may change them on a device.
pub(crate) struct DeviceCopy {
    queue: BackendQueue,
    memory: BackendMemory,
    /// Where the range begins in the memory.
    offset: usize,
    /// The host's addresses.
    begin: usize,
    end: usize,
    original: Original,
    /// Whether launches may have changed it.
    is_changed: AtomicBool,
}

impl DeviceCopy {
    /// Copies a range to the queue's device.
    ///
    /// # Errors
    /// [`BufferError`].
    ///
    /// # Safety
    /// The range can be read, and does not change meanwhile. A copy that it is a copy of has all of it.
    pub(crate) unsafe fn new(
        queue: &BackendQueue,
        allocate: Allocate<'_>,
        range: &HostRange,
        original: Original,
    ) -> Result<Self, BufferError> {
        let offset = range.begin.addr() % ALIGNMENT;
        let memory = allocate_for(range, offset, allocate)?;
        let (begin, end) = (range.begin.addr(), range.end());
        let is_changed = AtomicBool::new(false);
        let copy = Self { queue: queue.clone(), memory, offset, begin, end, original, is_changed };
        match &copy.original {
            // SAFETY: the caller's promise; nothing else uses the memory yet.
            Original::Host => unsafe { copy.memory.write_part(offset, range.begin, range.bytes)? },
            Original::Device(other) => {
                let values = other.values(begin, range.bytes)?;
                // SAFETY: there are as many values; nothing else uses the memory yet.
                unsafe { copy.memory.write_part(offset, values.as_ptr().cast(), range.bytes)? };
            }
        }
        Ok(copy)
    }

    /// Memory of a device as the copy of a range, whose values are those of the memory.
    pub(crate) fn of_memory(
        queue: &BackendQueue,
        memory: BackendMemory,
        range: &HostRange,
    ) -> Self {
        Self {
            queue: queue.clone(),
            memory,
            offset: 0,
            begin: range.begin.addr(),
            end: range.end(),
            original: Original::Host,
            is_changed: AtomicBool::new(false),
        }
    }

    /// The name of its device.
    pub(crate) fn device(&self) -> &str {
        self.queue.device_name()
    }

    pub(crate) const fn begin(&self) -> usize {
        self.begin
    }

    pub(crate) const fn end(&self) -> usize {
        self.end
    }

    /// Where kernels have what the host has at an address of the range.
    pub(crate) fn at(&self, address: usize) -> NonNull<u8> {
        // SAFETY: the memory is as large as the range, after the offset.
        unsafe { self.memory.address().add(self.place(address)) }
    }

    /// Where the device's libraries have it.
    pub(crate) fn device_address(&self, address: usize) -> usize {
        self.memory.device_address() + self.place(address)
    }

    /// The host's address of what is at an address for the device's libraries.
    pub(crate) fn host_address(&self, device_address: usize) -> Option<usize> {
        let distance = device_address.checked_sub(self.memory.device_address() + self.offset)?;
        (distance < self.end - self.begin).then(|| self.begin + distance)
    }

    fn place(&self, address: usize) -> usize {
        debug_assert!((self.begin..=self.end).contains(&address), "an address of another range");
        self.offset + (address - self.begin)
    }

    /// Launches may change it from now on.
    pub(crate) fn changes(&self) {
        // It is read after these launches have been waited for.
        self.is_changed.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_changed(&self) -> bool {
        self.is_changed.load(Ordering::Relaxed)
    }

    /// Copies `bytes` bytes from the host's address `begin` on to `to`.
    ///
    /// # Errors
    /// [`BufferError`].
    ///
    /// # Safety
    /// They are in the range, there is room for them, and no launch changes them.
    pub(crate) unsafe fn read(
        &self,
        begin: usize,
        to: *mut u8,
        bytes: usize,
    ) -> Result<(), BufferError> {
        // SAFETY: the caller's promises.
        unsafe { self.memory.read(self.place(begin), to, bytes) }
    }

    /// Copies `bytes` bytes from `from` to the host's address `begin`.
    ///
    /// # Errors
    /// [`BufferError`].
    ///
    /// # Safety
    /// They are in the range, can be read at `from`, and nothing else accesses them in the copy.
    pub(crate) unsafe fn write(
        &self,
        begin: usize,
        from: *const u8,
        bytes: usize,
    ) -> Result<(), BufferError> {
        self.changes();
        let mut written = Ok(());
        // A launch that the host runs in the device's place copies the memory there and back. None does
        // so meanwhile.
        let idle = self.queue.while_idle(&mut || {
            // SAFETY: the caller's promises.
            written = unsafe { self.memory.write_part(self.place(begin), from, bytes) };
        });
        idle.map_err(|error| BufferError::Driver {
            device: self.device().to_owned(),
            source: Box::new(error),
        })?;
        written
    }

    /// The bytes of a part of the range; those of padding have no value.
    ///
    /// # Errors
    /// [`BufferError`].
    pub(crate) fn values(
        &self,
        begin: usize,
        bytes: usize,
    ) -> Result<Vec<MaybeUninit<u8>>, BufferError> {
        let mut values: Vec<MaybeUninit<u8>> = Vec::new();
        let refused =
            |_| BufferError::OutOfMemory { bytes, device: "host".to_owned(), available: None };
        values.try_reserve_exact(bytes).map_err(refused)?;
        // SAFETY: there is room for as many; launches that use the copy are waited for.
        unsafe { self.read(begin, values.as_mut_ptr().cast(), bytes)? };
        // SAFETY: there is room for as many, which need no value.
        unsafe { values.set_len(bytes) };
        Ok(values)
    }

    /// Brings what launches may have changed to where the values came from, and says how many bytes
    /// these are.
    ///
    /// # Errors
    /// [`BufferError`].
    ///
    /// # Safety
    /// The range can be written at `host`, its first address, and nothing else accesses it.
    pub(crate) unsafe fn bring(&self, host: *mut u8) -> Result<usize, BufferError> {
        if !self.is_changed() {
            return Ok(0);
        }
        let bytes = self.end - self.begin;
        match &self.original {
            // SAFETY: the caller's promises.
            Original::Host => unsafe { self.read(self.begin, host, bytes)? },
            Original::Device(other) => {
                let values = self.values(self.begin, bytes)?;
                // SAFETY: there are as many values, and the other copy has all of the range; the caller's
                // promise.
                unsafe { other.write(self.begin, values.as_ptr().cast(), bytes)? };
            }
        }
        Ok(bytes)
    }
}

impl fmt::Debug for DeviceCopy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DeviceCopy")
            .field("device", &self.device())
            .field("begin", &self.begin)
            .field("end", &self.end)
            .finish_non_exhaustive()
    }
}
