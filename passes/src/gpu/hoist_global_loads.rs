//! Moves loads of global memory in front of stores to local memory. Runs in stage 2, for GPUs,
//! after optimisation.
//!
//! Before:
//! ```llvm
//! %a = load i32, ptr addrspace(1) %a.at
//! store atomic i32 %a, ptr addrspace(3) %a.tile monotonic, align 4
//! %b.at = getelementptr i32, ptr addrspace(1) %b.first, i64 %row
//! %b = load i32, ptr addrspace(1) %b.at
//! store atomic i32 %b, ptr addrspace(3) %b.tile monotonic, align 4
//! ```
//! After:
//! ```llvm
//! %a = load i32, ptr addrspace(1) %a.at
//! %b.at = getelementptr i32, ptr addrspace(1) %b.first, i64 %row
//! %b = load i32, ptr addrspace(1) %b.at
//! store atomic i32 %a, ptr addrspace(3) %a.tile monotonic, align 4
//! store atomic i32 %b, ptr addrspace(3) %b.tile monotonic, align 4
//! ```
//!
//! Elements of local memory are shared by work-items, so accesses to them are atomic, and LLVM does
//! not move anything past those. A GPU that stores the first element before it asks for the second
//! waits for memory twice.
//!
//! The two memories (address spaces 1 and 3) do not overlap. A plain load may come before a store
//! that orders nothing (`monotonic`). It stays in its block, and behind barriers, fences, calls,
//! and stores to any other memory.

use std::collections::HashSet;

use inkwell::module::Module;
use schism_llvm::{AsModule, AtomicOrdering, Builder, Opcode, Value};

use crate::spec::target::NVPTX;

/// How many instructions a load goes past at most: each value that is loaded early takes a register meanwhile.
const FAR: usize = 64;

/// The numbers of both memories.
const GLOBAL: u32 = NVPTX.global;
const SHARED: u32 = NVPTX.local;

/// Runs the pass over the module, which is one for a GPU.
pub fn run(module: &Module<'_>) {
    module.handle().functions().into_iter().for_each(run_on);
}

/// Runs the pass over one function; a declaration has nothing to do.
pub fn run_on(function: Value<'_>) {
    for load in function.instructions() {
        if load.opcode() == Some(Opcode::Load) && is_plain(load, GLOBAL) {
            hoist(load);
        }
    }
}

/// Moves a load, and the arithmetic of its address, in front of the stores before it.
fn hoist(load: Value<'_>) {
    let mut moved = vec![load];
    let mut needed: HashSet<Value<'_>> = load.operands().collect();
    let mut target = None;
    // How many of `moved` belong in front of the target.
    let mut count = 0;
    let mut previous = load.previous();
    for _ in 0..FAR {
        let Some(at) = previous else { break };
        if needed.contains(&at) {
            if !is_arithmetic(at) {
                break;
            }
            needed.extend(at.operands());
            moved.push(at);
        } else if at.opcode() == Some(Opcode::Store) && is_plain(at, SHARED) {
            (target, count) = (Some(at), moved.len());
        } else if !is_passed(at) {
            break;
        }
        previous = at.previous();
    }
    let Some(target) = target else { return };
    let builder = Builder::before(target);
    // What was found first stands last.
    for &instruction in moved[..count].iter().rev() {
        instruction.remove_from_block();
        builder.insert(instruction);
    }
}

/// Whether an access of a memory neither is volatile nor orders others.
fn is_plain(access: Value<'_>, space: u32) -> bool {
    let address = access.operand(access.num_operands() - 1);
    !access.is_volatile()
        && address.address_space() == Some(space)
        && orders_nothing(access)
        && (space != GLOBAL || access.ordering() == AtomicOrdering::NotAtomic)
}

fn orders_nothing(access: Value<'_>) -> bool {
    let ordering = access.ordering();
    matches!(
        ordering,
        AtomicOrdering::NotAtomic | AtomicOrdering::Unordered | AtomicOrdering::Monotonic
    )
}

fn is_arithmetic(instruction: Value<'_>) -> bool {
    instruction.is_integer_arithmetic()
        || matches!(
            instruction.opcode(),
            Some(
                Opcode::GetElementPtr
                    | Opcode::IntToPtr
                    | Opcode::Freeze
                    | Opcode::AddrSpaceCast
                    | Opcode::FAdd
                    | Opcode::FSub
                    | Opcode::FMul
                    | Opcode::FNeg
                    | Opcode::FCmp
                    | Opcode::ExtractValue
            )
        )
}

/// Whether a load may be made before an instruction instead of behind it.
fn is_passed(instruction: Value<'_>) -> bool {
    match instruction.opcode() {
        Some(Opcode::Load) => !instruction.is_volatile() && orders_nothing(instruction),
        Some(Opcode::Call) => {
            instruction.callee().is_some_and(|callee| callee.name().starts_with("llvm.assume"))
        }
        _ => is_arithmetic(instruction),
    }
}
