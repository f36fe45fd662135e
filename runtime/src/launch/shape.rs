//! The index space of a launch, with or without work-groups.

use crate::data::source::length::Lengths;
use crate::data::source::per_group::InGroups;
use crate::error::LaunchError;
use crate::kernel::group::nd_item::NdItem;
use crate::kernel::group::nd_range::{NdExtent, NdRange};
use crate::kernel::group::sub_group::SubGroup;
use crate::kernel::item::Item;
use crate::kernel::offset::Origin;
use crate::launch::desc::GroupDesc;
use crate::launch::range::{Extent, IntoRange};

/// The index space of a launch: a range of work-items, or an [`NdRange`], whose work-items form
/// work-groups.
///
/// It determines how a kernel gets its place: as an [`Item`] of the range, or as an [`NdItem`] of
/// the groups.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a range of a launch",
    note = "a range is `usize`, `[usize; 1]`, `[usize; 2]` (`[height, width]`), `[usize; 3]` or `Range<D>` of 1 to 3 dimensions",
    note = "a range that does not begin at zero is `a..b`, `[a..b, c..d]` or `[a..b, c..d, e..f]`",
    note = "a range in work-groups is `NdRange::new(range, group)?`"
)]
pub trait LaunchRange<const D: usize> {
    /// How a kernel gets its place.
    type Item<'g>;

    /// Whether the launch has an offset.
    #[doc(hidden)]
    type Origin: Origin;

    /// The kind of launch, for [sources](crate::IntoSource); `M` is the kind apart from groups.
    #[doc(hidden)]
    type Mode<M>;

    /// The sizes.
    #[doc(hidden)]
    fn shape(self) -> Result<LaunchShape, LaunchError>;

    /// The place of a work-item.
    ///
    /// # Safety
    /// It is the running work-item of a launch over such a range, and the lifetime is that of its
    /// group's run.
    #[doc(hidden)]
    unsafe fn item<'g>(item: Item<D>) -> Self::Item<'g>;
}

impl<R: IntoRange<D>, const D: usize> LaunchRange<D> for R {
    type Item<'g> = Item<D>;
    type Origin = <R as IntoRange<D>>::Origin;
    type Mode<M> = M;

    fn shape(self) -> Result<LaunchShape, LaunchError> {
        let begin = self.begin();
        LaunchShape::begun_at(&self.into_range().0, &begin)
    }

    #[inline(always)]
    unsafe fn item<'g>(item: Item<D>) -> Self::Item<'g> {
        item
    }
}

impl<const D: usize, O: Origin> LaunchRange<D> for NdRange<D, O> {
    type Item<'g> = NdItem<'g, D>;
    type Origin = O;
    type Mode<M> = InGroups<M>;

    fn shape(self) -> Result<LaunchShape, LaunchError> {
        let groups = self.extent()?;
        Ok(LaunchShape { range: groups.global, groups: Some(groups) })
    }

    #[inline(always)]
    unsafe fn item<'g>(item: Item<D>) -> NdItem<'g, D> {
        NdItem::current(item)
    }
}

/// The sizes of a launch.
#[derive(Clone, Copy, Debug)]
pub struct LaunchShape {
    /// The groups, if there are any.
    pub(crate) range: Extent,
    /// The same in groups, if it has any.
    pub(crate) groups: Option<NdExtent>,
}

impl LaunchShape {
    /// That of a range without groups.
    fn begun_at(range: &[usize], begin: &[usize]) -> Result<Self, LaunchError> {
        Ok(Self { range: Extent::new(range)?.begun_at(begin), groups: None })
    }

    /// The groups, if it has any, with so many bytes of local memory that the launch adds for each.
    #[inline]
    pub(crate) fn groups(&self, dynamic: usize) -> Option<GroupDesc<'_>> {
        let NdExtent { local, groups, .. } = self.groups.as_ref()?;
        Some(GroupDesc { local, count: groups, dynamic })
    }

    /// How many elements sources need.
    pub(crate) const fn lengths(&self) -> Lengths {
        match &self.groups {
            None => Lengths::of_range(self.range.items).over(self.range.xyz),
            Some(NdExtent { local, groups, .. }) => {
                // Not more than there are work-items, so nothing wraps.
                let sub_groups =
                    groups.items.wrapping_mul(local.items.div_ceil(SubGroup::MAX_SIZE));
                Lengths::of_range_in_groups(self.range.items, groups.items, sub_groups)
            }
        }
    }
}
