//! Which code runs a kernel on a device.

use std::sync::Arc;

use crate::api::device::{Device, Place};
use crate::code::kernels::{self, Asked, AskedOfGpu};
use crate::error::LaunchError;
use crate::hal::cuda::{Context, CudaKernel};
use crate::hal::host::run::Body;
use crate::launch::erased::RawKernel;
use crate::util::warn_once::Notice;

/// The kernel's body on a host device, for a launch that asks for so much; the host half's own where the device cannot do it and
/// nobody asked for the device by name.
///
/// # Safety
/// The kernel's descriptor is its own, and its shared object is loaded.
pub(crate) unsafe fn resolve(
    device: &Device,
    kernel: &RawKernel,
    asked: Asked<'_>,
) -> Result<Body, LaunchError> {
    // SAFETY: null, or a constant of the kernel's shared object.
    match (unsafe { kernel.descriptor.as_ref() }, matches!(device.place(), Place::Cpu)) {
        (None, true) if device.demanded() => {
            Err(LaunchError::NoDeviceCode { kernel: kernel.name(), device: device.to_string() })
        }
        (None, _) => {
            if !device.demanded() {
                static NOTICE: Notice = Notice::new();
                NOTICE.warn(
                    "this program was compiled by plain rustc, so its kernels run on the device `native`; build it with `cargo \
                     schism build` to have them compiled for devices, or set SCHISM_DEVICE=native to be content with this",
                );
            }
            Ok(Body::Native(kernel.native()))
        }
        (Some(_), false) => Ok(Body::Native(kernel.native())),
        (Some(descriptor), true) => {
            // SAFETY: the caller's promises.
            match unsafe { kernels::for_cpu(descriptor, kernel, asked) } {
                Ok(compiled) => Ok(Body::Cpu(compiled)),
                Err(cause) if device.demanded() => Err(LaunchError::Image {
                    kernel: kernel.name(),
                    device: device.to_string(),
                    cause: Box::new(cause),
                }),
                Err(reason) => {
                    static NOTICE: Notice = Notice::new();
                    NOTICE.warn(format_args!(
                        "kernel `{}` runs on the device `native`, because on `cpu` {reason}",
                        kernel.name()
                    ));
                    Ok(Body::Native(kernel.native()))
                }
            }
        }
    }
}

/// The same for a launch with groups.
///
/// # Safety
/// As for [`resolve`].
pub(crate) unsafe fn resolve_groups(
    device: &Device,
    kernel: &RawKernel,
    asked: Asked<'_>,
) -> Result<Body, LaunchError> {
    // SAFETY: the caller's promises.
    let mut body = unsafe { resolve(device, kernel, asked)? };
    // SAFETY: null, or a constant of the kernel's shared object.
    let descriptor = unsafe { kernel.descriptor.as_ref() };
    if let (Body::Native(native), Some(descriptor)) = (&mut body, descriptor) {
        // SAFETY: the caller's promises.
        native.shares_threads = unsafe { kernels::no_thread_locals(descriptor, kernel.layout) };
    }
    Ok(body)
}

/// The kernel on a GPU. There is no other code for it: what the launch works on is in the GPU's memory.
///
/// # Safety
/// As for [`resolve`].
pub(crate) unsafe fn resolve_cuda(
    device: &Device,
    context: &Arc<Context>,
    kernel: &RawKernel,
    asked: Asked<'_>,
    of_gpu: AskedOfGpu,
) -> Result<Arc<CudaKernel>, LaunchError> {
    // SAFETY: null, or a constant of the kernel's shared object.
    let Some(descriptor) = (unsafe { kernel.descriptor.as_ref() }) else {
        let (kernel, device) = (kernel.name(), device.to_string());
        return Err(LaunchError::NoDeviceCode { kernel, device });
    };
    // SAFETY: the caller's promises.
    unsafe { kernels::for_cuda(descriptor, kernel, asked, context, of_gpu) }.map_err(|source| {
        LaunchError::Image {
            kernel: kernel.name(),
            device: device.to_string(),
            cause: Box::new(source),
        }
    })
}
