//! The functions of OpenCL that the devices `opencl` call, as a table that is filled when the
//! loader is opened.

use std::ffi::{CStr, c_char, c_uint, c_void};

use libloading::Library;

/// The result of most functions; 0 is success.
pub(super) type ClResult = i32;

/// Opaque handles.
macro_rules! handles {
    ($($(#[$doc:meta])* $name:ident)*) => {$(
        $(#[$doc])*
        #[repr(transparent)]
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(super) struct $name(pub(super) *mut c_void);

        // SAFETY: OpenCL allows its handles on any thread.
        unsafe impl Send for $name {}
        // SAFETY: as above, on several at once; who sets a kernel's arguments does so alone.
        unsafe impl Sync for $name {}

        impl $name {
            #[allow(dead_code, reason = "not everything is asked for by value")]
            pub(super) const NULL: Self = Self(std::ptr::null_mut());
        }
    )*};
}
handles! {
    /// A driver, of one vendor.
    RawPlatform
    /// A device of a driver.
    RawDevice
    /// All state of a process on some devices.
    RawContext
    /// A queue of work.
    RawQueue
    /// Code, with what the driver made of it.
    RawProgram
    /// A kernel of a program, with its arguments.
    RawKernel
    /// A command of a queue.
    RawEvent
}

macro_rules! functions {
    ($($name:ident = $symbol:literal: fn($($argument:ident: $type:ty),* $(,)?) -> $result:ty;)*) => {
        /// The loader's functions.
        #[derive(Debug)]
        pub(super) struct Api {
            $(pub(super) $name: unsafe extern "C" fn($($argument: $type),*) -> $result,)*
        }

        impl Api {
            /// Looks up all of them.
            ///
            /// # Errors
            /// The name of the first function that the library lacks.
            ///
            /// # Safety
            /// The library is OpenCL's loader, or behaves like it, and stays loaded.
            pub(super) unsafe fn load(library: &Library) -> Result<Self, &'static str> {
                $(
                    // SAFETY: the symbol has this type.
                    let $name = *unsafe {
                        library.get::<unsafe extern "C" fn($($argument: $type),*) -> $result>(
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
            $(pub(in crate::hal::opencl) const $name: &str = $symbol;)*
        }
    };
}

functions! {
    platform_ids = "clGetPlatformIDs": fn(count: c_uint, ids: *mut RawPlatform, all: *mut c_uint) -> ClResult;
    platform_info = "clGetPlatformInfo": fn(of: RawPlatform, what: c_uint, room: usize, value: *mut c_void, size: *mut usize) -> ClResult;
    device_ids = "clGetDeviceIDs": fn(of: RawPlatform, kinds: u64, count: c_uint, ids: *mut RawDevice, all: *mut c_uint) -> ClResult;
    device_info = "clGetDeviceInfo": fn(of: RawDevice, what: c_uint, room: usize, value: *mut c_void, size: *mut usize) -> ClResult;
    extension_function = "clGetExtensionFunctionAddressForPlatform": fn(of: RawPlatform, name: *const c_char) -> *mut c_void;
    context_create = "clCreateContext": fn(properties: *const isize, count: c_uint, devices: *const RawDevice, notify: *mut c_void, data: *mut c_void, code: *mut ClResult) -> RawContext;
    queue_create = "clCreateCommandQueueWithProperties": fn(of: RawContext, device: RawDevice, properties: *const u64, code: *mut ClResult) -> RawQueue;
    queue_release = "clReleaseCommandQueue": fn(queue: RawQueue) -> ClResult;
    queue_flush = "clFlush": fn(queue: RawQueue) -> ClResult;
    queue_finish = "clFinish": fn(queue: RawQueue) -> ClResult;
    program_create = "clCreateProgramWithIL": fn(of: RawContext, code: *const c_void, bytes: usize, result: *mut ClResult) -> RawProgram;
    program_build = "clBuildProgram": fn(program: RawProgram, count: c_uint, devices: *const RawDevice, options: *const c_char, notify: *mut c_void, data: *mut c_void) -> ClResult;
    program_build_info = "clGetProgramBuildInfo": fn(of: RawProgram, device: RawDevice, what: c_uint, room: usize, value: *mut c_void, size: *mut usize) -> ClResult;
    program_release = "clReleaseProgram": fn(program: RawProgram) -> ClResult;
    kernel_create = "clCreateKernel": fn(of: RawProgram, name: *const c_char, code: *mut ClResult) -> RawKernel;
    kernel_release = "clReleaseKernel": fn(kernel: RawKernel) -> ClResult;
    kernel_group_info = "clGetKernelWorkGroupInfo": fn(of: RawKernel, device: RawDevice, what: c_uint, room: usize, value: *mut c_void, size: *mut usize) -> ClResult;
    kernel_exec_info = "clSetKernelExecInfo": fn(of: RawKernel, what: c_uint, bytes: usize, value: *const c_void) -> ClResult;
    kernel_argument = "clSetKernelArg": fn(kernel: RawKernel, index: c_uint, bytes: usize, value: *const c_void) -> ClResult;
    launch = "clEnqueueNDRangeKernel": fn(queue: RawQueue, kernel: RawKernel, dimensions: c_uint, offset: *const usize, global: *const usize, local: *const usize, count: c_uint, before: *const RawEvent, event: *mut RawEvent) -> ClResult;
    wait = "clWaitForEvents": fn(count: c_uint, events: *const RawEvent) -> ClResult;
    event_info = "clGetEventInfo": fn(of: RawEvent, what: c_uint, room: usize, value: *mut c_void, size: *mut usize) -> ClResult;
    event_time = "clGetEventProfilingInfo": fn(of: RawEvent, what: c_uint, room: usize, value: *mut c_void, size: *mut usize) -> ClResult;
    event_release = "clReleaseEvent": fn(event: RawEvent) -> ClResult;
}

type AllocateShared = unsafe extern "C" fn(
    of: RawContext,
    device: RawDevice,
    properties: *const u64,
    bytes: usize,
    align: c_uint,
    code: *mut ClResult,
) -> *mut c_void;
type AllocateHost = unsafe extern "C" fn(
    of: RawContext,
    properties: *const u64,
    bytes: usize,
    align: c_uint,
    code: *mut ClResult,
) -> *mut c_void;
type AllocateSvm =
    unsafe extern "C" fn(of: RawContext, flags: u64, bytes: usize, align: c_uint) -> *mut c_void;
type FreeUsm = unsafe extern "C" fn(of: RawContext, memory: *mut c_void) -> ClResult;
type FreeSvm = unsafe extern "C" fn(of: RawContext, memory: *mut c_void);
type Argument =
    unsafe extern "C" fn(kernel: RawKernel, index: c_uint, address: *const c_void) -> ClResult;
type CopyBytes = unsafe extern "C" fn(
    queue: RawQueue,
    blocking: c_uint,
    to: *mut c_void,
    from: *const c_void,
    bytes: usize,
    count: c_uint,
    before: *const RawEvent,
    event: *mut RawEvent,
) -> ClResult;

/// Functions for memory that host and device access at one address.
#[derive(Clone, Debug)]
pub(super) struct SharedMemory {
    pub(super) allocate: Allocate,
    pub(super) free: Free,
    pub(super) argument: Argument,
    pub(super) copy: CopyBytes,
}

/// How such memory is allocated.
#[derive(Clone, Copy, Debug)]
pub(super) enum Allocate {
    /// The driver moves it between host and device (`clSharedMemAllocINTEL`).
    Shared(AllocateShared),
    /// It is the host's (`clHostMemAllocINTEL`).
    Host(AllocateHost),
    /// What OpenCL 2 calls fine-grained shared virtual memory (`clSVMAlloc`).
    Svm(AllocateSvm),
}

/// How it is freed.
#[derive(Clone, Copy, Debug)]
pub(super) enum Free {
    /// Waits for what uses it.
    Usm(FreeUsm),
    /// Does not wait.
    Svm(FreeSvm),
}

impl SharedMemory {
    /// The function that allocates, for messages.
    pub(super) const fn allocates_by(&self) -> &'static str {
        match self.allocate {
            Allocate::Shared(_) => "clSharedMemAllocINTEL",
            Allocate::Host(_) => "clHostMemAllocINTEL",
            Allocate::Svm(_) => "clSVMAlloc",
        }
    }

    /// The function that sets an argument, for messages.
    pub(super) const fn argument_by(&self) -> &'static str {
        match self.free {
            Free::Usm(_) => "clSetKernelArgMemPointerINTEL",
            Free::Svm(_) => "clSetKernelArgSVMPointer",
        }
    }

    /// The function that copies, for messages.
    pub(super) const fn copies_by(&self) -> &'static str {
        match self.free {
            Free::Usm(_) => "clEnqueueMemcpyINTEL",
            Free::Svm(_) => "clEnqueueSVMMemcpy",
        }
    }

    /// The functions of the extension for unified shared memory; `is_moved` chooses which memory.
    /// `None` if the driver lacks one.
    pub(super) fn of_extension(api: &Api, platform: RawPlatform, is_moved: bool) -> Option<Self> {
        let allocate = if is_moved { c"clSharedMemAllocINTEL" } else { c"clHostMemAllocINTEL" };
        let rest =
            [c"clMemBlockingFreeINTEL", c"clSetKernelArgMemPointerINTEL", c"clEnqueueMemcpyINTEL"];
        let find = |name: &CStr| {
            // SAFETY: the platform is the loader's, and the name ends with a NUL.
            let found = unsafe { (api.extension_function)(platform, name.as_ptr()) };
            (!found.is_null()).then_some(found)
        };
        let allocate = find(allocate)?;
        let [free, argument, copy] = rest.map(find);
        // SAFETY: the extension gives these functions these types, and none is null.
        unsafe {
            Some(Self {
                allocate: match is_moved {
                    true => {
                        let of = std::mem::transmute::<*mut c_void, AllocateShared>(allocate);
                        Allocate::Shared(of)
                    }
                    false => {
                        Allocate::Host(std::mem::transmute::<*mut c_void, AllocateHost>(allocate))
                    }
                },
                free: Free::Usm(std::mem::transmute::<*mut c_void, FreeUsm>(free?)),
                argument: std::mem::transmute::<*mut c_void, Argument>(argument?),
                copy: std::mem::transmute::<*mut c_void, CopyBytes>(copy?),
            })
        }
    }

    /// The functions of OpenCL 2 for shared virtual memory; `None` if the library lacks one.
    ///
    /// # Safety
    /// As for [`Api::load`].
    pub(super) unsafe fn of_library(library: &Library) -> Option<Self> {
        // SAFETY: the symbols have these types.
        unsafe {
            Some(Self {
                allocate: Allocate::Svm(*library.get(b"clSVMAlloc\0").ok()?),
                free: Free::Svm(*library.get(b"clSVMFree\0").ok()?),
                argument: *library.get(b"clSetKernelArgSVMPointer\0").ok()?,
                copy: *library.get(b"clEnqueueSVMMemcpy\0").ok()?,
            })
        }
    }
}

/// OpenCL's numbers.
pub(super) mod number {
    pub(in crate::hal::opencl) const SUCCESS: i32 = 0;
    pub(in crate::hal::opencl) const OUT_OF_MEMORY: [i32; 3] = [-4, -5, -6];

    pub(in crate::hal::opencl) const ALL_DEVICES: u64 = 0xFFFF_FFFF;
    pub(in crate::hal::opencl) const PLATFORM_NAME: u32 = 0x0902;
    pub(in crate::hal::opencl) const DEVICE_TYPE: u32 = 0x1000;
    pub(in crate::hal::opencl) const TYPE_CPU: u64 = 1 << 1;
    pub(in crate::hal::opencl) const TYPE_GPU: u64 = 1 << 2;
    pub(in crate::hal::opencl) const DEVICE_COMPUTE_UNITS: u32 = 0x1002;
    pub(in crate::hal::opencl) const DEVICE_GROUP_SIZE: u32 = 0x1004;
    pub(in crate::hal::opencl) const DEVICE_FLOAT: u32 = 0x101B;
    pub(in crate::hal::opencl) const FLOAT_DIVIDES_CORRECTLY: u64 = 1 << 7;
    pub(in crate::hal::opencl) const DEVICE_LOCAL_MEMORY: u32 = 0x1023;
    pub(in crate::hal::opencl) const DEVICE_NAME: u32 = 0x102B;
    pub(in crate::hal::opencl) const DEVICE_VENDOR: u32 = 0x102C;
    pub(in crate::hal::opencl) const DRIVER_VERSION: u32 = 0x102D;
    pub(in crate::hal::opencl) const DEVICE_VERSION: u32 = 0x102F;
    pub(in crate::hal::opencl) const DEVICE_EXTENSIONS: u32 = 0x1030;
    pub(in crate::hal::opencl) const DEVICE_DOUBLE: u32 = 0x1032;
    pub(in crate::hal::opencl) const DEVICE_SVM: u32 = 0x1053;
    pub(in crate::hal::opencl) const SVM_FINE_GRAIN_BUFFER: u64 = 1 << 1;
    pub(in crate::hal::opencl) const SVM_FINE_GRAIN_SYSTEM: u64 = 1 << 2;
    pub(in crate::hal::opencl) const DEVICE_IL_VERSION: u32 = 0x105B;
    pub(in crate::hal::opencl) const DEVICE_SUB_GROUP_SIZES: u32 = 0x4108;
    /// What a device can do with memory of the host, with memory that moves, and with all memory of
    /// the host.
    pub(in crate::hal::opencl) const DEVICE_HOST_MEMORY: u32 = 0x4190;
    pub(in crate::hal::opencl) const DEVICE_SHARED_MEMORY: u32 = 0x4192;
    pub(in crate::hal::opencl) const DEVICE_SYSTEM_MEMORY: u32 = 0x4194;
    pub(in crate::hal::opencl) const MEMORY_ACCESS: u64 = 1;
    /// `CL_MEM_READ_WRITE` and `CL_MEM_SVM_FINE_GRAIN_BUFFER`.
    pub(in crate::hal::opencl) const SVM_FLAGS: u64 = 1 | 1 << 10;

    pub(in crate::hal::opencl) const QUEUE_PROPERTIES: u64 = 0x1093;
    pub(in crate::hal::opencl) const QUEUE_PROFILING: u64 = 1 << 1;
    pub(in crate::hal::opencl) const BUILD_LOG: u32 = 0x1183;
    pub(in crate::hal::opencl) const KERNEL_GROUP_SIZE: u32 = 0x11B0;
    pub(in crate::hal::opencl) const KERNEL_PRIVATE_MEMORY: u32 = 0x11B4;
    pub(in crate::hal::opencl) const EVENT_STATUS: u32 = 0x11D3;
    pub(in crate::hal::opencl) const EVENT_COMPLETE: i32 = 0;
    pub(in crate::hal::opencl) const EVENT_QUEUED: u32 = 0x1280;
    pub(in crate::hal::opencl) const EVENT_BEGIN: u32 = 0x1282;
    pub(in crate::hal::opencl) const EVENT_END: u32 = 0x1283;

    /// The addresses of shared virtual memory that a kernel finds in memory.
    pub(in crate::hal::opencl) const SVM_ADDRESSES: u32 = 0x11B6;

    /// Kernels find addresses of shared memory in memory, and not only among their arguments.
    pub(in crate::hal::opencl) const INDIRECT: [u32; 3] = [0x4200, 0x4201, 0x4202];
}
