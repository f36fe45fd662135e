//! The devices of OpenCL.

use std::ffi::{OsStr, OsString, c_void};

use crate::variables::OPENCL;

/// The devices of OpenCL, each as a text for people; `Err` says why there are none.
pub fn devices() -> std::result::Result<Vec<String>, String> {
    let named = std::env::var_os(OPENCL);
    let library = match &named {
        Some(path) if path.is_empty() => return Err(format!("{OPENCL} is empty")),
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
