//! Which files and folders schism loads.
//!
//! Loaded code runs with all rights of the program, and a compiler determines what code does. So
//! there is one rule for everything that comes from a file: the compiler (`libschism_jit.so`), a
//! driver that a variable names, the vendor's libraries, compiled kernels, the index of the
//! standard library.
//!
//! # The rule
//! **Whoever could change the file must be trusted.** Root, the user of the process, and the owner
//! of the program are trusted: they decide what the process does in any case. The rule checks the
//! file, and each folder and link on the path to it:
//!
//! | what | is trusted if |
//! |---|---|
//! | the file | a trusted user owns it, and no other user can write to it |
//! | a folder on the path | the same; others may write to it if it is sticky, such as `/tmp`, where nobody can replace another's files |
//! | a link on the path | a trusted user owns it |
//! | a folder that contains the program, too | always: whoever can change it could replace the program |
//! | a group that can write | it is private: it has its owner's name, nobody else is in it, and there is no access control list |
//!
//! **Paths are absolute.** A relative path means another file in every folder in which a program is
//! started, so it is refused ([`Why::Relative`]).
//!
//! **A program with more rights than its user** (setuid, setgid, capabilities: [`is_privileged`])
//! ignores all variables of the environment that name code or a folder ([`variable`], [`Home`]),
//! and trusts only root and the owner of the program. Private groups and the program's folders do
//! not count there.
//!
//! # What is protected
//! The path is walked from the root with descriptors, one name after the other, and each is checked
//! after it was opened. [`open`] returns the descriptor that was checked. A path that passed means
//! the same file later on, as long as no *trusted* user changes it: nobody else can replace
//! anything on it. So a library may be given to the system's loader by its path.
//!
//! # What is not protected
//! - Trusted users may do anything at any time.
//! - The system's loader finds the dependencies of a library by its own rules, and so it does a
//!   library that is named without a folder.
//! - File systems on a network that other hosts mount, and whoever can write to the disk itself.
//! - In a user namespace that does not map all users, owners that are not mapped count as root:
//!   whoever set up the namespace chose what is mounted in it.

mod home;
mod process;
mod walk;

use std::ffi::OsString;
use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

pub use home::Home;

use crate::process::Process;

/// An untrusted file or folder.
#[derive(Debug, thiserror::Error)]
#[error("{}", Said(self))]
pub struct Untrusted {
    /// The requested file or folder, or the folder or link on the path to it.
    pub path: PathBuf,
    /// Why it is untrusted.
    pub why: Why,
}

/// Why a file or folder is untrusted.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Why {
    /// The path is relative.
    #[error("is no path from the root; use the whole path")]
    Relative,
    /// Somebody else owns it.
    #[error("belongs to user {0}, so it is not trusted; use one that belongs to you or to root")]
    Owner(u32),
    /// Anybody can change it.
    #[error(
        "can be written to by all users, so it is not trusted; take the right from them with `chmod o-w`"
    )]
    Others,
    /// A group can change it.
    #[error(
        "can be written to by group {0}, so it is not trusted; take the right from it with `chmod g-w`"
    )]
    Group(u32),
    /// It, or a part of the path to it, is of another kind.
    #[error("is no {0}")]
    Kind(&'static str),
    /// There are more links on the path than the system follows.
    #[error("has too many links on the way")]
    Links,
    /// It is larger than such a file can be.
    #[error("is larger than {0} bytes")]
    TooLarge(u64),
    /// The system returned an error.
    #[error("cannot be opened: {0}")]
    System(#[source] io::Error),
}

impl Untrusted {
    fn new(path: &Path, why: Why) -> Self {
        Self { path: path.to_owned(), why }
    }

    /// The text for somebody who requested `path`, which need not be the path with the problem.
    #[must_use]
    pub fn about(&self, path: &Path) -> String {
        if *path == self.path {
            self.to_string()
        } else {
            format!("{} cannot be used: {self}", Shown(path))
        }
    }

    /// Whether it does not exist.
    #[must_use]
    pub fn is_missing(&self) -> bool {
        let kind = match &self.why {
            Why::System(error) => error.kind(),
            _ => return false,
        };
        matches!(kind, io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
    }

    /// Whether it may succeed later without any change to files: the process has too many open
    /// files, or the system no memory.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        let Why::System(error) = &self.why else { return false };
        let code = error.raw_os_error().unwrap_or(0);
        [
            libc::EMFILE,
            libc::ENFILE,
            libc::ENOMEM,
            libc::EINTR,
            libc::EAGAIN,
            libc::EIO,
            libc::ESTALE,
        ]
        .contains(&code)
    }
}

/// The path, and its problem.
struct Said<'a>(&'a Untrusted);

impl std::fmt::Display for Said<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Untrusted { path, why } = self.0;
        match why {
            // It may be empty.
            Why::Relative => write!(f, "`{}` {why}", Shown(path)),
            _ => write!(f, "{} {why}", Shown(path)),
        }
    }
}

/// A path for people; a very long one is cut off.
struct Shown<'a>(&'a Path);

impl std::fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        const MOST: usize = 1000;
        let text = self.0.to_string_lossy();
        match text.char_indices().nth(MOST) {
            Some((end, _)) => write!(f, "{}…", &text[..end]),
            None => f.write_str(&text),
        }
    }
}

/// Whether the process has rights that its user lacks: the program is setuid or setgid, or has
/// capabilities of its own. The kernel reports it (`AT_SECURE`), by the same rule by which the
/// system's loader ignores `LD_LIBRARY_PATH`.
#[must_use]
pub fn is_privileged() -> bool {
    process::is_privileged()
}

/// The value of a variable that names code or a folder: `None` if it is empty or not set, or if the
/// environment must be ignored.
#[must_use]
pub fn variable(name: &str) -> Option<OsString> {
    if is_privileged() { None } else { set(name) }
}

/// Whether a variable has a value that is ignored.
#[must_use]
pub fn is_ignored(name: &str) -> bool {
    is_privileged() && set(name).is_some()
}

fn set(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}

/// Opens a file for reading that nobody untrusted can have changed.
///
/// # Errors
/// [`Untrusted`]: it is untrusted, not a regular file, or cannot be opened.
pub fn open(path: &Path) -> Result<File, Untrusted> {
    walk::file(path, &Process::current())
}

/// The contents of a trusted file of at most `most` bytes.
///
/// # Errors
/// As for [`open`]; [`Why::TooLarge`].
pub fn read(path: &Path, most: u64) -> Result<Vec<u8>, Untrusted> {
    let file = open(path)?;
    let mut contents = Vec::new();
    // Its length may change meanwhile.
    file.take(most.saturating_add(1))
        .read_to_end(&mut contents)
        .map_err(|error| Untrusted::new(path, Why::System(error)))?;
    if contents.len() as u64 > most {
        return Err(Untrusted::new(path, Why::TooLarge(most)));
    }
    Ok(contents)
}

/// Checks a folder in which files are stored: nobody untrusted can change its contents or add to
/// it.
///
/// # Errors
/// [`Untrusted`].
pub fn check_folder(path: &Path) -> Result<(), Untrusted> {
    walk::folder(path, &Process::current())
}

/// Checks an open file in a trusted folder, which was not opened through a link.
///
/// # Errors
/// Why it is untrusted.
pub fn check_file(metadata: &Metadata) -> Result<(), Why> {
    if !metadata.is_file() {
        return Err(Why::Kind("file"));
    }
    Process::current().check(metadata, None)
}
