//! `cargo schism doctor`.
use std::process::ExitCode;

use crate::error::Result;

/// Thin for now.
pub fn run() -> Result<ExitCode> {
    Err(crate::error::Error::Usage("doctor is not there yet".into()))
}
