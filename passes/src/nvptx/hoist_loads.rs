//! Moves loads of global memory before the roots and quotients before them. Runs in stage 2,
//! for NVIDIA's GPUs, after optimisation.
//!
//! Before:
//! ```llvm
//! %years = load double, ptr addrspace(1) %years.at
//! %root = call double @llvm.sqrt.f64(double %years)
//! %price.at = getelementptr i8, ptr addrspace(1) %contracts, i64 %offset
//! %price = load double, ptr addrspace(1) %price.at
//! ```
//! After:
//! ```llvm
//! %years = load double, ptr addrspace(1) %years.at
//! %price.at = getelementptr i8, ptr addrspace(1) %contracts, i64 %offset
//! %price = load double, ptr addrspace(1) %price.at
//! %root = call double @llvm.sqrt.f64(double %years)
//! ```
//!
//! Roots and quotients that are rounded correctly, and quotients of 64-bit integers, are sequences
//! of instructions with a branch to a rare case. NVIDIA's assembler schedules nothing across a
//! branch, so a load behind one is requested when the first one's data are there: memory is waited
//! for twice. [Superblocks](crate::gpu::superblocks) end at loads, too.
//!
//! A load stays in its block, and behind whatever may write memory or may not return.

use std::collections::HashSet;

use schism_llvm::{Builder, Opcode, TypeKind, Value};

use crate::analysis::effects::{only_computes, touches_no_memory};
use crate::spec::target::NVPTX;

/// How many instructions a load goes past at most.
const FAR: usize = 256;

/// How many loads of a block are moved at most: the value of each takes registers meanwhile.
const MOST: usize = 16;

/// Integers of this width and less are divided without a branch.
const SHORT: u32 = 32;

/// Changes a function with a body.
pub(crate) fn run(function: Value<'_>) {
    for block in function.blocks() {
        let instructions = block.instructions();
        let Some(first) = instructions.iter().position(|&one| is_slow(one)) else { continue };
        let loads = instructions[first..].iter().filter(|&&one| is_plain_load(one));
        loads.filter(|&&load| hoist(load)).take(MOST).for_each(drop);
    }
}

/// Moves a load, and the arithmetic of its address, before the first slow instruction that it
/// may go past. Returns whether there was one.
fn hoist(load: Value<'_>) -> bool {
    let mut moved = vec![load];
    let mut needed: HashSet<Value<'_>> = load.operands().collect();
    let mut target = None;
    // How many of `moved` belong before the target.
    let mut count = 0;
    let mut previous = load.previous();
    for _ in 0..FAR {
        let Some(at) = previous else { break };
        if needed.contains(&at) {
            if !is_cheap(at) {
                break;
            }
            needed.extend(at.operands());
            moved.push(at);
        } else if is_slow(at) {
            (target, count) = (Some(at), moved.len());
        } else if !is_passed(at) {
            break;
        }
        previous = at.previous();
    }
    let Some(target) = target else { return false };
    let builder = Builder::before(target);
    // What was found first stands last.
    for &instruction in moved[..count].iter().rev() {
        instruction.remove_from_block();
        builder.insert(instruction);
    }
    true
}

fn is_plain_load(instruction: Value<'_>) -> bool {
    instruction.is_load_from(NVPTX.global) && instruction.is_simple()
}

/// Whether an instruction becomes a sequence with a branch in it.
fn is_slow(instruction: Value<'_>) -> bool {
    match instruction.opcode() {
        Some(Opcode::FDiv | Opcode::FRem) => true,
        Some(Opcode::UDiv | Opcode::SDiv | Opcode::URem | Opcode::SRem) => {
            let ty = instruction.ty();
            ty.kind() == TypeKind::Integer
                && ty.int_width() > SHORT
                && !instruction.operand(1).is_a_constant()
        }
        Some(Opcode::Call) => instruction.calls_intrinsic(&["sqrt."]),
        _ => false,
    }
}

/// Whether an instruction may be needed for an address, and costs little.
fn is_cheap(instruction: Value<'_>) -> bool {
    instruction.is_integer_arithmetic() && !is_slow(instruction)
        || matches!(
            instruction.opcode(),
            Some(Opcode::GetElementPtr | Opcode::Freeze | Opcode::AddrSpaceCast)
        )
}

/// Whether a load may be made before an instruction instead of behind it.
fn is_passed(instruction: Value<'_>) -> bool {
    match instruction.opcode() {
        Some(Opcode::Load) => instruction.is_simple(),
        Some(Opcode::ExtractElement | Opcode::InsertElement | Opcode::ShuffleVector) => true,
        Some(Opcode::Call) => instruction.callee().is_some_and(|callee| {
            callee.is_intrinsic()
                && (callee.name().starts_with("llvm.assume")
                    || touches_no_memory(instruction, callee))
        }),
        _ => only_computes(instruction),
    }
}
