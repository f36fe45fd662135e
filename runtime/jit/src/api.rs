//! The C interface: implements [`schism_jit_abi`] with the rest of this library.
//!
//! Nothing unwinds out of here: a panic becomes [`schism_jit_abi::INTERNAL`].

use std::ffi::{OsStr, c_void};
use std::os::unix::ffi::OsStrExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::OnceLock;

use schism_jit_abi::{
    ABI_VERSION, Bytes, CpuObject, CpuRequest, FLAG_BASE, FLAG_FINITE_MATH, FLAG_IN_PROCESS,
    FLAG_OFFSET, FLAG_OPEN_CONSTANTS, FLAG_PORTABLE_MATH, FLAG_RELAXED_MATH, GpuKernel, GpuRequest,
    JitApi, KernelRequest, OK, TARGET_AMD_ASSEMBLY, TARGET_CODE_OBJECT, TARGET_SPIRV, Text,
};
use schism_passes::spec::options::FastMath;

use crate::common::request::Known;
use crate::cpu::{CpuCode, compile_cpu, cpu_name};
use crate::gpu::compiled::GpuCode;
use crate::gpu::options::{GpuOptions, Libdevice};
use crate::{CompileForGpu, GPU_TARGETS, JitError, Request};
use schism_llvm::fatal::panic_text;

static API: JitApi = JitApi {
    abi_version: ABI_VERSION,
    version: version_bytes,
    cpu_name: cpu_name_bytes,
    compile_cpu: compile_cpu_c,
    release_cpu,
    compile_gpu: compile_gpu_c,
    release_gpu,
    free_text,
    stop,
};

/// The table of functions, or null if `abi_version` is not this library's [`ABI_VERSION`].
#[unsafe(no_mangle)]
pub extern "C" fn schism_jit_api(abi_version: u32) -> *const JitApi {
    if abi_version == ABI_VERSION { &raw const API } else { std::ptr::null() }
}

/// Stage 2's name and version, and LLVM's.
#[must_use]
pub fn version() -> &'static str {
    static VERSION: OnceLock<String> = OnceLock::new();
    VERSION.get_or_init(|| {
        let (major, minor, patch) = schism_llvm::version();
        format!("schism-jit {} (LLVM {major}.{minor}.{patch})", env!("CARGO_PKG_VERSION"))
    })
}

extern "C" fn stop() {
    // It does not panic; if it ever does, compilations go on.
    let _ = catch_unwind(schism_llvm::fatal::stop);
}

extern "C" fn version_bytes() -> Bytes {
    catch_unwind(|| Bytes::new(version().as_bytes())).unwrap_or(Bytes::EMPTY)
}

extern "C" fn cpu_name_bytes() -> Bytes {
    catch_unwind(|| Bytes::new(cpu_name().as_bytes())).unwrap_or(Bytes::EMPTY)
}

unsafe extern "C" fn compile_cpu_c(
    request: *const CpuRequest,
    out: *mut CpuObject,
    error: *mut Text,
) -> u32 {
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        if request.is_null() || out.is_null() {
            return Err(JitError::InvalidRequest("a null pointer".to_owned()));
        }
        // SAFETY: `request` is not null, so the caller promises a readable request, with everything
        // that it points to.
        let request = unsafe { copy_request(&(*request).common, (*request).cpu) }?;
        let code = Box::new(compile_cpu(request)?);
        Ok(CpuObject {
            object: Bytes::new(&code.object),
            flags: code.flags,
            stack: code.stack,
            lower_micros: code.lower_micros,
            failures: Bytes::new(code.failures.as_bytes()),
            // The code is on the heap and does not change, so both stay where they are.
            handle: Box::into_raw(code).cast(),
        })
    }));
    // SAFETY: the caller's promises about `out` and `error`, and without an `out` there is no
    // kernel.
    unsafe { give(outcome, out, error) }
}

/// Writes a kernel, or else the error's text, and returns the code.
///
/// # Safety
/// `out` can be written if there is a kernel; `error` is null or can be written.
unsafe fn give<K>(
    outcome: std::thread::Result<Result<K, JitError>>,
    out: *mut K,
    error: *mut Text,
) -> u32 {
    let failure = match outcome {
        Ok(Ok(kernel)) => {
            // SAFETY: as promised by the caller.
            unsafe { out.write(kernel) };
            return OK;
        }
        Ok(Err(failure)) => failure,
        Err(payload) => JitError::Internal(panic_text(payload.as_ref())),
    };
    if !error.is_null() {
        // SAFETY: `error` is not null, so the caller promises that it can be written.
        unsafe { error.write(owned_text(failure.to_string())) };
    }
    failure.code()
}

