//! Finding and opening stage 2, the shared library that turns device images into machine code.

use std::env;
use std::fmt;
use std::path::PathBuf;
use std::sync::OnceLock;

use schism_cache::{Key, Value};
use schism_jit_abi::{ABI_VERSION, ENTRY_SYMBOL, EntryFn, JitApi, version_of};

use crate::error::DeviceError;
use crate::{identity, kernel_cache, library};

/// Names the library; nothing else is tried then.
const VARIABLE: &str = "SCHISM_JIT";

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
    #[error("{VARIABLE} is not set, and there is none of {tried}")]
    NoFile { tried: String },
    /// The system cannot load the file or what that needs, as another LLVM; or it is another library.
    #[error("{reason}{}", From(*.named))]
    Unusable { reason: String, named: bool },
    /// It belongs to another version of schism.
    #[error(
        "{} speaks version {} of the interface, and this program speaks version {ABI_VERSION}: they belong to different versions of \
         schism{}",
        .path.display(), .found.map_or("?".to_owned(), |found| found.to_string()), From(*.named)
    )]
    Version { path: PathBuf, found: Option<u32>, named: bool },
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
        !matches!(self, Self::NoFile { .. })
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

/// Stage 2, loaded by the first call.
pub(crate) fn stage2() -> Result<&'static Stage2, &'static Missing> {
    static STAGE2: OnceLock<Result<Stage2, Missing>> = OnceLock::new();
    STAGE2.get_or_init(|| open(location().map_err(Missing::clone)?)).as_ref()
}

/// What stage 2 says of itself. A stage 2 that was opened once, in whatever process, and that is still the same, is not opened to
/// be asked again: that takes longer than to launch a kernel that was kept.
pub(crate) fn about() -> Result<&'static About, &'static Missing> {
    static ABOUT: OnceLock<Result<About, Missing>> = OnceLock::new();
    let ask = || {
        let key = identity()
            .and_then(|identity| {
                let key = Key::builder("what stage 2 says of itself");
                identity::add_processor(key.part("stage 2", identity.as_bytes()))
            })
            .map(|key| key.finish());
        let found = kernel_cache::get_or_compile(key, || {
            let About { version, cpu } = &stage2()?.about;
            Ok::<_, &Missing>(Value { meta: version.clone().into(), bytes: cpu.clone().into() })
        })?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Ok(About { version: text(&found.value.meta), cpu: text(&found.value.bytes) })
    };
    ABOUT.get_or_init(|| ask().map_err(Missing::clone)).as_ref()
}

/// Which stage 2 this is, as far as that can be told without opening it.
pub(crate) fn identity() -> Option<Key> {
    static IDENTITY: OnceLock<Option<Key>> = OnceLock::new();
    *IDENTITY.get_or_init(|| identity::of_stage2(&location().ok()?.path))
}

/// Where stage 2 is.
#[derive(Debug)]
struct Location {
    path: PathBuf,
    /// The variable says so.
    named: bool,
}

fn location() -> Result<&'static Location, &'static Missing> {
    static LOCATION: OnceLock<Result<Location, Missing>> = OnceLock::new();
    LOCATION.get_or_init(find).as_ref()
}

/// Whether there is a file that may be stage 2.
pub(crate) fn is_there() -> bool {
    static THERE: OnceLock<bool> = OnceLock::new();
    *THERE.get_or_init(|| location().is_ok_and(|location| location.path.is_file()))
}

fn find() -> Result<Location, Missing> {
    if let Some(path) = env::var_os(VARIABLE).filter(|path| !path.is_empty()) {
        return Ok(Location { path: path.into(), named: true });
    }
    let mut candidates = candidates();
    let Some(found) = candidates.iter().position(|path| path.is_file()) else {
        let tried: Vec<_> = candidates.iter().map(|path| path.display().to_string()).collect();
        return Err(Missing::NoFile { tried: tried.join(", ") });
    };
    Ok(Location { path: candidates.swap_remove(found), named: false })
}

/// Where the library may be: beside the program, in `lib` there (a bundle), in `../lib` of it, in schism's home.
fn candidates() -> Vec<PathBuf> {
    let mut candidates = Vec::new();
    if let Some(folder) = env::current_exe().ok().and_then(|exe| Some(exe.parent()?.to_owned())) {
        candidates.push(folder.join(FILE_NAME));
        candidates.push(folder.join("lib").join(FILE_NAME));
        candidates.extend(folder.parent().map(|above| above.join("lib").join(FILE_NAME)));
    }
    candidates.extend(home().map(|home| home.join("lib").join(FILE_NAME)));
    candidates
}

/// `$SCHISM_HOME`, or `schism` in the user's cache.
fn home() -> Option<PathBuf> {
    let folder = |name| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    folder("SCHISM_HOME").or_else(|| {
        let cache = folder("XDG_CACHE_HOME").or_else(|| Some(folder("HOME")?.join(".cache")))?;
        Some(cache.join("schism"))
    })
}

fn open(location: &Location) -> Result<Stage2, Missing> {
    let Location { path, named } = location;
    let started = std::time::Instant::now();
    let unusable = |reason| Missing::Unusable { reason, named: *named };
    // SAFETY: whoever chose the path vouches for the library's initialisers: it is set-up's own, or was named on purpose.
    let library = unsafe { library::open(path) }.map_err(unusable)?;
    // SAFETY: the symbol's type is fixed by the interface; the name is its own.
    let entry = unsafe { library.get::<EntryFn>(ENTRY_SYMBOL.to_bytes_with_nul()) };
    let entry = entry.map_err(|error| {
        let reason = library::reason(&error);
        unusable(format!("{} is not schism's stage 2: {reason}", path.display()))
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
