//! Relaxes floating-point operations. Runs in stage 2.
//!
//! Before:
//! ```llvm
//!   %product = fmul float %a, %b
//!   %sum = fadd float %sum.before, %product
//! ```
//! After, with [`FastMath::RELAXED`]:
//! ```llvm
//!   %product = fmul reassoc nsz arcp contract afn float %a, %b
//!   %sum = fadd reassoc nsz arcp contract afn float %sum.before, %product
//! ```
//!
//! A sum in a loop can then be taken in several parts at once, which is what makes a vector loop of
//! it. What an operation says already stays.
//!
//! **No value becomes poison.** A launch may promise that nothing in it is infinite or a NaN.
//! LLVM's words for that, `nnan` and `ninf`, are not used: where the promise is broken, an
//! operation with them gives no number but poison, and a branch on poison, or an index made of it,
//! is undefined behaviour, out of code that is safe to write. With the flags above each operation
//! gives a number, whatever goes in. A `freeze` behind each such value where it leaves
//! floating-point arithmetic would be as safe, but for unsafe code that relies on one value being
//! the same everywhere. There is nothing to win by it: of the 35 kernels of the GPU benchmarks 34
//! had the same PTX with the two flags and without (the other one an instruction more with them),
//! and on the CPU 34 the same code.

use schism_llvm::ModuleRef;

use crate::spec::options::FastMath;

/// Adds the flags to every operation of the module that can have them.
pub fn run(module: ModuleRef<'_>, math: FastMath) {
    if math == FastMath::PRECISE {
        return;
    }
    for function in module.functions() {
        for instruction in function.instructions() {
            if instruction.has_fast_math() {
                let flags = instruction.fast_math_flags() | math.flags();
                instruction.set_fast_math_flags(flags);
            }
        }
    }
}
