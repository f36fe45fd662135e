//! Opens stage 2, the shared library that compiles images to machine code.

use std::sync::{Mutex, PoisonError, TryLockError};
use std::thread;
use std::time::{Duration, Instant};

use schism_cache::{Key, Value};
use schism_jit_abi::{ABI_VERSION, ENTRY_SYMBOL, EntryFn, JitApi, version_of};

use crate::code::compiler_path::{Location, Missing, identity, inode, location};
use crate::code::{disk_cache, toolchain_id};
use crate::error::DeviceError;
use crate::util::retry::Kept;
use crate::util::{fork, library, objects};

/// Stage 2, loaded. It stays until the process ends: code that it made may run at any time.
#[derive(Debug)]
pub(crate) struct Stage2 {
    pub(crate) api: &'static JitApi,
    pub(crate) about: About,
}

/// What identifies a stage 2.
#[derive(Clone, Debug)]
pub(crate) struct About {
    /// Name and version of stage 2 and of its LLVM.
    pub(crate) version: String,
    /// The processor that it compiles for.
    pub(crate) cpu: String,
}

/// Stage 2; the first call loads it. Transient failures are retried by the rule of
/// [`crate::util::retry`].
pub(crate) fn stage2() -> Result<&'static Stage2, Missing> {
    if !fork::has_compiler() {
        return Err(Missing::Forked);
    }
    let open = || objects::hold_what_opens(|| open(location()?));
    STAGE2.get(open, Missing::is_transient)
}

static STAGE2: Kept<Stage2, Missing> = Kept::new();

/// Locked while stage 2 is opened: whether the process is ending, and opens none any more.
static OPENING: Mutex<bool> = Mutex::new(false);

/// The end of the process waits no longer for a library that is being opened. That takes a few
/// hundredths of a second.
const LIMIT: Duration = Duration::from_secs(2);

/// Stops stage 2 for good, because the process is ending: none is opened from now on, and nothing is
/// compiled. A library that is being opened is waited for, since its initialisers must not run beside
/// what `exit` calls.
pub(crate) fn stop() {
    if fork::is_broken() || !fork::has_compiler() {
        // Other threads of the parent may have had locks, and are not here.
        return;
    }
    let begin = Instant::now();
    loop {
        match OPENING.try_lock() {
            Ok(mut is_ending) => break *is_ending = true,
            Err(TryLockError::Poisoned(error)) => break *error.into_inner() = true,
            Err(TryLockError::WouldBlock) if begin.elapsed() < LIMIT => {
                thread::sleep(Duration::from_micros(200));
            }
            Err(TryLockError::WouldBlock) => break,
        }
    }
    if let Some(stage2) = STAGE2.known() {
        (stage2.api.stop)();
    }
}

/// What identifies stage 2. If any process has opened this stage 2 before and it has not changed,
/// it is not opened for this: that takes longer than launching a cached kernel.
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

/// Returns an error if nothing can compile for a device.
///
/// # Errors
/// [`DeviceError::Stage2`] and [`DeviceError::Stage2Version`], if there is no stage 2.
pub(crate) fn require(device: &str) -> Result<(), DeviceError> {
    about().map(|_| ()).map_err(|missing| missing.error_for(device))
}

fn open(location: &Location) -> Result<Stage2, Missing> {
    let Location { path, named, .. } = location;
    let is_ending = OPENING.lock().unwrap_or_else(PoisonError::into_inner);
    if *is_ending {
        return Err(Missing::Ending);
    }
    let started = Instant::now();
    let unusable = |reason| Missing::Unusable { reason, named: *named };
    // Cached code is keyed by the file that was examined, so that file must be the one that is
    // loaded. Only trusted users can have replaced it.
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
    // SAFETY: only root, the user and the program's owner can have changed the file, or put another
    // one in its place, and they vouch for its initialisers.
    let library = unsafe { library::open(path) }.map_err(unusable)?;
    is_same()?;
    // SAFETY: the interface fixes the symbol's type; the name is its own.
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
    drop(is_ending);
    // SAFETY: both texts live as long as the library.
    let (version, cpu) = unsafe { ((api.version)().as_slice(), (api.cpu_name)().as_slice()) };
    let version = String::from_utf8_lossy(version).into_owned();
    let cpu = String::from_utf8_lossy(cpu).into_owned();
    tracing::debug!(
        path = %path.display(), version, cpu, micros = started.elapsed().as_micros() as u64, "loaded stage 2"
    );
    Ok(Stage2 { api, about: About { version, cpu } })
}
