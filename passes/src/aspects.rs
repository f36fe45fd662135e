//! Notes what each kernel needs of a device and of the runtime.
//!
//! Changes nothing. For
//! ```llvm
//! define void @kernel(ptr %p) { ... call void @helper(ptr %p) ... }
//! define internal void @helper(ptr %p) { ... call void @__schism_panic(ptr @m, i64 9, ptr @l) ... }
//! ```
//! it finds that `kernel` can panic. In the same way it finds which specialization constants a kernel reads.

use std::collections::HashSet;

use inkwell::module::Module;
use inkwell::values::AsValueRef;

use crate::spec::DeviceSpec;
use crate::stage1::KernelImage;
use crate::{builtins, ir, reachability};

/// Fills in what is found out of each kernel.
pub fn run(module: &Module<'_>, spec: &DeviceSpec, kernels: &mut [KernelImage]) {
    // A constant without bytes has one value.
    for constant in spec.spec_constants.iter().filter(|constant| !constant.default.is_empty()) {
        let Some(global) = module.get_global(&constant.symbol) else { continue };
        let reaching = reachability::functions_reaching(global.as_value_ref());
        let names: HashSet<String> = reaching.into_iter().map(ir::name_of).collect();
        for kernel in kernels.iter_mut() {
            let variant = kernel.offset_variant.as_ref();
            if names.contains(&kernel.name) || variant.is_some_and(|name| names.contains(name)) {
                kernel.spec_constants.push(constant.symbol.clone());
            }
        }
    }
    for kernel in kernels {
        let variant = kernel.offset_variant.as_ref();
        kernel.can_panic = reaches_panic(module, &kernel.name)
            || variant.is_some_and(|variant| reaches_panic(module, variant));
    }
}

/// Whether a panic can be reached from a kernel, over uses of functions.
fn reaches_panic(module: &Module<'_>, kernel: &str) -> bool {
    let Some(panic) = module.get_function(builtins::PANIC) else { return false };
    reachability::functions_reaching(panic.as_value_ref())
        .into_iter()
        .any(|function| ir::name_of(function) == kernel)
}
