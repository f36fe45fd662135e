//! Room for the results of a launch, which a device writes and the host reads.
//!
//! It is the system's memory, not the program's heap: a device with separate memory writes it
//! over the link, and pages of a heap that is shared with it would move there and back. Each thread
//! keeps its room for the next launch, so most launches find it mapped, and visible to the device.

use std::alloc::{GlobalAlloc, Layout, System, handle_alloc_error};
use std::cell::Cell;
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::ptr::NonNull;

/// The alignment of all rooms: a line of the cache.
const ALIGN: usize = 128;

/// A room is this large at least.
const LEAST: usize = 32 << 10;

/// Room for some results.
pub(crate) struct Results<R> {
    /// There until this is dropped.
    block: Option<Block>,
    start: NonNull<u8>,
    count: usize,
    results: PhantomData<R>,
}

impl<R> Results<R> {
    /// Room for so many. It is not initialised.
    pub(crate) fn new(count: usize) -> Self {
        const { assert!(align_of::<R>() <= ALIGN) };
        let bytes = count.saturating_mul(size_of::<R>());
        let kept = KEPT.try_with(Cell::take).ok().flatten();
        let large = kept.filter(|kept| kept.layout.size() >= bytes);
        let block = large.unwrap_or_else(|| Block::new(bytes));
        Self { start: block.start, block: Some(block), count, results: PhantomData }
    }

    /// The first one's place.
    pub(crate) const fn as_mut_ptr(&mut self) -> *mut MaybeUninit<R> {
        self.start.as_ptr().cast()
    }

    /// Takes all results.
    ///
    /// # Safety
    /// All are there, and none was taken.
    pub(crate) unsafe fn take(&mut self) -> impl Iterator<Item = R> {
        let results = self.as_mut_ptr();
        // SAFETY: the room has as many, and the caller says that they are there; each is read once.
        (0..self.count).map(move |index| unsafe { results.add(index).read().assume_init() })
    }
}

impl<R> Drop for Results<R> {
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
        let mut first = Results::<u64>::new(10);
        let at = first.as_mut_ptr();
        for index in 0..10 {
            // SAFETY: there is room.
            unsafe { at.add(index).write(MaybeUninit::new(index as u64)) };
        }
        let mut second = Results::<u64>::new(10);
        assert_ne!(at.addr(), second.as_mut_ptr().addr());
        // SAFETY: all are there.
        assert_eq!(unsafe { first.take() }.sum::<u64>(), 45);
        drop(second);
        drop(first);
        assert_eq!(Results::<u32>::new(1 << 12).as_mut_ptr().addr(), at.addr());
        let mut larger = Results::<u32>::new(1 << 16);
        // SAFETY: the last place.
        unsafe { larger.as_mut_ptr().add((1 << 16) - 1).write(MaybeUninit::new(1)) };
        assert!(larger.block.as_ref().is_some_and(|block| block.layout.size() >= 4 << 16));
    }
}
