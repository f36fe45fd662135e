//! Templates: pieces of text and placeholders.

use crate::memory::{Memory, number, word, word_at};
use crate::options::Options;
use crate::{ARGUMENT_SIZE, COUNT_OFFSET};

/// Shown where a message is damaged.
pub(crate) const DAMAGED: &str = "…";

/// What a template says next.
pub(crate) enum Step<'a> {
    End,
    Text(&'a [u8]),
    Placeholder(u64, u64, Options),
}

/// A place in a template.
pub(crate) struct Cursor<'a> {
    pub(crate) memory: &'a dyn Memory,
    pub(crate) at: u64,
}

impl<'a> Cursor<'a> {
    fn take(&mut self, len: usize) -> Option<&'a [u8]> {
        let bytes = self.memory.bytes(self.at, len)?;
        self.at = self.at.checked_add(len as u64)?;
        Some(bytes)
    }

    fn half(&mut self) -> Option<u16> {
        self.take(2)?.try_into().ok().map(u16::from_le_bytes)
    }
}

/// Reads one piece of a template. `next` is the index of the next argument.
pub(crate) fn step<'a>(cursor: &mut Cursor<'a>, args: u64, next: &mut u64) -> Option<Step<'a>> {
    let first = *cursor.take(1)?.first()?;
    match first {
        0 => return Some(Step::End),
        1..0x80 => return cursor.take(first.into()).map(Step::Text),
        0x80 => {
            let len = cursor.half()?;
            return cursor.take(len.into()).map(Step::Text);
        }
        0x81..0xC0 => return None,
        0xC0.. => {}
    }
    let mut options = Options::default();
    if first & 1 != 0 {
        options.flags = cursor.take(4)?.try_into().ok().map(u32::from_le_bytes)?;
    }
    if first & 2 != 0 {
        options.width = cursor.half()?;
    }
    if first & 4 != 0 {
        options.precision = cursor.half()?;
    }
    if first & 8 != 0 {
        *next = cursor.half()?.into();
    }
    let argument = |index: u64| args.checked_add(index.checked_mul(ARGUMENT_SIZE as u64)?);
    let count = |index: u16| {
        let at = argument(index.into())?;
        if word(cursor.memory, at)? != 0 {
            return None;
        }
        number(cursor.memory, at.checked_add(COUNT_OFFSET as u64)?).map(u16::from_le_bytes)
    };
    if first & 16 != 0 {
        options.width = count(options.width)?;
    }
    if first & 32 != 0 {
        options.precision = count(options.precision)?;
    }
    let at = argument(*next)?;
    *next += 1;
    Some(Step::Placeholder(word(cursor.memory, at)?, word_at(cursor.memory, at, 1)?, options))
}
