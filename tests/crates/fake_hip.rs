//! HIP without a GPU: its functions, on what `fake_cuda.rs` has. The variables are those of the fake
//! driver for CUDA, and faults are named by its functions; besides:
//!
//! | variable | meaning |
//! |---|---|
//! | `FAKE_HIP_PROCESSOR` | the processor of each device; `gfx90a:sramecc+:xnack-` |
//! | `FAKE_HIP_CLOCK` | the rate of its clock in kHz; 100000 |
//!
//! A device is lost for good: there are no contexts that could be made anew. Code objects are loaded
//! as a driver does: segments, relocations, symbols. No kernel runs, see `fake_cuda.rs`.

#![allow(non_snake_case, unused_unsafe, clippy::missing_safety_doc)]

#[path = "fake_cuda.rs"]
mod cuda;

use std::collections::HashMap;
use std::env;
use std::ffi::{CStr, CString, c_char, c_int, c_uint, c_void};
use std::sync::{LazyLock, Mutex, PoisonError};

use cuda::{Code, Handle, INVALID_VALUE, NOT_FOUND, SUCCESS, Variable};

/// Functions that are CUDA's but for the name.
macro_rules! same {
    ($($hip:ident = $cuda:ident($($argument:ident: $type:ty),*);)*) => {$(
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $hip($($argument: $type),*) -> Code {
            unsafe { cuda::$cuda($($argument),*) }
        }
    )*};
}

