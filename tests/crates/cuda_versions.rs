//! Launches of several shapes on the fake driver, see `fake_cuda.rs`, and the hash of the code that
//! each of them loaded: that says which version of its kernel it is.

use std::ffi::{CStr, CString, c_char, c_int, c_void};

use schism::prelude::*;
use schism::{Adaptivity, local_array};

unsafe extern "C" {
    fn dlopen(name: *const c_char, flags: c_int) -> *mut c_void;
    fn dlsym(library: *mut c_void, name: *const c_char) -> *mut c_void;
}

fn fake(name: &CStr) -> *mut c_void {
    let path = std::env::var("SCHISM_CUDA").expect("the fake driver");
    let path = CString::new(path).expect("a path");
    unsafe { dlsym(dlopen(path.as_ptr(), 2), name.as_ptr()) }
}

/// How often code was loaded.
fn loads() -> u64 {
    let calls: extern "C" fn(*const c_char) -> u64 = unsafe { std::mem::transmute(fake(c"fake_calls")) };
    calls(c"cuModuleLoadDataEx".as_ptr())
}

/// The hash of the code that was loaded last, as the driver has it.
fn loaded() -> String {
    let code: extern "C" fn() -> *const c_char = unsafe { std::mem::transmute(fake(c"fake_code")) };
    let text = unsafe { CStr::from_ptr(code()) }.to_string_lossy();
    match text.strip_prefix("cubin ") {
        Some(hash) => hash.to_owned(),
        None => format!("{:x}", hash(text.as_bytes())),
    }
}

/// FNV-1a.
fn hash(bytes: &[u8]) -> u64 {
    let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3);
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, step)
}

static FACTOR: SpecConst<u32> = SpecConst::new(3);

/// Says what each launch loads, the first time and the second time.
fn tell(what: &str, launch: &mut dyn FnMut() -> Result<(), LaunchError>) {
    let mut said = format!("{what}:");
    for _ in 0..2 {
        let before = loads();
        if let Err(error) = launch() {
            return println!("{what}: {error}");
        }
        said += &if loads() > before { format!(" {}", loaded()) } else { " nothing".to_owned() };
    }
    println!("{said}");
}

fn main() {
    let queue = match Device::by_name("cuda:0").and_then(|device| Queue::on(&device)) {
        Ok(queue) => queue,
        Err(error) => return println!("{error}"),
    };
    let n = 1 << 12;
    let from = Buffer::filled(&queue, n + 16, 2_u32).expect("memory");
    let mut to = Buffer::filled(&queue, n + 16, 0_u32).expect("memory");
    let mut add = |queue: &Queue, range: usize, begin: usize, seed: u64| {
        let (from, to) = (from.slice(begin..).expect("some are left"), to.view_mut());
        queue.parallel_for(range, move |item| {
            let at = item.x();
            // SAFETY: each work-item has its own element.
            unsafe { to.set_unchecked(at, from[at] * FACTOR.get() + seed as u32) };
        })
    };
    tell("all holds", &mut || add(&queue, n, 0, 32));
    tell("a rest", &mut || add(&queue, n - 1, 0, 32));
    tell("an odd number", &mut || add(&queue, n - 256, 0, 31));
    tell("an address", &mut || add(&queue, n, 1, 32));
    tell("other blocks", &mut || add(&queue.with_block_size(64), n, 0, 32));
    tell("a small range", &mut || add(&queue, 64, 0, 32));
    tell("a large number", &mut || add(&queue, n, 0, 1 << 40));
    tell("not adapted", &mut || add(&queue.with_adaptivity(Adaptivity::Off), n, 0, 32));
    let mut sums = Buffer::filled(&queue, n, 0_u32).expect("memory");
    for group in [256, 128, 64] {
        let range = NdRange::new(n, group).expect("whole groups");
        tell(&format!("groups of {group}"), &mut || {
            let sums = sums.view_mut();
            queue.parallel_for(range, move |item| {
                let tile = local_array!(item, u32; 256);
                tile.set(item.local_x(), item.x() as u32);
                item.barrier();
                let other = tile.get(item.group_size() - 1 - item.local_x());
                // SAFETY: each work-item has its own element.
                unsafe { sums.set_unchecked(item.x(), other) };
            })
        });
    }
    tell("two dimensions", &mut || {
        let sums = sums.view_mut();
        queue.parallel_for([64, 64], move |item| {
            // SAFETY: each work-item has its own element.
            unsafe { sums.set_unchecked(item.linear_id(), item.y() as u32) };
        })
    });
    tell("a constant", &mut || add(&queue.with_constant(&FACTOR, 7), n, 0, 32));
}
