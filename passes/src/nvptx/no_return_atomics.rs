//! Makes no-return atomics of updates of global memory whose previous value is not used. Runs in
//! stage 2, for NVIDIA's GPUs, right before PTX is written.
//!
//! Before:
//! ```llvm
//! %unused = atomicrmw umin ptr addrspace(1) %nearest, i32 %distance syncscope("device") monotonic
//! ```
//! After:
//! ```llvm
//! call void asm sideeffect "red.global.min.u32 [$0], $1;", "l,r,~{memory}"(ptr addrspace(1) %nearest, i32 %distance)
//! ```
//!
//! LLVM writes `atom` for all updates, which waits for the previous value. NVIDIA's assembler makes
//! `red` of some that are not used, but not in loops that may be left elsewhere. Both are relaxed and
//! have the scope of the device.
//!
//! **Why it is sound.** To PTX's memory model `atom` is a read and `red` is none, so only with the
//! former an acquire fence that comes later orders what follows. Functions with such fences stay as
//! they are, but for fences on the way to a panic: nothing follows these.

use schism_llvm::{AsmDialect, AtomicOrdering, AtomicRMWBinOp, Builder, Opcode, TypeKind, Value};

use crate::analysis::cold_paths::panics_anyway;
use crate::ir::cfg::Cfg;
use crate::spec::target::NVPTX;

/// Changes a function with a body.
pub(super) fn run(function: Value<'_>) {
    let mut updates = function.instructions();
    updates.retain(|instruction| is_unused_update(*instruction));
    if updates.is_empty() || acquires(function) {
        return;
    }
    for update in updates {
        if let Some(operation) = operation(update) {
            replace(update, operation);
        }
    }
}

/// Whether a function has an acquire fence that something may follow.
fn acquires(function: Value<'_>) -> bool {
    let cfg = Cfg::of(function);
    let is_acquire = |instruction: Value<'_>| {
        instruction.opcode() == Some(Opcode::Fence)
            && instruction.ordering() != AtomicOrdering::Release
    };
    (0..cfg.blocks.len()).any(|block| {
        cfg.blocks[block].instructions().into_iter().any(is_acquire) && !panics_anyway(&cfg, block)
    })
}

fn is_unused_update(update: Value<'_>) -> bool {
    update.opcode() == Some(Opcode::AtomicRMW)
        && update.users().is_empty()
        && !update.is_volatile()
        && update.operand(0).ty().address_space() == NVPTX.global
        && update.ordering() == AtomicOrdering::Monotonic
}

/// What PTX calls the operation with its type; `None` if it has none, or another meaning.
fn operation(update: Value<'_>) -> Option<&'static str> {
    let ty = update.operand(1).ty();
    if ty.kind() == TypeKind::Float && update.rmw_operation() == AtomicRMWBinOp::FAdd {
        return Some("add.f32");
    }
    let width = (ty.kind() == TypeKind::Integer).then(|| ty.int_width())?;
    let names = match update.rmw_operation() {
        AtomicRMWBinOp::Add => ["add.u32", "add.u64"],
        AtomicRMWBinOp::And => ["and.b32", "and.b64"],
        AtomicRMWBinOp::Or => ["or.b32", "or.b64"],
        AtomicRMWBinOp::Xor => ["xor.b32", "xor.b64"],
        AtomicRMWBinOp::Min => ["min.s32", "min.s64"],
        AtomicRMWBinOp::Max => ["max.s32", "max.s64"],
        AtomicRMWBinOp::UMin => ["min.u32", "min.u64"],
        AtomicRMWBinOp::UMax => ["max.u32", "max.u64"],
        _ => return None,
    };
    match width {
        32 => Some(names[0]),
        64 => Some(names[1]),
        _ => None,
    }
}

fn replace(update: Value<'_>, operation: &str) {
    let operands = [update.operand(0), update.operand(1)];
    let context = update.context();
    let ty = context.void_type().function(&operands.map(|operand| operand.ty()), false);
    let text = format!("red.global.{operation} [$0], $1;");
    let constraints = match operation.rsplit('.').next() {
        Some("f32") => "l,f,~{memory}",
        Some(name) if name.ends_with("64") => "l,l,~{memory}",
        _ => "l,r,~{memory}",
    };
    let assembly = ty.inline_assembly(&text, constraints, true, false, AsmDialect::Att);
    Builder::before(update).call(ty, assembly, &operands);
    update.erase();
}
