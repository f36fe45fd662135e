//! Makes several turns of a loop at once, if a loop checks in every turn what it has loaded in it.

pub(crate) mod emit;
pub mod plan;

pub use plan::{run, run_on};
