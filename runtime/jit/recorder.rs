//! What kernels on GPUs call to leave a message. The build script compiles this to bitcode, and stage 2 links it to what it lowers;
//! it is no part of the library.
#![no_std]

#[path = "../../passes/message/src/recorder.rs"]
mod recorder;
#[path = "../../passes/message/src/walk.rs"]
mod walk;

use recorder::Place;
use schism_jit_abi::GpuRecord;
// The two modules know these as their own crate's.
use schism_message::{ARGUMENT_SIZE, Descriptor, Kind, MAGIC, Part};

/// A message's words and its work-item, as the two functions take them.
fn place(x: u64, y: u64, z: u64, i: u32, j: u32, k: u32, in_group: bool) -> Place {
    Place { global_id: [x, y, z], local_id: [i.into(), j.into(), k.into()], in_group }
}

unsafe extern "C" {
    /// Whether there is a function at the address. Stage 2 defines it for each kernel.
    safe fn __schism_gpu_is_code(address: u64) -> bool;
}

fn is_code(address: u64) -> bool {
    __schism_gpu_is_code(address)
}

fn word(word: *const u8) -> u64 {
    word.expose_provenance() as u64
}

/// Leaves the message of a panic.
///
/// # Safety
/// As for [`recorder::panic`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __schism_gpu_panic(
    record: *mut GpuRecord,
    template: *const u8,
    args: *const u8,
    location: *const u8,
    x: u64,
    y: u64,
    z: u64,
    i: u32,
    j: u32,
    k: u32,
    in_group: bool,
) {
    let place = place(x, y, z, i, j, k, in_group);
    // SAFETY: the caller's promise.
    unsafe { recorder::panic::<false>(record, word(template), word(args), word(location), &place) };
}

/// Leaves a message that is printed.
///
/// # Safety
/// As for [`recorder::print`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __schism_gpu_print(
    record: *mut GpuRecord,
    template: *const u8,
    args: *const u8,
    x: u64,
    y: u64,
    z: u64,
    i: u32,
    j: u32,
    k: u32,
    in_group: bool,
) {
    let place = place(x, y, z, i, j, k, in_group);
    // SAFETY: the caller's promise.
    unsafe { recorder::print::<false>(record, word(template), word(args), &place) };
}

/// Leaves the message of a panic, all of whose values are plain.
///
/// # Safety
/// As for [`recorder::panic`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __schism_gpu_panic_plain(
    record: *mut GpuRecord,
    template: *const u8,
    args: *const u8,
    location: *const u8,
    x: u64,
    y: u64,
    z: u64,
    i: u32,
    j: u32,
    k: u32,
    in_group: bool,
) {
    let place = place(x, y, z, i, j, k, in_group);
    // SAFETY: the caller's promise.
    unsafe { recorder::panic::<true>(record, word(template), word(args), word(location), &place) };
}

/// Leaves a message that is printed, all of whose values are plain.
///
/// # Safety
/// As for [`recorder::print`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __schism_gpu_print_plain(
    record: *mut GpuRecord,
    template: *const u8,
    args: *const u8,
    x: u64,
    y: u64,
    z: u64,
    i: u32,
    j: u32,
    k: u32,
    in_group: bool,
) {
    let place = place(x, y, z, i, j, k, in_group);
    // SAFETY: the caller's promise.
    unsafe { recorder::print::<true>(record, word(template), word(args), &place) };
}
