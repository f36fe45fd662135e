//! The traits of sources: see the [module's documentation](super).

use std::marker::PhantomData;

use crate::kernel::grid::GridPoint;
use crate::kernel::group::member::Member;

/// The form of a source that a kernel holds.
///
/// # Safety
/// For distinct indices [`get`](Self::get) returns elements that do not overlap, unless they are
/// shared references to memory that is not changed during the launch.
pub unsafe trait Source: Send + Sync {
    /// What one work-item gets, as long as it runs.
    type Item<'item>;

    /// The element of the work-item at a point of the launch's grid.
    ///
    /// # Safety
    /// The index of `at` is below the length that the source agreed to, no other work-item of the
    /// launch has it, and the result does not outlive the work-item.
    #[doc(hidden)]
    unsafe fn get<'item>(&self, at: GridPoint) -> Self::Item<'item>;
}

/// The form of a source with an element for each group, or for each sub-group, that a kernel holds:
/// see [`per_group`](fn@crate::per_group).
///
/// # Safety
/// For distinct groups, and for distinct members of a group, the results of
/// [`of_group`](Self::of_group) do not overlap, unless they are shared references to memory that
/// is not changed during the launch, or handles whose accesses are atomic.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no element for each group",
    note = "`per_group` and `per_sub_group` take buffers, views, `chunks`, `chunks_mut`, `cells`, `tiles_mut`, ranges of numbers, and tuples of them"
)]
pub unsafe trait GroupSource: Send + Sync {
    /// What each work-item of the group gets, as long as it runs.
    type Item<'item>;

    /// The element of the group at a point of the grid of groups, for one of its work-items.
    ///
    /// # Safety
    /// The index of `group` is below the length that the source agreed to. No other work-item of
    /// the launch has both the same group and the same number, all members of a group have the same
    /// count, and the result does not outlive the work-item.
    #[doc(hidden)]
    unsafe fn of_group<'item>(&self, group: GridPoint, member: Member) -> Self::Item<'item>;
}

/// Launches that end before the call returns, such as [`Queue::for_each`](crate::Queue::for_each).
#[derive(Debug)]
pub enum Blocking {}

/// Launches that a scope submits; `'scope` is the lifetime of that scope alone.
#[derive(Debug)]
pub struct Scoped<'scope>(PhantomData<fn(&'scope ()) -> &'scope ()>);

mod sealed {
    use super::Source;
    use crate::data::source::length::Lengths;
    use crate::error::LaunchError;
    use crate::kernel::group::local::Placement;

