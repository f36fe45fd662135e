//! The heap of kernels: a region of memory that host and device can both address, and the functions
//! that take blocks of it and give them back.
//!
//! The build script of stage 2 compiles this to bitcode for kernels, and the runtime calls the same
//! functions between launches. A launch that allocates has the heap for itself, so nothing but its work-items
//! uses the lists meanwhile, and their atomic accesses need the scope of a device.
//!
//! The region is divided into chunks of 64 KiB, after a head with what is known of them. A chunk
//! has blocks of one size, a power of two, with a bit for each; a block that is larger than half a chunk takes
//! whole chunks. So a block is aligned to its size, up to that of a chunk. To give it back, its layout has to be
//! known, as in [`core::alloc::GlobalAlloc`].
//!
//! **Progress.** Nothing is locked, and no work-item waits for another one: the lanes of a sub-group
//! may run in any order. A block is reserved by the chunk's counter, which is then greater than
//! the number of bits that are set; so a bit is free. A work-item that finds it taken tries the next one, and another
//! has its block.
//!
//! **Giving up.** A launch gives up if there is no block: then a work-item ends that asks for one, and
//! [`roll_back`] frees all that the launch has taken. The chunks of a launch are marked with its number, and
//! others use none of their free blocks.

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// Bytes of a chunk, and the alignment of the heap.
pub const CHUNK: u64 = 64 << 10;

/// The base-two logarithm of the smallest block.
const SMALLEST: u32 = 4;

/// The class of chunks that are one block, or a part of one.
const WHOLE: u64 = 31;

/// Classes of chunks with several blocks: of 16 bytes to half a chunk.
const CLASSES: usize = (CHUNK.trailing_zeros() - SMALLEST) as usize;

/// Words of bits for a chunk: a bit for each of the smallest blocks.
const WORDS: u64 = (CHUNK >> SMALLEST) / 64;

/// Work-items with different numbers here begin to look for blocks at different chunks.
const PLACES: u64 = 256;

/// So many neighbouring work-items begin at the same chunk.
const NEIGHBOURS: u64 = 1024;

/// The state of a chunk: the number of its launch, its class, and a counter of its blocks. 0 if it is free. The
/// counter is larger than the number of blocks while work-items find that there is none left.
const COUNTER: u64 = (1 << 24) - 1;
const CLASS_SHIFT: u32 = 24;
const LAUNCH_SHIFT: u32 = 29;

/// The head of the region. States and bits of its chunks follow.
#[repr(C, align(64))]
#[derive(Debug)]
pub struct Heap {
    /// How many chunks there are.
    chunks: u64,
    /// Where the first one is, in bytes from here.
    first: u64,
    /// The number of the launch that has the heap.
    launch: u64,
    /// Not 0 if the launch gives up.
    exhausted: AtomicU32,
    /// Where blocks were found last: a chunk for each place and class.
    hints: [[AtomicU32; CLASSES]; PLACES as usize],
}

/// Bytes of the head, with states and bits, for so many chunks.
const fn head(chunks: u64) -> u64 {
    let all = size_of::<Heap>() as u64 + chunks * 8 * (1 + WORDS);
    all.next_multiple_of(CHUNK)
}

/// Bytes of the block for a layout; `None` if there is no such block.
#[inline]
const fn block_size(size: u64, align: u64) -> Option<u64> {
    if align > CHUNK || size > 1 << 40 {
        return None;
    }
    let size = if size > align { size } else { align };
    Some(if size > CHUNK / 2 {
        size.next_multiple_of(CHUNK)
    } else if size <= 1 << SMALLEST {
        1 << SMALLEST
    } else {
        size.next_power_of_two()
    })
}

/// Whether blocks of both sizes are the same, with an alignment.
#[inline]
#[must_use]
pub const fn is_same_block(size: u64, other: u64, align: u64) -> bool {
    match (block_size(size, align), block_size(other, align)) {
        (Some(size), Some(other)) => size == other,
        _ => false,
    }
}

