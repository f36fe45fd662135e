//! Finding and opening OpenCL's loader, which knows the drivers; its errors.

use std::ffi::{OsStr, c_uint, c_void};
use std::path::Path;

use libloading::Library;

use crate::error::DriverError;
use crate::hal::opencl::api::{Api, ClResult, SharedMemory, number};
use crate::util::device_nodes::Nodes;
use crate::util::variables::OPENCL;
use crate::util::{fork, library};

/// The loader, as the dynamic linker knows it.
const FILE_NAMES: [&str; 2] = ["libOpenCL.so.1", "libOpenCL.so"];

/// The loader, opened. It stays open until the process ends.
#[derive(Debug)]
pub(crate) struct Driver {
    pub(super) api: Api,
    /// Functions for shared virtual memory, if it has them.
    pub(super) svm: Option<SharedMemory>,
    /// The process that opened it. Drivers do not work in processes forked from that.
    pub(super) generation: u32,
}

/// What the system has where there is a GPU.
const NODES: Nodes = Nodes {
    devices: &["/dev/dri/renderD*", "/dev/nvidiactl", "/dev/kfd", "/dev/dxg", "/dev/mali*"],
    signs: &[],
};

/// Why there can be no GPU, by what the system shows; `None` if there may be one. A loader that
/// is named is always asked.
pub(super) fn absence() -> Option<String> {
    match OPENCL.get() {
        Some(path) if path.is_empty() => Some(format!("{OPENCL} is empty")),
        Some(_) => None,
        None => NODES.absence(),
    }
}

/// Opens the loader.
///
/// # Errors
/// Why there is none, as a text for users.
pub(super) fn open() -> Result<&'static Driver, String> {
    let named = OPENCL.get().filter(|_| !schism_trust::is_privileged());
    if named.is_some_and(OsStr::is_empty) {
        return Err(format!("{OPENCL} is empty"));
    }
    let library = match named {
        Some(path) => open_named(path).map_err(|reason| format!("{reason} (from {OPENCL})"))?,
        None => {
            let mut tried = FILE_NAMES.iter().map(|name| load(OsStr::new(name)));
            tried
                .find_map(Result::ok)
                .ok_or_else(|| format!("there is no {}", FILE_NAMES.join(" or ")))?
        }
    };
    // SAFETY: it is the system's loader, or was named as one. It is never unloaded.
    let api = unsafe { Api::load(&library) }
        .map_err(|name| format!("OpenCL's loader has no `{name}`: it is too old, or none"))?;
    // SAFETY: as above.
    let svm = unsafe { SharedMemory::of_library(&library) };
    std::mem::forget(library);
    Ok(Box::leak(Box::new(Driver { api, svm, generation: fork::generation() })))
}

/// Opens a library that the user names: a trusted file, or a name without a folder.
fn open_named(path: &OsStr) -> Result<Library, String> {
    if path.as_encoded_bytes().contains(&b'/') {
        // No untrusted user can put another file there before it is loaded.
        let path = Path::new(path);
        schism_trust::open(path).map_err(|error| error.about(path))?;
    }
    load(path)
}

fn load(path: &OsStr) -> Result<Library, String> {
    // SAFETY: the system's loader, or a library that was named on purpose and that no untrusted user
    // can have changed: its initialisers may run.
    unsafe { library::open(path) }
}

/// Converts a code to an error.
pub(super) fn check(code: ClResult, call: &'static str) -> Result<(), DriverError> {
    if code == number::SUCCESS { Ok(()) } else { Err(error(code, call)) }
}

