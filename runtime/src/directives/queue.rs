//! The queue that directives launch through, and how their launches end.

use std::cell::RefCell;
use std::marker::PhantomData;
use std::sync::OnceLock;

use crate::api::device::Device;
use crate::api::queue::Queue;
use crate::directives::races;
use crate::error::{DeviceError, Error, LaunchError};

thread_local! {
    static QUEUES: RefCell<Vec<Queue>> = const { RefCell::new(Vec::new()) };
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
        QUEUES.with_borrow_mut(Vec::pop);
    }
}

pub(crate) fn enter(queue: &Queue) -> Entered {
    QUEUES.with_borrow_mut(|queues| queues.push(queue.clone()));
    Entered(PhantomData)
}

/// The queue of [`with_queue`].
pub(crate) fn current() -> Option<Queue> {
    QUEUES.with_borrow(|queues| queues.last().cloned())
}

/// The queue of the default device.
pub(crate) fn default_queue() -> Result<Queue, DeviceError> {
    static DEFAULT: OnceLock<Result<Queue, DeviceError>> = OnceLock::new();
    DEFAULT.get_or_init(Queue::new).clone()
}

/// The queue of loops in order on the host, which are checked.
fn checked_queue() -> Result<Queue, DeviceError> {
    static CHECKED: OnceLock<Result<Queue, DeviceError>> = OnceLock::new();
    let made = || Ok(Queue::on(&Device::by_name("native")?)?.on_one_thread());
    CHECKED.get_or_init(made).clone()
}

/// The queue that this thread's directives launch through; that of loops in order on the host if they
/// are checked.
#[track_caller]
pub fn queue() -> Queue {
    if races::are_checked() {
        return checked_queue().unwrap_or_else(|error| panic!("{error}"));
    }
    match current().map_or_else(default_queue, Ok) {
        Ok(queue) => queue,
        Err(error) => panic!("{error}"),
    }
}

/// Ends a launch.
#[track_caller]
pub fn done(outcome: Result<(), LaunchError>) {
    if let Err(error) = outcome {
        panic!("{error}");
    }
}

/// Ends a region.
#[track_caller]
pub fn ended(outcome: Result<(), Error>) {
    if let Err(error) = outcome {
        panic!("{error}");
    }
}
