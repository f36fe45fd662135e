//! Launches on the fake driver, see `fake_cuda.rs`, and which code each of them loaded.

use std::ffi::{CStr, CString, c_char, c_int, c_void};

use schism::Math;
use schism::prelude::*;

unsafe extern "C" {
    fn dlopen(name: *const c_char, flags: c_int) -> *mut c_void;
    fn dlsym(library: *mut c_void, name: *const c_char) -> *mut c_void;
}

fn fake(name: &CStr) -> *mut c_void {
    let path = std::env::var("SCHISM_CUDA").expect("the fake driver");
    let path = CString::new(path).expect("a path");
    unsafe { dlsym(dlopen(path.as_ptr(), 2), name.as_ptr()) }
}

/// The code that was loaded last: its processor, and how many parameters its entry has.
fn loaded() -> String {
    let code: extern "C" fn() -> *const c_char = unsafe { std::mem::transmute(fake(c"fake_code")) };
    let text = unsafe { CStr::from_ptr(code()) }.to_string_lossy().into_owned();
    let target = text.lines().find_map(|line| line.strip_prefix(".target ")).unwrap_or("none");
    let (_, entry) = text.split_once(".entry").unwrap_or_default();
    let parameters = entry.split('{').next().unwrap_or_default().matches(".param").count();
    format!("{} with {parameters} parameters", target.trim())
}

/// The value of a constant that is open in the code that was loaded last with one.
fn constant() -> u32 {
    let find: extern "C" fn(*const c_char) -> *const u32 =
        unsafe { std::mem::transmute(fake(c"fake_variable")) };
    unsafe { find(c"schism_constant_0".as_ptr()).as_ref() }.copied().unwrap_or(0)
}

static FACTOR: SpecConst<u32> = SpecConst::new(3);

fn main() {
    let queue = match Device::by_name("cuda:0").and_then(|device| Queue::on(&device)) {
        Ok(queue) => queue,
        Err(error) => return println!("{error}"),
    };
    println!("{}", queue.device().description());
    let tell = |what: &str, result: Result<(), LaunchError>| match result {
        Ok(()) => println!("{what}: {}", loaded()),
        Err(error) => println!("{what}: {error}"),
    };
    let mut out = Buffer::filled(&queue, 1000, 0_u32).expect("memory");
    for queue in [queue.clone(), queue.with_math(Math::Relaxed), queue.with_constant(&FACTOR, 77)] {
        tell("elements", queue.for_each(&mut out, |out| *out += FACTOR.get()));
    }
    println!("constant: {}", constant());
    let here = 5_u8;
    let at = move |begin: usize, end: usize| {
        queue.parallel_for(begin..end, move |item| assert!(item.x() > usize::from(here)))
    };
    tell("range", at(0, 1000));
    tell("other blocks", at(0, 10));
    tell("large range", at(0, 1 << 33));
    tell("sub-grids", at(0, 1 << 40));
    tell("shifted range", at(7, 1000));
    let maps = std::fs::read_to_string("/proc/self/maps").expect("Linux has it");
    println!("{}", if maps.contains("libLLVM") { "compiled" } else { "not compiled" });
}
