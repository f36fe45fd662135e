//! What sources are: see the [module's documentation](super).

use std::marker::PhantomData;

/// What a kernel holds of a source.
///
/// # Safety
/// For distinct indices [`get`](Self::get) gives elements that do not overlap, unless they are shared references to what
/// nobody changes during the launch.
pub unsafe trait Source: Send + Sync {
    /// What one work-item gets, for as long as it runs.
    type Item<'item>;

    /// The element of the work-item with the given linear id.
    ///
    /// # Safety
    /// `index` is below the length that the source agreed to, no other work-item of the launch has it, and what is returned
    /// does not outlive the work-item.
    unsafe fn get<'item>(&self, index: usize) -> Self::Item<'item>;
}

/// The launches that end before the call returns: [`Queue::for_each`](crate::Queue::for_each) and its like.
#[derive(Debug)]
pub enum Blocking {}

/// The kind of launch that a scope submits; `'scope` is its own and no other's.
#[derive(Debug)]
pub struct Scoped<'scope>(PhantomData<fn(&'scope ()) -> &'scope ()>);

mod sealed {
    use super::Source;
    use crate::data::source::length::Lengths;
    use crate::error::LaunchError;

    /// The part of a source that only launches see. `M` is the kind of launch.
    pub trait Prepare<M> {
        /// What the kernel holds.
        type Source: Source;

        /// What a launch holds that was not started yet. It may be waiting for launches that change the same elements, so
        /// there must be no references to them in it.
        type Ready: Send;

        /// Compares this source's length with the others'.
        fn check(&self, lengths: &mut Lengths) -> Result<(), LaunchError>;

        /// Ends the borrow that was only for the call.
        fn prepare(self) -> Self::Ready;

        /// # Safety
        /// The launch that `ready` was prepared for starts now, and the result goes no further than its kernel.
        unsafe fn start(ready: Self::Ready) -> Self::Source;
    }

    /// For sources whose borrow lasts as long as the launch.
    macro_rules! ready_at_once {
        () => {
            type Ready = Self::Source;

            unsafe fn start(ready: Self::Source) -> Self::Source {
                ready
            }
        };
    }
    pub(crate) use ready_at_once;
}
pub(crate) use sealed::{Prepare, ready_at_once};

/// What can be handed to [`for_each`](crate::Queue::for_each) and [`for_each_in`](crate::Queue::for_each_in), and what each
/// work-item gets from it:
///
/// | source | each work-item gets |
/// |---|---|
/// | `&mut Buffer<T>`, `ViewMut<T>`, `&mut ViewMut<T>` | `&mut T`, its own element |
/// | `&Buffer<T>`, `View<T>` | `&T`, its own element |
/// | `buffer.chunks_mut(n)` | `&mut [T]`, its own `n` elements (a row of an image) |
/// | `buffer.chunks(n)` | `&[T]` |
/// | [`whole(&buffer)`](crate::whole()) | `&[T]`, all elements, the same for all |
/// | `a..b` | `usize`, its own number |
/// | `a..` | `usize`, counted from `a`, as many as needed |
/// | a tuple of two to eight sources | the tuple of what they give |
/// | [`per_group(source)`](crate::per_group()), in [launches with groups](crate::Queue::for_each_in_groups) | `Some` of what the source gives to the group, if it is the group's first work-item; else `None` |
///
/// The sources of one launch have the same length; `a..` and `whole` take any. Within a [scope](crate::Queue::scope) buffers
/// can also be [lent](crate::Scope::lend).
///
/// `M` is the kind of launch; there is never a need to write it.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a source of elements for work-items",
    label = "not a source for this launch",
    note = "sources are `&mut Buffer<T>`, `&Buffer<T>`, views, `chunks`, `whole(&buffer)`, `a..b`, `a..` and tuples of them",
    note = "a buffer that was lent to a scope can be used by the launches of that scope only",
    note = "`per_group` is for `for_each_in_groups` only"
)]
pub trait IntoSource<M = Blocking>: sealed::Prepare<M> {}

impl<M, S: sealed::Prepare<M>> IntoSource<M> for S {}
