//! Finds the file of stage 2, without opening it.

use std::env;
use std::fmt;
use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use schism_cache::Key;
use schism_jit_abi::ABI_VERSION;
use schism_trust::{Home, Untrusted};

use crate::code::toolchain_id;
use crate::error::DeviceError;
use crate::util::fork::{NoForkGuard, WITHOUT_COMPILER_BY};
use crate::util::retry::Kept;
use crate::util::variables::{self, HOME, JIT};
use crate::util::warn_once;

const FILE_NAME: &str = "libschism_jit.so";

/// Why there is no stage 2: what was tried, with the results.
#[derive(Clone, Debug, thiserror::Error)]
pub(crate) enum Missing {
    /// The parent of this forked process was in the middle of it.
    #[error("{WITHOUT_COMPILER_BY}")]
    Forked,
    /// The process is ending.
    #[error("the process is ending")]
    Ending,
    /// No file with that name in any of the places, and none was named.
    #[error("{}, and there is none of {tried}", NotNamed(.ignored))]
    NoFile { tried: String, ignored: Vec<&'static str> },
    /// There are such files, which an untrusted user may have put there or changed.
    #[error("{reason}{}", From(*.named))]
    Untrusted { reason: String, named: bool },
    /// The system cannot load the file or one of its dependencies, such as another LLVM.
    #[error("{reason}{}", From(*.named))]
    Unusable { reason: String, named: bool },
    /// It is another library.
    #[error("{} is not schism's stage 2: {reason}{}", .path.display(), From(*.named))]
    Foreign { path: PathBuf, reason: String, named: bool },
    /// It was replaced after it was examined.
    #[error("{} was replaced while this process was using it; start the program again{}", .path.display(), From(*.named))]
    Replaced { path: PathBuf, named: bool },
    /// It belongs to another version of schism.
    #[error(
        "{} speaks version {} of the interface, and this program speaks version {ABI_VERSION}: they belong to different versions of \
         schism{}",
        .path.display(), .found.map_or("?".to_owned(), |found| found.to_string()), From(*.named)
    )]
    Version { path: PathBuf, found: Option<u32>, named: bool },
}

/// Why the variable names no file.
struct NotNamed<'a>(&'a [&'static str]);

impl fmt::Display for NotNamed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return write!(f, "{JIT} is not set");
        }
        let variables = self.0.join(" and ");
        write!(f, "{variables} is not obeyed by a program with rights that its user lacks")
    }
}

/// What determined the library's place.
struct From(bool);

impl fmt::Display for From {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 { write!(f, " (from {JIT})") } else { Ok(()) }
    }
}

impl Missing {
    /// Whether the user probably expects a stage 2.
    pub(crate) const fn is_a_surprise(&self) -> bool {
        !matches!(self, Self::NoFile { ignored, .. } if ignored.is_empty())
    }

    /// Whether a later attempt may succeed.
    pub(super) fn is_transient(&self) -> bool {
        match self {
            Self::NoFile { .. } | Self::Unusable { .. } | Self::Forked | Self::Ending => true,
            // Fixing these changes the file, and then the process should be restarted.
            Self::Untrusted { .. }
            | Self::Foreign { .. }
            | Self::Replaced { .. }
            | Self::Version { .. } => false,
        }
    }

    /// The error for a device that the user requested.
    pub(crate) fn error_for(&self, device: &str) -> DeviceError {
        let device = device.to_owned();
        match self {
            Self::Version { path, found, .. } => DeviceError::Stage2Version {
                device,
                path: path.clone(),
                found: *found,
                expected: ABI_VERSION,
            },
            _ => DeviceError::Stage2 { device, reason: self.to_string() },
        }
    }
}

/// The identity of a stage 2, if it is known without opening it.
pub(crate) fn identity() -> Option<Key> {
    location().ok()?.identity
}

/// Where stage 2 is.
#[derive(Debug)]
pub(super) struct Location {
    pub(super) path: PathBuf,
    /// Whether the variable names it.
    pub(super) named: bool,
    /// Device and inode.
    pub(super) file: (u64, u64),
    identity: Option<Key>,
}

pub(super) fn location() -> Result<&'static Location, Missing> {
    static LOCATION: Kept<Location, Missing> = Kept::new();
    LOCATION.get(find, Missing::is_transient)
}

/// Whether a file that may be stage 2 existed when this was first called: each launch asks.
pub(crate) fn is_there() -> bool {
    static THERE: OnceLock<bool> = OnceLock::new();
    THERE.get().copied().unwrap_or_else(|| {
        let _no_fork = NoForkGuard::enter();
        *THERE.get_or_init(|| location().is_ok())
    })
}

/// The first trusted file among the places where stage 2 may be.
fn find() -> Result<Location, Missing> {
    // If it is named, no other place is searched.
    if let Some(path) = JIT.trusted().map(PathBuf::from) {
        return look_at(path, true).map_err(|(path, error)| match error {
            error if error.is_missing() || error.is_transient() => {
                Missing::Unusable { reason: error.about(&path), named: true }
            }
            error => Missing::Untrusted { reason: error.about(&path), named: true },
        });
    }
    let (mut tried, mut untrusted) = (Vec::new(), Vec::new());
    for path in candidates() {
        match look_at(path, false) {
            Ok(location) => {
                // Files that are skipped are reported, except where there is none.
                untrusted.iter().for_each(|reason| {
                    warn_once::warn(format_args!("{reason}; {} is used", location.path.display()));
                });
                return Ok(location);
            }
            Err((path, error)) if error.is_missing() => tried.push(path.display().to_string()),
            Err((path, error)) => untrusted.push(error.about(&path)),
        }
    }
    if untrusted.is_empty() {
        let ignored = [&JIT, &HOME].into_iter().filter(|variable| variable.is_ignored());
        let ignored = ignored.map(|variable| variable.name).collect();
        return Err(Missing::NoFile { tried: tried.join(", "), ignored });
    }
    Err(Missing::Untrusted { reason: untrusted.join("; "), named: false })
}

fn look_at(path: PathBuf, named: bool) -> Result<Location, (PathBuf, Untrusted)> {
    let looked = schism_trust::open(&path).and_then(|file| Ok((inode(&path, &file)?, file)));
    match looked {
        Ok((inode, file)) => {
            let identity = toolchain_id::of_stage2(&file, &path);
            Ok(Location { path, named, file: inode, identity })
        }
        Err(error) => Err((path, error)),
    }
}

pub(super) fn inode(path: &Path, file: &File) -> Result<(u64, u64), Untrusted> {
    let metadata = file.metadata().map_err(|error| Untrusted {
        path: path.to_owned(),
        why: schism_trust::Why::System(error),
    })?;
    Ok((metadata.dev(), metadata.ino()))
}

/// The places searched for the library: beside the program, in `lib` there (a bundle), in `../lib`,
/// in schism's home.
fn candidates() -> Vec<PathBuf> {
    let mut candidates = Vec::new();
    if let Some(folder) = env::current_exe().ok().and_then(|exe| Some(exe.parent()?.to_owned())) {
        candidates.push(folder.join(FILE_NAME));
        candidates.push(folder.join("lib").join(FILE_NAME));
        candidates.extend(folder.parent().map(|above| above.join("lib").join(FILE_NAME)));
    }
    let home = Home::from_variables(variables::trusted_by_name);
    for told in home.told() {
        warn_once::warn_once(told);
    }
    candidates.extend(home.path.map(|home| home.join("lib").join(FILE_NAME)));
    candidates
}
