//! The stack need of a kernel.

use crate::hal::host::stack::settings::default_size;

/// Bytes that functions of the process need which a kernel calls: those that write messages, and
/// the mathematics library. They are added to the need of the kernel itself.
const RESERVE: usize = 128 << 10;

/// The stack that running something needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Need {
    /// Bytes.
    pub(super) bytes: usize,
    /// Whether it may be more: then there must be a guard page.
    pub(super) open: bool,
}

impl Need {
    /// The need of one work-item, if the kernel's need is known to be that much.
    #[inline]
    pub(crate) fn of_item(known: Option<usize>) -> Self {
        match known {
            Some(bytes) => Self { bytes: bytes.saturating_add(RESERVE), open: false },
            None => Self { bytes: default_size(), open: true },
        }
    }

    /// The need of this crate's own functions that run work-items on stacks of their own.
    pub(crate) const fn of_scheduler() -> Self {
        Self { bytes: RESERVE, open: false }
    }

    /// Bytes.
    pub(crate) const fn bytes(self) -> usize {
        self.bytes
    }
}
