//! The heap of programs whose memory a device shares.
//!
//! Large blocks lie in an *arena*, a range of addresses that host and device share and that is
//! moved to where it is used. Small blocks, and all blocks of processes that use no such device,
//! are the system allocator's. A block's address says whose it is, so any thread may free it.
//!
//! The compiler has these ask the arena first:
//!
//! - the standard library's allocator, in a program without its own: the functions of this module;
//! - the program's own global allocator: [`program_heap`](super::program_heap);
//! - C's allocation functions, where the program's objects call them: [`c_heap`](super::c_heap).
//!
//! The arena is reserved when the first large block is requested. It is never given back, so an
//! address in it never belongs to anything else.
//!
//! What the arena's own bookkeeping allocates is the system allocator's ([`is_inside`]): a program's
//! allocator may hold a lock when it asks the arena.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::LocalKey;

use crate::data::device_heap::{self, HeldHeap};
use crate::data::free_list::FreeList;
use crate::error::LaunchError;

/// Blocks of this size and larger lie in the arena. Its multiples are the sizes and alignments of
/// blocks there: a page of a device.
pub(crate) const LARGE: usize = 64 << 10;

/// Before a block of this size is given, the system is asked whether it has so much memory: an arena
/// has more addresses.
const DOUBTFUL: usize = 1 << 30;

/// Sizes of arenas, of which the first that the device grants is taken. They are addresses, not
/// memory.
const ARENAS: [usize; 3] = [1 << 40, 1 << 38, 1 << 36];

/// There is no arena, and none was requested.
const UNUSED: u8 = 0;
/// The next large block makes one.
const WANTED: u8 = 1;
/// A thread makes it; what is allocated meanwhile is the system's.
const STARTING: u8 = 2;
/// It is there, or cannot be had.
const DECIDED: u8 = 3;

static STATE: AtomicU8 = AtomicU8::new(UNUSED);

/// The arena: both are 0 while there is none.
static BEGIN: AtomicUsize = AtomicUsize::new(0);
static SIZE: AtomicUsize = AtomicUsize::new(0);

/// The blocks of the arena. Its own memory is small, so it is the system's.
static BLOCKS: Mutex<Option<Blocks>> = Mutex::new(None);

/// What has to be known to start: reserves an arena of that many bytes, and returns its address.
type Reserve = Box<dyn Fn(usize) -> Option<usize> + Send>;
static RESERVE: Mutex<Option<Reserve>> = Mutex::new(None);

#[derive(Debug, Default)]
struct Blocks {
    free: FreeList,
    /// Sizes of those in use, and of the recent ones, by address.
    used: BTreeMap<usize, usize>,
    /// The blocks of the program's allocator in whose place others are, by the addresses of these.
    replaced: BTreeMap<usize, usize>,
    recent: Recent,
    asked: Asked,
}

/// The blocks that were freed last, and that no other size was requested since: a loop that allocates
/// the same each time gets them back at once.
#[derive(Debug, Default)]
struct Recent {
    blocks: [Option<Block>; Self::MOST],
    /// The place of the next one.
    next: usize,
}

impl Recent {
    const MOST: usize = 4;

    /// Takes one of this size.
    fn take(&mut self, size: usize) -> Option<Block> {
        let of_size = |block: &&mut Option<Block>| block.is_some_and(|block| block.size == size);
        self.blocks.iter_mut().find(of_size)?.take()
    }

    /// Adds a block; returns the one that it replaces.
    fn add(&mut self, block: Block) -> Option<Block> {
        let place = self.next;
        self.next = (place + 1) % Self::MOST;
        self.blocks[place].replace(block)
    }
}

impl Blocks {
    /// A block of this size.
    fn take(&mut self, size: usize) -> Option<usize> {
        if let Some(block) = self.recent.take(size) {
            return Some(block.begin);
        }
        for block in std::mem::take(&mut self.recent.blocks).into_iter().flatten() {
            self.free(block);
        }
        let begin = self.free.take(size)? as usize;
        self.used.insert(begin, size);
        Some(begin)
    }

    fn give(&mut self, block: Block) {
        if let Some(before) = self.recent.add(block) {
            self.free(before);
        }
    }

    fn free(&mut self, Block { begin, size }: Block) {
        self.used.remove(&begin);
        self.free.give(begin as u64, size);
    }
}

/// The pages of the arena that were [requested](block_of), a bit each. What is freed keeps
/// its bits: a block that comes in its place has the same pages.
#[derive(Debug, Default)]
struct Asked(Vec<u64>);

