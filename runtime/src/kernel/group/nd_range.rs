//! Ranges divided into work-groups.

use std::marker::PhantomData;

use crate::error::LaunchError;
use crate::kernel::group::sub_group::SubGroup;
use crate::kernel::offset::{NoOffset, Origin};
use crate::launch::range::{Extent, IntoRange};

/// The range of a launch with work-groups: the number of work-items along each dimension, and how
/// many of them form a group.
///
/// ```
/// use schism::NdRange;
///
/// // 4 x 2 groups of 16 x 16 work-items.
/// let range = NdRange::new([64, 32], [16, 16])?;
/// assert_eq!(range.groups(), [4, 2]);
///
/// let uneven = NdRange::new(100, 32).unwrap_err();
/// assert!(uneven.to_string().contains("round the range up to [128]"));
///
/// // As for launches without groups, the work-items' ids may begin elsewhere than at zero. The groups' never do.
/// let upper_half = NdRange::new([32..64, 0..32], [16, 16])?;
/// assert_eq!((upper_half.offset(), upper_half.groups()), ([32, 0], [2, 2]));
/// # Ok::<(), schism::LaunchError>(())
/// ```
///
/// `O` says whether the range has its own offset: `NdRange<2>` begins at zero, and
/// [`NdRange<2, WithOffset>`](crate::range::WithOffset) at its offset. It follows from the type
/// that the range is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct NdRange<const D: usize, O = NoOffset> {
    global: [usize; D],
    local: [usize; D],
    begin: [usize; D],
    origin: PhantomData<O>,
}

impl<const D: usize, O: Origin> NdRange<D, O> {
    /// Creates a range of `global` work-items in groups of `local`. The last dimension is the
    /// fastest in both.
    ///
    /// `global` may begin elsewhere than at zero, see [`IntoRange`]; `local` is a size.
    ///
    /// A global range of 0 in some dimension is allowed and has no groups. The device limits the
    /// size of groups: [`Device::max_group_size`](crate::Device::max_group_size); the launch checks
    /// it.
    ///
    /// If the work does not divide into groups, round the range up. The surplus work-items access
    /// no elements, and take part in all else:
    ///
    /// ```
    /// # fn main() -> Result<(), schism::Error> {
    /// use schism::prelude::*;
    ///
    /// let queue = Queue::new()?;
    /// let numbers = Buffer::filled(&queue, 100, 1)?;
    /// let mut sums = Buffer::filled(&queue, 4, 0)?;
    /// let range = NdRange::new(numbers.len().next_multiple_of(32), 32)?;
    /// queue.for_each_in(range, (whole(&numbers), per_group(&mut sums)), |item, (numbers, sum)| {
    ///     let own = if item.x() < numbers.len() { numbers[item.x()] } else { 0 };
    ///     let of_group = item.reduce_add(own);
    ///     if let Some(sum) = sum {
    ///         *sum = of_group;
    ///     }
    /// })?;
    /// assert_eq!(sums.to_vec(), [32, 32, 32, 4]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`LaunchError::EmptyGroup`] if a group has no work-items, [`LaunchError::UnevenGroups`] if
    /// the groups do not fill the range, [`LaunchError::RangeOverflow`].
    pub fn new(
        global: impl IntoRange<D, Origin = O>,
        local: impl IntoRange<D, Origin = NoOffset>,
    ) -> Result<Self, LaunchError> {
        let begin = global.begin();
        let (global, local) = (global.into_range().0, local.into_range().0);
        check(&global, &local)?;
        Ok(Self { global, local, begin, origin: PhantomData })
    }

    /// The work-items of the launch.
    #[must_use]
    pub const fn global(&self) -> [usize; D] {
        self.global
    }

    /// Where the ids of the work-items begin: zeros unless the range says otherwise.
    #[must_use]
    pub const fn offset(&self) -> [usize; D] {
        self.begin
    }

    /// The work-items of one group.
    #[must_use]
    pub const fn local(&self) -> [usize; D] {
        self.local
    }

