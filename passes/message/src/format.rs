//! The text of a message.

use core::cell::Cell;
use core::fmt::{self, Write};

use crate::memory::Memory;
use crate::template::DAMAGED;
use crate::value::{Context, write_message};

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
