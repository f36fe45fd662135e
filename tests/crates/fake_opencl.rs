//! A driver of OpenCL without a device: it has the functions that the runtime calls, and plain
//! memory of the process. It runs no kernels: each command has ended at once.
//!
//! `FAKE_OPENCL` says what it lacks or what fails, separated by commas:
//!
//! | word | meaning |
//! |---|---|
//! | `no-platforms`, `null-platform` | the loader finds no driver; it gives one that is none |
//! | `two-platforms` | there are two platforms of the same name, with the same devices |
//! | `no-device` | the platform has no device |
//! | `no-spirv` | the device takes no SPIR-V |
//! | `no-memory` | host and device share none |
//! | `svm` | they share only what OpenCL 2 calls shared virtual memory |
//! | `svm-system`, `usm-system` | kernels use all of the host's memory, in the words of OpenCL 2 or of Intel's extension |
//! | `no-doubles` | no numbers of 64 bits with a fraction |
//! | `no-long-atomics` | no atomic accesses of 64 bits |
//! | `no-sub-groups` | no sub-groups of 32 work-items |
//! | `small` | groups of 16 work-items, local memory of 1 KiB |
//! | `build` | no program can be built |
//! | `gone` | the device vanishes with the first launch: that launch ends with an error, and nothing works afterwards |
//! | `context`, `queue`, `allocation`, `kernel`, `launch`, `wait` | that call fails |

#![allow(non_snake_case, clippy::missing_safety_doc)]

use std::alloc::{Layout, alloc_zeroed};
use std::ffi::{CStr, c_char, c_void};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

type Code = i32;
/// A handle, which is only compared with null.
type Handle = *mut c_void;

const SUCCESS: Code = 0;
const DEVICE_NOT_FOUND: Code = -1;
const DEVICE_NOT_AVAILABLE: Code = -2;
const EXECUTION_FAILED: Code = -14;
const OUT_OF_RESOURCES: Code = -5;
const BUILD_FAILED: Code = -11;
const INVALID_VALUE: Code = -30;

/// Whether the device has vanished.
static IS_GONE: AtomicBool = AtomicBool::new(false);

fn is_set(word: &str) -> bool {
    let words = std::env::var("FAKE_OPENCL").unwrap_or_default();
    words.split(',').any(|other| other == word)
}

fn handle(number: usize) -> Handle {
    std::ptr::without_provenance_mut(number)
}

/// A result of a call that can be made to fail.
fn result(call: &str) -> Code {
    if is_set(call) { OUT_OF_RESOURCES } else { SUCCESS }
}

/// A handle of a call that can be made to fail.
unsafe fn made(call: &str, code: *mut Code) -> Handle {
    unsafe { code.write(result(call)) };
    if is_set(call) { null_mut() } else { handle(64) }
}

