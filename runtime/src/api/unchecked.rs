//! Launches that the compiler makes of other parallel code, and the heap of such programs. Users
//! have no way to them.
//!
//! Kernels come without their types, and have no body in the host half.

use std::cell::RefCell;
use std::fmt;
use std::ops::Range;
use std::thread::LocalKey;
use std::time::Duration;

use crate::api::device::Device;
use crate::api::queue::Queue;
use crate::code::{captured, kernels};
use crate::data::shared_heap;
use crate::error::{DeviceError, LaunchError};
use crate::hal::{DeviceTraits, SharedRange};
use crate::kernel::group::local;
use crate::kernel::group::nd_item::NdItem;
use crate::kernel::group::nd_range::NdRange;
use crate::kernel::item::Item;
use crate::launch::desc::{HostAddresses, HostThreads, ProgramPool};
use crate::launch::erased::{ErasedKernel, RawKernel};
use crate::launch::shape::{LaunchRange, LaunchShape};
use crate::util::trace;

/// Calls `run` once while the queue's device sees all of the program's memory: all
/// [`run_on_threads`] on it has to be in such a call. Memory that is allocated inside `run` may be
/// invisible.
///
/// # Errors
/// What `run` returns, or [`LaunchError::HostMemory`]; then `run` is not called.
pub fn with_host_memory(
    queue: &Queue,
    run: &mut dyn FnMut() -> Result<(), LaunchError>,
) -> Result<(), LaunchError> {
    let mut outcome = Ok(());
    let mut run = || outcome = run();
    let seen = match queue.backend().host_memory() {
        Some(memory) => memory.with_all(&mut run),
        None => {
            run();
            Ok(())
        }
    };
    let refused = |reason| LaunchError::HostMemory { device: queue.device().to_string(), reason };
    seen.map_err(refused).and(outcome)
}

/// Runs `kernel` once for each of `items`, and returns when all are done. The bytes at `data` are copied
/// as they are, with all addresses in them. `changes` are the addresses of what the kernel changes besides its result, if it may
/// allocate and needs more memory than there is: then they have their old bytes, and the launch fails with
/// [`LaunchError::HostMemory`].
///
/// # Errors
/// [`LaunchError`].
///
/// # Safety
/// The data is the kernel's. Work-items may run at the same time, on other threads. The data, and what
/// the addresses in it refer to, lives until this returns. The changes are borrowed for the call.
pub unsafe fn run_unchecked(
    queue: &Queue,
    kernel: ErasedKernel,
    data: *const (),
    items: usize,
    changes: &[Range<usize>],
) -> Result<(), LaunchError> {
    // SAFETY: the caller's promises.
    unsafe { run_seen(queue, &kernel.with_data(data), items.shape(), 0, changes) }
}

/// As [`run_unchecked`], on these threads where the device is the host.
///
/// # Errors
/// [`LaunchError`].
///
/// # Safety
/// As for [`run_unchecked`], inside a call of [`with_host_memory`] with the same queue.
pub unsafe fn run_on_threads(
    queue: &Queue,
    kernel: ErasedKernel,
    data: *const (),
    items: usize,
    threads: HostThreads,
) -> Result<(), LaunchError> {
    let raw = &kernel.with_data(data);
    let shape = items.shape()?;
    let run = |threads| {
        with_prefetched(queue, raw, || {
            let how = (HostAddresses::Visible, threads);
            // SAFETY: the caller's promises.
            unsafe { queue.run_with_host_addresses(raw, &shape, 0, how, &[]) }
        })
    };
    // SAFETY: the descriptor is null or the kernel's own, and its shared object is loaded.
    let can_tell = || unsafe {
        raw.descriptor
            .as_ref()
            .is_some_and(|descriptor| !kernels::no_thread_locals(descriptor, raw.layout))
    };
    match threads.pool {
        Some(pool) if can_tell() => run_in(pool, || run(threads)),
        _ => run(HostThreads { pool: None, ..threads }),
    }
}

