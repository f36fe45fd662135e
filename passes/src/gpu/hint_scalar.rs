//! Says of kernels whose loops mostly update memory atomically that they gain nothing from vectors.
//! Runs in stage 2 after optimisation, for OpenCL's devices.
//!
//! Before:
//! ```llvm
//! define ptx_kernel void @histogram(...) {
//!   ...
//! loop:
//!   ...
//!   %word = load i32, ptr addrspace(1) %at
//!   %low = and i32 %word, 255
//!   ...
//!   %old = atomicrmw add ptr addrspace(3) %bin, i32 1 monotonic
//!   br i1 %goes.on, label %loop, label %end
//! ```
//! After:
//! ```llvm
//! define ptx_kernel void @histogram(...) "schism.scalar" {
//!   ...
//! ```
//! A driver for processors computes several work-items in the lanes of a vector, and an atomic update
//! for one lane after the other: whether the lane takes part, its address and its operand leave the
//! vector each time. And while one update follows the other, no load of the next iteration begins.
//!
//! **Which.** An update costs in vectors what some (`WORTH`) instructions gain by them. Blocks count
//! by how many loops they are in. Updates that not every iteration makes count half: drivers skip
//! what no lane needs.

use inkwell::module::Module;
use schism_llvm::{AsModule, Opcode, Value};

use crate::ir::cfg::Cfg;
use crate::spec::target::SCALAR;

/// How many other instructions gain by vectors what one atomic update loses. Measured with Intel's
/// driver: of one update for each number, both are as fast with 8.
const WORTH: u64 = 6;

/// What code in a loop counts more than code outside.
const ITERATIONS: u64 = 8;

/// Deeper loops count no more.
const DEEPEST: u32 = 6;

/// Intrinsics that are no instructions of a processor.
const NO_CODE: [&str; 4] = ["llvm.assume", "llvm.experimental.", "llvm.lifetime.", "llvm.dbg."];

/// Runs the pass over a module.
pub fn run(module: &Module<'_>) {
    for function in module.handle().functions() {
        if !function.is_declaration() && loses_by_vectors(function) {
            function.add_string_attribute(SCALAR, "");
        }
    }
}

fn loses_by_vectors(function: Value<'_>) -> bool {
    let is_update =
        |it: &Value<'_>| matches!(it.opcode(), Some(Opcode::AtomicRMW | Opcode::AtomicCmpXchg));
    if !function.instructions().iter().any(is_update) {
        return false;
    }
    let cfg = Cfg::of(function);
    let loops = cfg.natural_loops();
    // Twice of each, so that halves are whole numbers.
    let (mut gain, mut loss) = (0, 0);
    for (number, block) in cfg.blocks.iter().enumerate() {
        let around = loops.iter().filter(|one| one.blocks.contains(&number));
        let depth = u32::try_from(around.clone().count()).unwrap_or(DEEPEST);
        let innermost = around.min_by_key(|one| one.blocks.len());
        let is_always = innermost
            .is_some_and(|one| one.latches.iter().all(|&latch| cfg.dominates(number, latch)));
        let weight = ITERATIONS.pow(depth.min(DEEPEST));
        for instruction in block.instructions() {
            if is_update(&instruction) {
                loss += if is_always { 2 * weight } else { weight };
            } else if is_computed(instruction) {
                gain += 2 * weight;
            }
        }
    }
    gain < WORTH * loss
}

/// Whether an instruction is one of the processor's, or several: addresses are parts of accesses.
fn is_computed(instruction: Value<'_>) -> bool {
    use Opcode::*;
    match instruction.opcode() {
        Some(Phi | GetElementPtr | ZExt | SExt | Trunc | BitCast | AddrSpaceCast | Freeze) => false,
        Some(Br | Unreachable | Return | ExtractValue | InsertValue) => false,
        Some(Call) => !instruction.callee().is_some_and(|callee| {
            let name = callee.name();
            NO_CODE.iter().any(|intrinsic| name.starts_with(intrinsic))
        }),
        _ => true,
    }
}
