//! Intel's offload: a statement that runs on a target, with its arrays sent there and received back.

pub(crate) mod arrays;
pub(crate) mod error;
pub(crate) mod statement;
pub(crate) mod status;
pub(crate) mod steps;
pub(crate) mod stream;
pub(crate) mod tags;
pub(crate) mod target;
