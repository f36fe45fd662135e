//! Templates: pieces of text and placeholders.

use core::cell::Cell;
use core::fmt::{self, Write};

use crate::memory::{Memory, number, word, word_at};
use crate::options::Options;
use crate::value::{Context, Value, write_lossy};
use crate::{ARGUMENT_SIZE, COUNT_OFFSET};

/// Shown where a message is damaged.
pub(crate) const DAMAGED: &str = "…";

/// Writes the text of a message, up to `limit` bytes: `template` and `args` are the two words of
/// its `core::fmt::Arguments`. Where the memory does not have what the message needs, the text says
/// so or ends.
///
/// # Errors
/// What `out` gives.
pub fn format(
    out: &mut dyn Write,
    memory: &dyn Memory,
    template: u64,
    args: u64,
    limit: usize,
) -> fmt::Result {
    let context = Context { memory, full: Cell::new(false) };
    let mut limited = Limited { out, left: limit, full: &context.full, failed: false };
    // An error is either that of `out` or means that the limit was met.
    let _ = write_message(&mut limited, &context, template, args, 0);
    if limited.failed { Err(fmt::Error) } else { Ok(()) }
}

/// Writes at most so many bytes, then an ellipsis, then nothing.
struct Limited<'a> {
    out: &'a mut dyn Write,
    left: usize,
    full: &'a Cell<bool>,
    failed: bool,
}

impl Write for Limited<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        if self.full.get() {
            return Err(fmt::Error);
        }
        let fits = text.len() <= self.left;
        let written = if fits { text } else { &text[..text.floor_char_boundary(self.left)] };
        self.left -= written.len();
        let mut result = self.out.write_str(written);
        if !fits {
            result = result.and_then(|()| self.out.write_str(DAMAGED));
        }
        self.failed = result.is_err();
        self.full.set(!fits || self.failed);
        if self.full.get() { Err(fmt::Error) } else { Ok(()) }
    }
}

/// The message itself. `depth` counts messages within messages.
pub(crate) fn write_message(
    out: &mut dyn Write,
    context: &Context<'_>,
    template: u64,
    args: u64,
    depth: u32,
) -> fmt::Result {
    if args & 1 != 0 {
        let text = usize::try_from(args >> 1).ok();
        return match text.and_then(|len| context.memory.bytes(template, len)) {
            Some(text) => write_lossy(out, text),
            None => out.write_str(DAMAGED),
        };
    }
    let mut cursor = Cursor { memory: context.memory, at: template };
    let mut next = 0;
    loop {
        let Some(step) = step(&mut cursor, args, &mut next) else {
            return out.write_str(DAMAGED);
        };
        match step {
            Step::End => return Ok(()),
            Step::Text(text) => write_lossy(out, text)?,
            Step::Placeholder(value, descriptor, options) => {
                let value = Value::new(context, value, descriptor, depth + 1);
                options.write(out, &value)?;
            }
        }
    }
}

/// What a template says next.
enum Step<'a> {
    End,
    Text(&'a [u8]),
    Placeholder(u64, u64, Options),
}

struct Cursor<'a> {
    memory: &'a dyn Memory,
    at: u64,
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
fn step<'a>(cursor: &mut Cursor<'a>, args: u64, next: &mut u64) -> Option<Step<'a>> {
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
