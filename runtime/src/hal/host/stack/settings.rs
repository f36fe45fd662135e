//! The environment variable for stacks.

use std::ffi::OsStr;
use std::sync::OnceLock;

use crate::error::DeviceError;
use crate::util::variables::CPU_STACK;

/// The maximum stack of a work-item whose need is known, in bytes.
pub(crate) const MOST_OF_ITEM: usize = 256 << 20;

/// The stack of threads that the standard library starts.
const DEFAULT: usize = 2 << 20;

/// Less is too small for any kernel.
const LEAST: usize = 64 << 10;

#[inline]
fn setting() -> &'static Result<usize, DeviceError> {
    static SETTING: OnceLock<Result<usize, DeviceError>> = OnceLock::new();
    SETTING.get_or_init(|| read(CPU_STACK.get()))
}

/// The stack of a work-item whose need is unknown, in bytes.
#[inline]
pub(crate) fn default_size() -> usize {
    *setting().as_ref().unwrap_or(&DEFAULT)
}

/// Checks the variable's value.
///
/// # Errors
/// [`DeviceError::CpuStack`].
pub(crate) fn check() -> Result<(), DeviceError> {
    setting().as_ref().map(|_| ()).map_err(Clone::clone)
}

fn read(value: Option<&OsStr>) -> Result<usize, DeviceError> {
    let Some(value) = value.filter(|value| !value.is_empty()) else { return Ok(DEFAULT) };
    value
        .to_str()
        .and_then(|text| bytes(text.trim()))
        .filter(|bytes| (LEAST..=MOST_OF_ITEM).contains(bytes))
        .ok_or_else(|| DeviceError::CpuStack {
            value: value.to_string_lossy().into_owned(),
            least: LEAST,
            most: MOST_OF_ITEM,
        })
}

/// A number of bytes: `1000000`, `512K`, `8M`.
fn bytes(text: &str) -> Option<usize> {
    let (digits, unit) = match text.as_bytes().last()?.to_ascii_uppercase() {
        b'K' => (&text[..text.len() - 1], 1 << 10),
        b'M' => (&text[..text.len() - 1], 1 << 20),
        _ => (text, 1),
    };
    digits.parse::<usize>().ok()?.checked_mul(unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values() {
        let read = |text: &str| read(Some(text.as_ref()));
        for (text, bytes) in
            [("", DEFAULT), ("65536", LEAST), ("512K", 512 << 10), (" 8m ", 8 << 20)]
        {
            assert_eq!(read(text).expect(text), bytes);
        }
        for text in ["0", "63K", "257M", "8G", "M", "-1", "1.5M", "99999999999999999999M"] {
            let error = read(text).expect_err(text).to_string();
            assert!(error.contains("SCHISM_CPU_STACK") && error.contains(text), "{error}");
        }
    }
}
