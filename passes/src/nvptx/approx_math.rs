//! Reciprocals and square roots from approximations, rounded correctly except in rare cases.
//!
//! Before:
//! ```llvm
//!   %inverse = fdiv float 1.0, %x
//! ```
//! After, with a guard that is false in the rare cases:
//! ```llvm
//!   %near = call float @llvm.nvvm.rcp.approx.ftz.f(float %x)
//!   %x.negative = fneg float %x
//!   %off = call float @llvm.fma.f32(float %x.negative, float %near, float 1.0)
//!   %inverse = call float @llvm.fma.f32(float %near, float %off, float %near)
//!   %off.size = call float @llvm.fabs.f32(float %off)
//!   %guard = fcmp olt float %off.size, 0x3F50000000000000
//! ```
//!
//! PTX's `rcp.rn` and `sqrt.rn` consist of an approximation, a Newton step that rounds correctly,
//! and a branch for the numbers for which the step is not right. Here the step is explicit, and one
//! comparison of its result finds those numbers. So the branch can be shared with other rare cases:
//! the pass [`superblocks`](crate::gpu::superblocks) does that, and nothing else uses this module.

use llvm_sys::core::*;
use llvm_sys::prelude::*;
use llvm_sys::{LLVMOpcode, LLVMRealPredicate, LLVMTypeKind};

use crate::ir;

/// An operation that rounds correctly and has a fast approximation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Approximation {
    /// `1 / x`: the division.
    Reciprocal(LLVMValueRef),
    /// The call of `llvm.sqrt.f32`.
    Root(LLVMValueRef),
}

impl Approximation {
    /// The approximation of an instruction, if there is one.
    ///
    /// # Safety
    /// The instruction is live.
    pub(crate) unsafe fn of(instruction: LLVMValueRef) -> Option<Self> {
        // SAFETY: as promised by the caller; a division has two operands.
        unsafe {
            match ir::opcode(instruction)? {
                LLVMOpcode::LLVMFDiv => {
                    let over = LLVMGetOperand(instruction, 0);
                    let mut inexact = 0;
                    let is_one = !LLVMIsAConstantFP(over).is_null()
                        && LLVMConstRealGetDouble(over, &raw mut inexact) == 1.0;
                    (is_one && is_exact(instruction)).then_some(Self::Reciprocal(instruction))
                }
                LLVMOpcode::LLVMCall => {
                    let callee = ir::callee(instruction)?;
                    let is_root = ir::name_of(callee) == "llvm.sqrt.f32" && is_exact(instruction);
                    is_root.then_some(Self::Root(instruction))
                }
                _ => None,
            }
        }
    }

    /// The number that it is of.
    pub(crate) fn argument(self) -> LLVMValueRef {
        // SAFETY: the instruction is live; a division has two operands, and the call one argument.
        unsafe {
            match self {
                Self::Reciprocal(division) => LLVMGetOperand(division, 1),
                Self::Root(call) => LLVMGetOperand(call, 0),
            }
        }
    }

    /// Computes it of `x`. Returns the result, and a guard that is true where the result is right.
    ///
    /// # Safety
    /// The module is live, and `x` is a number of 32 bits that dominates where the builder stands.
    pub(crate) unsafe fn expand(
        self,
        module: LLVMModuleRef,
        builder: LLVMBuilderRef,
        x: LLVMValueRef,
    ) -> (LLVMValueRef, LLVMValueRef) {
        // SAFETY: as promised by the caller.
        unsafe {
            match self {
                Self::Reciprocal(_) => reciprocal(module, builder, x),
                Self::Root(_) => root(module, builder, x),
            }
        }
    }
}

