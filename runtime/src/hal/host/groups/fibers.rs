//! Fibers: runs the work-items of one group so that they can wait for each other.
//!
//! One thread runs a whole group. The work-items run one after the other on a stack other than the
//! thread's. When one reaches a barrier, its stack is suspended and the next ones run on another;
//! when all have reached it, they continue in the same order. So a group without barriers needs one
//! stack, and no work-item begins before the previous ones wait or have ended.
//!
//! **Threads.** Generated code has no thread-local variables except this crate's own. The host half
//! may have any, and their values must stay the work-item's own while it waits
//! ([`threads`](super::threads)). Unless the kernel is known to reach none, a group of the device
//! `native` whose work-items wait uses a thread for each: the first one that waits keeps the thread
//! that runs the group, on which no other work-item then runs until it ends; the others get threads
//! that run one at a time, in the same order.
//!
//! A sub-group operation (`sub_group`) runs between two barriers of the group: one sub-group after
//! the other runs until all of its work-items wait at the barrier or have ended.

use std::cell::Cell;
use std::ops::Range;
use std::ptr::{from_ref, null};
use std::sync::Arc;

use corosensei::{Coroutine, CoroutineResult, Yielder};
use schism_jit_abi::SUB_GROUP_SIZE as SIZE;

use crate::hal::host::groups::carriers::Carriers;
use crate::hal::host::groups::lanes::Lanes;
use crate::hal::host::groups::threads::{Baton, Job};
use crate::hal::host::stack::memory::OwnStack;
use crate::hal::host::stack::watched::Watched;
use crate::launch::failure::Failure;

/// What happens to waiting work-items of an abandoned group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum GiveUp {
    /// Their stacks are discarded: generated code has nothing to clean up, and no unwind tables.
    Forget,
    /// They resume, and unwind.
    Unwind,
}

/// Runs the work-item with an index. It must not unwind.
pub(super) type Item<'a> = dyn Fn(usize) -> Result<(), Failure> + 'a;

/// The state of one group, shared with its work-items.
pub(super) struct Fibers<'a> {
    items: usize,
    next: Cell<usize>,
    ended: Cell<usize>,
    /// The running work-item, and how it suspends itself.
    running: Cell<usize>,
    suspender: Cell<Suspender>,
    /// Whether a work-item waits on the thread that runs the group.
    thread_is_taken: Cell<bool>,
    /// What the last suspended work-item waits for, and whether the running one ever waited.
    waits_for: Cell<WaitsFor>,
    has_waited: Cell<bool>,
    /// Whether any work-item ever waited.
    anybody_waits: Cell<bool>,
    /// Whether any has waited for its sub-group since the last sub-group went on.
    is_sub_group_awaited: Cell<bool>,
    /// The values that the lanes of the running sub-group exchange.
    lanes: Lanes,
    given_up: Cell<bool>,
    has_failed: Cell<bool>,
    failure: Cell<Option<Failure>>,
    /// Set during `run`.
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

/// How a work-item suspends itself.
#[derive(Clone, Copy, Debug)]
enum Suspender {
    Stack(*const Yielder<(), ()>, Watched),
    Thread(*const Baton),
}

/// What a work-item runs on.
enum Carrier {
    /// A stack, on the thread that runs the group.
    Stack(Coroutine<(), (), (), OwnStack>, Watched),
    /// A thread, and its first job.
    Thread(Arc<Baton>, Option<Job>),
}

/// A work-item that waits, with what it runs on.
struct Waiting {
    carrier: Carrier,
    item: usize,
    waits_for: WaitsFor,
    /// `None` before it has run.
    suspender: Option<Suspender>,
}

/// The waiting work-items, by their index in the group. Empty until the first one waits. Each stays where
/// it is while it is resumed and waits again.
#[derive(Default)]
struct AllWaiting {
    slots: Vec<Option<Waiting>>,
    count: usize,
}

impl AllWaiting {
    fn put(&mut self, fiber: Waiting, items: usize) {
        if self.slots.is_empty() {
            self.slots.resize_with(items, || None);
        }
        let item = fiber.item;
        self.slots[item] = Some(fiber);
        self.count += 1;
    }

