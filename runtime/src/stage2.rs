//! Finding and opening stage 2, the shared library that turns device images into machine code.

use std::env;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use libloading::Library;
use schism_cache::{Key, Value};
use schism_jit_abi::{ABI_VERSION, ENTRY_SYMBOL, EntryFn, JitApi};

use crate::{identity, kernel_cache};

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

/// Stage 2, loaded by the first call; or what was tried and what came of it.
pub(crate) fn stage2() -> Result<&'static Stage2, &'static str> {
    static STAGE2: OnceLock<Result<Stage2, String>> = OnceLock::new();
    let load = || {
        let library = library().map_err(str::to_owned)?;
        open(&library.path).map_err(|reason| match library.named {
            true => format!("{reason} (from {VARIABLE})"),
            false => reason,
        })
    };
    STAGE2.get_or_init(load).as_ref().map_err(String::as_str)
}

/// What stage 2 says of itself. A stage 2 that was opened once, in whatever process, and that is still the same, is not opened to
/// be asked again: that takes longer than to launch a kernel that was kept.
pub(crate) fn about() -> Result<&'static About, &'static str> {
    static ABOUT: OnceLock<Result<About, String>> = OnceLock::new();
    let ask = || {
        let key = identity()
            .and_then(|identity| {
                let key = Key::builder("what stage 2 says of itself");
                identity::add_processor(key.part("stage 2", identity.as_bytes()))
            })
            .map(|key| key.finish());
        let found = kernel_cache::get_or_compile(key, || {
            let About { version, cpu } = &stage2()?.about;
            Ok::<_, &str>(Value { meta: version.clone().into(), bytes: cpu.clone().into() })
        })?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Ok(About { version: text(&found.value.meta), cpu: text(&found.value.bytes) })
    };
    ABOUT.get_or_init(|| ask().map_err(str::to_owned)).as_ref().map_err(String::as_str)
}

/// Which stage 2 this is, as far as that can be told without opening it.
pub(crate) fn identity() -> Option<Key> {
    static IDENTITY: OnceLock<Option<Key>> = OnceLock::new();
    *IDENTITY.get_or_init(|| identity::of_stage2(&library().ok()?.path))
}

/// Where stage 2 is.
#[derive(Debug)]
struct Location {
    path: PathBuf,
    /// The variable says so.
    named: bool,
}

fn library() -> Result<&'static Location, &'static str> {
    static LIBRARY: OnceLock<Result<Location, String>> = OnceLock::new();
    LIBRARY.get_or_init(find).as_ref().map_err(String::as_str)
}

/// Whether there is a file that may be stage 2.
pub(crate) fn is_there() -> bool {
    static THERE: OnceLock<bool> = OnceLock::new();
    *THERE.get_or_init(|| library().is_ok_and(|library| library.path.is_file()))
}

fn find() -> Result<Location, String> {
    if let Some(path) = env::var_os(VARIABLE).filter(|path| !path.is_empty()) {
        return Ok(Location { path: path.into(), named: true });
    }
    let mut candidates = candidates();
    let Some(found) = candidates.iter().position(|path| path.is_file()) else {
        let tried: Vec<_> = candidates.iter().map(|path| path.display().to_string()).collect();
        return Err(format!("{VARIABLE} is not set, and there is none of {}", tried.join(", ")));
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

fn open(path: &Path) -> Result<Stage2, String> {
    let started = std::time::Instant::now();
    // SAFETY: whoever chose the path vouches for the library's initialisers: it is set-up's own, or was named on purpose.
    let library =
        unsafe { Library::new(path) }.map_err(|error| format!("{}: {error}", path.display()))?;
    // SAFETY: the symbol's type is fixed by the interface; the name is its own.
    let entry = unsafe { library.get::<EntryFn>(ENTRY_SYMBOL.to_bytes_with_nul()) }
        .map_err(|error| format!("{} is not schism's stage 2: {error}", path.display()))?;
    // SAFETY: the interface allows any argument.
    let api = unsafe { entry(ABI_VERSION) };
    // SAFETY: it is null or lives as long as the library is loaded, which from here on is forever.
    let api: &'static JitApi = unsafe { api.as_ref() }.ok_or_else(|| {
        format!(
            "{} does not speak version {ABI_VERSION} of the interface: it belongs to another version of schism",
            path.display()
        )
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