impl Asked {
    /// Takes note of the pages of a block, by its offset in the arena; returns whether there is a
    /// new one among them.
    fn add(&mut self, offset: usize, size: usize) -> bool {
        const BITS: usize = u64::BITS as usize;
        let (begin, end) = (offset / LARGE, (offset + size).div_ceil(LARGE));
        let words = end.div_ceil(BITS);
        if self.0.len() < words {
            self.0.resize(words, 0);
        }
        let mut is_new = false;
        for word in begin / BITS..words {
            let first = begin.saturating_sub(word * BITS);
            let behind = (end - word * BITS).min(BITS);
            let bits = u64::MAX << first & u64::MAX >> (BITS - behind);
            is_new |= self.0[word] & bits != bits;
            self.0[word] |= bits;
        }
        is_new
    }
}

/// A block of the arena.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Block {
    pub(crate) begin: usize,
    pub(crate) size: usize,
}

thread_local! {
    /// Whether the thread is in the arena's bookkeeping.
    static IS_INSIDE: Cell<bool> = const { Cell::new(false) };
}

/// Sets a thread's flag until it is dropped.
struct Flag {
    flag: &'static LocalKey<Cell<bool>>,
    before: bool,
}

impl Flag {
    fn set(flag: &'static LocalKey<Cell<bool>>) -> Self {
        Self { flag, before: flag.replace(true) }
    }
}

impl Drop for Flag {
    fn drop(&mut self) {
        self.flag.set(self.before);
    }
}

/// Whether the thread is in the arena's bookkeeping, whose memory is the system allocator's.
#[inline]
pub(crate) fn is_inside() -> bool {
    IS_INSIDE.get()
}

/// Whether the process was forked from the one whose arena it is. It has no pages of it, and its
/// blocks are the system's.
static IS_LEFT: AtomicBool = AtomicBool::new(false);

/// Runs in each forked process. It neither locks nor allocates.
extern "C" fn leave() {
    IS_LEFT.store(true, Ordering::Relaxed);
}

/// Whether this process was forked from the one whose arena it is.
pub(crate) fn is_left() -> bool {
    IS_LEFT.load(Ordering::Relaxed)
}

/// Calls `run` with the blocks; `None` if this process has no arena.
fn with_blocks<R>(run: impl FnOnce(&mut Blocks) -> R) -> Option<R> {
    // Another thread of the parent's may have had the lock when this process was forked.
    if SIZE.load(Ordering::Acquire) == 0 || is_left() {
        return None;
    }
    let _inside = Flag::set(&IS_INSIDE);
    blocks().as_mut().map(run)
}

fn blocks() -> MutexGuard<'static, Option<Blocks>> {
    BLOCKS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Asks for an arena, which the first large block makes.
pub(crate) fn want(reserve: Reserve) {
    *RESERVE.lock().unwrap_or_else(PoisonError::into_inner) = Some(reserve);
    let _ = STATE.compare_exchange(UNUSED, WANTED, Ordering::AcqRel, Ordering::Relaxed);
}

/// Whether there is an arena.
pub(crate) fn is_there() -> bool {
    SIZE.load(Ordering::Relaxed) != 0
}

/// The addresses of the arena; none if it is not there.
#[inline]
pub(crate) fn arena() -> Range<usize> {
    // The size is stored last, and read first.
    let size = SIZE.load(Ordering::Acquire);
    let begin = BEGIN.load(Ordering::Relaxed);
    begin..begin + size
}

/// Whether an address lies in the arena.
#[inline]
pub(crate) fn is_in_arena(address: usize) -> bool {
    arena().contains(&address)
}

/// The block that contains an address, and whether some of its pages are asked for the first time.
pub(crate) fn block_of(address: usize) -> Option<(Block, bool)> {
    // The heap of kernels is where they use it.
    if !is_in_arena(address) || device_heap::has(address) {
        return None;
    }
    with_blocks(|blocks| {
        let (&begin, &size) = blocks.used.range(..=address).next_back()?;
        let offset = begin - BEGIN.load(Ordering::Relaxed);
        (address - begin < size).then(|| (Block { begin, size }, blocks.asked.add(offset, size)))
    })?
}

/// The size of the block that begins at an address of the arena.
pub(crate) fn size_of_block(begin: usize) -> Option<usize> {
    with_blocks(|blocks| blocks.used.get(&begin).copied())?
}

/// Takes note of the block of the program's allocator in whose place an arena's block is.
pub(crate) fn replace(replaced: usize, begin: usize) {
    with_blocks(|blocks| blocks.replaced.insert(begin, replaced));
}

/// The block of the program's allocator in whose place an arena's block is.
pub(crate) fn replaced_by(begin: usize) -> Option<usize> {
    with_blocks(|blocks| blocks.replaced.get(&begin).copied())?
}

