//! Runs the work-items of one group so that they can wait for each other.
//!
//! One thread runs a whole group. The work-items run one after the other on a stack that is not the thread's. When one comes to a
//! barrier, its stack is put aside and the next ones run on another; when all have come, they go on in the same order. So a
//! group whose kernel meets no barrier takes one stack, and no work-item is begun before those in front of it wait or have ended.

use std::cell::Cell;
use std::ptr::null;

use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, CoroutineResult, Yielder};

use super::stacks::Stacks;
use crate::panics::Failure;

/// What happens to work-items that wait when their group is given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum GiveUp {
    /// Their stacks are forgotten: generated code has nothing to clean up, and no tables to do it by.
    Forget,
    /// They go on, told that they shall unwind.
    Unwind,
}

/// A body for the work-item of an index. It must not unwind.
pub(super) type Item<'a> = dyn Fn(usize) -> Result<(), Failure> + 'a;

/// The state of one group, which its work-items reach.
pub(super) struct Fibers<'a> {
    items: usize,
    next: Cell<usize>,
    ended: Cell<usize>,
    /// The running work-item, and how it suspends itself.
    running: Cell<usize>,
    yielder: Cell<*const Yielder<(), ()>>,
    given_up: Cell<bool>,
    failure: Cell<Option<Failure>>,
    /// Set while it runs.
    item: Cell<Option<&'a Item<'a>>>,
}

/// A work-item that waits, with its stack.
struct Waiting {
    coroutine: Coroutine<(), (), (), DefaultStack>,
    item: usize,
    yielder: *const Yielder<(), ()>,
}

impl<'a> Fibers<'a> {
    pub(super) fn new(items: usize) -> Self {
        Self {
            items,
            next: Cell::new(0),
            ended: Cell::new(0),
            running: Cell::new(0),
            yielder: Cell::new(null()),
            given_up: Cell::new(false),
            failure: Cell::new(None),
            item: Cell::new(None),
        }
    }

    /// Where the running work-item is in the group.
    pub(super) fn local_id(&self, [nx, ny, _]: [usize; 3]) -> [usize; 3] {
        super::position(self.running.get(), [nx, ny])
    }

    /// Whether the running work-item is the first of the group.
    pub(super) fn is_first(&self) -> bool {
        self.running.get() == 0
    }

    /// Suspends the running work-item until all others have come here too. Returns whether it shall go on; if not, it must unwind.
    ///
    /// # Safety
    /// Called by a work-item that [`run`](Self::run) is running.
    pub(super) unsafe fn wait(&self) -> bool {
        if self.given_up.get() {
            return false;
        }
        if self.items > 1 {
            let yielder = self.yielder.get();
            // SAFETY: the yielder of the running work-item, which lies on its stack below this frame.
            unsafe { (*yielder).suspend(()) };
        }
        !self.given_up.get()
    }

    /// Runs all work-items.
    ///
    /// # Errors
    /// The failure of the first work-item that fails; [`Failure::DivergentBarrier`], [`Failure::NoStack`].
    pub(super) fn run(
        &self,
        item: &Item<'_>,
        stacks: &mut Stacks,
        give_up: GiveUp,
    ) -> Result<(), Failure> {
        // SAFETY: only the lifetime changes, and the reference is taken out again before this returns.
        let item = unsafe { std::mem::transmute::<&Item<'_>, &'a Item<'a>>(item) };
        self.item.set(Some(item));
        let mut waiting = Vec::new();
        let result = self.run_all(&mut waiting, stacks);
        if result.is_err() {
            self.given_up.set(true);
            for mut waiting in waiting {
                self.finish(&mut waiting, give_up);
                stacks.give(waiting.coroutine.into_stack());
            }
        }
        self.item.set(None);
        result
    }

    fn run_all(&self, waiting: &mut Vec<Waiting>, stacks: &mut Stacks) -> Result<(), Failure> {
        stacks.reserve(1);
        while self.next.get() < self.items {
            let mut fiber = self.start(stacks.take()?);
            if self.resume(&mut fiber) {
                stacks.give(fiber.coroutine.into_stack());
            } else {
                waiting.push(fiber);
                stacks.reserve(self.items);
            }
            self.failed()?;
        }
        while !waiting.is_empty() {
            if self.ended.get() > 0 {
                let ended = self.ended.get();
                let waiting = self.items - ended;
                // Which group this is, is for the caller to say.
                return Err(Failure::DivergentBarrier { group: [0; 3], waiting, ended });
            }
            let all = std::mem::take(waiting);
            let mut all = all.into_iter();
            while let Some(mut fiber) = all.next() {
                if self.resume(&mut fiber) {
                    stacks.give(fiber.coroutine.into_stack());
                } else {
                    waiting.push(fiber);
                }
                if let Err(failure) = self.failed() {
                    waiting.extend(all);
                    return Err(failure);
                }
            }
        }
        Ok(())
    }

    /// A stack that takes work-items until one of them waits, and after it none: by then all have begun.
    fn start(&self, stack: DefaultStack) -> Waiting {
        let this = std::ptr::from_ref(self);
        // SAFETY: `self` outlives the coroutine: `run` ends or forgets every one before it returns.
        let coroutine = unsafe {
            Coroutine::with_stack_unchecked(stack, move |yielder, ()| {
                // SAFETY: as above.
                let this = &*this;
                this.yielder.set(yielder);
                this.take_items();
            })
        };
        Waiting { coroutine, item: 0, yielder: null() }
    }

    fn take_items(&self) {
        let Some(run) = self.item.get() else { return };
        loop {
            let item = self.next.get();
            if item == self.items || self.given_up.get() {
                return;
            }
            self.next.set(item + 1);
            self.running.set(item);
            let result = run(item);
            self.ended.set(self.ended.get() + 1);
            if let Err(failure) = result {
                if !self.given_up.get() {
                    self.failure.set(Some(failure));
                }
                return;
            }
        }
    }

    /// Lets a work-item go on; whether its stack is free then.
    fn resume(&self, fiber: &mut Waiting) -> bool {
        if !fiber.yielder.is_null() {
            self.yielder.set(fiber.yielder);
            self.running.set(fiber.item);
        }
        match fiber.coroutine.resume(()) {
            CoroutineResult::Return(()) => true,
            CoroutineResult::Yield(()) => {
                fiber.yielder = self.yielder.get();
                fiber.item = self.running.get();
                false
            }
        }
    }

    /// Ends a work-item of a group that is given up.
    fn finish(&self, fiber: &mut Waiting, give_up: GiveUp) {
        match give_up {
            // SAFETY: the frames on the stack are those of generated code, of `stage 2`'s and this crate's functions for barriers
            // and of `take_items`, none of which has anything to drop.
            GiveUp::Forget => unsafe { fiber.coroutine.force_reset() },
            // A work-item that catches what it shall unwind with, and comes to another barrier, is told again.
            GiveUp::Unwind => while !self.resume(fiber) {},
        }
    }

    fn failed(&self) -> Result<(), Failure> {
        self.failure.take().map_or(Ok(()), Err)
    }
}
