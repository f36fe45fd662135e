//! Shapes: messages of which the kernel leaves only what differs from one to the next.
//!
//! Most panics show a few numbers: an index and a length. All else of their messages is the same
//! whenever they panic, so stage 2 writes it down as a constant of the kernel, the *shape*, and
//! such a panic leaves the address of the shape and its numbers, the *words*. The host makes of
//! both what the kernel would have had in its own memory, the *room*:
//!
//! ```text
//!  shape ─► { words: 2, parts: 6 }                    room
//!           { 8 bytes at  0: @template       }   ─►    0: template   8: args ──┐
//!           { 8 bytes at  8: 16 bytes on     }        16: value ──┐  24: descriptor of u64   ◄─┘
//!           { 8 bytes at 16: 48 bytes on     }        32: …       │  40: …
//!           { 8 bytes at 24: @descriptor     }        48: 7  ◄────┘
//!           { 8 bytes at 48: word 0          } …
//!  words ─► 7, 5
//! ```
//!
//! The room begins with the two words of the message's `core::fmt::Arguments`.

use core::mem::size_of;

use crate::memory::{Memory, word, word_at};

/// What a shape begins with; its [`ShapePart`]s follow.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// How many words belong to it, at most [`MOST_WORDS`].
    pub words: u32,
    /// How many parts follow, at most [`MOST_PARTS`].
    pub parts: u32,
}

/// Some bytes of the room. What no part says is 0.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ShapePart {
    /// One of the `PART_` constants.
    pub kind: u8,
    /// How many bytes, at most 8.
    pub size: u8,
    /// 0.
    pub zero: u16,
    /// Where they are in the room.
    pub offset: u32,
    /// What the kind says.
    pub value: u64,
}

const _: () = assert!(size_of::<Shape>() == 8 && size_of::<ShapePart>() == 16);

/// The bytes are those of [`ShapePart::value`], a number or an address.
pub const PART_CONSTANT: u8 = 0;
/// The bytes are those of the word with this number.
pub const PART_WORD: u8 = 1;
/// The bytes are the address of what is at this offset in the room.
pub const PART_ROOM: u8 = 2;

/// The most words of a message.
pub const MOST_WORDS: usize = 16;
/// The most parts of a shape.
pub const MOST_PARTS: usize = 96;
/// The bytes of a room.
pub const ROOM: usize = 512;

/// Where rooms seem to be: where no device has memory.
pub const ROOM_ADDRESS: u64 = 0x5c41 << 48;

/// Makes the room of a message of this shape; `None` if the shape or one of the words is not there.
pub(crate) fn room(
    memory: &dyn Memory,
    shape: u64,
    of_words: impl Fn(usize) -> Option<u64>,
) -> Option<[u8; ROOM]> {
    let counts = word(memory, shape)?;
    let (words, parts) = (counts as u32 as usize, (counts >> 32) as usize);
    if words > MOST_WORDS || parts > MOST_PARTS {
        return None;
    }
    let first = shape.checked_add(size_of::<Shape>() as u64)?;
    let mut room = [0; ROOM];
    for part in 0..parts as u64 {
        let head = word_at(memory, first, 2 * part)?;
        let value = word_at(memory, first, 2 * part + 1)?;
        let [kind, size, 0, 0, ..] = head.to_le_bytes() else { return None };
        let value = match kind {
            PART_CONSTANT => value,
            PART_WORD => of_words(usize::try_from(value).ok().filter(|index| *index < words)?)?,
            PART_ROOM if value < ROOM as u64 => ROOM_ADDRESS + value,
            _ => return None,
        };
        let begin = (head >> 32) as usize;
        let end = begin.checked_add(size.into())?;
        room.get_mut(begin..end)?.copy_from_slice(value.to_le_bytes().get(..size.into())?);
    }
    Some(room)
}
