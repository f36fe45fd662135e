//! Which files and folders schism loads.
//!
//! Loaded code runs with all rights of the program, and a compiler determines what code does. So
//! there is one rule for everything that comes from a file: the compiler (`libschism_jit.so`), a
//! driver that a variable names, the vendor's libraries, compiled kernels, the index of the
//! standard library.
//!
//! # The rule
//! **Every user who could change the file must be trusted.** Root, the user of the process, and the owner
//! of the program are trusted: they decide what the process does in any case. The rule checks the
//! file, and each folder and link on the path to it:
//!
//! | what | is trusted if |
//! |---|---|
//! | the file | a trusted user owns it, and no other user can write to it |
//! | a folder on the path | the same; others may write to it if it is sticky, such as `/tmp`, where users cannot replace each other's files |
//! | a link on the path | a trusted user owns it |
//! | a folder that contains the program, too | always: a user who can change it could replace the program |
//! | a group that can write | it is private: it has its owner's name and no other member, and there is no access control list |
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
//! the same file later on, as long as no *trusted* user changes it: other users can replace
//! nothing on it. So a library may be given to the system's loader by its path.
//!
//! # What is not protected
//! - Trusted users may do anything at any time.
//! - The system's loader finds the dependencies of a library by its own rules, and so it does a
//!   library that is named without a folder.
//! - Other hosts that mount the same network file system, and users who can write to the disk itself.
//! - In a user namespace that does not map all users, owners that are not mapped count as root:
//!   the creator of the namespace chose what is mounted in it.

mod error;
mod home;
mod process;
mod variables;
mod walk;

use std::ffi::OsString;
use std::fs::{File, Metadata};
use std::io::Read;
use std::path::Path;

pub use error::{Untrusted, Why};
pub use home::Home;

use crate::process::Process;

/// Whether the process has rights that its user lacks: the program is setuid or setgid, or has
/// capabilities. The kernel reports it (`AT_SECURE`), by the same rule by which the
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

/// Opens a file for reading that only trusted users can have changed.
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

/// Checks a folder in which files are stored: only trusted users can change its contents or add to
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
