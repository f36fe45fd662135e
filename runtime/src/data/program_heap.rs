//! The arena before a program's own global allocator.
//!
//! The program's allocator is asked for every block, as it would be without an arena: it may count
//! blocks, refuse them, or keep a list of them. Where a large block that it gives is not of the
//! arena, a block of the arena takes its place. The allocator's own block stays unused, and goes
//! back to it when the program frees the other.
//!
//! An allocator that takes its memory from the system's, as most that count do, has blocks of the
//! arena from there ([`c_heap`](super::c_heap)), and nothing is replaced.

use std::alloc::{GlobalAlloc, Layout, System};

use crate::data::shared_heap;

/// The functions of the program's allocator: those of `GlobalAlloc`, with a layout as size and
/// alignment.
pub(crate) type Alloc = unsafe extern "C" fn(usize, usize) -> *mut u8;
pub(crate) type Dealloc = unsafe extern "C" fn(*mut u8, usize, usize);
pub(crate) type Realloc = unsafe extern "C" fn(*mut u8, usize, usize, usize) -> *mut u8;

/// Whether the caller is the arena's bookkeeping. There is none before an arena is wanted.
#[inline]
fn is_bookkeeping() -> bool {
    shared_heap::is_used() && shared_heap::is_inside()
}

/// Makes the arena for a block, before the program's allocator is asked and may have locked something.
#[inline]
fn prepare(size: usize, align: usize) {
    if shared_heap::is_used() && shared_heap::is_for(size, align) {
        shared_heap::make();
    }
}

/// A block of the arena in the place of one of the program's, if that is large and elsewhere.
fn replacement(own: *mut u8, size: usize, align: usize) -> Option<*mut u8> {
    if own.is_null() || !shared_heap::is_used() || shared_heap::is_in_arena(own.addr()) {
        return None;
    }
    let block = shared_heap::take(size, align)?;
    shared_heap::replace(own.expose_provenance(), block.addr());
    Some(block)
}

/// Whose a block is.
enum Owner {
    /// The program's allocator.
    Program,
    /// The arena: it is in the place of this one of the program's allocator.
    Arena(*mut u8),
    /// The arena of the process that this one was forked from. What it was is not known here.
    Parent,
}

fn owner(block: *mut u8) -> Owner {
    if !shared_heap::is_in_arena(block.addr()) {
        Owner::Program
    } else if shared_heap::is_left() {
        Owner::Parent
    } else {
        let replaced = shared_heap::replaced_by(block.addr());
        replaced
            .map_or(Owner::Program, |own| Owner::Arena(std::ptr::with_exposed_provenance_mut(own)))
    }
}

/// Allocates, as [`GlobalAlloc::alloc`].
///
/// # Safety
/// As there; `alloc` is the function of the program's allocator.
#[inline]
pub(crate) unsafe fn alloc(layout: Layout, alloc: Alloc) -> *mut u8 {
    let (size, align) = (layout.size(), layout.align());
    if is_bookkeeping() {
        // SAFETY: the caller's promise.
        return unsafe { System.alloc(layout) };
    }
    prepare(size, align);
    // SAFETY: the caller's promise.
    let own = unsafe { alloc(size, align) };
    replacement(own, size, align).unwrap_or(own)
}

/// Allocates zeros, as [`GlobalAlloc::alloc_zeroed`].
///
/// # Safety
/// As there; `alloc_zeroed` is the function of the program's allocator.
#[inline]
pub(crate) unsafe fn alloc_zeroed(layout: Layout, alloc_zeroed: Alloc) -> *mut u8 {
    let (size, align) = (layout.size(), layout.align());
    if is_bookkeeping() {
        // SAFETY: the caller's promise.
        return unsafe { System.alloc_zeroed(layout) };
    }
    prepare(size, align);
    // SAFETY: the caller's promise.
    let own = unsafe { alloc_zeroed(size, align) };
    let Some(block) = replacement(own, size, align) else { return own };
    // SAFETY: the block has that size, and it is new.
    unsafe { block.write_bytes(0, size) };
    block
}

/// Frees a block, as [`GlobalAlloc::dealloc`].
///
/// # Safety
/// As there; `dealloc` is the function of the program's allocator.
#[inline]
pub(crate) unsafe fn dealloc(block: *mut u8, layout: Layout, dealloc: Dealloc) {
    if is_bookkeeping() {
        // SAFETY: the caller's promise; what the bookkeeping allocates is the system allocator's.
        return unsafe { System.dealloc(block, layout) };
    }
    let own = match owner(block) {
        Owner::Program => block,
        Owner::Arena(own) => {
            shared_heap::give_replacement(block.addr());
            own
        }
        Owner::Parent => return,
    };
    // SAFETY: the caller's promise. A block in the place of the program's has its layout.
    unsafe { dealloc(own, layout.size(), layout.align()) };
}

