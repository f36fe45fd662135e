//! What a program keeps for its later runs, beside the compiled kernels.

use schism_cache::{Key, Value};

use crate::code::{disk_cache, images};
use crate::kernel::abi::Descriptor;

/// The key of an entry: the purpose and its parts, this version of the runtime, and the program's
/// device code.
fn key(purpose: &str, parts: &[(&str, Vec<u8>)]) -> Key {
    let mut key = Key::builder(purpose).part("version", env!("CARGO_PKG_VERSION").as_bytes());
    for id in images::ids() {
        key = key.part("container", id.as_bytes());
    }
    for (name, bytes) in parts {
        key = key.part(name, bytes);
    }
    key.finish()
}

/// What an earlier run of this program has [kept](remember); `None` if there is nothing.
pub fn recall(purpose: &str, parts: &[(&str, Vec<u8>)]) -> Option<Vec<u8>> {
    disk_cache::read(&key(purpose, parts)).map(|value| value.bytes)
}

/// Keeps bytes for later runs of this program, in the place of those that were kept before. Where
/// kernels are not cached, nothing is kept.
pub fn remember(purpose: &str, parts: &[(&str, Vec<u8>)], bytes: Vec<u8>) {
    disk_cache::write(&key(purpose, parts), &Value { meta: Vec::new(), bytes });
}

/// A hash of a kernel's name, which is the same in all runs of a program.
///
/// # Safety
/// The descriptor is one of a kernel.
pub unsafe fn kernel_hash(descriptor: *const Descriptor) -> u64 {
    // SAFETY: the caller's promise.
    let name = unsafe { (&raw const (*descriptor).name).read() };
    // SAFETY: the same.
    let len = unsafe { (&raw const (*descriptor).name_len).read() };
    // SAFETY: it says where the name is.
    let name = unsafe { std::slice::from_raw_parts(name, len) };
    let key = Key::builder("kernel").part("name", name).finish();
    let first = key.as_bytes().first_chunk().expect("a key has 32 bytes");
    u64::from_le_bytes(*first)
}
