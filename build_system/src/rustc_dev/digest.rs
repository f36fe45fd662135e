//! What vouches for the compiler's source: what is built is what the release was built from.
//!
//! For releases whose digest is pinned here, that. It is the digest of the files' names and
//! contents, without the form in which they came: the release's own archive, a distribution's, and
//! a directory with either unpacked have the same one. For all others the digest that came with the
//! source: apt's, dpkg's, or the file `FILE.sha256` that rust-lang publishes beside an archive.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::command;
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

/// How a source came, and what of it is compared before anything is unpacked.
pub enum Came {
    /// Through apt, which has compared it with the signed list of its mirror.
    ByApt,
    /// With the package `rust-src`, whose files dpkg compares with the package's digests.
    WithPackage,
    /// The user has named it. An archive is compared with the digest in the file beside it.
    ByUser,
}

impl Came {
    /// What has vouched for the source in `from`, in words; `None` if nothing has.
    pub fn vouched(&self, from: &Path) -> Result<Option<String>> {
        match self {
            Came::ByApt => Ok(Some("apt has compared its digest".to_owned())),
            Came::WithPackage => {
                let mut dpkg = Command::new("dpkg");
                dpkg.args(["--verify", "rust-src"]).env("LC_ALL", "C");
                match command::output(&mut dpkg, "to compare the package rust-src", "") {
                    Err(_) => Ok(None), // not a system of Debian's
                    Ok(output) if output.status.success() && output.stdout.is_empty() => {
                        Ok(Some("dpkg has compared its digests".to_owned()))
                    }
                    Ok(output) => {
                        let said = [output.stdout, output.stderr].concat();
                        let said = String::from_utf8_lossy(&said);
                        Err(Error::ChangedPackage {
                            path: from.to_owned(),
                            said: said.lines().take(3).collect::<Vec<_>>().join("; "),
                        })
                    }
                }
            }
            Came::ByUser => {
                let beside = sum_file(from);
                if !from.is_file() || !beside.is_file() {
                    return Ok(None);
                }
                compare_sum(from, &beside)?;
                Ok(Some(format!("its digest is that in {}", beside.display())))
            }
        }
    }
}

/// Where rust-lang's digest of an archive lies.
fn sum_file(archive: &Path) -> PathBuf {
    let mut name = archive.as_os_str().to_owned();
    name.push(".sha256");
    PathBuf::from(name)
}

/// Compares an archive with a file of `sha256sum`'s form.
fn compare_sum(archive: &Path, beside: &Path) -> Result<()> {
    let text = std::fs::read_to_string(beside).at("read", beside)?;
    let wanted = text.split_whitespace().next().unwrap_or_default().to_lowercase();
    let mut sum = Command::new("sha256sum");
    // From stdin there is no name that it would have to escape.
    let file = std::fs::File::open(archive).at("read", archive)?;
    sum.stdin(file);
    let printed = command::capture_with_input(
        sum,
        "to compare the source's digest",
        "Install it: apt install coreutils.",
    )?;
    let found = printed.split_whitespace().next().unwrap_or_default().to_owned();
    if found == wanted && found.len() == 64 {
        return Ok(());
    }
    Err(Error::OtherSum { archive: archive.to_owned(), beside: beside.to_owned(), found, wanted })
}

/// Compares the files in `root` with the pinned digest. Where there is none, says what has vouched for
/// them, or how something can.
pub fn check(
    root: &Path,
    pinned: Option<&str>,
    vouched: Option<&str>,
    toolchain: &Toolchain,
    origin: &str,
) -> Result<()> {
    let release = &toolchain.version.release;
    let Some(pinned) = pinned else {
        match vouched {
            Some(vouched) => progress::step("Checked", &format!("{origin}: {vouched}")),
            None => progress::step(
                "Unchecked",
                &format!(
                    "no digest of {origin} is at hand: for the archive rustc-{release}-src.tar.xz, \
                     put rust-lang's file rustc-{release}-src.tar.xz.sha256 beside it"
                ),
            ),
        }
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
    fn an_archive_has_the_digest_that_lies_beside_it() {
        let scratch = Scratch::new("sum");
        let archive = scratch.path().join("rustc-1.99.0-src.tar.xz");
        std::fs::write(&archive, "abc").unwrap();
        assert_eq!(Came::ByUser.vouched(&archive).unwrap(), None);
        assert_eq!(Came::ByUser.vouched(scratch.path()).unwrap(), None, "a folder has none");
        let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        let beside = scratch.path().join("rustc-1.99.0-src.tar.xz.sha256");
        std::fs::write(&beside, format!("{abc}  rustc-1.99.0-src.tar.xz\n")).unwrap();
        let vouched = Came::ByUser.vouched(&archive).unwrap().unwrap();
        assert!(vouched.contains(beside.to_str().unwrap()), "{vouched}");
        std::fs::write(&archive, "abd").unwrap();
        let error = Came::ByUser.vouched(&archive).unwrap_err().to_string();
        assert!(error.contains(abc) && error.contains("nothing was built"), "{error}");
        std::fs::write(&beside, "").unwrap();
        assert!(Came::ByUser.vouched(&archive).is_err(), "an empty file vouches for nothing");
    }

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
