//! Removes a freedom that an image may contain: whether a multiply and an add round once or twice.
//!
//! `llvm.fmuladd` leaves it to the target, so the result would depend on the processor. Every host
//! supports two operations, and they are what the host half does on the processors that programs
//! are built for by default. A kernel that wants one rounding uses `llvm.fma`, which stays.

use crate::common::module::Module;
use schism_llvm::Builder;

/// Replaces each `llvm.fmuladd` by a multiply and an add.
pub fn unfuse(module: &Module<'_>) {
    for function in module.functions() {
        if !function.is_intrinsic() || !function.name().starts_with("llvm.fmuladd.") {
            continue;
        }
        for call in function.users() {
            let (Some(a), Some(b), Some(c)) =
                (call.get_operand(0), call.get_operand(1), call.get_operand(2))
            else {
                continue;
            };
            let builder = Builder::before(call);
            let sum = builder.fadd(builder.fmul(a, b), c);
            call.replace_uses(sum);
            call.erase();
        }
    }
}