/// The error of a code.
#[cold]
pub(super) fn error(code: ClResult, call: &'static str) -> DriverError {
    let (name, text) = match code {
        -1 => ("CL_DEVICE_NOT_FOUND", "the driver has no device"),
        -2 => ("CL_DEVICE_NOT_AVAILABLE", "the device is not available"),
        -4 => ("CL_MEM_OBJECT_ALLOCATION_FAILURE", "no room for memory"),
        -5 => ("CL_OUT_OF_RESOURCES", "the device has no resources left"),
        -6 => ("CL_OUT_OF_HOST_MEMORY", "the host has no memory left"),
        -11 => ("CL_BUILD_PROGRAM_FAILURE", "the driver cannot build the code"),
        -14 => ("CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST", "the kernel failed"),
        -38 => ("CL_INVALID_MEM_OBJECT", "an argument is no memory of the device"),
        -42 => ("CL_INVALID_BINARY", "the driver does not take the code"),
        -46 => ("CL_INVALID_KERNEL_NAME", "the code has no such kernel"),
        -48 => ("CL_INVALID_KERNEL", "no kernel"),
        -49 => ("CL_INVALID_ARG_INDEX", "the kernel has fewer arguments"),
        -50 => ("CL_INVALID_ARG_VALUE", "an argument has no good value"),
        -51 => ("CL_INVALID_ARG_SIZE", "an argument has another size"),
        -52 => ("CL_INVALID_KERNEL_ARGS", "an argument has no value"),
        -54 => ("CL_INVALID_WORK_GROUP_SIZE", "the kernel cannot run in groups of this size"),
        -55 => ("CL_INVALID_WORK_ITEM_SIZE", "the device has no groups of this shape"),
        -63 => ("CL_INVALID_GLOBAL_WORK_SIZE", "the device has no range of this size"),
        -1001 => ("CL_PLATFORM_NOT_FOUND_KHR", "the loader finds no driver"),
        _ => ("", "no description"),
    };
    let name = if name.is_empty() { format!("error {code}") } else { name.to_owned() };
    DriverError { call, code: code.cast_unsigned(), name, text: text.to_owned() }
}

/// A function that tells of a handle, as all of them have it.
pub(super) type Info<H> =
    unsafe extern "C" fn(H, c_uint, usize, *mut c_void, *mut usize) -> ClResult;

/// A number of so many bytes that a driver tells of a handle.
pub(super) fn number_of<H>(
    ask: Info<H>,
    of: H,
    what: c_uint,
    bytes: usize,
    call: &'static str,
) -> Result<u64, DriverError> {
    let mut value = 0_u64;
    let room = bytes.min(size_of::<u64>());
    // SAFETY: the handle is the driver's, and there is room for as many bytes.
    let code = unsafe { ask(of, what, room, (&raw mut value).cast(), std::ptr::null_mut()) };
    check(code, call)?;
    Ok(value)
}

/// Sizes that a driver tells of a handle; none if it does not.
pub(super) fn list_of<H: Copy>(ask: Info<H>, of: H, what: c_uint) -> Vec<usize> {
    let mut sizes = [0_usize; 64];
    let mut bytes = 0;
    // SAFETY: the handle is the driver's, and there is room for as many bytes.
    let code = unsafe {
        let room = size_of_val(&sizes);
        ask(of, what, room, sizes.as_mut_ptr().cast(), &raw mut bytes)
    };
    if code != number::SUCCESS {
        return Vec::new();
    }
    sizes.into_iter().take(bytes / size_of::<usize>()).collect()
}

/// A text that a driver tells of a handle; empty if it does not.
pub(super) fn text_of<H: Copy>(ask: Info<H>, of: H, what: c_uint) -> String {
    text_with(|room, value, size| {
        // SAFETY: the handle is the driver's; the caller gives as much room as it says.
        unsafe { ask(of, what, room, value, size) }
    })
}

/// A text of a function that is asked first for its size.
pub(super) fn text_with(ask: impl Fn(usize, *mut c_void, *mut usize) -> ClResult) -> String {
    let mut size = 0;
    if ask(0, std::ptr::null_mut(), &raw mut size) != number::SUCCESS || size > 1 << 24 {
        return String::new();
    }
    let mut bytes = vec![0_u8; size];
    if ask(size, bytes.as_mut_ptr().cast(), std::ptr::null_mut()) != number::SUCCESS {
        return String::new();
    }
    String::from_utf8_lossy(&bytes).trim_end_matches('\0').trim().to_owned()
}

/// Runs something of a driver where it has room: its compiler, whose recursions need more than a
/// program's thread has for kernels with some thousand instructions; and waiting, where a driver for
/// processors computes work-items.
pub(super) fn on_large_stack<T: Send>(run: impl Fn() -> T + Send + Sync) -> T {
    /// What is not touched costs nothing.
    const STACK: usize = 256 << 20;
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().name("schism-opencl".to_owned());
        match thread.stack_size(STACK).spawn_scoped(scope, &run) {
            Ok(thread) => thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
            // Without another thread this one does it.
            Err(_) => run(),
        }
    })
}
