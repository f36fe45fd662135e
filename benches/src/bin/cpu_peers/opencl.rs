//! The workloads by an OpenCL runtime, which is loaded when it is asked for.

use std::error::Error;
use std::ffi::{CString, c_char, c_void};
use std::ptr::{null, null_mut};

use libloading::Library;
use schism_bench::cpu::{Ask, Workload};

use crate::twins::twin;

type Handle = *mut c_void;
type Status = Result<(), Box<dyn Error>>;

const CPU: u64 = 2;
const PLATFORM_NAME: u32 = 0x902;
const DRIVER_VERSION: u32 = 0x102d;
const BUILD_LOG: u32 = 0x1183;
const READ_WRITE: u64 = 1;
const COPY_HOST: u64 = 1 << 5;
/// Quotients and roots as exact as the host's. Contraction is off in the source.
const OPTIONS: &str = "-cl-std=CL2.0 -cl-fp32-correctly-rounded-divide-sqrt";

/// Declares the functions of OpenCL that are needed, and loads them.
macro_rules! functions {
    ($($name:ident: fn($($argument:ty),*) -> $result:ty;)*) => {
        #[allow(non_snake_case)]
        #[derive(Clone, Copy)]
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
        Handle, Handle, u32, *const usize, *const usize, *const usize, u32, Handle, Handle
    ) -> i32;
    clEnqueueReadBuffer:
        fn(Handle, Handle, u32, usize, usize, *mut c_void, u32, Handle, Handle) -> i32;
    clFinish: fn(Handle) -> i32;
}

/// An error for what OpenCL says.
fn check(what: &str, code: i32) -> Status {
    if code == 0 { Ok(()) } else { Err(format!("{what}: OpenCL's error {code}").into()) }
}

/// A processor, with the kernels compiled for it.
pub(crate) struct Device {
    api: Api,
    context: Handle,
    queue: Handle,
    program: Handle,
    name: String,
}

impl Device {
    /// The first processor of the library's platforms.
    pub fn load(library: &str, source: &str) -> Result<Self, Box<dyn Error>> {
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
                return Self::of(api, device, source, format!("{name} {version}"));
            }
        }
        Err("the library has no platform with a processor".into())
    }

    fn of(api: Api, device: Handle, source: &str, name: String) -> Result<Self, Box<dyn Error>> {
        let mut code = 0;
        let devices = &raw const device;
        // SAFETY: one device, no properties, nobody to call.
        let context = unsafe {
            (api.clCreateContext)(null(), 1, devices, null_mut(), null_mut(), &raw mut code)
        };
        check("clCreateContext", code)?;
        // SAFETY: the context and the device live.
        let queue = unsafe { (api.clCreateCommandQueue)(context, device, 0, &raw mut code) };
        check("clCreateCommandQueue", code)?;
        let (text_of, length) = (source.as_ptr().cast::<c_char>(), source.len());
        // SAFETY: one string of this length.
        let program = unsafe {
            let strings = &raw const text_of;
            (api.clCreateProgramWithSource)(context, 1, strings, &raw const length, &raw mut code)
        };
        check("clCreateProgramWithSource", code)?;
        let options = CString::new(OPTIONS)?;
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
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Makes a workload's memory.
    fn try_open(&self, name: &str) -> Result<Option<Workload>, Box<dyn Error>> {
        let Some(twin) = twin(name) else { return Ok(None) };
        let (api, queue) = (self.api, self.queue);
        let mut memory = Memory { api, buffers: Vec::new(), kernels: Vec::new() };
        let zeros = twin.outputs.iter().map(|&size| vec![0; size]);
        for mut bytes in twin.inputs.iter().cloned().chain(zeros) {
            let (mut code, flags) = (0, READ_WRITE | COPY_HOST);
            let from = bytes.as_mut_ptr().cast();
            // SAFETY: the bytes are copied before the call returns.
            let buffer = unsafe {
                (api.clCreateBuffer)(self.context, flags, bytes.len(), from, &raw mut code)
            };
            check("clCreateBuffer", code)?;
            memory.buffers.push(buffer);
        }
        for stage in &twin.stages {
            let (mut code, name) = (0, CString::new(stage.kernel)?);
            // SAFETY: the program is compiled; the name ends with a zero.
            let kernel =
                unsafe { (api.clCreateKernel)(self.program, name.as_ptr(), &raw mut code) };
            check(stage.kernel, code)?;
            memory.kernels.push(kernel);
            for (at, buffer) in memory.buffers.iter().enumerate() {
                let value = (&raw const *buffer).cast();
                // SAFETY: the argument is a buffer, which is copied as a handle.
                let code =
                    unsafe { (api.clSetKernelArg)(kernel, at as u32, size_of::<Handle>(), value) };
                check("clSetKernelArg", code)?;
            }
        }
        let size = *twin.outputs.last().ok_or("a workload has a result")?;
        Ok(Some(Box::new(move |ask| {
            let mut result = Vec::new();
            let code = if ask == Ask::Result {
                result = vec![0_u8; size];
                let from = memory.buffers[memory.buffers.len() - 1];
                let to = result.as_mut_ptr().cast();
                // SAFETY: the result has this size, and the call waits for it.
                unsafe {
                    (api.clEnqueueReadBuffer)(
                        queue,
                        from,
                        1,
                        0,
                        size,
                        to,
                        0,
                        null_mut(),
                        null_mut(),
                    )
                }
            } else {
                let launch = |(stage, &kernel): (&crate::twins::Stage, &Handle)| {
                    let local = stage.local.as_ref().map_or(null(), |local| local.as_ptr());
                    let global = stage.global.as_ptr();
                    let dimensions = if stage.global[1] > 1 { 2 } else { 1 };
                    let none = null_mut();
                    // SAFETY: the ranges have two numbers, and all arguments are set.
                    unsafe {
                        (api.clEnqueueNDRangeKernel)(
                            queue,
                            kernel,
                            dimensions,
                            null(),
                            global,
                            local,
                            0,
                            none,
                            none,
                        )
                    }
                };
                let failed =
                    twin.stages.iter().zip(&memory.kernels).map(launch).find(|&it| it != 0);
                // SAFETY: the queue lives as long as the program.
                failed.unwrap_or_else(|| unsafe { (api.clFinish)(queue) })
            };
            if let Err(error) = check("a launch", code) {
                eprintln!("error: {error}");
                std::process::exit(1);
            }
            result
        })))
    }

    /// The same, where an error ends the program.
    pub fn open(&self, name: &str) -> Option<Workload> {
        self.try_open(name).unwrap_or_else(|error| {
            eprintln!("error: {name}: {error}");
            std::process::exit(1)
        })
    }
}

/// What a workload gives back.
struct Memory {
    api: Api,
    buffers: Vec<Handle>,
    kernels: Vec<Handle>,
}

impl Drop for Memory {
    fn drop(&mut self) {
        for &kernel in &self.kernels {
            // SAFETY: the kernel is this workload's, and no launch is on its way.
            unsafe { (self.api.clReleaseKernel)(kernel) };
        }
        for &buffer in &self.buffers {
            // SAFETY: as for kernels.
            unsafe { (self.api.clReleaseMemObject)(buffer) };
        }
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