/// Answers a question with bytes.
unsafe fn answer(bytes: &[u8], room: usize, value: *mut c_void, size: *mut usize) -> Code {
    unsafe {
        if !size.is_null() {
            size.write(bytes.len());
        }
        if value.is_null() {
            return SUCCESS;
        }
        if room < bytes.len() {
            return INVALID_VALUE;
        }
        value.cast::<u8>().copy_from_nonoverlapping(bytes.as_ptr(), bytes.len());
    }
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn clGetPlatformIDs(_: u32, ids: *mut Handle, all: *mut u32) -> Code {
    if is_set("no-platforms") {
        // What loaders say without drivers.
        return -1001;
    }
    let both = is_set("two-platforms");
    unsafe {
        ids.write(if is_set("null-platform") { null_mut() } else { handle(16) });
        if both {
            ids.add(1).write(handle(17));
        }
        all.write(1 + u32::from(both));
    }
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn clGetPlatformInfo(
    _: Handle,
    _: u32,
    room: usize,
    value: *mut c_void,
    size: *mut usize,
) -> Code {
    unsafe { answer(b"Fakes\0", room, value, size) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn clGetDeviceIDs(
    _: Handle,
    _: u64,
    _: u32,
    ids: *mut Handle,
    all: *mut u32,
) -> Code {
    if is_set("no-device") {
        return DEVICE_NOT_FOUND;
    }
    unsafe {
        ids.write(handle(32));
        ids.add(1).write(handle(33));
        all.write(2);
    }
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn clGetDeviceInfo(
    device: Handle,
    what: u32,
    room: usize,
    value: *mut c_void,
    size: *mut usize,
) -> Code {
    let has = |word: &str| u64::from(!is_set(word));
    let small = is_set("small");
    let usm = u64::from(!is_set("no-memory") && !is_set("svm"));
    let number: u64 = match what {
        0x1002 => return unsafe { answer(&4_u32.to_le_bytes(), room, value, size) },
        0x1004 => if small { 16 } else { 8192 },
        0x101B => 0xFF,
        0x1023 => if small { 1024 } else { 65_536 },
        0x1032 => has("no-doubles") * 0x3F,
        0x1053 => u64::from(is_set("svm")) * 3 + u64::from(is_set("svm-system")) * 4,
        0x4190 | 0x4192 => usm * 15,
        0x4194 => u64::from(is_set("usm-system")),
        0x4108 => {
            let sizes = if is_set("no-sub-groups") { [8_u64, 16] } else { [16, 32] };
            return unsafe { answer(sizes.map(u64::to_le_bytes).as_flattened(), room, value, size) };
        }
        _ => {
            let text = match what {
                0x102B if device == handle(32) => "Paper One",
                0x102B => "Paper Two",
                0x102C => "Acme Inc.",
                0x105B if is_set("no-spirv") => "",
                0x105B => "SPIR-V_1.2",
                0x1030 => {
                    "cl_khr_subgroup_ballot cl_khr_subgroup_shuffle cl_intel_required_subgroup_size"
                }
                0x102D | 0x102F => "1.0",
                _ => return INVALID_VALUE,
            };
            let mut text = text.to_owned();
            if what == 0x1030 && !is_set("no-long-atomics") {
                text += " cl_khr_int64_base_atomics cl_khr_int64_extended_atomics";
            }
            text.push('\0');
            return unsafe { answer(text.as_bytes(), room, value, size) };
        }
    };
    unsafe { answer(&number.to_le_bytes(), room, value, size) }
}

unsafe fn allocate(bytes: usize, align: u32) -> *mut c_void {
    match Layout::from_size_align(bytes, align as usize) {
        // SAFETY: there are more than 0 bytes. What is freed stays allocated.
        Ok(layout) if !is_set("allocation") => unsafe { alloc_zeroed(layout).cast() },
        _ => null_mut(),
    }
}

pub unsafe extern "C" fn clSharedMemAllocINTEL(
    _: Handle,
    _: Handle,
    _: *const u64,
    bytes: usize,
    align: u32,
    code: *mut Code,
) -> *mut c_void {
    unsafe {
        code.write(result("allocation"));
        allocate(bytes, align)
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn clSVMAlloc(_: Handle, _: u64, bytes: usize, align: u32) -> *mut c_void {
    unsafe { allocate(bytes, align) }
}

pub unsafe extern "C" fn clMemBlockingFreeINTEL(_: Handle, _: *mut c_void) -> Code {
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn clSVMFree(_: Handle, _: *mut c_void) {}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn clSetKernelArgSVMPointer(_: Handle, _: u32, _: *const c_void) -> Code {
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn clEnqueueSVMMemcpy(
    _: Handle,
    _: u32,
    to: *mut c_void,
    from: *const c_void,
    bytes: usize,
    _: u32,
    _: *const Handle,
    _: *mut Handle,
) -> Code {
    unsafe { to.copy_from_nonoverlapping(from, bytes) };
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn clGetExtensionFunctionAddressForPlatform(
    _: Handle,
    name: *const c_char,
) -> *mut c_void {
    if is_set("no-memory") || is_set("svm") {
        return null_mut();
    }
    match unsafe { CStr::from_ptr(name) }.to_bytes() {
        b"clSharedMemAllocINTEL" => clSharedMemAllocINTEL as *mut c_void,
        b"clMemBlockingFreeINTEL" => clMemBlockingFreeINTEL as *mut c_void,
        b"clSetKernelArgMemPointerINTEL" => clSetKernelArgSVMPointer as *mut c_void,
        b"clEnqueueMemcpyINTEL" => clEnqueueSVMMemcpy as *mut c_void,
        _ => null_mut(),
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn clCreateContext(
    _: *const isize,
    _: u32,
    _: *const Handle,
    _: *mut c_void,
    _: *mut c_void,
    code: *mut Code,
) -> Handle {
    unsafe { made("context", code) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn clCreateCommandQueueWithProperties(
    _: Handle,
    _: Handle,
    _: *const u64,
    code: *mut Code,
) -> Handle {
    unsafe { made("queue", code) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn clCreateProgramWithIL(
    _: Handle,
    _: *const c_void,
    _: usize,
    code: *mut Code,
) -> Handle {
    unsafe { made("program", code) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn clBuildProgram(
    _: Handle,
    _: u32,
    _: *const Handle,
    _: *const c_char,
    _: *mut c_void,
    _: *mut c_void,
) -> Code {
    if is_set("build") { BUILD_FAILED } else { SUCCESS }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn clGetProgramBuildInfo(
    _: Handle,
    _: Handle,
    _: u32,
    room: usize,
    value: *mut c_void,
    size: *mut usize,
) -> Code {
    unsafe { answer(b"paper jam in line 7\0", room, value, size) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn clCreateKernel(_: Handle, _: *const c_char, code: *mut Code) -> Handle {
    unsafe { made("kernel", code) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn clGetKernelWorkGroupInfo(
    _: Handle,
    _: Handle,
    _: u32,
    room: usize,
    value: *mut c_void,
    size: *mut usize,
) -> Code {
    unsafe { answer(&8192_u64.to_le_bytes(), room, value, size) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn clSetKernelExecInfo(
    _: Handle,
    _: u32,
    _: usize,
    _: *const c_void,
) -> Code {
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn clSetKernelArg(_: Handle, _: u32, _: usize, _: *const c_void) -> Code {
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn clEnqueueNDRangeKernel(
    _: Handle,
    _: Handle,
    _: u32,
    _: *const usize,
    _: *const usize,
    _: *const usize,
    _: u32,
    _: *const Handle,
    event: *mut Handle,
) -> Code {
    if IS_GONE.load(Relaxed) {
        return DEVICE_NOT_AVAILABLE;
    }
    if !is_set("launch") {
        unsafe { event.write(handle(128)) };
    }
    IS_GONE.store(is_set("gone"), Relaxed);
    result("launch")
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn clWaitForEvents(_: u32, _: *const Handle) -> Code {
    if IS_GONE.load(Relaxed) { EXECUTION_FAILED } else { result("wait") }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn clGetEventInfo(
    _: Handle,
    _: u32,
    room: usize,
    value: *mut c_void,
    size: *mut usize,
) -> Code {
    let status = if IS_GONE.load(Relaxed) { OUT_OF_RESOURCES } else { 0 };
    unsafe { answer(&status.to_le_bytes(), room, value, size) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn clGetEventProfilingInfo(
    _: Handle,
    _: u32,
    room: usize,
    value: *mut c_void,
    size: *mut usize,
) -> Code {
    unsafe { answer(&7_u64.to_le_bytes(), room, value, size) }
}

macro_rules! nothing {
    ($($name:ident)*) => {$(
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(_: Handle) -> Code {
            SUCCESS
        }
    )*};
}
nothing!(clReleaseCommandQueue clFlush clFinish clReleaseProgram clReleaseKernel clReleaseEvent);
