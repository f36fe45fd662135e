//! A processor by an OpenCL runtime, which is loaded when it is asked for: just what the baselines
//! in OpenCL C need.

use std::error::Error;
use std::ffi::{CString, c_char, c_void};
use std::ptr::{null, null_mut};

use libloading::Library;

type Handle = *mut c_void;
type Outcome<T = ()> = Result<T, Box<dyn Error>>;

const CPU: u64 = 2;
const PLATFORM_NAME: u32 = 0x902;
const DRIVER_VERSION: u32 = 0x102d;
const BUILD_LOG: u32 = 0x1183;
const READ_WRITE: u64 = 1;
const COPY_HOST: u64 = 1 << 5;
const PROFILING: u64 = 1 << 1;
const COMMAND_START: u32 = 0x1282;
const COMMAND_END: u32 = 0x1283;

/// Declares the functions of OpenCL that are needed, and loads them.
macro_rules! functions {
    ($($name:ident: fn($($argument:ty),*) -> $result:ty;)*) => {
        #[allow(non_snake_case)]
        #[derive(Clone, Copy, Debug)]
        struct Api { $($name: unsafe extern "C" fn($($argument),*) -> $result,)* }

        impl Api {
            fn load(library: &'static Library) -> Result<Self, libloading::Error> {
                // SAFETY: the signatures are OpenCL's, and the library stays.
                unsafe { Ok(Self { $($name: *library.get(stringify!($name))?,)* }) }
            }
        }
    };
}

functions! {
    clGetPlatformIDs: fn(u32, *mut Handle, *mut u32) -> i32;
    clGetPlatformInfo: fn(Handle, u32, usize, *mut c_void, *mut usize) -> i32;
    clGetDeviceIDs: fn(Handle, u64, u32, *mut Handle, *mut u32) -> i32;
    clGetDeviceInfo: fn(Handle, u32, usize, *mut c_void, *mut usize) -> i32;
    clCreateContext: fn(*const isize, u32, *const Handle, Handle, Handle, *mut i32) -> Handle;
    clCreateCommandQueue: fn(Handle, Handle, u64, *mut i32) -> Handle;
    clCreateProgramWithSource:
        fn(Handle, u32, *const *const c_char, *const usize, *mut i32) -> Handle;
    clBuildProgram: fn(Handle, u32, *const Handle, *const c_char, Handle, Handle) -> i32;
    clGetProgramBuildInfo: fn(Handle, Handle, u32, usize, *mut c_void, *mut usize) -> i32;
    clCreateKernel: fn(Handle, *const c_char, *mut i32) -> Handle;
    clCreateBuffer: fn(Handle, u64, usize, *mut c_void, *mut i32) -> Handle;
    clReleaseMemObject: fn(Handle) -> i32;
    clReleaseKernel: fn(Handle) -> i32;
    clSetKernelArg: fn(Handle, u32, usize, *const c_void) -> i32;
    clEnqueueNDRangeKernel: fn(
        Handle, Handle, u32, *const usize, *const usize, *const usize, u32, Handle, *mut Handle
    ) -> i32;
    clEnqueueReadBuffer:
        fn(Handle, Handle, u32, usize, usize, *mut c_void, u32, Handle, Handle) -> i32;
    clFinish: fn(Handle) -> i32;
    clGetEventProfilingInfo: fn(Handle, u32, usize, *mut c_void, *mut usize) -> i32;
    clReleaseEvent: fn(Handle) -> i32;
}

/// An error for what OpenCL says.
fn check(what: &str, code: i32) -> Outcome {
    if code == 0 { Ok(()) } else { Err(format!("{what}: OpenCL's error {code}").into()) }
}

/// A processor, with kernels compiled for it.
#[derive(Clone, Copy, Debug)]
pub struct Device {
    api: Api,
    context: Handle,
    queue: Handle,
    program: Handle,
    name: &'static str,
}

/// Memory of a device, freed when it is dropped.
#[derive(Debug)]
pub struct Buffer {
    api: Api,
    raw: Handle,
    bytes: usize,
}

/// A kernel with arguments, released when it is dropped.
#[derive(Debug)]
pub struct Kernel {
    api: Api,
    raw: Handle,
}

/// A launch that was submitted, released when it is dropped.
#[derive(Debug)]
pub struct Launch {
    api: Api,
    event: Handle,
}

