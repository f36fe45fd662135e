//! The variable for the number of work-items that stage 2 computes in the lanes of vectors.
//!
//! Stage 2 is told of it when it compiles a kernel; a queue is where a wrong value can be an error.

use std::ffi::OsStr;
use std::sync::OnceLock;

use crate::error::DeviceError;
use crate::util::variables::CPU_LANES;

/// Checks the variable's value.
///
/// # Errors
/// [`DeviceError::CpuLanes`].
pub(crate) fn check() -> Result<(), DeviceError> {
    static CHECKED: OnceLock<Result<(), DeviceError>> = OnceLock::new();
    CHECKED.get_or_init(|| read(CPU_LANES.trusted())).clone()
}

fn read(value: Option<&OsStr>) -> Result<(), DeviceError> {
    let Some(value) = value else { return Ok(()) };
    match value.to_str().map(str::trim) {
        Some("" | "auto" | "off" | "4" | "8" | "16" | "32") => Ok(()),
        _ => Err(DeviceError::CpuLanes { value: value.to_string_lossy().into_owned() }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values() {
        for valid in ["", "auto", "off", "4", " 8", "16", "32"] {
            read(Some(valid.as_ref())).expect(valid);
        }
        for invalid in ["7", "0", "on", "64"] {
            let error = read(Some(invalid.as_ref())).expect_err(invalid).to_string();
            let said = format!("SCHISM_CPU_LANES is `{invalid}`");
            assert!(error.contains(&said), "{error}");
        }
    }
}