    /// What the work-items of a range wait for.
    fn waits_for(&self, items: Range<usize>) -> impl Iterator<Item = WaitsFor> {
        let slots = self.slots.get(items).unwrap_or_default();
        slots.iter().flatten().map(|fiber| fiber.waits_for)
    }
}

impl<'a> Fibers<'a> {
    pub(super) fn new(items: usize) -> Self {
        Self {
            items,
            next: Cell::new(0),
            ended: Cell::new(0),
            running: Cell::new(0),
            suspender: Cell::new(Suspender::Stack(null(), Watched::NONE)),
            thread_is_taken: Cell::new(false),
            waits_for: Cell::new(WaitsFor::Group),
            has_waited: Cell::new(false),
            anybody_waits: Cell::new(false),
            is_sub_group_awaited: Cell::new(false),
            lanes: Lanes::default(),
            given_up: Cell::new(false),
            has_failed: Cell::new(false),
            failure: Cell::new(None),
            item: Cell::new(None),
        }
    }

    /// The position of the running work-item in the group.
    pub(super) fn local_id(&self, [nx, ny, _]: [usize; 3]) -> [usize; 3] {
        position(self.running.get(), [nx, ny])
    }

    /// Whether the running work-item has a thread of its own.
    pub(super) fn is_on_thread(&self) -> bool {
        matches!(self.suspender.get(), Suspender::Thread(_))
    }

    /// Suspends the running work-item until all others of the group wait, too. Returns whether it
    /// continues; if not, it must unwind.
    ///
    /// # Safety
    /// Called by a work-item that [`run`](Self::run) is running.
    pub(super) unsafe fn wait(&self) -> bool {
        // SAFETY: the caller's promise.
        unsafe { self.suspend(WaitsFor::Group, self.items) }
    }

    /// Runs one of the operations `schism_jit_abi::SUB_GROUP_` with the others of the running
    /// work-item's sub-group. If there is no result, the work-item must unwind.
    ///
    /// # Safety
    /// Called by a work-item that [`run`](Self::run) is running.
    pub(super) unsafe fn group_operation(
        &self,
        operation: u32,
        value: u32,
        argument: u32,
    ) -> Option<u32> {
        let item = self.running.get();
        let lane = item % SIZE;
        let size = SIZE.min(self.items - (item - lane));
        let round = self.lanes.give(lane, value);
        // SAFETY: the caller's promise.
        let go_on = unsafe { self.suspend(WaitsFor::SubGroup(operation), size) };
        go_on.then(|| self.lanes.result(round, operation, lane, size, argument))
    }

    /// Suspends the running work-item, if there are others to wait for. Returns whether it
    /// continues.
    ///
    /// # Safety
    /// Called by a work-item that [`run`](Self::run) is running.
    unsafe fn suspend(&self, waits_for: WaitsFor, items: usize) -> bool {
        if self.given_up.get() {
            return false;
        }
        if items > 1 {
            self.waits_for.set(waits_for);
            match self.suspender.get() {
                // SAFETY: the yielder of the running work-item, which lies on its stack below this
                // frame. Whoever resumes it runs on that stack then.
                Suspender::Stack(yielder, watched) => unsafe {
                    watched.leave();
                    (*yielder).suspend(());
                    watched.arrive();
                },
                // SAFETY: the thread is that of the running work-item, and its baton says that it
                // runs.
                Suspender::Thread(baton) => unsafe { (*baton).wait() },
            }
            self.has_waited.set(true);
        }
        !self.given_up.get()
    }

