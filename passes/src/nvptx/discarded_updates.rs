//! Has updates of global memory of which nobody uses the previous value give none. Runs in stage 2,
//! for NVIDIA's GPUs, right before PTX is written.
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
//! An update that a fence follows stays: with the fence it orders what comes later, which it can
//! only as a read.

use inkwell::module::Module;
use schism_llvm::{
    AsModule, AsmDialect, AtomicOrdering, AtomicRMWBinOp, Builder, Opcode, TypeKind, Value,
};

use crate::spec::target::NVPTX;

/// Runs the pass over the module, which is one for NVIDIA's GPUs.
pub fn run(module: &Module<'_>) {
    module.handle().functions().into_iter().for_each(run_on);
}

/// Runs the pass over one function; a declaration has nothing to do.
pub fn run_on(function: Value<'_>) {
    for update in function.instructions() {
        if let Some(operation) = is_discarded(update).then(|| operation(update)).flatten() {
            replace(update, operation);
        }
    }
}

fn is_discarded(update: Value<'_>) -> bool {
    update.opcode() == Some(Opcode::AtomicRMW)
        && update.users().is_empty()
        && !update.is_volatile()
        && update.operand(0).ty().address_space() == NVPTX.global
        && update.ordering() == AtomicOrdering::Monotonic
        && update.next().is_none_or(|next| next.opcode() != Some(Opcode::Fence))
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
