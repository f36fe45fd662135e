//! Buffers' memory on a GPU, and what the host sees of it.
//!
//! The host reads a buffer through a view by a copy, the *mirror*, which is made when it is first needed. It lies in memory of its
//! own, since what a slice refers to must not change: as long as views may have given out slices of a mirror, it is not written to
//! again. When the device may have changed the elements, it is *stale*, and the next one who reads gets another mirror. The old ones
//! go when the buffer is borrowed exclusively, because then nobody has a slice of them.

use std::alloc::{Layout, alloc, dealloc};
use std::collections::BTreeMap;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use crate::error::BufferError;
use crate::hal::cuda::api::DevicePtr;
use crate::hal::cuda::context::Context;
use crate::hal::{MemoryOps, Unreadable};
use crate::util::fork::Section;

/// A piece of a device's memory that belongs to a buffer.
#[derive(Debug)]
pub(crate) struct Memory(Arc<Piece>);

#[derive(Debug)]
struct Piece {
    context: Arc<Context>,
    device: DevicePtr,
    /// Where it seems to be.
    shadow: usize,
    /// Of the buffer.
    bytes: usize,
    /// Of the piece.
    size: usize,
    mirrors: Mutex<Mirrors>,
    /// The device may have changed the elements since the mirror was made.
    stale: AtomicBool,
    /// The current views are of atomics.
    atomic: AtomicBool,
}

#[derive(Debug, Default)]
struct Mirrors {
    current: Option<Mirror>,
    /// Slices of these may be in use.
    old: Vec<Mirror>,
    /// Nobody has a slice of it.
    spare: Option<Mirror>,
}

/// A copy of a piece.
#[derive(Debug)]
struct Mirror {
    address: NonNull<u8>,
    layout: Layout,
}

// SAFETY: it owns its memory.
unsafe impl Send for Mirror {}

impl Mirror {
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

impl Drop for Mirror {
    fn drop(&mut self) {
        // SAFETY: allocated with this layout.
        unsafe { dealloc(self.address.as_ptr(), self.layout) };
    }
}

/// The pieces of all buffers, by the addresses of their shadows.
static PIECES: RwLock<BTreeMap<usize, Arc<Piece>>> = RwLock::new(BTreeMap::new());

/// How many pieces have a mirror. While none has, launches need not look for those that become stale.
static MIRRORED: AtomicUsize = AtomicUsize::new(0);

/// The piece that an address lies in.
fn piece(address: usize) -> Option<Arc<Piece>> {
    let _section = Section::enter();
    let pieces = PIECES.read().unwrap_or_else(PoisonError::into_inner);
    let (begin, piece) = pieces.range(..=address).next_back()?;
    (address - begin < piece.bytes).then(|| Arc::clone(piece))
}

/// The device may change what lies at this address.
pub(super) fn becomes_stale(address: usize) {
    if MIRRORED.load(Ordering::Acquire) != 0
        && let Some(piece) = piece(address)
    {
        piece.stale.store(true, Ordering::Release);
    }
}

/// Where the host reads what lies at an address of a shadow; `None` if the buffer is gone, which no view outlives.
pub(super) fn readable(address: usize) -> Option<Result<*const u8, Unreadable>> {
    piece(address).map(|piece| readable_in(&piece, address))
}

fn readable_in(piece: &Piece, address: usize) -> Result<*const u8, Unreadable> {
    piece.context.refuse_buffer_if_forked().map_err(Unreadable::Failed)?;
    if piece.atomic.load(Ordering::Relaxed) {
        return Err(Unreadable::Atomic { device: piece.context.gpu.name.clone() });
    }
    let mirror = piece.mirror().map_err(Unreadable::Failed)?;
    // SAFETY: the address lies in the piece, and the mirror is as large.
    Ok(unsafe { mirror.add(address - piece.shadow) }.as_ptr())
}

/// Nobody but the caller has a view of the `bytes` at an address.
pub(super) fn exclusive(address: usize, bytes: usize) {
    if MIRRORED.load(Ordering::Acquire) != 0
        && let Some(piece) = piece(address)
        && bytes == piece.bytes
    {
        piece.exclusive();
    }
}

impl Piece {
    fn mirrors(&self) -> MutexGuard<'_, Mirrors> {
        self.mirrors.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn mirror(&self) -> Result<NonNull<u8>, BufferError> {
        let mut mirrors = self.mirrors();
        if self.stale.swap(false, Ordering::AcqRel) {
            let current = mirrors.current.take();
            mirrors.old.extend(current);
        }
        if let Some(current) = &mirrors.current {
            return Ok(current.address);
        }
        let new = mirrors.spare.take().or_else(|| Mirror::new(self.bytes));
        let new = new.ok_or_else(|| BufferError::OutOfMemory {
            bytes: self.bytes,
            device: "host".to_owned(),
            available: None,
        })?;
        // SAFETY: the mirror is as large as the piece and nobody has a slice of it. A view of the elements is at hand, so no launch
        // changes them.
        let read = unsafe { self.context.read(new.address.as_ptr(), self.device, self.bytes) };
        read.map_err(|error| self.context.buffer_error(error))?;
        tracing::debug!(
            bytes = self.bytes,
            device = self.context.gpu.name,
            "copied to the host, for a view"
        );
        if mirrors.old.is_empty() {
            MIRRORED.fetch_add(1, Ordering::AcqRel);
        }
        Ok(mirrors.current.insert(new).address)
    }

