//! Why a device's driver failed.

/// A function of a device's driver failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{call}` failed: {text} ({name}, code {})", .code.cast_signed())]
#[non_exhaustive]
pub struct DriverError {
    /// The function.
    pub call: &'static str,
    /// Its return value.
    pub code: u32,
    /// The driver's name for that value.
    pub name: String,
    /// The driver's description of it.
    pub text: String,
}

impl DriverError {
    /// Whether the driver rejects the code itself.
    pub(super) fn is_about_code(&self) -> bool {
        matches!(
            self.code,
            // Invalid arguments; an invalid image, one for other devices, two of the same, wrong
            // PTX, a link that the device has not, no compiler, PTX that is too new, no
            // compilation; wrong source, a file that is not there, a symbol that is not there.
            1 | 200 | 209 | 210 | 218 | 219 | 221..=223 | 300..=303 | 500
        )
    }
}
