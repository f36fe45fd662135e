//! Launches that the compiler makes of other parallel code, and the heap of such programs. Users
//! have no way to them.

use std::any::type_name;
use std::fmt;
use std::ops::Range;

use crate::api::queue::Queue;
use crate::code::captured;
use crate::data::shared_heap;
use crate::error::LaunchError;
use crate::kernel::abi::Kernel;
use crate::kernel::group::local;
use crate::kernel::group::nd_item::NdItem;
use crate::kernel::group::nd_range::NdRange;
use crate::kernel::item::Item;
use crate::launch::desc::HostThreads;
use crate::launch::erased::RawKernel;
use crate::launch::shape::LaunchRange;
use crate::util::trace;

/// The functions behind the program's allocator.
pub mod heap {
    use std::alloc::Layout;

    use crate::data::shared_heap;

    /// Runs what has to be there before memory can be shared: large blocks that the thread requests
    /// meanwhile ask nobody for a queue.
    pub fn prepare<R>(run: impl FnOnce() -> R) -> R {
        shared_heap::prepare(run)
    }

    /// Allocates: the compiler puts this behind the program's allocator.
    ///
    /// # Safety
    /// As for [`GlobalAlloc::alloc`](std::alloc::GlobalAlloc::alloc), with the size and the
    /// alignment of a layout.
    #[unsafe(no_mangle)]
    pub unsafe extern "C" fn __schism_heap_alloc(size: usize, align: usize) -> *mut u8 {
        // SAFETY: the caller's promise.
        unsafe { shared_heap::alloc(Layout::from_size_align_unchecked(size, align)) }
    }

    /// Allocates zeros.
    ///
    /// # Safety
    /// As for [`__schism_heap_alloc`].
    #[unsafe(no_mangle)]
    pub unsafe extern "C" fn __schism_heap_alloc_zeroed(size: usize, align: usize) -> *mut u8 {
        // SAFETY: the caller's promise.
        unsafe { shared_heap::alloc_zeroed(Layout::from_size_align_unchecked(size, align)) }
    }

    /// Frees.
    ///
    /// # Safety
    /// As for [`__schism_heap_alloc`].
    #[unsafe(no_mangle)]
    pub unsafe extern "C" fn __schism_heap_dealloc(block: *mut u8, size: usize, align: usize) {
        // SAFETY: the caller's promise.
        unsafe { shared_heap::dealloc(block, Layout::from_size_align_unchecked(size, align)) }
    }

    /// Changes a block's size.
    ///
    /// # Safety
    /// As for [`__schism_heap_alloc`].
    #[unsafe(no_mangle)]
    pub unsafe extern "C" fn __schism_heap_realloc(
        block: *mut u8,
        size: usize,
        align: usize,
        new: usize,
    ) -> *mut u8 {
        // SAFETY: the caller's promise.
        unsafe { shared_heap::realloc(block, Layout::from_size_align_unchecked(size, align), new) }
    }

    /// Call it when the program starts, before it opens libraries.
    pub fn at_start() {
        crate::hal::dispatch::at_start();
    }

    /// Asks for memory that is shared with a queue's device, which the first large block reserves.
    /// `queue` is called at most once.
    pub fn share(queue: fn() -> Option<crate::Queue>) {
        shared_heap::want(Box::new(move |bytes| queue()?.backend().reserve_shared(bytes)));
    }
}

/// Calls `run` while the queue's device sees all of the program's memory: all [`run_unchecked`] on
/// it has to be in such a call. Memory that is allocated inside `run` may be invisible.
///
/// # Errors
/// [`LaunchError::HostMemory`]; then `run` is not called.
pub fn with_host_memory<R>(queue: &Queue, run: impl FnOnce() -> R) -> Result<R, LaunchError> {
    let (mut run, mut result) = (Some(run), None);
    let mut once = || result = run.take().map(|run| run());
    let seen = queue.backend().with_host_memory(&mut once);
    let refused = |reason| LaunchError::HostMemory { device: queue.device().to_string(), reason };
    seen.map_err(refused)?;
    Ok(result.expect("it was called"))
}

/// Runs `kernel` once for each of `items`, and returns when all are done. Its bytes are copied as
/// they are, with all addresses in them.
///
/// # Errors
/// [`LaunchError`].
///
/// # Safety
/// This is inside a call of [`with_host_memory`] with the same queue. Work-items may run at the
/// same time, on other threads. What the addresses in the kernel refer to lives until this returns.
pub unsafe fn run_unchecked<K: Kernel<1>>(
    queue: &Queue,
    kernel: &K,
    items: usize,
) -> Result<(), LaunchError> {
    // SAFETY: the caller's promises.
    unsafe { run_on_threads(queue, kernel, items, HostThreads::ANY) }
}

/// As [`run_unchecked`], on these threads where the device is the host.
///
/// # Errors
/// [`LaunchError`].
///
/// # Safety
/// As for [`run_unchecked`].
pub unsafe fn run_on_threads<K: Kernel<1>>(
    queue: &Queue,
    kernel: &K,
    items: usize,
    threads: HostThreads,
) -> Result<(), LaunchError> {
    let shape = items.shape()?;
    let raw = RawKernel::new::<K, 1>(kernel, type_name::<K>);
    prefetch(queue, &raw);
    // SAFETY: the kernel is borrowed for the call; the rest is the caller's promise.
    unsafe { queue.run_with_host_addresses(raw, &shape, 0, threads) }
}

