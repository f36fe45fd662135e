//! The local memory of groups: one piece for each thread, kept from launch to launch.

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::cell::Cell;
use std::ptr::NonNull;

/// Local memory is at least so aligned.
pub(super) const ALIGN: usize = 128;

thread_local! {
    static KEPT: Cell<Option<Piece>> = const { Cell::new(None) };
}

/// A piece of initialised memory.
#[derive(Debug)]
struct Piece {
    address: NonNull<u8>,
    layout: Layout,
}

impl Drop for Piece {
    fn drop(&mut self) {
        // SAFETY: allocated with this layout, whose size is not 0.
        unsafe { dealloc(self.address.as_ptr(), self.layout) };
    }
}

/// Memory for one group at a time.
#[derive(Debug)]
pub(super) struct GroupMemory {
    piece: Option<Piece>,
}

impl GroupMemory {
    /// Memory of at least that size and alignment, initialised: to zeros, or to what another group has left.
    pub(super) fn take(layout: Layout) -> Self {
        // A thread that is ending may have given it back.
        let kept = KEPT.try_with(Cell::take).unwrap_or_default().filter(|kept| {
            kept.layout.size() >= layout.size() && kept.layout.align() >= layout.align()
        });
        if layout.size() == 0 {
            return Self { piece: kept };
        }
        let piece = kept.unwrap_or_else(|| {
            // SAFETY: the size is not 0.
            let address = unsafe { alloc_zeroed(layout) };
            let Some(address) = NonNull::new(address) else { handle_alloc_error(layout) };
            Piece { address, layout }
        });
        Self { piece: Some(piece) }
    }

    pub(super) fn address(&self) -> *mut u8 {
        match &self.piece {
            Some(piece) => piece.address.as_ptr(),
            None => std::ptr::without_provenance_mut(1 << 16),
        }
    }
}

impl Drop for GroupMemory {
    fn drop(&mut self) {
        // Kept for the thread's next launch, unless the thread is ending.
        if let Some(piece) = self.piece.take() {
            let mut piece = Some(piece);
            let _ = KEPT.try_with(|kept| kept.set(piece.take()));
        }
    }
}
