//! The host's side of a message buffer: the messages that a device's work-items have left in it.
//!
//! ```
//! use schism_message::buffer::{MessageBuffer, empty};
//!
//! let mut bytes = [0; 4096];
//! empty(&mut bytes, 1024).expect("it has room for a panic");
//! // … a launch …
//! let buffer = MessageBuffer::new(&bytes).expect("it is whole");
//! assert!(buffer.panic().is_none() && buffer.prints().next().is_none());
//! assert_eq!(buffer.lost(), 0);
//! ```

use core::fmt::{self, Write};
use core::mem::{offset_of, size_of};

use schism_jit_abi::{
    GPU_MESSAGE_COMPLETE, GPU_MESSAGE_CUT, GPU_MESSAGE_IN_GROUP, GPU_MESSAGE_SHAPED,
    GPU_PANIC_LEAST, GPU_STATE_COMPLETE, GPU_STATE_FREE, GpuChunk, GpuMessage, GpuMessageBuffer,
};

use crate::format::format;
use crate::memory::{number, word, word_at};
use crate::shape::{self, ROOM_ADDRESS};
use crate::template::DAMAGED;
use crate::{Memory, Recorded};

/// A message buffer's bytes, after a launch.
#[derive(Clone, Copy, Debug)]
pub struct MessageBuffer<'a> {
    bytes: &'a [u8],
    /// The rooms of a panic and of prints.
    panic: &'a [u8],
    prints: &'a [u8],
}

/// Makes bytes an empty message buffer, with `panic_bytes` of room for a panic's message (rounded
/// to what is allowed) and the rest for what is printed. Only the first bytes of each room are
/// written. Says how many bytes there are for prints; `None` if the bytes are too few.
pub fn empty(bytes: &mut [u8], panic_bytes: u32) -> Option<u64> {
    let panic_bytes = panic_bytes.max(GPU_PANIC_LEAST) & !15;
    let head = size_of::<GpuMessageBuffer>();
    let rest = bytes.len().checked_sub(head + panic_bytes as usize)? & !15;
    bytes[..head].fill(0);
    bytes[offset_of!(GpuMessageBuffer, panic_bytes)..][..4]
        .copy_from_slice(&panic_bytes.to_le_bytes());
    let print_bytes = rest as u64;
    bytes[offset_of!(GpuMessageBuffer, print_bytes)..][..8]
        .copy_from_slice(&print_bytes.to_le_bytes());
    clear_head(&mut bytes[head..]);
    clear_head(&mut bytes[head + panic_bytes as usize..]);
    Some(print_bytes)
}

fn clear_head(bytes: &mut [u8]) {
    let len = bytes.len().min(size_of::<GpuMessage>());
    bytes[..len].fill(0);
}

/// A number in bytes; 0 if it is not there.
fn at<const N: usize>(bytes: &[u8], offset: usize) -> u64 {
    let mut wide = [0; 8];
    if let Some(found) = offset.checked_add(N).and_then(|end| bytes.get(offset..end)) {
        wide[..N].copy_from_slice(found);
    }
    u64::from_le_bytes(wide)
}

impl<'a> MessageBuffer<'a> {
    /// The message buffer that these bytes begin with; `None` if they are fewer than it says.
    #[must_use]
    pub fn new(bytes: &'a [u8]) -> Option<Self> {
        let rooms = bytes.get(size_of::<GpuMessageBuffer>()..)?;
        let panic = at::<4>(bytes, offset_of!(GpuMessageBuffer, panic_bytes));
        let prints = at::<8>(bytes, offset_of!(GpuMessageBuffer, print_bytes));
        let (panic, rest) = rooms.split_at_checked(usize::try_from(panic).ok()?)?;
        let prints = rest.get(..usize::try_from(prints).ok()?)?;
        Some(Self { bytes, panic, prints })
    }

    /// Whether anything was left: if not, the buffer is still empty.
    #[must_use]
    pub fn is_used(&self) -> bool {
        at::<4>(self.bytes, offset_of!(GpuMessageBuffer, state)) != u64::from(GPU_STATE_FREE)
            || at::<8>(self.bytes, offset_of!(GpuMessageBuffer, print_used)) != 0
            || self.lost() != 0
    }

    /// The message of the work-item that panicked.
    #[must_use]
    pub fn panic(&self) -> Option<Message<'a>> {
        let state = at::<4>(self.bytes, offset_of!(GpuMessageBuffer, state));
        (state == u64::from(GPU_STATE_COMPLETE)).then(|| Message::first(self.panic)).flatten()
    }

    /// What was printed, in the order in which work-items found room for it.
    pub fn prints(&self) -> impl Iterator<Item = Message<'a>> + use<'a> {
        let mut rest = self.prints;
        core::iter::from_fn(move || {
            let next = Message::first(rest)?;
            rest = &rest[next.bytes.len()..];
            Some(next)
        })
    }

    /// How many messages found no room.
    #[must_use]
    pub fn lost(&self) -> u64 {
        at::<8>(self.bytes, offset_of!(GpuMessageBuffer, print_lost))
    }
}

/// A message that a work-item has left.
#[derive(Clone, Copy, Debug)]
pub struct Message<'a> {
    /// The whole message.
    bytes: &'a [u8],
}

/// Where a panic stands in the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Location<'a> {
    /// The file.
    pub file: &'a str,
    /// The line, from 1.
    pub line: u32,
    /// The column, from 1.
    pub column: u32,
}

