//! What tests for OpenCL need: a driver that takes SPIR-V, and the validator of SPIR-V.
//!
//! Intel's driver for processors runs without a GPU, and PyPI has it, so it is fetched into a folder
//! of schism's home by those who ask for it; no root is needed, and nothing else finds it there. The
//! validator comes from the distribution's package in the same way.
//!
//! `SCHISM_TEST_OPENCL` says what `cargo schism test` does: `install` fetches what is not there,
//! `all` also has every test run on OpenCL's devices that runs on all devices, and a path names a
//! driver or a loader instead. Tests get the path of the driver in the same variable.

use std::ffi::{OsStr, OsString, c_void};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::command;
use crate::error::{Error, FileContext, Result};
use crate::home::Home;
use crate::progress;
use crate::publish::{Draft, create_parent};
use crate::rustc_dev::{system_mirrors, unpack};

/// What tests use.
const VARIABLE: &str = "SCHISM_TEST_OPENCL";

/// The driver or loader that programs use.
const DRIVER: &str = "SCHISM_OPENCL";

/// The folder of the SPIR-V tools.
const TOOLS: &str = "SCHISM_SPIRV_TOOLS";

/// The packages of Intel's driver, and of what it is linked with.
const PACKAGES: [&str; 3] =
    ["intel-opencl-rt==2026.*", "intel-cmplr-lib-rt==2026.*", "tbb==2023.*"];

/// Large files in these packages that the driver does not need.
const NEEDLESS: [&str; 1] = ["icx-lto.so"];

/// The driver's library.
const LIBRARY: &str = "libintelocl.so";

const INSTALL_PIP: &str = "Install it as root: apt install python3-pip.";

/// Intel's driver in schism's home, if it was fetched.
pub fn driver(home: &Home) -> Option<PathBuf> {
    Some(folder(home).join(LIBRARY)).filter(|path| path.is_file())
}

fn folder(home: &Home) -> PathBuf {
    home.root().join("opencl")
}

/// Tells the tests of a cargo where the driver is.
pub fn apply(cargo: &mut Command, home: &Home) -> Result<()> {
    let wish = std::env::var_os(VARIABLE).unwrap_or_default();
    let all = wish == "all";
    if (all || wish == "install") && driver(home).is_none() {
        install(home)?;
    }
    let found = match wish.to_str() {
        Some("" | "install" | "all") => driver(home),
        _ => Some(PathBuf::from(&wish)),
    };
    if all || wish == "install" {
        tools(cargo, home)?;
    }
    match &found {
        Some(path) => cargo.env(VARIABLE, path),
        None => cargo.env_remove(VARIABLE),
    };
    if let Some(path) = found.filter(|_| all && std::env::var_os(DRIVER).is_none()) {
        cargo.env(DRIVER, path);
    }
    Ok(())
}

/// Fetches the driver.
fn install(home: &Home) -> Result<()> {
    let folder = folder(home);
    progress::step("Fetching", &format!("Intel's OpenCL driver for tests to {}", folder.display()));
    create_parent(&folder)?;
    let draft = Draft::new(&folder)?;
    let wheels = draft.path().join("wheels");
    let mut pip = Command::new("python3");
    pip.args(["-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:", "--dest"]);
    pip.arg(&wheels).args(PACKAGES);
    command::capture(pip, "to fetch a driver", INSTALL_PIP)?;
    for wheel in files(&wheels)? {
        let mut unzip = Command::new("python3");
        unzip.args(["-m", "zipfile", "-e"]).arg(&wheel).arg(&wheels);
        command::capture(unzip, "to unpack a driver", INSTALL_PIP)?;
    }
    // A wheel has libraries in `NAME-VERSION.data/data/lib`.
    for package in files(&wheels)? {
        let libraries = package.join("data").join("lib");
        if !libraries.is_dir() {
            continue;
        }
        for file in files(&libraries)? {
            let name = file.file_name().unwrap_or_default();
            if file.is_file() && !NEEDLESS.iter().any(|needless| name == OsStr::new(needless)) {
                let place = draft.path().join(name);
                std::fs::rename(&file, &place).at("move", &file)?;
            }
        }
    }
    std::fs::remove_dir_all(&wheels).at("remove", &wheels)?;
    if !draft.path().join(LIBRARY).is_file() {
        return Err(Error::Usage(format!(
            "the packages {} have no {LIBRARY}; {VARIABLE} can name a driver instead",
            PACKAGES.join(", ")
        )));
    }
    draft.publish()
}

/// Tells the tests where the SPIR-V tools are, if it is not in the `PATH`, and fetches them where
/// that can be.
fn tools(cargo: &mut Command, home: &Home) -> Result<()> {
    const NAME: &str = "spirv-val";
    let path = std::env::var_os("PATH").unwrap_or_default();
    let is_there = |folder: PathBuf| folder.join(NAME).is_file();
    if std::env::var_os(TOOLS).is_some() || std::env::split_paths(&path).any(is_there) {
        return Ok(());
    }
    let folder = home.apt().join("spirv-tools");
    let programs = folder.join("usr/bin");
    if !programs.join(NAME).is_file() {
        let mirrors = system_mirrors();
        // Tests say what they leave out where there is no validator.
        let Some(mirror) = mirrors.into_iter().find(|it| it.uri.contains("debian")) else {
            return Ok(());
        };
        unpack(home, &mirror, "spirv-tools", &folder)?;
    }
    cargo.env(TOOLS, programs);
    Ok(())
}

fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = std::fs::read_dir(folder).at("read", folder)?;
    Ok(entries.flatten().map(|entry| entry.path()).collect())
}

/// The devices of OpenCL, each as a text for people; `Err` says why there are none.
pub fn devices() -> std::result::Result<Vec<String>, String> {
    let named = std::env::var_os(DRIVER);
    let library = match &named {
        Some(path) if path.is_empty() => return Err(format!("{DRIVER} is empty")),
        Some(path) => path.clone(),
        None => OsString::from("libOpenCL.so.1"),
    };
    // SAFETY: it is the system's loader, or was named as one: its initialisers may run, and its
    // functions are OpenCL's.
    unsafe { devices_of(&library) }
}

type Ids = unsafe extern "C" fn(u32, *mut *mut c_void, *mut u32) -> i32;
type DeviceIds = unsafe extern "C" fn(*mut c_void, u64, u32, *mut *mut c_void, *mut u32) -> i32;
type Info = unsafe extern "C" fn(*mut c_void, u32, usize, *mut c_void, *mut usize) -> i32;

/// # Safety
/// The library is OpenCL's loader, or behaves like it.
unsafe fn devices_of(library: &OsStr) -> std::result::Result<Vec<String>, String> {
    const PLATFORM_NAME: u32 = 0x0902;
    const DEVICE_NAME: u32 = 0x102B;
    const ALL: u64 = 0xFFFF_FFFF;
    const ROOM: usize = 16;
    // SAFETY: the caller's promise. The symbols have these types.
    let (library, ids, of_platform, about_platform, about_device) = unsafe {
        let open = libloading::Library::new(library);
        let library = open.map_err(|_| format!("there is no {}", library.display()))?;
        let of = |name: &str| format!("{name} is not in it");
        let ids = *library.get::<Ids>(b"clGetPlatformIDs\0").map_err(|_| of("clGetPlatformIDs"))?;
        let of_platform =
            *library.get::<DeviceIds>(b"clGetDeviceIDs\0").map_err(|_| of("clGetDeviceIDs"))?;
        let about_platform =
            *library.get::<Info>(b"clGetPlatformInfo\0").map_err(|_| of("clGetPlatformInfo"))?;
        let about_device =
            *library.get::<Info>(b"clGetDeviceInfo\0").map_err(|_| of("clGetDeviceInfo"))?;
        (library, ids, of_platform, about_platform, about_device)
    };
    // Drivers have threads that do not end before the process.
    std::mem::forget(library);
    let text = |ask: Info, of: *mut c_void, what: u32| {
        let mut bytes = [0_u8; 256];
        let mut size = 0;
        // SAFETY: the handle is the driver's, and there is room for as many bytes.
        let code = unsafe { ask(of, what, bytes.len(), bytes.as_mut_ptr().cast(), &raw mut size) };
        let text = bytes.get(..size).filter(|_| code == 0).unwrap_or_default();
        String::from_utf8_lossy(text).trim_end_matches('\0').trim().to_owned()
    };
    let mut platforms = [std::ptr::null_mut(); ROOM];
    let mut count = 0;
    // SAFETY: there is room for as many, and the number can be written.
    let code = unsafe { ids(ROOM as u32, platforms.as_mut_ptr(), &raw mut count) };
    if code != 0 {
        return Err(format!("`clGetPlatformIDs` failed (code {code})"));
    }
    let mut found = Vec::new();
    for &platform in platforms.iter().take(count as usize) {
        let mut devices = [std::ptr::null_mut(); ROOM];
        let mut count = 0;
        // SAFETY: as above, and the platform is the loader's.
        let code = unsafe {
            of_platform(platform, ALL, ROOM as u32, devices.as_mut_ptr(), &raw mut count)
        };
        if code != 0 {
            continue;
        }
        for &device in devices.iter().take(count as usize) {
            let model = text(about_device, device, DEVICE_NAME);
            found.push(format!("{model} of {}", text(about_platform, platform, PLATFORM_NAME)));
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::Scratch;

    #[test]
    fn a_driver_is_one_that_is_there() {
        let scratch = Scratch::new("opencl");
        let home = Home::at(scratch.path());
        assert_eq!(driver(&home), None);
        let place = scratch.path().join("opencl");
        std::fs::create_dir(&place).expect("a folder");
        std::fs::write(place.join(LIBRARY), "").expect("a file");
        assert_eq!(driver(&home), Some(place.join(LIBRARY)));
    }

    #[test]
    fn what_is_no_loader_has_no_devices() {
        // SAFETY: neither has such functions.
        unsafe {
            assert!(devices_of(OsStr::new("/nonexistent.so")).is_err());
            let error = devices_of(OsStr::new("libc.so.6")).expect_err("an error");
            assert_eq!(error, "clGetPlatformIDs is not in it");
        }
    }
}