/// Runs a launch on a thread of the program's, and returns its outcome.
fn run_in(
    pool: ProgramPool,
    launch: impl Fn() -> Result<(), LaunchError>,
) -> Result<(), LaunchError> {
    struct Other<F>(F);
    // SAFETY: a launch's kernel is shared by all threads that run it, and the calling thread waits
    // meanwhile: nothing of it is used by two at a time that was not before.
    unsafe impl<F> Sync for Other<F> {}
    impl<F: Fn() -> R, R> Other<F> {
        fn call(&self) -> R {
            (self.0)()
        }
    }
    let (launch, mut outcome) = (Other(launch), Ok(()));
    (pool.run)(&mut || outcome = launch.call());
    outcome
}

/// As [`run_unchecked`], for `groups` groups of `local` work-items each, with `memory` bytes of
/// local memory.
///
/// # Errors
/// [`LaunchError`].
///
/// # Safety
/// As for [`run_unchecked`].
pub unsafe fn run_in_groups(
    queue: &Queue,
    kernel: ErasedKernel,
    data: *const (),
    (groups, local): (usize, usize),
    memory: usize,
    changes: &[Range<usize>],
) -> Result<(), LaunchError> {
    let shape = NdRange::from_groups(groups, local).and_then(|range| range.shape());
    // SAFETY: the caller's promises.
    unsafe { run_seen(queue, &kernel.with_data(data), shape, memory, changes) }
}

/// Runs a kernel when the device sees the memory that it may use: the shared heap, if that is all,
/// and otherwise all of the program's.
///
/// # Errors
/// [`LaunchError`].
///
/// # Safety
/// As for [`run_unchecked`]; the kernel is borrowed for the call.
unsafe fn run_seen(
    queue: &Queue,
    raw: &RawKernel,
    shape: Result<LaunchShape, LaunchError>,
    memory: usize,
    changes: &[Range<usize>],
) -> Result<(), LaunchError> {
    let shape = shape?;
    let run = |addresses| {
        let how = (addresses, HostThreads::ANY);
        // SAFETY: the caller's promises.
        unsafe { queue.run_with_host_addresses(raw, &shape, memory, how, changes) }
    };
    with_prefetched(queue, raw, || {
        let name = raw.descriptor.addr();
        if shared_heap::is_there()
            && let Some(host_memory) = queue.backend().host_memory()
            && Others::with(|others| others.may_do_without(name))
        {
            let mut outcome = Ok(());
            host_memory.with_shared(&mut || outcome = run(HostAddresses::Shared));
            match outcome {
                Err(LaunchError::HostMemory { .. }) => Others::with(|others| others.note(name)),
                outcome => return outcome,
            }
        }
        with_host_memory(queue, &mut || run(HostAddresses::Visible))
    })
}

/// Kernels, by their descriptors, that use memory outside of the shared heap, and how often that was
/// found out: it is not tried each time.
#[derive(Debug, Default)]
struct Others(Few<usize, u8>);

impl Others {
    /// A kernel of which it was so often true is not tried again. The code for its first launches may
    /// know less than what comes later.
    const OFTEN: u8 = 8;

    fn with<R>(run: impl FnOnce(&mut Self) -> R) -> R {
        thread_local! {
            static OTHERS: RefCell<Others> = RefCell::default();
        }
        with_local(&OTHERS, run)
    }

    fn may_do_without(&mut self, kernel: usize) -> bool {
        self.0.get(kernel).is_none_or(|times| *times < Self::OFTEN)
    }

    fn note(&mut self, kernel: usize) {
        let times = self.0.get_or_insert(kernel, 0);
        *times = times.saturating_add(1);
    }
}

/// What is known of a few things. Of the next one more, all is forgotten.
#[derive(Debug)]
struct Few<K, V>(Vec<(K, V)>);

/// Things that are told apart.
const FEW: usize = 64;

impl<K, V> Default for Few<K, V> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<K: Copy + PartialEq, V> Few<K, V> {
    fn get(&mut self, key: K) -> Option<&mut V> {
        self.0.iter_mut().find(|(other, _)| *other == key).map(|(_, value)| value)
    }