/// `1 / x` as `rcp.rn` computes it where `x`, its inverse and the residual are normal numbers. Otherwise the residual is no small
/// number: the approximation takes subnormal numbers for zero, and gives zero for them.
///
/// # Safety
/// As for [`Approximation::expand`].
unsafe fn reciprocal(
    module: LLVMModuleRef,
    builder: LLVMBuilderRef,
    x: LLVMValueRef,
) -> (LLVMValueRef, LLVMValueRef) {
    // SAFETY: as promised by the caller.
    unsafe {
        let ty = LLVMTypeOf(x);
        let one = LLVMConstReal(ty, 1.0);
        let near = call(module, builder, "llvm.nvvm.rcp.approx.ftz.f", &mut [x]);
        let negative = LLVMBuildFNeg(builder, x, c"".as_ptr());
        let off = call(module, builder, "llvm.fma.f32", &mut [negative, near, one]);
        let inverse = call(module, builder, "llvm.fma.f32", &mut [near, off, near]);
        let size = call(module, builder, "llvm.fabs.f32", &mut [off]);
        let small = LLVMConstReal(ty, 1.0 / 1024.0);
        let predicate = LLVMRealPredicate::LLVMRealOLT;
        (inverse, LLVMBuildFCmp(builder, predicate, size, small, c"".as_ptr()))
    }
}

/// The root of `x` as `sqrt.rn` computes it where `x` is a number above 2^-101, so that the residual is not rounded. Otherwise the
/// result is smaller than that one's root, or a NaN.
///
/// # Safety
/// As for [`Approximation::expand`].
unsafe fn root(
    module: LLVMModuleRef,
    builder: LLVMBuilderRef,
    x: LLVMValueRef,
) -> (LLVMValueRef, LLVMValueRef) {
    // SAFETY: as promised by the caller.
    unsafe {
        let ty = LLVMTypeOf(x);
        let inverse = call(module, builder, "llvm.nvvm.rsqrt.approx.ftz.f", &mut [x]);
        let near = LLVMBuildFMul(builder, x, inverse, c"".as_ptr());
        let half = LLVMBuildFMul(builder, inverse, LLVMConstReal(ty, 0.5), c"".as_ptr());
        let negative = LLVMBuildFNeg(builder, near, c"".as_ptr());
        let off = call(module, builder, "llvm.fma.f32", &mut [negative, near, x]);
        let root = call(module, builder, "llvm.fma.f32", &mut [off, half, near]);
        let least = LLVMConstReal(ty, (-50.0_f64).exp2());
        let predicate = LLVMRealPredicate::LLVMRealOGE;
        (root, LLVMBuildFCmp(builder, predicate, root, least, c"".as_ptr()))
    }
}

/// Calls a function of numbers of 32 bits.
///
/// # Safety
/// As for [`Approximation::expand`]; the function is an intrinsic that takes these arguments.
unsafe fn call(
    module: LLVMModuleRef,
    builder: LLVMBuilderRef,
    name: &str,
    arguments: &mut [LLVMValueRef],
) -> LLVMValueRef {
    // SAFETY: as promised by the caller.
    unsafe {
        let mut types: Vec<LLVMTypeRef> = arguments.iter().map(|&it| LLVMTypeOf(it)).collect();
        let count = types.len() as u32;
        let ty = LLVMFunctionType(types[0], types.as_mut_ptr(), count, 0);
        let function = ir::declare_pure_builtin(module, name, ty);
        LLVMBuildCall2(builder, ty, function, arguments.as_mut_ptr(), count, c"".as_ptr())
    }
}

/// Whether an operation is one of 32 bits and rounds correctly.
unsafe fn is_exact(operation: LLVMValueRef) -> bool {
    // SAFETY: the operation is a live one of floating-point numbers.
    unsafe {
        LLVMGetTypeKind(LLVMTypeOf(operation)) == LLVMTypeKind::LLVMFloatTypeKind
            && LLVMGetFastMathFlags(operation) == 0
            && metadata(operation, "fpmath").is_null()
    }
}

/// The metadata of a kind at an instruction, or null.
///
/// # Safety
/// The instruction is live.
pub(crate) unsafe fn metadata(instruction: LLVMValueRef, kind: &str) -> LLVMValueRef {
    // SAFETY: as promised by the caller; the name is passed with its length.
    unsafe {
        let context = LLVMGetTypeContext(LLVMTypeOf(instruction));
        let kind = LLVMGetMDKindIDInContext(context, kind.as_ptr().cast(), kind.len() as u32);
        LLVMGetMetadata(instruction, kind)
    }
}
