//! Large copies between the host's memory and a device's.
//!
//! A device reaches only memory of the host that stays in its place, which the driver has to give. Other memory the driver copies
//! through such memory of its own, on the thread that asks, one chunk after the other. Here chunks go both ways at once: a *pair* is two
//! buffers of memory that stays; while the device copies one of them, a thread fills or empties the other. Copies that are large
//! enough have several pairs, each with a thread. Pieces may be copied in any order, for none is a part of another.
//!
//! What is small goes as it is, and so does everything where the driver has no such memory left.

use std::num::NonZero;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;

use crate::error::DriverError;
use crate::hal::cuda::api::{DevicePtr, RawEvent, RawStream, number, symbol};
use crate::hal::cuda::handle::Handle;

/// Bytes of a chunk, and of each buffer of a pair: large enough for the link to be busy, small enough for the processor's cache.
const CHUNK: usize = 2 << 20;

/// Smaller copies go as they are.
const LEAST: usize = 2 * CHUNK;

/// A copy has a pair for so many bytes.
const FOR_ANOTHER: usize = 16 << 20;

/// No more threads than this: by then they wait for the link, or for the host's memory.
const MOST: usize = 4;

/// The pairs of a context, which come into being when they are first needed, and stay.
#[derive(Debug, Default)]
pub(super) struct Staging(Mutex<BufferPairs>);

#[derive(Debug, Default)]
struct BufferPairs {
    /// Nobody uses these.
    free: Vec<BufferPair>,
    /// How many there are.
    made: usize,
}

/// Two buffers that a thread and the device share. They are the driver's, and go with the context.
#[derive(Debug)]
struct BufferPair {
    buffers: [Buffer; 2],
}

#[derive(Debug)]
struct Buffer {
    host: *mut u8,
    /// Behind the buffer's latest copy.
    event: RawEvent,
}

// SAFETY: memory and event are nobody else's.
unsafe impl Send for Buffer {}

/// Which way a copy goes, and its address on the host.
#[derive(Clone, Copy, Debug)]
pub(super) enum Direction {
    /// From an address of the host.
    ToDevice(*const u8),
    /// To an address of the host.
    ToHost(*mut u8),
}

/// A copy that threads share. The next chunk is the one that the counter says.
struct StagedCopy<'a> {
    context: &'a Handle,
    stream: RawStream,
    device: DevicePtr,
    direction: Direction,
    bytes: usize,
    next: AtomicUsize,
}

// SAFETY: each chunk of the host's memory is accessed by the thread that has taken it. Whoever made this vouches for the memory.
unsafe impl Sync for StagedCopy<'_> {}

/// Where a chunk begins, and its bytes.
type Chunk = (usize, usize);

impl Staging {
    fn pairs(&self) -> MutexGuard<'_, BufferPairs> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Copies by way of pairs. Returns `false` if it is not for them to do, and then has done nothing.
    ///
    /// # Safety
    /// As for [`Context::write`](super::context::Context::write) and [`Context::read`](super::context::Context::read). The context is the thread's, and the stream is its own for copies.
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
        // What one thread has begun when another one failed is over here. If that cannot be known, buffers are not used again.
        let ended = context.finish(stream);
        if ended.is_ok() {
            pairs.push(own);
            self.pairs().free.append(&mut pairs);
        }
        copied.and(ended).map(|()| true)
    }

    /// BufferPairs for so many bytes: none, if there is no memory for them or others have all of them.
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
    /// The context is the thread's.
    fn new(context: &Handle) -> Result<Self, DriverError> {
        let (host, _) = context.pinned(2 * CHUNK)?;
        let first = Buffer { host, event: context.create_event()? };
        let second = Buffer { host: host.wrapping_add(CHUNK), event: context.create_event()? };
        Ok(Self { buffers: [first, second] })
    }
}

impl StagedCopy<'_> {
    /// Takes a chunk that nobody has.
    fn take(&self) -> Option<Chunk> {
        let begin = self.next.fetch_add(1, Ordering::Relaxed).checked_mul(CHUNK)?;
        (begin < self.bytes).then(|| (begin, CHUNK.min(self.bytes - begin)))
    }

    /// Copies chunks until there are none. The context is the thread's.
    fn run(&self, pair: &mut BufferPair) -> Result<(), DriverError> {
        // The chunks that the device is at.
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

    /// Has the device copy a chunk.
    fn begin(&self, buffer: &Buffer, (begin, bytes): Chunk) -> Result<(), DriverError> {
        let api = self.context.api();
        let device = self.device + begin as u64;
        let (code, call) = match self.direction {
            Direction::ToDevice(from) => {
                // SAFETY: the chunk can be read, as whoever made this says; the buffer is as large, and the device is not at it.
                unsafe { buffer.host.copy_from_nonoverlapping(from.add(begin), bytes) };
                // SAFETY: the device's memory is whoever's made this; the buffer stays as it is until its event is over.
                let code =
                    unsafe { (api.copy_to_device)(device, buffer.host.cast(), bytes, self.stream) };
                (code, symbol::copy_to_device)
            }
            Direction::ToHost(_) => {
                // SAFETY: as above; nobody looks at the buffer until its event is over.
                let code =
                    unsafe { (api.copy_to_host)(buffer.host.cast(), device, bytes, self.stream) };
                (code, symbol::copy_to_host)
            }
        };
        self.context.check(code, call)?;
        // SAFETY: event and stream are of this context, which is the thread's.
        let code = unsafe { (api.event_record)(buffer.event, self.stream) };
        self.context.check(code, symbol::event_record)
    }

    /// Waits for the device.
    fn wait(&self, buffer: &Buffer) -> Result<(), DriverError> {
        // SAFETY: an event of this context, which is the thread's.
        let code = unsafe { (self.context.api().event_synchronize)(buffer.event) };
        self.context.check(code, symbol::event_synchronize)
    }

    /// Takes a chunk out of its buffer.
    fn empty(&self, buffer: &Buffer, (begin, bytes): Chunk) {
        if let Direction::ToHost(to) = self.direction {
            // SAFETY: the chunk can be written, as whoever made this says, and is this thread's; the device has filled the buffer.
            unsafe { to.add(begin).copy_from_nonoverlapping(buffer.host, bytes) };
        }
    }
}
