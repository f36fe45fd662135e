//! What kernels use. There is no host code here: what a kernel calls of it becomes device code.

pub(crate) mod abi;
pub(crate) mod atomic;
pub(crate) mod capture;
pub(crate) mod clock;
pub(crate) mod copy_of;
pub(crate) mod element;
pub(crate) mod grid;
pub(crate) mod group;
pub(crate) mod item;
pub(crate) mod offset;
pub(crate) mod pause;
pub(crate) mod print;
pub(crate) mod spec_const;
pub(crate) mod spec_place;
pub(crate) mod specialized;
pub(crate) mod unroll;
