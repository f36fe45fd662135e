//! Carriers of work-items: stacks, and threads where a stack is not enough.

use std::sync::Arc;

use crate::hal::host::groups::stacks::Stacks;
use crate::hal::host::groups::threads::{Baton, Threads};
use crate::hal::host::stack::memory::OwnStack;
use crate::hal::host::stack::need::Need;
use crate::hal::host::stack::overflow::Runs;
use crate::launch::failure::Failure;

/// The stacks and threads of the groups that one thread runs, one after the other.
pub(super) struct Carriers<'a> {
    runs: &'a Runs,
    stacks: Stacks,
    /// Where each waiting work-item needs its own thread.
    threads: Option<Threads>,
}

impl<'a> Carriers<'a> {
    /// Carriers for work-items that need that much stack and, if they are kept `apart`, a thread
    /// each.
    pub(super) fn new(need: Need, runs: &'a Runs, apart: bool) -> Self {
        Self { runs, stacks: Stacks::new(need), threads: apart.then(Threads::default) }
    }

    /// Whether work-items that wait need threads of their own.
    pub(super) const fn apart(&self) -> bool {
        self.threads.is_some()
    }

    /// Reserves carriers for that many work-items.
    pub(super) fn reserve(&mut self, items: usize) {
        match &mut self.threads {
            // One work-item is on the thread that runs the group.
            Some(threads) => {
                self.stacks.reserve(1);
                threads.reserve(items - 1);
            }
            None => self.stacks.reserve(items),
        }
    }

    /// Takes a stack. Its overflow message says what runs on it.
    pub(super) fn take_stack(&mut self) -> Result<OwnStack, Failure> {
        let stack = self.stacks.take()?;
        stack.entry().begin(self.runs);
        Ok(stack)
    }

    pub(super) fn give_stack(&mut self, stack: OwnStack) {
        stack.entry().end();
        self.stacks.give(stack);
    }

    /// Takes a thread. There are threads only if work-items are kept [`apart`](Self::apart).
    pub(super) fn take_thread(&mut self) -> Result<Arc<Baton>, Failure> {
        self.threads.get_or_insert_default().take()
    }

    pub(super) fn give_thread(&mut self, baton: Arc<Baton>) {
        self.threads.get_or_insert_default().give(baton);
    }
}
