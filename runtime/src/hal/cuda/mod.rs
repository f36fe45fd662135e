//! NVIDIA GPUs, through their driver: devices of the kind [`Cuda`](crate::DeviceKind::Cuda).
//!
//! | file | concern |
//! |---|---|
//! | `mod` | the driver: where it is, its functions |
//! | `properties` | properties of a device |
//! | `aot` | which AOT code a device can load |
//! | `libdevice` | the vendor's mathematics library, if requested |
//!
//! All else is the same for all vendors: [`crate::hal::gpu`].

pub(crate) mod aot;
mod libdevice;
mod properties;

use std::sync::OnceLock;

use libloading::Library;
use schism_hcf::Target;

use crate::error::DeviceError;
use crate::hal::gpu::api::{Contexts, Symbols, find};
use crate::hal::gpu::device::{self, Gpu, Gpus};
use crate::hal::gpu::memory;
use crate::hal::gpu::vendor::Vendor;
use crate::hal::{Backend, Unreadable};
use crate::util::device_nodes::Nodes;
use crate::util::variables;

/// NVIDIA GPUs.
#[derive(Debug)]
pub(crate) enum Cuda {}

/// Contexts may map host memory.
const MAP_HOST: u32 = 8;

/// NVIDIA's driver. Symbols include the suffix that fixes their signature (`_v2`); the library
/// keeps all versions.
static NVIDIA: Vendor = Vendor {
    name: "NVIDIA",
    interface: "CUDA",
    devices: "cuda",
    variable: &variables::CUDA,
    file_names: &["libcuda.so.1", "libcuda.so"],
    nodes: Nodes {
        // Of servers and workstations, of small boards, of Linux inside Windows.
        devices: &["/dev/nvidiactl", "/dev/nvhost-gpu", "/dev/nvgpu*", "/dev/dxg"],
        // The driver makes its nodes when it is first asked for.
        signs: &["/proc/driver/nvidia", "/sys/module/nvidia"],
    },
    hides: &["CUDA_VISIBLE_DEVICES"],
    symbols: Symbols {
        init: "cuInit",
        driver_version: "cuDriverGetVersion",
        error_name: "cuGetErrorName",
        error_text: "cuGetErrorString",
        device_count: "cuDeviceGetCount",
        device_get: "cuDeviceGet",
        device_name: "cuDeviceGetName",
        device_attribute: "cuDeviceGetAttribute",
        device_memory: "cuDeviceTotalMem_v2",
        context_create: "cuCtxCreate_v2",
        context_destroy: "cuCtxDestroy_v2",
        context_set: "cuCtxSetCurrent",
        context_limit: "cuCtxSetLimit",
        memory_allocate: "cuMemAlloc_v2",
        memory_free: "cuMemFree_v2",
        memory_info: "cuMemGetInfo_v2",
        managed_allocate: "cuMemAllocManaged",
        prefetch: "cuMemPrefetchAsync",
        host_register: "cuMemHostRegister_v2",
        host_unregister: "cuMemHostUnregister",
        host_allocate: "cuMemHostAlloc",
        host_free: "cuMemFreeHost",
        host_device_address: "cuMemHostGetDevicePointer_v2",
        copy_to_device: "cuMemcpyHtoDAsync_v2",
        copy_to_host: "cuMemcpyDtoHAsync_v2",
        copy_on_device: "cuMemcpyDtoDAsync_v2",
        fill_bytes: "cuMemsetD8Async",
        stream_create: "cuStreamCreate",
        stream_destroy: "cuStreamDestroy_v2",
        stream_synchronize: "cuStreamSynchronize",
        event_create: "cuEventCreate",
        event_destroy: "cuEventDestroy_v2",
        event_record: "cuEventRecord",
        event_synchronize: "cuEventSynchronize",
        event_query: "cuEventQuery",
        event_elapsed: "cuEventElapsedTime",
        module_load: "cuModuleLoadDataEx",
        module_unload: "cuModuleUnload",
        module_function: "cuModuleGetFunction",
        module_global: "cuModuleGetGlobal_v2",
        function_attribute: "cuFuncGetAttribute",
        set_function_attribute: "cuFuncSetAttribute",
        launch: "cuLaunchKernel",
    },
    contexts,
    context_flags: MAP_HOST,
    refuses_other_contexts: true,
    has_stack_limit: true,
};

/// Its devices.
static GPUS: Gpus = Gpus {
    vendor: &NVIDIA,
    properties: properties::properties,
    has_target: |target| matches!(target, Target::Ptx(_) | Target::Sass(_)),
    found: OnceLock::new(),
};

/// Looks up the functions of contexts.
///
/// # Safety
/// The library is NVIDIA's driver, or behaves like it, and stays loaded.
unsafe fn contexts(library: &Library) -> Result<Contexts, &'static str> {
    let symbols = &NVIDIA.symbols;
    // SAFETY: the caller's promise; the symbols of the driver have these types.
    unsafe {
        Ok(Contexts {
            create: find(library, symbols.context_create)?,
            destroy: find(library, symbols.context_destroy)?,
            set: find(library, symbols.context_set)?,
        })
    }
}

impl Backend for Cuda {
    type Device = &'static Gpu;

    fn devices() -> Vec<&'static Gpu> {
        device::devices(&GPUS)
    }

    fn by_name(name: &str) -> Option<Result<&'static Gpu, DeviceError>> {
        device::by_name(&GPUS, name)
    }

    fn wished(name: &str) -> Option<Result<&'static Gpu, DeviceError>> {
        device::wished(&GPUS, name)
    }

    fn at_start() {
        device::at_start();
    }

    fn readable(address: usize) -> Option<Result<*const u8, Unreadable>> {
        memory::readable(address)
    }

    fn exclusive(address: usize, bytes: usize) {
        memory::exclusive(address, bytes);
    }
}
