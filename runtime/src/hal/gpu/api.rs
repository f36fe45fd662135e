//! The functions of a driver that devices call, as a table that is filled when the driver is opened.
//!
//! Those of HIP were made after CUDA's: they take the same parameters, and have the same numbers for
//! results, flags and attributes of functions. Other names, and other numbers for attributes of
//! devices, are in the vendors' folders. Result codes are plain numbers: newer drivers have codes
//! that this crate does not know.

use std::ffi::{c_char, c_int, c_uint, c_void};

use libloading::Library;

/// The result of every function; 0 is success.
pub(in crate::hal) type ResultCode = u32;

/// An address in a device's memory.
pub(in crate::hal) type DevicePtr = u64;

/// The driver's number of a device.
pub(in crate::hal) type DeviceNumber = c_int;

/// Opaque handles of the driver.
macro_rules! handles {
    ($($(#[$doc:meta])* $name:ident)*) => {$(
        $(#[$doc])*
        #[repr(transparent)]
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(in crate::hal) struct $name(pub(in crate::hal) *mut c_void);

        // SAFETY: the driver allows its handles on any thread.
        unsafe impl Send for $name {}
        // SAFETY: as above, on several at once.
        unsafe impl Sync for $name {}

        impl $name {
            #[allow(dead_code, reason = "not everything is asked for by value")]
            pub(in crate::hal) const NULL: Self = Self(std::ptr::null_mut());
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
    ($($name:ident: fn($($argument:ident: $type:ty),* $(,)?);)*) => {
        /// The driver's functions, but for those of contexts.
        #[derive(Debug)]
        pub(in crate::hal) struct Api {
            $(pub(in crate::hal) $name: unsafe extern "C" fn($($argument: $type),*) -> ResultCode,)*
            pub(in crate::hal) contexts: Contexts,
        }

        /// The symbols of a driver's functions.
        #[derive(Debug)]
        pub(in crate::hal) struct Symbols {
            $(pub(in crate::hal) $name: &'static str,)*
            /// What makes a context, destroys it, and makes it current.
            pub(in crate::hal) context_create: &'static str,
            pub(in crate::hal) context_destroy: &'static str,
            pub(in crate::hal) context_set: &'static str,
        }

        impl Api {
            /// Looks up all of them.
            ///
            /// # Errors
            /// The name of the first function that the library lacks.
            ///
            /// # Safety
            /// The library is the vendor's driver, or behaves like it, and stays loaded.
            pub(super) unsafe fn load(
                library: &Library,
                symbols: &Symbols,
                contexts: FindContexts,
            ) -> Result<Self, &'static str> {
                $(
                    // SAFETY: the symbol of a driver has this type.
                    let $name = unsafe {
                        find::<unsafe extern "C" fn($($argument: $type),*) -> ResultCode>(
                            library,
                            symbols.$name,
                        )
                    }?;
                )*
                // SAFETY: the caller's promise.
                let contexts = unsafe { contexts(library) }?;
                Ok(Self { $($name,)* contexts })
            }
        }

        /// The symbol of a function, for messages.
        #[allow(dead_code, non_upper_case_globals, reason = "one for each function")]
        pub(in crate::hal) mod symbol {
            use super::Symbol;

            $(pub(in crate::hal) const $name: Symbol = |symbols| symbols.$name;)*
            pub(in crate::hal) const context_create: Symbol = |symbols| symbols.context_create;
            pub(in crate::hal) const context_set: Symbol = |symbols| symbols.context_set;
        }
    };
}

/// Chooses a function's symbol among those of a vendor.
pub(in crate::hal) type Symbol = fn(&Symbols) -> &'static str;

/// Looks up the functions of contexts.
pub(in crate::hal) type FindContexts = unsafe fn(&Library) -> Result<Contexts, &'static str>;

/// The functions of contexts, which vendors have in several forms.
#[derive(Clone, Copy, Debug)]
pub(in crate::hal) struct Contexts {
    /// Makes a context of a device, and makes it current.
    pub(in crate::hal) create: unsafe extern "C" fn(
        context: *mut RawContext,
        flags: c_uint,
        device: DeviceNumber,
    ) -> ResultCode,
    /// Destroys a context, with everything in it that the driver keeps for it.
    pub(in crate::hal) destroy: unsafe extern "C" fn(context: RawContext) -> ResultCode,
    /// Makes a context current in the calling thread.
    pub(in crate::hal) set: unsafe extern "C" fn(context: RawContext) -> ResultCode,
}

/// A function of a library.
///
/// # Errors
/// The name, if the library lacks it.
///
/// # Safety
/// It has the type `F`, and the library stays loaded.
pub(in crate::hal) unsafe fn find<F: Copy>(
    library: &Library,
    name: &'static str,
) -> Result<F, &'static str> {
    // SAFETY: the caller's promise.
    let found = unsafe { library.get::<F>(name.as_bytes()) };
    found.map(|found| *found).map_err(|_| name)
}

functions! {
    init: fn(flags: c_uint);
    driver_version: fn(version: *mut c_int);
    error_name: fn(code: ResultCode, name: *mut *const c_char);
    error_text: fn(code: ResultCode, text: *mut *const c_char);

    device_count: fn(count: *mut c_int);
    device_get: fn(device: *mut DeviceNumber, ordinal: c_int);
    device_name: fn(name: *mut c_char, len: c_int, device: DeviceNumber);
    device_attribute: fn(value: *mut c_int, attribute: c_uint, device: DeviceNumber);
    device_memory: fn(bytes: *mut usize, device: DeviceNumber);

    context_limit: fn(limit: c_uint, value: usize);

    memory_allocate: fn(address: *mut DevicePtr, bytes: usize);
    memory_free: fn(address: DevicePtr);
    memory_info: fn(free: *mut usize, total: *mut usize);
    managed_allocate: fn(address: *mut DevicePtr, bytes: usize, flags: c_uint);
    prefetch: fn(address: DevicePtr, bytes: usize, device: DeviceNumber, stream: RawStream);
    host_register: fn(address: *mut c_void, bytes: usize, flags: c_uint);
    host_unregister: fn(address: *mut c_void);
    host_allocate: fn(address: *mut *mut c_void, bytes: usize, flags: c_uint);
    host_free: fn(address: *mut c_void);
    host_device_address: fn(device: *mut DevicePtr, host: *mut c_void, flags: c_uint);
    copy_to_device: fn(to: DevicePtr, from: *const c_void, bytes: usize, stream: RawStream);
    copy_to_host: fn(to: *mut c_void, from: DevicePtr, bytes: usize, stream: RawStream);
    copy_on_device: fn(to: DevicePtr, from: DevicePtr, bytes: usize, stream: RawStream);
    fill_bytes: fn(to: DevicePtr, value: u8, count: usize, stream: RawStream);

    stream_create: fn(stream: *mut RawStream, flags: c_uint);
    stream_destroy: fn(stream: RawStream);
    stream_synchronize: fn(stream: RawStream);
    event_create: fn(event: *mut RawEvent, flags: c_uint);
    event_destroy: fn(event: RawEvent);
    event_record: fn(event: RawEvent, stream: RawStream);
    event_synchronize: fn(event: RawEvent);
    event_query: fn(event: RawEvent);
    event_elapsed: fn(milliseconds: *mut f32, begin: RawEvent, end: RawEvent);

    module_load: fn(
        module: *mut RawModule,
        image: *const c_void,
        options_len: c_uint,
        options: *mut c_uint,
        values: *mut *mut c_void,
    );
    module_unload: fn(module: RawModule);
    module_function: fn(function: *mut RawFunction, module: RawModule, name: *const c_char);
    module_global: fn(address: *mut DevicePtr, bytes: *mut usize, module: RawModule, name: *const c_char);
    function_attribute: fn(value: *mut c_int, attribute: c_uint, function: RawFunction);
    set_function_attribute: fn(function: RawFunction, attribute: c_uint, value: c_int);
    launch: fn(
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
pub(in crate::hal) mod number {
    use std::ffi::c_uint;

    use super::ResultCode;

    pub(in crate::hal) const SUCCESS: ResultCode = 0;
    pub(in crate::hal) const INVALID_VALUE: ResultCode = 1;
    pub(in crate::hal) const OUT_OF_MEMORY: ResultCode = 2;
    pub(in crate::hal) const NOT_INITIALIZED: ResultCode = 3;
    pub(in crate::hal) const NO_DEVICE: ResultCode = 100;
    pub(in crate::hal) const INVALID_CONTEXT: ResultCode = 201;
    pub(in crate::hal) const INVALID_HANDLE: ResultCode = 400;
    pub(in crate::hal) const NOT_FOUND: ResultCode = 500;
    pub(in crate::hal) const NOT_READY: ResultCode = 600;
    pub(in crate::hal) const ALREADY_REGISTERED: ResultCode = 712;

    /// Attributes of functions.
    pub(in crate::hal) const FUNCTION_MAX_BLOCK: c_uint = 0;
    pub(in crate::hal) const FUNCTION_SHARED_MEMORY: c_uint = 8;

    /// Bytes of a thread's stack, for kernels whose need is unknown.
    pub(in crate::hal) const LIMIT_STACK: c_uint = 0;
    /// Every context sees it, and the device can access it.
    pub(in crate::hal) const HOST_PORTABLE_MAPPED: c_uint = 1 | 2;
    /// Kernels only read registered memory.
    pub(in crate::hal) const REGISTER_READ_ONLY: c_uint = 8;
    /// Every stream may access managed memory.
    pub(in crate::hal) const MANAGED_GLOBAL: c_uint = 1;
    /// It does not synchronize with the legacy default stream.
    pub(in crate::hal) const STREAM_NON_BLOCKING: c_uint = 1;
    /// Events with time stamps.
    pub(in crate::hal) const EVENT: c_uint = 0;
    /// Events without time stamps, which cost less.
    pub(in crate::hal) const EVENT_WITHOUT_TIME: c_uint = 2;

    /// Options of loading code.
    pub(in crate::hal) const LOG_BUFFER: c_uint = 5;
    pub(in crate::hal) const LOG_BYTES: c_uint = 6;
    pub(in crate::hal) const LINES: c_uint = 13;
}
