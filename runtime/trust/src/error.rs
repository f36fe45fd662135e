//! What is untrusted, and why.

use std::io;
use std::path::{Path, PathBuf};

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
    /// An untrusted user owns it.
    #[error("belongs to user {0}, so it is not trusted; use one that belongs to you or to root")]
    Owner(u32),
    /// All users can change it.
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
    pub(crate) fn new(path: &Path, why: Why) -> Self {
        Self { path: path.to_owned(), why }
    }

    /// The text for a request of `path`, which need not be the path with the problem.
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
