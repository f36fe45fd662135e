//! Keeps loops around loops with barriers from being unrolled, for drivers of OpenCL.
//!
//! Before:
//! ```llvm
//! size:                                          ; sorting networks: sizes 2, 4, 8, …
//!   ...
//! step:                                          ; distances size/2, size/4, …
//!   call void @barrier()
//!   ...
//!   br i1 %more.steps, label %step, label %next
//! next:
//!   br i1 %more.sizes, label %size, label %done
//! ```
//! After:
//! ```llvm
//! next:
//!   br i1 %more.sizes, label %size, label %done, !llvm.loop !0
//!
//! !0 = distinct !{!0, !{!"llvm.loop.unroll.disable"}}
//! ```
//! LLVM unrolls both loops completely if it knows all trip counts, to some hundred instructions with dozens of
//! barriers. A GPU runs that well, but a driver for processors makes a loop over the group's work-items of
//! each part between two barriers, and keeps what later parts use in memory, for each work-item: tens of
//! values from each step. Intel's compiler goes down with that. A driver unrolls loops itself.
//!
//! A loop with a hint of the kernel's author (`schism::unroll`) keeps that one.

use schism_llvm::Value;

use crate::analysis::effects::is_barrier;
use crate::ir::cfg::Cfg;
use crate::ir::metadata::{self, UNROLL_DISABLE};

/// Keeps the nests of a function that has a body.
pub(super) fn keep(function: Value<'_>) {
    let cfg = Cfg::of(function);
    let loops = cfg.natural_loops();
    for outer in &loops {
        let is_around = loops.iter().any(|inner| {
            inner.header != outer.header
                && outer.blocks.contains(&inner.header)
                && cfg.instructions(&inner.blocks).any(is_barrier)
        });
        let ends: Vec<_> = outer.latches.iter().map(|&latch| cfg.blocks[latch].end()).collect();
        let has_hint = ends.iter().any(|&end| metadata::is_told_of_unrolling(end));
        if is_around && !has_hint {
            metadata::set_unroll(&ends, UNROLL_DISABLE, None);
        }
    }
}
