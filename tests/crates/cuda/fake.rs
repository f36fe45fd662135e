//! The fake driver's own functions, and what stands in a kernel's place.

use std::env;
use std::ffi::{CString, c_char, c_int, c_uint, c_void};
use std::slice;
use std::sync::Mutex;

unsafe extern "C" {
    fn dlopen(name: *const c_char, flags: c_int) -> *mut c_void;
    fn dlsym(library: *mut c_void, name: *const c_char) -> *mut c_void;
}

pub type OnLaunch = extern "C" fn(*const c_char, *const c_uint, *const c_uint, c_uint, *mut *mut c_void);

pub fn fake(name: &str) -> *mut c_void {
    let cuda = env::var("SCHISM_CUDA").ok().filter(|path| !path.is_empty());
    let path = cuda.or_else(|| env::var("SCHISM_HIP").ok()).expect("the fake driver");
    let path = CString::new(path).expect("a path");
    let name = CString::new(name).expect("a name");
    let found = unsafe { dlsym(dlopen(path.as_ptr(), 2), name.as_ptr()) };
    assert!(!found.is_null());
    found
}

pub fn on_launch(run: OnLaunch) {
    let set: extern "C" fn(OnLaunch) = unsafe { std::mem::transmute(fake("fake_on_launch")) };
    set(run);
}

pub fn calls(function: &str) -> u64 {
    let function = CString::new(function).expect("a name");
    let calls: extern "C" fn(*const c_char) -> u64 =
        unsafe { std::mem::transmute(fake("fake_calls")) };
    calls(function.as_ptr())
}

/// The PTX that was loaded last, and how often any was.
pub fn code() -> (String, u64) {
    let code: extern "C" fn() -> *const c_char = unsafe { std::mem::transmute(fake("fake_code")) };
    let text = unsafe { std::ffi::CStr::from_ptr(code()) }.to_string_lossy().into_owned();
    (text, calls("cuModuleLoadDataEx"))
}

pub fn device_memory() -> usize {
    let memory: extern "C" fn() -> usize = unsafe { std::mem::transmute(fake("fake_memory")) };
    memory()
}

/// The address of a variable of the loaded code.
pub fn variable(name: &str) -> u64 {
    let name = CString::new(name).expect("a name");
    let variable: extern "C" fn(*const c_char) -> u64 =
        unsafe { std::mem::transmute(fake("fake_variable")) };
    variable(name.as_ptr())
}

/// The values of a launch's parameters.
pub struct Parameters(pub *mut *mut c_void);

impl Parameters {
    pub fn get<T: Copy>(&self, index: usize) -> T {
        unsafe { self.0.add(index).read().cast::<T>().read_unaligned() }
    }

    pub fn elements<T>(&self, address: usize, len: usize) -> &'static mut [T] {
        unsafe { slice::from_raw_parts_mut(self.get::<*mut T>(address), len) }
    }
}

static SEEN: Mutex<Vec<([u32; 3], [u32; 3], u32, String)>> = Mutex::new(Vec::new());

pub extern "C" fn note(
    name: *const c_char,
    grid: *const c_uint,
    block: *const c_uint,
    shared: c_uint,
    _: *mut *mut c_void,
) {
    let name = unsafe { std::ffi::CStr::from_ptr(name) }.to_string_lossy().into_owned();
    let (grid, block) = unsafe { (grid.cast::<[u32; 3]>().read(), block.cast::<[u32; 3]>().read()) };
    SEEN.lock().unwrap().push((grid, block, shared, name));
}

pub fn take_seen() -> Vec<([u32; 3], [u32; 3], u32, String)> {
    std::mem::take(&mut SEEN.lock().unwrap())
}
