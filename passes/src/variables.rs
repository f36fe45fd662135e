//! The environment variables of a run of passes, which [`options`](crate::pipeline::options) reads.

/// Names of optional passes, separated by commas, that do not run.
pub const DISABLE_PASSES: &str = "SCHISM_DISABLE_PASSES";
/// Names of steps, separated by commas, after which the module is printed to standard error; `all`
/// are all.
pub const PRINT_AFTER: &str = "SCHISM_PRINT_AFTER";
/// `1`: the module is verified after each step. In builds with debug assertions it always is.
pub const VERIFY_PASSES: &str = "SCHISM_VERIFY_PASSES";
/// Names of passes, separated by commas, that panic instead of running: to test what then happens.
pub const FAIL_PASSES: &str = "SCHISM_FAIL_PASSES";
