//! Names the program's allocator as the process knows it that loads the code.
//!
//! Before:
//! ```llvm
//! %block = call ptr @__schism_host_alloc(i64 24, i64 8)
//! ```
//! After:
//! ```llvm
//! %block = call ptr @__schism_cpu_alloc(i64 24, i64 8)
//! ```

use schism_jit_abi::code::HEAP;

use crate::common::image::HOST_HEAP;
use crate::common::module::Module;

/// Renames the builtins.
pub fn name(module: &Module<'_>) {
    for (builtin, name) in HOST_HEAP.iter().zip(HEAP) {
        if let Some(function) = module.function(builtin) {
            function.set_name(name);
        }
    }
}
