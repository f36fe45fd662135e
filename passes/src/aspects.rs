//! Notes what each kernel needs of a device and of the runtime.
//!
//! Changes nothing. For
//! ```llvm
//! define void @kernel(ptr %p) { ... call void @helper(ptr %p) ... }
//! define internal void @helper(ptr %p) { ... call void @__schism_panic(ptr @m, i64 9, ptr @l) ... }
//! ```
//! it finds that `kernel` can panic.

use inkwell::module::Module;
use inkwell::values::AsValueRef;

use crate::stage1::KernelImage;
use crate::{builtins, ir, reachability};

/// Fills in what is found out of each kernel.
pub fn run(module: &Module<'_>, kernels: &mut [KernelImage]) {
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