unsafe extern "C" fn compile_gpu_c(
    request: *const GpuRequest,
    out: *mut GpuKernel,
    error: *mut Text,
) -> u32 {
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        if request.is_null() || out.is_null() {
            return Err(JitError::InvalidRequest("a null pointer".to_owned()));
        }
        // SAFETY: `request` is not null, so the caller promises a readable request, with everything
        // that it points to.
        let (compile, request, options) = unsafe { copy_gpu_request(&*request)? };
        let code = Box::new(compile(request, options)?);
        let kernel = GpuKernel {
            code: Bytes::new(code.bytes()),
            entry: Bytes::new(code.entry().to_bytes()),
            flags: code.flags(),
            addresses: code.addresses().as_ptr(),
            addresses_len: code.addresses().len(),
            lower_micros: code.lower_micros,
            failures: Bytes::new(code.failures.as_bytes()),
            // The code is on the heap and does not change, so all of this stays where it is.
            handle: Box::into_raw(code).cast(),
        };
        Ok(kernel)
    }));
    // SAFETY: the caller's promises about `out` and `error`, and without an `out` there is no
    // kernel.
    unsafe { give(outcome, out, error) }
}

/// Copies a request, so that nothing stays borrowed.
///
/// # Safety
/// The request's lists and texts can be read.
unsafe fn copy_gpu_request(
    request: &GpuRequest,
) -> Result<(CompileForGpu, Request, GpuOptions), JitError> {
    let invalid = |reason: &str| JitError::InvalidRequest(reason.to_owned());
    let target = GPU_TARGETS.iter().find(|(target, _)| *target == request.target);
    let unknown = || JitError::InvalidRequest(format!("the unknown target {}", request.target));
    let (_, compile) = *target.ok_or_else(unknown)?;
    // SAFETY: the caller promises that the text can be read.
    let has_arch = !unsafe { request.arch.as_slice() }.is_empty();
    if request.target == TARGET_SPIRV && (has_arch || request.isa != 0) {
        return Err(invalid("a processor or a version for SPIR-V, which has none"));
    }
    if [TARGET_CODE_OBJECT, TARGET_AMD_ASSEMBLY].contains(&request.target) && request.isa != 0 {
        return Err(invalid("a version for AMD's processors, which have none"));
    }
    if request.common.flags & FLAG_PORTABLE_MATH != 0 {
        return Err(invalid("a flag that is for the CPU"));
    }
    let common =
        KernelRequest { flags: request.common.flags & !FLAG_BASE, group: [0; 3], ..request.common };
    // SAFETY: the caller's promise about the same lists and texts.
    let common = unsafe { copy_request(&common, Bytes::EMPTY) }?;
    // SAFETY: the caller promises that text and library can be read.
    let (arch, libdevice) = unsafe { (request.arch.as_slice(), request.libdevice.as_slice()) };
    let options = GpuOptions {
        arch: String::from_utf8(arch.to_vec())
            .map_err(|_| invalid("an architecture that is not UTF-8"))?,
        isa: request.isa,
        group: request.common.group,
        assumptions: request.assumptions,
        base: request.common.flags & FLAG_BASE != 0,
        local_align: request.local_align,
        aligned: request.aligned,
        narrow: request.narrow,
        libdevice: Libdevice(libdevice.to_vec()),
        global_ids: false,
    };
    Ok((compile, common, options))
}

unsafe extern "C" fn release_gpu(handle: *mut c_void) {
    if handle.is_null() {
        return;
    }
    // SAFETY: the caller promises a handle that `compile_gpu_c` made of a box of this type and that
    // was not released.
    let code = unsafe { Box::from_raw(handle.cast::<GpuCode>()) };
    // Freeing texts does not panic; if it ever does, leak them rather than unwind.
    let _ = catch_unwind(AssertUnwindSafe(|| drop(code)));
}

