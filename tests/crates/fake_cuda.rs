//! A driver without a GPU: it has the functions of NVIDIA's that the runtime calls, and plain
//! memory of the process in place of a device's. It runs no kernels; a program can say what a
//! launch shall do, see `fake_on_launch`. The variables of loaded code are in its memory, see
//! `fake_variable`.
//!
//! | variable | meaning |
//! |---|---|
//! | `FAKE_CUDA_DEVICES` | how many devices there are; 1 |
//! | `FAKE_CUDA_MEMORY` | bytes that each has; 1 GiB |
//! | `FAKE_CUDA_VERSION` | the driver's version; 12040 |
//! | `FAKE_CUDA_CAPABILITY` | the compute capability of each, times ten; 90 |
//! | `FAKE_CUDA_FAULTS` | what fails: `FUNCTION:WHICH=CODE`, separated by commas. `WHICH` counts the calls from 1; `*` is every call. With `@N` behind the function's name, the call must be for device `N` |
//!
//! `fake_hip.rs` is the same with HIP's functions.
//!
//! Codes of 700 and more take the context with them, as a driver's do.

#![allow(non_snake_case, clippy::missing_safety_doc)]

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::cell::Cell;
use std::collections::{BTreeMap, HashMap};
use std::env;
use std::ffi::{CStr, CString, c_char, c_int, c_uint, c_void};
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

pub type Code = u32;
/// A number in a pointer's place.
pub type Handle = usize;

pub const OUT_OF_MEMORY: Code = 2;
pub const INVALID_VALUE: Code = 1;
const NO_CONTEXT: Code = 201;
const INVALID_HANDLE: Code = 400;
pub const NOT_FOUND: Code = 500;
pub const SUCCESS: Code = 0;

struct Context {
    device: c_int,
    used: usize,
    lost: Option<Code>,
}

struct Fault {
    function: String,
    device: Option<c_int>,
    which: Option<u64>,
    code: Code,
}

#[derive(Default)]
struct State {
    contexts: HashMap<Handle, Context>,
    next: Handle,
    /// Size and context of each piece of device memory.
    memory: BTreeMap<u64, (usize, Handle)>,
    host: BTreeMap<usize, usize>,
    /// Memory of the process that was registered: address and size.
    registered: BTreeMap<usize, usize>,
    /// Copies that a stream has not come to: numbers, addresses and bytes. Those of other memory of
    /// the host's are made at once, as a driver does, which has copied such memory when its
    /// function returns.
    copies: BTreeMap<Handle, Vec<(u64, u64, u64, usize)>>,
    /// Copies so far.
    copied: u64,
    /// The stream of an event, and the copies before it.
    events: HashMap<Handle, (Handle, u64)>,
    /// The contexts of streams, events, modules and functions.
    owners: HashMap<Handle, Handle>,
    /// Names of functions.
    functions: HashMap<Handle, CString>,
    /// What was loaded last.
    code: CString,
    /// What of each loaded module has its own memory, and names in it: name, address, bytes.
    variables: BTreeMap<Handle, Vec<Variable>>,
    symbols: BTreeMap<Handle, Vec<Variable>>,
    calls: HashMap<&'static str, u64>,
    faults: Vec<Fault>,
    on_launch: Option<OnLaunch>,
}

/// The name of a variable, its address and its bytes.
pub type Variable = (String, u64, usize);

/// What runs in place of a kernel: its name, blocks, threads of a block, bytes of shared memory,
/// the addresses of its parameters.
type OnLaunch = extern "C" fn(*const c_char, *const c_uint, *const c_uint, c_uint, *mut *mut c_void);

