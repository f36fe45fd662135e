//! Small loops that are counted get a hint of how many turns are to be made one. Runs in stage 2, before optimisation.
//!
//! Before:
//! ```llvm
//! turn:
//!   …
//!   %next = add i32 %k, 1
//!   %more = icmp ult i32 %next, 512
//!   br i1 %more, label %turn, label %done
//! ```
//! After:
//! ```llvm
//!   br i1 %more, label %turn, label %done, !llvm.loop !0
//!
//! !0 = distinct !{!0, !1}
//! !1 = !{!"llvm.loop.unroll.count", i32 16}
//! ```
//!
//! A GPU starts one instruction after the other: counting and jumping are a tenth of a loop of twenty instructions. What LLVM takes
//! for small enough is meant for processors that do both beside the rest. It also waits for memory once for all loads that it comes to
//! before it needs the first, so very small loops with several loads get the hint whatever they are counted to. Only innermost loops that call nothing, with no way out to
//! a panic, get the hint; one that has a hint keeps it.

use inkwell::module::Module;
use inkwell::values::AsValueRef;
use llvm_sys::LLVMOpcode;
use llvm_sys::core::*;
use llvm_sys::debuginfo::{LLVMMetadataReplaceAllUsesWith, LLVMTemporaryMDNode};
use llvm_sys::prelude::*;

use crate::graph::{Graph, Loop};
use crate::ir;
use crate::loop_checks;

/// Instructions that turns made one may have.
const SIZE: usize = 256;

/// The most turns that are made one.
const TURNS: usize = 16;

/// Loops that are counted to less are left to LLVM, which may make all their turns one.
const COUNT: u64 = 64;

/// A loop that waits for memory, and is counted to whatever number, gets the hint if its turn has no more instructions.
const WAITING: usize = 16;

/// So many loads a turn are worth it.
const LOADS: usize = 2;

/// LLVM's name for what is known of a loop.
const LOOP: &str = "llvm.loop";

/// Runs the pass over the module.
pub fn run(module: &Module<'_>) {
    for function in module.get_functions() {
        // SAFETY: the function is one of the live module, which the caller holds.
        unsafe { run_on(function.as_value_ref()) };
    }
}

/// Runs the pass over one function; a declaration has nothing to do.
///
/// # Safety
/// `function` is a function of a live module that nobody else changes meanwhile.
pub unsafe fn run_on(function: LLVMValueRef) {
    if ir::blocks(function).is_empty() || ir::has_function_attribute(function, "optnone") {
        return;
    }
    let graph = Graph::of(function);
    for of in graph.loops().into_iter().filter(|of| of.innermost) {
        if let Some(turns) = turns(&graph, &of) {
            // SAFETY: the latch is a block of the live function.
            unsafe { hint(LLVMGetBasicBlockTerminator(graph.blocks[of.latch]), turns) };
        }
    }
}

/// How many turns of a loop are to be made one, if more than one.
fn turns(graph: &Graph, of: &Loop) -> Option<usize> {
    let (mut size, mut loads) = (0, 0);
    for &block in &of.blocks {
        for instruction in ir::instructions_of(graph.blocks[block]) {
            loads += usize::from(ir::opcode(instruction) == Some(LLVMOpcode::LLVMLoad));
            match ir::opcode(instruction) {
                Some(LLVMOpcode::LLVMPHI) => {}
                Some(LLVMOpcode::LLVMCall) if !is_operation(instruction) => return None,
                _ => size += 1,
            }
        }
    }
    let (mut counted, mut ends) = (false, 0);
    for &block in &of.blocks {
        for &next in graph.successors[block].iter().filter(|next| !of.blocks.contains(next)) {
            if loop_checks::panics(graph, next) {
                return None;
            }
            // SAFETY: the block is one of the live function.
            counted |= unsafe { counts_to(graph.blocks[block]) } >= COUNT;
            ends += 1;
        }
    }
    // What is loaded in several turns is on its way together.
    counted |= loads >= LOADS && ends == 1 && size <= WAITING && is_compared(graph, of);
    let most = (SIZE / size).min(TURNS);
    (counted && most > 1).then(|| 1 << most.ilog2())
}

