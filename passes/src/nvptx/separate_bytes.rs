//! Keeps loads of bytes apart whose values a loop uses. Runs in stage 2, for NVIDIA's GPUs, after
//! optimisation.
//!
//! Before:
//! ```llvm
//!   %a = load i8, ptr addrspace(1) %word, align 16
//!   %b.at = getelementptr i8, ptr addrspace(1) %word, i64 1
//!   %b = load i8, ptr addrspace(1) %b.at, align 1
//!   ...
//! loop:
//!   %same = icmp eq i8 %x, %a
//! ```
//! After:
//! ```llvm
//!   %bytes = call ptr addrspace(1) asm "mov.b64 $0, $1;", "=l,l"(ptr addrspace(1) %word)
//!   %a = load i8, ptr addrspace(1) %bytes, align 1
//!   %b.at = getelementptr i8, ptr addrspace(1) %bytes, i64 1
//!   %b = load i8, ptr addrspace(1) %b.at, align 1
//! ```
//!
//! LLVM makes one load of several that stand side by side, and each byte is then taken out of a register.
//! NVIDIA's assembler keeps the register, and takes the bytes out where they are used: in each iteration of
//! a loop again. Loads before a loop are made once. LLVM knows nothing of an address that comes from inline
//! assembly, not even how it is aligned, so it does not join the loads.

use std::collections::HashMap;

use schism_llvm::{AsmDialect, Builder, Opcode, TypeKind, Value};

use crate::ir::address::{base_and_offset, is_constant_memory};
use crate::ir::cfg::{Cfg, NaturalLoop};
use crate::spec::target::NVPTX;

/// Fewer loads are not worth it.
const LEAST: usize = 4;

/// The widths of integers that are taken out of a register.
const SHORT: [u32; 2] = [8, 16];

/// Changes a function with a body.
pub(super) fn run(function: Value<'_>) {
    let cfg = Cfg::of(function);
    let loops = cfg.natural_loops();
    if loops.is_empty() {
        return;
    }
    for (number, block) in cfg.blocks.iter().enumerate() {
        let mut groups: HashMap<Value<'_>, Vec<(Value<'_>, i64)>> = HashMap::new();
        for load in block.instructions() {
            if is_short(load) && is_used_in_another_loop(load, number, &cfg, &loops) {
                let (base, offset) = base_and_offset(load.operand(0));
                groups.entry(base).or_default().push((load, offset));
            }
        }
        for (base, loads) in groups.into_iter().filter(|(_, loads)| loads.len() >= LEAST) {
            separate(base, &loads);
        }
    }
}

/// Gives loads addresses of which nothing is known.
fn separate<'m>(base: Value<'m>, loads: &[(Value<'m>, i64)]) {
    let [(first, _), ..] = *loads else { return };
    let builder = Builder::before(first);
    let (context, ty) = (base.context(), base.ty());
    let function = ty.function(&[ty], false);
    let assembly =
        function.inline_assembly("mov.b64 $0, $1;", "=l,l", false, false, AsmDialect::Att);
    let bytes = builder.call(function, assembly, &[base]);
    let (byte, index) = (context.int_type(8), context.int_type(64));
    let is_constant = is_constant_memory(base);
    let invariant = context.metadata_kind("invariant.load");
    for &(load, offset) in loads {
        builder.position_before(load);
        let at = builder.gep(byte, bytes, &[index.const_int(offset.cast_unsigned(), true)]);
        load.set_operand(0, at);
        load.set_alignment(load.ty().int_width() / 8);
        // LLVM has seen this in the address.
        if is_constant {
            load.set_metadata(invariant, context.md_node(&[]).as_value(context));
        }
    }
}

/// Whether an instruction loads a short integer from global memory.
fn is_short(load: Value<'_>) -> bool {
    let ty = load.ty();
    load.is_load_from(NVPTX.global)
        && ty.kind() == TypeKind::Integer
        && SHORT.contains(&ty.int_width())
        && load.is_simple()
}

/// Whether a value, or what it is extended to, is used in a loop that its block is not in.
fn is_used_in_another_loop(
    value: Value<'_>,
    block: usize,
    cfg: &Cfg<'_>,
    loops: &[NaturalLoop],
) -> bool {
    value.users().into_iter().any(|user| {
        let at = cfg.block_of(user);
        let is_inside =
            loops.iter().any(|one| one.blocks.contains(&at) && !one.blocks.contains(&block));
        let extends = matches!(user.opcode(), Some(Opcode::ZExt | Opcode::SExt));
        is_inside || extends && is_used_in_another_loop(user, block, cfg, loops)
    })
}