    /// The groups of the launch.
    #[must_use]
    pub fn groups(&self) -> [usize; D] {
        std::array::from_fn(|dimension| self.global[dimension] / self.local[dimension])
    }

    pub(crate) fn extent(&self) -> Result<NdExtent, LaunchError> {
        Ok(NdExtent {
            global: Extent::new(&self.global)?.begun_at(&self.begin),
            local: Extent::new(&self.local)?,
            groups: Extent::new(&self.groups())?,
        })
    }
}

impl<const D: usize> NdRange<D> {
    /// Creates a range of `groups` groups of `local` work-items.
    ///
    /// ```
    /// use schism::NdRange;
    ///
    /// // A group of 8 x 32 work-items for each tile of a matrix.
    /// let range = NdRange::from_groups([5, 7], [8, 32])?;
    /// assert_eq!((range.groups(), range.global()), ([5, 7], [40, 224]));
    /// # Ok::<(), schism::LaunchError>(())
    /// ```
    ///
    /// # Errors
    /// [`LaunchError::EmptyGroup`] if a group has no work-items, [`LaunchError::RangeOverflow`].
    pub fn from_groups(
        groups: impl IntoRange<D, Origin = NoOffset>,
        local: impl IntoRange<D, Origin = NoOffset>,
    ) -> Result<Self, LaunchError> {
        let (groups, local) = (groups.into_range().0, local.into_range().0);
        let mut global = groups;
        multiply(&mut global, &groups, &local)?;
        Ok(Self { global, local, begin: [0; D], origin: PhantomData })
    }
}

/// Whether groups of a size can fill a range.
fn check(global: &[usize], local: &[usize]) -> Result<(), LaunchError> {
    if local.contains(&0) {
        return Err(LaunchError::EmptyGroup { local: local.to_vec() });
    }
    Extent::new(global)?;
    Extent::new(local)?;
    if global.iter().zip(local).all(|(global, local)| global % local == 0) {
        return Ok(());
    }
    // An empty range may have any size in its other dimensions.
    let rounded =
        global.iter().zip(local).map(|(global, local)| global.checked_next_multiple_of(*local));
    Err(match rounded.collect() {
        Some(rounded) => LaunchError::UnevenGroups {
            global: global.to_vec(),
            local: local.to_vec(),
            rounded,
            dividing: dividing(global, local),
        },
        None => LaunchError::RangeOverflow { range: global.to_vec() },
    })
}

/// The largest groups of at most `local` that divide a range. Of the fastest dimension they take whole
/// sub-groups, if such groups divide it.
fn dividing(global: &[usize], local: &[usize]) -> Vec<usize> {
    /// No device has larger groups.
    const LARGEST: usize = 1024;
    let fastest = global.len() - 1;
    let of_dimension = |dimension: usize| {
        let (global, most) = (global[dimension], local[dimension].min(LARGEST));
        let divides = |size: &usize| global.is_multiple_of(*size);
        let sub_groups = (1..=most / SubGroup::MAX_SIZE).rev().map(|n| n * SubGroup::MAX_SIZE);
        let mut whole = sub_groups.filter(|_| dimension == fastest).filter(divides);
        whole.next().or_else(|| (1..=most).rev().find(divides)).unwrap_or(1)
    };
    (0..global.len()).map(of_dimension).collect()
}

/// Makes `global`, which is as many as the groups, as many as their work-items.
fn multiply(global: &mut [usize], groups: &[usize], local: &[usize]) -> Result<(), LaunchError> {
    for (global, local) in global.iter_mut().zip(local) {
        *global = global
            .checked_mul(*local)
            .ok_or_else(|| LaunchError::RangeOverflow { range: groups.to_vec() })?;
    }
    check(global, local)
}

/// The same in the order x, y, z, with 1 for missing dimensions.
#[derive(Clone, Copy, Debug)]
pub struct NdExtent {
    pub(crate) global: Extent,
    pub(crate) local: Extent,
    pub(crate) groups: Extent,
}
