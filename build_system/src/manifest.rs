//! Sizes and times of files: a cheap way to see that nothing changed.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::error::{FileContext, Result};

/// What is known of a set of files without reading them.
///
/// Equal manifests mean equal files, by the criterion of make, ninja and cargo.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Manifest {
    lines: Vec<String>,
}

impl Manifest {
    /// Looks at the files, whose paths are relative to `root`.
    pub fn of(root: &Path, files: &[PathBuf]) -> Result<Manifest> {
        let mut lines = Vec::with_capacity(files.len());
        for file in files {
            let path = root.join(file);
            let about = std::fs::metadata(&path).at("read", &path)?;
            // The inode catches a file that was replaced by an equally long one with its time put
            // back.
            lines.push(format!(
                "{} {}.{:09} {} {}",
                about.size(),
                about.mtime(),
                about.mtime_nsec(),
                about.ino(),
                file.display()
            ));
        }
        Ok(Manifest { lines })
    }

    /// One line per file.
    pub fn lines(&self) -> &[String] {
        &self.lines
    }

    /// The manifest that was written as these lines.
    pub fn from_lines<'a>(lines: impl IntoIterator<Item = &'a str>) -> Manifest {
        Manifest { lines: lines.into_iter().map(str::to_owned).collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::Scratch;

    #[test]
    fn every_kind_of_change_shows() {
        let scratch = Scratch::new("manifest");
        let of = |files: &[&str]| {
            Manifest::of(scratch.path(), &files.iter().map(PathBuf::from).collect::<Vec<_>>())
                .unwrap()
        };
        std::fs::write(scratch.path().join("a"), "one").unwrap();
        std::fs::write(scratch.path().join("b"), "one").unwrap();
        let before = of(&["a", "b"]);
        assert_eq!(before, of(&["a", "b"]));
        assert_eq!(before, Manifest::from_lines(before.lines().iter().map(String::as_str)));
        assert_ne!(before, of(&["a"]));
        std::thread::sleep(std::time::Duration::from_millis(20));
        std::fs::write(scratch.path().join("a"), "two").unwrap();
        let rewritten = of(&["a", "b"]);
        assert_ne!(before, rewritten);
        std::fs::rename(scratch.path().join("b"), scratch.path().join("a")).unwrap();
        std::fs::write(scratch.path().join("b"), "one").unwrap();
        assert_ne!(rewritten, of(&["a", "b"]));
    }

    #[test]
    fn a_missing_file_is_named() {
        let scratch = Scratch::new("manifest-missing");
        let error = Manifest::of(scratch.path(), &["gone".into()]).unwrap_err();
        assert!(error.to_string().contains("gone"));
    }
}
