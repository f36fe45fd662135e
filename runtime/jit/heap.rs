//! Functions that kernels on GPUs call to allocate and to free. The build script compiles this to
//! bitcode, and stage 2 links it to kernels; it is no part of the library.
#![no_std]

use schism_jit_abi::heap::{self, Heap};

/// Takes a block; null if there is none.
///
/// # Safety
/// As for [`heap::take`].
#[unsafe(export_name = "schism.heap.take")]
pub unsafe extern "C" fn take(heap: *mut Heap, size: u64, align: u64, item: u64) -> *mut u8 {
    // SAFETY: the caller's promise.
    unsafe { heap::take(heap, size, align, item) }
}

/// Gives a block back; `false` if it is none of the heap's.
///
/// # Safety
/// As for [`heap::give`].
#[unsafe(export_name = "schism.heap.give")]
pub unsafe extern "C" fn give(heap: *mut Heap, block: *mut u8, size: u64, align: u64) -> bool {
    // SAFETY: the caller's promise.
    unsafe { heap::give(heap, block, size, align) }
}

/// Takes a block in the place of another one, with as much of what is in it as there is room for; null if there is
/// none. Of two layouts with the same block, that one.
///
/// # Safety
/// As for [`heap::give`].
#[unsafe(export_name = "schism.heap.change")]
pub unsafe extern "C" fn change(
    heap: *mut Heap,
    block: *mut u8,
    size: u64,
    align: u64,
    new_size: u64,
    item: u64,
) -> *mut u8 {
    if heap::is_same_block(size, new_size, align) {
        return block;
    }
    // SAFETY: the caller's promise; the new block is as large as it says.
    unsafe {
        let new = take(heap, new_size, align, item);
        if !new.is_null() {
            new.copy_from_nonoverlapping(block, size.min(new_size) as usize);
            if !give(heap, block, size, align) {
                return core::ptr::null_mut();
            }
        }
        new
    }
}
