//! A source of all elements for every work-item.

use crate::data::source::length::Lengths;
use crate::data::source::traits::{GroupSource, Prepare, Source, ready_at_once};
use crate::data::view::View;
use crate::error::LaunchError;
use crate::kernel::grid::GridPoint;
use crate::kernel::group::local::Placement;
use crate::kernel::group::member::Member;

/// All elements, shared by all work-items: see [`whole`](fn@whole).
#[derive(Debug)]
pub struct Whole<'a, T>(&'a [T]);

/// A source that gives every work-item all elements of a buffer or view, as a shared slice.
///
/// A captured [view](crate::View) gives a kernel the same. Use `whole` in a launch that has sources
/// anyway, and for loans of a scope, which have no views: [`Lent::whole`](crate::Lent::whole).
/// Capture a view if the function that makes the closure does not launch it, or if there are no
/// other sources ([`parallel_for`](crate::Queue::parallel_for)). The code is the same.
///
/// ```
/// # fn main() -> Result<(), schism::Error> {
/// use schism::prelude::*;
///
/// let queue = Queue::new()?;
/// let input = Buffer::from_slice(&queue, &[1, 2, 3, 4])?;
/// let mut sums = Buffer::with_len(&queue, 4)?;
/// queue.for_each((0.., &mut sums, whole(&input)), |(i, sum, input)| {
///     *sum = input[i] + input[(i + 1) % input.len()];
/// })?;
/// assert_eq!(sums.to_vec(), [3, 5, 7, 5]);
/// # Ok(())
/// # }
/// ```
#[must_use]
pub fn whole<'a, T>(elements: impl Into<View<'a, T>>) -> Whole<'a, T> {
    Whole::new(elements.into())
}

impl<'a, T> Whole<'a, T> {
    pub(super) const fn new(view: View<'a, T>) -> Self {
        Self(view.raw())
    }
}

// SAFETY: shared references to what the borrow keeps from changing, or to atomics.
unsafe impl<T: Sync + 'static> Source for Whole<'_, T> {
    type Item<'item> = &'item [T];

    #[inline(always)]
    unsafe fn get<'item>(&self, _: GridPoint) -> &'item [T] {
        // SAFETY: the borrow outlives the launch, and with it the work-item.
        unsafe { std::mem::transmute::<&[T], &'item [T]>(self.0) }
    }
}

// SAFETY: as above.
unsafe impl<T: Sync + 'static> GroupSource for Whole<'_, T> {
    type Item<'item> = &'item [T];

    #[inline(always)]
    unsafe fn of_group<'item>(&self, group: GridPoint, _: Member) -> &'item [T] {
        // SAFETY: the caller's promises.
        unsafe { self.get(group) }
    }
}

impl<'a, T: Sync + 'static, M> Prepare<M> for Whole<'a, T> {
    type Source = Self;
    ready_at_once!();

    fn check(&self, lengths: &mut Lengths) -> Result<(), LaunchError> {
        lengths.reads(self.0.as_ptr(), self.0.len());
        lengths.any();
        Ok(())
    }

    fn prepare(self, placement: &mut Placement) -> Self {
        Self(placement.shared(self.0))
    }
}
