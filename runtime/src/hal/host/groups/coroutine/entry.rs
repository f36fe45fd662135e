//! What a coroutine runs, and what coroutines that take turns know of each other.

use std::cell::Cell;

/// A function that gets the data of [`Coroutine::new`](super::Coroutine::new) and the link by which it
/// suspends itself. It must not unwind.
pub(super) type Entry<Link> = unsafe fn(data: *const (), link: Link);

/// Coroutines that wait for each other.
pub(crate) trait Turn<Place> {
    /// If the running coroutine can pass to another one: where both go on. That one counts as running from
    /// now on.
    fn next(&self) -> Option<[&Cell<Place>; 2]>;

    /// Suspends the running coroutine otherwise.
    ///
    /// # Safety
    /// Called in one of these coroutines.
    unsafe fn suspend(&self);
}
