//! What kernels work on: buffers, views, and where work-items get their elements from.

pub(crate) mod buffer;
pub(crate) mod device_memory;
pub(crate) mod home;
pub(crate) mod source;
pub(crate) mod transfer;
pub(crate) mod view;
