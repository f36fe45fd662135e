//! Scopes of atomic accesses and fences, as GPUs have them: a group's, the device's, the system's.

use crate::common::module::Module;
use schism_llvm::{Context, Opcode, Value};

/// Gives atomics and fences the scopes of the target. Those without one, which are the standard
/// library's, get the scope of the device: no other device accesses the memory meanwhile. A fence for
/// one work-item only stays one.
pub fn narrow(context: &Context, module: &Module<'_>) {
    for instruction in all(module) {
        let has = |scopes: &[&str]| scopes.iter().any(|s| instruction.has_sync_scope(s));
        let is_fence = instruction.opcode() == Some(Opcode::Fence);
        if has(&["singlethread"]) && is_fence {
            continue;
        }
        let scope = if has(&["singlethread", "subgroup", "workgroup", "block"]) {
            "block"
        } else if has(&["system"]) {
            ""
        } else {
            "device"
        };
        instruction.set_sync_scope(context.handle().sync_scope(scope));
    }
}

/// The atomic accesses and fences of a module.
pub fn all<'m>(module: &'m Module<'_>) -> impl Iterator<Item = Value<'m>> {
    let instructions = module.functions().into_iter().flat_map(Value::instructions);
    instructions.filter(|instruction| match instruction.opcode() {
        Some(Opcode::Fence | Opcode::AtomicRMW | Opcode::AtomicCmpXchg) => true,
        Some(Opcode::Load | Opcode::Store) => instruction.is_atomic(),
        _ => false,
    })
}

/// Removes fences for one work-item only: they constrain LLVM, which is done, and need no
/// instructions.
pub fn drop_own_fences(module: &Module<'_>) {
    for instruction in module.functions().into_iter().flat_map(Value::instructions) {
        if instruction.opcode() == Some(Opcode::Fence) && instruction.has_sync_scope("singlethread")
        {
            instruction.erase();
        }
    }
}
