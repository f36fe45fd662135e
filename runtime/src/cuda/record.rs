//! Records: where kernels leave the messages of panics, and what they print.
//!
//! A record lies in memory of the host that the device reaches. Each launch in flight that may leave a message has one; the host
//! reads it when the launch is over. The layout is `schism_jit_abi`'s.

use std::fmt::Write as _;
use std::mem::{offset_of, size_of};
use std::sync::{Mutex, PoisonError};

use schism_jit_abi::{
    GPU_MESSAGE_COMPLETE, GPU_MESSAGE_CUT, GPU_MESSAGE_IN_GROUP, GPU_STATE_FREE, GpuChunk,
    GpuMessage, GpuRecord,
};
use schism_message::Recorded;

use super::api::DevicePtr;
use super::context::Context;
use crate::error::DriverError;
use crate::panics::Panic;

/// Room for a panic's message.
const PANIC_BYTES: usize = 16 << 10;
/// Room for what a launch prints.
const PRINT_BYTES: usize = 1 << 20;
/// The longest message, in bytes.
const LIMIT: usize = 1 << 16;
/// Records are got from the driver so many at a time, or one with room for printing.
const AT_ONCE: usize = 8;

const HEADER: usize = size_of::<GpuRecord>();
const PLAIN: usize = HEADER + PANIC_BYTES;
const PRINTING: usize = PLAIN + PRINT_BYTES;

/// A record. It is the driver's memory, and goes with the context.
#[derive(Debug)]
pub(super) struct Record {
    host: *mut u8,
    pub(super) device: DevicePtr,
    prints: bool,
}

// SAFETY: it is the only one that refers to its memory, but for a launch in flight.
unsafe impl Send for Record {}
// SAFETY: its memory is read and written through `&mut` only.
unsafe impl Sync for Record {}

/// The records of a context that no launch has.
#[derive(Debug, Default)]
pub(super) struct Records {
    plain: Mutex<Vec<Record>>,
    printing: Mutex<Vec<Record>>,
}

/// What a launch left.
#[derive(Debug, Default)]
pub(super) struct Left {
    pub(super) panic: Option<Panic>,
    pub(super) printed: Vec<String>,
    /// Messages that had no room.
    pub(super) lost: u64,
}

impl Records {
    /// An empty record, with room for printing or without.
    pub(super) fn take(&self, context: &Context, prints: bool) -> Result<Record, DriverError> {
        let (kept, size) = if prints { (&self.printing, PRINTING) } else { (&self.plain, PLAIN) };
        let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(record) = kept.pop() {
            return Ok(record);
        }
        let count = if prints { 1 } else { AT_ONCE };
        let (host, device) = context.pinned(size * count)?;
        // SAFETY: so many bytes were allocated, and nobody else knows them.
        unsafe { host.write_bytes(0, size * count) };
        for index in 0..count {
            let offset = index * size;
            let mut record = Record {
                // SAFETY: inside of what was allocated.
                host: unsafe { host.add(offset) },
                device: device + offset as u64,
                prints,
            };
            record.clear(0);
            kept.push(record);
        }
        kept.pop().ok_or_else(|| DriverError {
            call: "",
            code: 0,
            name: String::new(),
            text: "no record".to_owned(),
        })
    }

    /// Takes a record back whose launch is over.
    pub(super) fn give(&self, record: Record) {
        let kept = if record.prints { &self.printing } else { &self.plain };
        kept.lock().unwrap_or_else(PoisonError::into_inner).push(record);
    }
}

impl Record {
    fn header(&self) -> GpuRecord {
        // SAFETY: every record begins with an aligned header; any bytes are numbers. Volatile, because the device wrote it.
        unsafe { self.host.cast::<GpuRecord>().read_volatile() }
    }

    /// Makes it as a launch wants it; `used` bytes of the room for printing are in use.
    fn clear(&mut self, used: usize) {
        let header = GpuRecord {
            state: GPU_STATE_FREE,
            panic_bytes: PANIC_BYTES as u32,
            print_bytes: if self.prints { PRINT_BYTES as u64 } else { 0 },
            print_used: 0,
            print_lost: 0,
        };
        let rooms = PANIC_BYTES + if self.prints { used.min(PRINT_BYTES) } else { 0 };
        // SAFETY: the record is as large, and no launch has it.
        unsafe {
            self.host.cast::<GpuRecord>().write_volatile(header);
            self.host.add(HEADER).write_bytes(0, rooms);
        }
    }

    /// What the launch left, which is over. The record is empty again then.
    #[inline]
    pub(super) fn collect(&mut self) -> Option<Left> {
        let header = self.header();
        let nothing =
            header.state == GPU_STATE_FREE && header.print_used == 0 && header.print_lost == 0;
        if nothing { None } else { Some(self.collect_all(header)) }
    }

