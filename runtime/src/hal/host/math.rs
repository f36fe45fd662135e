//! The mathematics library that kernels call on the device `cpu`.

use std::env;
use std::ffi::OsStr;
use std::sync::OnceLock;

use crate::error::DeviceError;

/// The variable that chooses it.
const VARIABLE: &str = "SCHISM_CPU_MATH";

/// Whether kernels use schism's own mathematics library, as on devices that have none: then they
/// give the same bits on all of them. By default they call the host's library, as the host half
/// does.
pub(crate) fn portable() -> Result<bool, DeviceError> {
    static PORTABLE: OnceLock<Result<bool, DeviceError>> = OnceLock::new();
    PORTABLE.get_or_init(|| read(env::var_os(VARIABLE).as_deref())).clone()
}

fn read(value: Option<&OsStr>) -> Result<bool, DeviceError> {
    match value.map(|value| (value.to_str(), value)) {
        None | Some((Some("host" | ""), _)) => Ok(false),
        Some((Some("portable"), _)) => Ok(true),
        Some((_, value)) => {
            Err(DeviceError::CpuMath { value: value.to_string_lossy().into_owned() })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values() {
        for value in [None, Some(""), Some("host")] {
            assert!(matches!(read(value.map(OsStr::new)), Ok(false)), "{value:?}");
        }
        assert!(matches!(read(Some("portable".as_ref())), Ok(true)));
        let error = read(Some("fast".as_ref())).expect_err("no such library").to_string();
        assert!(
            error.contains("SCHISM_CPU_MATH is `fast`") && error.contains("portable"),
            "{error}"
        );
    }
}