/// Gives a block back that was in the place of another.
pub(crate) fn give_replacement(begin: usize) {
    with_blocks(|blocks| blocks.replaced.remove(&begin));
    give(begin);
}

thread_local! {
    /// Whether the thread is making what an arena is reserved with.
    static IS_PREPARING: Cell<bool> = const { Cell::new(false) };
}

/// Runs what an arena needs before it can be reserved: large blocks that the thread requests
/// meanwhile are the system allocator's, and make no arena.
pub(crate) fn prepare<R>(run: impl FnOnce() -> R) -> R {
    let _preparing = Flag::set(&IS_PREPARING);
    run()
}

#[cold]
fn start() {
    let mine = STATE.compare_exchange(WANTED, STARTING, Ordering::AcqRel, Ordering::Relaxed);
    if mine.is_err() {
        return;
    }
    let reserve = RESERVE.lock().unwrap_or_else(PoisonError::into_inner).take();
    let found = reserve.and_then(|reserve| {
        ARENAS.into_iter().find_map(|size| reserve(size).map(|begin| (begin, size)))
    });
    if let Some((begin, size)) = found {
        let begin_in_pages = begin.next_multiple_of(LARGE);
        let size = (size - (begin_in_pages - begin)) / LARGE * LARGE;
        let inside = Flag::set(&IS_INSIDE);
        let mut new = Blocks::default();
        new.free.add_block(begin_in_pages as u64, size);
        *blocks() = Some(new);
        drop(inside);
        // Before there is an arena: without it, forked processes would use their parent's.
        // SAFETY: the function does not unwind and stays as long as the process.
        unsafe { libc::pthread_atfork(None, None, Some(leave)) };
        BEGIN.store(begin_in_pages, Ordering::Relaxed);
        SIZE.store(size, Ordering::Release);
    }
    STATE.store(DECIDED, Ordering::Release);
}

/// Whether there may be blocks of the arena.
#[inline]
pub(crate) fn is_used() -> bool {
    STATE.load(Ordering::Relaxed) != UNUSED
}

/// Whether the arena is for blocks of this layout.
#[inline]
pub(crate) const fn is_for(size: usize, align: usize) -> bool {
    size >= LARGE && align <= LARGE
}

/// Makes the arena, if one is wanted. This allocates.
pub(crate) fn make() {
    if STATE.load(Ordering::Acquire) == WANTED && !IS_PREPARING.get() {
        start();
    }
}

/// A block of the arena; `None` if it is not for such blocks, or has none left.
pub(crate) fn take(size: usize, align: usize) -> Option<*mut u8> {
    if !is_for(size, align) || is_inside() {
        return None;
    }
    if size >= DOUBTFUL && !has_memory(size) {
        return None;
    }
    let size = size.checked_next_multiple_of(LARGE)?;
    let block = with_blocks(|blocks| blocks.take(size))??;
    Some(std::ptr::with_exposed_provenance_mut(block))
}

