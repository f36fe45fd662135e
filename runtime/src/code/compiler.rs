//! Finding and opening stage 2, the shared library that turns device images into machine code.

use std::env;
use std::fmt;
use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use schism_cache::{Key, Value};
use schism_jit_abi::{ABI_VERSION, ENTRY_SYMBOL, EntryFn, JitApi, version_of};
use schism_trust::{Home, Untrusted};

use crate::code::{disk_cache, toolchain_id};
use crate::error::DeviceError;
use crate::util::fork::Section;
use crate::util::library;
use crate::util::retry::Kept;
use crate::util::warn_once::{self, Notice};

/// Names the library; nothing else is tried then.
const VARIABLE: &str = "SCHISM_JIT";

/// Names schism's home.
const HOME: &str = "SCHISM_HOME";

const FILE_NAME: &str = "libschism_jit.so";

/// Stage 2, loaded. It stays until the process ends: code that it made may run at any time.
#[derive(Debug)]
pub(crate) struct Stage2 {
    pub(crate) api: &'static JitApi,
    pub(crate) about: About,
}

/// What stage 2 says of itself.
#[derive(Clone, Debug)]
pub(crate) struct About {
    /// Name and version of stage 2 and of its LLVM.
    pub(crate) version: String,
    /// The processor that it compiles for.
    pub(crate) cpu: String,
}

/// Why there is no stage 2: what was tried, and what came of it.
#[derive(Clone, Debug, thiserror::Error)]
pub(crate) enum Missing {
    /// There is no file of that name in any of the places, and none was named.
    #[error("{}, and there is none of {tried}", NotNamed(.ignored))]
    NoFile { tried: String, ignored: Vec<&'static str> },
    /// There are such files, which somebody else may have put there or changed.
    #[error("{reason}{}", From(*.named))]
    Untrusted { reason: String, named: bool },
    /// The system cannot load the file or what that needs, as another LLVM.
    #[error("{reason}{}", From(*.named))]
    Unusable { reason: String, named: bool },
    /// It is another library.
    #[error("{} is not schism's stage 2: {reason}{}", .path.display(), From(*.named))]
    Foreign { path: PathBuf, reason: String, named: bool },
    /// It was replaced after it was looked at.
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

/// Why the variable names none.
struct NotNamed<'a>(&'a [&'static str]);

impl fmt::Display for NotNamed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return write!(f, "{VARIABLE} is not set");
        }
        let variables = self.0.join(" and ");
        write!(f, "{variables} is not obeyed by a program with rights that its user lacks")
    }
}

/// Who says where the library is.
struct From(bool);

impl fmt::Display for From {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 { write!(f, " (from {VARIABLE})") } else { Ok(()) }
    }
}

impl Missing {
    /// Whether somebody would think that there is a stage 2.
    pub(crate) const fn is_a_surprise(&self) -> bool {
        !matches!(self, Self::NoFile { ignored, .. } if ignored.is_empty())
    }

    /// Whether it may be otherwise at another time.
    fn is_transient(&self) -> bool {
        match self {
            Self::NoFile { .. } | Self::Unusable { .. } => true,
            // Of these somebody would have to mean something else by the file, and then the process should be started again.
            Self::Untrusted { .. }
            | Self::Foreign { .. }
            | Self::Replaced { .. }
            | Self::Version { .. } => false,
        }
    }

    /// The error of who asked for a device.
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

/// Stage 2, loaded by the first call. What may be otherwise at another time is tried again, by the rule of [`crate::util::retry`].
pub(crate) fn stage2() -> Result<&'static Stage2, Missing> {
    static STAGE2: Kept<Stage2, Missing> = Kept::new();
    STAGE2.get(|| open(location()?), Missing::is_transient)
}

/// What stage 2 says of itself. A stage 2 that was opened once, in whatever process, and that is still the same, is not opened to
/// be asked again: that takes longer than to launch a kernel that was kept.
pub(crate) fn about() -> Result<&'static About, Missing> {
    static ABOUT: Kept<About, Missing> = Kept::new();
    let ask = || {
        let key = identity()
            .and_then(|identity| {
                let key = Key::builder("what stage 2 says of itself");
                toolchain_id::add_processor(key.part("stage 2", identity.as_bytes()))
            })
            .map(|key| key.finish());
        let found = disk_cache::get_or_compile(key, || {
            let About { version, cpu } = &stage2()?.about;
            Ok::<_, Missing>(Value { meta: version.clone().into(), bytes: cpu.clone().into() })
        })?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Ok(About { version: text(&found.value.meta), cpu: text(&found.value.bytes) })
    };
    ABOUT.get(ask, Missing::is_transient)
}

/// Which stage 2 this is, as far as that can be told without opening it.
pub(crate) fn identity() -> Option<Key> {
    location().ok()?.identity
}

