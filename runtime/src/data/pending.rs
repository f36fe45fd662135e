//! Launches that have been submitted and that nothing has waited for: those of directives with `async`.
//!
//! They use copies that regions keep on a device, and nothing that could end earlier. The device keeps
//! their order. Whatever else uses such a copy, or ends it, [waits](wait) first. What has failed is kept
//! until the thread that has launched it [asks](settle), or the region that has a copy that it used.

use std::cell::Cell;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use smallvec::SmallVec;

use crate::data::device_copy::CopyOwner;
use crate::error::LaunchError;
use crate::hal::Submitted;
use crate::hal::dispatch::{BackendPending, BackendQueue};

/// Which launches may return early. The device has separate memory in any case, and nothing is to be
/// copied for the launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Deferral {
    /// Those that use copies which were there before, and no buffers.
    Copies,
    /// Those that use buffers as well, which the caller keeps until they have ended.
    CopiesAndBuffers,
}

/// A launch, and what it uses.
struct Pending {
    thread: u64,
    queue: BackendQueue,
    launch: Submitted<BackendPending>,
    used: UsedCopies,
}

/// The copies that a launch uses.
#[derive(Default)]
pub(crate) struct UsedCopies {
    /// What keeps those that may go before it has ended.
    owners: Vec<CopyOwner>,
    /// The addresses of all others.
    others: SmallVec<[usize; 4]>,
}

impl UsedCopies {
    pub(crate) fn owned(owners: Vec<CopyOwner>) -> Self {
        Self { owners, ..Self::default() }
    }

    /// Copies that regions keep until the launch has been waited for, by their addresses.
    pub(crate) fn of_regions(copies: &[usize]) -> Self {
        Self { others: SmallVec::from_slice(copies), owners: Vec::new() }
    }
}

struct Failed {
    thread: u64,
    error: LaunchError,
    /// The addresses of the copies that it used.
    copies: Vec<usize>,
}

struct Launches {
    /// In the order in which they were submitted.
    pending: Vec<Pending>,
    failed: Vec<Failed>,
}

static LAUNCHES: Mutex<Launches> = Mutex::new(Launches { pending: Vec::new(), failed: Vec::new() });

/// How many of both there are, so that programs without any take no lock.
static COUNT: AtomicUsize = AtomicUsize::new(0);

/// The thread of all that are pending, or [`SEVERAL`].
static THREAD: AtomicU64 = AtomicU64::new(SEVERAL);

const SEVERAL: u64 = u64::MAX;

/// The most that are pending; then the older half is waited for.
const MOST: usize = 1024;

thread_local! {
    static IS_SUBMITTING: Cell<bool> = const { Cell::new(false) };
    /// The number of the thread; 0 if it has none yet.
    static NUMBER: Cell<u64> = const { Cell::new(0) };
}

/// The number of this thread, which no other has.
#[inline]
fn this_thread() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    if NUMBER.get() == 0 {
        NUMBER.set(NEXT.fetch_add(1, Ordering::Relaxed));
    }
    NUMBER.get()
}

/// As long as it lives, its thread submits a launch behind its pending ones.
#[derive(Debug)]
pub(crate) struct Submitting(PhantomData<*const ()>);

impl Submitting {
    pub(crate) fn new() -> Self {
        IS_SUBMITTING.set(true);
        Self(PhantomData)
    }
}

impl Drop for Submitting {
    fn drop(&mut self) {
        IS_SUBMITTING.set(false);
    }
}

/// What tells a copy from others as long as it is there.
pub(super) fn address<T: ?Sized>(copy: &Arc<T>) -> usize {
    Arc::as_ptr(copy).addr()
}

fn launches() -> MutexGuard<'static, Launches> {
    LAUNCHES.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Launches {
    /// Waits for some, and returns what is to be dropped without the lock.
    fn wait(&mut self, is_waited_for: impl Fn(usize, &Pending) -> bool) -> Vec<Vec<CopyOwner>> {
        let mut number = 0;
        let is_waited_for = |launch: &mut Pending| {
            number += 1;
            is_waited_for(number - 1, launch)
        };
        let mut ended = Vec::new();
        for Pending { thread, queue, launch, used } in self.pending.extract_if(.., is_waited_for) {
            if let Err(error) = queue.finish(launch).0 {
                let copies = used.owners.iter().map(address).chain(used.others).collect();
                self.failed.push(Failed { thread, error, copies });
            }
            if !used.owners.is_empty() {
                ended.push(used.owners);
            }
        }
        self.count();
        ended
    }

    fn count(&self) {
        COUNT.store(self.pending.len() + self.failed.len(), Ordering::Relaxed);
    }
}

/// Adds a launch of this thread, which uses these copies.
pub(crate) fn add(queue: &BackendQueue, launch: Submitted<BackendPending>, used: UsedCopies) {
    let mut launches = launches();
    let thread = this_thread();
    let is_only = launches.pending.is_empty() || THREAD.load(Ordering::Relaxed) == thread;
    THREAD.store(if is_only { thread } else { SEVERAL }, Ordering::Relaxed);
    launches.pending.push(Pending { thread, queue: queue.clone(), launch, used });
    let is_old = |number: usize, _: &Pending| number < MOST / 2;
    let ended = if launches.pending.len() > MOST { launches.wait(is_old) } else { Vec::new() };
    launches.count();
    drop(launches);
    drop(ended);
}

/// Waits for all launches before a copy is used or ended; but a thread that submits another launch
/// behind its own, which uses copies where they are, waits for those of other threads only.
#[inline]
pub(crate) fn wait(uses_copy: bool) {
    // A copy is had from the thread whose launches use it, directly or not.
    if COUNT.load(Ordering::Relaxed) == 0 {
        return;
    }
    let others = uses_copy && IS_SUBMITTING.get();
    // Others' launches that this thread has to wait for were there before it got the copy.
    if !others || THREAD.load(Ordering::Relaxed) != this_thread() {
        wait_for(others);
    }
}

#[cold]
fn wait_for(others: bool) {
    let own = this_thread();
    let ended = launches().wait(|_, launch| !others || launch.thread != own);
    drop(ended);
}

/// Waits for all launches, and returns the first error of those of this thread, or that used a copy, and
/// were not returned before.
///
/// # Errors
/// That of a launch.
#[inline]
pub(crate) fn settle<T>(copy: Option<&Arc<T>>) -> Result<(), LaunchError> {
    if COUNT.load(Ordering::Relaxed) == 0 { Ok(()) } else { settle_all(copy.map(address)) }
}

#[cold]
fn settle_all(copy: Option<usize>) -> Result<(), LaunchError> {
    let own = this_thread();
    let mut launches = launches();
    let ended = launches.wait(|_, _| true);
    let is_asked_for = |failed: &mut Failed| {
        failed.thread == own || copy.is_some_and(|copy| failed.copies.contains(&copy))
    };
    let mut errors = launches.failed.extract_if(.., is_asked_for).map(|failed| failed.error);
    let first = errors.next();
    errors.for_each(drop);
    launches.count();
    drop(launches);
    drop(ended);
    first.map_or(Ok(()), Err)
}

/// Whether this thread has no launch that still runs.
pub(crate) fn is_over() -> bool {
    let own = this_thread();
    launches().pending.iter().filter(|pending| pending.thread == own).all(|pending| match &pending
        .launch
    {
        Submitted::Ended => true,
        Submitted::Numbered(launch) => pending.queue.is_over(launch.number),
        Submitted::Pending(launch) => launch.is_over(),
    })
}
