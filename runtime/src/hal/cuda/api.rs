//! The functions of NVIDIA's driver that the device `cuda` calls, as a table that is filled when
//! the driver is opened.
//!
//! Result codes are plain numbers: newer drivers have codes that this crate does not know. Symbols
//! include the suffix that fixes their signature (`_v2`); the library keeps all versions.

use std::ffi::{c_char, c_int, c_uint, c_void};

use libloading::Library;

/// The result of every function; 0 is success.
pub(super) type CuResult = u32;

/// An address in a device's memory.
pub(super) type DevicePtr = u64;

/// The driver's number of a device.
pub(super) type DeviceNumber = c_int;

/// Opaque handles of the driver.
macro_rules! handles {
    ($($(#[$doc:meta])* $name:ident)*) => {$(
        $(#[$doc])*
        #[repr(transparent)]
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(super) struct $name(pub(super) *mut c_void);

        // SAFETY: the driver allows its handles on any thread.
        unsafe impl Send for $name {}
        // SAFETY: as above, on several at once.
        unsafe impl Sync for $name {}

        impl $name {
            #[allow(dead_code, reason = "not everything is asked for by value")]
            pub(super) const NULL: Self = Self(std::ptr::null_mut());
        }
    )*};
}
handles! {
    /// A context: all state of a process on one device.
    RawContext
    /// A queue of work.
    RawStream
    /// A position in a stream.
    RawEvent
    /// Loaded code.
    RawModule
    /// A kernel of a module.
    RawFunction
}

macro_rules! functions {
    ($($name:ident = $symbol:literal: fn($($argument:ident: $type:ty),* $(,)?);)*) => {
        /// The driver's functions.
        #[derive(Debug)]
        pub(super) struct Api {
            $(pub(super) $name: unsafe extern "C" fn($($argument: $type),*) -> CuResult,)*
        }

        impl Api {
            /// Looks up all of them.
            ///
            /// # Errors
            /// The name of the first function that the library lacks.
            ///
            /// # Safety
            /// The library is a driver, or behaves like one, and stays loaded.
            pub(super) unsafe fn load(library: &Library) -> Result<Self, &'static str> {
                $(
                    // SAFETY: the symbol of a driver has this type.
                    let $name = *unsafe {
                        library.get::<unsafe extern "C" fn($($argument: $type),*) -> CuResult>(
                            concat!($symbol, "\0").as_bytes(),
                        )
                    }
                    .map_err(|_| $symbol)?;
                )*
                Ok(Self { $($name),* })
            }
        }

        /// The symbol of a function, for messages.
        #[allow(dead_code, non_upper_case_globals, reason = "one for each function")]
        pub(super) mod symbol {
            $(pub(in crate::hal::cuda) const $name: &str = $symbol;)*
        }
    };
}

functions! {
    init = "cuInit": fn(flags: c_uint);
    driver_version = "cuDriverGetVersion": fn(version: *mut c_int);
    error_name = "cuGetErrorName": fn(code: CuResult, name: *mut *const c_char);
    error_text = "cuGetErrorString": fn(code: CuResult, text: *mut *const c_char);

    device_count = "cuDeviceGetCount": fn(count: *mut c_int);
    device_get = "cuDeviceGet": fn(device: *mut DeviceNumber, ordinal: c_int);
    device_name = "cuDeviceGetName": fn(name: *mut c_char, len: c_int, device: DeviceNumber);
    device_attribute = "cuDeviceGetAttribute": fn(value: *mut c_int, attribute: c_uint, device: DeviceNumber);
    device_memory = "cuDeviceTotalMem_v2": fn(bytes: *mut usize, device: DeviceNumber);

    context_create = "cuCtxCreate_v2": fn(context: *mut RawContext, flags: c_uint, device: DeviceNumber);
    context_destroy = "cuCtxDestroy_v2": fn(context: RawContext);
    context_set = "cuCtxSetCurrent": fn(context: RawContext);
    context_limit = "cuCtxSetLimit": fn(limit: c_uint, value: usize);

    memory_allocate = "cuMemAlloc_v2": fn(address: *mut DevicePtr, bytes: usize);
    memory_free = "cuMemFree_v2": fn(address: DevicePtr);
    memory_info = "cuMemGetInfo_v2": fn(free: *mut usize, total: *mut usize);
    managed_allocate = "cuMemAllocManaged": fn(address: *mut DevicePtr, bytes: usize, flags: c_uint);
    prefetch = "cuMemPrefetchAsync": fn(address: DevicePtr, bytes: usize, device: DeviceNumber, stream: RawStream);
    host_register = "cuMemHostRegister_v2": fn(address: *mut c_void, bytes: usize, flags: c_uint);
    host_unregister = "cuMemHostUnregister": fn(address: *mut c_void);
    host_allocate = "cuMemHostAlloc": fn(address: *mut *mut c_void, bytes: usize, flags: c_uint);
    host_free = "cuMemFreeHost": fn(address: *mut c_void);
    host_device_address = "cuMemHostGetDevicePointer_v2": fn(device: *mut DevicePtr, host: *mut c_void, flags: c_uint);
    copy_to_device = "cuMemcpyHtoDAsync_v2": fn(to: DevicePtr, from: *const c_void, bytes: usize, stream: RawStream);
    copy_to_host = "cuMemcpyDtoHAsync_v2": fn(to: *mut c_void, from: DevicePtr, bytes: usize, stream: RawStream);
    copy_on_device = "cuMemcpyDtoDAsync_v2": fn(to: DevicePtr, from: DevicePtr, bytes: usize, stream: RawStream);
    fill_bytes = "cuMemsetD8Async": fn(to: DevicePtr, value: u8, count: usize, stream: RawStream);

    stream_create = "cuStreamCreate": fn(stream: *mut RawStream, flags: c_uint);
    stream_destroy = "cuStreamDestroy_v2": fn(stream: RawStream);
    stream_synchronize = "cuStreamSynchronize": fn(stream: RawStream);
    event_create = "cuEventCreate": fn(event: *mut RawEvent, flags: c_uint);
    event_destroy = "cuEventDestroy_v2": fn(event: RawEvent);
    event_record = "cuEventRecord": fn(event: RawEvent, stream: RawStream);
    event_synchronize = "cuEventSynchronize": fn(event: RawEvent);
    event_query = "cuEventQuery": fn(event: RawEvent);
    event_elapsed = "cuEventElapsedTime": fn(milliseconds: *mut f32, begin: RawEvent, end: RawEvent);

    module_load = "cuModuleLoadDataEx": fn(
        module: *mut RawModule,
        image: *const c_void,
        options_len: c_uint,
        options: *mut c_uint,
        values: *mut *mut c_void,
    );
    module_unload = "cuModuleUnload": fn(module: RawModule);
    module_function = "cuModuleGetFunction": fn(function: *mut RawFunction, module: RawModule, name: *const c_char);
    module_global = "cuModuleGetGlobal_v2": fn(address: *mut DevicePtr, bytes: *mut usize, module: RawModule, name: *const c_char);
    function_attribute = "cuFuncGetAttribute": fn(value: *mut c_int, attribute: c_uint, function: RawFunction);
    set_function_attribute = "cuFuncSetAttribute": fn(function: RawFunction, attribute: c_uint, value: c_int);
    launch = "cuLaunchKernel": fn(
        function: RawFunction,
        grid_x: c_uint,
        grid_y: c_uint,
        grid_z: c_uint,
        block_x: c_uint,
        block_y: c_uint,
        block_z: c_uint,
        shared_bytes: c_uint,
        stream: RawStream,
        parameters: *mut *mut c_void,
        extra: *mut *mut c_void,
    );
}

/// Constants of the driver's interface.
pub(super) mod number {
    use std::ffi::c_uint;

    use super::CuResult;

    pub(in crate::hal::cuda) const SUCCESS: CuResult = 0;
    pub(in crate::hal::cuda) const INVALID_VALUE: CuResult = 1;
    pub(in crate::hal::cuda) const OUT_OF_MEMORY: CuResult = 2;
    pub(in crate::hal::cuda) const NOT_INITIALIZED: CuResult = 3;
    pub(in crate::hal::cuda) const NO_DEVICE: CuResult = 100;
    pub(in crate::hal::cuda) const INVALID_CONTEXT: CuResult = 201;
    pub(in crate::hal::cuda) const INVALID_HANDLE: CuResult = 400;
    pub(in crate::hal::cuda) const NOT_FOUND: CuResult = 500;
    pub(in crate::hal::cuda) const NOT_READY: CuResult = 600;
    pub(in crate::hal::cuda) const ALREADY_REGISTERED: CuResult = 712;

    /// Attributes of devices.
    pub(in crate::hal::cuda) const MAX_BLOCK: c_uint = 1;
    pub(in crate::hal::cuda) const MAX_GRID_X: c_uint = 5;
    pub(in crate::hal::cuda) const MAX_GRID_Y: c_uint = 6;
    pub(in crate::hal::cuda) const MAX_GRID_Z: c_uint = 7;
    pub(in crate::hal::cuda) const MAX_BLOCK_X: c_uint = 2;
    pub(in crate::hal::cuda) const MAX_BLOCK_Y: c_uint = 3;
    pub(in crate::hal::cuda) const MAX_BLOCK_Z: c_uint = 4;
    pub(in crate::hal::cuda) const SHARED_MEMORY: c_uint = 8;
    pub(in crate::hal::cuda) const MULTIPROCESSORS: c_uint = 16;
    pub(in crate::hal::cuda) const MAPS_HOST_MEMORY: c_uint = 19;
    pub(in crate::hal::cuda) const UNIFIED_ADDRESSING: c_uint = 41;
    pub(in crate::hal::cuda) const MAJOR: c_uint = 75;
    pub(in crate::hal::cuda) const MINOR: c_uint = 76;
    /// The device sees memory that nobody has registered.
    pub(in crate::hal::cuda) const PAGEABLE_MEMORY: c_uint = 88;
    /// Host and device may access managed memory at the same time.
    pub(in crate::hal::cuda) const CONCURRENT_MANAGED: c_uint = 89;
    /// Kernels use the host's own addresses of registered memory.
    pub(in crate::hal::cuda) const HOST_ADDRESSES: c_uint = 91;
    pub(in crate::hal::cuda) const SHARED_MEMORY_OPT_IN: c_uint = 97;

    /// Attributes of functions.
    pub(in crate::hal::cuda) const FUNCTION_MAX_BLOCK: c_uint = 0;
    pub(in crate::hal::cuda) const FUNCTION_SHARED_MEMORY: c_uint = 8;

    /// The context may map host memory.
    pub(in crate::hal::cuda) const CONTEXT_MAP_HOST: c_uint = 8;
    /// Bytes of a thread's stack, for kernels whose need is unknown.
    pub(in crate::hal::cuda) const LIMIT_STACK: c_uint = 0;
    /// Every context sees it, and the device can access it.
    pub(in crate::hal::cuda) const HOST_PORTABLE_MAPPED: c_uint = 1 | 2;
    /// Kernels only read registered memory.
    pub(in crate::hal::cuda) const REGISTER_READ_ONLY: c_uint = 8;
    /// Every stream may access managed memory.
    pub(in crate::hal::cuda) const MANAGED_GLOBAL: c_uint = 1;
    /// It does not synchronize with the legacy default stream.
    pub(in crate::hal::cuda) const STREAM_NON_BLOCKING: c_uint = 1;
    /// Events with time stamps.
    pub(in crate::hal::cuda) const EVENT: c_uint = 0;
    /// Events without time stamps, which cost less.
    pub(in crate::hal::cuda) const EVENT_WITHOUT_TIME: c_uint = 2;

    /// Options of loading code.
    pub(in crate::hal::cuda) const LOG_BUFFER: c_uint = 5;
    pub(in crate::hal::cuda) const LOG_BYTES: c_uint = 6;
    pub(in crate::hal::cuda) const LINES: c_uint = 13;
}
