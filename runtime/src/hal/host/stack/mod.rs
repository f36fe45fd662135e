//! Stacks for kernels: their sizes, and how overflows are handled.
//!
//! One rule for the devices `cpu` and `native`:
//!
//! - **A kernel whose need is known gets what it needs.** On the device `cpu`, stage 2 knows the
//!   frames of all functions and the call graph, so it knows the maximum stack of a work-item,
//!   unless there is recursion, calls through pointers, or frames of computed size. A need above
//!   [`MOST_OF_ITEM`] is [`LaunchError::Stack`], before anything runs.
//! - **Any other kernel gets at least as much as a thread of Rust's**: 2 MiB, or the value of
//!   `SCHISM_CPU_STACK`; all that is left on a thread that has more. On the device `native` these are all kernels: the need of the host half is
//!   unknown.
//! - **A thread with less stack left switches to another stack** while it runs work-items. So it
//!   does not matter which thread launches a kernel. Work-items that wait at barriers have a stack
//!   each anyway. If the system has no memory for a stack, that is [`LaunchError::NoStack`].
//! - **An overflow ends the process** with a message like that of Rust's own threads, which names
//!   the kernel and the device ([`overflow`]). All code probes its frames page by page, so it hits
//!   the guard page below the stack: rustc does this for the host half, and stage 2 for kernels.
//!
//! [`LaunchError::Stack`]: crate::LaunchError::Stack
//! [`LaunchError::NoStack`]: crate::LaunchError::NoStack

pub(crate) mod memory;
pub(crate) mod need;
pub(crate) mod overflow;
pub(crate) mod settings;
mod thread;

use crate::hal::host::stack::memory::{OwnStack, size_for};
use crate::hal::host::stack::need::Need;
use crate::hal::host::stack::overflow::Runs;
use crate::hal::host::stack::settings::MOST_OF_ITEM;
use crate::launch::failure::Failure;

/// The maximum address space for the stacks of all waiting work-items, in bytes.
pub(crate) const MOST_OF_ALL: usize = 256 << 30;

/// Bytes that a thread of this crate's own has beside the need of a work-item.
pub(crate) const OF_THREADS: usize = 256 << 10;

/// A launch that needs more stack than is available.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TooMuch {
    /// The need of all its work-items.
    pub(crate) bytes: usize,
    pub(crate) items: usize,
    /// The limit for them.
    pub(crate) limit: usize,
}

/// Whether the stacks of that many waiting work-items, with that need each, exceed the limit.
#[inline]
pub(crate) fn too_much(item: Need, waiting: Option<usize>) -> Option<TooMuch> {
    if item.bytes > MOST_OF_ITEM {
        return Some(TooMuch { bytes: item.bytes, items: 1, limit: MOST_OF_ITEM });
    }
    let items = waiting?;
    let bytes = size_for(item.bytes).saturating_mul(items);
    (bytes > MOST_OF_ALL).then_some(TooMuch { bytes, items, limit: MOST_OF_ALL })
}

/// Runs `run`, a part of a kernel, with enough stack: on the calling thread's, if it has that much
/// left.
///
/// # Errors
/// Those of `run`; [`Failure::NoStack`].
#[inline]
pub(crate) fn with_room(
    need: Need,
    runs: &Runs,
    run: impl FnOnce() -> Result<(), Failure>,
) -> Result<(), Failure> {
    match thread::with_left(|left| left.enough_for(need)) {
        Some(entry) => {
            let _marked = entry.mark(runs);
            in_own_frame(run)
        }
        None => elsewhere(need, runs, run),
    }
}

/// Runs a function of this crate that needs more than small stacks have left: one that reads
/// containers or files, or opens stage 2. If there is no memory for another stack, it runs on the
/// current one.
pub(crate) fn spacious<R>(run: impl FnOnce() -> R) -> R {
    const NEED: Need = Need { bytes: 512 << 10, open: false };
    if thread::with_left(|left| left.enough_for(NEED)).is_some() {
        return in_own_frame(run);
    }
    match thread::take_kept(NEED.bytes).map_or_else(|| OwnStack::new(NEED.bytes), Ok) {
        Ok(mut stack) => {
            let result = corosensei::on_stack(&mut stack, run);
            thread::keep(stack);
            result
        }
        Err(_) => in_own_frame(run),
    }
}

/// Runs `run` in a frame that begins only now: inlined, its variables would be the caller's, who
/// would need that stack before it is known whether there is enough.
#[inline(never)]
fn in_own_frame<R>(run: impl FnOnce() -> R) -> R {
    run()
}

/// Runs `run` on a stack other than the thread's.
#[cold]
#[inline(never)]
fn elsewhere(
    need: Need,
    runs: &Runs,
    run: impl FnOnce() -> Result<(), Failure>,
) -> Result<(), Failure> {
    let mut stack = thread::take_kept(need.bytes).map_or_else(|| OwnStack::new(need.bytes), Ok)?;
    let result = {
        let _marked = stack.entry().mark(runs);
        corosensei::on_stack(&mut stack, run)
    };
    thread::keep(stack);
    result
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