same! {
    hipInit = cuInit(flags: c_uint);
    hipGetDeviceCount = cuDeviceGetCount(count: *mut c_int);
    hipDeviceGet = cuDeviceGet(device: *mut c_int, ordinal: c_int);
    hipDeviceGetName = cuDeviceGetName(name: *mut c_char, len: c_int, device: c_int);
    hipDeviceTotalMem = cuDeviceTotalMem_v2(bytes: *mut usize, device: c_int);
    hipDeviceSetLimit = cuCtxSetLimit(limit: c_uint, value: usize);
    hipMalloc = cuMemAlloc_v2(address: *mut u64, bytes: usize);
    hipFree = cuMemFree_v2(address: u64);
    hipMemGetInfo = cuMemGetInfo_v2(free: *mut usize, total: *mut usize);
    hipMallocManaged = cuMemAllocManaged(to: *mut usize, bytes: usize, flags: c_uint);
    hipMemPrefetchAsync = cuMemPrefetchAsync(address: u64, bytes: usize, device: c_int, stream: Handle);
    hipHostRegister = cuMemHostRegister_v2(address: usize, bytes: usize, flags: c_uint);
    hipHostUnregister = cuMemHostUnregister(address: usize);
    hipHostMalloc = cuMemHostAlloc(to: *mut *mut u8, bytes: usize, flags: c_uint);
    hipHostFree = cuMemFreeHost(address: usize);
    hipHostGetDevicePointer = cuMemHostGetDevicePointer_v2(to: *mut u64, host: u64, flags: c_uint);
    hipMemcpyHtoDAsync = cuMemcpyHtoDAsync_v2(to: u64, from: u64, bytes: usize, stream: Handle);
    hipMemcpyDtoHAsync = cuMemcpyDtoHAsync_v2(to: u64, from: u64, bytes: usize, stream: Handle);
    hipMemcpyDtoDAsync = cuMemcpyDtoDAsync_v2(to: u64, from: u64, bytes: usize, stream: Handle);
    hipMemsetD8Async = cuMemsetD8Async(to: u64, value: u8, count: usize, stream: Handle);
    hipStreamCreateWithFlags = cuStreamCreate(stream: *mut Handle, flags: c_uint);
    hipStreamDestroy = cuStreamDestroy_v2(stream: Handle);
    hipStreamSynchronize = cuStreamSynchronize(stream: Handle);
    hipEventCreateWithFlags = cuEventCreate(event: *mut Handle, flags: c_uint);
    hipEventDestroy = cuEventDestroy_v2(event: Handle);
    hipEventRecord = cuEventRecord(event: Handle, stream: Handle);
    hipEventSynchronize = cuEventSynchronize(event: Handle);
    hipEventQuery = cuEventQuery(event: Handle);
    hipEventElapsedTime = cuEventElapsedTime(to: *mut f32, begin: Handle, end: Handle);
    hipModuleUnload = cuModuleUnload(module: Handle);
    hipModuleGetGlobal = cuModuleGetGlobal_v2(address: *mut u64, bytes: *mut usize, module: Handle, name: *const c_char);
    hipFuncGetAttribute = cuFuncGetAttribute(value: *mut c_int, attribute: c_uint, function: Handle);
    hipFuncSetAttribute = cuFuncSetAttribute(function: Handle, attribute: c_uint, value: c_int);
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipRuntimeGetVersion(version: *mut c_int) -> Code {
    unsafe { version.write(60_342_134) };
    SUCCESS
}

fn texts(code: Code) -> Option<(&'static CStr, &'static CStr)> {
    Some(match code {
        0 => (c"hipSuccess", c"no error"),
        1 => (c"hipErrorInvalidValue", c"invalid argument"),
        2 => (c"hipErrorOutOfMemory", c"out of memory"),
        101 => (c"hipErrorInvalidDevice", c"invalid device ordinal"),
        209 => (c"hipErrorNoBinaryForGpu", c"no kernel image is available for execution on the device"),
        700 => (c"hipErrorIllegalAddress", c"an illegal memory access was encountered"),
        719 => (c"hipErrorLaunchFailure", c"unspecified launch failure"),
        _ => return None,
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipDrvGetErrorName(code: Code, name: *mut *const c_char) -> Code {
    let Some((text, _)) = texts(code) else { return INVALID_VALUE };
    unsafe { name.write(text.as_ptr()) };
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipDrvGetErrorString(code: Code, text: *mut *const c_char) -> Code {
    let Some((_, known)) = texts(code) else { return INVALID_VALUE };
    unsafe { text.write(known.as_ptr()) };
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipDeviceGetAttribute(value: *mut c_int, what: c_uint, _: c_int) -> Code {
    let known = match what {
        3 => 1,
        26 | 27 | 28 | 56 => 1024,
        29..=31 => i32::MAX,
        63 => 4,
        65 => 0,
        74 => 64 << 10,
        10_017 => cuda::number("FAKE_HIP_CLOCK", 100_000) as c_int,
        _ => return INVALID_VALUE,
    };
    unsafe { value.write(known) };
    SUCCESS
}

/// The structure has 1472 bytes, and the processor's name is at 1160.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipGetDevicePropertiesR0600(properties: *mut u8, _: c_int) -> Code {
    let name = env::var("FAKE_HIP_PROCESSOR").unwrap_or("gfx90a:sramecc+:xnack-".to_owned());
    let name = CString::new(name).expect("no NUL");
    unsafe {
        properties.write_bytes(0, 1472);
        let bytes = name.as_bytes_with_nul();
        properties.add(1160).copy_from_nonoverlapping(bytes.as_ptr(), bytes.len());
    }
    SUCCESS
}

/// The context that stands for a device.
static DEVICES: LazyLock<Mutex<HashMap<c_int, Handle>>> = LazyLock::new(Mutex::default);

#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipSetDevice(device: c_int) -> Code {
    let mut devices = DEVICES.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(&context) = devices.get(&device) {
        return unsafe { cuda::cuCtxSetCurrent(context) };
    }
    let mut context = 0;
    let code = unsafe { cuda::cuCtxCreate_v2(&mut context, 0, device) };
    if code == SUCCESS {
        devices.insert(device, context);
    }
    code
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipModuleLoadDataEx(
    module: *mut Handle,
    image: *const u8,
    options: c_uint,
    _: *mut c_uint,
    _: *mut *mut c_void,
) -> Code {
    if let Err(code) = cuda::may_load() {
        return code;
    }
    assert_eq!(options, 0, "options that HIP does not know");
    assert_eq!(image as usize % 8, 0, "headers are read in place");
    let file = CodeObject(image);
    let (memory, symbols) = unsafe { file.load() };
    cuda::keep(module, c"a code object".to_owned(), vec![memory], symbols)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipModuleGetFunction(
    function: *mut Handle,
    module: Handle,
    name: *const c_char,
) -> Code {
    let text = unsafe { CStr::from_ptr(name) }.to_string_lossy();
    // The driver finds a kernel by its descriptor.
    if !cuda::has_symbol(module, &format!("{text}.kd")) {
        return NOT_FOUND;
    }
    unsafe { cuda::cuModuleGetFunction(function, module, name) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipModuleLaunchKernel(
    function: Handle,
    grid_x: c_uint,
    grid_y: c_uint,
    grid_z: c_uint,
    block_x: c_uint,
    block_y: c_uint,
    block_z: c_uint,
    shared: c_uint,
    stream: Handle,
    parameters: *mut *mut c_void,
    extra: *mut *mut c_void,
) -> Code {
    let (grid, block) = ([grid_x, grid_y, grid_z], [block_x, block_y, block_z]);
    // The driver refuses launches with more work-items, and larger groups.
    let is_small = |axis| u64::from(grid[axis]) * u64::from(block[axis]) < 1 << 32;
    if !(0..3).all(is_small) || block.iter().product::<c_uint>() > 1024 || shared > 64 << 10 {
        return INVALID_VALUE;
    }
    unsafe {
        cuda::cuLaunchKernel(
            function, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared, stream, parameters, extra,
        )
    }
}

/// An ELF file in memory.
struct CodeObject(*const u8);

impl CodeObject {
    unsafe fn at<T: Copy>(&self, offset: u64) -> T {
        unsafe { self.0.add(offset as usize).cast::<T>().read_unaligned() }
    }

    /// Loads it to memory of the device, and finds its symbols.
    unsafe fn load(&self) -> (Variable, Vec<Variable>) {
        const LOAD: u32 = 1;
        const DYNAMIC: u32 = 2;
        let at = |offset| unsafe { self.at::<u64>(offset) };
        assert_eq!(unsafe { self.at::<[u8; 4]>(0) }, *b"\x7fELF");
        assert_eq!(unsafe { self.at::<u16>(18) }, 224, "the machine");
        let (first, count) = (at(32), u64::from(unsafe { self.at::<u16>(56) }));
        // Type, offset, address, bytes in the file, bytes in memory.
        let segments: Vec<(u32, [u64; 4])> = (0..count)
            .map(|index| first + 56 * index)
            .map(|header| {
                let kind = unsafe { self.at::<u32>(header) };
                (kind, [8, 16, 32, 40].map(|field| at(header + field)))
            })
            .collect();
        let loaded = segments.iter().filter(|(kind, _)| *kind == LOAD);
        let end = loaded.clone().map(|(_, [_, address, _, bytes])| address + bytes).max();
        let end = end.expect("segments") as usize;
        let base = cuda::module_memory(end);
        for (_, [offset, address, bytes, _]) in loaded {
            let from = unsafe { self.0.add(*offset as usize) };
            let to = (base + address) as *mut u8;
            unsafe { to.copy_from_nonoverlapping(from, *bytes as usize) };
        }
        // From here on in memory.
        let memory = Self(base as *const u8);
        let of = |offset| unsafe { memory.at::<u64>(offset) };
        let (_, [_, dynamic, ..]) = segments.iter().find(|(kind, _)| *kind == DYNAMIC).expect("it has one");
        let mut tags: HashMap<u64, u64> = HashMap::new();
        for index in 0.. {
            match of(dynamic + 16 * index) {
                0 => break,
                tag => tags.insert(tag, of(dynamic + 16 * index + 8)),
            };
        }
        let tag = |number| tags.get(&number).copied();
        let (texts, table, hash) = (tag(5).expect("names"), tag(6).expect("symbols"), tag(4).expect("a hash"));
        let count = u64::from(unsafe { memory.at::<u32>(hash + 4) });
        let value = |index: u64| of(table + 24 * index + 8);
        let symbols = (1..count).map(|index| {
            let name = u64::from(unsafe { memory.at::<u32>(table + 24 * index) });
            let name = unsafe { CStr::from_ptr(memory.0.add((texts + name) as usize).cast()) };
            let bytes = of(table + 24 * index + 16) as usize;
            (name.to_str().expect("UTF-8").to_owned(), base + value(index), bytes)
        });
        for index in 0..tag(8).unwrap_or(0) / 24 {
            let entry = tag(7).expect("relocations") + 24 * index;
            let [place, what, addend] = [0, 8, 16].map(|field| of(entry + field));
            let target = match what as u32 {
                // The address of a symbol, and that of the file.
                3 => value(what >> 32) + addend,
                13 => addend,
                other => panic!("the relocation {other}"),
            };
            unsafe { ((base + place) as *mut u64).write_unaligned(base + target) };
        }
        ((String::new(), base, end), symbols.collect())
    }
}
