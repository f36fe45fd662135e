//! Loops that all work-items of a group go through together, since there is a barrier in each turn.
//!
//! [`loop_checks`] makes two loops of one, and a condition chooses. For such a loop the group decides together:
//! ```llvm
//!   %mine = ...                                  ; none of this work-item's turns can panic
//!   %all = call i1 @llvm.nvvm.barrier.cta.red.and.aligned.all(i32 0, i1 %mine)
//!   br i1 %all, label %turn, label %checked.turn
//! ```
//!
//! **Why that barrier may be there.** All work-items of a group come to the same barriers. One that comes to the loop comes to the
//! loop's barrier in its first turn, unless it panics before: nothing else leads out of the loop before that barrier. So all that are
//! still there come to the loop together, and to a barrier in front of it. A work-item that panics is one whose condition does not hold;
//! it does so in the loop as it was, in its turn, after all that comes before it.

use llvm_sys::LLVMOpcode;
use llvm_sys::core::*;
use llvm_sys::prelude::*;

use crate::copy::Copied;
use crate::graph::{Graph, Loop};
use crate::{ir, loop_checks, loop_marks};

/// The barrier of a whole group, for NVIDIA's GPUs.
pub(crate) const BARRIER: &str = "llvm.nvvm.barrier.cta.sync.aligned.all";

/// A barrier that also tells whether a condition holds for all.
pub(crate) const ALL: &str = "llvm.nvvm.barrier.cta.red.and.aligned.all";

/// The function of the barrier, if all work-items of a group come to one in each turn of a loop.
pub(crate) fn barrier(graph: &Graph, of: &Loop) -> Option<LLVMValueRef> {
    let is_left_before = |barrier: usize| {
        of.blocks.iter().any(|&block| {
            !graph.dominates(barrier, block)
                && graph.successors[block]
                    .iter()
                    .any(|next| !of.blocks.contains(next) && !loop_checks::panics(graph, *next))
        })
    };
    of.blocks.iter().find_map(|&block| {
        let found =
            ir::instructions_of(graph.blocks[block]).into_iter().find_map(called_barrier)?;
        (graph.dominates(block, of.latch) && !is_left_before(block)).then_some(found)
    })
}

/// The barrier that an instruction calls.
fn called_barrier(instruction: LLVMValueRef) -> Option<LLVMValueRef> {
    ir::callee(instruction).filter(|callee| ir::name_of(*callee) == BARRIER)
}

/// Whether an instruction is an operation that work-items make together, and may stand once more where all of them come to.
pub(crate) fn is_common(instruction: LLVMValueRef) -> bool {
    ir::opcode(instruction) == Some(LLVMOpcode::LLVMCall)
        // SAFETY: any live function may be asked for the number of its intrinsic.
        && ir::callee(instruction).is_some_and(|callee| unsafe { LLVMGetIntrinsicID(callee) != 0 })
        && ["noduplicate", "returns_twice"].iter().all(|name| !ir::has_call_attribute(instruction, name))
}

/// The condition whether `mine` holds for all work-items of the group.
///
/// # Safety
/// The builder stands in a function of a live module that all work-items come to together; `barrier` is that barrier's function.
pub(crate) unsafe fn decide_together(
    builder: LLVMBuilderRef,
    barrier: LLVMValueRef,
    mine: LLVMValueRef,
) -> LLVMValueRef {
    // SAFETY: as promised by the caller. The operation takes a barrier's number, as the other one does, and a condition.
    unsafe {
        let module = LLVMGetGlobalParent(barrier);
        let context = LLVMGetModuleContext(module);
        let short = LLVMInt32TypeInContext(context);
        let bit = LLVMInt1TypeInContext(context);
        let ty = LLVMFunctionType(bit, [short, bit].as_mut_ptr(), 2, 0);
        let known = LLVMGetNamedFunctionWithLength(module, ALL.as_ptr().cast(), ALL.len());
        let function = match known.is_null() {
            true => {
                let name = std::ffi::CString::new(ALL).unwrap_or_default();
                LLVMAddFunction(module, name.as_ptr(), ty)
            }
            false => known,
        };
        for name in ["convergent", "nounwind"] {
            ir::add_attribute_at(function, llvm_sys::LLVMAttributeFunctionIndex, name, 0);
        }
        let mut operands = [LLVMConstInt(short, 0, 0), mine];
        LLVMBuildCall2(builder, ty, function, operands.as_mut_ptr(), 2, c"".as_ptr())
    }
}

/// Keeps what is inside of a copy as it is: it is there for those that panic.
///
/// # Safety
/// `copied` is a copy of the loop's blocks, in the graph's function.
pub(crate) unsafe fn keep_small(graph: &Graph, of: &Loop, copied: &Copied) {
    let is_inside = |inner: &Loop| inner.header != of.header && of.blocks.contains(&inner.header);
    for inner in graph.loops().into_iter().filter(is_inside) {
        let latch = copied.block(graph.blocks[inner.latch]);
        // SAFETY: as promised by the caller; a block has a terminator.
        unsafe {
            loop_marks::mark(LLVMGetBasicBlockTerminator(latch), "llvm.loop.unroll.disable", None)
        };
    }
}
