//! The digest of the compiler's source: what is built is what the release was built from.
//!
//! It is that of the files' names and contents, without the form in which they came: the release's
//! own archive, a distribution's, and a directory with either unpacked have the same one.

use std::path::Path;

use crate::error::{Error, FileContext, Result};
use crate::hash::Hasher;
use crate::progress;
use crate::toolchain::{COMMIT, Toolchain};

/// The digests of the sources that are known, by commit.
const PINNED: &[(&str, &str)] =
    &[(COMMIT, "e29533266341213238b15ddf3c4bee394a430845e43fd8eefa83673f4e330105")];

/// The digest that a compiler's source must have, if it is known.
pub fn pinned(toolchain: &Toolchain) -> Option<&'static str> {
    let known = PINNED.iter().find(|(commit, _)| *commit == toolchain.version.commit);
    known.map(|(_, digest)| *digest)
}

/// Compares the files in `root` with a digest. Where there is none, says that nothing is compared.
pub fn check(root: &Path, pinned: Option<&str>, toolchain: &Toolchain, origin: &str) -> Result<()> {
    let release = &toolchain.version.release;
    let Some(pinned) = pinned else {
        progress::step(
            "Unchecked",
            &format!(
                "no digest is known for the source of rustc {release}: {origin} is taken at its \
                 word, and the crates' ids are compared with the installed compiler's"
            ),
        );
        return Ok(());
    };
    let found = of(root)?;
    if found == pinned {
        return Ok(());
    }
    Err(Error::ChangedSource {
        origin: origin.to_owned(),
        release: release.clone(),
        found,
        pinned: pinned.to_owned(),
    })
}

/// The digest of all files below `root`.
pub fn of(root: &Path) -> Result<String> {
    let mut files = Vec::new();
    list(root, Path::new(""), &mut files)?;
    files.sort();
    let mut hasher = Hasher::default();
    for relative in files {
        let path = root.join(&relative);
        hasher.field(relative.as_os_str().as_encoded_bytes());
        let about = path.symlink_metadata().at("read", &path)?;
        if about.is_symlink() {
            let target = std::fs::read_link(&path).at("read", &path)?;
            hasher.field(b"link").field(target.as_os_str().as_encoded_bytes());
        } else {
            hasher.field(b"file").file(&path)?;
        }
    }
    Ok(hasher.finish_whole())
}

/// Everything below `root` that is no directory, relative to it. Links are not followed.
fn list(root: &Path, relative: &Path, files: &mut Vec<std::path::PathBuf>) -> Result<()> {
    let directory = root.join(relative);
    for entry in std::fs::read_dir(&directory).at("list", &directory)? {
        let entry = entry.at("list", &directory)?;
        let path = relative.join(entry.file_name());
        if entry.file_type().at("read", entry.path())?.is_dir() {
            list(root, &path, files)?;
        } else {
            files.push(path);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::Scratch;

    #[test]
    fn names_contents_and_links_count_and_times_do_not() {
        let scratch = Scratch::new("digest");
        let root = scratch.path();
        std::fs::create_dir(root.join("a")).unwrap();
        std::fs::write(root.join("a/b"), "one").unwrap();
        let first = of(root).unwrap();
        assert_eq!(first.len(), 64);
        std::fs::write(root.join("a/b"), "two").unwrap();
        let second = of(root).unwrap();
        std::fs::write(root.join("a/b"), "one").unwrap();
        assert_eq!(of(root).unwrap(), first);
        std::fs::rename(root.join("a/b"), root.join("a/c")).unwrap();
        let third = of(root).unwrap();
        std::fs::remove_file(root.join("a/c")).unwrap();
        std::os::unix::fs::symlink("one", root.join("a/b")).unwrap();
        let fourth = of(root).unwrap();
        let mut all = vec![first, second, third, fourth];
        all.sort();
        all.dedup();
        assert_eq!(all.len(), 4);
    }
}
