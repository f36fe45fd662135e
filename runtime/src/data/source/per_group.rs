//! One element for each work-group, or for each sub-group.

use crate::data::source::length::Lengths;
use crate::data::source::traits::{GroupSource, Prepare, Source};
use crate::error::LaunchError;
use crate::kernel::grid::GridPoint;
use crate::kernel::group::local::Placement;
use crate::kernel::group::member::Membership;

/// Launches with work-groups; `M` is the kind of launch otherwise.
#[derive(Debug)]
pub struct InGroups<M>(M);

/// The kinds of launches that have work-groups, as a source `S` needs them.
#[diagnostic::on_unimplemented(
    message = "`{S}` is a source for work-groups, and this launch has none",
    label = "this launch has no work-groups",
    note = "`per_group` and `per_sub_group` give each work-group or sub-group its part; `local` is memory of a work-group",
    note = "launch over an `NdRange`, which has work-groups: `for_each_in(NdRange::new(range, group)?, sources, kernel)`"
)]
pub trait HasGroups<S> {
    /// The kind of launch apart from the groups.
    type Apart;
}

impl<M, S> HasGroups<S> for InGroups<M> {
    type Apart = M;
}

/// One element for each work-group: see [`per_group`](fn@per_group).
#[derive(Debug)]
pub struct PerGroup<S>(S);

/// One element for each sub-group: see [`per_sub_group`](fn@per_sub_group).
#[derive(Debug)]
pub struct PerSubGroup<S>(S);

/// A source with one element for each work-group, instead of for each work-item.
///
/// It wraps another source, for launches with groups only. What the work-items of a group get
/// depends on the source:
///
/// | source | each work-item of the group gets |
/// |---|---|
/// | `&Buffer<T>`, `View<T>` | `&T`, the group's element |
/// | `&mut Buffer<T>`, `ViewMut<T>` | `Some(&mut T)` if it is the group's first work-item, else `None` |
/// | `buffer.chunks(n)` | `&[T]`, the group's elements |
/// | `buffer.chunks_mut(n)` | [`Share<T>`](crate::Share), its share of the group's elements: a row that the work-items write together |
/// | `buffer.cells(n)` | [`Cells<T>`](crate::Cells), all of the group's elements, which the work-items write in any order |
/// | `buffer.tiles_mut::<H, W>(width)` | [`TileShare<T>`](crate::TileShare), its share of the group's tile of a matrix |
/// | `a..b`, `a..` | `usize`, the group's number |
/// | a tuple of these | the tuple of their elements |
///
/// ```
/// # fn main() -> Result<(), schism::Error> {
/// use schism::prelude::*;
///
/// let queue = Queue::new()?;
/// let input = Buffer::from_slice(&queue, &[1, 2, 3, 10, 20, 30])?;
/// let mut sums = Buffer::filled(&queue, 2, 0)?;
/// let sources = (&input, per_group(&mut sums));
/// queue.for_each_in(NdRange::new(6, 3)?, (local::<i32>(3), sources), |item, (tile, (x, sum))| {
///     tile.set(item.local_x(), *x);
///     item.barrier();
///     if let Some(sum) = sum {
///         *sum = (0..tile.len()).map(|i| tile.get(i)).sum();
///     }
/// })?;
/// assert_eq!(sums.to_vec(), [6, 60]);
/// # Ok(())
/// # }
/// ```
///
/// A launch without groups does not accept it:
///
/// ```compile_fail,E0277
/// # fn main() -> Result<(), schism::Error> {
/// # use schism::prelude::*;
/// # let queue = Queue::new()?;
/// # let mut sums = Buffer::filled(&queue, 2, 0)?;
/// queue.for_each(per_group(&mut sums), |sum| ())?;
/// # Ok(())
/// # }
/// ```
#[must_use]
pub const fn per_group<S>(source: S) -> PerGroup<S> {
    PerGroup(source)
}

