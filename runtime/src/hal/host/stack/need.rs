//! How much stack something takes.

use crate::hal::host::stack::settings::default_size;

/// Bytes that functions of the process may take which a kernel calls: those that write messages, and the mathematics library's. So
/// much is added to what a kernel needs by itself.
const RESERVE: usize = 128 << 10;

/// The stack that running something takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Need {
    /// Bytes.
    pub(super) bytes: usize,
    /// Whether it may be more: then there must be a guard page.
    pub(super) open: bool,
}

impl Need {
    /// What one work-item takes, of a kernel of which so much is known.
    #[inline]
    pub(crate) fn of_item(known: Option<usize>) -> Self {
        match known {
            Some(bytes) => Self { bytes: bytes.saturating_add(RESERVE), open: false },
            None => Self { bytes: default_size(), open: true },
        }
    }

    /// What this crate's own functions take, which run work-items on stacks of their own.
    pub(crate) const fn of_scheduler() -> Self {
        Self { bytes: RESERVE, open: false }
    }

    /// Bytes.
    pub(crate) const fn bytes(self) -> usize {
        self.bytes
    }
}
