//! Large copies between the host's memory and a device's.
//!
//! A device accesses only pinned host memory, which the driver has to allocate. The driver copies
//! other memory through its own pinned buffer, on the calling thread, chunk by chunk. This
//! module overlaps the two steps: while the device copies one buffer of a pair, a thread fills or
//! empties the other. Sufficiently large copies use several pairs, each with a thread. Chunks may
//! be copied in any order, because they do not overlap.
//!
//! Small copies go directly, and so does everything when the driver has no pinned memory left.

use std::num::NonZero;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;

use crate::error::DriverError;
use crate::hal::gpu::api::{DevicePtr, RawEvent, RawStream, number, symbol};
use crate::hal::gpu::handle::Handle;

/// Bytes of a chunk, and of each buffer of a pair: large enough to keep the link busy, small enough
/// for the processor's cache.
const CHUNK: usize = 2 << 20;

/// Smaller copies go directly.
const LEAST: usize = 2 * CHUNK;

/// A copy uses one pair for each such number of bytes.
const FOR_ANOTHER: usize = 16 << 20;

/// The maximum number of threads: more would only wait for the link, or for the host's memory.
const MOST: usize = 4;

/// The buffer pairs of a context, which are created when they are first needed, and kept.
#[derive(Debug, Default)]
pub(super) struct Staging(Mutex<BufferPairs>);

#[derive(Debug, Default)]
struct BufferPairs {
    /// Unused pairs.
    free: Vec<BufferPair>,
    /// How many pairs exist.
    made: usize,
}

/// Two pinned buffers that a thread and the device share. The driver frees them with the context.
#[derive(Debug)]
struct BufferPair {
    buffers: [Buffer; 2],
}

#[derive(Debug)]
struct Buffer {
    host: *mut u8,
    /// Recorded after the buffer's latest copy.
    event: RawEvent,
}

// SAFETY: memory and event have no other owner.
unsafe impl Send for Buffer {}

/// The direction of a copy, and its address on the host.
#[derive(Clone, Copy, Debug)]
pub(super) enum Direction {
    /// From an address of the host.
    ToDevice(*const u8),
    /// To an address of the host.
    ToHost(*mut u8),
}

/// A copy that threads share. A counter holds the next chunk.
struct StagedCopy<'a> {
    context: &'a Handle,
    stream: RawStream,
    device: DevicePtr,
    direction: Direction,
    bytes: usize,
    next: AtomicUsize,
}

// SAFETY: each chunk of host memory is accessed by the thread that has taken it. The creator
// vouches for the memory.
unsafe impl Sync for StagedCopy<'_> {}

/// Offset and size of a chunk.
type Chunk = (usize, usize);

impl Staging {
    fn pairs(&self) -> MutexGuard<'_, BufferPairs> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Copies through buffer pairs. Returns `false`, without having copied, if the copy is too
    /// small or no pairs are available.
    ///
    /// # Safety
    /// As for [`Context::write`](super::context::Context::write) and
    /// [`Context::read`](super::context::Context::read). The context is current, and the stream is
    /// its own for copies.
    pub(super) unsafe fn copy(
        &self,
        context: &Handle,
        stream: RawStream,
        device: DevicePtr,
        direction: Direction,
        bytes: usize,
    ) -> Result<bool, DriverError> {
        if bytes < LEAST {
            return Ok(false);
        }
        let mut pairs = self.take(context, bytes)?;
        let Some(mut own) = pairs.pop() else { return Ok(false) };
        let copy =
            StagedCopy { context, stream, device, direction, bytes, next: AtomicUsize::new(0) };
        let copied = thread::scope(|scope| {
            let helpers: Vec<_> = pairs
                .iter_mut()
                .map_while(|pair| {
                    let help = || context.enter().and_then(|()| copy.run(pair));
                    thread::Builder::new()
                        .name("schism-copy".to_owned())
                        .spawn_scoped(scope, help)
                        .ok()
                })
                .collect();
            let copied = copy.run(&mut own);
            // A helper does not panic; if it did, a chunk would be missing.
            helpers.into_iter().fold(copied, |copied, helper| {
                copied.and(helper.join().unwrap_or_else(|_| Err(panicked())))
            })
        });
        // Waits for copies that are still running when a thread has failed. If waiting fails, the
        // buffers are not used again.
        let ended = context.finish(stream);
        if ended.is_ok() {
            pairs.push(own);
            self.pairs().free.append(&mut pairs);
        }
        copied.and(ended).map(|()| true)
    }

