//! The ranges of launches.

use std::ops;

use crate::error::LaunchError;
use crate::kernel::offset::{NoOffset, Origin, WithOffset};

/// The range of a launch: how many work-items along each of `D` dimensions, 1 to 3. The last
/// dimension is the fastest.
///
/// Every function that takes a range also takes `usize` (one dimension), arrays of one to three
/// `usize`, and Rust's own ranges, for launches that do not begin at zero: see [`IntoRange`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Range<const D: usize>(pub [usize; D]);

impl<const D: usize> Range<D> {
    /// The number of work-items, or an error if it does not fit in `usize`.
    ///
    /// # Errors
    /// [`LaunchError::RangeOverflow`].
    pub fn size(&self) -> Result<usize, LaunchError> {
        Extent::new(&self.0).map(|extent| extent.items)
    }
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for usize {}
    impl<const D: usize> Sealed for [usize; D] {}
    impl Sealed for std::ops::Range<usize> {}
    impl<const D: usize> Sealed for [std::ops::Range<usize>; D] {}
    impl Sealed for std::ops::RangeInclusive<usize> {}
    impl<const D: usize> Sealed for [std::ops::RangeInclusive<usize>; D] {}
    impl<const D: usize> Sealed for super::Range<D> {}
}

/// Types that are launch ranges.
///
/// | range | work-items | ids |
/// |---|---|---|
/// | `n` | `n` | `[0]` to `[n - 1]` |
/// | `[height, width]`, `[depth, height, width]` | their product | from zero |
/// | [`Range`] | the same, with the number of dimensions in its type | from zero |
/// | `a..b`, `a..=b` | those between | `[a]` to `[b - 1]`, `[a]` to `[b]` |
/// | `[a..b, c..d]`, `[a..b, c..d, e..f]`, the same with `..=` | the product of their lengths | from `[a, c]`, `[a, c, e]` |
///
/// As everywhere in Rust, a range that ends before it begins is empty: the launch runs nothing.
///
/// ```
/// # fn main() -> Result<(), schism::Error> {
/// use schism::prelude::*;
///
/// let queue = Queue::new()?;
/// let mut ids = Buffer::filled(&queue, 4, [0; 2])?;
/// // The inner points of a grid, say.
/// queue.for_each_in([1..3, 5..7], &mut ids, |item, id| *id = item.id())?;
/// assert_eq!(ids.to_vec(), [[1, 5], [1, 6], [2, 5], [2, 6]]);
/// # Ok(())
/// # }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a range of a launch",
    note = "a range is `usize`, `[usize; 1]`, `[usize; 2]` (`[height, width]`), `[usize; 3]` or `Range<D>` of 1 to 3 dimensions",
    note = "a range that does not begin at zero is `a..b`, `[a..b, c..d]` or `[a..b, c..d, e..f]`"
)]
pub trait IntoRange<const D: usize>: sealed::Sealed {
    /// Whether the launch has an offset.
    #[doc(hidden)]
    type Origin: Origin;

    /// The number of work-items along each dimension.
    fn into_range(self) -> Range<D>;

    /// Where the range begins.
    fn begin(&self) -> [usize; D];
}

impl IntoRange<1> for usize {
    type Origin = NoOffset;

    fn into_range(self) -> Range<1> {
        Range([self])
    }

    fn begin(&self) -> [usize; 1] {
        [0]
    }
}

/// One of Rust's ranges.
trait Interval {
    fn first(&self) -> usize;

    /// The length. One more than `usize::MAX` counts as `usize::MAX`, which is too many for a
    /// launch.
    fn numbers(&self) -> usize;
}

impl Interval for ops::Range<usize> {
    fn first(&self) -> usize {
        self.start
    }

    fn numbers(&self) -> usize {
        self.end.saturating_sub(self.start)
    }
}

impl Interval for ops::RangeInclusive<usize> {
    fn first(&self) -> usize {
        *self.start()
    }

    fn numbers(&self) -> usize {
        if self.is_empty() { 0 } else { (self.end() - self.start()).saturating_add(1) }
    }
}

macro_rules! into_range {
    ($($dimensions:literal)*) => {$(
        impl IntoRange<$dimensions> for [usize; $dimensions] {
            type Origin = NoOffset;

            fn into_range(self) -> Range<$dimensions> {
                Range(self)
            }

            fn begin(&self) -> [usize; $dimensions] {
                [0; $dimensions]
            }
        }

        impl IntoRange<$dimensions> for Range<$dimensions> {
            type Origin = NoOffset;

            fn into_range(self) -> Range<$dimensions> {
                self
            }

            fn begin(&self) -> [usize; $dimensions] {
                [0; $dimensions]
            }
        }

        into_range!($dimensions ops::Range<usize>);
        into_range!($dimensions ops::RangeInclusive<usize>);
    )*};
    ($dimensions:literal $interval:ty) => {
        impl IntoRange<$dimensions> for [$interval; $dimensions] {
            type Origin = WithOffset;

            fn into_range(self) -> Range<$dimensions> {
                Range(self.map(|interval| interval.numbers()))
            }

            fn begin(&self) -> [usize; $dimensions] {
                self.each_ref().map(Interval::first)
            }
        }
    };
}
into_range!(1 2 3);

macro_rules! into_range_alone {
    ($($interval:ty)*) => {$(
        impl IntoRange<1> for $interval {
            type Origin = WithOffset;

            fn into_range(self) -> Range<1> {
                [self].into_range()
            }

            fn begin(&self) -> [usize; 1] {
                [self.first()]
            }
        }
    )*};
}
into_range_alone!(ops::Range<usize> ops::RangeInclusive<usize>);

/// A range whose size is known to fit, in the order x, y, z, with 1 for missing dimensions.
#[derive(Clone, Copy, Debug)]
pub struct Extent {
    pub(crate) xyz: [usize; 3],
    /// Where it begins.
    pub(crate) offset: [usize; 3],
    pub(crate) items: usize,
    pub(crate) dimensions: u32,
}

/// The maximum number of work-items: `isize::MAX`, which also limits sizes of allocations and
/// differences of pointers.
const MOST_ITEMS: usize = isize::MAX as usize;

impl Extent {
    /// The same range with another offset.
    pub(crate) fn begun_at(mut self, begin: &[usize]) -> Self {
        for (to, from) in self.offset.iter_mut().zip(begin.iter().rev()) {
            *to = *from;
        }
        self
    }

    /// One of 1 to 3 dimensions.
    pub(crate) fn new(range: &[usize]) -> Result<Self, LaunchError> {
        let mut xyz = [1; 3];
        for (to, from) in xyz.iter_mut().zip(range.iter().rev()) {
            *to = *from;
        }
        let items = if range.contains(&0) {
            0
        } else {
            xyz.iter()
                .try_fold(1_usize, |product, n| product.checked_mul(*n))
                .filter(|items| *items <= MOST_ITEMS)
                .ok_or_else(|| LaunchError::RangeOverflow { range: range.to_vec() })?
        };
        Ok(Self { xyz, offset: [0; 3], items, dimensions: range.len() as u32 })
    }

    /// The range as users write it.
    pub(crate) fn slowest_first(&self) -> Vec<usize> {
        self.xyz[..self.dimensions as usize].iter().rev().copied().collect()
    }
}
