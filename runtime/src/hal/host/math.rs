//! The mathematics library that kernels call on the device `cpu`.

use std::ffi::OsStr;
use std::sync::OnceLock;

use crate::error::DeviceError;
use crate::util::variables::CPU_MATH;

/// Whether kernels use schism's own mathematics library, as on all other devices: then they give
/// the same bits on all of them, and are computed in vectors. The alternative is the host's
/// library, as in the host half. Where [`CPU_MATH`] names none, in-process kernels call that: these
/// are loops of a program that did not ask for kernels, and whether one runs as a kernel must not
/// change a bit of what it computes.
pub(crate) fn portable(in_process: bool) -> Result<bool, DeviceError> {
    static NAMED: OnceLock<Result<Option<bool>, DeviceError>> = OnceLock::new();
    let named = NAMED.get_or_init(|| read(CPU_MATH.get()));
    match named {
        Ok(named) => Ok(named.unwrap_or(!in_process)),
        Err(error) => Err(error.clone()),
    }
}

/// What the variable says; `None` if it says nothing.
fn read(value: Option<&OsStr>) -> Result<Option<bool>, DeviceError> {
    match value.map(|value| (value.to_str(), value)) {
        None | Some((Some(""), _)) => Ok(None),
        Some((Some("host"), _)) => Ok(Some(false)),
        Some((Some("portable"), _)) => Ok(Some(true)),
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
        let said = |value: &str| read(Some(value.as_ref())).expect("a value");
        assert_eq!(read(None).expect("nothing is a value"), None);
        assert_eq!(said(""), None);
        assert_eq!(said("host"), Some(false));
        assert_eq!(said("portable"), Some(true));
        let error = read(Some("fast".as_ref())).expect_err("no such library").to_string();
        assert!(
            error.contains("SCHISM_CPU_MATH is `fast`") && error.contains("portable"),
            "{error}"
        );
    }
}
