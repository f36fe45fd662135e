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
//!
//! **Turns.** Work-items that wait are resumed in turns: all of a sub-group, in order. Within a turn a
//! work-item that waits again passes to the next one directly, if both are on stacks. So the caller of
//! `resume` must look which work-item has come back. What a work-item needs to pass is in one list of
//! [`Slot`]s, in the order of the turn, and on the top of its stack: few lines of the cache.

use std::cell::{Cell, OnceCell};
use std::ops::Range;
use std::ptr::{from_ref, null_mut};
use std::sync::Arc;

use schism_jit_abi::SUB_GROUP_SIZE as SIZE;
use schism_jit_abi::code::ItemContext;
use schism_loader::context;

use crate::hal::host::groups::carriers::Carriers;
use crate::hal::host::groups::coroutine::{Coroutine, Link, Place, Turn};
use crate::hal::host::groups::lanes::Lanes;
use crate::hal::host::groups::threads::{Baton, Job};
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
    /// The running work-item.
    running: Cell<usize>,
    /// How the carrier that was started last suspends what runs on it.
    suspender: Cell<Option<Suspender>>,
    /// Where the stack that resumes work-items continues.
    back: Cell<Place>,
    /// Whether a work-item waits on the thread that runs the group.
    thread_is_taken: Cell<bool>,
    /// The waiting work-items, by their index in the group, and how each suspends itself. Empty until the
    /// first one waits.
    slots: OnceCell<Box<[Slot]>>,
    suspenders: OnceCell<Box<[Cell<Option<Suspender>>]>>,
    /// What the last suspended work-item waits for, and its context.
    waits_for: Cell<WaitsFor>,
    context: Cell<*mut ItemContext>,
    /// The end of the turn: work-items before it are resumed in order.
    turn: Cell<usize>,
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
    Stack(Link),
    Thread(*const Baton),
}

/// What is known of a work-item that has waited: a line of the cache.
#[derive(Debug)]
#[repr(C, align(64))]
struct Slot {
    /// Where its stack continues, if it waits on one. While it runs, where it went on last.
    place: Cell<Place>,
    waits_for: Cell<Option<WaitsFor>>,
    /// What generated code knows it by, while it waits.
    context: Cell<*mut ItemContext>,
}

const _: () = assert!(size_of::<Slot>() == 64);

impl Slot {
    fn new() -> Self {
        Self { place: Cell::default(), waits_for: Cell::new(None), context: Cell::new(null_mut()) }
    }
}

/// What a work-item runs on.
enum Carrier {
    /// A stack, on the thread that runs the group.
    Stack(Coroutine),
    /// A thread, and its first job.
    Thread(Arc<Baton>, Option<Job>),
}

impl Carrier {
    /// Where a stack continues whose work-item has suspended itself.
    fn place(&self) -> Place {
        match self {
            Self::Stack(coroutine) => coroutine.place(),
            Self::Thread(..) => Place::default(),
        }
    }

    /// Whether the function on a stack has ended.
    fn has_ended(&self) -> bool {
        matches!(self, Self::Stack(coroutine) if coroutine.has_ended())
    }
}

/// What the waiting work-items run on, by their index in the group. Empty until the first one waits.
#[derive(Default)]
struct AllWaiting {
    carriers: Vec<Option<Carrier>>,
    count: usize,
}

impl AllWaiting {
    fn put(&mut self, item: usize, carrier: Carrier, items: usize) {
        if self.carriers.is_empty() {
            self.carriers.resize_with(items, || None);
        }
        self.carriers[item] = Some(carrier);
        self.count += 1;
    }

    fn take(&mut self, item: usize) -> Option<Carrier> {
        let carrier = self.carriers.get_mut(item)?.take();
        self.count -= usize::from(carrier.is_some());
        carrier
    }
}

