//! What instructions do besides computing a result.

use schism_llvm::{FUNCTION_INDEX, Opcode, Value, enum_kind};

use crate::spec::target::GROUP_BARRIER;

/// Whether a call, or the function that it calls, is said to touch no memory, to return, and to do
/// that for each work-item by itself. What it
/// returns may still be more than its arguments say, such as a work-item's number.
pub(crate) fn touches_no_memory(call: Value<'_>, callee: Value<'_>) -> bool {
    let has = |name: &str| call.has_call_attribute(name) || callee.has_function_attribute(name);
    let no_memory = [callee.attributes(FUNCTION_INDEX), call.call_attributes(FUNCTION_INDEX)]
        .into_iter()
        .flatten()
        .any(|one| one.kind() == Some(enum_kind("memory")) && one.value() == 0);
    no_memory && has("willreturn") && !has("convergent")
}

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

/// Whether all work-items of a group wait for each other at an instruction, on a GPU.
pub(crate) fn is_barrier(instruction: Value<'_>) -> bool {
    instruction.direct_callee().is_some_and(|callee| callee.name() == GROUP_BARRIER)
}
