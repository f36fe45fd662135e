//! Divides trip counts that fit into 32 bits in 32 bits. Runs in stage 2, for GPUs, after
//! optimisation.
//!
//! Before (`%len` is an extended number of 32 bits, and `%first` what the loop's second iteration
//! begins at):
//! ```llvm
//! %most = call i64 @llvm.umax.i64(i64 %len, i64 %first)
//! %below = icmp ult i64 %first, %len
//! %one = zext i1 %below to i64
//! %end = add nuw i64 %first, %one
//! %left = sub i64 %most, %end
//! %iterations = udiv i64 %left, %step
//! ```
//! After:
//! ```llvm
//! %left.32 = trunc i64 %left to i32
//! %step.least = call i64 @llvm.umin.i64(i64 %step, i64 4294967295)
//! %step.32 = trunc i64 %step.least to i32
//! %iterations.32 = udiv i32 %left.32, %step.32
//! %iterations = zext i32 %iterations.32 to i64
//! ```
//!
//! LLVM computes such a trip count in order to unroll a loop whose step is no constant, such as a
//! grid-stride loop. It does not see that `%left` is less than `%len`: it is `%len - %first - 1`,
//! or zero. So it divides in 64 bits. A GPU has no instruction for that, and its expansion takes
//! NVIDIA's assembler as long as the rest of such a kernel.

use inkwell::module::Module;
use llvm_sys::LLVMIntPredicate::{LLVMIntUGT, LLVMIntULT};
use llvm_sys::LLVMOpcode;
use llvm_sys::core::*;
use llvm_sys::prelude::*;

use crate::ir;

/// The largest number of 32 bits. A step that is larger is made this: what is less, divided by either, is zero.
const LARGEST: u64 = u32::MAX as u64;

/// Runs the pass over the module, which is one for a GPU.
pub fn run(module: &Module<'_>) {
    ir::on_each_function(module, run_on);
}

/// Runs the pass over one function; a declaration has nothing to do.
///
/// # Safety
/// `function` is a function of a live module for a GPU, which nobody else changes meanwhile.
pub unsafe fn run_on(function: LLVMValueRef) {
    for division in ir::instructions(function) {
        if ir::opcode(division) == Some(LLVMOpcode::LLVMUDiv) && is_short(division) {
            // SAFETY: as promised by the caller, and the quotient is small.
            unsafe { shorten(division) };
        }
    }
}

/// Whether a division is one of 64 bits, by a variable, of what is left to a number of 31 bits.
fn is_short(division: LLVMValueRef) -> bool {
    // SAFETY: the division is live and has two operands.
    let (left, step) = unsafe { (LLVMGetOperand(division, 0), LLVMGetOperand(division, 1)) };
    // SAFETY: any live value may be asked, and an integer for its width.
    let is_wide = unsafe {
        let ty = LLVMTypeOf(division);
        LLVMIsConstant(step) == 0
            && LLVMGetTypeKind(ty) == llvm_sys::LLVMTypeKind::LLVMIntegerTypeKind
            && LLVMGetIntTypeWidth(ty) == 64
    };
    if !is_wide || ir::opcode(left) != Some(LLVMOpcode::LLVMSub) {
        return false;
    }
    // SAFETY: a difference has two operands.
    let (most, end) = unsafe { (LLVMGetOperand(left, 0), LLVMGetOperand(left, 1)) };
    let Some((a, b)) = greater(most) else { return false };
    [(a, b), (b, a)].into_iter().any(|(len, first)| is_small(len) && is_behind(end, first, len))
}

/// Whether a number is `first`, and one more if that is below `len`.
fn is_behind(end: LLVMValueRef, first: LLVMValueRef, len: LLVMValueRef) -> bool {
    let mut terms = terms(end);
    for term in self::terms(first) {
        let Some(place) = terms.iter().position(|other| *other == term) else { return false };
        terms.swap_remove(place);
    }
    matches!(terms[..], [one] if is_one_below(one, first, len))
}

