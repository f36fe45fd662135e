//! The heap of kernels, with threads in the place of work-items.

use std::alloc::{Layout, alloc, alloc_zeroed, dealloc};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use schism_jit_abi::heap::{self, CHUNK, Heap, give, is_same_block, roll_back, take};

/// A heap and its region.
struct Region {
    heap: *mut Heap,
    layout: Layout,
}

// SAFETY: that is what a heap is for.
unsafe impl Sync for Region {}

impl Region {
    fn new(chunks: usize, is_zeroed: bool) -> Self {
        let layout = Layout::from_size_align(chunks * CHUNK as usize, CHUNK as usize).unwrap();
        // SAFETY: the size is not 0; the region is as large as it says.
        let heap = unsafe {
            let region = if is_zeroed { alloc_zeroed(layout) } else { alloc(layout) };
            if !is_zeroed {
                region.write_bytes(0xa5, layout.size());
            }
            let heap = Heap::make(region, layout.size() as u64, is_zeroed);
            Heap::begin(heap);
            heap
        };
        Self { heap, layout }
    }

    fn take(&self, size: u64, align: u64, item: u64) -> Option<*mut u8> {
        // SAFETY: tests have the heap, and give layouts.
        let block = unsafe { take(self.heap, size, align, item) };
        (!block.is_null()).then_some(block)
    }

    /// # Safety
    /// As for [`give`].
    unsafe fn give(&self, block: *mut u8, size: u64, align: u64) {
        // SAFETY: the caller's promise.
        assert!(unsafe { give(self.heap, block, size, align) });
    }

    /// Takes all blocks of a size.
    fn take_all(&self, size: u64) -> Vec<*mut u8> {
        let all = (0..).map_while(|item| self.take(size, 1, item)).collect();
        // SAFETY: the heap is there, and nothing uses it.
        unsafe {
            assert!(Heap::is_exhausted(self.heap));
            Heap::begin(self.heap);
        }
        all
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        // SAFETY: it was allocated so, and begins with the heap.
        unsafe { dealloc(self.heap.cast(), self.layout) };
    }
}

#[test]
fn all_chunks_can_be_blocks_of_any_size() {
    let region = Region::new(20, false);
    let mut chunks = None;
    for size in [1, 16, 17, 100, 5000, CHUNK / 2, CHUNK / 2 + 1, CHUNK] {
        let mut all = region.take_all(size);
        let bytes = if size > CHUNK / 2 { CHUNK } else { size.next_power_of_two().max(16) };
        let count = all.len() as u64 * bytes / CHUNK;
        assert_eq!(count, *chunks.get_or_insert(count), "{size}");
        assert!(all.iter().all(|block| (block.addr() as u64).is_multiple_of(bytes)));
        all.sort_unstable();
        assert!(all.windows(2).all(|two| two[1].addr() - two[0].addr() >= bytes as usize));
        // SAFETY: each is taken once, with this layout.
        all.into_iter().for_each(|block| unsafe { region.give(block, size, 1) });
    }
    assert_eq!(chunks, Some(19));
    let whole = region.take(19 * CHUNK, 8, 5).expect("all of it");
    assert_eq!(region.take(1, 1, 0), None);
    // SAFETY: it is taken once, with this layout.
    unsafe { region.give(whole, 19 * CHUNK, 8) };
}

#[test]
fn what_cannot_be_is_refused() {
    let region = Region::new(8, true);
    for (size, align) in [(8 * CHUNK, 1), (u64::MAX, 1), (1, 2 * CHUNK)] {
        assert_eq!(region.take(size, align, 0), None);
        // SAFETY: the heap is there, and nothing uses it.
        unsafe { Heap::begin(region.heap) };
    }
    let mut other = 0_u64;
    // SAFETY: it is looked at by its address only.
    assert!(!unsafe { give(region.heap, (&raw mut other).cast(), 8, 8) });
    // SAFETY: the heap is there.
    assert!(unsafe { Heap::is_exhausted(region.heap) });
    assert_eq!(region.take(1, 1, 0), None);
    assert!(is_same_block(17, 32, 1) && is_same_block(1, 1, 32) && !is_same_block(16, 17, 1));
    assert!(is_same_block(CHUNK, CHUNK / 2 + 1, 8) && !is_same_block(CHUNK, CHUNK + 1, 8));
}

#[test]
fn a_launch_that_gives_up_leaves_what_was_there() {
    let region = Region::new(30, true);
    let old: Vec<*mut u8> = (0..500).map(|item| region.take(100, 4, item).unwrap()).collect();
    // SAFETY: blocks of this size.
    old.iter().for_each(|block| unsafe { block.write_bytes(7, 100) });
    for _ in 0..10 {
        // SAFETY: nothing uses the heap, and no block of the launch is used.
        unsafe {
            Heap::begin(region.heap);
            for item in 0.. {
                let Some(block) = region.take(1 + item % 40_000, 1, item) else { break };
                block.write_bytes(8, 1 + (item % 40_000) as usize);
            }
            roll_back(region.heap);
        }
    }
    // SAFETY: blocks of this layout, which are there.
    unsafe {
        Heap::begin(region.heap);
        for block in old {
            assert!((0..100).all(|at| block.add(at).read() == 7));
            region.give(block, 100, 4);
        }
    }
    let bytes = region.take_all(16).len() as u64 * 16;
    assert_eq!(bytes, 29 * CHUNK);
}

#[test]
fn threads_have_blocks_of_their_own() {
    let region = Region::new(1024, true);
    let failed = AtomicUsize::new(0);
    let work = |thread: u64| {
        let mut random = thread.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let mut next = |limit: u64| {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            random % limit
        };
        let mut blocks: Vec<(*mut u8, u64, u64)> = Vec::new();
        for _ in 0..3_000 {
            if blocks.len() > 20 || !blocks.is_empty() && next(2) == 0 {
                let (block, size, align) = blocks.swap_remove(next(blocks.len() as u64) as usize);
                // SAFETY: a block of this layout, which is this thread's.
                unsafe {
                    assert!((0..size as usize).all(|at| block.add(at).read() == thread as u8));
                    region.give(block, size, align);
                }
            } else {
                let limit = [64, 64, 2000, 3 * CHUNK][next(4) as usize];
                let (size, align) = (1 + next(limit), 1 << next(9));
                let Some(block) = region.take(size, align, thread * 3000 + next(3)) else {
                    failed.fetch_add(1, Ordering::Relaxed);
                    break;
                };
                assert!((block.addr() as u64).is_multiple_of(align));
                // SAFETY: the block is so large.
                unsafe { block.write_bytes(thread as u8, size as usize) };
                blocks.push((block, size, align));
            }
        }
        for (block, size, align) in blocks {
            // SAFETY: a block of this layout, which is this thread's.
            unsafe { region.give(block, size, align) };
        }
    };
    thread::scope(|scope| {
        (0..8).for_each(|thread| drop(scope.spawn(move || work(thread))));
    });
    assert_eq!(failed.into_inner(), 0);
    // SAFETY: the heap is there, and nothing uses it.
    unsafe { heap::Heap::begin(region.heap) };
    assert_eq!(region.take_all(CHUNK).len(), 1015);
}
