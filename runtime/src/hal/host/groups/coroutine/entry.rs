//! What a coroutine runs.

/// A function that gets the data of [`Coroutine::new`](super::Coroutine::new) and the link by which it
/// suspends itself. It must not unwind.
pub(super) type Entry<Link> = unsafe fn(data: *const (), link: Link);