    fn exclusive(&self) {
        if self.context.forked().is_some() {
            // Nobody gets a slice any more.
            return;
        }
        let mut mirrors = self.mirrors();
        if mirrors.current.is_some() || !mirrors.old.is_empty() {
            MIRRORED.fetch_sub(1, Ordering::AcqRel);
        }
        mirrors.old.clear();
        if let Some(current) = mirrors.current.take() {
            mirrors.spare = Some(current);
        }
    }
}

impl Memory {
    /// Memory for so many bytes, not 0.
    pub(crate) fn new(context: &Arc<Context>, bytes: usize) -> Result<Self, BufferError> {
        context.refuse_buffer_if_forked()?;
        let _section = Section::enter();
        let (device, size, shadow) = context.take(bytes)?;
        let piece = Arc::new(Piece {
            context: Arc::clone(context),
            device,
            shadow,
            bytes,
            size,
            mirrors: Mutex::default(),
            stale: AtomicBool::new(false),
            atomic: AtomicBool::new(false),
        });
        PIECES.write().unwrap_or_else(PoisonError::into_inner).insert(shadow, Arc::clone(&piece));
        Ok(Self(piece))
    }
}

impl MemoryOps for Memory {
    const ON_HOST: bool = false;

    fn address(&self) -> NonNull<u8> {
        NonNull::new(std::ptr::with_exposed_provenance_mut(self.0.shadow))
            .unwrap_or(NonNull::dangling())
    }

    unsafe fn write(
        &mut self,
        offset: usize,
        from: *const u8,
        bytes: usize,
    ) -> Result<(), BufferError> {
        self.exclusive(false);
        let Piece { context, device, .. } = &*self.0;
        // SAFETY: the caller's promise; the memory is the buffer's, which is borrowed exclusively.
        let written = unsafe { context.write(*device + offset as u64, from, bytes) };
        written.map_err(|error| context.buffer_error(error))
    }

    unsafe fn read(&self, offset: usize, to: *mut u8, bytes: usize) -> Result<(), BufferError> {
        let Piece { context, device, .. } = &*self.0;
        // SAFETY: the caller's promise; the memory is the buffer's, which is borrowed, so that no launch changes it.
        let read = unsafe { context.read(to, *device + offset as u64, bytes) };
        read.map_err(|error| context.buffer_error(error))
    }

    fn copy_from(&mut self, from: &Self) -> Result<bool, BufferError> {
        if self.0.context.id != from.0.context.id {
            return Ok(false);
        }
        self.exclusive(false);
        let Piece { context, device, bytes, .. } = &*self.0;
        // SAFETY: both are as large. This is borrowed exclusively, and the other one so that no launch changes it.
        unsafe { context.copy(*device, from.0.device, from.0.bytes.min(*bytes)) }
            .map_err(|error| context.buffer_error(error))?;
        Ok(true)
    }

    fn fill(&mut self, pattern: &[u8]) -> Result<(), BufferError> {
        self.exclusive(false);
        let Piece { context, device, bytes, .. } = &*self.0;
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

impl Drop for Memory {
    fn drop(&mut self) {
        self.0.exclusive();
        let _section = Section::enter();
        PIECES.write().unwrap_or_else(PoisonError::into_inner).remove(&self.0.shadow);
    }
}

impl Drop for Piece {
    fn drop(&mut self) {
        if self.context.forked().is_some() {
            return;
        }
        self.context.give(self.device, self.size);
    }
}