    /// What is known of `key`; if that is nothing, `first`.
    fn get_or_insert(&mut self, key: K, first: V) -> &mut V {
        let known = self.0.iter().position(|(other, _)| *other == key);
        let at = known.unwrap_or_else(|| {
            if self.0.len() == FEW {
                self.0.clear();
            }
            self.0.push((key, first));
            self.0.len() - 1
        });
        &mut self.0[at].1
    }
}

/// Calls `run` with a thread's own value, or with a fresh one where the thread's is gone already.
fn with_local<T: Default, R>(
    local: &'static LocalKey<RefCell<T>>,
    run: impl FnOnce(&mut T) -> R,
) -> R {
    // `run` cannot be moved into a closure that may not be called.
    let mut run = Some(run);
    let mut call = |value: &mut T| run.take().map(|run| run(value));
    let done = local.try_with(|value| call(&mut value.borrow_mut())).ok().flatten();
    done.or_else(|| call(&mut T::default())).expect("it is called once")
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

unsafe extern "C" {
    safe fn __schism_row(group: usize, lanes: usize, lane: usize) -> usize;
}

/// The function that the host half links.
mod host {
    #[unsafe(no_mangle)]
    extern "C" fn __schism_row(group: usize, lanes: usize, lane: usize) -> usize {
        group * lanes + lane
    }
}

/// Which item the running work-item of a launch by [`run_in_groups`] runs: that of its group's number, if
/// stage 2 has the lanes of a group run an item together, and otherwise that of the work-item's number.
///
/// # Safety
/// It runs in such a launch. All work-items of the group call this first.
#[inline(always)]
pub unsafe fn row_of_group(item: Item<1>) -> usize {
    let item = NdItem::current(item);
    // Stage 2 copies it.
    item.barrier();
    __schism_row(item.group_x(), item.local_range()[0], item.local_x())
}

/// The device of programs that choose none, of those that are the host.
///
/// # Errors
/// As for [`Device::default_device`].
pub fn default_of_host() -> Result<Device, DeviceError> {
    Device::default_of_host(false)
}

/// What a device says of itself.
pub fn device_traits(device: &Device) -> DeviceTraits {
    device.backend().traits()
}

/// How many work-items run on a queue's device at the same time.
pub fn concurrency(queue: &Queue) -> usize {
    queue.device().backend().concurrency()
}

/// Runs `launch` when blocks of the shared heap move to the device that a kernel refers to: by its
/// own words, or by words that these refer to on the calling thread's stack. What is missed is moved
/// when it is used.
///
/// The size of an object on the stack is unknown: what is found in it may belong to a neighbour.
/// So a block that the host keeps taking back is [tried](Returns) once.
fn with_prefetched<R>(queue: &Queue, kernel: &RawKernel, launch: impl FnOnce() -> R) -> R {
    let host_memory = queue.backend().host_memory();
    let Some(host_memory) = host_memory.filter(|_| shared_heap::is_there()) else {
        return launch();
    };
    let name = kernel.descriptor.addr();
    let mut blocks = referred(kernel);
    blocks.retain_mut(|block| {
        let returns = |run: fn(&mut Returns, Key) -> Use| {
            if block.is_sure { Use::Moves } else { Returns::with(|all| run(all, block.key(name))) }
        };
        let state = returns(Returns::next);
        block.range.stays = state == Use::Tried;
        state != Use::Stays
    });
    if blocks.is_empty() {
        return launch();
    }
    let mut ranges: Vec<SharedRange> = blocks.iter().map(|block| block.range).collect();
    host_memory.prefetch(&mut ranges);
    let result = launch();
    for (block, range) in blocks.iter().zip(ranges) {
        if block.is_sure || range.is_new {
            continue;
        }
        let key = block.key(name);
        if range.is_moved {
            Returns::with(|returns| returns.count(key));
        } else if range.stays {
            let left = || host_memory.pages_on_host(range.begin, range.size);
            let is_used = (range.on_host != 0).then(|| left() < range.on_host);
            Returns::with(|returns| returns.learn(key, is_used));
        }
    }
    result
}

/// A block of the shared heap that a kernel refers to.
struct Referred {
    range: SharedRange,
    /// Whether the kernel itself has its address. Very large ones count as such.
    is_sure: bool,
}

impl Referred {
    const fn key(&self, kernel: usize) -> Key {
        Key { kernel, begin: self.range.begin, size: self.range.size }
    }
}

/// The blocks of the shared heap that a kernel is seen to refer to.
fn referred(kernel: &RawKernel) -> Vec<Referred> {
    /// Of an object on the stack, as many bytes are looked at.
    const OBJECT: usize = 128;
    /// Objects that are looked at. Most of what a kernel refers to is in it.
    const MOST: usize = 12;
    let own = stack().unwrap_or(0..0);
    let here = std::ptr::from_ref(&own).addr();
    // Another stack than the thread's own is not looked at.
    let stack = if own.contains(&here) { here..own.end } else { here..here };
    let arena = shared_heap::arena();
    let (arena_size, stack_size) = (arena.len(), stack.len());
    let mut objects = [(0, 0); MOST];
    objects[0] = (kernel.closure.addr(), kernel.layout.size());
    let (mut next, mut count, mut blocks) = (0, 1, Vec::<Referred>::new());
    while next < count {
        let (begin, size) = objects[next];
        next += 1;
        for offset in (0..size / 8).map(|word| word * 8) {
            let place = std::ptr::with_exposed_provenance::<u8>(begin + offset);
            // SAFETY: the word lies in the kernel, or in the part of the stack that is in use.
            let word = unsafe { captured::word(place) };
            // Most words are neither.
            if word.wrapping_sub(arena.start) < arena_size {
                if blocks.iter().all(|block| !block.range.contains(word))
                    && let Some((block, is_new)) = shared_heap::block_of(word)
                {
                    let range = SharedRange::new(block.begin, block.size, is_new);
                    // The first object is the kernel.
                    let is_sure = next == 1 || block.size >= Returns::LARGE;
                    blocks.push(Referred { range, is_sure });
                }
            } else if word.wrapping_sub(stack.start) < stack_size
                && count < MOST
                && objects[..count].iter().all(|(known, _)| *known != word)
            {
                objects[count] = (word, OBJECT.min(stack.end - word));
                count += 1;
            }
        }
    }
    blocks
}

/// What becomes of a block before a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Use {
    /// It is moved to the device, if the host has pages of it.
    Moves,
    /// It is left where it is, and looked at after the launch.
    Tried,
    /// It is left where it is.
    Stays,
}

