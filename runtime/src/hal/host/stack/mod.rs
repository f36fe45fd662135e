//! Stacks for kernels: how much each has, and what happens when that is not enough.
//!
//! One rule for the devices `cpu` and `native`:
//!
//! - **A kernel whose need is known has what it needs.** On the device `cpu`, stage 2 knows the frames of all functions and who calls
//!   whom, so it knows how much stack a work-item takes at most, unless functions call each other in a circle, are called through
//!   pointers, or have frames whose size is computed. A need above [`MOST_OF_ITEM`] is [`LaunchError::Stack`], before anything runs.
//! - **Any other kernel has as much as a thread of Rust's**: 2 MiB, or what `SCHISM_CPU_STACK` says. On the device `native` that is
//!   all kernels: nobody knows the need of the host half.
//! - **A thread that has less left gets another stack** for as long as it runs work-items. So it does not matter which thread launches a
//!   kernel. Work-items that wait at barriers have a stack each anyway. If the system has no memory for a stack, that is
//!   [`LaunchError::NoStack`].
//! - **An overflow ends the process** with the message that Rust's own threads have, which says the kernel and the device
//!   ([`overflow`]). All code touches its frames page by page, so it meets the guard page behind the stack: that of the host half because
//!   rustc has it so, that of kernels because stage 2 does.
//!
//! [`LaunchError::Stack`]: crate::LaunchError::Stack
//! [`LaunchError::NoStack`]: crate::LaunchError::NoStack

pub(crate) mod memory;
pub(crate) mod need;
pub(crate) mod overflow;
pub(crate) mod settings;
mod thread;
pub(crate) mod watched;

use crate::hal::host::stack::memory::{OwnStack, size_for};
use crate::hal::host::stack::need::Need;
use crate::hal::host::stack::overflow::Runs;
use crate::hal::host::stack::settings::MOST_OF_ITEM;
use crate::launch::failure::Failure;

/// The most bytes of address space for the stacks of all work-items that wait for others.
pub(crate) const MOST_OF_ALL: usize = 256 << 30;

/// Bytes that a thread of this crate's own has beside what a work-item may take.
pub(crate) const OF_THREADS: usize = 256 << 10;

/// A launch that takes more stack than there is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TooMuch {
    /// What so many work-items need.
    pub(crate) bytes: usize,
    pub(crate) items: usize,
    /// The most that so many have.
    pub(crate) limit: usize,
}

/// Whether work-items that need so much, of which so many wait for each other, take more stack than there is.
#[inline]
pub(crate) fn too_much(item: Need, waiting: Option<usize>) -> Option<TooMuch> {
    if item.bytes > MOST_OF_ITEM {
        return Some(TooMuch { bytes: item.bytes, items: 1, limit: MOST_OF_ITEM });
    }
    let items = waiting?;
    let bytes = size_for(item.bytes).saturating_mul(items);
    (bytes > MOST_OF_ALL).then_some(TooMuch { bytes, items, limit: MOST_OF_ALL })
}

/// Runs `run`, a part of a kernel, where there is as much stack as it needs: on the calling thread's, if it has so much left.
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
            run()
        }
        None => elsewhere(need, runs, run),
    }
}

/// Runs something of this crate that takes more than small stacks have left: what reads containers, files and opens stage 2. If there is
/// no memory for another stack, it runs where it is.
pub(crate) fn spacious<R>(run: impl FnOnce() -> R) -> R {
    const NEED: Need = Need { bytes: 512 << 10, open: false };
    if thread::with_left(|left| left.enough_for(NEED)).is_some() {
        return run();
    }
    match thread::take_kept(NEED.bytes).map_or_else(|| OwnStack::new(NEED.bytes), Ok) {
        Ok(mut stack) => {
            let result = corosensei::on_stack(&mut stack, run);
            thread::keep(stack);
            result
        }
        Err(_) => run(),
    }
}

/// Runs `run` on a stack that is not the thread's.
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
