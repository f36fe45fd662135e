//! Stacks for work-items that wait for each other.
//!
//! A work-item that waits at a barrier needs a stack of its own. Stacks are kept when a group ends, and shared by all threads. The
//! system limits how many pieces of memory a process can have, and each stack with its guard page is two; so there is a most, and a
//! group that needs many waits until others have ended. A thread asks for one stack first, and for all that a group may need when
//! its first work-item waits; whoever is kept waiting has one at most, so that two groups never wait for each other.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use corosensei::stack::DefaultStack;

use crate::fork::PerProcess;
use crate::panics::Failure;

/// Bytes of a stack. Only what is touched takes memory.
const SIZE: usize = 256 << 10;

/// The most stacks. The system allows 65,530 pieces of memory, by default.
const MOST: usize = 24 << 10;

#[derive(Default)]
struct State {
    free: Vec<DefaultStack>,
    /// Stacks that a group may have: those that it has, and those that it may still make.
    taken: usize,
}

/// What the threads of a process share.
#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    returned: Condvar,
}

fn shared() -> &'static Shared {
    static SHARED: PerProcess<Shared> = PerProcess::new();
    SHARED.get(Shared::default)
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The stacks of the groups that one thread runs, one after the other. Those that are not in use are in here.
#[derive(Default)]
pub(super) struct Stacks {
    stacks: Vec<DefaultStack>,
    reserved: usize,
    /// Where they come from.
    shared: Option<&'static Shared>,
}

impl Stacks {
    /// Gets the right to have `most` stacks, at most the limit of a group's size.
    pub(super) fn reserve(&mut self, most: usize) {
        let more = most.saturating_sub(self.reserved);
        if more == 0 {
            return;
        }
        let shared = *self.shared.get_or_insert_with(shared);
        let mut state = shared.state();
        while state.taken + more > MOST {
            state = shared.returned.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.taken += more;
        let kept = state.free.len().saturating_sub(more);
        self.stacks.extend(state.free.drain(kept..));
        self.reserved = most;
    }

    /// A stack, made if there is none.
    pub(super) fn take(&mut self) -> Result<DefaultStack, Failure> {
        match self.stacks.pop() {
            Some(stack) => Ok(stack),
            None => DefaultStack::new(SIZE)
                .map_err(|error| Failure::NoStack { reason: error.to_string() }),
        }
    }

    /// A stack that is not used any more.
    pub(super) fn give(&mut self, stack: DefaultStack) {
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
        let mut state = shared.state();
        state.free.append(&mut self.stacks);
        state.taken -= self.reserved;
        // Stacks that others may still make count too.
        let keep = MOST - state.taken;
        let surplus = state.free.len().saturating_sub(keep);
        let surplus: Vec<_> = state.free.drain(..surplus).collect();
        drop(state);
        shared.returned.notify_all();
        drop(surplus);
    }
}
