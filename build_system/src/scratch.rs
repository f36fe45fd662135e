//! Directories for tests.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// A fresh directory, removed when dropped.
pub struct Scratch(PathBuf);

impl Scratch {
    /// An empty directory; `name` only helps a reader of /tmp.
    pub fn new(name: &str) -> Scratch {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir()
            .join(format!("cargo-schism-{name}-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&path).expect("the temporary directory can be written");
        Scratch(path)
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
