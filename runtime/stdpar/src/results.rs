//! Room for the results of a launch, which a device writes and the host reads.
//!
//! It is the system's memory, not the program's heap: a device with separate memory writes it
//! over the link, and pages of a heap that is shared with it would move there and back. Each thread
//! keeps its room for the next launch, so most launches find it mapped, and visible to the device.

use std::alloc::{GlobalAlloc, Layout, System, handle_alloc_error};
use std::cell::Cell;
use std::ptr::NonNull;

/// The alignment of all rooms: a line of the cache.
const ALIGN: usize = 128;

/// A room is this large at least.
const LEAST: usize = 32 << 10;

/// Room for some results.
pub(crate) struct Results {
    /// There until this is dropped.
    block: Option<Block>,
    start: NonNull<u8>,
    /// The bytes of one.
    size: usize,
}

impl Results {
    /// Room for so many results. It is not initialised.
    pub(crate) fn new(result: Layout, count: usize) -> Self {
        assert!(result.align() <= ALIGN, "groups have results of lower alignment only");
        let size = result.size();
        let bytes = count.saturating_mul(size);
        let kept = KEPT.try_with(Cell::take).ok().flatten();
        let large = kept.filter(|kept| kept.layout.size() >= bytes);
        let block = large.unwrap_or_else(|| Block::new(bytes));
        Self { start: block.start, block: Some(block), size }
    }

    /// The first one's place.
    pub(crate) const fn begin(&mut self) -> *mut u8 {
        self.start.as_ptr()
    }

    /// The place of a result.
    pub(crate) const fn at(&self, index: usize) -> *mut u8 {
        self.start.as_ptr().wrapping_add(index * self.size)
    }
}

impl Drop for Results {
    fn drop(&mut self) {
        let block = self.block.take();
        // One that was put there meanwhile is freed, and so is this one at the thread's end.
        let _ = KEPT.try_with(|kept| drop(kept.replace(block)));
    }
}

thread_local! {
    static KEPT: Cell<Option<Block>> = const { Cell::new(None) };
}

/// A block of the system's memory.
struct Block {
    start: NonNull<u8>,
    layout: Layout,
}

impl Block {
    fn new(bytes: usize) -> Self {
        let size = bytes.max(LEAST).next_power_of_two();
        let Ok(layout) = Layout::from_size_align(size, ALIGN) else {
            panic!("results take more memory than there are addresses")
        };
        // SAFETY: the size is not zero.
        let start = unsafe { System.alloc(layout) };
        let Some(start) = NonNull::new(start) else { handle_alloc_error(layout) };
        Self { start, layout }
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        // SAFETY: it was allocated with this layout, and is freed once.
        unsafe { System.dealloc(self.start.as_ptr(), self.layout) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_room_is_kept_and_is_not_shared() {
        let [words, shorts] = [Layout::new::<u64>(), Layout::new::<u32>()];
        let mut first = Results::new(words, 10);
        let at = first.begin();
        assert_eq!(first.at(3).addr(), at.addr() + 24);
        let mut second = Results::new(words, 10);
        assert_ne!(at.addr(), second.begin().addr());
        drop(second);
        drop(first);
        assert_eq!(Results::new(shorts, 1 << 12).begin().addr(), at.addr());
        let larger = Results::new(shorts, 1 << 16);
        // SAFETY: the last place.
        unsafe { larger.at((1 << 16) - 1).cast::<u32>().write(1) };
        assert!(larger.block.as_ref().is_some_and(|block| block.layout.size() >= 4 << 16));
    }
}