impl Device {
    /// The first processor of the library's platforms. The source is compiled with these options;
    /// a device with `timed` knows how long launches took.
    ///
    /// # Errors
    /// Without a library, without a processor, and with what the compiler says.
    pub fn load(library: &str, source: &str, options: &str, timed: bool) -> Outcome<Self> {
        // SAFETY: an OpenCL runtime may be loaded by anybody.
        let library = Box::leak(Box::new(unsafe { Library::new(library) }?));
        let api = Api::load(library)?;
        let (mut platforms, mut count) = ([null_mut(); 16], 0);
        // SAFETY: there is room for so many platforms.
        let code = unsafe { (api.clGetPlatformIDs)(16, platforms.as_mut_ptr(), &raw mut count) };
        check("clGetPlatformIDs", code)?;
        for &platform in &platforms[..(count as usize).min(16)] {
            let (mut device, mut count) = (null_mut(), 0);
            let (to, found) = (&raw mut device, &raw mut count);
            // SAFETY: there is room for one device.
            let code = unsafe { (api.clGetDeviceIDs)(platform, CPU, 1, to, found) };
            if code == 0 && count > 0 {
                // SAFETY: the functions write as many bytes as there is room for.
                let name = text(|n, to, size| unsafe {
                    (api.clGetPlatformInfo)(platform, PLATFORM_NAME, n, to, size)
                });
                // SAFETY: as above.
                let version = text(|n, to, size| unsafe {
                    (api.clGetDeviceInfo)(device, DRIVER_VERSION, n, to, size)
                });
                let name = String::leak(format!("{name} {version}"));
                return Self::of(api, device, source, options, timed, name);
            }
        }
        Err("the library has no platform with a processor".into())
    }

    fn of(
        api: Api,
        device: Handle,
        source: &str,
        options: &str,
        timed: bool,
        name: &'static str,
    ) -> Outcome<Self> {
        let mut code = 0;
        let devices = &raw const device;
        // SAFETY: one device, no properties, no callback.
        let context = unsafe {
            (api.clCreateContext)(null(), 1, devices, null_mut(), null_mut(), &raw mut code)
        };
        check("clCreateContext", code)?;
        let properties = if timed { PROFILING } else { 0 };
        // SAFETY: the context and the device live.
        let queue =
            unsafe { (api.clCreateCommandQueue)(context, device, properties, &raw mut code) };
        check("clCreateCommandQueue", code)?;
        let (text_of, length) = (source.as_ptr().cast::<c_char>(), source.len());
        // SAFETY: one string of this length.
        let program = unsafe {
            let strings = &raw const text_of;
            (api.clCreateProgramWithSource)(context, 1, strings, &raw const length, &raw mut code)
        };
        check("clCreateProgramWithSource", code)?;
        let options = CString::new(options)?;
        // SAFETY: one device; the options end with a zero.
        let code = unsafe {
            (api.clBuildProgram)(program, 1, devices, options.as_ptr(), null_mut(), null_mut())
        };
        if code != 0 {
            // SAFETY: the function writes as many bytes as there is room for.
            let log = text(|n, to, size| unsafe {
                (api.clGetProgramBuildInfo)(program, device, BUILD_LOG, n, to, size)
            });
            return Err(format!("the kernels do not compile: error {code}\n{log}").into());
        }
        Ok(Self { api, context, queue, program, name })
    }

    /// The platform's name and version.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// Memory with these bytes.
    ///
    /// # Errors
    /// OpenCL's.
    pub fn buffer(&self, bytes: &[u8]) -> Outcome<Buffer> {
        let (mut code, flags) = (0, READ_WRITE | COPY_HOST);
        let from = bytes.as_ptr().cast_mut().cast();
        // SAFETY: the bytes are only read, and copied before the call returns.
        let raw = unsafe {
            (self.api.clCreateBuffer)(self.context, flags, bytes.len(), from, &raw mut code)
        };
        check("clCreateBuffer", code)?;
        Ok(Buffer { api: self.api, raw, bytes: bytes.len() })
    }

