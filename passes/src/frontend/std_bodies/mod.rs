//! Bodies that other crates have only as compiled code: which there are, and in which module.
//!
//! The standard library's rlibs carry no MIR of functions that are neither generic nor inline, but
//! they carry the LLVM bitcode of everything, for link-time optimisation. A
//! [`StdBodies`](crate::spec::std_bodies::bodies::StdBodies) knows what of it a kernel can have: a
//! function is in the index if neither it nor anything that it reaches needs what no device has
//! (the allocator, the system, a variable that changes, assembly). So a kernel that prints is
//! refused at the call of the printing function, and nothing of the machinery behind it is read.
//! Calls of panic functions end the search: the pass
//! [`lower_panics`](crate::frontend::lower_panics) lowers those.
//!
//! Making the index reads all of the bitcode ([`build_index`]), so it is kept in a file;
//! [`index`](crate::spec::std_bodies::index) is its format. [`crate::frontend::link_std_bodies`]
//! uses it.

pub mod build_index;
pub mod rlib;
