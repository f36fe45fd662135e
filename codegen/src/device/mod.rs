//! The device half of a crate: from its kernels to the object with its container.

pub(crate) mod aot;
pub(crate) mod compose;
pub(crate) mod lto;
pub(crate) mod object;
pub(crate) mod times;
pub(crate) mod track;
pub(crate) mod work_products;
