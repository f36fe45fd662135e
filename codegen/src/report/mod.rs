//! What stage 1 refuses or warns of, as rustc's own errors and warnings.

pub(crate) mod call_paths;
pub(crate) mod diagnostics;
pub(crate) mod failure;
pub(crate) mod text;