static STATE: LazyLock<Mutex<State>> = LazyLock::new(|| {
    let faults = env::var("FAKE_CUDA_FAULTS").unwrap_or_default();
    let faults = faults.split(',').filter(|fault| !fault.is_empty()).map(|fault| {
        let (call, code) = fault.split_once('=').expect("FUNCTION:WHICH=CODE");
        let (function, which) = call.split_once(':').expect("FUNCTION:WHICH=CODE");
        let (function, device) = match function.split_once('@') {
            Some((function, device)) => (function, Some(device.parse().expect("a device"))),
            None => (function, None),
        };
        let which = (which != "*").then(|| which.parse().expect("a number"));
        let code = code.parse().expect("a code");
        Fault { function: function.to_owned(), device, which, code }
    });
    Mutex::new(State { faults: faults.collect(), next: 0x1000, ..State::default() })
});

thread_local! {
    static CURRENT: Cell<Handle> = const { Cell::new(0) };
}

fn state() -> MutexGuard<'static, State> {
    STATE.lock().unwrap_or_else(PoisonError::into_inner)
}

pub fn number(variable: &str, default: usize) -> usize {
    env::var(variable).map_or(default, |value| value.parse().expect("a number"))
}

impl State {
    /// Counts a call, and fails if it shall, or if the context is lost.
    fn call(&mut self, function: &'static str, device: Option<c_int>) -> Result<(), Code> {
        let calls = self.calls.entry(function).or_default();
        *calls += 1;
        let calls = *calls;
        let context = self.contexts.get_mut(&CURRENT.get());
        let device = device.or_else(|| context.as_ref().map(|context| context.device));
        let fault = self.faults.iter().find(|fault| {
            fault.function == function
                && fault.device.is_none_or(|wanted| Some(wanted) == device)
                && fault.which.is_none_or(|which| which == calls)
        });
        if let Some(fault) = fault {
            if fault.code >= 700
                && let Some(context) = context
            {
                context.lost.get_or_insert(fault.code);
            }
            return Err(fault.code);
        }
        Ok(())
    }

    /// As `call`, for functions that need a context that is well.
    fn in_context(&mut self, function: &'static str) -> Result<&mut Context, Code> {
        self.call(function, None)?;
        let context = self.contexts.get_mut(&CURRENT.get()).ok_or(NO_CONTEXT)?;
        match context.lost {
            Some(code) => Err(code),
            None => Ok(context),
        }
    }

    fn handle(&mut self) -> Handle {
        self.next += 0x10;
        self.next
    }

    /// Whether so many bytes there are one context's.
    fn owns(&self, address: u64, bytes: usize) -> bool {
        self.memory.range(..=address).next_back().is_some_and(|(begin, (size, context))| {
            *context == CURRENT.get() && address + bytes as u64 <= begin + *size as u64
        })
    }
}

impl State {
    /// Whether so many bytes are memory of the host that was got from here.
    fn is_pinned(&self, address: u64, bytes: usize) -> bool {
        let address = address as usize;
        self.host
            .range(..=address)
            .next_back()
            .is_some_and(|(begin, size)| address + bytes <= begin + size)
    }

    /// Makes the copies of a stream up to a number.
    fn come_to(&mut self, stream: Handle, number: u64) {
        for (_, to, from, bytes) in
            self.copies.entry(stream).or_default().extract_if(.., |copy| copy.0 <= number)
        {
            unsafe { std::ptr::copy_nonoverlapping(from as *const u8, to as *mut u8, bytes) };
        }
    }
}

pub fn code(result: Result<(), Code>) -> Code {
    result.err().unwrap_or(SUCCESS)
}

const fn layout(bytes: usize) -> Layout {
    match Layout::from_size_align(bytes, 512) {
        Ok(layout) => layout,
        Err(_) => panic!(),
    }
}

// What programs use.

/// How often a function was called.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fake_calls(function: *const c_char) -> u64 {
    let function = unsafe { CStr::from_ptr(function) }.to_str().expect("UTF-8");
    state().calls.get(function).copied().unwrap_or(0)
}

/// What launches shall do from now on.
#[unsafe(no_mangle)]
pub extern "C" fn fake_on_launch(on_launch: OnLaunch) {
    state().on_launch = Some(on_launch);
}

