//! The instructions at which the work-items of a group wait for each other.

use schism_llvm::Value;

/// What a barrier of the loop function calls, with the group.
pub(super) const BARRIER: &str = "schism.meet.__schism_barrier";

/// Begins the names of the functions that group operations of the loop function call.
pub(super) const MEET: &str = "schism.meet.";

/// Whether an instruction is a barrier or an operation of sub-groups.
pub(super) fn waits(instruction: Value<'_>) -> bool {
    instruction.direct_callee().is_some_and(|callee| callee.name().starts_with(MEET))
}