/// Copies a request, so that nothing stays borrowed.
///
/// # Safety
/// The request's texts and lists can be read, and `cpu`.
unsafe fn copy_request(request: &KernelRequest, cpu: Bytes) -> Result<Request, JitError> {
    let invalid = |reason: &str| JitError::InvalidRequest(reason.to_owned());
    let has = |flag| request.flags & flag != 0;
    let math = match (has(FLAG_RELAXED_MATH), has(FLAG_FINITE_MATH)) {
        (false, false) => FastMath::PRECISE,
        (true, false) => FastMath::RELAXED,
        (true, true) => FastMath::RELAXED_AND_FINITE,
        (false, true) => return Err(invalid("finite mathematics that is not relaxed")),
    };
    const KNOWN: u32 = FLAG_OFFSET
        | FLAG_RELAXED_MATH
        | FLAG_FINITE_MATH
        | FLAG_PORTABLE_MATH
        | FLAG_OPEN_CONSTANTS
        | FLAG_IN_PROCESS;
    if request.flags & !KNOWN != 0 {
        return Err(invalid("unknown flags"));
    }
    if request.image.ptr.is_null() || request.kernel.ptr.is_null() {
        return Err(invalid("a null pointer"));
    }
    // SAFETY: the caller promises that so many parameters can be read.
    let params = unsafe { slice(request.params, request.params_len) }?;
    // SAFETY: the caller promises that so many constants can be read.
    let constants = unsafe { slice(request.constants, request.constants_len) }?
        .iter()
        .map(|constant| {
            // SAFETY: the caller promises that both can be read.
            let (symbol, value) =
                unsafe { (constant.symbol.as_slice(), constant.value.as_slice()) };
            let symbol = String::from_utf8(symbol.to_vec())
                .map_err(|_| invalid("a constant's symbol that is not UTF-8"))?;
            Ok((symbol, value.to_vec()))
        })
        .collect::<Result<_, JitError>>()?;
    // SAFETY: the caller promises that all three can be read.
    let (image, kernel, cpu) =
        unsafe { (request.image.as_slice(), request.kernel.as_slice(), cpu.as_slice()) };
    // SAFETY: the caller promises that so many values can be read.
    let values = unsafe { slice(request.values, request.values_len) }?
        .iter()
        .map(|value| Known {
            param: value.param,
            // SAFETY: the caller promises that the bytes can be read.
            bytes: unsafe { value.bytes.as_slice() }.to_vec(),
        })
        .collect();
    // SAFETY: the caller promises that so many images can be read.
    let links = unsafe { slice(request.links, request.links_len) }?
        .iter()
        // SAFETY: the caller promises that each can be read.
        .map(|image| unsafe { image.as_slice() }.to_vec())
        .collect();
    // SAFETY: the caller promises that so many settings can be read.
    let settings = unsafe { slice(request.settings, request.settings_len) }?
        .iter()
        .map(|setting| {
            // SAFETY: the caller promises that both can be read.
            let (name, value) = unsafe { (setting.name.as_slice(), setting.value.as_slice()) };
            let name = String::from_utf8(name.to_vec())
                .map_err(|_| invalid("a setting's name that is not UTF-8"))?;
            Ok((name, OsStr::from_bytes(value).to_owned()))
        })
        .collect::<Result<_, JitError>>()?;
    Ok(Request {
        image: image.to_vec(),
        kernel: String::from_utf8(kernel.to_vec())
            .map_err(|_| invalid("a kernel name that is not UTF-8"))?,
        params: params.to_vec(),
        closure_size: request.closure_size,
        closure_align: request.closure_align,
        dimensions: request.dimensions,
        offset: has(FLAG_OFFSET),
        math,
        portable_math: has(FLAG_PORTABLE_MATH),
        constants,
        open_constants: has(FLAG_OPEN_CONSTANTS),
        in_process: has(FLAG_IN_PROCESS),
        cpu: String::from_utf8(cpu.to_vec())
            .map_err(|_| invalid("a processor that is not UTF-8"))?,
        values,
        links,
        group: request.group,
        settings,
    })
}

/// A list of a request: empty, or at a pointer that is not null.
///
/// # Safety
/// Where `pointer` is not null, `len` values can be read there during `'a`.
unsafe fn slice<'a, T>(pointer: *const T, len: usize) -> Result<&'a [T], JitError> {
    if len == 0 {
        return Ok(&[]);
    }
    if pointer.is_null() {
        return Err(JitError::InvalidRequest("a null pointer".to_owned()));
    }
    // SAFETY: the pointer is not null, so the caller promises that `len` values can be read.
    Ok(unsafe { std::slice::from_raw_parts(pointer, len) })
}

unsafe extern "C" fn release_cpu(handle: *mut c_void) {
    if handle.is_null() {
        return;
    }
    // SAFETY: the caller promises a handle that `compile_cpu_c` made of a box of this type and that
    // was not released.
    let code = unsafe { Box::from_raw(handle.cast::<CpuCode>()) };
    // Freeing bytes does not panic; if it ever does, leak them rather than unwind.
    let _ = catch_unwind(AssertUnwindSafe(|| drop(code)));
}

fn owned_text(text: String) -> Text {
    let bytes = Box::leak(text.into_bytes().into_boxed_slice());
    Text { ptr: bytes.as_mut_ptr(), len: bytes.len() }
}

unsafe extern "C" fn free_text(text: Text) {
    if text.ptr.is_null() {
        return;
    }
    // SAFETY: the caller promises a text that `owned_text` leaked as a boxed slice of this length
    // and that was not freed.
    drop(unsafe { Box::from_raw(std::ptr::slice_from_raw_parts_mut(text.ptr, text.len)) });
}

const _: schism_jit_abi::EntryFn = schism_jit_api;
