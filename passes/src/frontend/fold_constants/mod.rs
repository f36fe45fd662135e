//! Gives what stage 1 knows of constants to LLVM: specialization constants become bytes
//! that stay open until stage 2, [IR constants](ir_constants) become their values, and code that asks for
//! the features of the host's processor is told that there are none.
//!
//! Before:
//! ```llvm
//!   %v = load i8, ptr @__schism_is_device
//!   %d = icmp ne i8 %v, 0
//!   br i1 %d, label %device, label %host
//! ```
//! After:
//! ```llvm
//!   br label %device
//! ```

pub(crate) mod cpu_features;
pub mod ir_constants;
pub(crate) mod spec_constants;

use inkwell::module::Module;
use schism_llvm::AsModule;

use crate::spec::device::DeviceSpec;

/// Runs the pass over a device module. Code for the program's own process has the host's
/// specialization constants and processor.
///
/// # Errors
/// LLVM's message, if its pass manager fails.
pub fn run(module: &Module<'_>, spec: &DeviceSpec) -> Result<(), String> {
    let module = module.handle();
    if !spec.in_process {
        spec_constants::declare(module, &spec.spec_constants);
    }
    ir_constants::fold_in(module, &spec.ir_constants, &spec.ir_constant_functions)?;
    if spec.in_process || !spec.host_memory.is_empty() {
        return Ok(());
    }
    cpu_features::fold(module)
}