    /// Runs all work-items.
    ///
    /// # Errors
    /// The failure of the first work-item that fails; [`Failure::DivergentBarrier`],
    /// [`Failure::DivergentSubGroup`], [`Failure::NoStack`], [`Failure::NoThread`].
    pub(super) fn run(
        &self,
        item: &Item<'_>,
        carriers: &mut Carriers<'_>,
        give_up: GiveUp,
    ) -> Result<(), Failure> {
        // SAFETY: only the lifetime changes, and the reference is removed before this returns.
        let item = unsafe { std::mem::transmute::<&Item<'_>, &'a Item<'a>>(item) };
        self.item.set(Some(item));
        let mut waiting = AllWaiting::default();
        let result = self.run_all(&mut waiting, carriers);
        if result.is_err() {
            self.given_up.set(true);
            for mut waiting in waiting.slots.into_iter().flatten() {
                self.finish(&mut waiting, give_up);
                self.free(waiting.carrier, carriers);
            }
        }
        self.item.set(None);
        result
    }

    fn run_all(
        &self,
        waiting: &mut AllWaiting,
        carriers: &mut Carriers<'_>,
    ) -> Result<(), Failure> {
        carriers.reserve(1);
        let sub_groups =
            || (0..self.items).step_by(SIZE).map(|first| first..self.items.min(first + SIZE));
        for items in sub_groups() {
            self.begin(items.end, waiting, carriers)?;
            self.run_sub_group(items, waiting, carriers)?;
        }
        while waiting.count > 0 {
            let ended = self.ended.get();
            if ended > 0 {
                // The caller adds the group.
                let waiting = self.items - ended;
                return Err(Failure::DivergentBarrier { group: [0; 3], waiting, ended });
            }
            for items in sub_groups() {
                self.go_on(items.clone(), waiting, carriers)?;
                self.run_sub_group(items, waiting, carriers)?;
            }
        }
        Ok(())
    }

    /// Starts all work-items below `end` that have not begun.
    fn begin(
        &self,
        end: usize,
        waiting: &mut AllWaiting,
        carriers: &mut Carriers<'_>,
    ) -> Result<(), Failure> {
        while self.next.get() < end {
            let fiber = self.start(carriers)?;
            self.run_one(fiber, waiting, carriers)?;
        }
        Ok(())
    }

    /// Resumes waiting work-items.
    fn go_on(
        &self,
        items: Range<usize>,
        waiting: &mut AllWaiting,
        carriers: &mut Carriers<'_>,
    ) -> Result<(), Failure> {
        for slot in waiting.slots.get_mut(items).unwrap_or_default() {
            let Some(fiber) = slot else { continue };
            if self.resume(fiber) {
                waiting.count -= 1;
                if let Some(fiber) = slot.take() {
                    self.free(fiber.carrier, carriers);
                }
            }
            self.failed()?;
        }
        Ok(())
    }

    /// Runs work-items on a carrier until one of them waits, or the carrier is free.
    fn run_one(
        &self,
        mut fiber: Waiting,
        waiting: &mut AllWaiting,
        carriers: &mut Carriers<'_>,
    ) -> Result<(), Failure> {
        if self.resume(&mut fiber) {
            self.free(fiber.carrier, carriers);
        } else {
            waiting.put(fiber, self.items);
            carriers.reserve(self.items);
        }
        self.failed()
    }

    /// Runs the work-items of a sub-group until all of them wait for the group or have ended.
    fn run_sub_group(
        &self,
        items: Range<usize>,
        waiting: &mut AllWaiting,
        carriers: &mut Carriers<'_>,
    ) -> Result<(), Failure> {
        while self.is_sub_group_awaited.get() {
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
            self.is_sub_group_awaited.set(false);
            self.go_on(items.clone(), waiting, carriers)?;
        }
        Ok(())
    }

    /// A carrier that runs work-items until one of them waits, and no further one after that:
    /// sub-groups are resumed by the caller.
    fn start(&self, carriers: &mut Carriers<'_>) -> Result<Waiting, Failure> {
        let this = from_ref(self);
        let carrier = if carriers.apart() && self.thread_is_taken.get() {
            let job = Job { run: Self::take_items_on_thread, data: this.cast() };
            Carrier::Thread(carriers.take_thread()?, Some(job))
        } else {
            let stack = carriers.take_stack()?;
            let watched = Watched::new();
            // SAFETY: `self` outlives the coroutine: `run` ends or discards every one before it
            // returns. It runs on the watched stack, and returns from there.
            let coroutine = unsafe {
                Coroutine::with_stack_unchecked(stack, move |yielder, ()| {
                    watched.arrive();
                    // SAFETY: as above.
                    let this = &*this;
                    this.suspender.set(Suspender::Stack(yielder, watched));
                    this.take_items();
                    watched.leave();
                })
            };
            Carrier::Stack(coroutine, watched)
        };
        Ok(Waiting { carrier, item: 0, waits_for: WaitsFor::Group, suspender: None })
    }

    /// The same on a thread.
    ///
    /// # Safety
    /// `this` is the state of a group whose work-items the thread may run, and the thread holds the
    /// baton.
    unsafe fn take_items_on_thread(this: *const (), baton: &Baton) {
        // SAFETY: the caller's promise.
        let this = unsafe { &*this.cast::<Self>() };
        this.suspender.set(Suspender::Thread(baton));
        this.take_items();
    }

    /// Frees a carrier on which nothing runs any more.
    fn free(&self, carrier: Carrier, carriers: &mut Carriers<'_>) {
        match carrier {
            Carrier::Stack(coroutine, watched) => {
                self.thread_is_taken.set(false);
                carriers.give_stack(coroutine.into_stack());
                // SAFETY: the coroutine is gone, and nothing refers to its stack.
                unsafe { watched.end() };
            }
            Carrier::Thread(baton, _) => carriers.give_thread(baton),
        }
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
                    self.has_failed.set(true);
                    self.failure.set(Some(failure));
                }
                return;
            }
            // Others may have run while it waited, but it was resumed last, so this is its own
            // result.
            if self.has_waited.get()
                || (self.next.get().is_multiple_of(SIZE) && self.anybody_waits.get())
            {
                return;
            }
        }
    }

    /// Resumes a work-item; returns whether its carrier is free afterwards.
    fn resume(&self, fiber: &mut Waiting) -> bool {
        if let Some(suspender) = fiber.suspender {
            self.suspender.set(suspender);
            self.running.set(fiber.item);
        }
        let is_over = match &mut fiber.carrier {
            Carrier::Stack(coroutine, watched) => {
                // SAFETY: the stack is the coroutine's, which lives, and returns here.
                let left = unsafe { watched.before_resume() };
                let result = coroutine.resume(());
                // SAFETY: as above.
                unsafe { watched.after_resume(left) };
                matches!(result, CoroutineResult::Return(()))
            }
            // SAFETY: the thread was taken, and `run` ends every work-item before it returns. Only
            // the holder of the baton uses this state.
            Carrier::Thread(baton, job) => unsafe { baton.pass_to_thread(job.take()) },
        };
        if !is_over {
            fiber.suspender = Some(self.suspender.get());
            fiber.item = self.running.get();
            fiber.waits_for = self.waits_for.get();
            self.anybody_waits.set(true);
            if matches!(fiber.carrier, Carrier::Stack(..)) {
                self.thread_is_taken.set(true);
            }
            if fiber.waits_for != WaitsFor::Group {
                self.is_sub_group_awaited.set(true);
            }
        }
        is_over
    }

    /// Ends a work-item of an abandoned group.
    fn finish(&self, fiber: &mut Waiting, give_up: GiveUp) {
        match give_up {
            GiveUp::Forget => match &mut fiber.carrier {
                // SAFETY: the frames on the stack are those of generated code, of the functions of
                // stage 2 and of this crate for barriers, and of `take_items`, none of which has
                // anything to drop.
                Carrier::Stack(coroutine, _) => unsafe { coroutine.force_reset() },
                // Generated code has no threads of its own.
                Carrier::Thread(..) => while !self.resume(fiber) {},
            },
            // A work-item that catches the unwinding payload, and reaches another barrier, unwinds
            // again.
            GiveUp::Unwind => while !self.resume(fiber) {},
        }
    }

    #[inline]
    fn failed(&self) -> Result<(), Failure> {
        if self.has_failed.replace(false) {
            return self.failure.take().map_or(Ok(()), Err);
        }
        Ok(())
    }
}

/// The position with a row-major index.
pub(super) fn position(index: usize, [nx, ny]: [usize; 2]) -> [usize; 3] {
    [index % nx, index / nx % ny, index / nx / ny]
}
