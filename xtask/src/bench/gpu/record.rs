//! The programs' own lines, in a file: begun before anything is measured, and longer after each
//! run, so that hours of measuring are not lost to a wrong path or a full disk.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use cargo_schism::error::{FileContext, Result};

/// A file that grows, if one was asked for.
#[derive(Debug)]
pub struct Record {
    path: PathBuf,
    file: Option<File>,
    /// What went wrong first. Nothing is written any more then.
    failed: Option<io::Error>,
}

impl Record {
    /// Makes the file, and the folders that it is in.
    pub fn begin(path: Option<&Path>) -> Result<Self> {
        let Some(path) = path else {
            return Ok(Self { path: PathBuf::new(), file: None, failed: None });
        };
        if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            std::fs::create_dir_all(folder).at("create", folder)?;
        }
        let file = File::create(path).at("write", path)?;
        Ok(Self { path: path.to_owned(), file: Some(file), failed: None })
    }

    /// Writes more. What fails is told at the [end](Record::end): the measurement continues.
    pub fn add(&mut self, lines: &str) {
        if let (Some(file), None) = (&mut self.file, &self.failed) {
            self.failed = file.write_all(lines.as_bytes()).err();
        }
    }

    /// Says whether all has been written.
    pub fn end(self) -> Result<()> {
        self.failed.map_or(Ok(()), Err).at("write", self.path)
    }
}

#[cfg(test)]
mod tests {
    use tempfile::tempdir;

    use super::*;

    #[test]
    fn what_was_added_is_there_before_the_end() {
        let folder = tempdir().expect("a folder");
        let path = folder.path().join("new").join("lines");
        let mut record = Record::begin(Some(&path)).expect("a file");
        record.add("one\n");
        assert_eq!(std::fs::read_to_string(&path).expect("the file"), "one\n");
        record.add("two\n");
        record.end().expect("all is written");
        assert_eq!(std::fs::read_to_string(&path).expect("the file"), "one\ntwo\n");
    }

    #[test]
    fn a_wrong_path_is_refused_at_once() {
        let folder = tempdir().expect("a folder");
        let error = Record::begin(Some(folder.path())).expect_err("it is a folder");
        let text = error.to_string();
        assert!(text.contains(&folder.path().display().to_string()), "{text}");
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_full_disk_is_told_at_the_end() {
        let mut record = Record::begin(Some(Path::new("/dev/full"))).expect("a device");
        record.add("one\n");
        record.add("two\n");
        assert!(record.end().is_err());
    }
}
