//! Bounds the registers of kernels with many loads at a time. Runs in stage 2, after optimisation.
//!
//! Before:
//! ```llvm
//! define ptx_kernel void @kernel(...) #0 { ... }   ; with a loop of sixteen loads per iteration
//! attributes #0 = { "schism.block"="256,1,1" }
//! ```
//! After:
//! ```llvm
//! attributes #0 = { "nvvm.maxntid"="256,1,1" "nvvm.minctasm"="4" "schism.block"="256,1,1" }
//! ```
//!
//! A multiprocessor has 65,536 registers for 2,048 threads. NVIDIA's assembler tries to give each
//! thread 32, for full occupancy. A loop whose loads do not fit into those waits for memory several
//! times per iteration. With half of the threads, each with all of its loads in flight, more memory
//! requests are in flight (Volkov, *Better performance at lower occupancy*, GTC 2010). The bounds
//! declare the block size, and ask for room for 1,024 threads: half of all.
//!
//! Where more loads than that stand in one block, without a loop, the assembler takes registers for
//! all of them and their addresses, 90 and more. There the bounds are a limit: fewer threads have
//! less in flight, however many loads each has.
//!
//! A loop that keeps most of these registers for its values, such as an array, gets no bounds: the
//! assembler would store and load some of them in each iteration.
//!
//! The attribute `schism.block` says how large the blocks of each launch are, where that is known.

use std::collections::HashSet;

use schism_llvm::{Attribute, FUNCTION_INDEX, Value};

use crate::ir::cfg::{Cfg, Loop};
use crate::spec::target::NVPTX;

/// The attribute that says the size of a block: three numbers with commas.
pub const BLOCK: &str = "schism.block";

/// Threads that a multiprocessor has room for at least.
const THREADS: u32 = 1024;

/// A loop with this many loads per iteration waits for memory.
const LOADS: usize = 12;

/// A block with this many loads takes more than 64 registers: for each a value, and an address of two
/// registers. With fewer loads, bounds would only invite the assembler to take more.
const LOADS_OF_BLOCK: usize = 17;

/// The most registers that a loop with bounds has for values that it keeps. With bounds there are 64, also
/// for loads and addresses.
const KEPT: u64 = 40;

/// Changes a function with a body.
pub(super) fn run(function: Value<'_>) {
    let block = function.string_attribute(FUNCTION_INDEX, BLOCK);
    let Some(block) = block.and_then(Attribute::string_value) else { return };
    let sizes: Option<Vec<u32>> = block.split(',').map(|size| size.parse().ok()).collect();
    let threads = sizes.and_then(|sizes| sizes.into_iter().try_fold(1, u32::checked_mul));
    let Some(threads @ 1..) = threads else { return };
    if THREADS / threads < 2 || !loads_much(function) {
        return;
    }
    let blocks = (THREADS / threads).to_string();
    for (name, value) in [("nvvm.maxntid", &block), ("nvvm.minctasm", &blocks)] {
        function.add_string_attribute(name, value);
    }
}

/// Whether a function has a loop, or a block, that loads much from global memory at a time.
fn loads_much(function: Value<'_>) -> bool {
    let cfg = Cfg::of(function);
    let loads = |block: usize| {
        let instructions = cfg.blocks[block].instructions();
        instructions.into_iter().filter(|one| one.is_load_from(NVPTX.global)).count()
    };
    let all_loops = cfg.loops();
    let many = (0..cfg.blocks.len()).any(|block| loads(block) >= LOADS_OF_BLOCK)
        || all_loops
            .iter()
            .filter(|one| one.innermost)
            .any(|one| one.blocks.iter().map(|&block| loads(block)).sum::<usize>() >= LOADS);
    many && all_loops.iter().all(|one| kept(&cfg, one) <= KEPT)
}

/// The registers for what a loop keeps from iteration to iteration: its phis, and what it uses from before.
fn kept(cfg: &Cfg<'_>, of: &Loop) -> u64 {
    let mut values: HashSet<Value<'_>> = cfg.blocks[of.header].phis().into_iter().collect();
    for instruction in cfg.instructions(&of.blocks) {
        let before = |value: &Value<'_>| {
            value.opcode().is_some()
                && value.is_placed()
                && !of.blocks.contains(&cfg.block_of(*value))
        };
        values.extend(instruction.operands().filter(before));
    }
    let Some(value) = values.iter().next() else { return 0 };
    let layout = value.parent_function().module().data_layout();
    values.iter().map(|value| layout.abi_size(value.ty()).div_ceil(4)).sum()
}
