//! Folders for tests.

use std::path::Path;

use tempfile::TempDir;

/// A fresh folder, removed when dropped.
pub struct Scratch(TempDir);

impl Scratch {
    /// An empty folder; `name` only helps a reader of /tmp.
    pub fn new(name: &str) -> Scratch {
        let folder = tempfile::Builder::new().prefix(&format!("cargo-schism-{name}-")).tempdir();
        Scratch(folder.expect("the temporary directory can be written"))
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        self.0.path()
    }
}
