//! Launches that the compiler makes of other parallel code, and the heap of such programs. Users
//! have no way to them.

use std::any::type_name;
use std::cell::RefCell;
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
///
/// How large an object on the stack is, nobody knows: what is found in it may belong to a neighbour.
/// Such a block that the host keeps taking back stays there, if it is small.
fn prefetch(queue: &Queue, kernel: &RawKernel) {
    /// Of an object on the stack, as many bytes are looked at.
    const OBJECT: usize = 128;
    /// The bytes of a vector: these belong to the object.
    const VECTOR: usize = 24;
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
                // The first object is the kernel.
                let is_sure = next == 1 || offset < VECTOR || block.size >= Returns::LARGE;
                let key = (block.begin, block.size);
                let stays = || !is_sure && !is_new && Returns::with(|returns| returns.keeps(key));
                if !blocks.contains(&block) && !stays() {
                    let is_moved = queue.backend().prefetch(block.begin, block.size, is_new);
                    if is_moved && !is_new && !is_sure {
                        Returns::with(|returns| returns.count(key));
                    }
                    blocks.push(block);
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

/// How often blocks that kernels may refer to came back to the host.
#[derive(Debug, Default)]
struct Returns(Vec<((usize, usize), u8)>);

impl Returns {
    /// Blocks from this size on are moved each time: if a kernel uses one after all, it would wait
    /// for many pages.
    const LARGE: usize = 1 << 20;

    /// A block that came back so often stays.
    const OFTEN: u8 = 3;

    /// Blocks that are counted.
    const MOST: usize = 64;

    fn with<R: Default>(run: impl FnOnce(&mut Self) -> R) -> R {
        thread_local! {
            static RETURNS: RefCell<Returns> = RefCell::default();
        }
        RETURNS.try_with(|returns| run(&mut returns.borrow_mut())).unwrap_or_default()
    }

    /// Whether a block stays with the host.
    fn keeps(&self, block: (usize, usize)) -> bool {
        self.0.iter().any(|(other, count)| *other == block && *count >= Self::OFTEN)
    }

    fn count(&mut self, block: (usize, usize)) {
        if let Some((_, count)) = self.0.iter_mut().find(|(other, _)| *other == block) {
            *count = count.saturating_add(1);
            return;
        }
        if self.0.len() == Self::MOST {
            self.0.clear();
        }
        self.0.push((block, 1));
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

#[cfg(test)]
mod tests {
    use super::Returns;

    #[test]
    fn blocks_that_come_back_stay() {
        let mut returns = Returns::default();
        for _ in 0..Returns::OFTEN {
            assert!(!returns.keeps((1, 2)));
            returns.count((1, 2));
        }
        assert!(returns.keeps((1, 2)));
        // Another block at the same place is another block.
        assert!(!returns.keeps((1, 3)));
        for block in 0..2 * Returns::MOST {
            returns.count((block, 5));
        }
        assert!(returns.0.len() <= Returns::MOST && !returns.keeps((1, 2)));
    }
}