/// As [`run_unchecked`], for `groups` groups of `local` work-items each, with `memory` bytes of
/// local memory.
///
/// # Errors
/// [`LaunchError`].
///
/// # Safety
/// As for [`run_unchecked`].
pub unsafe fn run_in_groups<K: Kernel<1>>(
    queue: &Queue,
    kernel: &K,
    (groups, local): (usize, usize),
    memory: usize,
) -> Result<(), LaunchError> {
    let shape = NdRange::from_groups(groups, local)?.shape()?;
    let raw = RawKernel::new::<K, 1>(kernel, type_name::<K>);
    prefetch(queue, &raw);
    // SAFETY: the kernel is borrowed for the call; the rest is the caller's promise.
    unsafe { queue.run_with_host_addresses(raw, &shape, memory, HostThreads::ANY) }
}

/// The running work-item of a launch by [`run_in_groups`], and its group's local memory, aligned to
/// 128 bytes.
///
/// # Safety
/// It runs in such a launch, and the lifetime is that of the group's run.
#[inline(always)]
pub unsafe fn in_group<'g>(item: Item<1>) -> (NdItem<'g, 1>, *mut u8) {
    // SAFETY: the caller's promise.
    (NdItem::current(item), unsafe { local::dynamic() })
}

/// How many work-items run on a queue's device at the same time.
pub fn concurrency(queue: &Queue) -> usize {
    queue.device().backend().concurrency()
}

/// Has blocks of the shared heap moved to the device that a kernel refers to: by its own words, or
/// by words that these refer to on the calling thread's stack. What is missed is moved when it is
/// used.
fn prefetch(queue: &Queue, kernel: &RawKernel) {
    /// Of an object on the stack, as many bytes are looked at.
    const OBJECT: usize = 128;
    /// Objects that are looked at.
    const MOST: usize = 64;
    if !shared_heap::is_there() {
        return;
    }
    let here = std::ptr::from_ref(&queue).addr();
    // Another stack than the thread's own is not looked at.
    let stack =
        stack().filter(|stack| stack.contains(&here)).map_or(here..here, |own| here..own.end);
    let mut objects = vec![(kernel.closure.addr(), kernel.layout.size())];
    let (mut next, mut blocks) = (0, Vec::new());
    while let Some((begin, size)) = objects.get(next).copied() {
        next += 1;
        for offset in (0..size / 8).map(|word| word * 8) {
            let place = std::ptr::with_exposed_provenance::<u8>(begin + offset);
            // SAFETY: the word lies in the kernel, or in the part of the stack that is in use.
            let word = unsafe { captured::word(place) };
            if let Some((block, is_new)) = shared_heap::block_of(word) {
                if !blocks.contains(&block) {
                    blocks.push(block);
                    queue.backend().prefetch(block.begin, block.size, is_new);
                }
            } else if stack.contains(&word)
                && objects.len() < MOST
                && objects.iter().all(|(known, _)| *known != word)
            {
                objects.push((word, OBJECT.min(stack.end - word)));
            }
        }
    }
}

/// The addresses of the calling thread's own stack.
fn stack() -> Option<Range<usize>> {
    thread_local! {
        static STACK: Option<Range<usize>> = find_stack();
    }
    STACK.try_with(Clone::clone).ok().flatten()
}

fn find_stack() -> Option<Range<usize>> {
    // SAFETY: plain data, for which zeros are valid.
    let mut attributes: libc::pthread_attr_t = unsafe { std::mem::zeroed() };
    let (mut begin, mut size) = (std::ptr::null_mut(), 0);
    // SAFETY: the attributes of this very thread; they are released once, if there are any.
    unsafe {
        if libc::pthread_getattr_np(libc::pthread_self(), &raw mut attributes) != 0 {
            return None;
        }
        let found =
            libc::pthread_attr_getstack(&raw const attributes, &raw mut begin, &raw mut size);
        libc::pthread_attr_destroy(&raw mut attributes);
        (found == 0).then(|| begin.addr()..begin.addr() + size)
    }
}

/// Has the code of `K` for `queue` made in the background, for launches that begin at zero, in
/// groups or without; `told` learns whether it is there. Returns whether it will: the background may have enough to do.
///
/// The queue must make no versions for the values of kernels
/// ([`Adaptivity::Off`](crate::Adaptivity::Off)).
pub fn prepare_unchecked<K: Kernel<1>>(
    queue: &Queue,
    in_groups: bool,
    told: Box<dyn FnOnce(Result<(), LaunchError>) + Send>,
) -> bool {
    let raw = RawKernel::new::<K, 1>(std::ptr::null(), type_name::<K>);
    queue.prepare(raw, in_groups, told)
}

/// Shows a step in the trace.
pub fn note(text: fmt::Arguments<'_>) {
    trace::install();
    tracing::debug!("{text}");
}

/// Warns in the trace and on standard error.
pub fn warn(text: fmt::Arguments<'_>) {
    trace::install();
    crate::util::warn_once::warn(text);
}