    /// The part of a source that launches use. `M` is the kind of launch.
    #[diagnostic::on_unimplemented(
        message = "`{Self}` is not a source of elements for work-items",
        label = "not a source for this launch",
        note = "sources are `&` and `&mut` of slices, arrays, `Vec<T>` and `Buffer<T>`, views, `chunks`, `whole(&buffer)`, `a..b`, `a..`, what a scope was lent (`&lent`, `&mut lent`) and tuples of them"
    )]
    pub trait Prepare<M> {
        /// The form that the kernel holds.
        type Source: Source;

        /// The form in a launch that has not started yet. It may be waiting for launches that
        /// change the same elements, so it must not contain references to them.
        type Ready: Send;

        /// Compares this source's length with the others.
        fn check(&self, lengths: &mut Lengths) -> Result<(), LaunchError>;

        /// Ends the borrow that lasts only for the call, and allocates offsets in local memory.
        fn prepare(self, placement: &mut Placement) -> Self::Ready;

        /// # Safety
        /// The launch that `ready` was prepared for starts now, and only its kernel gets the
        /// result.
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

/// The arguments of [`for_each`](crate::Queue::for_each) and
/// [`for_each_in`](crate::Queue::for_each_in), and what each work-item gets from them:
///
/// | source | each work-item gets |
/// |---|---|
/// | `&mut Buffer<T>`, `ViewMut<T>`, `&mut ViewMut<T>` | `&mut T`, its own element |
/// | `&Buffer<T>`, `View<T>` | `&T`, its own element |
/// | `&mut` of `[T]`, `[T; N]`, `Vec<T>`, `Box<[T]>` | `&mut T`, its own element |
/// | `&` of `[T]`, `[T; N]`, `Vec<T>`, `Box<[T]>` | `&T`, its own element |
/// | `buffer.chunks_mut(n)` | `&mut [T]`, its own `n` elements (a row of an image) |
/// | `buffer.chunks(n)` | `&[T]` |
/// | [`buffer.permuted_mut(order)`](crate::Buffer::permuted_mut) | `&mut T`, its own element, in another order |
/// | [`buffer.rectangle_mut(width, [rows, columns])?`](crate::Buffer::rectangle_mut) | `&mut T`, its own element of a part of a matrix |
/// | [`buffer.tiles_mut::<H, W>(width)`](crate::Buffer::tiles_mut) | [`TileShare<T>`](crate::TileShare), its own tile of a matrix |
/// | [`whole(&buffer)`](crate::whole()) | `&[T]`, all elements, the same for all |
/// | [`atomics(&mut buffer)`](crate::atomics()) | `&[Atomic]`, all elements as atomics |
/// | [`out(&mut buffer)`](crate::out()) | [`Out<T>`](crate::Out), its own element, to be written only |
/// | `a..b` | `usize`, its own number |
/// | `a..` | `usize`, counted from `a`, as many as needed |
/// | a tuple of two to eight sources | the tuple of their elements |
///
/// In launches with groups, those over an [`NdRange`](crate::NdRange), there are also:
///
/// | source | each work-item gets |
/// |---|---|
/// | [`per_group(source)`](fn@crate::per_group) | the group's element, or its own share of it |
/// | [`per_sub_group(source)`](fn@crate::per_sub_group) | the same, of its sub-group |
/// | [`local::<T>(n)`](crate::local()), [`local_2d::<T>(rows, columns)`](crate::local_2d()) | memory that the group shares while it runs |
///
/// The sources of one launch have the same length; `a..`, `whole` and local memory fit any. Within
/// a [scope](crate::Queue::scope) buffers and slices can also be [lent](crate::Scope::lend).
///
/// # Slices of the host
/// Wherever the table has a buffer, there can be a slice: `whole`, `atomics`, `out`, `per_group` and
/// `lend` take references to slices, and the views `View::from(&slice)` and `ViewMut::from(&mut slice)`
/// have the methods of buffers, such as `chunks` and `tiles_mut`.
///
/// Devices that use the host's memory use slices in place. For other devices a launch copies them:
/// there before it, unless they are `out`, and those that it may change back after it, also if the
/// kernel panics. A launch of a scope then waits for its end; what it has read stays on the device
/// until the scope ends. [`Queue::resident`](crate::Queue::resident) copies once for several launches,
/// and a [`Buffer`](crate::Buffer) stays on the device as long as it lives.
///
/// A view of a slice that a kernel captures is not copied, since a launch does not see what is behind
/// it: give the slice to the launch by `whole`, or capture the view that `resident` gives.
///
/// ```
/// # fn main() -> Result<(), schism::Error> {
/// use schism::prelude::*;
///
/// let queue = Queue::new()?;
/// let (x, mut sums) = (vec![1, 2, 3, 4, 5, 6], [0; 3]);
/// queue.for_each((&mut sums, View::from(&x).chunks(2)), |(sum, x)| *sum = x[0] + x[1])?;
/// assert_eq!(sums, [3, 7, 11]);
/// # Ok(())
/// # }
/// ```
///
/// # One buffer, read and written
/// A work-item that reads elements of others while these are written would see either the old or
/// the new value, so one launch cannot borrow a buffer both shared and exclusively. The borrow
/// checker reports that as E0502. An algorithm that updates its data in place, step after step,
/// uses two buffers and swaps them, or only its own element through `&mut` where that suffices:
///
/// ```
/// # fn main() -> Result<(), schism::Error> {
/// use schism::prelude::*;
///
/// // Shortest paths (Floyd and Warshall): a step reads row and column `k`, and writes all.
/// let (queue, n) = (Queue::new()?, 3);
/// let mut now = Buffer::from_slice(&queue, &[0, 5, 99, 99, 0, 2, 1, 99, 0_u32])?;
/// let mut next = Buffer::with_len(&queue, n * n)?;
/// for k in 0..n {
///     queue.for_each_in([n, n], (&mut next, whole(&now)), move |item, (next, now)| {
///         let [i, j] = item.id();
///         *next = now[i * n + j].min(now[i * n + k] + now[k * n + j]);
///     })?;
///     std::mem::swap(&mut now, &mut next);
/// }
/// assert_eq!(now.to_vec(), [0, 5, 7, 3, 0, 2, 1, 6, 0]);
/// # Ok(())
/// # }
/// ```
///
/// Within a scope the two are [lent](crate::Scope::lend) first, and the loans are swapped in the
/// same way: [`Lent`](crate::Lent) has the example. With one buffer this does not compile:
///
/// ```compile_fail,E0502
/// # fn main() -> Result<(), schism::Error> {
/// # use schism::prelude::*;
/// # let (queue, n) = (Queue::new()?, 3);
/// # let mut now = Buffer::from_slice(&queue, &[0, 5, 99, 99, 0, 2, 1, 99, 0_u32])?;
/// queue.for_each_in([n, n], (&mut now, whole(&now)), |item, (next, now)| *next = now[0])?;
/// # Ok(())
/// # }
/// ```
///
/// `M` is the kind of launch; user code never writes it.
pub trait IntoSource<M = Blocking>: sealed::Prepare<M> {}

impl<M, S: sealed::Prepare<M>> IntoSource<M> for S {}