/// Changes a block's size, as [`GlobalAlloc::realloc`].
///
/// # Safety
/// As there; the functions are those of the program's allocator.
#[inline]
pub(crate) unsafe fn realloc(
    block: *mut u8,
    layout: Layout,
    size: usize,
    (own_realloc, own_alloc, own_dealloc): (Realloc, Alloc, Dealloc),
) -> *mut u8 {
    if is_bookkeeping() {
        // SAFETY: as for `dealloc`.
        return unsafe { System.realloc(block, layout, size) };
    }
    if !matches!(owner(block), Owner::Program) {
        // Nothing is in the program's own block. So it gets another one, as the default of
        // `GlobalAlloc::realloc` does.
        // SAFETY: the caller promises that the size does not overflow when rounded up.
        let new_layout = unsafe { Layout::from_size_align_unchecked(size, layout.align()) };
        // SAFETY: the size is not 0, as the caller promises; two blocks of these sizes, of which the
        // old one is not used any more.
        unsafe {
            let new = alloc(new_layout, own_alloc);
            if !new.is_null() {
                new.copy_from_nonoverlapping(block, layout.size().min(size));
                dealloc(block, layout, own_dealloc);
            }
            return new;
        }
    }
    prepare(size, layout.align());
    // SAFETY: the caller's promise; the block is the program's own.
    let own = unsafe { own_realloc(block, layout.size(), layout.align(), size) };
    let Some(new) = replacement(own, size, layout.align()) else { return own };
    // SAFETY: both blocks are of that size, and the new one is not known elsewhere.
    unsafe { new.copy_from_nonoverlapping(own, layout.size().min(size)) };
    new
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::collections::BTreeMap;

    use super::*;
    use crate::data::shared_heap::LARGE;

    thread_local! {
        /// The blocks of the program's allocator, with their layouts.
        static OWN: RefCell<BTreeMap<usize, (usize, usize)>> = RefCell::default();
    }

    /// An allocator of blocks outside of the arena, which keeps a list.
    unsafe extern "C" fn own_alloc(size: usize, align: usize) -> *mut u8 {
        if size > 1 << 30 {
            return std::ptr::null_mut();
        }
        // SAFETY: the tests give layouts.
        let block = unsafe { System.alloc(Layout::from_size_align_unchecked(size, align)) };
        OWN.with_borrow_mut(|own| own.insert(block.addr(), (size, align)));
        block
    }

    unsafe extern "C" fn own_alloc_zeroed(size: usize, align: usize) -> *mut u8 {
        // SAFETY: as above; the block has the size.
        unsafe {
            let block = own_alloc(size, align);
            block.write_bytes(0, size);
            block
        }
    }

    unsafe extern "C" fn own_dealloc(block: *mut u8, size: usize, align: usize) {
        let layout = OWN.with_borrow_mut(|own| own.remove(&block.addr()));
        assert_eq!(layout, Some((size, align)));
        // SAFETY: the block was allocated with the layout.
        unsafe { System.dealloc(block, Layout::from_size_align_unchecked(size, align)) };
    }

    unsafe extern "C" fn own_realloc(
        block: *mut u8,
        size: usize,
        align: usize,
        new: usize,
    ) -> *mut u8 {
        // SAFETY: as above.
        unsafe {
            let to = own_alloc(new, align);
            if !to.is_null() {
                to.copy_from_nonoverlapping(block, size.min(new));
                own_dealloc(block, size, align);
            }
            to
        }
    }

    const OWNS: (Realloc, Alloc, Dealloc) = (own_realloc, own_alloc, own_dealloc);

    fn layout(size: usize, align: usize) -> Layout {
        Layout::from_size_align(size, align).unwrap()
    }

    #[test]
    fn the_programs_allocator_is_asked_for_each_block() {
        let _heap = shared_heap::for_tests();
        let own = || OWN.with_borrow(|own| own.values().copied().collect::<Vec<_>>());
        // SAFETY: each block is used as it was allocated, and freed once.
        unsafe {
            let small = alloc(layout(100, 8), own_alloc);
            assert!(!shared_heap::is_in_arena(small.addr()));
            small.write_bytes(3, 100);
            let large = realloc(small, layout(100, 8), 3 * LARGE, OWNS);
            assert!(shared_heap::is_in_arena(large.addr()));
            assert_eq!(own(), [(3 * LARGE, 8)]);
            assert!((0..100).all(|i| large.add(i).read() == 3));
            large.write_bytes(4, 3 * LARGE);
            // The program's allocator knows of each change, within a page, too.
            let less = realloc(large, layout(3 * LARGE, 8), 3 * LARGE - 1, OWNS);
            assert!(shared_heap::is_in_arena(less.addr()));
            assert_eq!(own(), [(3 * LARGE - 1, 8)]);
            assert!((0..3 * LARGE - 1).all(|i| less.add(i).read() == 4));
            // What it refuses is refused, and the old block stays.
            let refused = realloc(less, layout(3 * LARGE - 1, 8), (1 << 30) + 1, OWNS);
            assert!(refused.is_null());
            assert!((0..3 * LARGE - 1).all(|i| less.add(i).read() == 4));
            let small = realloc(less, layout(3 * LARGE - 1, 8), 70, OWNS);
            assert!(!shared_heap::is_in_arena(small.addr()));
            assert_eq!(own(), [(70, 8)]);
            assert!((0..70).all(|i| small.add(i).read() == 4));
            dealloc(small, layout(70, 8), own_dealloc);
            let zeros = alloc_zeroed(layout(4 * LARGE, 4096), own_alloc_zeroed);
            assert!(shared_heap::is_in_arena(zeros.addr()));
            assert!((0..4 * LARGE).all(|i| zeros.add(i).read() == 0));
            dealloc(zeros, layout(4 * LARGE, 4096), own_dealloc);
            assert!(own().is_empty());
        }
    }
}
