//! Taking back a freedom that an image may leave: whether a multiply and an add round once or twice.
//!
//! `llvm.fmuladd` leaves it to the target, so the result would depend on the processor. Two operations are what every host
//! can do and what the host half does on the processors that programs are built for by default. A kernel that asks for one
//! rounding uses `llvm.fma`, which stays.

use crate::llvm::{Builder, Context, Module};

/// Makes each `llvm.fmuladd` a multiply and an add.
pub fn unfuse(context: &Context, module: &Module<'_>) {
    for function in module.functions() {
        if !function.is_intrinsic() || !function.name().starts_with("llvm.fmuladd.") {
            continue;
        }
        for call in function.users() {
            let (Some(a), Some(b), Some(c)) = (call.operand(0), call.operand(1), call.operand(2))
            else {
                continue;
            };
            let Some(sum) = Builder::before(context, call).multiply_add(a, b, c) else { continue };
            call.replace_uses(sum);
            // SAFETY: nothing uses the call any more, and an intrinsic's users are calls of it, once each: its address
            // cannot be taken.
            unsafe { call.erase() };
        }
    }
}