/// Whether the loop ends where a value of it equals, or exceeds, one from outside that is no constant: of those that are counted to a
/// small constant LLVM makes all turns one.
fn is_compared(graph: &Graph, of: &Loop) -> bool {
    // SAFETY: the latch is a block of the live function; a branch is asked for a condition that it has.
    let condition = unsafe {
        let end = LLVMGetBasicBlockTerminator(graph.blocks[of.latch]);
        if ir::opcode(end) != Some(LLVMOpcode::LLVMBr) || LLVMIsConditional(end) == 0 {
            return false;
        }
        LLVMGetCondition(end)
    };
    let is_outside = |value: LLVMValueRef| {
        ir::opcode(value).is_none() || !of.blocks.contains(&graph.block_of(value))
    };
    ir::opcode(condition) == Some(LLVMOpcode::LLVMICmp)
        && ir::operands(condition).filter(|operand| is_outside(*operand)).count() == 1
        // SAFETY: any live value may be asked.
        && ir::operands(condition).all(|operand| unsafe { LLVMIsConstant(operand) } == 0)
}

/// Whether a call is one of LLVM's own operations, such as a square root.
fn is_operation(call: LLVMValueRef) -> bool {
    ir::callee(call).is_some_and(|function| {
        // SAFETY: any live function may be asked for the number of its intrinsic.
        let is_intrinsic = unsafe { LLVMGetIntrinsicID(function) != 0 };
        is_intrinsic && !ir::has_function_attribute(function, "convergent")
    })
}

/// The constant that a block compares an integer with before it goes on; 0 if there is none, or a negative one.
///
/// # Safety
/// The block is one of a live function.
unsafe fn counts_to(block: LLVMBasicBlockRef) -> u64 {
    // SAFETY: as promised by the caller; a branch is asked for a condition that it has, and an integer of up to 64 bits for its value.
    unsafe {
        let end = LLVMGetBasicBlockTerminator(block);
        if ir::opcode(end) != Some(LLVMOpcode::LLVMBr) || LLVMIsConditional(end) == 0 {
            return 0;
        }
        let condition = LLVMGetCondition(end);
        if ir::opcode(condition) != Some(LLVMOpcode::LLVMICmp) {
            return 0;
        }
        let bounds = [0, 1].map(|index| LLVMGetOperand(condition, index));
        let constants = bounds.into_iter().filter(|&bound| {
            !LLVMIsAConstantInt(bound).is_null() && LLVMGetIntTypeWidth(LLVMTypeOf(bound)) <= 64
        });
        let values = constants.map(|bound| LLVMConstIntGetSExtValue(bound));
        values.filter_map(|value| u64::try_from(value).ok()).max().unwrap_or(0)
    }
}

/// Leaves the hint, unless there is one.
///
/// # Safety
/// `end` is the terminator of a loop's latch in a live module.
unsafe fn hint(end: LLVMValueRef, turns: usize) {
    // SAFETY: as promised by the caller. The node names itself, as LLVM wants it of a loop's; what stands for it until it is there
    // goes with that.
    unsafe {
        let context = LLVMGetTypeContext(LLVMTypeOf(end));
        let kind = LLVMGetMDKindIDInContext(context, LOOP.as_ptr().cast(), LOOP.len() as u32);
        if !LLVMGetMetadata(end, kind).is_null() {
            return;
        }
        let name = "llvm.loop.unroll.count";
        let number = LLVMConstInt(LLVMInt32TypeInContext(context), turns as u64, 0);
        let mut count = [
            LLVMMDStringInContext2(context, name.as_ptr().cast(), name.len()),
            LLVMValueAsMetadata(number),
        ];
        let count = LLVMMDNodeInContext2(context, count.as_mut_ptr(), count.len());
        let itself = LLVMTemporaryMDNode(context, std::ptr::null_mut(), 0);
        let mut parts = [itself, count];
        let node = LLVMMDNodeInContext2(context, parts.as_mut_ptr(), parts.len());
        LLVMMetadataReplaceAllUsesWith(itself, node);
        LLVMSetMetadata(end, kind, LLVMMetadataAsValue(context, node));
    }
}
