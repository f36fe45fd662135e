//! AMD GPUs, through HIP: devices of the kind [`Hip`](crate::DeviceKind::Hip).
//!
//! | file | concern |
//! |---|---|
//! | `mod` | the library: where it is, its functions |
//! | `properties` | properties of a device |
//! | `aot` | which AOT code a device can load |
//!
//! All else is the same for all vendors: [`crate::hal::gpu`]. HIP has contexts for programs that came
//! from CUDA only; here one is a device, which is made current in the calling thread before each
//! call that depends on it. Arguments of launches are passed by their addresses, and HIP lays them
//! out as the metadata of the code object says.

mod aot;
mod properties;

use std::ffi::{c_int, c_uint};
use std::sync::OnceLock;

use libloading::Library;
use schism_hcf::Target;

use crate::error::DeviceError;
use crate::hal::Backend;
use crate::hal::gpu::api::{Contexts, DeviceNumber, RawContext, ResultCode, Symbols, find, number};
use crate::hal::gpu::device::{self, Gpu, Gpus};
use crate::hal::gpu::vendor::Vendor;
use crate::util::device_nodes::Nodes;
use crate::util::variables;

/// AMD GPUs.
#[derive(Debug)]
pub(crate) enum Hip {}

/// AMD's driver, as HIP shows it.
static AMD: Vendor = Vendor {
    name: "AMD",
    interface: "HIP",
    devices: "hip",
    variable: &variables::HIP,
    file_names: &["libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so"],
    nodes: Nodes { devices: &["/dev/kfd", "/dev/dxg"], signs: &[] },
    hides: &["HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES"],
    symbols: Symbols {
        init: "hipInit",
        driver_version: "hipRuntimeGetVersion",
        error_name: "hipDrvGetErrorName",
        error_text: "hipDrvGetErrorString",
        device_count: "hipGetDeviceCount",
        device_get: "hipDeviceGet",
        device_name: "hipDeviceGetName",
        device_attribute: "hipDeviceGetAttribute",
        device_memory: "hipDeviceTotalMem",
        context_create: "hipSetDevice",
        context_destroy: "",
        context_set: "hipSetDevice",
        context_limit: "hipDeviceSetLimit",
        memory_allocate: "hipMalloc",
        memory_free: "hipFree",
        memory_info: "hipMemGetInfo",
        managed_allocate: "hipMallocManaged",
        prefetch: "hipMemPrefetchAsync",
        host_register: "hipHostRegister",
        host_unregister: "hipHostUnregister",
        host_allocate: "hipHostMalloc",
        host_free: "hipHostFree",
        host_device_address: "hipHostGetDevicePointer",
        copy_to_device: "hipMemcpyHtoDAsync",
        copy_to_host: "hipMemcpyDtoHAsync",
        copy_on_device: "hipMemcpyDtoDAsync",
        fill_bytes: "hipMemsetD8Async",
        stream_create: "hipStreamCreateWithFlags",
        stream_destroy: "hipStreamDestroy",
        stream_synchronize: "hipStreamSynchronize",
        event_create: "hipEventCreateWithFlags",
        event_destroy: "hipEventDestroy",
        event_record: "hipEventRecord",
        event_synchronize: "hipEventSynchronize",
        event_query: "hipEventQuery",
        event_elapsed: "hipEventElapsedTime",
        module_load: "hipModuleLoadDataEx",
        module_unload: "hipModuleUnload",
        module_function: "hipModuleGetFunction",
        module_global: "hipModuleGetGlobal",
        function_attribute: "hipFuncGetAttribute",
        set_function_attribute: "hipFuncSetAttribute",
        launch: "hipModuleLaunchKernel",
    },
    contexts,
    context_flags: 0,
    refuses_other_contexts: false,
    has_stack_limit: false,
};

/// Its devices.
static GPUS: Gpus = Gpus {
    vendor: &AMD,
    properties: properties::properties,
    has_target: |target| matches!(target, Target::Amdgcn(_)),
    found: OnceLock::new(),
};

/// `hipSetDevice`, once it is looked up.
static SET_DEVICE: OnceLock<SetDevice> = OnceLock::new();

type SetDevice = unsafe extern "C" fn(device: c_int) -> ResultCode;

/// What stands for contexts.
///
/// # Safety
/// The library is HIP, or behaves like it, and stays loaded.
unsafe fn contexts(library: &Library) -> Result<Contexts, &'static str> {
    // SAFETY: the caller's promise; the symbol has this type.
    let found = unsafe { find::<SetDevice>(library, AMD.symbols.context_set) }?;
    SET_DEVICE.get_or_init(|| found);
    Ok(Contexts { create, destroy, set })
}

/// A context is a device's number, plus one: 0 is none.
unsafe extern "C" fn create(
    context: *mut RawContext,
    _: c_uint,
    device: DeviceNumber,
) -> ResultCode {
    let number = usize::try_from(device).unwrap_or(0) + 1;
    let made = RawContext(std::ptr::without_provenance_mut(number));
    // SAFETY: the caller lets it be written.
    unsafe { context.write(made) };
    // SAFETY: any number is allowed.
    unsafe { set(made) }
}

unsafe extern "C" fn set(context: RawContext) -> ResultCode {
    let Some(set_device) = SET_DEVICE.get() else { return number::NOT_INITIALIZED };
    let device = context.0.addr().checked_sub(1).and_then(|device| c_int::try_from(device).ok());
    let Some(device) = device else { return number::INVALID_VALUE };
    // SAFETY: HIP refuses numbers of no device.
    unsafe { set_device(device) }
}

/// What a lost device still holds stays with HIP: a reset would take it from other users of the
/// device in this process, too.
unsafe extern "C" fn destroy(_: RawContext) -> ResultCode {
    number::SUCCESS
}

impl Backend for Hip {
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

    // What the host reads of a buffer is in one table for all vendors, which `Cuda` asks.
}
