//! Problems of a cache. None of them keeps a program from running.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use crate::entry::EntryError;

/// Why a cache, or one of its entries, was not used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    /// The folder cannot be used at all. Reported once.
    #[error(
        "compiled kernels are not kept: {} {reason} (SCHISM_CACHE_DIR names another folder, SCHISM_CACHE=0 turns this off)",
        .folder.display()
    )]
    Unusable {
        /// The folder.
        folder: PathBuf,
        /// The problem.
        reason: String,
    },
    /// There is no folder. Reported once.
    #[error(
        "compiled kernels are not kept: there is no home folder (SCHISM_CACHE_DIR names a folder, SCHISM_CACHE=0 turns this off)"
    )]
    NoHome,
    /// The environment must not choose the folder: the program has rights that its user lacks.
    /// Reported once.
    #[error(
        "compiled kernels are not kept: a program with rights that its user lacks obeys no variable that names a folder (SCHISM_CACHE=0 \
         turns this off)"
    )]
    Privileged,
    /// An entry could not be written, and none will be for a while. Reported once.
    #[error(
        "compiled kernels are not kept for now: cannot write {}: {source} (SCHISM_CACHE_DIR names another folder, SCHISM_CACHE=0 turns this off)",
        .path.display()
    )]
    NotWritten {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// An entry is damaged. It is compiled again.
    #[error("{} is damaged: {cause}; its kernel is compiled again", .path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The damage.
        cause: EntryError,
    },
    /// Someone untrusted may have written an entry. It is compiled again.
    #[error("{} {reason}; its kernel is compiled again", .path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
        /// What makes it untrusted.
        reason: String,
    },
    /// An entry cannot be read. It is compiled again.
    #[error("cannot read {}: {source}; its kernel is compiled again", .path.display())]
    NotRead {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Another process takes too long. This one compiles, too.
    #[error("another process has been compiling a kernel for {} s; it is compiled here as well", .0.as_secs())]
    Held(
        /// How long this one has waited.
        Duration,
    ),
    /// A variable that names schism's home is ignored: the text of [`schism_trust::Home::told`],
    /// which others may report, too.
    #[error("{0}")]
    Home(String),
    /// A variable of the environment has an invalid value.
    #[error("{variable} is `{value}`; {expected}")]
    Setting {
        /// Its name.
        variable: &'static str,
        /// Its value.
        value: String,
        /// The valid values.
        expected: &'static str,
    },
}
