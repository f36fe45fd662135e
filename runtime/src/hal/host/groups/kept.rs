//! What the work-items of a group keep across barriers, in kernels that were cut at these.
//!
//! Generated code runs the whole group and asks for memory: one array for each value, with an
//! element for each work-item. A thread runs one group at a time, so it needs one block, which it
//! keeps from launch to launch.

use std::alloc::{Layout, alloc, dealloc};
use std::cell::Cell;
use std::ffi::c_void;
use std::ptr::{NonNull, null_mut};

use crate::launch::failure::Failure;

/// What generated code relies on.
const ALIGN: usize = 64;

/// The most bytes that a thread keeps when a launch has ended.
const MOST_KEPT: usize = 4 << 20;

thread_local! {
    static BLOCK: Cell<Option<Block>> = const { Cell::new(None) };
}

/// A block of memory.
#[derive(Debug)]
struct Block {
    address: NonNull<u8>,
    layout: Layout,
}

impl Block {
    fn new(bytes: usize) -> Option<Self> {
        // Groups of a launch differ little: the next one may need some more.
        let size = bytes.max(1).checked_next_power_of_two()?;
        let layout = Layout::from_size_align(size, ALIGN).ok()?;
        // SAFETY: the size is not 0.
        let address = NonNull::new(unsafe { alloc(layout) })?;
        Some(Self { address, layout })
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        // SAFETY: allocated with this layout.
        unsafe { dealloc(self.address.as_ptr(), self.layout) };
    }
}

/// The memory of the groups that one thread runs, one after the other, and why one of them ended
/// early.
#[derive(Default)]
pub(super) struct Kept {
    block: Cell<Option<Block>>,
    failure: Cell<Option<Failure>>,
}

impl Kept {
    /// Why the group ended early, if it was not a panic.
    pub(super) fn failure(&self) -> Option<Failure> {
        self.failure.take()
    }

    /// Memory for the next group.
    fn memory(&self, bytes: usize) -> *mut u8 {
        let known = self.block.take().or_else(|| {
            // A thread that is ending may have freed it.
            BLOCK.try_with(Cell::take).unwrap_or_default()
        });
        let enough = known.filter(|block| block.layout.size() >= bytes);
        match enough.or_else(|| Block::new(bytes)) {
            Some(block) => {
                let address = block.address.as_ptr();
                self.block.set(Some(block));
                address
            }
            None => {
                self.failure.set(Some(Failure::NoMemory { bytes }));
                null_mut()
            }
        }
    }

    /// The number at which all work-items go on.
    fn agree(&self, numbers: &[u32]) -> u32 {
        let Some((&first, rest)) = numbers.split_first() else { return u32::MAX };
        if rest.iter().all(|number| *number == first) {
            return first;
        }
        let ended = numbers.iter().filter(|number| **number == 0).count();
        let waiting = numbers.len() - ended;
        // The caller adds the group.
        self.failure.set(Some(Failure::DivergentBarrier { group: [0; 3], waiting, ended }));
        u32::MAX
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        let mut block = self.block.take().filter(|block| block.layout.size() <= MOST_KEPT);
        if block.is_some() {
            let _ = BLOCK.try_with(|kept| kept.set(block.take()));
        }
    }
}

/// Generated code calls this for memory.
///
/// # Safety
/// `data` is the [`Kept`] of the thread's group.
pub(super) unsafe extern "C" fn memory(data: *mut c_void, bytes: usize) -> *mut u8 {
    // SAFETY: the caller's promise.
    unsafe { (*data.cast::<Kept>()).memory(bytes) }
}

/// Generated code calls this where work-items of a group may go on at different barriers.
///
/// # Safety
/// `data` is the [`Kept`] of the thread's group, and `numbers` points to `items` numbers.
pub(super) unsafe extern "C" fn agree(data: *mut c_void, numbers: *const u32, items: usize) -> u32 {
    // SAFETY: the caller's promise.
    unsafe { (*data.cast::<Kept>()).agree(std::slice::from_raw_parts(numbers, items)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_kept_and_grows() {
        let kept = Kept::default();
        let first = kept.memory(1000);
        assert!(first.addr().is_multiple_of(ALIGN));
        assert_eq!(kept.memory(500), first);
        assert!(!kept.memory(100_000).is_null());
        drop(kept);
        let again = Kept::default();
        let large = again.memory(100_000);
        assert_eq!(again.memory(10), large);
    }

    #[test]
    fn what_is_too_much_is_a_failure() {
        let kept = Kept::default();
        assert!(kept.memory(usize::MAX / 4).is_null());
        assert!(matches!(kept.failure(), Some(Failure::NoMemory { .. })));
        assert!(kept.failure().is_none());
    }

    #[test]
    fn work_items_agree_or_not() {
        let kept = Kept::default();
        assert_eq!(kept.agree(&[3; 40]), 3);
        assert_eq!(kept.agree(&[0]), 0);
        assert!(kept.failure().is_none());
        assert_eq!(kept.agree(&[3, 3, 0, 3]), u32::MAX);
        let found = kept.failure();
        assert!(
            matches!(found, Some(Failure::DivergentBarrier { waiting: 3, ended: 1, .. })),
            "{found:?}"
        );
    }
}
