//! One work-item of a launch with work-groups.

use std::marker::PhantomData;

use crate::hal::host::groups::builtins;
use crate::kernel::abi::is_device;
use crate::kernel::grid::{linear, size};
use crate::kernel::item::Item;

// Builtins of devices; the host half has functions with the same names.
unsafe extern "C" {
    safe fn __schism_local_id_x() -> usize;
    safe fn __schism_local_id_y() -> usize;
    safe fn __schism_local_id_z() -> usize;
    safe fn __schism_local_range_x() -> usize;
    safe fn __schism_local_range_y() -> usize;
    safe fn __schism_local_range_z() -> usize;
    safe fn __schism_group_id_x() -> usize;
    safe fn __schism_group_id_y() -> usize;
    safe fn __schism_group_id_z() -> usize;
    safe fn __schism_group_range_x() -> usize;
    safe fn __schism_group_range_y() -> usize;
    safe fn __schism_group_range_z() -> usize;
}
// They have the Rust ABI: on the host they may unwind, and a crate that calls such a function of
// another ABI cannot be linked into programs that abort on panics.
unsafe extern "Rust" {
    fn __schism_barrier();
}

/// One work-item of a launch that is divided into work-groups: its place in the launch, its group,
/// and its place in the group.
///
/// Ids are row major, as in nested arrays: the last dimension is the fastest, and `x` is the
/// position along it.
///
/// In a launch over a range with an offset, positions in the launch include it; those of groups and
/// in groups, and all row-major indices, still count from 0.
///
/// ```
/// # fn main() -> Result<(), schism::Error> {
/// use schism::prelude::*;
///
/// let queue = Queue::new()?;
/// let mut places = Buffer::filled(&queue, 6, [0; 3])?;
/// let out = places.view_mut();
/// queue.parallel_for(NdRange::new(6, 3)?, move |item| {
///     // SAFETY: each work-item writes its own element.
///     unsafe { out.set_unchecked(item.x(), [item.x(), item.group_x(), item.local_x()]) }
/// })?;
/// assert_eq!(places.to_vec(), [[0, 0, 0], [1, 0, 1], [2, 0, 2], [3, 1, 0], [4, 1, 1], [5, 1, 2]]);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug)]
pub struct NdItem<'g, const D: usize> {
    item: Item<D>,
    /// In the order x, y, z.
    local_id: [usize; 3],
    local_range: [usize; 3],
    group_id: [usize; 3],
    group_range: [usize; 3],
    /// It belongs to a running group, and to the thread that runs it.
    group: PhantomData<(&'g (), *mut ())>,
}

pub(super) type Ids = ([usize; 3], [usize; 3], [usize; 3], [usize; 3]);

/// Local id, local range, group id and group range of the running work-item, on a device.
#[inline(always)]
pub(super) fn of_device() -> Ids {
    (
        [__schism_local_id_x(), __schism_local_id_y(), __schism_local_id_z()],
        [__schism_local_range_x(), __schism_local_range_y(), __schism_local_range_z()],
        [__schism_group_id_x(), __schism_group_id_y(), __schism_group_id_z()],
        [__schism_group_range_x(), __schism_group_range_y(), __schism_group_range_z()],
    )
}

