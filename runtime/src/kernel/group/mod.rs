//! Work-groups as kernels see them: their ranges, their work-items, local memory, sub-groups, and
//! the values that work-items share.
//!
//! `hal::host::groups` runs groups on the host devices.

pub(crate) mod collectives;
pub(crate) mod local;
pub(crate) mod local_2d;
pub(crate) mod member;
pub(crate) mod nd_item;
pub(crate) mod nd_range;
pub(crate) mod reduce;
pub(crate) mod sub_group;
pub(crate) mod value;

pub use self::local::{Local, LocalArray, LocalSite, local, local_array};
pub use self::local_2d::{Local2d, LocalArray2d, local_2d};
pub use self::member::Strided;
pub use self::nd_item::NdItem;
pub use self::nd_range::NdRange;
pub use self::reduce::GroupNumber;
pub use self::sub_group::SubGroup;
pub use self::value::{Access, GroupValue};