impl<'a> Fibers<'a> {
    pub(super) fn new(items: usize) -> Self {
        Self {
            items,
            next: Cell::new(0),
            ended: Cell::new(0),
            running: Cell::new(0),
            suspender: Cell::new(None),
            back: Cell::default(),
            thread_is_taken: Cell::new(false),
            slots: OnceCell::new(),
            suspenders: OnceCell::new(),
            waits_for: Cell::new(WaitsFor::Group),
            context: Cell::new(null_mut()),
            turn: Cell::new(0),
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

    /// Whether the running work-item has its own thread.
    pub(super) fn is_on_thread(&self) -> bool {
        matches!(self.suspender.get(), Some(Suspender::Thread(_)))
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
    #[inline(always)]
    unsafe fn suspend(&self, waits_for: WaitsFor, items: usize) -> bool {
        if self.given_up.get() {
            return false;
        }
        if items > 1 {
            // SAFETY: the caller's promise.
            if !unsafe { self.passes(waits_for) || self.goes_back(waits_for) } {
                return false;
            }
        }
        !self.given_up.get()
    }

    /// Suspends the running work-item and goes back to who has resumed it, or the one that passed to it. Returns
    /// whether it did so, when it is resumed.
    ///
    /// # Safety
    /// Called by a work-item that [`run`](Self::run) is running.
    #[cold]
    #[inline(never)]
    unsafe fn goes_back(&self, waits_for: WaitsFor) -> bool {
        self.waits_for.set(waits_for);
        self.context.set(context::current());
        match self.running_suspender() {
            // SAFETY: the link of the running work-item.
            Some(Suspender::Stack(link)) => unsafe { link.suspend() },
            // SAFETY: the thread is that of the running work-item, and its baton says that it runs.
            Some(Suspender::Thread(baton)) => unsafe { (*baton).wait() },
            None => return false,
        }
        true
    }

    /// Suspends the running work-item and resumes the next one of the turn, if both are on stacks. Returns
    /// whether it did so, when it is resumed.
    ///
    /// # Safety
    /// Called by a work-item that [`run`](Self::run) is running.
    #[inline(always)]
    unsafe fn passes(&self, waits_for: WaitsFor) -> bool {
        let Some([own, other]) = self.next_of_turn(waits_for) else { return false };
        // SAFETY: in a turn the running work-item is on a stack if it has a place; the other one waits, and all
        // stacks of a group have the same `back`.
        unsafe { Place::pass(own, other) };
        true
    }

    /// If the running work-item can pass to the next one of the turn: where both go on. The next one counts as
    /// running from now on.
    #[inline(always)]
    fn next_of_turn(&self, waits_for: WaitsFor) -> Option<[&Cell<Place>; 2]> {
        let item = self.running.get();
        let next = item + 1;
        if next >= self.turn.get() {
            return None;
        }
        let [own, other, later @ ..] = self.slots().get(item..)? else { return None };
        if !own.place.get().is_somewhere() || !other.place.get().is_somewhere() {
            return None;
        }
        own.waits_for.set(Some(waits_for));
        if waits_for != WaitsFor::Group {
            self.is_sub_group_awaited.set(true);
        }
        self.running.set(next);
        own.context.set(context::swap(other.context.get()));
        if let Some(slot) = later.first() {
            slot.place.get().prefetch();
        }
        Some([&own.place, &other.place])
    }

    /// Those that wait. None before the first one does.
    #[inline]
    fn slots(&self) -> &[Slot] {
        self.slots.get().map_or(&[], |slots| slots)
    }

    /// What the work-item with an index waits for. One that has waited and runs again: for what it did.
    #[inline]
    fn waiting(&self, item: usize) -> Option<WaitsFor> {
        self.slots().get(item)?.waits_for.get()
    }

    /// How the running work-item suspends itself.
    fn running_suspender(&self) -> Option<Suspender> {
        let own = self.suspenders.get().and_then(|all| all.get(self.running.get())?.get());
        // One that has not waited runs on the carrier that was started last.
        own.or_else(|| self.suspender.get())
    }

    /// A work-item waits. If it does so on a stack, this continues at a place.
    fn enters(&self, item: usize, suspender: Suspender, place: Place) {
        let slots = self.slots.get_or_init(|| (0..self.items).map(|_| Slot::new()).collect());
        let waits_for = self.waits_for.get();
        if let Some(slot) = slots.get(item) {
            slot.place.set(place);
            slot.waits_for.set(Some(waits_for));
            slot.context.set(self.context.get());
        }
        let new = || (0..self.items).map(|_| Cell::new(None)).collect();
        if let Some(own) = self.suspenders.get_or_init(new).get(item) {
            own.set(Some(suspender));
        }
        self.anybody_waits.set(true);
        if waits_for != WaitsFor::Group {
            self.is_sub_group_awaited.set(true);
        }
    }

    /// A work-item that waited has ended.
    fn ends(&self, item: usize) {
        if let Some(slot) = self.slots().get(item) {
            slot.place.set(Place::default());
            slot.waits_for.set(None);
        }
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
            self.turn.set(0);
            for item in 0..self.items {
                if let Some(mut carrier) = waiting.take(item) {
                    self.finish(item, &mut carrier, give_up);
                    self.free(carrier, carriers);
                }
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
            let mut carrier = self.start(carriers)?;
            if self.resume(&mut carrier, None) {
                self.free(carrier, carriers);
            } else {
                self.waits(&carrier);
                waiting.put(self.running.get(), carrier, self.items);
                carriers.reserve(self.items);
            }
            self.failed()?;
        }
        Ok(())
    }

    /// Resumes waiting work-items: a turn.
    fn go_on(
        &self,
        items: Range<usize>,
        waiting: &mut AllWaiting,
        carriers: &mut Carriers<'_>,
    ) -> Result<(), Failure> {
        self.turn.set(items.end);
        let mut item = items.start;
        while item < items.end {
            if let (Some(_), Some(Some(carrier))) =
                (self.waiting(item), waiting.carriers.get_mut(item))
            {
                let mut is_over = self.go_on_with(item, carrier);
                let mut carrier = &*carrier;
                let back = self.running.get();
                if back != item {
                    let Some(Some(last)) = waiting.carriers.get(back) else { return Ok(()) };
                    (item, carrier, is_over) = (back, last, last.has_ended());
                }
                if !is_over {
                    self.waits(carrier);
                } else if let Some(carrier) = waiting.take(item) {
                    self.ends(item);
                    self.free(carrier, carriers);
                }
                self.failed()?;
            }
            item += 1;
        }
        self.turn.set(0);
        Ok(())
    }

    /// Runs the work-items of a sub-group until all of them wait for the group or have ended.
    fn run_sub_group(
        &self,
        items: Range<usize>,
        waiting: &mut AllWaiting,
        carriers: &mut Carriers<'_>,
    ) -> Result<(), Failure> {
        while self.is_sub_group_awaited.get() {
            let waits_for = || items.clone().filter_map(|item| self.waiting(item));
            let operation = waits_for().find(|waits| *waits != WaitsFor::Group);
            let Some(first) = operation else { return Ok(()) };
            let same = waits_for().filter(|waits| *waits == first).count();
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
    fn start(&self, carriers: &mut Carriers<'_>) -> Result<Carrier, Failure> {
        let this = from_ref(self).cast();
        if carriers.apart() && self.thread_is_taken.get() {
            let job = Job { run: Self::take_items_on_thread, data: this };
            return Ok(Carrier::Thread(carriers.take_thread()?, Some(job)));
        }
        let stack = carriers.take_stack()?;
        // SAFETY: `self` outlives the coroutine: `run` ends or discards every one before it returns.
        let coroutine =
            unsafe { Coroutine::new(stack, Self::take_items_on_stack, this, &self.back) };
        Ok(Carrier::Stack(coroutine))
    }

    /// Runs work-items on a stack.
    ///
    /// # Safety
    /// `this` is the state of a group whose work-items the thread runs, on the link's stack.
    unsafe fn take_items_on_stack(this: *const (), link: Link) {
        // SAFETY: the caller's promise.
        let this = unsafe { &*this.cast::<Self>() };
        this.suspender.set(Some(Suspender::Stack(link)));
        this.take_items();
    }

    /// The same on a thread.
    ///
    /// # Safety
    /// `this` is the state of a group whose work-items the thread may run, and the thread holds the
    /// baton.
    unsafe fn take_items_on_thread(this: *const (), baton: &Baton) {
        // SAFETY: the caller's promise.
        let this = unsafe { &*this.cast::<Self>() };
        this.suspender.set(Some(Suspender::Thread(baton)));
        this.take_items();
    }

    /// Frees a carrier on which nothing runs any more.
    fn free(&self, carrier: Carrier, carriers: &mut Carriers<'_>) {
        match carrier {
            Carrier::Stack(coroutine) => {
                self.thread_is_taken.set(false);
                carriers.give_stack(coroutine.into_stack());
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
            let result = run(item);
            self.ended.set(self.ended.get() + 1);
            if let Err(failure) = result {
                if !self.given_up.get() {
                    self.has_failed.set(true);
                    self.failure.set(Some(failure));
                }
                return;
            }
            if self.waiting(item).is_some()
                || (self.next.get().is_multiple_of(SIZE) && self.anybody_waits.get())
            {
                return;
            }
        }
    }

    /// Resumes what runs on a carrier; returns whether that is free afterwards. The slot is that of a work-item
    /// that waits there; one that has not begun has none. The thread's context is afterwards what it was.
    fn resume(&self, carrier: &mut Carrier, slot: Option<&Slot>) -> bool {
        let before = context::current();
        if let Some(slot) = slot {
            context::swap(slot.context.get());
        }
        let is_free = match carrier {
            Carrier::Stack(coroutine) => {
                // SAFETY: a coroutine that has ended is not resumed again: its stack was given back.
                unsafe { coroutine.resume(slot.map(|slot| &slot.place)) };
                coroutine.has_ended()
            }
            // SAFETY: the thread was taken, and `run` ends every work-item before it returns. Only
            // the holder of the baton uses this state.
            Carrier::Thread(baton, job) => unsafe { baton.pass_to_thread(job.take()) },
        };
        context::swap(before);
        is_free
    }

    /// Resumes a waiting work-item.
    fn go_on_with(&self, item: usize, carrier: &mut Carrier) -> bool {
        self.running.set(item);
        self.resume(carrier, self.slots().get(item))
    }

    /// The work-item that was resumed last waits.
    fn waits(&self, carrier: &Carrier) {
        let Some(suspender) = self.running_suspender() else { return };
        self.enters(self.running.get(), suspender, carrier.place());
        if matches!(suspender, Suspender::Stack(_)) {
            self.thread_is_taken.set(true);
        }
    }

    /// Ends a work-item of an abandoned group.
    fn finish(&self, item: usize, carrier: &mut Carrier, give_up: GiveUp) {
        match (give_up, carrier) {
            // SAFETY: the frames on the stack are those of generated code, of the functions of
            // stage 2 and of this crate for barriers, and of `take_items`, none of which has
            // anything to drop.
            (GiveUp::Forget, Carrier::Stack(coroutine)) => unsafe { coroutine.forget() },
            // Generated code starts no threads. A work-item that catches the unwinding
            // payload, and reaches another barrier, unwinds again.
            (_, carrier) => {
                if self.waiting(item).is_some() {
                    while !self.go_on_with(item, carrier) {
                        self.waits(carrier);
                    }
                }
            }
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

impl Turn<Place> for Fibers<'_> {
    #[inline]
    fn next(&self) -> Option<[&Cell<Place>; 2]> {
        // Those of an abandoned group resume in no turn.
        self.next_of_turn(WaitsFor::Group)
    }

    unsafe fn suspend(&self) {
        // SAFETY: the caller's promise. There is no use for the result: generated code does not unwind.
        unsafe { self.wait() };
    }
}

/// The position with a row-major index.
pub(super) fn position(index: usize, [nx, ny]: [usize; 2]) -> [usize; 3] {
    [index % nx, index / nx % ny, index / nx / ny]
}
