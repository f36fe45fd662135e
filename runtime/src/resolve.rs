//! Which code runs a kernel on a device.

use crate::body::Body;
use crate::device::{Device, DeviceKind};
use crate::error::LaunchError;
use crate::kernels::{self, Asked};
use crate::launch::RawKernel;
use crate::notice::Notice;

/// The kernel's body on the device, for a launch that asks for so much; the host half's own where the device cannot do it and nobody asked for the device by name.
///
/// # Safety
/// The kernel's descriptor is its own, and its shared object is loaded.
pub(crate) unsafe fn resolve(
    device: &Device,
    kernel: &RawKernel,
    asked: Asked<'_>,
) -> Result<Body, LaunchError> {
    // SAFETY: null, or a constant of the kernel's shared object.
    match (unsafe { kernel.descriptor.as_ref() }, device.kind()) {
        (None, DeviceKind::Cpu) if device.demanded() => {
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
            Ok(Body::Native(kernel.native))
        }
        (Some(_), DeviceKind::Native) => Ok(Body::Native(kernel.native)),
        (Some(descriptor), DeviceKind::Cpu) => {
            // SAFETY: the caller's promises.
            match unsafe { kernels::for_cpu(descriptor, kernel, asked) } {
                Ok(compiled) => Ok(Body::Cpu(compiled)),
                Err(source) if device.demanded() => Err(LaunchError::Image {
                    kernel: kernel.name(),
                    device: device.to_string(),
                    source: Box::new(source),
                }),
                Err(reason) => {
                    static NOTICE: Notice = Notice::new();
                    NOTICE.warn(format_args!(
                        "kernel `{}` runs on the device `native`, because on `cpu` {reason}",
                        kernel.name()
                    ));
                    Ok(Body::Native(kernel.native))
                }
            }
        }
    }
}
