//! The device half of a crate: from its kernels to the object with its container.

pub(crate) mod aot;
pub(crate) mod cgu;
pub(crate) mod check;
pub(crate) mod compose;
mod container;
pub(crate) mod half;
pub(crate) mod lto;
pub(crate) mod object;
mod passes;
mod times;
pub(crate) mod track;
pub(crate) mod work_products;
