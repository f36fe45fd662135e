//! Finding and opening a vendor's driver.

use std::ffi::{CStr, OsStr, OsString, c_char, c_int, c_uint};
use std::path::Path;

use libloading::Library;

use crate::error::DriverError;
use crate::hal::gpu::api::{Api, DeviceNumber, ResultCode, Symbol, find, number, symbol};
use crate::hal::gpu::process;
use crate::hal::gpu::vendor::Vendor;
use crate::util::variables::by_name;
use crate::util::{fork, library, warn_once};

/// The driver, opened and initialised. It stays open until the process ends.
#[derive(Debug)]
pub(crate) struct Driver {
    pub(in crate::hal) vendor: &'static Vendor,
    library: Library,
    pub(in crate::hal) api: Api,
    /// The version of the interface: 1000 times the major number, plus 10 times the minor one.
    pub(in crate::hal) version: u32,
    /// The process that initialised it. It does not work in processes forked from that.
    pub(super) generation: u32,
}

/// Opens and initialises the driver.
///
/// # Errors
/// Why there is none, as a text for users.
pub(super) fn initialise(vendor: &'static Vendor) -> Result<&'static Driver, String> {
    process::initialise_driver(|| open_and_initialise(vendor))
}

/// Why the driver cannot have a device, by what the system shows; `None` if it may have one. A
/// driver that is named is always asked.
pub(super) fn absence(vendor: &Vendor) -> Option<String> {
    let is_empty = |value: OsString| value.is_empty();
    if let Some(hides) = vendor.hides.iter().find(|name| by_name(name).is_some_and(is_empty)) {
        return Some(format!("{hides} is empty"));
    }
    match vendor.variable.get() {
        Some(path) if path.is_empty() => Some(format!("{} is empty", vendor.variable)),
        Some(_) => None,
        None => vendor.nodes.absence(),
    }
}

fn open_and_initialise(vendor: &'static Vendor) -> Result<&'static Driver, String> {
    let variable = vendor.variable;
    let named = variable.get();
    if named.is_some_and(OsStr::is_empty) {
        return Err(format!("{variable} is empty"));
    }
    if variable.is_ignored() {
        warn_once::warn(format_args!(
            "{variable} is not obeyed by a program with rights that its user lacks; the system's driver is used"
        ));
    }
    let library = match named.filter(|_| !schism_trust::is_privileged()) {
        Some(path) => {
            open_named(vendor, path).map_err(|reason| format!("{reason} (from {variable})"))?
        }
        None => {
            let mut tried = vendor.file_names.iter().map(|name| open(OsStr::new(name)));
            tried
                .find_map(Result::ok)
                .ok_or_else(|| format!("there is no {}", vendor.file_names.join(" or ")))?
        }
    };
    // SAFETY: it is the system's driver, or was named as one. It is never unloaded.
    let api = unsafe { Api::load(&library, &vendor.symbols, vendor.contexts) }
        .map_err(|name| format!("the driver has no `{name}`: it is too old, or none"))?;
    let driver: &'static mut Driver = Box::leak(Box::new(Driver {
        vendor,
        library,
        api,
        version: 0,
        generation: fork::generation(),
    }));
    // SAFETY: the first call of the driver.
    driver.check(unsafe { (driver.api.init)(0) }, symbol::init).map_err(|e| e.to_string())?;
    let mut version: c_int = 0;
    // SAFETY: the number can be written.
    let code = unsafe { (driver.api.driver_version)(&raw mut version) };
    driver.check(code, symbol::driver_version).map_err(|e| e.to_string())?;
    driver.version = u32::try_from(version).unwrap_or(0);
    Ok(driver)
}

/// Opens a library that the user names: a trusted file, or a name without a folder, which the
/// system's loader searches for as for any driver.
fn open_named(vendor: &Vendor, path: &OsStr) -> Result<Library, String> {
    if path.as_encoded_bytes().contains(&b'/') {
        // Untrusted users cannot put another file there before it is loaded.
        let path = Path::new(path);
        schism_trust::open(path).map_err(|error| {
            let reason = error.about(path);
            if !error.is_missing() {
                // Programs that do not ask for a GPU by name get no error.
                warn_once::warn(format_args!(
                    "{reason} (from {}); GPUs of {}'s are left out",
                    vendor.variable, vendor.name
                ));
            }
            reason
        })?;
    }
    open(path)
}

fn open(path: &OsStr) -> Result<Library, String> {
    // SAFETY: the system's driver, or a library that was named on purpose and that no untrusted user
    // can have changed: its initialisers may run.
    unsafe { library::open(path) }
}

impl Driver {
    /// Converts a code to an error.
    pub(in crate::hal) fn check(&self, code: ResultCode, call: Symbol) -> Result<(), DriverError> {
        if code == number::SUCCESS { Ok(()) } else { Err(self.error(code, call)) }
    }

    /// A function that only one vendor has.
    ///
    /// # Safety
    /// It has the type `F`.
    pub(in crate::hal) unsafe fn function<F: Copy>(&self, name: &'static str) -> Option<F> {
        // SAFETY: the caller's promise; the driver stays loaded.
        unsafe { find(&self.library, name) }.ok()
    }

    #[cold]
    pub(super) fn error(&self, code: ResultCode, call: Symbol) -> DriverError {
        self.error_of(code, call(&self.vendor.symbols))
    }

    /// The error of a call with this name.
    #[cold]
    pub(in crate::hal) fn error_of(&self, code: ResultCode, call: &'static str) -> DriverError {
        type Ask = unsafe extern "C" fn(ResultCode, *mut *const c_char) -> ResultCode;
        let ask = |ask: Ask| {
            let mut text: *const c_char = std::ptr::null();
            // SAFETY: any code is allowed, and the pointer can be written.
            let known = unsafe { ask(code, &raw mut text) } == number::SUCCESS && !text.is_null();
            // SAFETY: a static text of the driver.
            known.then(|| unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned())
        };
        let name = ask(self.api.error_name).unwrap_or_else(|| format!("error {code}"));
        let text = ask(self.api.error_text).unwrap_or_else(|| "no description".to_owned());
        DriverError { call, code, name, text }
    }

    pub(in crate::hal) fn attribute(
        &self,
        device: DeviceNumber,
        attribute: c_uint,
    ) -> Result<u32, DriverError> {
        let mut value: c_int = 0;
        // SAFETY: the number is ours to be written.
        let code = unsafe { (self.api.device_attribute)(&raw mut value, attribute, device) };
        self.check(code, symbol::device_attribute)?;
        Ok(u32::try_from(value).unwrap_or(0))
    }
}
