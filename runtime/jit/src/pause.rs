//! Implements the builtin of work-items that wait for others.
//!
//! Before:
//! ```llvm
//! call void @__schism_pause(i32 64)
//! ```
//! After, in PTX, when the body is inlined:
//! ```llvm
//! call void @llvm.nvvm.nanosleep(i32 64)
//! ```
//! AMD's GPUs sleep for multiples of 64 cycles, a constant of the instruction, so there it is a loop.
//! On other targets it is nothing: a CPU runs work-items one after the other, and OpenCL has no such
//! thing.

use crate::JitError;
use crate::image::{self, PAUSE};
use crate::module::Module;
use schism_llvm::Context;

/// How long 64 cycles of an AMD GPU take, in nanoseconds.
const STEP: u32 = 32;

/// What a target does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pause {
    Nothing,
    Nvidia,
    Amd,
}

/// Gives the builtin a body, which is always inlined.
pub fn add<'c>(context: &'c Context, module: &Module<'c>, pause: Pause) -> Result<(), JitError> {
    if module.function(PAUSE).is_none() {
        return Ok(());
    }
    let text = match pause {
        Pause::Nothing => format!(
            "define void @{PAUSE}(i32 %time) alwaysinline nounwind {{
               ret void
             }}\n"
        ),
        Pause::Nvidia => format!(
            "declare void @llvm.nvvm.nanosleep(i32)
             define void @{PAUSE}(i32 %time) alwaysinline nounwind {{
               call void @llvm.nvvm.nanosleep(i32 %time)
               ret void
             }}\n"
        ),
        Pause::Amd => format!(
            "declare void @llvm.amdgcn.s.sleep(i32 immarg)
             define void @{PAUSE}(i32 %time) alwaysinline nounwind {{
             entry:
               %last = udiv i32 %time, {STEP}
               br label %loop
             loop:
               %step = phi i32 [ 0, %entry ], [ %next, %loop ]
               call void @llvm.amdgcn.s.sleep(i32 1)
               %next = add nuw nsw i32 %step, 1
               %more = icmp ult i32 %step, %last
               br i1 %more, label %loop, label %exit
             exit:
               ret void
             }}\n"
        ),
    };
    image::define_builtin(context, module, PAUSE, &text)
}