/// A kernel, by its descriptor, and a block to which it may refer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Key {
    kernel: usize,
    begin: usize,
    size: usize,
}

/// What is known of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Known {
    /// It was moved so often.
    Moved(u8),
    /// The kernel uses it.
    Used,
    /// The kernel does not use it. It stays for so many launches more.
    Unused(u8),
}

/// Blocks that came back to the host after they were moved, and whether kernels use them: one that
/// came back often is left there for a launch. If the kernel uses it, its pages move then.
#[derive(Debug, Default)]
struct Returns(Few<Key, Known>);

impl Returns {
    /// Blocks of this size and larger are moved each time: a kernel that uses one after all would
    /// wait too long for its pages.
    const LARGE: usize = 64 << 20;

    /// A block that came back so often is tried.
    const OFTEN: u8 = 3;

    /// For so many launches a block stays that was not used.
    const LAUNCHES: u8 = 100;

    fn with<R>(run: impl FnOnce(&mut Self) -> R) -> R {
        thread_local! {
            static RETURNS: RefCell<Returns> = RefCell::default();
        }
        with_local(&RETURNS, run)
    }

    /// What becomes of a block before the next launch.
    fn next(&mut self, key: Key) -> Use {
        let Some(known) = self.0.get(key) else { return Use::Moves };
        match known {
            Known::Moved(Self::OFTEN..) => Use::Tried,
            Known::Unused(0) => {
                *known = Known::Moved(0);
                Use::Moves
            }
            Known::Unused(more) => {
                *more -= 1;
                Use::Stays
            }
            Known::Moved(_) | Known::Used => Use::Moves,
        }
    }

