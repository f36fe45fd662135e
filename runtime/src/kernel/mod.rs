//! What kernels see. Nothing here is host code: what a kernel reaches of it becomes device code.

pub(crate) mod abi;
pub(crate) mod atomic;
pub(crate) mod capture;
pub(crate) mod clock;
pub(crate) mod element;
pub(crate) mod group;
pub(crate) mod item;
pub(crate) mod offset;
pub(crate) mod print;
pub(crate) mod spec_const;
pub(crate) mod spec_place;
pub(crate) mod specialized;
