//! What instructions do besides computing a result.

use schism_llvm::{FUNCTION_INDEX, Opcode, Value, enum_kind};

use crate::spec::target::ARCHITECTURES;
use crate::spec::target::GROUP_BARRIER;

/// Whether a call, or the function that it calls, is said to touch no memory, to return, and to do
/// that for each work-item by itself. What it
/// returns may still be more than its arguments say, such as a work-item's number.
pub(crate) fn touches_no_memory(call: Value<'_>, callee: Value<'_>) -> bool {
    let has = |name: &str| call.has_attribute_of_call(name);
    let no_memory = [callee.attributes(FUNCTION_INDEX), call.call_attributes(FUNCTION_INDEX)]
        .into_iter()
        .flatten()
        .any(|one| one.kind() == Some(enum_kind("memory")) && one.value() == 0);
    no_memory && has("willreturn") && !has("convergent")
}

/// Whether an instruction may be executed where its result is not needed, and gives the same for the same
/// operands whenever the same work-item executes it. `freeze` may not.
pub(crate) fn is_speculatable(instruction: Value<'_>) -> bool {
    use Opcode::*;
    let is_known = instruction.is_integer_arithmetic()
        || matches!(
            instruction.opcode(),
            Some(
                GetElementPtr
                    | IntToPtr
                    | AddrSpaceCast
                    | ExtractValue
                    | InsertValue
                    | FAdd
                    | FSub
                    | FMul
                    | FDiv
                    | FRem
                    | FNeg
                    | FCmp
                    | FPExt
                    | FPTrunc
                    | SIToFP
                    | UIToFP
                    | FPToSI
                    | FPToUI
            )
        );
    is_known || speculatable_intrinsic(instruction).is_some()
}

/// The name of the intrinsic that a call is of, if it may be executed anywhere.
fn speculatable_intrinsic(call: Value<'_>) -> Option<String> {
    let callee = call.callee()?;
    let has = |name| callee.has_function_attribute(name);
    (callee.is_intrinsic() && has("speculatable") && !has("convergent")).then(|| callee.name())
}

/// Whether an instruction computes a number or an address as indices and their checks are made of, and is
/// [speculatable](is_speculatable).
pub(crate) fn is_index_arithmetic(instruction: Value<'_>) -> bool {
    const CLAMPS: [&str; 7] =
        ["umin.", "umax.", "smin.", "smax.", "usub.sat.", "uadd.sat.", "ssub.sat."];
    instruction.is_integer_arithmetic()
        || matches!(
            instruction.opcode(),
            Some(Opcode::GetElementPtr | Opcode::IntToPtr | Opcode::FCmp)
        )
        || speculatable_intrinsic(instruction).is_some_and(|name| {
            let name = name.strip_prefix("llvm.").unwrap_or_default();
            CLAMPS.iter().any(|clamp| name.starts_with(clamp))
        })
}

/// Whether an instruction may be executed where its result is not needed.
pub(crate) fn only_computes(instruction: Value<'_>) -> bool {
    instruction.opcode() == Some(Opcode::Freeze) || is_speculatable(instruction)
}

/// Whether an instruction may be executed where its result is not needed, and gives the same for the same
/// operands whichever work-item executes it: intrinsics of one architecture may tell its number.
pub(crate) fn is_pure(instruction: Value<'_>) -> bool {
    is_speculatable(instruction)
        && speculatable_intrinsic(instruction).is_none_or(|name| !is_of_one_architecture(&name))
}

/// Whether an intrinsic of LLVM belongs to one architecture.
pub(crate) fn is_of_one_architecture(name: &str) -> bool {
    ARCHITECTURES.contains(&family(name))
}

/// The first part of an intrinsic's name.
pub(crate) fn family(name: &str) -> &str {
    name.strip_prefix("llvm.").unwrap_or(name).split('.').next().unwrap_or_default()
}

/// Whether a call is of an intrinsic that may write at the addresses that it is given, and keeps none of them.
pub(crate) fn keeps_no_address(call: Value<'_>) -> bool {
    call.calls_intrinsic(&[
        "lifetime.",
        "assume",
        "dbg.",
        "memset.",
        "experimental.noalias",
        "invariant.",
    ])
}

/// Whether all work-items of a group wait for each other at an instruction, on a GPU.
pub(crate) fn is_barrier(instruction: Value<'_>) -> bool {
    instruction.direct_callee().is_some_and(|callee| callee.name() == GROUP_BARRIER)
}
