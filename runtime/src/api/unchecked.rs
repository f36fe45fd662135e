//! Launches that the compiler makes of other parallel code. Users have no way to them.

use std::any::type_name;
use std::fmt;

use crate::api::queue::Queue;
use crate::error::LaunchError;
use crate::kernel::abi::Kernel;
use crate::launch::erased::RawKernel;
use crate::launch::shape::LaunchRange;
use crate::util::trace;

/// Runs `kernel` once for each of `items`, and returns when all are done. Its bytes are copied as
/// they are, with all addresses in them.
///
/// # Errors
/// [`LaunchError`].
///
/// # Safety
/// Work-items may run at the same time, on other threads. The addresses in the kernel are good for
/// the queue's device until this returns.
pub unsafe fn run_unchecked<K: Kernel<1>>(
    queue: &Queue,
    kernel: &K,
    items: usize,
) -> Result<(), LaunchError> {
    let shape = items.shape()?;
    let raw = RawKernel::new::<K, 1>(kernel, type_name::<K>);
    // SAFETY: the kernel is borrowed for the call; the rest is the caller's promise.
    unsafe { queue.run(raw, &shape, 0) }
}

/// Has the code of `K` for `queue` made in the background, for launches that begin at zero; `told`
/// learns whether it is there. Returns whether it will: the background may have enough to do.
///
/// The queue must make no versions for the values of kernels ([`Adaptivity::Off`](crate::Adaptivity::Off)).
pub fn prepare_unchecked<K: Kernel<1>>(
    queue: &Queue,
    told: Box<dyn FnOnce(Result<(), LaunchError>) + Send>,
) -> bool {
    let raw = RawKernel::new::<K, 1>(std::ptr::null(), type_name::<K>);
    queue.prepare(raw, told)
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