/// Whether the system would give so much memory to its allocator.
fn has_memory(size: usize) -> bool {
    let (rights, how) =
        (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
    // SAFETY: a fresh mapping at an address of the system's choice, which goes again at once.
    unsafe {
        let mapping = libc::mmap(std::ptr::null_mut(), size, rights, how, -1, 0);
        mapping != libc::MAP_FAILED && libc::munmap(mapping, size) == 0
    }
}

/// A block of the arena, which is made for it.
#[inline]
fn make_and_take(layout: Layout) -> Option<*mut u8> {
    if !is_used() || !is_for(layout.size(), layout.align()) {
        return None;
    }
    make();
    take(layout.size(), layout.align())
}

/// Allocates, as [`GlobalAlloc::alloc`].
///
/// # Safety
/// As there.
#[inline]
pub(crate) unsafe fn alloc(layout: Layout) -> *mut u8 {
    if let Some(block) = make_and_take(layout) {
        return block;
    }
    // SAFETY: the caller's promise.
    unsafe { System.alloc(layout) }
}

/// Allocates zeros, as [`GlobalAlloc::alloc_zeroed`].
///
/// # Safety
/// As there.
#[inline]
pub(crate) unsafe fn alloc_zeroed(layout: Layout) -> *mut u8 {
    if let Some(block) = make_and_take(layout) {
        // SAFETY: the block is at least as large.
        unsafe { block.write_bytes(0, layout.size()) };
        return block;
    }
    // SAFETY: the caller's promise.
    unsafe { System.alloc_zeroed(layout) }
}

/// Frees a block, as [`GlobalAlloc::dealloc`].
///
/// # Safety
/// As there.
#[inline]
pub(crate) unsafe fn dealloc(block: *mut u8, layout: Layout) {
    if device_heap::has(block.addr()) {
        // A forked process has no pages of an arena.
        if !is_in_arena(block.addr()) || !is_left() {
            // SAFETY: the caller's promise.
            unsafe { device_heap::give(block, layout) };
        }
    } else if is_in_arena(block.addr()) {
        give(block.addr());
    } else {
        // SAFETY: the caller's promise; the block is not of the arena.
        unsafe { System.dealloc(block, layout) };
    }
}

/// Changes a block's size, as [`GlobalAlloc::realloc`].
///
/// # Safety
/// As there.
#[inline]
pub(crate) unsafe fn realloc(block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
    let of_kernel = device_heap::has(block.addr());
    let of_arena = !of_kernel && is_in_arena(block.addr());
    if !of_kernel && !of_arena && (size < LARGE || !is_used()) {
        // SAFETY: the caller's promise.
        return unsafe { System.realloc(block, layout, size) };
    }
    if of_kernel && device_heap::is_same_block(layout, size) {
        return block;
    }
    if of_arena
        && size.checked_next_multiple_of(LARGE) == Some(layout.size().next_multiple_of(LARGE))
    {
        return block;
    }
    // SAFETY: the caller has checked that the size does not overflow when rounded up.
    let new_layout = unsafe { Layout::from_size_align_unchecked(size, layout.align()) };
    // SAFETY: the size is not 0, as the caller promises.
    let new = unsafe { alloc(new_layout) };
    if !new.is_null() {
        // SAFETY: two blocks, of these sizes; the old one is not used any more.
        unsafe {
            new.copy_from_nonoverlapping(block, layout.size().min(size));
            dealloc(block, layout);
        }
    }
    new
}

/// Gives back the block that begins at an address of the arena.
#[cold]
pub(crate) fn give(begin: usize) {
    with_blocks(|blocks| {
        if let Some(&size) = blocks.used.get(&begin) {
            blocks.give(Block { begin, size });
        }
    });
}

/// The heap of kernels, for a launch, on a device that sees all of the host's memory, or the arena
/// alone.
///
/// # Errors
/// [`LaunchError::HostMemory`], if it cannot be had.
pub(crate) fn hold_for_kernels(sees_all: bool, device: &str) -> Result<HeldHeap, LaunchError> {
    hold(sees_all).map_err(|reason| LaunchError::HostMemory {
        device: device.to_owned(),
        reason: reason.to_owned(),
    })
}

fn hold(sees_all: bool) -> Result<HeldHeap, &'static str> {
    make();
    let held = device_heap::hold(|bytes| match take(bytes, LARGE) {
        Some(region) => Some((region, false)),
        None if sees_all => Some((map(bytes)?, true)),
        None => None,
    })?;
    let address = held.address() as usize;
    if sees_all || is_in_arena(address) { Ok(held) } else { Err(device_heap::NO_MEMORY) }
}

/// Fresh memory of the system's, aligned to [`LARGE`].
fn map(bytes: usize) -> Option<*mut u8> {
    let rights = libc::PROT_READ | libc::PROT_WRITE;
    let how = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    // SAFETY: a fresh mapping at an address of the system's choice.
    let mapping = unsafe { libc::mmap(std::ptr::null_mut(), bytes + LARGE, rights, how, -1, 0) };
    if mapping == libc::MAP_FAILED {
        return None;
    }
    let begin = mapping.cast::<u8>();
    Some(begin.wrapping_add(begin.align_offset(LARGE)))
}

