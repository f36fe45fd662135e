//! One work-item: its place in the launch.

use crate::kernel::grid::GridPoint;

/// One work-item of a launch over a `D`-dimensional range: its position, and the range.
///
/// Ids are row major, as in nested arrays: the last dimension is the fastest. For an image of
/// `[height, width]` the id is `[y, x]`.
///
/// ```
/// # fn main() -> Result<(), schism::Error> {
/// use schism::prelude::*;
///
/// let queue = Queue::new()?;
/// let mut sums = Buffer::filled(&queue, 6, 0_usize)?;
/// queue.for_each_in([2, 3], &mut sums, |item, sum| {
///     let [y, x] = item.id();
///     *sum = 10 * y + x;
/// })?;
/// assert_eq!(sums.to_vec(), [0, 1, 2, 10, 11, 12]);
/// # Ok(())
/// # }
/// ```
///
/// In a launch over a range that begins elsewhere, such as `[5..10, 3..9]`, ids begin there;
/// [`linear_id`](Self::linear_id) still counts from 0, and [`range`](Item::<2>::range) is the
/// number of work-items.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Item<const D: usize> {
    /// x, y, z.
    id: [usize; 3],
    range: [usize; 3],
    /// Where the ids begin.
    offset: [usize; 3],
}

impl<const D: usize> Item<D> {
    /// In the order x, y, z; dimensions beyond `D` are 0 with a range of 1.
    #[inline(always)]
    pub(crate) const fn new(id: [usize; 3], range: [usize; 3]) -> Self {
        Self { id, range, offset: [0; 3] }
    }

    /// The same work-item in a launch that begins elsewhere.
    #[inline(always)]
    pub(crate) const fn begun_at(self, offset: [usize; 3]) -> Self {
        // The end of a range is a `usize`, so these sums fit; wrapping keeps debug builds free of
        // checks.
        let id = [
            self.id[0].wrapping_add(offset[0]),
            self.id[1].wrapping_add(offset[1]),
            self.id[2].wrapping_add(offset[2]),
        ];
        Self { id, range: self.range, offset }
    }

    /// The position (x, y, z), counted from the beginning of the launch.
    #[inline(always)]
    pub(crate) const fn place(&self) -> [usize; 3] {
        [
            self.id[0].wrapping_sub(self.offset[0]),
            self.id[1].wrapping_sub(self.offset[1]),
            self.id[2].wrapping_sub(self.offset[2]),
        ]
    }

    /// The same as a point of the launch's grid.
    #[inline(always)]
    pub(crate) const fn grid_point(&self) -> GridPoint {
        GridPoint::new(self.place(), self.range)
    }

    /// The position along the fastest dimension, the last one of the range.
    #[inline(always)]
    #[must_use]
    pub const fn x(&self) -> usize {
        self.id[0]
    }

    /// The position along the second-fastest dimension; 0 in a one-dimensional range.
    #[inline(always)]
    #[must_use]
    pub const fn y(&self) -> usize {
        self.id[1]
    }

    /// The position along the third-fastest dimension; 0 in a one- or two-dimensional range.
    #[inline(always)]
    #[must_use]
    pub const fn z(&self) -> usize {
        self.id[2]
    }

    /// The row-major index of this work-item in its launch: from 0 to [`size`](Self::size) - 1,
    /// wherever the range begins.
    #[inline(always)]
    #[must_use]
    pub const fn linear_id(&self) -> usize {
        let [x, y, z] = self.place();
        // A launch never starts unless the product of its range fits in `usize`; wrapping keeps
        // debug builds free of checks.
        z.wrapping_mul(self.range[1]).wrapping_add(y).wrapping_mul(self.range[0]).wrapping_add(x)
    }

    /// The number of work-items of the launch.
    #[inline(always)]
    #[must_use]
    pub const fn size(&self) -> usize {
        self.range[2].wrapping_mul(self.range[1]).wrapping_mul(self.range[0])
    }
}

mod sealed {
    /// No item is one: so that what only members of a group can do is an error that says how to
    /// become one.
    #[diagnostic::on_unimplemented(
        message = "a work-item of a plain range is in no work-group, and cannot wait for others",
        label = "there is no group here",
        note = "launch over `NdRange::new(range, group)`: its kernels get an `NdItem`, which has `barrier()`"
    )]
    pub trait InGroup {}
}

impl<const D: usize> Item<D> {
    /// There is none: see [`NdItem::barrier`](crate::NdItem::barrier).
    #[doc(hidden)]
    pub fn barrier(&self)
    where
        Self: sealed::InGroup,
    {
        unreachable!("no item is in a group")
    }
}

impl Item<1> {
    /// The position: `[x]`.
    #[inline(always)]
    #[must_use]
    pub const fn id(&self) -> [usize; 1] {
        [self.id[0]]
    }

    /// The range of the launch: `[width]`.
    #[inline(always)]
    #[must_use]
    pub const fn range(&self) -> [usize; 1] {
        [self.range[0]]
    }

    /// Where the range of the launch begins: `[x]`; zeros unless the launch says otherwise.
    #[inline(always)]
    #[must_use]
    pub const fn offset(&self) -> [usize; 1] {
        [self.offset[0]]
    }
}

impl Item<2> {
    /// The position: `[y, x]`.
    #[inline(always)]
    #[must_use]
    pub const fn id(&self) -> [usize; 2] {
        [self.id[1], self.id[0]]
    }

    /// The range of the launch: `[height, width]`.
    #[inline(always)]
    #[must_use]
    pub const fn range(&self) -> [usize; 2] {
        [self.range[1], self.range[0]]
    }

    /// Where the range of the launch begins: `[y, x]`; zeros unless the launch says otherwise.
    #[inline(always)]
    #[must_use]
    pub const fn offset(&self) -> [usize; 2] {
        [self.offset[1], self.offset[0]]
    }
}

impl Item<3> {
    /// The position: `[z, y, x]`.
    #[inline(always)]
    #[must_use]
    pub const fn id(&self) -> [usize; 3] {
        [self.id[2], self.id[1], self.id[0]]
    }

    /// The range of the launch: `[depth, height, width]`.
    #[inline(always)]
    #[must_use]
    pub const fn range(&self) -> [usize; 3] {
        [self.range[2], self.range[1], self.range[0]]
    }

    /// Where the range of the launch begins: `[z, y, x]`; zeros unless the launch says otherwise.
    #[inline(always)]
    #[must_use]
    pub const fn offset(&self) -> [usize; 3] {
        [self.offset[2], self.offset[1], self.offset[0]]
    }
}