impl Heap {
    /// Makes a heap of a region, with so many chunks as there is room for.
    ///
    /// # Safety
    /// The region is aligned to [`CHUNK`], has so many bytes, at least four chunks, and is nothing else's. Its head
    /// is zeroed if `is_zeroed`.
    pub unsafe fn make(region: *mut u8, bytes: u64, is_zeroed: bool) -> *mut Self {
        let mut chunks = (bytes / CHUNK).min(u64::from(u32::MAX));
        while head(chunks) + chunks * CHUNK > bytes {
            chunks -= (head(chunks) + chunks * CHUNK - bytes).div_ceil(CHUNK + 8 * (1 + WORDS));
        }
        let heap = region.cast::<Self>();
        // SAFETY: the head lies in the region, as counted.
        unsafe {
            if !is_zeroed {
                region.write_bytes(0, head(chunks) as usize);
            }
            (&raw mut (*heap).chunks).write(chunks);
            (&raw mut (*heap).first).write(head(chunks));
            let hints = (&raw mut (*heap).hints).cast::<u32>();
            for hint in 0..PLACES * CLASSES as u64 {
                hints.add(hint as usize).write((hint * chunks / (PLACES * CLASSES as u64)) as u32);
            }
        }
        heap
    }

    /// Begins a launch.
    ///
    /// # Safety
    /// The heap is there, and nothing uses it.
    pub unsafe fn begin(heap: *mut Self) {
        // SAFETY: the caller's promise.
        unsafe {
            let launch = &raw mut (*heap).launch;
            launch.write(launch.read() + 1);
            (*heap).exhausted.store(0, Ordering::Relaxed);
        }
    }

    /// Whether the launch gives up, or has given up.
    ///
    /// # Safety
    /// The heap is there.
    #[inline]
    pub unsafe fn is_exhausted(heap: *const Self) -> bool {
        // SAFETY: the caller's promise.
        unsafe { (*heap).exhausted.load(Ordering::Relaxed) != 0 }
    }

    /// Has the launch give up.
    ///
    /// # Safety
    /// The heap is there.
    #[inline]
    unsafe fn give_up(heap: *const Self) {
        // SAFETY: the caller's promise.
        unsafe { (*heap).exhausted.store(1, Ordering::Relaxed) }
    }

    /// Whether an address is that of a block.
    ///
    /// # Safety
    /// The heap is there.
    #[inline]
    unsafe fn has(heap: *const Self, block: *const u8) -> bool {
        // SAFETY: the caller's promise.
        let (first, chunks) = unsafe { ((*heap).first, (*heap).chunks) };
        let offset = (block.addr() as u64).wrapping_sub(heap.addr() as u64);
        offset.wrapping_sub(first) < chunks * CHUNK
    }

    /// # Safety
    /// The heap is there, and has the chunk.
    #[inline]
    unsafe fn state<'h>(heap: *const Self, chunk: u64) -> &'h AtomicU64 {
        // SAFETY: states follow the head, one for each chunk.
        unsafe { &*heap.add(1).cast::<AtomicU64>().add(chunk as usize) }
    }

    /// # Safety
    /// The heap is there, and has the chunk; there are [`WORDS`] words.
    #[inline]
    unsafe fn bits<'h>(heap: *const Self, chunk: u64, word: u64) -> &'h AtomicU64 {
        // SAFETY: bits follow the states.
        unsafe {
            let chunks = (*heap).chunks;
            &*heap.add(1).cast::<AtomicU64>().add((chunks + chunk * WORDS + word) as usize)
        }
    }

    /// Where a chunk begins.
    ///
    /// # Safety
    /// The heap is there, and has the chunk.
    #[inline]
    unsafe fn chunk(heap: *mut Self, chunk: u64) -> *mut u8 {
        // SAFETY: chunks are in the region.
        unsafe { heap.cast::<u8>().add(((*heap).first + chunk * CHUNK) as usize) }
    }
}