/// The code that was loaded last. It is there until the next is loaded.
#[unsafe(no_mangle)]
pub extern "C" fn fake_code() -> *const c_char {
    state().code.as_ptr()
}

/// Bytes of device memory that are taken.
#[unsafe(no_mangle)]
pub extern "C" fn fake_memory() -> usize {
    state().memory.values().map(|(size, _)| size).sum()
}

/// The address of a variable of the module that was loaded last of those that have it, or null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fake_variable(name: *const c_char) -> u64 {
    let name = unsafe { CStr::from_ptr(name) }.to_str().expect("UTF-8");
    let state = state();
    let all = state.variables.values().rev().chain(state.symbols.values().rev()).flatten();
    let found = all.into_iter().find(|variable| variable.0 == name);
    found.map_or(0, |variable| variable.1)
}

// The driver's functions.

#[unsafe(no_mangle)]
pub extern "C" fn cuInit(_: c_uint) -> Code {
    code(state().call("cuInit", None))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDriverGetVersion(version: *mut c_int) -> Code {
    unsafe { version.write(number("FAKE_CUDA_VERSION", 12040) as c_int) };
    SUCCESS
}

fn texts(code: Code) -> Option<(&'static CStr, &'static CStr)> {
    Some(match code {
        0 => (c"CUDA_SUCCESS", c"no error"),
        1 => (c"CUDA_ERROR_INVALID_VALUE", c"invalid argument"),
        2 => (c"CUDA_ERROR_OUT_OF_MEMORY", c"out of memory"),
        101 => (c"CUDA_ERROR_INVALID_DEVICE", c"invalid device ordinal"),
        201 => (c"CUDA_ERROR_INVALID_CONTEXT", c"invalid device context"),
        218 => (c"CUDA_ERROR_INVALID_PTX", c"a PTX JIT compilation failed"),
        700 => (c"CUDA_ERROR_ILLEGAL_ADDRESS", c"an illegal memory access was encountered"),
        719 => (c"CUDA_ERROR_LAUNCH_FAILED", c"unspecified launch failure"),
        _ => return None,
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuGetErrorName(code: Code, name: *mut *const c_char) -> Code {
    let Some((text, _)) = texts(code) else { return INVALID_VALUE };
    unsafe { name.write(text.as_ptr()) };
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuGetErrorString(code: Code, text: *mut *const c_char) -> Code {
    let Some((_, known)) = texts(code) else { return INVALID_VALUE };
    unsafe { text.write(known.as_ptr()) };
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDeviceGetCount(count: *mut c_int) -> Code {
    code(state().call("cuDeviceGetCount", None).map(|()| unsafe {
        count.write(number("FAKE_CUDA_DEVICES", 1) as c_int);
    }))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDeviceGet(device: *mut c_int, ordinal: c_int) -> Code {
    code(state().call("cuDeviceGet", Some(ordinal)).map(|()| unsafe { device.write(ordinal) }))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDeviceGetName(name: *mut c_char, len: c_int, _: c_int) -> Code {
    let text = c"A GPU that is none";
    assert!(text.count_bytes() < len as usize);
    unsafe { text.as_ptr().copy_to(name, text.count_bytes() + 1) };
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDeviceGetAttribute(value: *mut c_int, what: c_uint, _: c_int) -> Code {
    let known = match what {
        1 => 1024,
        2 | 3 => 1024,
        4 => 64,
        5 => i32::MAX,
        6 | 7 => 65535,
        8 => 48 << 10,
        16 => 4,
        19 | 41 | 89 | 91 => 1,
        88 => 0,
        75 => number("FAKE_CUDA_CAPABILITY", 90) as c_int / 10,
        76 => number("FAKE_CUDA_CAPABILITY", 90) as c_int % 10,
        97 => 227 << 10,
        _ => return INVALID_VALUE,
    };
    unsafe { value.write(known) };
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDeviceTotalMem_v2(bytes: *mut usize, _: c_int) -> Code {
    unsafe { bytes.write(number("FAKE_CUDA_MEMORY", 1 << 30)) };
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuCtxCreate_v2(context: *mut Handle, _: c_uint, device: c_int) -> Code {
    let mut state = state();
    let result = state.call("cuCtxCreate_v2", Some(device));
    code(result.map(|()| {
        let handle = state.handle();
        state.contexts.insert(handle, Context { device, used: 0, lost: None });
        CURRENT.set(handle);
        unsafe { context.write(handle) };
    }))
}

#[unsafe(no_mangle)]
pub extern "C" fn cuCtxDestroy_v2(context: Handle) -> Code {
    let mut state = state();
    let result = state.call("cuCtxDestroy_v2", None);
    code(result.map(|()| {
        state.contexts.remove(&context).expect("a context");
        state.owners.retain(|_, owner| *owner != context);
        if CURRENT.get() == context {
            CURRENT.set(0);
        }
        state.memory.retain(|address, (size, of)| {
            if *of == context {
                unsafe { dealloc(*address as *mut u8, layout(*size)) };
            }
            *of != context
        });
    }))
}

#[unsafe(no_mangle)]
pub extern "C" fn cuCtxSetCurrent(context: Handle) -> Code {
    let mut state = state();
    assert!(context == 0 || state.contexts.contains_key(&context), "a context");
    CURRENT.set(context);
    code(state.call("cuCtxSetCurrent", None))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuCtxGetCurrent(context: *mut Handle) -> Code {
    unsafe { context.write(CURRENT.get()) };
    SUCCESS
}

#[unsafe(no_mangle)]
pub extern "C" fn cuCtxSetLimit(_: c_uint, _: usize) -> Code {
    use_handle("cuCtxSetLimit")
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemAlloc_v2(address: *mut u64, bytes: usize) -> Code {
    let mut state = state();
    let current = CURRENT.get();
    let result = state.in_context("cuMemAlloc_v2").and_then(|context| {
        let used = context.used.checked_add(bytes).ok_or(OUT_OF_MEMORY)?;
        if used > number("FAKE_CUDA_MEMORY", 1 << 30) {
            return Err(OUT_OF_MEMORY);
        }
        context.used = used;
        Ok(())
    });
    code(result.map(|()| {
        let new = unsafe { alloc_zeroed(layout(bytes)) } as u64;
        state.memory.insert(new, (bytes, current));
        unsafe { address.write(new) };
    }))
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemFree_v2(address: u64) -> Code {
    let mut state = state();
    if let Err(code) = state.in_context("cuMemFree_v2") {
        return code;
    }
    let Some((size, context)) = state.memory.remove(&address) else { return INVALID_VALUE };
    if let Some(context) = state.contexts.get_mut(&context) {
        context.used -= size;
    }
    unsafe { dealloc(address as *mut u8, layout(size)) };
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemGetInfo_v2(free: *mut usize, total: *mut usize) -> Code {
    let mut state = state();
    code(state.in_context("cuMemGetInfo_v2").map(|context| {
        let memory = number("FAKE_CUDA_MEMORY", 1 << 30);
        unsafe {
            free.write(memory - context.used);
            total.write(memory);
        }
    }))
}

/// Addresses without memory, as a driver's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemAllocManaged(to: *mut usize, bytes: usize, _: c_uint) -> Code {
    let result = state().in_context("cuMemAllocManaged").map(|_| ());
    code(result.and_then(|()| {
        unsafe extern "C" {
            fn mmap(at: *mut u8, bytes: usize, rights: c_int, how: c_int, file: c_int, offset: i64) -> *mut u8;
        }
        // Private, anonymous, without a reserve.
        let new = unsafe { mmap(std::ptr::null_mut(), bytes, 3, 0x4022, -1, 0) };
        if new.addr() == usize::MAX {
            return Err(OUT_OF_MEMORY);
        }
        unsafe { to.write(new as usize) };
        Ok(())
    }))
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemPrefetchAsync(_: u64, _: usize, _: c_int, _: Handle) -> Code {
    code(state().in_context("cuMemPrefetchAsync").map(|_| ()))
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemHostRegister_v2(address: usize, bytes: usize, _: c_uint) -> Code {
    const ALREADY_REGISTERED: Code = 712;
    let mut state = state();
    let result = state.in_context("cuMemHostRegister_v2").map(|_| ());
    code(result.and_then(|()| {
        let before = state.registered.range(..address + bytes).next_back();
        if before.is_some_and(|(begin, size)| begin + size > address) {
            return Err(ALREADY_REGISTERED);
        }
        state.registered.insert(address, bytes);
        Ok(())
    }))
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemHostUnregister(address: usize) -> Code {
    const NOT_REGISTERED: Code = 713;
    if state().registered.remove(&address).is_some() { SUCCESS } else { NOT_REGISTERED }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemHostAlloc(to: *mut *mut u8, bytes: usize, _: c_uint) -> Code {
    let mut state = state();
    let result = state.in_context("cuMemHostAlloc").map(|_| ());
    code(result.map(|()| {
        let new = unsafe { alloc_zeroed(layout(bytes)) };
        // As a driver's memory: anything may be in there.
        unsafe { new.write_bytes(0xaa, bytes) };
        state.host.insert(new as usize, bytes);
        unsafe { to.write(new) };
    }))
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemFreeHost(address: usize) -> Code {
    let Some(bytes) = state().host.remove(&address) else { return INVALID_VALUE };
    unsafe { dealloc(address as *mut u8, layout(bytes)) };
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemHostGetDevicePointer_v2(to: *mut u64, host: u64, _: c_uint) -> Code {
    unsafe { to.write(host) };
    SUCCESS
}

fn copy(
    function: &'static str,
    to: u64,
    from: u64,
    bytes: usize,
    stream: Handle,
    ours: [bool; 2],
) -> Code {
    let mut state = state();
    if let Err(code) = state.in_context(function) {
        return code;
    }
    let bad = |is_ours: bool, address| is_ours && !state.owns(address, bytes);
    if bad(ours[0], to) || bad(ours[1], from) {
        return INVALID_VALUE;
    }
    state.copied += 1;
    let number = state.copied;
    state.copies.entry(stream).or_default().push((number, to, from, bytes));
    let pageable = |is_ours: bool, address| !is_ours && !state.is_pinned(address, bytes);
    if pageable(ours[0], to) || pageable(ours[1], from) {
        state.come_to(stream, number);
    }
    SUCCESS
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemcpyHtoDAsync_v2(to: u64, from: u64, bytes: usize, stream: Handle) -> Code {
    copy("cuMemcpyHtoDAsync_v2", to, from, bytes, stream, [true, false])
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemcpyDtoHAsync_v2(to: u64, from: u64, bytes: usize, stream: Handle) -> Code {
    copy("cuMemcpyDtoHAsync_v2", to, from, bytes, stream, [false, true])
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemcpyDtoDAsync_v2(to: u64, from: u64, bytes: usize, stream: Handle) -> Code {
    copy("cuMemcpyDtoDAsync_v2", to, from, bytes, stream, [true, true])
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemsetD8Async(to: u64, value: u8, count: usize, stream: Handle) -> Code {
    let mut state = state();
    state.come_to(stream, u64::MAX);
    if let Err(code) = state.in_context("cuMemsetD8Async") {
        return code;
    }
    if !state.owns(to, count) {
        return INVALID_VALUE;
    }
    unsafe { (to as *mut u8).write_bytes(value, count) };
    SUCCESS
}

fn new_handle(function: &'static str, to: *mut Handle) -> Code {
    let mut state = state();
    let result = state.in_context(function).map(|_| ());
    code(result.map(|()| {
        let handle = state.handle();
        state.owners.insert(handle, CURRENT.get());
        unsafe { to.write(handle) };
    }))
}

/// As `use_handle`, for one that must be the current context's.
fn use_own(function: &'static str, handle: Handle) -> Code {
    let mut state = state();
    if let Err(code) = state.in_context(function) {
        return code;
    }
    let is_own = state.owners.get(&handle) == Some(&CURRENT.get());
    if is_own { SUCCESS } else { INVALID_HANDLE }
}

fn use_handle(function: &'static str) -> Code {
    code(state().in_context(function).map(|_| ()))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuStreamCreate(stream: *mut Handle, _: c_uint) -> Code {
    new_handle("cuStreamCreate", stream)
}

#[unsafe(no_mangle)]
pub extern "C" fn cuStreamDestroy_v2(_: Handle) -> Code {
    use_handle("cuStreamDestroy_v2")
}

#[unsafe(no_mangle)]
pub extern "C" fn cuStreamSynchronize(stream: Handle) -> Code {
    let result = use_own("cuStreamSynchronize", stream);
    if result == SUCCESS {
        state().come_to(stream, u64::MAX);
    }
    result
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuEventCreate(event: *mut Handle, _: c_uint) -> Code {
    new_handle("cuEventCreate", event)
}

#[unsafe(no_mangle)]
pub extern "C" fn cuEventDestroy_v2(_: Handle) -> Code {
    use_handle("cuEventDestroy_v2")
}

#[unsafe(no_mangle)]
pub extern "C" fn cuEventRecord(event: Handle, stream: Handle) -> Code {
    let result = use_own("cuEventRecord", event);
    if result == SUCCESS {
        let mut state = state();
        let copied = state.copied;
        state.events.insert(event, (stream, copied));
    }
    result
}

/// Waits for an event, which happens at once.
fn wait_for(function: &'static str, event: Handle) -> Code {
    let result = use_own(function, event);
    if result == SUCCESS {
        let mut state = state();
        if let Some((stream, copies)) = state.events.get(&event).copied() {
            state.come_to(stream, copies);
        }
    }
    result
}

#[unsafe(no_mangle)]
pub extern "C" fn cuEventSynchronize(event: Handle) -> Code {
    wait_for("cuEventSynchronize", event)
}

#[unsafe(no_mangle)]
pub extern "C" fn cuEventQuery(event: Handle) -> Code {
    wait_for("cuEventQuery", event)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuEventElapsedTime(to: *mut f32, _: Handle, _: Handle) -> Code {
    unsafe { to.write(1.5) };
    use_handle("cuEventElapsedTime")
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuModuleLoadDataEx(
    module: *mut Handle,
    image: *const c_char,
    count: c_uint,
    options: *mut c_uint,
    values: *mut *mut c_void,
) -> Code {
    if let Err(code) = may_load() {
        for index in 0..count as usize {
            if unsafe { options.add(index).read() } == 5 {
                let log = c"ptxas fatal : the fake driver was told to refuse this";
                let to = unsafe { values.add(index).read() }.cast::<c_char>();
                unsafe { log.as_ptr().copy_to(to, log.count_bytes() + 1) };
            }
        }
        return code;
    }
    if unsafe { image.cast::<[u8; 4]>().read_unaligned() } == *b"\x7fELF" {
        assert_eq!((count, image as usize % 8), (0, 0), "a file has no options, and is aligned");
        let (bytes, variables) = unsafe { Cubin(image.cast()).read() };
        let bytes = unsafe { std::slice::from_raw_parts(image.cast(), bytes as usize) };
        let code = CString::new(format!("cubin {:x}", hash(bytes))).expect("no NUL");
        return keep(module, code, variables, Vec::new());
    }
    let text = unsafe { CStr::from_ptr(image) }.to_string_lossy();
    assert!(text.contains(".version") && text.contains(".entry"), "this is no PTX: {text}");
    let lines = (0..count as usize).any(|index| unsafe { options.add(index).read() } == 13);
    assert_eq!(lines, text.contains("\t.loc\t"), "the driver is asked for lines where there are some");
    keep(module, unsafe { CStr::from_ptr(image) }.to_owned(), variables(&text), Vec::new())
}

/// FNV-1a.
fn hash(bytes: &[u8]) -> u64 {
    let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3);
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, step)
}

/// A file of machine code in memory: an ELF file.
struct Cubin(*const u8);

impl Cubin {
    unsafe fn at<T: Copy>(&self, offset: u64) -> T {
        unsafe { self.0.add(offset as usize).cast::<T>().read_unaligned() }
    }

    /// How many bytes it has, and its variables, which are zero.
    unsafe fn read(&self) -> (u64, Vec<Variable>) {
        const SYMBOLS: u32 = 2;
        const OBJECT: u8 = 1;
        let word = |offset| unsafe { self.at::<u64>(offset) };
        let half = |offset| u64::from(unsafe { self.at::<u16>(offset) });
        assert_eq!(half(18), 190, "the machine");
        let section = |index: u64| word(40) + 64 * index;
        let end = (word(40) + half(58) * half(60)).max(word(32) + half(54) * half(56));
        let mut variables = Vec::new();
        for table in (0..half(60)).map(section) {
            if unsafe { self.at::<u32>(table + 4) } != SYMBOLS {
                continue;
            }
            let names = word(section(unsafe { self.at::<u32>(table + 40) }.into()) + 24);
            for symbol in (0..word(table + 32) / 24).map(|index| word(table + 24) + 24 * index) {
                let bytes = word(symbol + 16) as usize;
                if unsafe { self.at::<u8>(symbol + 4) } & 15 == OBJECT && bytes > 0 {
                    let name = names + u64::from(unsafe { self.at::<u32>(symbol) });
                    let name = unsafe { CStr::from_ptr(self.0.add(name as usize).cast()) };
                    let name = name.to_str().expect("UTF-8").to_owned();
                    variables.push((name, module_memory(bytes), bytes));
                }
            }
        }
        (end, variables)
    }
}

/// Counts a call that loads code, which may fail.
pub fn may_load() -> Result<(), Code> {
    state().in_context("cuModuleLoadDataEx").map(|_| ())
}

/// Keeps a module that was loaded.
pub fn keep(
    module: *mut Handle,
    code: CString,
    variables: Vec<Variable>,
    symbols: Vec<Variable>,
) -> Code {
    state().code = code;
    let result = new_handle("module", module);
    let mut state = state();
    for (_, address, bytes) in &variables {
        state.memory.insert(*address, (*bytes, CURRENT.get()));
    }
    let handle = unsafe { module.read() };
    state.variables.insert(handle, variables);
    state.symbols.insert(handle, symbols);
    result
}

/// Whether a module has a symbol.
pub fn has_symbol(module: Handle, name: &str) -> bool {
    let state = state();
    state.symbols.get(&module).into_iter().flatten().any(|symbol| symbol.0 == name)
}

/// Memory of a device's, for a module.
pub fn module_memory(bytes: usize) -> u64 {
    unsafe { alloc_zeroed(layout(bytes)) as u64 }
}

/// Makes the variables of a module, which have initial values: numbers and addresses of one
/// another. `.global .align 8 .u64 name[2] = {generic(other), 7};`
fn variables(text: &str) -> Vec<(String, u64, usize)> {
    let declared = text.lines().filter_map(|line| {
        let line = line.strip_prefix(".visible ").unwrap_or(line);
        let (ty, rest) = line.strip_prefix(".global .align ")?.split_once(" .")?.1.split_once(' ')?;
        let (name, rest) = rest.split_once('[')?;
        let (len, values) = rest.split_once("] = {")?;
        let size: usize = ty.trim_start_matches(['b', 'u', 's']).parse().ok()?;
        let len: usize = len.parse().ok()?;
        let values: Vec<&str> = values.strip_suffix("};")?.split(", ").collect();
        Some((name.to_owned(), size / 8, len, values))
    });
    let declared: Vec<_> = declared.collect();
    let made = declared.iter().map(|(name, size, len, _)| {
        (name.clone(), unsafe { alloc_zeroed(layout(size * len)) } as u64, size * len)
    });
    let made: Vec<(String, u64, usize)> = made.collect();
    for ((_, size, _, values), (_, address, _)) in declared.iter().zip(&made) {
        for (value, index) in values.iter().zip(0..) {
            let value = match value.strip_prefix("generic(").and_then(|v| v.strip_suffix(')')) {
                Some(other) => made.iter().find(|variable| variable.0 == other).expect("it is there").1,
                None => value.parse().expect("a number"),
            };
            let to = (address + (index * size) as u64) as *mut u8;
            unsafe { to.copy_from_nonoverlapping(value.to_le_bytes().as_ptr(), *size) };
        }
    }
    made
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuModuleGetGlobal_v2(
    address: *mut u64,
    bytes: *mut usize,
    module: Handle,
    name: *const c_char,
) -> Code {
    let result = use_own("cuModuleGetGlobal_v2", module);
    if result != SUCCESS {
        return result;
    }
    let state = state();
    let name = unsafe { CStr::from_ptr(name) }.to_string_lossy();
    let [variables, symbols] = [&state.variables, &state.symbols].map(|of| of.get(&module));
    let mut variables = variables.into_iter().chain(symbols).flatten();
    let Some((_, place, size)) = variables.find(|variable| variable.0 == name).cloned() else {
        return NOT_FOUND;
    };
    unsafe {
        address.write(place);
        bytes.write(size);
    }
    SUCCESS
}

#[unsafe(no_mangle)]
pub extern "C" fn cuModuleUnload(module: Handle) -> Code {
    let result = use_handle("cuModuleUnload");
    let mut state = state();
    state.symbols.remove(&module);
    for (_, address, bytes) in state.variables.remove(&module).unwrap_or_default() {
        state.memory.remove(&address);
        unsafe { dealloc(address as *mut u8, layout(bytes)) };
    }
    result
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuModuleGetFunction(
    function: *mut Handle,
    module: Handle,
    name: *const c_char,
) -> Code {
    let result = use_own("cuModuleGetFunction", module);
    if result != SUCCESS {
        return result;
    }
    let mut state = state();
    let handle = state.handle();
    state.functions.insert(handle, unsafe { CStr::from_ptr(name) }.to_owned());
    state.owners.insert(handle, CURRENT.get());
    unsafe { function.write(handle) };
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuFuncGetAttribute(value: *mut c_int, _: c_uint, _: Handle) -> Code {
    unsafe { value.write(1024) };
    SUCCESS
}

#[unsafe(no_mangle)]
pub extern "C" fn cuFuncSetAttribute(_: Handle, _: c_uint, _: c_int) -> Code {
    use_handle("cuFuncSetAttribute")
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuLaunchKernel(
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
    _: *mut *mut c_void,
) -> Code {
    let result = use_own("cuLaunchKernel", stream);
    if result != SUCCESS {
        return result;
    }
    let state = state();
    // Code is loaded into one context, and no other has it.
    if state.owners.get(&function) != Some(&CURRENT.get()) {
        return INVALID_HANDLE;
    }
    let Some(name) = state.functions.get(&function).cloned() else { return INVALID_VALUE };
    let on_launch = state.on_launch;
    drop(state);
    if let Some(on_launch) = on_launch {
        let (grid, block) = ([grid_x, grid_y, grid_z], [block_x, block_y, block_z]);
        on_launch(name.as_ptr(), grid.as_ptr(), block.as_ptr(), shared, parameters);
    }
    SUCCESS
}
