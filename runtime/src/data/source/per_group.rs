//! One element for each work-group.

use crate::data::source::length::Lengths;
use crate::data::source::traits::{Prepare, Source};
use crate::error::LaunchError;
use crate::kernel::group;

/// The launches with work-groups; `M` is the kind of launch apart from that.
#[derive(Debug)]
pub struct InGroups<M>(M);

/// One element for each work-group: see [`per_group`](fn@per_group).
#[derive(Debug)]
pub struct PerGroup<S>(S);

/// A source that has one element for each work-group, not for each work-item: the first work-item of a group gets the group's element,
/// `Some`, and the others get `None`.
///
/// Around any other source, for [`for_each_in_groups`](crate::Queue::for_each_in_groups) only.
///
/// ```
/// # fn main() -> Result<(), schism::Error> {
/// use schism::prelude::*;
///
/// let queue = Queue::new()?;
/// let input = Buffer::from_slice(&queue, &[1, 2, 3, 10, 20, 30])?;
/// let mut sums = Buffer::filled(&queue, 2, 0)?;
/// let sources = (&input, per_group(&mut sums));
/// queue.for_each_in_groups(NdRange::new(6, 3)?, local::<i32>(3), sources, |item, tile, (x, sum)| {
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
/// A launch without groups cannot have it:
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

/// The elements of groups, in a kernel that is launched with groups.
#[derive(Debug)]
pub struct OfGroups<S>(S);

// SAFETY: only the first work-item of a group gets an element, by the group's index, and groups have distinct indices.
unsafe impl<S: Source> Source for OfGroups<S> {
    type Item<'item> = Option<S::Item<'item>>;

    #[inline(always)]
    unsafe fn get<'item>(&self, _: usize) -> Self::Item<'item> {
        // SAFETY: the index is below the number of groups, which the source agreed to, and no other work-item has it; the
        // rest is the caller's promise.
        group::group_of_first().map(|group| unsafe { self.0.get(group) })
    }
}

impl<M, S: Prepare<M>> Prepare<InGroups<M>> for PerGroup<S> {
    type Source = OfGroups<S::Source>;
    type Ready = S::Ready;

    fn check(&self, lengths: &mut Lengths) -> Result<(), LaunchError> {
        lengths.of_groups(|lengths| self.0.check(lengths))
    }

    fn prepare(self) -> S::Ready {
        self.0.prepare()
    }

    unsafe fn start(ready: S::Ready) -> OfGroups<S::Source> {
        // SAFETY: the caller's promises.
        OfGroups(unsafe { S::start(ready) })
    }
}
