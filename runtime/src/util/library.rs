//! Opening shared libraries, with the system's own words for what is wrong: it is there that a library's missing library is named.

use std::error::Error;
use std::ffi::OsStr;
use std::path::Path;

use libloading::Library;

/// Opens a library, or says which one and why not.
///
/// # Safety
/// The library's initialisers may run.
pub(crate) unsafe fn open(path: impl AsRef<OsStr>) -> Result<Library, String> {
    let path = path.as_ref();
    // SAFETY: as promised by the caller.
    unsafe { Library::new(path) }.map_err(|error| {
        let reason = reason(&error);
        let path = Path::new(path).display().to_string();
        // Mostly the system begins with the path, unless it is another library that is missing.
        if reason.starts_with(&path) { reason } else { format!("{path}: {reason}") }
    })
}

/// What the system says of an error.
pub(crate) fn reason(error: &libloading::Error) -> String {
    error.source().map_or_else(|| error.to_string(), ToString::to_string)
}