/// Takes a block for a launch; null if there is none, and then the launch gives up. `item` is the number of the
/// work-item.
///
/// # Safety
/// The heap is there, and the launch has it. The size is not 0, and the alignment is a power of two.
#[inline]
pub unsafe fn take(heap: *mut Heap, size: u64, align: u64, item: u64) -> *mut u8 {
    // SAFETY: the caller's promises.
    unsafe {
        let found = match block_size(size, align) {
            _ if Heap::is_exhausted(heap) => None,
            None => None,
            Some(block) if block > CHUNK / 2 => take_chunks(heap, block / CHUNK, item),
            Some(block) => take_small(heap, block.trailing_zeros() - SMALLEST, item),
        };
        found.unwrap_or_else(|| {
            Heap::give_up(heap);
            core::ptr::null_mut()
        })
    }
}

/// Takes a block of a class.
///
/// # Safety
/// As for [`take`].
#[inline]
unsafe fn take_small(heap: *mut Heap, class: u32, item: u64) -> Option<*mut u8> {
    // SAFETY: the caller's promises; there are so many chunks and hints.
    unsafe {
        let chunks = (*heap).chunks;
        let blocks = CHUNK >> (SMALLEST + class);
        let owner = (*heap).launch << (LAUNCH_SHIFT - CLASS_SHIFT) | u64::from(class);
        let place = item / NEIGHBOURS % PLACES * CLASSES as u64 + u64::from(class);
        let hint = &*(&raw const (*heap).hints).cast::<AtomicU32>().add(place as usize);
        let mut chunk = u64::from(hint.load(Ordering::Relaxed));
        let first = chunk;
        loop {
            let state = Heap::state(heap, chunk);
            let now = state.load(Ordering::Relaxed);
            let is_reserved = if now == 0 {
                let mine = owner << CLASS_SHIFT | 1;
                state.compare_exchange(0, mine, Ordering::Acquire, Ordering::Relaxed).is_ok()
            } else if now >> CLASS_SHIFT == owner && now & COUNTER < blocks {
                let before = state.fetch_add(1, Ordering::Relaxed);
                let is_mine = before >> CLASS_SHIFT == owner && before & COUNTER < blocks;
                if !is_mine {
                    release(state);
                }
                is_mine
            } else {
                false
            };
            if is_reserved {
                if chunk != first {
                    hint.store(chunk as u32, Ordering::Relaxed);
                }
                let block = set_bit(heap, chunk, blocks, item);
                return Some(Heap::chunk(heap, chunk).add((block << (SMALLEST + class)) as usize));
            }
            if now == 0 {
                // Another one has claimed it, perhaps for the same class.
                continue;
            }
            chunk = if chunk + 1 == chunks { 0 } else { chunk + 1 };
            if chunk == first {
                return None;
            }
        }
    }
}

/// Sets the bit of a free block in a chunk of which one is reserved.
///
/// # Safety
/// The heap is there, and has the chunk, with so many blocks.
#[inline]
unsafe fn set_bit(heap: *mut Heap, chunk: u64, blocks: u64, item: u64) -> u64 {
    // Neighbouring work-items begin at different words, and at different bits.
    let start = item.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32 & (blocks - 1);
    let in_word = if blocks < 64 { blocks } else { 64 };
    let all = u64::MAX >> (64 - in_word);
    let (mut word, mut bit) = (start / 64, start % 64);
    loop {
        // SAFETY: a chunk with so many blocks has the word.
        let bits = unsafe { Heap::bits(heap, chunk, word) };
        let mut free = !bits.load(Ordering::Relaxed) & all;
        while free != 0 {
            let after = free & u64::MAX << bit;
            let chosen = if after == 0 { free } else { after }.trailing_zeros();
            let before = bits.fetch_or(1 << chosen, Ordering::Acquire);
            if before & 1 << chosen == 0 {
                return word * 64 + u64::from(chosen);
            }
            free = !before & all;
        }
        word = if (word + 1) * 64 >= blocks { 0 } else { word + 1 };
        bit = 0;
    }
}

