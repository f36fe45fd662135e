//! The heap of kernels that allocate: a region that host and device can address, of which a launch takes
//! blocks ([`schism_jit_abi::heap`]).
//!
//! A launch has it for itself ([`hold`]). A block that outlives its launch is the program's, as any other: the
//! program reads it where it is, and frees it by its allocator, which finds by the address whose it is.
//! What the host frees is put aside, in a list whose links lie in the blocks, until the next launch
//! begins: the host may free while another launch runs, and the lists of the heap are the device's then.

use std::alloc::Layout;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use schism_jit_abi::heap::{self, CHUNK, Heap};

use crate::error::LaunchError;
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
const NO_ROOM: &str =
    "its work-items allocate, and what they change is larger than their heap has room for";
const PANICKED: &str = "a work-item has panicked, and all that they had changed is as it was";

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

/// The heap, as long as a launch has it. One is there at a time.
#[derive(Debug)]
pub(crate) struct HeldHeap {
    begin: usize,
    /// Copies of what the launch changes: where it is, and a block of the heap with as many bytes.
    saved: Vec<(Range<usize>, usize)>,
}

/// The blocks of copies that were kept for a launch before, with their sizes.
static USED: Mutex<Vec<(usize, usize)>> = Mutex::new(Vec::new());

/// Copies bytes: where to, from where, and how many.
pub(crate) type CopyBytes<'a> = &'a dyn Fn(usize, usize, usize) -> Result<(), LaunchError>;

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
    let held = HeldHeap { begin: BEGIN.load(Ordering::Relaxed), saved: Vec::new() };
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

/// Whether a kernel allocates before stage 2 optimises it, by the capabilities that stage 1 has noted.
pub(crate) fn is_of<S: AsRef<str>>(capabilities: &[S]) -> bool {
    capabilities.iter().any(|capability| capability.as_ref() == "host-heap")
}

impl HeldHeap {
    fn heap(&self) -> *mut Heap {
        std::ptr::with_exposed_provenance_mut(self.begin)
    }

    /// Frees what the host has freed, and begins a launch.
    fn begin(&self) {
        for (block, size) in used().drain(..) {
            let block = std::ptr::with_exposed_provenance_mut(block);
            // SAFETY: the block was taken with this layout, and nothing else uses the heap.
            unsafe { heap::give(self.heap(), block, size as u64, 1) };
        }
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
        self.begin as u64
    }

    /// Copies what the launch changes to blocks of the heap, before it begins.
    ///
    /// # Errors
    /// [`LaunchError::HostMemory`] if there is no room, and those of `copy`.
    pub(crate) fn save(
        &mut self,
        changes: &[Range<usize>],
        device: &str,
        copy: CopyBytes<'_>,
    ) -> Result<(), LaunchError> {
        for range in changes.iter().filter(|range| !range.is_empty()) {
            // SAFETY: nothing else uses the heap, and the range has a byte.
            let block = unsafe { heap::take(self.heap(), range.len() as u64, 1, 0) };
            if block.is_null() {
                return Err(LaunchError::HostMemory {
                    device: device.to_owned(),
                    reason: format!("{NO_ROOM} ({DEVICE_HEAP})"),
                });
            }
            let block = block.expose_provenance();
            self.saved.push((range.clone(), block));
            copy(block, range.start, range.len())?;
        }
        Ok(())
    }

    /// Gives what the launch has changed its old bytes, and frees all blocks that it has taken, if it has a heap. Returns the error
    /// that it has ended with, or that of `copy`; where a launch had changes and has none any more, that is
    /// [`LaunchError::HostMemory`] even after a panic, which comes again when the host runs it.
    ///
    /// # Safety
    /// The launch is over, and none of these blocks is used.
    pub(crate) unsafe fn roll_back(
        held: Option<&mut Self>,
        error: LaunchError,
        device: &str,
        copy: CopyBytes<'_>,
    ) -> LaunchError {
        let Some(held) = held else { return error };
        let saved = std::mem::take(&mut held.saved);
        let copied =
            saved.iter().try_for_each(|(range, block)| copy(range.start, *block, range.len()));
        // SAFETY: the caller's promise; this launch has the heap.
        unsafe { heap::roll_back(held.heap()) };
        match (copied, error) {
            (Err(error), _) => error,
            (Ok(()), LaunchError::Panicked(_)) if !saved.is_empty() => {
                LaunchError::HostMemory { device: device.to_owned(), reason: PANICKED.to_owned() }
            }
            (Ok(()), error) => error,
        }
    }
}

fn used() -> MutexGuard<'static, Vec<(usize, usize)>> {
    USED.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Drop for HeldHeap {
    fn drop(&mut self) {
        // The device may be lost, and the heap with it: only who uses it next touches it.
        used().extend(self.saved.drain(..).map(|(range, block)| (block, range.len())));
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
