//! Runs the work-items of one group so that they can wait for each other.
//!
//! One thread runs a whole group. The work-items run one after the other on a stack that is not the thread's. When one comes to a
//! barrier, its stack is put aside and the next ones run on another; when all have come, they go on in the same order. So a
//! group whose kernel meets no barrier takes one stack, and no work-item is begun before those in front of it wait or have ended.
//!
//! What a sub-group does together (`sub_group`) is done between two barriers of the group: one sub-group after the other goes on until
//! all of its work-items wait at the barrier or have ended.

use std::cell::Cell;
use std::ops::Range;
use std::ptr::null;

use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, CoroutineResult, Yielder};

use super::stacks::Stacks;
use super::sub_group::{Lanes, SIZE};
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
    /// What the work-item waits for that has suspended itself last, and whether the running one ever did.
    waits_for: Cell<WaitsFor>,
    has_waited: Cell<bool>,
    /// Whether any work-item ever did.
    anybody_waits: Cell<bool>,
    /// What the lanes of the running sub-group give each other.
    lanes: Lanes,
    given_up: Cell<bool>,
    failure: Cell<Option<Failure>>,
    /// Set while it runs.
    item: Cell<Option<&'a Item<'a>>>,
}

/// What a work-item waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WaitsFor {
    /// All others of its group.
    Group,
    /// All others of its sub-group, at the same operation.
    SubGroup(u32),
}

/// A work-item that waits, with its stack.
struct Waiting {
    coroutine: Coroutine<(), (), (), DefaultStack>,
    item: usize,
    waits_for: WaitsFor,
    yielder: *const Yielder<(), ()>,
}

/// The work-items that wait, by their place in the group. Empty until the first does.
#[derive(Default)]
struct AllWaiting(Vec<Option<Waiting>>);

impl AllWaiting {
    fn put(&mut self, fiber: Waiting, items: usize) {
        if self.0.is_empty() {
            self.0.resize_with(items, || None);
        }
        let item = fiber.item;
        self.0[item] = Some(fiber);
    }

    fn take(&mut self, item: usize) -> Option<Waiting> {
        self.0.get_mut(item)?.take()
    }

    /// What those in a range wait for.
    fn waits_for(&self, items: Range<usize>) -> impl Iterator<Item = WaitsFor> {
        let slots = self.0.get(items).unwrap_or_default();
        slots.iter().flatten().map(|fiber| fiber.waits_for)
    }

    fn is_empty(&self) -> bool {
        self.0.iter().all(Option::is_none)
    }
}

