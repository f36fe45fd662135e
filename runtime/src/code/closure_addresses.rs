//! The addresses in a kernel's closure, by what its container says of it.

use std::convert::Infallible;

use schism_hcf::ParameterKind;

use crate::code::captured::{self, CapturedAddress};
use crate::code::images;
use crate::code::lookup::{self, name_of};
use crate::error::ImageError;
use crate::launch::erased::RawKernel;

/// All addresses in the closure; their offsets are those in the closure. `None` if the kernel has no
/// container.
///
/// # Errors
/// The container is damaged, or is not this kernel's.
///
/// # Safety
/// The kernel's descriptor is its own, and its shared object is loaded. The closure is there.
pub(crate) unsafe fn all(kernel: &RawKernel) -> Result<Option<Vec<CapturedAddress>>, ImageError> {
    // SAFETY: null, or a constant of the kernel's shared object.
    let Some(descriptor) = (unsafe { kernel.descriptor.as_ref() }) else { return Ok(None) };
    let container = images::container_of(descriptor);
    // SAFETY: the caller keeps the shared object loaded.
    let record = unsafe { container.record()? };
    let (name, dimensions) = (name_of(descriptor)?, descriptor.dimensions);
    let (described, _) = lookup::find(record, name, dimensions, kernel.layout)?;
    let mut all = Vec::new();
    for parameter in &described.parameters {
        let begin = parameter.offset as usize;
        // SAFETY: parameters lie in the closure.
        let place = unsafe { kernel.closure.cast::<u8>().add(begin) };
        if parameter.kind == ParameterKind::Pointer {
            // SAFETY: as above.
            let address = unsafe { captured::word(place) };
            let (read_only, uncertain) = (parameter.read_only, false);
            all.push(CapturedAddress { offset: begin, address, read_only, uncertain });
        } else {
            // SAFETY: the container describes a closure of this type.
            let Ok(()) = unsafe {
                captured::for_each_address(&parameter.addresses, place, |found| {
                    all.push(CapturedAddress { offset: begin + found.offset, ..found });
                    Ok::<(), Infallible>(())
                })
            };
        }
    }
    Ok(Some(all))
}
