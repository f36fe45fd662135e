//! The heap of kernels that allocate: a region that host and device can address, of which a launch takes
//! blocks ([`schism_jit_abi::heap`]).
//!
//! A launch has it for itself ([`hold`]). A block that outlives its launch is the program's, as any other: the
//! program reads it where it is, and frees it by its allocator, which finds by the address whose it is.
//! What the host frees is put aside, in a list whose links lie in the blocks, until the next launch
//! begins: the host may free while another launch runs, and the lists of the heap are the device's then.

use std::alloc::Layout;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use schism_jit_abi::heap::{self, CHUNK, Heap};

use crate::util::variables::DEVICE_HEAP;
use crate::util::warn_once;

/// Bytes of the region, unless the environment says how many: addresses, whose memory is taken when it is
/// used.
const USUAL: usize = 4 << 30;

/// Bytes of the smallest region.
const LEAST: usize = 1 << 20;

/// The region: both are 0 while there is none.
static BEGIN: AtomicUsize = AtomicUsize::new(0);
static SIZE: AtomicUsize = AtomicUsize::new(0);

/// The blocks that the host has freed.
static FREED: AtomicPtr<Freed> = AtomicPtr::new(std::ptr::null_mut());

/// Whether all blocks of Rust's come from the standard library's allocator, and go back to it: one of the program's own
/// would be asked for none of a kernel's.
static IS_ALLOWED: AtomicBool = AtomicBool::new(false);

/// Takes note that the program has the standard library's allocator.
pub(crate) fn allow() {
    IS_ALLOWED.store(true, Ordering::Relaxed);
}

const OTHER_ALLOCATOR: &str =
    "its work-items allocate, and the program's allocator is not the standard library's";
pub(crate) const NO_MEMORY: &str = "its work-items allocate, and there is no memory for their heap";

/// What has become of the heap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    NotMade,
    Unused,
    Held,
}

static STATE: Mutex<State> = Mutex::new(State::NotMade);
static RETURNED: Condvar = Condvar::new();

/// A block that the host has freed. It begins with this.
#[derive(Clone, Copy)]
struct Freed {
    next: *mut Freed,
    /// Its size, and the base-two logarithm of its alignment in the highest byte.
    layout: u64,
}

const ALIGN_SHIFT: u32 = 56;

/// The heap by its address, as long as a launch has it. One is there at a time.
#[derive(Debug)]
pub(crate) struct HeldHeap(usize);

fn state() -> MutexGuard<'static, State> {
    STATE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Waits until no other launch has the heap, and takes it. The first call makes it, of the memory that
/// `region` gives for so many bytes, aligned to [`CHUNK`], and of which it says whether it is zeroed.
///
/// # Errors
/// Why it cannot be had.
pub(crate) fn hold(
    region: impl FnOnce(usize) -> Option<(*mut u8, bool)>,
) -> Result<HeldHeap, &'static str> {
    if !IS_ALLOWED.load(Ordering::Relaxed) {
        return Err(OTHER_ALLOCATOR);
    }
    let mut state = state();
    while *state == State::Held {
        state = RETURNED.wait(state).unwrap_or_else(PoisonError::into_inner);
    }
    if *state == State::NotMade {
        let bytes = size();
        let (begin, is_zeroed) = region(bytes).ok_or(NO_MEMORY)?;
        // SAFETY: the region is as large as it says, and fresh.
        unsafe { Heap::make(begin, bytes as u64, is_zeroed) };
        BEGIN.store(begin.expose_provenance(), Ordering::Relaxed);
        SIZE.store(bytes, Ordering::Release);
    }
    *state = State::Held;
    drop(state);
    let held = HeldHeap(BEGIN.load(Ordering::Relaxed));
    held.begin();
    Ok(held)
}

/// Bytes of the region.
fn size() -> usize {
    let asked = DEVICE_HEAP.set().and_then(|text| {
        let bytes =
            text.to_str().and_then(|text| text.trim().parse::<usize>().ok()?.checked_mul(1 << 20));
        if bytes.is_none() {
            let text = text.display();
            warn_once::warn(format_args!("{DEVICE_HEAP} is `{text}`; use a number of MiB"));
        }
        bytes
    });
    // SAFETY: both are questions.
    let physical =
        unsafe { libc::sysconf(libc::_SC_PHYS_PAGES) * libc::sysconf(libc::_SC_PAGESIZE) };
    let usual = USUAL.min(usize::try_from(physical).unwrap_or(USUAL) / 4);
    let bytes = asked.unwrap_or(usual).clamp(LEAST, 1 << 40);
    bytes / CHUNK as usize * CHUNK as usize
}

impl HeldHeap {
    fn heap(&self) -> *mut Heap {
        std::ptr::with_exposed_provenance_mut(self.0)
    }

    /// Frees what the host has freed, and begins a launch.
    fn begin(&self) {
        let mut next = FREED.swap(std::ptr::null_mut(), Ordering::Acquire);
        while !next.is_null() {
            // SAFETY: the block is in the list once, and begins with this; nothing else uses the heap.
            unsafe {
                let freed = next.read();
                let (size, align) =
                    (freed.layout & ((1 << ALIGN_SHIFT) - 1), 1 << (freed.layout >> ALIGN_SHIFT));
                heap::give(self.heap(), next.cast(), size, align);
                next = freed.next;
            }
        }
        // SAFETY: the heap is there, and this launch has it.
        unsafe { Heap::begin(self.heap()) };
    }

    /// Its address, which is the same for the host and the device.
    pub(crate) fn address(&self) -> u64 {
        self.0 as u64
    }

    /// Frees all blocks that a launch has taken, if it has a heap.
    ///
    /// # Safety
    /// The launch is over, and none of these blocks is used.
    pub(crate) unsafe fn roll_back(held: Option<&Self>) {
        if let Some(held) = held {
            // SAFETY: the caller's promise; this launch has the heap.
            unsafe { heap::roll_back(held.heap()) };
        }
    }
}

impl Drop for HeldHeap {
    fn drop(&mut self) {
        *state() = State::Unused;
        RETURNED.notify_one();
    }
}

/// Whether an address lies in the region.
#[inline]
pub(crate) fn has(address: usize) -> bool {
    // The size is stored last, and read first.
    let size = SIZE.load(Ordering::Acquire);
    address.wrapping_sub(BEGIN.load(Ordering::Relaxed)) < size
}

/// Whether a block of a layout has room for another size.
pub(crate) fn is_same_block(layout: Layout, size: usize) -> bool {
    heap::is_same_block(layout.size() as u64, size as u64, layout.align() as u64)
}

/// Frees a block.
///
/// # Safety
/// It is the heap's, has the layout, and is not used any more.
#[cold]
pub(crate) unsafe fn give(block: *mut u8, layout: Layout) {
    let freed = block.cast::<Freed>();
    let layout = layout.size() as u64 | u64::from(layout.align().trailing_zeros()) << ALIGN_SHIFT;
    let mut next = FREED.load(Ordering::Relaxed);
    loop {
        // SAFETY: the smallest block has room for it, and is aligned to its size.
        unsafe { freed.write(Freed { next, layout }) };
        match FREED.compare_exchange_weak(next, freed, Ordering::Release, Ordering::Relaxed) {
            Ok(_) => return,
            Err(other) => next = other,
        }
    }
}
