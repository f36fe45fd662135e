//! What kernels on GPUs call to leave a message. The build script compiles this to bitcode, and stage 2 links it to what it lowers;
//! it is no part of the library.
#![no_std]

#[path = "../../passes/message/src/recorder.rs"]
mod recorder;
#[path = "../../passes/message/src/walk.rs"]
mod walk;

use recorder::WorkItem;
use schism_jit_abi::GpuMessageBuffer;
// The two modules know these as their own crate's.
use schism_message::{ARGUMENT_SIZE, Descriptor, Kind, MAGIC, Part};

/// A message's words and its work-item, as the two functions take them.
fn work_item(x: u64, y: u64, z: u64, i: u32, j: u32, k: u32, in_group: bool) -> WorkItem {
    WorkItem { global_id: [x, y, z], local_id: [i.into(), j.into(), k.into()], in_group }
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
    buffer: *mut GpuMessageBuffer,
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
    let work_item = work_item(x, y, z, i, j, k, in_group);
    // SAFETY: the caller's promise.
    unsafe {
        recorder::panic::<false>(buffer, word(template), word(args), word(location), &work_item)
    };
}

/// Leaves a message that is printed.
///
/// # Safety
/// As for [`recorder::print`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __schism_gpu_print(
    buffer: *mut GpuMessageBuffer,
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
    let work_item = work_item(x, y, z, i, j, k, in_group);
    // SAFETY: the caller's promise.
    unsafe { recorder::print::<false>(buffer, word(template), word(args), &work_item) };
}

/// Leaves the message of a panic, all of whose values are plain.
///
/// # Safety
/// As for [`recorder::panic`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __schism_gpu_panic_plain(
    buffer: *mut GpuMessageBuffer,
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
    let work_item = work_item(x, y, z, i, j, k, in_group);
    // SAFETY: the caller's promise.
    unsafe {
        recorder::panic::<true>(buffer, word(template), word(args), word(location), &work_item)
    };
}

/// Leaves a message that is printed, all of whose values are plain.
///
/// # Safety
/// As for [`recorder::print`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __schism_gpu_print_plain(
    buffer: *mut GpuMessageBuffer,
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
    let work_item = work_item(x, y, z, i, j, k, in_group);
    // SAFETY: the caller's promise.
    unsafe { recorder::print::<true>(buffer, word(template), word(args), &work_item) };
}