    /// A kernel whose first arguments are these buffers, and whose next ones these numbers.
    ///
    /// # Errors
    /// OpenCL's: there is no such kernel, or it takes something else.
    pub fn kernel<'b>(
        &self,
        name: &str,
        buffers: impl IntoIterator<Item = &'b Buffer>,
        numbers: &[i32],
    ) -> Outcome<Kernel> {
        let (mut code, symbol) = (0, CString::new(name)?);
        // SAFETY: the program is compiled; the name ends with a zero.
        let raw =
            unsafe { (self.api.clCreateKernel)(self.program, symbol.as_ptr(), &raw mut code) };
        check(name, code)?;
        let kernel = Kernel { api: self.api, raw };
        let mut index = 0;
        let mut set = |size: usize, value: *const c_void| {
            // SAFETY: the value has this size, and is copied; a buffer is copied as a handle.
            let code = unsafe { (self.api.clSetKernelArg)(raw, index, size, value) };
            index += 1;
            check("clSetKernelArg", code)
        };
        for buffer in buffers {
            set(size_of::<Handle>(), (&raw const buffer.raw).cast())?;
        }
        for number in numbers {
            set(size_of::<i32>(), (&raw const *number).cast())?;
        }
        Ok(kernel)
    }

    /// Submits a launch of one or two dimensions; without a group's size the runtime chooses one.
    ///
    /// # Errors
    /// OpenCL's.
    pub fn launch(
        &self,
        kernel: &Kernel,
        global: [usize; 2],
        local: Option<[usize; 2]>,
    ) -> Outcome<Launch> {
        let local = local.as_ref().map_or(null(), |local| local.as_ptr());
        let dimensions = if global[1] > 1 { 2 } else { 1 };
        let mut event = null_mut();
        // SAFETY: the ranges have two numbers, and all arguments are set.
        let code = unsafe {
            let (global, event) = (global.as_ptr(), &raw mut event);
            let launch = self.api.clEnqueueNDRangeKernel;
            launch(self.queue, kernel.raw, dimensions, null(), global, local, 0, null_mut(), event)
        };
        check("a launch", code)?;
        Ok(Launch { api: self.api, event })
    }

    /// Waits for all launches.
    ///
    /// # Errors
    /// OpenCL's.
    pub fn finish(&self) -> Outcome {
        // SAFETY: the queue lives as long as the program.
        check("clFinish", unsafe { (self.api.clFinish)(self.queue) })
    }

    /// The bytes of a buffer, when all launches have ended.
    ///
    /// # Errors
    /// OpenCL's.
    pub fn read(&self, buffer: &Buffer) -> Outcome<Vec<u8>> {
        let mut bytes = vec![0_u8; buffer.bytes];
        let (size, to) = (bytes.len(), bytes.as_mut_ptr().cast());
        // SAFETY: there is room for so many bytes, and the call waits for them.
        let code = unsafe {
            let read = self.api.clEnqueueReadBuffer;
            read(self.queue, buffer.raw, 1, 0, size, to, 0, null_mut(), null_mut())
        };
        check("clEnqueueReadBuffer", code)?;
        Ok(bytes)
    }
}

impl Launch {
    /// How long it took, by the device's clock. It has ended, and the device is timed.
    ///
    /// # Errors
    /// OpenCL's.
    pub fn seconds(&self) -> Outcome<f64> {
        let time = |what| -> Outcome<u64> {
            let mut time = 0_u64;
            let to = (&raw mut time).cast();
            // SAFETY: there is room for the number.
            let code =
                unsafe { (self.api.clGetEventProfilingInfo)(self.event, what, 8, to, null_mut()) };
            check("clGetEventProfilingInfo", code)?;
            Ok(time)
        };
        Ok((time(COMMAND_END)? - time(COMMAND_START)?) as f64 * 1e-9)
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        // SAFETY: the buffer is released once; OpenCL keeps it while a launch uses it.
        unsafe { (self.api.clReleaseMemObject)(self.raw) };
    }
}

impl Drop for Kernel {
    fn drop(&mut self) {
        // SAFETY: as for buffers.
        unsafe { (self.api.clReleaseKernel)(self.raw) };
    }
}

impl Drop for Launch {
    fn drop(&mut self) {
        // SAFETY: as for buffers.
        unsafe { (self.api.clReleaseEvent)(self.event) };
    }
}

/// What a function of OpenCL says, which is asked for the size first.
fn text(ask: impl Fn(usize, *mut c_void, *mut usize) -> i32) -> String {
    let mut size = 0;
    if ask(0, null_mut(), &raw mut size) != 0 {
        return String::new();
    }
    let mut bytes = vec![0_u8; size];
    ask(size, bytes.as_mut_ptr().cast(), null_mut());
    String::from_utf8_lossy(&bytes).trim_end_matches('\0').to_owned()
}
