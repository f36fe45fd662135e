//! Work-groups as kernels see them: their ranges, their work-items, local memory, sub-groups.
//!
//! What runs groups on the host devices is `hal::host::groups`.

pub(crate) mod adaptors;
pub(crate) mod collectives;
pub(crate) mod local;
pub(crate) mod nd_item;
pub(crate) mod nd_range;
pub(crate) mod reduce;
pub(crate) mod sub_group;

pub(crate) use self::adaptors::{ForEachInGroups, Groups};
pub(crate) use self::local::place;
pub use self::local::{Local, LocalArray, LocalNumber, LocalSite, Locals, local, local_array};
pub use self::nd_item::NdItem;
pub(crate) use self::nd_item::group_of_first;
pub use self::nd_range::NdRange;
pub use self::reduce::LaneNumber;
pub use self::sub_group::{LaneValue, SubGroup};
