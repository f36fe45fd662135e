//! Asking stage 2 what it is.

use std::path::Path;

use schism_jit_abi::{ABI_VERSION, ENTRY_SYMBOL, EntryFn, JitApi};

/// What stage 2 says of itself.
#[derive(Debug)]
pub struct About {
    /// Its version and LLVM's.
    pub version: String,
    /// The processor that it compiles for.
    pub cpu: String,
}

/// Loads the library for the rest of the process; `Err` says what is wrong and what to do.
pub fn open(path: &Path) -> Result<&'static JitApi, String> {
    const AGAIN: &str = "`cargo schism clean`, then `cargo schism setup`, builds it again";
    // SAFETY: loading runs the constructors of libLLVM and of our own library, which only fill their own tables.
    let library = unsafe { libloading::Library::new(path) }
        .map_err(|error| format!("cannot be loaded: {error}; {AGAIN}"))?;
    // SAFETY: the symbol, if it is there, has this type: the interface's crate says so.
    let entry = unsafe { library.get::<EntryFn>(ENTRY_SYMBOL.to_bytes_with_nul()) };
    let entry = *entry.map_err(|error| format!("is no stage 2: {error}; {AGAIN}"))?;
    std::mem::forget(library);
    // SAFETY: any version may be asked for; what comes back is null or a table that lives as long as the library, which stays.
    unsafe { entry(ABI_VERSION).as_ref() }
        .ok_or_else(|| format!("does not speak version {ABI_VERSION} of the interface; {AGAIN}"))
}

/// Loads the library and asks; `Err` says what is wrong and what to do.
pub fn about(path: &Path) -> Result<About, String> {
    let api = open(path)?;
    // SAFETY: both functions return text that lives as long as the library.
    let text = |bytes: schism_jit_abi::Bytes| unsafe {
        String::from_utf8_lossy(bytes.as_slice()).into_owned()
    };
    Ok(About { version: text((api.version)()), cpu: text((api.cpu_name)()) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_that_are_none_are_told_apart() {
        assert!(about(Path::new("/nonexistent.so")).unwrap_err().contains("cannot be loaded"));
        assert!(about(Path::new("libc.so.6")).unwrap_err().contains("is no stage 2"));
    }
}
