//! Keeps loops whose trip count is known at run time only from being unrolled. Runs in stage 2 before
//! optimisation, for OpenCL's devices.
//!
//! Before:
//! ```llvm
//! loop:
//!   %i = phi i64 [ 0, %begin ], [ %next, %loop ]
//!   …
//!   br i1 %more, label %loop, label %done
//! ```
//! After:
//! ```llvm
//!   br i1 %more, label %loop, label %done, !llvm.loop !0
//!
//! !0 = distinct !{!0, !{!"llvm.loop.unroll.runtime.disable"}}
//! ```
//! LLVM makes a loop of eight iterations at a time of such a loop, and another one of those that are left. A GPU
//! gains by that. A driver for processors computes work-items in the lanes of vectors, and their trip counts
//! differ: both loops run as often as the lane that needs most, so that of short ones most iterations are those
//! of the second. A driver unrolls loops itself, once it knows what the lanes have in common.
//!
//! A loop with a hint of the kernel's author (`schism::unroll`) keeps that one. Loops with a constant trip count
//! are unrolled as before.

use inkwell::module::Module;
use schism_llvm::AsModule;

use crate::ir::cfg::Cfg;
use crate::ir::metadata::{self, UNROLL_RUNTIME_DISABLE};

/// Runs the pass over a module.
pub fn run(module: &Module<'_>) {
    for function in module.handle().functions().into_iter().filter(|it| !it.is_declaration()) {
        let cfg = Cfg::of(function);
        for one in cfg.natural_loops() {
            let ends: Vec<_> = one.latches.iter().map(|&latch| cfg.blocks[latch].end()).collect();
            if !ends.iter().any(|&end| metadata::is_told_of_unrolling(end)) {
                metadata::set_unroll(&ends, UNROLL_RUNTIME_DISABLE, None);
            }
        }
    }
}
