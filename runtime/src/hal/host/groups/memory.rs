//! The local memory of groups: one block for each thread, kept from launch to launch.

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::cell::Cell;
use std::ptr::NonNull;

/// The minimum alignment of local memory.
pub(super) const ALIGN: usize = 128;

thread_local! {
    static KEPT: Cell<Option<Block>> = const { Cell::new(None) };
}

/// A block of initialised memory.
#[derive(Debug)]
struct Block {
    address: NonNull<u8>,
    layout: Layout,
}

impl Drop for Block {
    fn drop(&mut self) {
        // SAFETY: allocated with this layout, whose size is not 0.
        unsafe { dealloc(self.address.as_ptr(), self.layout) };
    }
}

/// Memory for one group at a time.
#[derive(Debug)]
pub(super) struct GroupMemory {
    block: Option<Block>,
}

impl GroupMemory {
    /// Takes memory of at least that size and alignment. It is initialised: with zeros, or by
    /// another group.
    pub(super) fn take(layout: Layout) -> Self {
        // A thread that is ending may have freed it.
        let kept = KEPT.try_with(Cell::take).unwrap_or_default().filter(|kept| {
            kept.layout.size() >= layout.size() && kept.layout.align() >= layout.align()
        });
        if layout.size() == 0 {
            return Self { block: kept };
        }
        let block = kept.unwrap_or_else(|| {
            // SAFETY: the size is not 0.
            let address = unsafe { alloc_zeroed(layout) };
            let Some(address) = NonNull::new(address) else { handle_alloc_error(layout) };
            Block { address, layout }
        });
        Self { block: Some(block) }
    }

    pub(super) fn address(&self) -> *mut u8 {
        match &self.block {
            Some(block) => block.address.as_ptr(),
            None => std::ptr::without_provenance_mut(1 << 16),
        }
    }
}

impl Drop for GroupMemory {
    fn drop(&mut self) {
        // Kept for the thread's next launch, unless the thread is ending.
        if let Some(block) = self.block.take() {
            let mut block = Some(block);
            let _ = KEPT.try_with(|kept| kept.set(block.take()));
        }
    }
}
