//! What a launch is made of, whichever device it goes to: its range, its kernel without a type, its
//! options, its end.

pub(crate) mod adaptivity;
pub(crate) mod desc;
pub(crate) mod elementwise;
pub(crate) mod erased;
pub(crate) mod failure;
pub(crate) mod options;
pub(crate) mod payload;
pub(crate) mod range;
pub(crate) mod report;
pub(crate) mod shape;
