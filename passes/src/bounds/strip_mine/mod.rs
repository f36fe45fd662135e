//! Strip-mines loops that check the indices they load, and loads a strip at once. For GPUs only.
//!
//! Before, in the form that LLVM's `loop-simplify` and `lcssa` make:
//! ```llvm
//! before:
//!   br label %loop
//! loop:
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
//!   br i1 %more, label %loop, label %done
//! ```
//! After:
//! ```llvm
//! before:
//!   ...                                              ; how many iterations there are, and the first one's position in its strip
//!   br i1 %can, label %strip, label %loop
//! strip:                                             ; iterations %first to %first + 7, some of them masked
//!   %first = phi i32 [ %place.negated, %before ], [ %first.next, %rest ]
//!   %columns.0 = load <4 x i32>, ptr addrspace(1) %strip.at, align 16
//!   %columns.4 = load <4 x i32>, ptr addrspace(1) %strip.at.4, align 16
//!   ...
//!   br i1 %all.inside, label %rest, label %one.by.one
//! rest:
//!   ...                                              ; the elements of %x for all iterations, and then the sums in their order
//!   br i1 %more.strips, label %strip, label %done
//! one.by.one:                                        ; a check fails: the original loop, from the strip's first iteration on
//!   br label %loop
//! loop:
//!   ...
//! ```
//!
//! LLVM moves no load across a branch. So in the original loop a GPU waits for one element before
//! it requests the next, and by then other work-items have evicted the cache line. In a strip the
//! loads stand together.
//!
//! **What is loaded early** is what an iteration loads before its first check, at addresses that
//! advance by a constant.
//! - *Vector strips.* If each load advances by the size of what it loads, a strip is eight elements
//!   from an address that is a multiple of their size. The first strip begins before the first
//!   iteration, and the last one ends after the last iteration. Each strip contains an element that
//!   the original loop loads, and accessible memory does not end in the middle of a strip: pages
//!   have at least 4 KiB. If the tables of a loop have different alignments, the original loop
//!   runs.
//! - *Scalar strips.* Otherwise a strip has two iterations, or one if the second iteration's loads
//!   are in other pages than the first one's.
//!
//! **This pass reads past slices**: it may load bytes next to the program's own. No value depends
//! on them. Tools that check accesses, or memory whose neighbours must not be read, need the pass
//! off: `SCHISM_DISABLE_PASSES=strip-mine`. On a CPU such tools are common, and there is less to
//! win.
//!
//! **Nothing else changes.** All other loads are made after all checks of the strip have passed,
//! each only if its iteration exists. Iterations compute in their order, so sums of floating-point
//! numbers stay the same. A panic happens in the original loop. The pass ignores loops that do
//! anything but load and compute, loops whose trip count is unknown in advance, and loops that must
//! not be unrolled (`schism::no_unroll`).

pub(crate) mod emit;
pub(crate) mod plan;

use std::collections::HashSet;

use schism_llvm::Value;

use crate::analysis::cold_paths::has_panics;
use crate::analysis::trip_count::returns;
use crate::bounds::strip_mine::emit::Emitter;
use crate::bounds::strip_mine::plan::{is_global, plan};
use crate::ir::cfg::Cfg;
use crate::llvm_passes;

/// How many a function may grow by.
const GROWTH: usize = 4_000;

/// Runs the pass over a function with a body.
///
/// # Errors
/// LLVM's message, if its passes fail.
pub fn run(function: Value<'_>) -> Result<(), String> {
    if !has_panics(function) || !returns(function) || !may_have_strips(function) {
        return Ok(());
    }
    function.run_passes(llvm_passes::LOOP_SIMPLIFY)?;
    let mut done = HashSet::new();
    let mut growth = 0;
    loop {
        let cfg = Cfg::of(function);
        let found = cfg.loops().into_iter().find_map(|one| {
            let is_new = one.innermost && done.insert(cfg.blocks[one.header]);
            is_new.then(|| plan(&cfg, &one)).flatten()
        });
        let Some(plan) = found else { return Ok(()) };
        growth += plan.strip * plan.body.len();
        if growth > GROWTH {
            return Ok(());
        }
        done.insert(Emitter::apply(&cfg, &plan));
    }
}

/// Whether some block loads from global memory, and ends in a check.
fn may_have_strips(function: Value<'_>) -> bool {
    function.blocks().into_iter().any(|block| {
        block.successors().len() == 2 && block.instructions().into_iter().any(is_global)
    })
}
