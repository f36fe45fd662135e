//! Makes several turns of a loop at once, if a loop checks in every turn what it has loaded in it. For GPUs only.
//!
//! Before, in the form that LLVM's `loop-simplify` and `lcssa` make:
//! ```llvm
//! before:
//!   br label %turn
//! turn:
//!   %k = phi i64 [ %begin, %before ], [ %k.next, %inside ]
//!   %sum = phi float [ 0.0, %before ], [ %sum.next, %inside ]
//!   %column.at = getelementptr i32, ptr addrspace(1) %columns, i64 %k
//!   %column = load i32, ptr addrspace(1) %column.at
//!   %is.inside = icmp ult i32 %column, %len
//!   br i1 %is.inside, label %inside, label %panic
//! inside:
//!   %x.at = getelementptr float, ptr addrspace(1) %x, i32 %column
//!   ...                                              ; the element at %x.at, to %sum.next
//!   %k.next = add i64 %k, 1
//!   %more = icmp ult i64 %k.next, %end
//!   br i1 %more, label %turn, label %done
//! ```
//! After:
//! ```llvm
//! before:
//!   ...                                              ; how many turns there are, and the first one's place in its chunk
//!   br i1 %can, label %chunk, label %turn
//! chunk:                                             ; turns %first to %first + 7; of the first and the last chunk, not all are turns
//!   %first = phi i32 [ %place.negated, %before ], [ %first.next, %rest ]
//!   %columns.0 = load <4 x i32>, ptr addrspace(1) %chunk.at, align 16
//!   %columns.4 = load <4 x i32>, ptr addrspace(1) %chunk.at.4, align 16
//!   ...
//!   br i1 %all.inside, label %rest, label %one.by.one
//! rest:
//!   ...                                              ; the elements of %x for all turns, and then the sums in their order
//!   br i1 %more.chunks, label %chunk, label %done
//! one.by.one:                                        ; a check fails: the loop as it was, from the chunk's first turn on
//!   br label %turn
//! turn:
//!   ...
//! ```
//!
//! A load does not go past a branch, so in the loop as it was a GPU waits for one element before it asks for the next; and when it comes to
//! the next, other work-items have taken the cache. In a chunk the loads stand together.
//!
//! **What is loaded early** is what a turn loads before its first check, at addresses that go on by a constant.
//! - If each load goes on by the size of what it loads, chunks are as memory is divided: eight elements from an address that is a
//!   multiple of their size. The first chunk begins before the first turn, and the last one ends behind the last turn. In each
//!   there is an element that is loaded anyway, and what is accessible to a GPU does not end in the middle of such a chunk: pages have
//!   4 KiB at least. Tables that have their elements in different places of their chunks leave the loop as it was.
//! - If not, a chunk has two turns, or one if the second one's loads are not in the pages of the first one's.
//!
//! So memory that is not the program's may be read, but is not seen: values that no turn loads are used by none. On a CPU, tools that
//! watch memory would see it, and there is less to win.
//!
//! **Nothing else changes.** All other loads are made when all checks of the chunk have passed, each only if its turn is one. What
//! comes after the other in turns comes after the other here, so sums of floating-point numbers are the same. What panics does so in
//! the loop as it was. Loops that do anything but load and compute are left alone, and so are loops whose turns cannot be counted
//! beforehand.

pub(crate) mod emit;
pub(crate) mod plan;

use std::collections::HashSet;

use inkwell::module::Module;
use inkwell::values::AsValueRef;
use llvm_sys::prelude::*;

use crate::analysis::cold_paths::has_panics;
use crate::analysis::trip_count::returns;
use crate::bounds::strip_mine::emit::Maker;
use crate::bounds::strip_mine::plan::{is_global, plan};
use crate::ir;
use crate::ir::cfg::Graph;

/// How many a function may grow by.
const GROWTH: usize = 4_000;

/// Runs the pass over the module, which is one for a GPU.
///
/// # Errors
/// LLVM's message, if its passes fail.
pub fn run(module: &Module<'_>) -> Result<(), String> {
    for function in module.get_functions() {
        // SAFETY: the function is one of the live module, which the caller holds.
        unsafe { run_on(function.as_value_ref()) }?;
    }
    Ok(())
}

/// Runs the pass over one function; a declaration has nothing to do.
///
/// # Errors
/// LLVM's message, if its passes fail.
///
/// # Safety
/// `function` is a function of a live module for a GPU, which nobody else changes meanwhile.
pub unsafe fn run_on(function: LLVMValueRef) -> Result<(), String> {
    // SAFETY: as promised by the caller; a function with a way back has blocks.
    unsafe {
        if !has_panics(function) || !returns(function) || !may_have_chunks(function) {
            return Ok(());
        }
        ir::run_llvm_passes_on(function, "loop-simplify,lcssa")?;
    }
    let mut done = HashSet::new();
    let mut growth = 0;
    loop {
        let graph = Graph::of(function);
        let found = graph.loops().into_iter().find_map(|one| {
            let is_new = one.innermost && done.insert(graph.blocks[one.header]);
            is_new.then(|| plan(&graph, &one)).flatten()
        });
        let Some(plan) = found else { return Ok(()) };
        growth += plan.chunk * plan.body.len();
        if growth > GROWTH {
            return Ok(());
        }
        // SAFETY: the plan was made of the function as it is.
        done.insert(unsafe { Maker::carry_out(&graph, &plan) });
    }
}

/// Whether some block loads from global memory, and ends in a check.
fn may_have_chunks(function: LLVMValueRef) -> bool {
    ir::blocks(function).into_iter().any(|block| {
        ir::successors(block).len() == 2 && ir::instructions_of(block).into_iter().any(is_global)
    })
}
