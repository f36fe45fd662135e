//! The GPUs of NVIDIA's driver and of AMD's.

use std::ffi::{CStr, OsString, c_char, c_int, c_uint};

use libloading::Library;

/// A driver whose functions have the shape of CUDA's.
pub struct Driver {
    /// The prefix of its devices' names.
    pub devices: &'static str,
    library: &'static [&'static str],
    /// The driver's own variables that hide devices: all, where one is empty.
    hides: &'static [&'static str],
    init: &'static str,
    count: &'static str,
    get: &'static str,
    name: &'static str,
    memory: &'static str,
    error: &'static str,
}

/// NVIDIA's and AMD's, in the order in which programs look for a device.
pub const DRIVERS: [Driver; 2] = [
    Driver {
        devices: "cuda",
        library: &["libcuda.so.1", "libcuda.so"],
        hides: &["CUDA_VISIBLE_DEVICES"],
        init: "cuInit",
        count: "cuDeviceGetCount",
        get: "cuDeviceGet",
        name: "cuDeviceGetName",
        memory: "cuDeviceTotalMem_v2",
        error: "cuGetErrorString",
    },
    Driver {
        devices: "hip",
        library: &["libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so"],
        hides: &["HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES"],
        init: "hipInit",
        count: "hipGetDeviceCount",
        get: "hipDeviceGet",
        name: "hipDeviceGetName",
        memory: "hipDeviceTotalMem",
        error: "hipDrvGetErrorString",
    },
];

type Init = unsafe extern "C" fn(c_uint) -> c_uint;
type Count = unsafe extern "C" fn(*mut c_int) -> c_uint;
type Get = unsafe extern "C" fn(*mut c_int, c_int) -> c_uint;
type Name = unsafe extern "C" fn(*mut c_char, c_int, c_int) -> c_uint;
type Memory = unsafe extern "C" fn(*mut usize, c_int) -> c_uint;
type Text = unsafe extern "C" fn(c_uint, *mut *const c_char) -> c_uint;

impl Driver {
    /// Its devices, each as a text for people; `Err` says why there are none.
    pub fn devices(&self) -> Result<Vec<String>, String> {
        let is_empty = |name: &&&str| std::env::var_os(name).is_some_and(|value| value.is_empty());
        if let Some(hides) = self.hides.iter().find(is_empty) {
            return Err(format!("{hides} is empty"));
        }
        // It names the library.
        let variable = format!("SCHISM_{}", self.devices.to_uppercase());
        let library = match std::env::var_os(&variable) {
            Some(path) if path.is_empty() => return Err(format!("{variable} is empty")),
            Some(path) => open(&path).map_err(|reason| format!("{}: {reason}", path.display()))?,
            None => {
                let mut tried = self.library.iter().map(|name| open(&OsString::from(name)));
                let none = || format!("there is no {}", self.library.join(" or "));
                tried.find_map(Result::ok).ok_or_else(none)?
            }
        };
        // SAFETY: it is the system's driver, or was named as one. It is never unloaded: drivers have
        // threads that do not end before the process.
        let found = unsafe { self.devices_of(&library) };
        std::mem::forget(library);
        found
    }

    /// # Safety
    /// The library is the driver, or behaves like it.
    unsafe fn devices_of(&self, library: &Library) -> Result<Vec<String>, String> {
        // SAFETY: the caller's promise: the symbols have these types.
        let (init, count, get, name, memory, text) = unsafe {
            (
                function::<Init>(library, self.init)?,
                function::<Count>(library, self.count)?,
                function::<Get>(library, self.get)?,
                function::<Name>(library, self.name)?,
                function::<Memory>(library, self.memory)?,
                function::<Text>(library, self.error)?,
            )
        };
        let check = |code: c_uint, call: &str| {
            if code == 0 {
                return Ok(());
            }
            let mut known = std::ptr::null();
            // SAFETY: any code is allowed, and the pointer can be written.
            let is_known = unsafe { text(code, &raw mut known) } == 0 && !known.is_null();
            // SAFETY: a static text of the driver.
            let known = is_known.then(|| unsafe { CStr::from_ptr(known) }.to_string_lossy());
            Err(format!("`{call}` failed: {} ({code})", known.unwrap_or("no description".into())))
        };
        let mut number = 0;
        // SAFETY: the first call of the driver.
        check(unsafe { init(0) }, self.init)?;
        // SAFETY: the number can be written.
        check(unsafe { count(&raw mut number) }, self.count)?;
        let describe = |ordinal| {
            let (mut device, mut bytes) = (0, 0);
            let mut model = [0_u8; 256];
            // SAFETY: what is asked for can be written, the name up to its length.
            unsafe {
                check(get(&raw mut device, ordinal), self.get)?;
                let room = model.len() as c_int;
                check(name(model.as_mut_ptr().cast(), room, device), self.name)?;
                check(memory(&raw mut bytes, device), self.memory)?;
            }
            let model = CStr::from_bytes_until_nul(&model).unwrap_or_default().to_string_lossy();
            Ok(format!("{model}, {:.0} GiB", bytes as f64 / f64::from(1 << 30)))
        };
        let text = |ordinal| describe(ordinal).unwrap_or_else(|error: String| error);
        Ok((0..number.max(0)).map(text).collect())
    }
}

fn open(path: &OsString) -> Result<Library, String> {
    // SAFETY: the system's driver, or a library that was named as one: its initialisers may run.
    unsafe { Library::new(path) }.map_err(|error| error.to_string())
}

/// # Safety
/// The symbol has the type `F`.
unsafe fn function<F: Copy>(library: &Library, name: &str) -> Result<F, String> {
    // SAFETY: the caller's promise.
    let found = unsafe { library.get::<F>(name.as_bytes()) };
    found.map(|found| *found).map_err(|_| format!("`{name}` is not in it: it is too old, or none"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_driver_has_no_devices() {
        assert!(open(&OsString::from("/nonexistent.so")).is_err());
        let library = open(&OsString::from("libc.so.6")).expect("it is there");
        for driver in &DRIVERS {
            // SAFETY: it has no such functions.
            let error = unsafe { driver.devices_of(&library) }.expect_err("an error");
            assert_eq!(error, format!("`{}` is not in it: it is too old, or none", driver.init));
        }
    }
}
