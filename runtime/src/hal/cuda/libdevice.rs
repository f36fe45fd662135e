//! NVIDIA's mathematics library, for programs that ask for it instead of schism's own.
//!
//! It comes with NVIDIA's compilers, and not with the driver, so most machines that run programs do
//! not have it. Its functions are as fast as in CUDA programs, and give the same results; these may
//! differ from those of other devices.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use schism_cache::Key;
use schism_trust::Untrusted;

use crate::hal::gpu::properties::Mathematics;
use crate::util::variables::LIBDEVICE;
use crate::util::warn_once;

/// Where it is in a toolkit.
const IN_TOOLKIT: &str = "nvvm/libdevice/libdevice.10.bc";

/// Where toolkits are installed.
const INSTALLED: &str = "/usr/local";

/// The library, if it is requested and exists; if it does not exist, the user is warned once.
pub(super) fn libdevice() -> Option<&'static Mathematics> {
    static LIBRARY: OnceLock<Option<Mathematics>> = OnceLock::new();
    LIBRARY
        .get_or_init(|| {
            if LIBDEVICE.is_ignored() {
                warn_once::warn(format_args!(
                    "{LIBDEVICE} is not obeyed by a program with rights that its user lacks; kernels take schism's own mathematics"
                ));
            }
            let asked = LIBDEVICE.trusted().filter(|value| *value != "0")?;
            let found = find(asked);
            found
                .inspect_err(|reason| {
                    warn_once::warn(format_args!("{reason}; kernels take schism's own mathematics"))
                })
                .ok()
        })
        .as_ref()
}

/// No such library is nearly as large.
const MOST: u64 = 64 << 20;

fn find(asked: &OsStr) -> Result<Mathematics, String> {
    if asked != "1" {
        let path = Path::new(asked);
        return read(path)
            .map_err(|error| format!("{LIBDEVICE} is `{}`: {}", path.display(), error.about(path)))
            .and_then(|bitcode| library(path, bitcode));
    }
    let places = places();
    for place in &places {
        match read(place) {
            Ok(bitcode) => return library(place, bitcode),
            Err(error) if error.is_missing() => {}
            Err(error) => return Err(format!("{LIBDEVICE} asks for it: {}", error.about(place))),
        }
    }
    let places: Vec<_> = places.iter().map(|place| place.display().to_string()).collect();
    Err(format!(
        "{LIBDEVICE} asks for NVIDIA's libdevice, and there is none of {}",
        places.join(", ")
    ))
}

/// Where it may be: in the toolkit that the environment names, or in those that are installed,
/// `cuda` first.
fn places() -> Vec<PathBuf> {
    let named = ["CUDA_HOME", "CUDA_PATH"].into_iter().filter_map(schism_trust::variable);
    let mut places: Vec<PathBuf> = named.map(PathBuf::from).collect();
    places.push(Path::new(INSTALLED).join("cuda"));
    let mut installed: Vec<PathBuf> = fs::read_dir(INSTALLED)
        .into_iter()
        .flatten()
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| {
            path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("cuda-"))
        })
        .collect();
    installed.sort_by(|a, b| b.cmp(a));
    places.extend(installed);
    places.iter().map(|folder| folder.join(IN_TOOLKIT)).collect()
}

fn read(path: &Path) -> Result<Vec<u8>, Untrusted> {
    schism_trust::read(path, MOST)
}

fn library(path: &Path, bitcode: Vec<u8>) -> Result<Mathematics, String> {
    if !bitcode.starts_with(b"BC\xC0\xDE") {
        return Err(format!("{LIBDEVICE}: {} is no LLVM bitcode", path.display()));
    }
    let key = Key::builder("libdevice").part("bitcode", &bitcode).finish();
    tracing::debug!(path = %path.display(), bytes = bitcode.len(), "found libdevice");
    Ok(Mathematics { bitcode, key })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn what_is_no_library_is_told() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("libdevice.bc");
        let reason = |path: &Path| find(path.as_os_str()).err().expect("no library");
        assert!(reason(&file).contains("SCHISM_LIBDEVICE is `"), "{}", reason(&file));
        fs::write(&file, b"text").expect("written");
        assert!(reason(&file).contains("no LLVM bitcode"), "{}", reason(&file));
        let one = |bytes: &[u8]| {
            fs::write(&file, bytes).expect("written");
            find(file.as_os_str()).expect("a library").key
        };
        let (first, second) = (one(b"BC\xC0\xDE1"), one(b"BC\xC0\xDE2"));
        assert!(first != second && first == one(b"BC\xC0\xDE1"));
        fs::set_permissions(&file, fs::Permissions::from_mode(0o666)).expect("our file");
        assert!(reason(&file).contains("by all users"), "{}", reason(&file));
        let relative = Path::new("libdevice.bc");
        assert!(reason(relative).contains("no path from the root"), "{}", reason(relative));
        assert!(reason(Path::new("/dev/zero")).contains("is no file"));
    }
}
