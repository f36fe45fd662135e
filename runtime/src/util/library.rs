//! Opens shared libraries. Errors contain the system's text, which names a missing dependency.

use std::error::Error;
use std::ffi::OsStr;
use std::path::Path;

use libloading::Library;

/// Opens a library, or returns an error that names it and the reason.
///
/// # Safety
/// The library's initialisers may run.
pub(crate) unsafe fn open(path: impl AsRef<OsStr>) -> Result<Library, String> {
    let path = path.as_ref();
    // SAFETY: as promised by the caller.
    unsafe { Library::new(path) }.map_err(|error| {
        let reason = reason(&error);
        let path = Path::new(path).display().to_string();
        // The system's text usually begins with the path, unless a dependency is missing.
        if reason.starts_with(&path) { reason } else { format!("{path}: {reason}") }
    })
}

/// The system's text of an error.
pub(crate) fn reason(error: &libloading::Error) -> String {
    error.source().map_or_else(|| error.to_string(), ToString::to_string)
}
