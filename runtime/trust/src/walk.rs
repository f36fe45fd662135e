//! Walks a path to a file with descriptors.

use std::ffi::{CString, OsStr, OsString};
use std::fs::{File, Metadata, OpenOptions};
use std::io;
use std::os::fd::{AsRawFd, FromRawFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Component, Path, PathBuf};

use crate::process::Process;
use crate::{Untrusted, Why};

/// The maximum number of links that the system follows.
const MOST_LINKS: u32 = 40;

/// Opens the path only, not the contents: this needs no right to read, never blocks, and does not
/// affect devices.
const PLACE: i32 = libc::O_PATH | libc::O_NOFOLLOW | libc::O_CLOEXEC;

/// The result of a walk.
struct Found {
    /// The folder that it is in.
    folder: File,
    /// Its name there. Empty for the root.
    name: OsString,
    place: File,
    metadata: Metadata,
    /// For people.
    path: PathBuf,
}

/// The names of a path, the first one last.
fn names(path: &Path) -> impl Iterator<Item = OsString> {
    path.components().rev().filter_map(|component| match component {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some(OsString::from("..")),
        Component::RootDir | Component::CurDir | Component::Prefix(_) => None,
    })
}

/// Opens a name in a folder.
fn open_at(folder: &File, name: &OsStr, flags: i32) -> io::Result<File> {
    let name = CString::new(name.as_bytes())?;
    loop {
        // SAFETY: the folder is open, and the name ends with a NUL.
        let descriptor = unsafe { libc::openat(folder.as_raw_fd(), name.as_ptr(), flags) };
        if descriptor >= 0 {
            // SAFETY: it was opened just now, and has no other owner.
            return Ok(unsafe { File::from_raw_fd(descriptor) });
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}

/// Where a link that is open leads to.
fn target(link: &File) -> io::Result<PathBuf> {
    let mut target = vec![0_u8; libc::PATH_MAX as usize];
    // SAFETY: the link is open, an empty name means the link itself, and as many bytes can be
    // written.
    let len = unsafe {
        libc::readlinkat(link.as_raw_fd(), c"".as_ptr(), target.as_mut_ptr().cast(), target.len())
    };
    target.truncate(usize::try_from(len).map_err(|_| io::Error::last_os_error())?);
    Ok(OsString::from_vec(target).into())
}

fn root() -> io::Result<File> {
    OpenOptions::new().read(true).custom_flags(PLACE | libc::O_DIRECTORY).open("/")
}

/// Where something that is open can be named: an access control list has no function that takes
/// such a descriptor.
fn by_descriptor(file: &File) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()))
}

/// Walks to the end of a path. Everything on the path is trusted; the caller judges its end.
fn walk(path: &Path, process: &Process) -> Result<Found, Untrusted> {
    if !path.is_absolute() {
        return Err(Untrusted::new(path, Why::Relative));
    }
    let system = |path: &Path| {
        let path = path.to_owned();
        move |error| Untrusted { path, why: Why::System(error) }
    };
    // Makes the system mount what it mounts on demand, and detects missing files in one step.
    path.metadata().map_err(|error| match error.raw_os_error() {
        Some(libc::ELOOP) => Untrusted::new(path, Why::Links),
        _ => system(path)(error),
    })?;
    let open_root = || root().and_then(|root| Ok((root.metadata()?, root)));
    // The folder that has been reached.
    let (mut of_folder, mut folder) = open_root().map_err(system(path))?;
    let mut so_far = PathBuf::from("/");
    let mut left: Vec<OsString> = names(path).collect();
    let mut links = 0;
    loop {
        let Some(name) = left.pop() else {
            let place = folder.try_clone().map_err(system(&so_far))?;
            let (name, metadata) = (OsString::new(), of_folder);
            return Ok(Found { folder, name, place, metadata, path: so_far });
        };
        process
            .check_on_path(&of_folder, &by_descriptor(&folder))
            .map_err(|why| Untrusted::new(&so_far, why))?;
        let here = so_far.join(&name);
        let place = open_at(&folder, &name, PLACE).map_err(system(&here))?;
        let metadata = place.metadata().map_err(system(&here))?;
        if metadata.is_symlink() {
            links += 1;
            if links > MOST_LINKS {
                return Err(Untrusted::new(path, Why::Links));
            }
            if !process.trusts(metadata.uid()) {
                return Err(Untrusted::new(&here, Why::Owner(metadata.uid())));
            }
            let target = target(&place).map_err(system(&here))?;
            if target.is_absolute() {
                (of_folder, folder) = open_root().map_err(system(path))?;
                so_far = PathBuf::from("/");
            }
            left.extend(names(&target));
        } else if metadata.is_dir() {
            (of_folder, folder) = (metadata, place);
            if name == ".." {
                so_far.pop();
            } else {
                so_far = here;
            }
        } else if left.is_empty() {
            return Ok(Found { folder, name, place, metadata, path: here });
        } else {
            return Err(Untrusted::new(&here, Why::Kind("folder")));
        }
    }
}

/// Opens a trusted file.
pub(crate) fn file(path: &Path, process: &Process) -> Result<File, Untrusted> {
    let Found { folder, name, place, metadata, path } = walk(path, process)?;
    if !metadata.is_file() {
        let kind = if metadata.file_type().is_socket() { "file, but a socket" } else { "file" };
        return Err(Untrusted::new(&path, Why::Kind(kind)));
    }
    process
        .check(&metadata, Some(&by_descriptor(&place)))
        .map_err(|why| Untrusted::new(&path, why))?;
    let system = |error| Untrusted::new(&path, Why::System(error));
    // Non-blocking, in case a trusted user puts a pipe there just now.
    let flags = libc::O_RDONLY | libc::O_NOFOLLOW | libc::O_CLOEXEC | libc::O_NONBLOCK;
    let file = open_at(&folder, &name, flags).map_err(system)?;
    let opened = file.metadata().map_err(system)?;
    if (opened.dev(), opened.ino()) != (metadata.dev(), metadata.ino()) {
        return Err(system(io::Error::from_raw_os_error(libc::ESTALE)));
    }
    Ok(file)
}

/// Checks a folder.
pub(crate) fn folder(path: &Path, process: &Process) -> Result<(), Untrusted> {
    let Found { place, metadata, path, .. } = walk(path, process)?;
    let why = if metadata.is_dir() {
        process.check(&metadata, Some(&by_descriptor(&place)))
    } else {
        Err(Why::Kind("folder"))
    };
    why.map_err(|why| Untrusted::new(&path, why))
}

#[cfg(test)]
#[path = "walk_tests.rs"]
mod tests;