/// Gives back what was reserved of a chunk. The last one frees it.
#[inline]
fn release(state: &AtomicU64) {
    let before = state.fetch_sub(1, Ordering::AcqRel);
    if before & COUNTER == 1 && before >> CLASS_SHIFT != 0 {
        // If it fails, another one has reserved a block, and will be the last.
        let _ = state.compare_exchange(before - 1, 0, Ordering::AcqRel, Ordering::Relaxed);
    }
}

/// Takes some chunks next to each other.
///
/// # Safety
/// As for [`take`].
#[inline]
unsafe fn take_chunks(heap: *mut Heap, count: u64, item: u64) -> Option<*mut u8> {
    // SAFETY: the caller's promises; only chunks that are there are asked for.
    unsafe {
        let chunks = (*heap).chunks;
        if chunks == 0 || count > chunks {
            return None;
        }
        let mine = ((*heap).launch << (LAUNCH_SHIFT - CLASS_SHIFT) | WHOLE) << CLASS_SHIFT | 1;
        let mut first = item.wrapping_mul(count) % chunks;
        let mut tried = 0;
        // All begin at different chunks, and look at each once; what others have in between, they go around.
        while tried < 2 * chunks {
            if first + count > chunks {
                tried += chunks - first;
                first = 0;
            }
            let mut taken = 0;
            while taken < count {
                let state = Heap::state(heap, first + taken);
                if state.compare_exchange(0, mine, Ordering::Acquire, Ordering::Relaxed).is_err() {
                    break;
                }
                taken += 1;
            }
            if taken == count {
                return Some(Heap::chunk(heap, first));
            }
            for chunk in first..first + taken {
                release(Heap::state(heap, chunk));
            }
            tried += taken + 1;
            first += taken + 1;
        }
        None
    }
}

/// Gives a block back. If it is none of the heap's, it returns `false`, and the launch gives up.
///
/// # Safety
/// The heap is there, and the caller has it. The block has the layout, and is not used any more.
#[inline]
pub unsafe fn give(heap: *mut Heap, block: *mut u8, size: u64, align: u64) -> bool {
    // SAFETY: the caller's promises.
    unsafe {
        let (Some(bytes), true) = (block_size(size, align), Heap::has(heap, block)) else {
            Heap::give_up(heap);
            return false;
        };
        let offset = (block.addr() - heap.addr()) as u64 - (*heap).first;
        let chunk = offset / CHUNK;
        if bytes > CHUNK / 2 {
            for chunk in chunk..chunk + bytes / CHUNK {
                release(Heap::state(heap, chunk));
            }
        } else {
            let number = offset % CHUNK / bytes;
            let bits = Heap::bits(heap, chunk, number / 64);
            bits.fetch_and(!(1 << (number % 64)), Ordering::Release);
            release(Heap::state(heap, chunk));
        }
    }
    true
}

/// Frees all blocks that a launch has taken, after its end.
///
/// # Safety
/// The heap is there, and nothing uses it, nor will use a block of the last launch that began.
pub unsafe fn roll_back(heap: *mut Heap) {
    // SAFETY: the caller's promises; only chunks that are there are asked for.
    unsafe {
        for chunk in 0..(*heap).chunks {
            let state = Heap::state(heap, chunk);
            if state.load(Ordering::Relaxed) >> LAUNCH_SHIFT == (*heap).launch {
                for word in 0..WORDS {
                    Heap::bits(heap, chunk, word).store(0, Ordering::Relaxed);
                }
                state.store(0, Ordering::Relaxed);
            }
        }
    }
}
