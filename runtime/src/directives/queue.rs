//! The queue that directives launch through, and how their launches end.

use std::cell::RefCell;
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
    struct Pop;
    impl Drop for Pop {
        fn drop(&mut self) {
            QUEUES.with_borrow_mut(Vec::pop);
        }
    }
    QUEUES.with_borrow_mut(|queues| queues.push(queue.clone()));
    let _pop = Pop;
    body()
}

/// The queue that this thread's directives launch through; that of loops in order on the host if they
/// are checked.
#[track_caller]
pub fn queue() -> Queue {
    static DEFAULT: OnceLock<Result<Queue, DeviceError>> = OnceLock::new();
    static CHECKED: OnceLock<Result<Queue, DeviceError>> = OnceLock::new();
    if races::are_checked() {
        let made = || Ok(Queue::on(&Device::by_name("native")?)?.on_one_thread());
        match CHECKED.get_or_init(made) {
            Ok(queue) => return queue.clone(),
            Err(error) => panic!("{error}"),
        }
    }
    if let Some(queue) = QUEUES.with_borrow(|queues| queues.last().cloned()) {
        return queue;
    }
    match DEFAULT.get_or_init(Queue::new) {
        Ok(queue) => queue.clone(),
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
