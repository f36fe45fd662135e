//! Stacks for waiting work-items.
//!
//! A work-item that waits at a barrier needs its own stack, as large as its kernel needs
//! ([`stack`](crate::hal::host::stack)). Stacks are kept when a group ends, and shared by all
//! threads. The system limits the number of mappings of a process, and each stack with its guard
//! page is two; so there is a maximum number, and one for the bytes of all. A thread takes one
//! stack first, and reserves all that a group may need when its first work-item waits. A thread
//! that has to wait for a reservation holds none, so two groups never wait for each other.

use crate::hal::host::stack::MOST_OF_ALL;
use crate::hal::host::stack::memory::{OwnStack, size_for};
use crate::hal::host::stack::need::Need;
use crate::launch::failure::Failure;
use crate::util::fork::PerProcess;
use crate::util::monitor::Monitor;

/// The maximum number of stacks. By default the system allows 65,530 mappings.
const MOST: usize = 24 << 10;

#[derive(Default)]
struct State {
    free: Vec<OwnStack>,
    /// Reserved stacks: those that groups have, and those that they may still create.
    taken: usize,
    /// Bytes of these.
    bytes: usize,
}

/// The stacks of this process.
fn shared() -> &'static Monitor<State> {
    static SHARED: PerProcess<Monitor<State>> = PerProcess::new();
    SHARED.get(Monitor::default)
}

impl State {
    /// Removes free stacks for which there is no room beside the reserved ones.
    fn surplus(&mut self) -> Vec<OwnStack> {
        let mut stacks = MOST.saturating_sub(self.taken);
        let mut bytes = MOST_OF_ALL.saturating_sub(self.bytes);
        // Those that were freed last stay.
        let stays = |stack: &&OwnStack| {
            let stays = stacks > 0 && stack.size() <= bytes;
            if stays {
                (stacks, bytes) = (stacks - 1, bytes - stack.size());
            }
            stays
        };
        let kept = self.free.iter().rev().take_while(stays).count();
        self.free.drain(..self.free.len() - kept).collect()
    }

    /// Removes up to `most` free stacks of a size.
    fn of_size(&mut self, size: usize, most: usize) -> Vec<OwnStack> {
        let mut left = most;
        let fits = |stack: &mut OwnStack| {
            let fits = left > 0 && stack.size() == size;
            left -= usize::from(fits);
            fits
        };
        self.free.extract_if(.., fits).collect()
    }
}

/// The stacks of the groups that one thread runs, one after the other. It holds those that are not
/// in use.
pub(super) struct Stacks {
    /// Bytes of each.
    size: usize,
    stacks: Vec<OwnStack>,
    reserved: usize,
    /// Where they come from.
    shared: Option<&'static Monitor<State>>,
}

impl Stacks {
    /// Stacks for work-items that need that much.
    pub(super) fn new(need: Need) -> Self {
        Self { size: size_for(need.bytes()), stacks: Vec::new(), reserved: 0, shared: None }
    }

    /// Reserves `most` stacks, which are at most `MOST` and at most `MOST_OF_ALL` bytes.
    pub(super) fn reserve(&mut self, most: usize) {
        let more = most.saturating_sub(self.reserved);
        if more == 0 {
            return;
        }
        let shared = *self.shared.get_or_insert_with(shared);
        let bytes = |stacks: usize| stacks.saturating_mul(self.size);
        let mut state = shared.lock();
        // A waiting thread holds no reservation, so there is always one that does not wait.
        state.taken -= self.reserved;
        state.bytes -= bytes(self.reserved);
        let full = |state: &State| {
            let all = state.bytes.saturating_add(bytes(most));
            state.taken > 0 && (state.taken + most > MOST || all > MOST_OF_ALL)
        };
        if full(&state) {
            shared.notify_all();
            while full(&state) {
                state = shared.wait(state);
            }
        }
        state.taken += most;
        state.bytes += bytes(most);
        self.stacks.append(&mut state.of_size(self.size, more));
        let surplus = state.surplus();
        drop(state);
        drop(surplus);
        self.reserved = most;
    }

    /// Takes a stack; creates one if there is none.
    pub(super) fn take(&mut self) -> Result<OwnStack, Failure> {
        self.stacks.pop().map_or_else(|| OwnStack::new(self.size), Ok)
    }

    /// Returns a stack that is not used any more.
    pub(super) fn give(&mut self, stack: OwnStack) {
        self.stacks.push(stack);
    }
}

impl Drop for Stacks {
    fn drop(&mut self) {
        let Some(shared) = self.shared.filter(|_| self.reserved != 0) else { return };
        if !std::ptr::eq(shared, self::shared()) {
            // The kernel has forked the process: what the parent's threads share stays as it is.
            return;
        }
        let mut state = shared.lock();
        state.free.append(&mut self.stacks);
        state.taken -= self.reserved;
        state.bytes -= self.reserved * self.size;
        let surplus = state.surplus();
        drop(state);
        shared.notify_all();
        drop(surplus);
    }
}
