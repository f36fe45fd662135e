//! `cargo schism hcf`.
use std::ffi::OsString;
use std::process::ExitCode;

use crate::error::Result;

/// Thin for now.
pub fn run(_arguments: &[OsString]) -> Result<ExitCode> {
    Err(crate::error::Error::Usage("hcf is not there yet".into()))
}
