//! Lets floating-point operations be inexact, for a kernel whose launch allows it. Runs in stage 2.
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
//! A sum in a loop can then be taken in several parts at once, which is what makes a vector loop of it.
//! What an operation says already stays.

use inkwell::module::Module;
use llvm_sys::core::*;
use llvm_sys::prelude::*;
use llvm_sys::{
    LLVMFastMathAllowContract, LLVMFastMathAllowReassoc, LLVMFastMathAllowReciprocal,
    LLVMFastMathApproxFunc, LLVMFastMathNoInfs, LLVMFastMathNoNaNs, LLVMFastMathNoSignedZeros,
};

use crate::ir;

/// How inexact operations may be: LLVM's flags.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct FastMath(u32);

impl FastMath {
    /// Not at all.
    pub const EXACT: Self = Self(0);

    /// Rounding may differ: other orders, contracted operations, reciprocals, approximated functions, zeros without sign.
    /// Infinities and NaNs keep their meaning.
    pub const RELAXED: Self = Self(
        LLVMFastMathAllowReassoc
            | LLVMFastMathAllowContract
            | LLVMFastMathNoSignedZeros
            | LLVMFastMathAllowReciprocal
            | LLVMFastMathApproxFunc,
    );

    /// As [`RELAXED`](Self::RELAXED), and no value is infinite or a NaN.
    pub const RELAXED_AND_FINITE: Self =
        Self(Self::RELAXED.0 | LLVMFastMathNoNaNs | LLVMFastMathNoInfs);
}

/// Runs the pass over a module.
pub fn run_on(module: &Module<'_>, math: FastMath) {
    // SAFETY: the module is live and held by the caller.
    unsafe { run(module.as_mut_ptr(), math) }
}

/// Adds the flags to every operation of the module that can have them.
///
/// # Safety
/// `module` is a live module that nobody else changes during the call.
pub unsafe fn run(module: LLVMModuleRef, math: FastMath) {
    if math == FastMath::EXACT {
        return;
    }
    // SAFETY: as promised by the caller; flags are read and set only where LLVM says that there can be some.
    unsafe {
        let mut function = LLVMGetFirstFunction(module);
        while !function.is_null() {
            for instruction in ir::instructions(function) {
                if LLVMCanValueUseFastMathFlags(instruction) != 0 {
                    let flags = LLVMGetFastMathFlags(instruction) | math.0;
                    LLVMSetFastMathFlags(instruction, flags);
                }
            }
            function = LLVMGetNextFunction(function);
        }
    }
}