impl<const D: usize> NdItem<'_, D> {
    /// The running work-item; `item` is its place in the launch. The lifetime must be that of its
    /// group's run.
    #[inline(always)]
    pub(crate) fn current(item: Item<D>) -> Self {
        let (local_id, local_range, group_id, group_range) =
            if is_device() { of_device() } else { builtins::place(item.place()) };
        Self { item, local_id, local_range, group_id, group_range, group: PhantomData }
    }

    /// The work-item's place in the launch, as in kernels without groups.
    #[inline(always)]
    #[must_use]
    pub const fn item(&self) -> Item<D> {
        self.item
    }

    /// The position in the launch along the fastest dimension.
    #[inline(always)]
    #[must_use]
    pub const fn x(&self) -> usize {
        self.item.x()
    }

    /// The position in the launch along the second-fastest dimension; 0 in one dimension.
    #[inline(always)]
    #[must_use]
    pub const fn y(&self) -> usize {
        self.item.y()
    }

    /// The position in the launch along the third-fastest dimension; 0 in one or two dimensions.
    #[inline(always)]
    #[must_use]
    pub const fn z(&self) -> usize {
        self.item.z()
    }

    /// The position in the group along the fastest dimension.
    #[inline(always)]
    #[must_use]
    pub const fn local_x(&self) -> usize {
        self.local_id[0]
    }

    /// The position in the group along the second-fastest dimension; 0 in one dimension.
    #[inline(always)]
    #[must_use]
    pub const fn local_y(&self) -> usize {
        self.local_id[1]
    }

    /// The position in the group along the third-fastest dimension; 0 in one or two dimensions.
    #[inline(always)]
    #[must_use]
    pub const fn local_z(&self) -> usize {
        self.local_id[2]
    }

    /// The group's position along the fastest dimension.
    #[inline(always)]
    #[must_use]
    pub const fn group_x(&self) -> usize {
        self.group_id[0]
    }

    /// The group's position along the second-fastest dimension; 0 in one dimension.
    #[inline(always)]
    #[must_use]
    pub const fn group_y(&self) -> usize {
        self.group_id[1]
    }

    /// The group's position along the third-fastest dimension; 0 in one or two dimensions.
    #[inline(always)]
    #[must_use]
    pub const fn group_z(&self) -> usize {
        self.group_id[2]
    }

    /// The row-major index of this work-item in the launch: from 0, wherever the range begins.
    #[inline(always)]
    #[must_use]
    pub const fn global_linear_id(&self) -> usize {
        self.item.linear_id()
    }

    /// The row-major index of this work-item in its group, less than
    /// [`group_size`](Self::group_size).
    #[inline(always)]
    #[must_use]
    pub const fn local_linear_id(&self) -> usize {
        linear(self.local_id, self.local_range)
    }

    /// The row-major index of the group, less than [`groups`](Self::groups).
    #[inline(always)]
    #[must_use]
    pub const fn group_linear_id(&self) -> usize {
        linear(self.group_id, self.group_range)
    }

    /// The number of work-items of a group.
    #[inline(always)]
    #[must_use]
    pub const fn group_size(&self) -> usize {
        size(self.local_range)
    }

    /// The number of groups of the launch.
    #[inline(always)]
    #[must_use]
    pub const fn groups(&self) -> usize {
        size(self.group_range)
    }

    /// Waits until every work-item of the group is here. What any of them wrote before, to local
    /// memory or to buffers, is visible to all of them afterwards.
    ///
    /// All work-items of the group must execute the same barriers, equally often: a barrier in a
    /// branch is allowed if either all or none take the branch. If some end while others wait, the
    /// launch ends with [`LaunchError::DivergentBarrier`]; a GPU does not detect this.
    ///
    /// On the device `cpu` a barrier costs about as much as a loop over the group, unless it is in a
    /// function that calls itself or is called through a pointer, or the kernel has operations of
    /// sub-groups: then each work-item waits on its own stack, which costs far more.
    ///
    /// [`LaunchError::DivergentBarrier`]: crate::LaunchError::DivergentBarrier
    #[inline(always)]
    pub fn barrier(&self) {
        // SAFETY: `self` belongs to a running group, and cannot leave its thread.
        unsafe { __schism_barrier() }
    }
}

/// The arrays of positions, for each number of dimensions.
macro_rules! positions {
    ($dimensions:literal: $($at:literal)*) => {
        impl NdItem<'_, $dimensions> {
            /// The position in the launch, slowest dimension first.
            #[inline(always)]
            #[must_use]
            pub const fn global_id(&self) -> [usize; $dimensions] {
                self.item.id()
            }

            /// The range of the launch, slowest dimension first.
            #[inline(always)]
            #[must_use]
            pub const fn global_range(&self) -> [usize; $dimensions] {
                self.item.range()
            }

            /// Where the range of the launch begins, slowest dimension first; zeros unless the
            /// launch has an offset.
            #[inline(always)]
            #[must_use]
            pub const fn offset(&self) -> [usize; $dimensions] {
                self.item.offset()
            }

            /// The position in the group, slowest dimension first.
            #[inline(always)]
            #[must_use]
            pub const fn local_id(&self) -> [usize; $dimensions] {
                [$(self.local_id[$at]),*]
            }

            /// The range of a group, slowest dimension first.
            #[inline(always)]
            #[must_use]
            pub const fn local_range(&self) -> [usize; $dimensions] {
                [$(self.local_range[$at]),*]
            }

            /// The group's position, slowest dimension first.
            #[inline(always)]
            #[must_use]
            pub const fn group_id(&self) -> [usize; $dimensions] {
                [$(self.group_id[$at]),*]
            }

            /// The range of the groups, slowest dimension first.
            #[inline(always)]
            #[must_use]
            pub const fn group_range(&self) -> [usize; $dimensions] {
                [$(self.group_range[$at]),*]
            }
        }
    };
}
positions!(1: 0);
positions!(2: 1 0);
positions!(3: 2 1 0);
