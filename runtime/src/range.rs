//! The ranges of launches.

use crate::error::LaunchError;

/// The range of a launch: how many work-items along each of `D` dimensions, 1 to 3. The last dimension is the fastest.
///
/// Wherever a range is asked for, `usize` (one dimension) and arrays of one to three `usize` do as well.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Range<const D: usize>(pub [usize; D]);

impl<const D: usize> Range<D> {
    /// The number of work-items, or an error if it does not fit in `usize`.
    ///
    /// # Errors
    /// [`LaunchError::RangeOverflow`].
    pub fn size(&self) -> Result<usize, LaunchError> {
        Extent::new(self.0).map(|extent| extent.items)
    }
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for usize {}
    impl<const D: usize> Sealed for [usize; D] {}
    impl<const D: usize> Sealed for super::Range<D> {}
}

/// What can be the range of a launch: `usize`, `[usize; 1]`, `[usize; 2]`, `[usize; 3]`, [`Range`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a range of a launch",
    note = "a range is `usize`, `[usize; 1]`, `[usize; 2]` (`[height, width]`), `[usize; 3]` or `Range<D>` of 1 to 3 dimensions"
)]
pub trait IntoRange<const D: usize>: sealed::Sealed {
    /// The range.
    fn into_range(self) -> Range<D>;
}

impl IntoRange<1> for usize {
    fn into_range(self) -> Range<1> {
        Range([self])
    }
}

macro_rules! into_range {
    ($($dimensions:literal)*) => {$(
        impl IntoRange<$dimensions> for [usize; $dimensions] {
            fn into_range(self) -> Range<$dimensions> {
                Range(self)
            }
        }

        impl IntoRange<$dimensions> for Range<$dimensions> {
            fn into_range(self) -> Range<$dimensions> {
                self
            }
        }
    )*};
}
into_range!(1 2 3);

/// A range that is known to have a size, in the order x, y, z, with 1 for the dimensions that it has not.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Extent {
    pub(crate) xyz: [usize; 3],
    pub(crate) items: usize,
    pub(crate) dimensions: u32,
}

/// More work-items than this are refused: sizes of allocations and differences of pointers end here as well.
const MOST_ITEMS: usize = isize::MAX as usize;

impl Extent {
    pub(crate) fn new<const D: usize>(range: [usize; D]) -> Result<Self, LaunchError> {
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
        Ok(Self { xyz, items, dimensions: D as u32 })
    }

    /// The range as users write it.
    pub(crate) fn slowest_first(&self) -> Vec<usize> {
        self.xyz[..self.dimensions as usize].iter().rev().copied().collect()
    }
}
