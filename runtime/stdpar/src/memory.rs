//! Memory for values of types that are not known.

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};

/// A block of memory. Values in it are not dropped with it.
pub(crate) struct Memory {
    begin: *mut u8,
    layout: Layout,
}

impl Memory {
    /// Memory that is not initialised, for some values next to each other; `None` if there is too little.
    pub(crate) fn for_some(value: Layout, count: usize) -> Option<Self> {
        let size = value.size().checked_mul(count)?;
        let layout = Layout::from_size_align(size, value.align()).ok()?;
        if size == 0 {
            return Some(Self { begin: std::ptr::without_provenance_mut(layout.align()), layout });
        }
        // SAFETY: the size is not zero.
        let begin = unsafe { alloc(layout) };
        (!begin.is_null()).then_some(Self { begin, layout })
    }

    /// Memory that is not initialised.
    pub(crate) fn new(layout: Layout) -> Self {
        Self::for_some(layout, 1).unwrap_or_else(|| handle_alloc_error(layout))
    }

    /// Memory with zeros.
    pub(crate) fn zeroed(layout: Layout) -> Self {
        let this = Self::new(layout);
        // SAFETY: there are so many bytes.
        unsafe { this.begin.write_bytes(0, layout.size()) };
        this
    }

    pub(crate) const fn begin(&self) -> *mut u8 {
        self.begin
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        if self.layout.size() != 0 {
            // SAFETY: it was allocated with this layout, and is freed once.
            unsafe { dealloc(self.begin, self.layout) }
        }
    }
}
