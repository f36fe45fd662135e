//! The queue that directives launch through, and how their launches end.

use std::cell::{OnceCell, RefCell};
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::ops::Deref;
use std::rc::Rc;
use std::sync::OnceLock;

use crate::api::device::Device;
use crate::api::queue::Queue;
use crate::data::pending::{self, Deferral};
use crate::data::present;
use crate::directives::outcome::or_panic;
use crate::directives::races;
use crate::error::DeviceError;

thread_local! {
    static QUEUES: RefCell<Vec<Rc<Handles>>> = const { RefCell::new(Vec::new()) };
    /// What the thread has chosen.
    static CHOSEN: RefCell<Option<Rc<Handles>>> = const { RefCell::new(None) };
    /// The default device's.
    static DEFAULT: RefCell<Option<Rc<Handles>>> = const { RefCell::new(None) };
}

/// A queue of a thread, with the handles that its directives need, each made once.
#[derive(Debug)]
struct Handles {
    queue: Queue,
    /// By [`Deferral`].
    deferring: [OnceCell<Queue>; 2],
}

impl Handles {
    fn new(queue: Queue) -> Rc<Self> {
        Rc::new(Self { queue, deferring: Default::default() })
    }
}

/// What a directive launches through: it need not count who else has the queue.
#[derive(Debug)]
pub struct LaunchQueue {
    handles: ManuallyDrop<Rc<Handles>>,
    deferral: Option<Deferral>,
}

impl LaunchQueue {
    const fn new(handles: Rc<Handles>) -> Self {
        Self { handles: ManuallyDrop::new(handles), deferral: None }
    }

    fn deferring(mut self, deferral: Deferral) -> Self {
        self.deferral = Some(deferral);
        self
    }
}

impl From<Queue> for LaunchQueue {
    fn from(queue: Queue) -> Self {
        Self::new(Handles::new(queue))
    }
}

impl Drop for LaunchQueue {
    // So that programs have a call in the place of what ends a queue.
    #[inline(never)]
    fn drop(&mut self) {
        // SAFETY: it is not used again.
        unsafe { ManuallyDrop::drop(&mut self.handles) };
    }
}

impl Deref for LaunchQueue {
    type Target = Queue;

    #[inline(never)]
    fn deref(&self) -> &Queue {
        let Handles { queue, deferring } = &**self.handles;
        self.deferral.map_or(queue, |deferral| {
            let make = || queue.clone().deferring(Some(deferral));
            deferring[deferral as usize].get_or_init(make)
        })
    }
}

/// Runs `body`, in which this thread's directives launch through `queue`.
///
/// ```
/// use schism::directives::{acc, with_queue};
/// use schism::prelude::*;
///
/// #[acc]
/// fn squares(numbers: &mut [u64]) {
///     #[acc(parallel, loop)]
///     for (i, number) in numbers.iter_mut().enumerate() {
///         *number = i as u64 * i as u64;
///     }
/// }
///
/// let queue = Queue::on(&Device::by_name("native")?)?;
/// let mut numbers = [0; 5];
/// let ((), reports) = queue.report(|queue| with_queue(queue, || squares(&mut numbers)));
/// assert_eq!((numbers, reports.len()), ([0, 1, 4, 9, 16], 1));
/// # Ok::<(), schism::Error>(())
/// ```
pub fn with_queue<R>(queue: &Queue, body: impl FnOnce() -> R) -> R {
    let _entered = enter(queue);
    body()
}

/// As long as it lives, the directives of the thread that has made it launch through a queue.
#[derive(Debug)]
pub struct Entered(PhantomData<*const ()>);

impl Drop for Entered {
    fn drop(&mut self) {
        pending::wait(false);
        QUEUES.with_borrow_mut(Vec::pop);
    }
}

pub(crate) fn enter(queue: &Queue) -> Entered {
    pending::wait(false);
    QUEUES.with_borrow_mut(|queues| queues.push(Handles::new(queue.clone())));
    Entered(PhantomData)
}

/// The queue of [`with_queue`], or the one that the thread has chosen.
pub(crate) fn current() -> Option<Queue> {
    current_handles().map(|handles| handles.queue.clone())
}

#[inline]
fn current_handles() -> Option<Rc<Handles>> {
    let given = QUEUES.with_borrow(|queues| queues.last().cloned());
    given.or_else(|| CHOSEN.with_borrow(Clone::clone))
}

/// The queue of the default device.
pub(crate) fn default_queue() -> Result<Queue, DeviceError> {
    static QUEUE: OnceLock<Result<Queue, DeviceError>> = OnceLock::new();
    QUEUE.get_or_init(Queue::new).clone()
}

/// The queue of loops in order on the host, which are checked.
fn checked_queue() -> Result<Queue, DeviceError> {
    static CHECKED: OnceLock<Result<Queue, DeviceError>> = OnceLock::new();
    let made = || Ok(Queue::on(&Device::by_name("native")?)?.on_one_thread());
    CHECKED.get_or_init(made).clone()
}

/// The queue that this thread's directives launch through; that of loops in order on the host if they
/// are checked.
///
/// # Errors
/// That of the device.
pub(super) fn try_queue() -> Result<Queue, DeviceError> {
    handles().map(|handles| handles.queue.clone())
}

fn handles() -> Result<Rc<Handles>, DeviceError> {
    if races::are_checked() {
        return checked_queue().map(Handles::new);
    }
    if let Some(handles) = current_handles() {
        return Ok(handles);
    }
    if let Some(handles) = DEFAULT.with_borrow(Clone::clone) {
        return Ok(handles);
    }
    let handles = Handles::new(default_queue()?);
    DEFAULT.set(Some(Rc::clone(&handles)));
    Ok(handles)
}

/// Has this thread's directives launch through another queue, or through the default device's, until
/// [`with_queue`] ends, if one runs.
pub(super) fn choose(queue: Option<Queue>) {
    // The device keeps the order of one queue.
    pending::wait(false);
    let queue = queue.map(Handles::new);
    let is_chosen = QUEUES.with_borrow_mut(|queues| match (queues.last_mut(), &queue) {
        (Some(last), Some(queue)) => {
            *last = Rc::clone(queue);
            true
        }
        (Some(_), None) => true,
        (None, _) => false,
    });
    if !is_chosen {
        CHOSEN.set(queue);
    }
}

/// The queue that this thread's directives launch through.
#[track_caller]
#[inline(never)]
pub fn queue() -> LaunchQueue {
    LaunchQueue::new(or_panic(handles()))
}

/// As [`queue`], for a launch that is the host's unless it `is_on_device`.
#[track_caller]
pub fn queue_if(is_on_device: bool) -> LaunchQueue {
    or_panic(queue().when(is_on_device)).into()
}

/// As `queue`, for launches that are waited for later: `async`.
///
/// It is safe to call, so that programs without unsafe code can have such launches: what directives
/// expand to is the only caller, and only of launches over arrays.
#[must_use]
pub fn asynchronous(queue: LaunchQueue) -> LaunchQueue {
    queue.deferring(Deferral::Copies)
}

/// As `queue`, for the launch of a loop whose values are combined behind it.
///
/// It is safe to call for the same reason: the expansion keeps what the launch uses until these are.
#[must_use]
pub fn reducing(queue: LaunchQueue) -> LaunchQueue {
    queue.deferring(Deferral::CopiesAndBuffers)
}

/// Whether a region may keep elements on a device, so that the host has older ones.
#[must_use]
pub fn is_kept_elsewhere() -> bool {
    present::has_exclusive()
}