/// Where stage 2 is.
#[derive(Debug)]
struct Location {
    path: PathBuf,
    /// The variable says so.
    named: bool,
    /// Device and inode.
    file: (u64, u64),
    identity: Option<Key>,
}

fn location() -> Result<&'static Location, Missing> {
    static LOCATION: Kept<Location, Missing> = Kept::new();
    LOCATION.get(find, Missing::is_transient)
}

/// Whether there was a file that may be stage 2 when this was first asked: launches ask each time.
pub(crate) fn is_there() -> bool {
    static THERE: OnceLock<bool> = OnceLock::new();
    THERE.get().copied().unwrap_or_else(|| {
        let _section = Section::enter();
        *THERE.get_or_init(|| location().is_ok())
    })
}

/// The first trusted file of the places where stage 2 may be.
fn find() -> Result<Location, Missing> {
    if let Some(path) = schism_trust::variable(VARIABLE).map(PathBuf::from) {
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
                // What is passed over is told, but for where there is nothing.
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
        let ignored = [VARIABLE, HOME].into_iter().filter(|name| schism_trust::is_ignored(name));
        let ignored = ignored.collect();
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

fn inode(path: &Path, file: &File) -> Result<(u64, u64), Untrusted> {
    let metadata = file.metadata().map_err(|error| Untrusted {
        path: path.to_owned(),
        why: schism_trust::Why::System(error),
    })?;
    Ok((metadata.dev(), metadata.ino()))
}

/// Where the library may be: beside the program, in `lib` there (a bundle), in `../lib` of it, in schism's home.
fn candidates() -> Vec<PathBuf> {
    let mut candidates = Vec::new();
    if let Some(folder) = env::current_exe().ok().and_then(|exe| Some(exe.parent()?.to_owned())) {
        candidates.push(folder.join(FILE_NAME));
        candidates.push(folder.join("lib").join(FILE_NAME));
        candidates.extend(folder.parent().map(|above| above.join("lib").join(FILE_NAME)));
    }
    let home = Home::from_environment();
    for told in home.told() {
        RELATIVE.warn(told);
    }
    candidates.extend(home.path.map(|home| home.join("lib").join(FILE_NAME)));
    candidates
}

/// Variables that are passed over are told here, or by the cache.
static RELATIVE: Notice = Notice::new();

fn open(location: &Location) -> Result<Stage2, Missing> {
    let Location { path, named, .. } = location;
    let started = std::time::Instant::now();
    let unusable = |reason| Missing::Unusable { reason, named: *named };
    // Code is kept under the name of the file that was looked at, so it is that which must be loaded. Only somebody who is trusted can
    // have replaced it.
    let is_same = || {
        let file = schism_trust::open(path).and_then(|file| inode(path, &file));
        match file {
            Ok(file) if file == location.file => Ok(()),
            Ok(_) => Err(Missing::Replaced { path: path.clone(), named: *named }),
            Err(error) if error.is_missing() || error.is_transient() => {
                Err(unusable(error.about(path)))
            }
            Err(error) => Err(Missing::Untrusted { reason: error.about(path), named: *named }),
        }
    };
    is_same()?;
    // SAFETY: nobody but root, the user and the program's owner can have changed the file, or put another one in its place; whoever of
    // them chose it vouches for its initialisers.
    let library = unsafe { library::open(path) }.map_err(unusable)?;
    is_same()?;
    // SAFETY: the symbol's type is fixed by the interface; the name is its own.
    let entry = unsafe { library.get::<EntryFn>(ENTRY_SYMBOL.to_bytes_with_nul()) };
    let entry = entry.map_err(|error| Missing::Foreign {
        path: path.clone(),
        reason: library::reason(&error),
        named: *named,
    })?;
    // SAFETY: the interface allows any argument.
    let api = unsafe { entry(ABI_VERSION) };
    // SAFETY: it is null or lives as long as the library is loaded, which from here on is forever.
    let api: &'static JitApi = unsafe { api.as_ref() }.ok_or_else(|| Missing::Version {
        path: path.clone(),
        // SAFETY: the library is loaded.
        found: unsafe { version_of(*entry) },
        named: *named,
    })?;
    std::mem::forget(library);
    // SAFETY: both texts live as long as the library.
    let (version, cpu) = unsafe { ((api.version)().as_slice(), (api.cpu_name)().as_slice()) };
    let version = String::from_utf8_lossy(version).into_owned();
    let cpu = String::from_utf8_lossy(cpu).into_owned();
    tracing::debug!(
        path = %path.display(), version, cpu, micros = started.elapsed().as_micros() as u64, "loaded stage 2"
    );
    Ok(Stage2 { api, about: About { version, cpu } })
}