    /// Takes note that a block was moved which the host had taken back.
    fn count(&mut self, key: Key) {
        if let Known::Moved(count) = self.0.get_or_insert(key, Known::Moved(0)) {
            *count = count.saturating_add(1);
        }
    }

    /// Takes note of whether a launch used a block that was left with the host; `None` if the host
    /// had nothing of it.
    fn learn(&mut self, key: Key, is_used: Option<bool>) {
        if let Some(known) = self.0.get(key) {
            *known = match is_used {
                Some(true) => Known::Used,
                Some(false) => Known::Unused(Self::LAUNCHES),
                None => Known::Moved(0),
            };
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

/// Has the code of a kernel for `queue` made in the background, for launches that begin at zero, in
/// groups or without; `told` learns whether it is there, and how long that took. Returns whether it
/// will: the background may have enough to do.
pub fn prepare_unchecked(
    queue: &Queue,
    kernel: ErasedKernel,
    in_groups: bool,
    told: Box<dyn FnOnce(Result<(), LaunchError>, Duration) + Send>,
) -> bool {
    queue.prepare(kernel, in_groups, told)
}

/// What this process's threads have used of the processors, all together; `None` if the system does not
/// say.
pub fn processor_time() -> Option<Duration> {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the time is this function's to be written.
    let known = unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &raw mut time) } == 0;
    known.then(|| Duration::new(time.tv_sec as u64, time.tv_nsec as u32))
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
    use super::{FEW, Key, Others, Returns, Use};

    const fn key(kernel: usize, begin: usize) -> Key {
        Key { kernel, begin, size: 3 }
    }

    /// Has a block moved until it is tried.
    fn tried(returns: &mut Returns, key: Key) {
        for _ in 0..Returns::OFTEN {
            assert_eq!(returns.next(key), Use::Moves);
            returns.count(key);
        }
        assert_eq!(returns.next(key), Use::Tried);
    }

    #[test]
    fn blocks_that_come_back_and_are_not_used_stay_for_some_time() {
        let mut returns = Returns::default();
        tried(&mut returns, key(1, 2));
        returns.learn(key(1, 2), Some(false));
        for _ in 0..Returns::LAUNCHES {
            assert_eq!(returns.next(key(1, 2)), Use::Stays);
        }
        // Another kernel may use it, and another block may be used.
        assert_eq!(returns.next(key(2, 2)), Use::Moves);
        assert_eq!(returns.next(key(1, 3)), Use::Moves);
        tried(&mut returns, key(1, 2));
        // Nothing of it was there.
        returns.learn(key(1, 2), None);
        tried(&mut returns, key(1, 2));
    }

    #[test]
    fn kernels_that_use_other_memory_are_not_tried_for_ever() {
        let mut others = Others::default();
        for _ in 0..Others::OFTEN {
            assert!(others.may_do_without(1));
            others.note(1);
        }
        others.note(1);
        assert!(!others.may_do_without(1) && others.may_do_without(2));
        for kernel in 0..2 * FEW {
            others.note(kernel);
        }
        assert!(others.0.0.len() <= FEW);
    }

    #[test]
    fn blocks_that_are_used_move() {
        let mut returns = Returns::default();
        tried(&mut returns, key(1, 2));
        returns.learn(key(1, 2), Some(true));
        for _ in 0..1000 {
            assert_eq!(returns.next(key(1, 2)), Use::Moves);
            returns.count(key(1, 2));
        }
        for block in 0..2 * FEW {
            returns.count(key(5, block));
        }
        assert!(returns.0.0.len() <= FEW);
    }
}
