//! Which parallel iterators of rayon become kernels, and what a build is told of it.
//!
//! What rayon's functions resolve to, and what the types of a pipeline tell, is in
//! [`crate::rayon`].

pub(crate) mod explain;
pub(crate) mod refuse;