impl<'a> Message<'a> {
    /// The message that a room begins with, if it is complete.
    fn first(room: &'a [u8]) -> Option<Self> {
        let size = at::<4>(room, offset_of!(GpuMessage, size)) as usize;
        let bytes = room.get(..size)?;
        let message = Self { bytes };
        (size >= size_of::<GpuMessage>() && message.has(GPU_MESSAGE_COMPLETE)).then_some(message)
    }

    fn has(&self, flag: u32) -> bool {
        at::<4>(self.bytes, offset_of!(GpuMessage, flags)) as u32 & flag != 0
    }

    fn ids(&self, offset: usize) -> [usize; 3] {
        [0, 8, 16].map(|more| at::<8>(self.bytes, offset + more) as usize)
    }

    /// The work-item's global id, without the launch's offset.
    #[must_use]
    pub fn global_id(&self) -> [usize; 3] {
        self.ids(offset_of!(GpuMessage, global_id))
    }

    /// The work-item's place in its group, in a launch with groups.
    #[must_use]
    pub fn local_id(&self) -> Option<[usize; 3]> {
        self.has(GPU_MESSAGE_IN_GROUP).then(|| self.ids(offset_of!(GpuMessage, local_id)))
    }

    /// Whether some of the message had no room.
    #[must_use]
    pub fn is_cut(&self) -> bool {
        self.has(GPU_MESSAGE_CUT)
    }

    /// Writes the text, up to `limit` bytes; what had no room is shown as such. `device` is the
    /// device's memory, where it can still be read: constants of the kernel. A message that was
    /// copied as a whole needs none of it.
    ///
    /// # Errors
    /// What `out` gives.
    pub fn write(&self, device: &dyn Memory, out: &mut dyn Write, limit: usize) -> fmt::Result {
        let template = at::<8>(self.bytes, offset_of!(GpuMessage, template));
        let args = at::<8>(self.bytes, offset_of!(GpuMessage, args));
        let chunks = self.chunks();
        if !self.has(GPU_MESSAGE_SHAPED) {
            return format(out, &Both(&chunks, device), template, args, limit);
        }
        let Some(room) = shape::room(device, template, |index| self.word(index)) else {
            return out.write_str(DAMAGED);
        };
        let (template, args) = (at::<8>(&room, 0), at::<8>(&room, 8));
        let room = [(ROOM_ADDRESS, &room[..])];
        format(out, &Both(&Recorded(&room), device), template, args, limit)
    }

    /// One of the words after a message that has a shape.
    fn word(&self, index: usize) -> Option<u64> {
        let begin = size_of::<GpuMessage>() + 8 * index;
        let bytes = self.bytes.get(begin..begin + 8)?;
        Some(u64::from_le_bytes(bytes.try_into().ok()?))
    }

    /// Where the panic stands; `None` if that is not known. `device` is as for
    /// [`write`](Self::write).
    #[must_use]
    pub fn location<'m>(&'m self, device: &'m dyn Memory) -> Option<Location<'m>> {
        let location = at::<8>(self.bytes, offset_of!(GpuMessage, location));
        if location == 0 {
            return None;
        }
        let chunks = self.chunks();
        let memory = Both(&chunks, device);
        let len = usize::try_from(word_at(&memory, location, 1)?).ok()?;
        let file = word(&memory, location)?;
        let line = number(&memory, location.checked_add(16)?).map(u32::from_le_bytes)?;
        let column = number(&memory, location.checked_add(20)?).map(u32::from_le_bytes)?;
        let file = chunks.find(file, len).or_else(|| device.bytes(file, len))?;
        Some(Location { file: core::str::from_utf8(file).ok()?, line, column })
    }

    fn chunks(&self) -> Chunks<'a> {
        let shaped = self.has(GPU_MESSAGE_SHAPED);
        let bytes = self.bytes.get(size_of::<GpuMessage>()..).filter(|_| !shaped);
        Chunks(bytes.unwrap_or_default())
    }
}

/// What the first memory does not have, the second may.
struct Both<'a>(&'a dyn Memory, &'a dyn Memory);

impl Memory for Both<'_> {
    fn bytes(&self, address: u64, len: usize) -> Option<&[u8]> {
        self.0.bytes(address, len).or_else(|| self.1.bytes(address, len))
    }
}

/// The part of the device's memory that a message has.
struct Chunks<'a>(&'a [u8]);

impl<'a> Chunks<'a> {
    fn find(&self, address: u64, len: usize) -> Option<&'a [u8]> {
        if len == 0 {
            return Some(&[]);
        }
        let mut rest = self.0;
        while rest.len() >= size_of::<GpuChunk>() {
            let begin = at::<8>(rest, offset_of!(GpuChunk, address));
            let chunk_len = usize::try_from(at::<8>(rest, offset_of!(GpuChunk, len))).ok()?;
            rest = &rest[size_of::<GpuChunk>()..];
            let bytes = rest.get(..chunk_len)?;
            let from = address.checked_sub(begin).and_then(|from| usize::try_from(from).ok());
            let found = from.and_then(|from| bytes.get(from..from.checked_add(len)?));
            if found.is_some() {
                return found;
            }
            rest = rest.get(chunk_len.checked_next_multiple_of(16)?..).unwrap_or_default();
        }
        None
    }
}

impl Memory for Chunks<'_> {
    fn bytes(&self, address: u64, len: usize) -> Option<&[u8]> {
        self.find(address, len)
    }
}
