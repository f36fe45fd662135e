//! What instructions do besides computing a result.

use schism_llvm::{Opcode, Value};

/// Whether an instruction computes something of its operands, whatever they are.
pub(crate) fn is_computed(instruction: Value<'_>) -> bool {
    let is_known = instruction.is_integer_arithmetic()
        || matches!(
            instruction.opcode(),
            Some(
                Opcode::GetElementPtr
                    | Opcode::IntToPtr
                    | Opcode::AddrSpaceCast
                    | Opcode::Freeze
                    | Opcode::FAdd
                    | Opcode::FSub
                    | Opcode::FMul
                    | Opcode::FDiv
                    | Opcode::FNeg
                    | Opcode::FCmp
                    | Opcode::FPExt
                    | Opcode::FPTrunc
                    | Opcode::SIToFP
                    | Opcode::UIToFP
                    | Opcode::FPToSI
                    | Opcode::FPToUI
                    | Opcode::ExtractValue
                    | Opcode::InsertValue
            )
        );
    is_known
        || instruction.callee().is_some_and(|callee| {
            callee.name().starts_with("llvm.")
                && callee.has_function_attribute("speculatable")
                && !callee.has_function_attribute("convergent")
        })
}
