//! Coroutines of the crate `corosensei`.

#[path = "watched.rs"]
mod watched;

use std::cell::Cell;

use corosensei::{CoroutineResult, Yielder};

use crate::hal::host::groups::coroutine::entry::{Entry, Turn};
use crate::hal::host::groups::coroutine::implementation::watched::Watched;
use crate::hal::host::stack::memory::OwnStack;

/// A function on its own stack.
pub(in super::super) struct Coroutine {
    inner: corosensei::Coroutine<(), (), (), OwnStack>,
    watched: Watched,
}

/// How a coroutine suspends itself.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct Link {
    yielder: *const Yielder<(), ()>,
    watched: Watched,
}

/// Where a coroutine continues that has passed to another one: these never do.
#[derive(Clone, Copy, Debug, Default)]
pub(in super::super) struct Place(());

impl Coroutine {
    /// Will run `entry` when it is resumed for the first time.
    ///
    /// # Safety
    /// `entry` may be called with `data` until the coroutine has ended or is forgotten.
    pub(in super::super) unsafe fn new(
        stack: OwnStack,
        entry: Entry<Link>,
        data: *const (),
        _back: &Cell<Place>,
    ) -> Self {
        let watched = Watched::new();
        // SAFETY: the caller's promise. It runs on the watched stack, and returns from there.
        let inner = unsafe {
            corosensei::Coroutine::with_stack_unchecked(stack, move |yielder, ()| {
                watched.arrive();
                entry(data, Link { yielder, watched });
                watched.leave();
            })
        };
        Self { inner, watched }
    }

    /// Runs it until it suspends itself or ends.
    ///
    /// # Safety
    /// It has not ended, and is not forgotten.
    pub(in super::super) unsafe fn resume(&mut self, _: Option<&Cell<Place>>) {
        // SAFETY: the stack is the coroutine's, which lives, and returns here.
        let left = unsafe { self.watched.before_resume() };
        let (CoroutineResult::Yield(()) | CoroutineResult::Return(())) = self.inner.resume(());
        // SAFETY: as above.
        unsafe { self.watched.after_resume(left) };
    }

    /// Where it has suspended itself, for others to pass to: they cannot.
    pub(in super::super) fn place(&self) -> Place {
        Place(())
    }

    /// Whether it has ended.
    pub(in super::super) fn has_ended(&self) -> bool {
        self.inner.done()
    }

    /// Discards the frames on its stack.
    ///
    /// # Safety
    /// None of them has anything to drop.
    pub(in super::super) unsafe fn forget(&mut self) {
        // SAFETY: the caller's promise.
        unsafe { self.inner.force_reset() };
    }

    /// The stack. The coroutine has ended or is forgotten.
    pub(in super::super) fn into_stack(self) -> OwnStack {
        let stack = self.inner.into_stack();
        // SAFETY: the coroutine is gone, and nothing refers to its stack.
        unsafe { self.watched.end() };
        stack
    }
}

impl Link {
    /// Suspends the coroutine. Returns when it is resumed.
    ///
    /// # Safety
    /// Called in the link's coroutine.
    #[inline]
    pub(in super::super) unsafe fn suspend(self) {
        // SAFETY: the yielder lies on the coroutine's stack below this frame. What resumes it runs
        // on that stack then.
        unsafe {
            self.watched.leave();
            (*self.yielder).suspend(());
            self.watched.arrive();
        }
    }
}

/// Generated code waits here. Returns when the running coroutine is resumed.
///
/// # Safety
/// Called in one of the turn's coroutines.
pub(in super::super) unsafe extern "C" fn wait<T: Turn<Place>>(turn: *const T) {
    // SAFETY: the caller's promise, and that of `next`.
    unsafe {
        match (*turn).next() {
            Some([from, to]) => Place::pass(from, to),
            None => (*turn).suspend(),
        }
    }
}

impl Place {
    /// Whether others can pass to this place.
    pub(in super::super) const fn is_somewhere(&self) -> bool {
        false
    }

    /// Coroutines of `corosensei` return to who has resumed them.
    ///
    /// # Safety
    /// `to` [is somewhere](Self::is_somewhere).
    pub(in super::super) unsafe fn pass(_: &Cell<Self>, _: &Cell<Self>) {
        unreachable!("coroutines that cannot pass to others")
    }

    /// Nothing: no coroutine passes to another one.
    pub(in super::super) fn prefetch(&self) {}
}
