//! Asking stage 2 what it is.

use std::path::Path;

use schism_jit_abi::library::Stage2;

/// What stage 2 says of itself.
#[derive(Debug)]
pub struct About {
    /// Its version and LLVM's.
    pub version: String,
    /// The processor that it compiles for.
    pub cpu: String,
}

/// Loads the library for the rest of the process; `Err` says what is wrong and what to do.
pub fn open(path: &Path) -> Result<Stage2, String> {
    const AGAIN: &str = "`cargo schism clean`, then `cargo schism setup`, builds it again";
    Stage2::open(path).map_err(|error| format!("{error}; {AGAIN}"))
}

/// Loads the library and asks; `Err` says what is wrong and what to do.
pub fn about(path: &Path) -> Result<About, String> {
    let stage2 = open(path)?;
    Ok(About { version: stage2.version(), cpu: stage2.cpu_name() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_that_are_none_are_told_apart() {
        assert!(about(Path::new("/nonexistent.so")).unwrap_err().contains("cannot be loaded"));
        assert!(about(Path::new("libc.so.6")).unwrap_err().contains("no path from the root"));
    }
}
