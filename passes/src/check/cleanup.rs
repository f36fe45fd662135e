//! Finds kernels whose unwinding the program would notice.
//!
//! Changes nothing. Where kernels do not unwind, a panic leaves undone what destructors and guards
//! would do. That has no effect if it concerns the work-item's private memory, which ends with it:
//! ```llvm
//!   invoke void @closure(ptr %item) to label %next unwind label %cleanup
//! cleanup:
//!   %pad = landingpad { ptr, i32 } cleanup
//!   store i64 %length, ptr %of_vector                  ; the length of the program's vector
//!   resume { ptr, i32 } %pad
//! ```
//! Nor has it where the only effect of a kernel is its result, which a launch that panics has not.
//!
//! Of the latter, and of those whose changes a launch can undo, it finds as well which make addresses of numbers: types say
//! nothing of what these are of.
//!
//! It runs before landing pads are removed, and before anything is inlined.

use inkwell::module::Module;
use schism_llvm::{AsModule, Value};

use crate::analysis::cleanup::Cleanup;
use crate::check::capabilities::reached_from;
use crate::check::host_memory;
use crate::spec::device::DeviceSpec;
use crate::spec::image::{Capability, KernelImage};

/// Notes the kernels in the program's memory whose cleanup changes some of it.
pub fn run(module: &Module<'_>, spec: &DeviceSpec, kernels: &mut [KernelImage]) {
    let module = module.handle();
    for (image, kernel) in kernels.iter_mut().zip(&spec.kernels) {
        if (spec.without_effects.contains(&image.name) || spec.restored.contains(&image.name))
            && let Some(entry) = module.function(&kernel.entry)
            && host_memory::addresses_are_forged(&reached_from(&[entry]))
        {
            image.capabilities.insert(Capability::ForgedAddresses);
        }
    }
    let of_program: Vec<(&mut KernelImage, Value<'_>)> = kernels
        .iter_mut()
        .zip(&spec.kernels)
        .filter(|(image, _)| {
            spec.host_memory.contains(&image.name)
                && (!spec.without_effects.contains(&image.name)
                    || image.capabilities.contains(&Capability::ForgedAddresses))
        })
        .filter_map(|(image, kernel)| Some((image, module.function(&kernel.entry)?)))
        .collect();
    let entries: Vec<Value<'_>> = of_program.iter().map(|(_, entry)| *entry).collect();
    let cleanup = Cleanup::of(&reached_from(&entries));
    for (image, entry) in of_program {
        if cleanup.is_noticed(entry) {
            image.capabilities.insert(Capability::Unwinding);
        }
    }
}