impl<'a> Fibers<'a> {
    pub(super) fn new(items: usize) -> Self {
        Self {
            items,
            next: Cell::new(0),
            ended: Cell::new(0),
            running: Cell::new(0),
            yielder: Cell::new(null()),
            waits_for: Cell::new(WaitsFor::Group),
            has_waited: Cell::new(false),
            anybody_waits: Cell::new(false),
            lanes: Lanes::default(),
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
        // SAFETY: the caller's promise.
        unsafe { self.suspend(WaitsFor::Group, self.items) }
    }

    /// Does one of the operations `schism_jit_abi::SUB_GROUP_` with the others of the running work-item's sub-group. If there is no
    /// result, the work-item must unwind.
    ///
    /// # Safety
    /// Called by a work-item that [`run`](Self::run) is running.
    pub(super) unsafe fn meet(&self, operation: u32, value: u32, argument: u32) -> Option<u32> {
        let item = self.running.get();
        let lane = item % SIZE;
        let size = SIZE.min(self.items - (item - lane));
        let round = self.lanes.give(lane, value);
        // SAFETY: the caller's promise.
        let go_on = unsafe { self.suspend(WaitsFor::SubGroup(operation), size) };
        go_on.then(|| self.lanes.result(round, operation, lane, size, argument))
    }

    /// Suspends the running work-item, if there are others to wait for. Returns whether it shall go on.
    ///
    /// # Safety
    /// Called by a work-item that [`run`](Self::run) is running.
    unsafe fn suspend(&self, waits_for: WaitsFor, items: usize) -> bool {
        if self.given_up.get() {
            return false;
        }
        if items > 1 {
            self.waits_for.set(waits_for);
            let yielder = self.yielder.get();
            // SAFETY: the yielder of the running work-item, which lies on its stack below this frame.
            unsafe { (*yielder).suspend(()) };
            self.has_waited.set(true);
        }
        !self.given_up.get()
    }

    /// Runs all work-items.
    ///
    /// # Errors
    /// The failure of the first work-item that fails; [`Failure::DivergentBarrier`], [`Failure::DivergentSubGroup`],
    /// [`Failure::NoStack`].
    pub(super) fn run(
        &self,
        item: &Item<'_>,
        stacks: &mut Stacks,
        give_up: GiveUp,
    ) -> Result<(), Failure> {
        // SAFETY: only the lifetime changes, and the reference is taken out again before this returns.
        let item = unsafe { std::mem::transmute::<&Item<'_>, &'a Item<'a>>(item) };
        self.item.set(Some(item));
        let mut waiting = AllWaiting::default();
        let result = self.run_all(&mut waiting, stacks);
        if result.is_err() {
            self.given_up.set(true);
            for mut waiting in waiting.0.into_iter().flatten() {
                self.finish(&mut waiting, give_up);
                stacks.give(waiting.coroutine.into_stack());
            }
        }
        self.item.set(None);
        result
    }

    fn run_all(&self, waiting: &mut AllWaiting, stacks: &mut Stacks) -> Result<(), Failure> {
        stacks.reserve(1);
        let sub_groups =
            || (0..self.items).step_by(SIZE).map(|first| first..self.items.min(first + SIZE));
        for items in sub_groups() {
            self.begin(items.end, waiting, stacks)?;
            self.run_sub_group(items, waiting, stacks)?;
        }
        while !waiting.is_empty() {
            let ended = self.ended.get();
            if ended > 0 {
                // Which group this is, is for the caller to say.
                let waiting = self.items - ended;
                return Err(Failure::DivergentBarrier { group: [0; 3], waiting, ended });
            }
            for items in sub_groups() {
                self.go_on(items.clone(), waiting, stacks)?;
                self.run_sub_group(items, waiting, stacks)?;
            }
        }
        Ok(())
    }

    /// Begins all work-items below `end` that have not begun.
    fn begin(
        &self,
        end: usize,
        waiting: &mut AllWaiting,
        stacks: &mut Stacks,
    ) -> Result<(), Failure> {
        while self.next.get() < end {
            let fiber = self.start(stacks.take()?);
            self.run_one(fiber, waiting, stacks)?;
        }
        Ok(())
    }

    /// Lets those go on that wait.
    fn go_on(
        &self,
        items: Range<usize>,
        waiting: &mut AllWaiting,
        stacks: &mut Stacks,
    ) -> Result<(), Failure> {
        for item in items {
            if let Some(fiber) = waiting.take(item) {
                self.run_one(fiber, waiting, stacks)?;
            }
        }
        Ok(())
    }

    /// Runs a stack until its work-item waits, or it is free.
    fn run_one(
        &self,
        mut fiber: Waiting,
        waiting: &mut AllWaiting,
        stacks: &mut Stacks,
    ) -> Result<(), Failure> {
        if self.resume(&mut fiber) {
            stacks.give(fiber.coroutine.into_stack());
        } else {
            waiting.put(fiber, self.items);
            stacks.reserve(self.items);
        }
        self.failed()
    }

    /// Runs the work-items of a sub-group until all of them wait for the group or have ended.
    fn run_sub_group(
        &self,
        items: Range<usize>,
        waiting: &mut AllWaiting,
        stacks: &mut Stacks,
    ) -> Result<(), Failure> {
        loop {
            let operation =
                waiting.waits_for(items.clone()).find(|waits| *waits != WaitsFor::Group);
            let Some(first) = operation else { return Ok(()) };
            let same = waiting.waits_for(items.clone()).filter(|waits| *waits == first).count();
            if same < items.len() {
                return Err(Failure::DivergentSubGroup {
                    group: [0; 3],
                    sub_group: items.start / SIZE,
                    waiting: same,
                    elsewhere: items.len() - same,
                });
            }
            self.lanes.next_round();
            self.go_on(items.clone(), waiting, stacks)?;
        }
    }

    /// A stack that takes work-items until one of them waits, and after it none: that is for whoever lets sub-groups go on.
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
        Waiting { coroutine, item: 0, waits_for: WaitsFor::Group, yielder: null() }
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
            self.has_waited.set(false);
            let result = run(item);
            self.ended.set(self.ended.get() + 1);
            if let Err(failure) = result {
                if !self.given_up.get() {
                    self.failure.set(Some(failure));
                }
                return;
            }
            // Others may have run while it waited, but it came last, so this is its own answer.
            if self.has_waited.get()
                || (self.next.get().is_multiple_of(SIZE) && self.anybody_waits.get())
            {
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
                fiber.waits_for = self.waits_for.get();
                self.anybody_waits.set(true);
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