    /// Takes pairs for a copy: none, if there is no memory for them or all are in use.
    fn take(&self, context: &Handle, bytes: usize) -> Result<Vec<BufferPair>, DriverError> {
        let threads = thread::available_parallelism().map_or(1, NonZero::get);
        let wanted = (bytes / FOR_ANOTHER).clamp(1, MOST.min(threads));
        let mut pairs = self.pairs();
        let mut taken = Vec::with_capacity(wanted);
        while taken.len() < wanted {
            if let Some(pair) = pairs.free.pop() {
                taken.push(pair);
            } else if pairs.made < MOST {
                match BufferPair::new(context) {
                    Ok(pair) => taken.push(pair),
                    Err(error) if context.lost().is_some() => return Err(error),
                    Err(error) => {
                        tracing::debug!(device = context.name(), %error, "copies go as they are");
                        break;
                    }
                }
                pairs.made += 1;
            } else {
                break;
            }
        }
        Ok(taken)
    }
}

#[cold]
fn panicked() -> DriverError {
    let (name, text) = (String::new(), "a thread that copied has panicked".to_owned());
    DriverError { call: "", code: number::SUCCESS, name, text }
}

impl BufferPair {
    /// The context is current.
    fn new(context: &Handle) -> Result<Self, DriverError> {
        let (host, _) = context.pinned(2 * CHUNK)?;
        let first = Buffer { host, event: context.create_event()? };
        let second = Buffer { host: host.wrapping_add(CHUNK), event: context.create_event()? };
        Ok(Self { buffers: [first, second] })
    }
}

impl StagedCopy<'_> {
    /// Takes the next chunk.
    fn take(&self) -> Option<Chunk> {
        let begin = self.next.fetch_add(1, Ordering::Relaxed).checked_mul(CHUNK)?;
        (begin < self.bytes).then(|| (begin, CHUNK.min(self.bytes - begin)))
    }

    /// Copies chunks until there are none left. The context is current.
    fn run(&self, pair: &mut BufferPair) -> Result<(), DriverError> {
        // The chunks that the device is copying.
        let mut busy: [Option<Chunk>; 2] = [None, None];
        loop {
            for (buffer, busy) in pair.buffers.iter().zip(&mut busy) {
                if let Some(chunk) = busy.take() {
                    self.wait(buffer)?;
                    self.empty(buffer, chunk);
                }
                *busy = self.take();
                if let Some(chunk) = *busy {
                    self.begin(buffer, chunk)?;
                }
            }
            if busy == [None, None] {
                return Ok(());
            }
        }
    }

    /// Starts a copy of a chunk on the device.
    fn begin(&self, buffer: &Buffer, (begin, bytes): Chunk) -> Result<(), DriverError> {
        let api = self.context.api();
        let device = self.device + begin as u64;
        let (code, call) = match self.direction {
            Direction::ToDevice(from) => {
                // SAFETY: the creator says that the chunk can be read; the buffer is as large, and
                // the device does not use it.
                unsafe { buffer.host.copy_from_nonoverlapping(from.add(begin), bytes) };
                // SAFETY: the creator vouches for the device's memory; the buffer is not touched
                // until its event has completed.
                let code =
                    unsafe { (api.copy_to_device)(device, buffer.host.cast(), bytes, self.stream) };
                (code, symbol::copy_to_device)
            }
            Direction::ToHost(_) => {
                // SAFETY: as above; nothing reads the buffer until its event is over.
                let code =
                    unsafe { (api.copy_to_host)(buffer.host.cast(), device, bytes, self.stream) };
                (code, symbol::copy_to_host)
            }
        };
        self.context.check(code, call)?;
        // SAFETY: event and stream are of this context, which is current.
        let code = unsafe { (api.event_record)(buffer.event, self.stream) };
        self.context.check(code, symbol::event_record)
    }

    /// Waits for the device.
    fn wait(&self, buffer: &Buffer) -> Result<(), DriverError> {
        // SAFETY: an event of this context, which is current.
        let code = unsafe { (self.context.api().event_synchronize)(buffer.event) };
        self.context.check(code, symbol::event_synchronize)
    }

    /// Copies a chunk from its buffer to the host.
    fn empty(&self, buffer: &Buffer, (begin, bytes): Chunk) {
        if let Direction::ToHost(to) = self.direction {
            // SAFETY: the creator says that the chunk can be written, and it belongs to this
            // thread; the device has filled the buffer.
            unsafe { to.add(begin).copy_from_nonoverlapping(buffer.host, bytes) };
        }
    }
}