    #[cold]
    fn collect_all(&mut self, header: GpuRecord) -> Left {
        let mut left = Left { lost: header.print_lost, ..Left::default() };
        let size = if self.prints { PRINTING } else { PLAIN };
        // SAFETY: so many initialised bytes, which nobody writes now that the launch is over.
        let bytes = unsafe { std::slice::from_raw_parts(self.host, size) };
        let (rooms, prints) = bytes[HEADER..].split_at(PANIC_BYTES);
        if header.state != GPU_STATE_FREE {
            left.panic = Some(panic(rooms));
        }
        let used = usize::try_from(header.print_used).unwrap_or(usize::MAX).min(prints.len());
        let mut rest = &prints[..used];
        while let Some((message, after)) = Message::first(rest) {
            rest = after;
            if message.flags & GPU_MESSAGE_COMPLETE != 0 {
                left.printed.push(message.text());
            } else {
                left.lost += 1;
            }
        }
        self.clear(used);
        left
    }
}

/// A message in a record.
struct Message<'a> {
    flags: u32,
    global_id: [u64; 3],
    local_id: [u64; 3],
    template: u64,
    args: u64,
    location: u64,
    chunks: Vec<(u64, &'a [u8])>,
}

fn word(bytes: &[u8], at: usize) -> Option<u64> {
    let bytes = bytes.get(at..at.checked_add(8)?)?;
    Some(u64::from_le_bytes(bytes.try_into().ok()?))
}

fn half(bytes: &[u8], at: usize) -> Option<u32> {
    let bytes = bytes.get(at..at.checked_add(4)?)?;
    Some(u32::from_le_bytes(bytes.try_into().ok()?))
}

impl<'a> Message<'a> {
    /// The first message, and what comes behind it.
    fn first(bytes: &'a [u8]) -> Option<(Self, &'a [u8])> {
        let size = half(bytes, offset_of!(GpuMessage, size))? as usize;
        if size < size_of::<GpuMessage>() || size > bytes.len() {
            return None;
        }
        let (message, rest) = bytes.split_at(size);
        let field = |at| word(message, at);
        let three = |at| Some([field(at)?, field(at + 8)?, field(at + 16)?]);
        let mut chunks = Vec::new();
        let mut at = size_of::<GpuMessage>();
        while let (Some(address), Some(len)) =
            (field(at + offset_of!(GpuChunk, address)), field(at + offset_of!(GpuChunk, len)))
        {
            at += size_of::<GpuChunk>();
            let Some(end) = usize::try_from(len).ok().and_then(|len| at.checked_add(len)) else {
                break;
            };
            let Some(chunk) = message.get(at..end) else { break };
            chunks.push((address, chunk));
            at = end.next_multiple_of(16);
        }
        let message = Self {
            flags: half(message, offset_of!(GpuMessage, flags))?,
            global_id: three(offset_of!(GpuMessage, global_id))?,
            local_id: three(offset_of!(GpuMessage, local_id))?,
            template: field(offset_of!(GpuMessage, template))?,
            args: field(offset_of!(GpuMessage, args))?,
            location: field(offset_of!(GpuMessage, location))?,
            chunks,
        };
        Some((message, rest))
    }

    fn text(&self) -> String {
        let mut text = String::new();
        // A `String` takes everything.
        let _ = schism_message::format(
            &mut text,
            &Recorded(&self.chunks),
            self.template,
            self.args,
            LIMIT,
        );
        if self.flags & GPU_MESSAGE_CUT != 0 {
            let _ = write!(text, " (the rest of the message had no room)");
        }
        text
    }

    /// `file:line:column`.
    fn location(&self) -> Option<String> {
        use schism_message::Memory as _;
        if self.location == 0 {
            return None;
        }
        let memory = Recorded(&self.chunks);
        let location = memory.bytes(self.location, 24)?;
        let (file, len) = (word(location, 0)?, usize::try_from(word(location, 8)?).ok()?);
        let file = String::from_utf8_lossy(memory.bytes(file, len)?);
        Some(format!("{file}:{}:{}", half(location, 16)?, half(location, 20)?))
    }
}

fn panic(room: &[u8]) -> Panic {
    let Some((message, _)) = Message::first(room) else {
        return Panic {
            message: "a work-item panicked, and left no message".to_owned(),
            location: None,
            work_item: None,
            local_id: None,
        };
    };
    let id = |id: [u64; 3]| id.map(|id| id as usize);
    Panic {
        message: message.text(),
        location: message.location(),
        work_item: Some(id(message.global_id)),
        local_id: (message.flags & GPU_MESSAGE_IN_GROUP != 0).then(|| id(message.local_id)),
    }
}