/// A source with one element for each sub-group: like [`per_group`](fn@per_group), for the groups'
/// [sub-groups](crate::SubGroup).
///
/// It has as many elements as the launch has sub-groups: for each group its size divided by 32,
/// rounded up. Those of the first group come first. For a number of elements that groups of several sub-groups
/// do not divide, use groups of 32, or those that the error of [`NdRange::new`](crate::NdRange::new) names.
///
/// ```
/// # fn main() -> Result<(), schism::Error> {
/// use schism::prelude::*;
///
/// // A matrix times a vector: each sub-group takes a row.
/// let queue = Queue::new()?;
/// let (rows, columns) = (4, 100);
/// let matrix = Buffer::filled(&queue, rows * columns, 0.5_f32)?;
/// let vector = Buffer::filled(&queue, columns, 2.0_f32)?;
/// let mut product = Buffer::filled(&queue, rows, 0.0)?;
/// let sources = (whole(&vector), per_sub_group((matrix.chunks(columns), &mut product)));
/// let range = NdRange::new(rows * 32, 64)?;
/// queue.for_each_in(range, sources, |item, (vector, (row, product))| {
///     let sub_group = item.sub_group();
///     let mut sum = 0.0;
///     for i in sub_group.strided(row.len()) {
///         sum += row[i] * vector[i];
///     }
///     let sum = sub_group.reduce_add(sum);
///     if let Some(product) = product {
///         *product = sum;
///     }
/// })?;
/// assert_eq!(product.to_vec(), [100.0; 4]);
/// # Ok(())
/// # }
/// ```
#[must_use]
pub const fn per_sub_group<S>(source: S) -> PerSubGroup<S> {
    PerSubGroup(source)
}

/// The elements of groups, in a kernel that is launched with groups.
#[derive(Debug)]
pub struct OfGroups<S>(S);

/// The elements of sub-groups, in a kernel that is launched with groups.
#[derive(Debug)]
pub struct OfSubGroups<S>(S);

// SAFETY: groups have distinct indices, and members of a group have distinct numbers.
unsafe impl<S: GroupSource> Source for OfGroups<S> {
    type Item<'item> = S::Item<'item>;

    #[inline(always)]
    unsafe fn get<'item>(&self, _: GridPoint) -> Self::Item<'item> {
        let (group, member) = Membership::current().in_group();
        // SAFETY: the index is below the number of groups, which the source agreed to; the rest is
        // the caller's promise.
        unsafe { self.0.of_group(group, member) }
    }
}

// SAFETY: sub-groups have distinct indices, and their lanes have distinct numbers.
unsafe impl<S: GroupSource> Source for OfSubGroups<S> {
    type Item<'item> = S::Item<'item>;

    #[inline(always)]
    unsafe fn get<'item>(&self, _: GridPoint) -> Self::Item<'item> {
        let (sub_group, member) = Membership::current().in_sub_group();
        // SAFETY: the index is below the number of sub-groups, which the source agreed to; the rest
        // is the caller's promise.
        unsafe { self.0.of_group(sub_group, member) }
    }
}

macro_rules! prepare {
    ($($source:ident $kernel:ident $lengths:ident)*) => {$(
        impl<G, S> Prepare<G> for $source<S>
        where
            G: HasGroups<$source<S>>,
            S: Prepare<G::Apart>,
            S::Source: GroupSource,
        {
            type Source = $kernel<S::Source>;
            type Ready = S::Ready;

            fn check(&self, lengths: &mut Lengths) -> Result<(), LaunchError> {
                lengths.$lengths(|lengths| self.0.check(lengths))
            }

            fn prepare(self, placement: &mut Placement) -> S::Ready {
                self.0.prepare(placement)
            }

            unsafe fn start(ready: S::Ready) -> $kernel<S::Source> {
                // SAFETY: the caller's promises.
                $kernel(unsafe { S::start(ready) })
            }
        }
    )*};
}
prepare! { PerGroup OfGroups of_groups PerSubGroup OfSubGroups of_sub_groups }