/// The heap of a test, which has it alone: there is one in a process.
#[cfg(test)]
pub(crate) fn for_tests() -> MutexGuard<'static, ()> {
    static ONE: Mutex<()> = Mutex::new(());
    let one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    want(Box::new(tests::reserve));
    make();
    one
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(super) fn reserve(bytes: usize) -> Option<usize> {
        // SAFETY: fresh memory, at an address of the system's choice.
        let address = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                bytes,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
                -1,
                0,
            )
        };
        (address != libc::MAP_FAILED).then_some(address.addr())
    }

    #[test]
    fn pages_are_asked_for_once() {
        let mut asked = Asked::default();
        let mut page = |begin: usize, count: usize| asked.add(begin * LARGE, count * LARGE);
        let steps = [
            (5, 1, true),
            (5, 1, false),
            (0, 64, true),
            (63, 2, true),
            (0, 65, false),
            (200, 130, true),
            (200, 131, true),
            (200, 131, false),
            (199, 1, true),
            (128, 64, true),
            (128, 64, false),
        ];
        for (begin, count, is_new) in steps {
            assert_eq!(page(begin, count), is_new, "{begin} {count}");
        }
    }

    #[test]
    fn blocks_that_are_requested_again_are_found_at_once() {
        let mut blocks = Blocks::default();
        blocks.free.add_block(1 << 20, 64 * LARGE);
        let [a, b] = [3, 5].map(|pages| blocks.take(pages * LARGE).unwrap());
        let block = |begin, pages| Block { begin, size: pages * LARGE };
        blocks.give(block(a, 3));
        blocks.give(block(b, 5));
        // In any order, and each once.
        assert_eq!(blocks.take(5 * LARGE), Some(b));
        assert_eq!(blocks.take(3 * LARGE), Some(a));
        let other = blocks.take(3 * LARGE).unwrap();
        assert!(other != a && other != b);
        for _ in 0..3 * Recent::MOST {
            let begins: Vec<usize> =
                (0..2 * Recent::MOST).map(|_| blocks.take(2 * LARGE).unwrap()).collect();
            begins.into_iter().for_each(|begin| blocks.give(block(begin, 2)));
        }
        [block(a, 3), block(b, 5), block(other, 3)].into_iter().for_each(|one| blocks.give(one));
        // All of it is one block again.
        assert_eq!(blocks.take(64 * LARGE), Some(1 << 20));
    }

    #[test]
    fn blocks_keep_what_is_in_them() {
        let layout = |size, align| Layout::from_size_align(size, align).unwrap();
        let _heap = for_tests();
        // As before there is an arena.
        // SAFETY: the size is not 0.
        let early = unsafe { System.alloc(layout(1 << 20, 8)) };
        assert!(!is_in_arena(early.addr()));
        // SAFETY: each block is used as it was allocated, and freed once.
        unsafe {
            early.write_bytes(7, 1 << 20);
            let small = alloc(layout(1000, 8));
            assert!(!is_in_arena(small.addr()));
            let grown = realloc(small, layout(1000, 8), LARGE);
            assert!(is_in_arena(grown.addr()) && grown.addr().is_multiple_of(LARGE));
            let early = realloc(early, layout(1 << 20, 8), 3 << 20);
            assert!(is_in_arena(early.addr()));
            assert!((0..1 << 20).all(|i| early.add(i).read() == 7));
            assert_eq!(realloc(early, layout(3 << 20, 8), (3 << 20) - 5), early);
            let block = Block { begin: early.addr(), size: 3 << 20 };
            assert_eq!(block_of(early.addr() + 100), Some((block, true)));
            assert_eq!(block_of(early.addr()), Some((block, false)));
            assert_eq!(block_of(early.addr() + (3 << 20)), None);
            // Another block of the same pages is not new, and one with more pages is.
            dealloc(early, layout((3 << 20) - 5, 8));
            let again = alloc(layout(2 << 20, 8));
            assert_eq!(again, early);
            assert_eq!(block_of(again.addr()).map(|(_, is_new)| is_new), Some(false));
            dealloc(again, layout(2 << 20, 8));
            let early = alloc(layout(4 << 20, 8));
            assert_eq!((early, block_of(early.addr()).unwrap().1), (again, true));
            early.write_bytes(7, 4 << 20);
            let shrunk = realloc(early, layout(4 << 20, 8), 100);
            assert!(!is_in_arena(shrunk.addr()));
            assert!((0..100).all(|i| shrunk.add(i).read() == 7));
            dealloc(shrunk, layout(100, 8));
            // It is used again, and dirty.
            let zeros = alloc_zeroed(layout(3 << 20, 4096));
            assert_eq!(zeros, early);
            assert!((0..3 << 20).all(|i| zeros.add(i).read() == 0));
            let aligned = alloc(layout(LARGE, 2 * LARGE));
            assert!(!is_in_arena(aligned.addr()) && aligned.addr().is_multiple_of(2 * LARGE));
            dealloc(aligned, layout(LARGE, 2 * LARGE));
            let other = zeros.addr();
            std::thread::spawn(move || {
                dealloc(std::ptr::with_exposed_provenance_mut(other), layout(3 << 20, 4096));
            })
            .join()
            .unwrap();
            dealloc(grown, layout(LARGE, 8));
            // More than there is.
            assert!(take(1 << 41, 8).is_none());
        }
        let mut blocks = blocks();
        let blocks = blocks.as_mut().unwrap();
        // None is of the size.
        assert!(blocks.take(1 << 41).is_none());
        assert!(blocks.used.is_empty());
    }
}
