//! Bodies that other crates have only as compiled code: which there are, and in which module.
//!
//! [`frontend::std_bodies`](crate::frontend::std_bodies) makes the index, and
//! [`frontend::link_std_bodies`](crate::frontend::link_std_bodies) uses it.

pub mod bodies;
pub mod index;
pub mod module;