/// Whether a number is one if `first` is below `len`, and else zero.
fn is_one_below(one: LLVMValueRef, first: LLVMValueRef, len: LLVMValueRef) -> bool {
    if ir::opcode(one) != Some(LLVMOpcode::LLVMZExt) {
        return false;
    }
    let Some(below) = ir::operands(one).next() else { return false };
    if ir::opcode(below) != Some(LLVMOpcode::LLVMICmp) {
        return false;
    }
    // SAFETY: a comparison has a predicate and two operands.
    let (predicate, a, b) = unsafe {
        (LLVMGetICmpPredicate(below), LLVMGetOperand(below, 0), LLVMGetOperand(below, 1))
    };
    match predicate {
        LLVMIntULT => (a, b) == (first, len),
        LLVMIntUGT => (a, b) == (len, first),
        _ => false,
    }
}

/// What a sum is of, if no addition goes beyond 64 bits.
fn terms(sum: LLVMValueRef) -> Vec<LLVMValueRef> {
    let (mut terms, mut open) = (Vec::new(), vec![sum]);
    while let Some(value) = open.pop() {
        // SAFETY: an addition is asked whether it may overflow.
        let is_sum =
            ir::opcode(value) == Some(LLVMOpcode::LLVMAdd) && unsafe { LLVMGetNUW(value) } != 0;
        if is_sum { open.extend(ir::operands(value)) } else { terms.push(value) }
    }
    terms
}

/// The two numbers that a value is the greater of.
fn greater(value: LLVMValueRef) -> Option<(LLVMValueRef, LLVMValueRef)> {
    let callee = ir::callee(value)?;
    let mut operands = ir::operands(value);
    (ir::name_of(callee) == "llvm.umax.i64").then_some((operands.next()?, operands.next()?))
}

/// Whether a number is less than [`LARGEST`]: it is one of 32 bits that is not negative.
fn is_small(value: LLVMValueRef) -> bool {
    if ir::opcode(value) != Some(LLVMOpcode::LLVMZExt) {
        return false;
    }
    ir::operands(value).all(|operand| {
        // SAFETY: an extension is asked whether its operand is negative, which is an integer.
        unsafe {
            let width = LLVMGetIntTypeWidth(LLVMTypeOf(operand));
            width < 32 || width == 32 && LLVMGetNNeg(value) != 0
        }
    })
}

/// Divides in 32 bits.
///
/// # Safety
/// The division is live, and its dividend less than [`LARGEST`].
unsafe fn shorten(division: LLVMValueRef) {
    // SAFETY: as promised by the caller. The divisor is no zero, as it was none before.
    unsafe {
        let (left, step) = (LLVMGetOperand(division, 0), LLVMGetOperand(division, 1));
        let long = LLVMTypeOf(division);
        let context = LLVMGetTypeContext(long);
        let short = LLVMInt32TypeInContext(context);
        let builder = LLVMCreateBuilderInContext(context);
        LLVMPositionBuilderBefore(builder, division);
        let name = c"".as_ptr();
        let left = LLVMBuildTrunc(builder, left, short, name);
        let module = LLVMGetGlobalParent(ir::parent_function(division));
        let (word, mut types) = ("llvm.umin", [long]);
        let id = LLVMLookupIntrinsicID(word.as_ptr().cast(), word.len());
        let least = LLVMGetIntrinsicDeclaration(module, id, types.as_mut_ptr(), 1);
        let mut operands = [step, LLVMConstInt(long, LARGEST, 0)];
        let ty = LLVMGlobalGetValueType(least);
        let step = LLVMBuildCall2(builder, ty, least, operands.as_mut_ptr(), 2, name);
        let step = LLVMBuildTrunc(builder, step, short, name);
        let iterations = LLVMBuildUDiv(builder, left, step, name);
        let iterations = LLVMBuildZExt(builder, iterations, long, name);
        LLVMReplaceAllUsesWith(division, iterations);
        LLVMInstructionEraseFromParent(division);
        LLVMDisposeBuilder(builder);
    }
}
