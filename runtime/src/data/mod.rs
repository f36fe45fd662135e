//! What kernels work on: buffers, views, and where work-items get their elements from.

pub(crate) mod atomic_view;
pub(crate) mod buffer;
pub(crate) mod c_heap;
pub(crate) mod device_copy;
pub(crate) mod device_heap;
pub(crate) mod device_memory;
pub(crate) mod free_list;
pub(crate) mod home;
pub(crate) mod host_copies;
pub(crate) mod host_range;
pub(crate) mod known_places;
#[cfg(schism_driver)]
mod not_captured;
pub(crate) mod operand;
pub(crate) mod pending;
pub(crate) mod present;
pub(crate) mod program_heap;
pub(crate) mod shared_heap;
pub(crate) mod source;
pub(crate) mod transfer;
pub(crate) mod view;
