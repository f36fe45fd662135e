//! What a sub-group does together, on a GPU: a sub-group is a warp.
//!
//! ```llvm
//! define i32 @__schism_shuffle(i32 %value, i32 %lane) alwaysinline convergent nounwind {
//!   %result = call i32 @llvm.nvvm.shfl.sync.idx.i32(i32 -1, i32 %value, i32 %lane, i32 31)
//!   ret i32 %result
//! }
//! ```
//! All lanes of the warp take part that have not ended; in the last warp of a group the lanes that never were count as ended. So the mask
//! of who takes part is always full, and is never a register. From one that has ended comes any number.

use std::fmt::Write;

use crate::image::{BALLOT, SHUFFLE, SHUFFLE_DOWN, SHUFFLE_UP, SHUFFLE_XOR, SUB_GROUP_BARRIER};

/// The builtins, the names of the intrinsics for them, and the last operand of those: the lane at which shuffles end.
const SHUFFLES: [(&str, &str, u32); 4] = [
    (SHUFFLE, "idx", 31),
    (SHUFFLE_XOR, "bfly", 31),
    (SHUFFLE_UP, "up", 0),
    (SHUFFLE_DOWN, "down", 31),
];

/// Defines the builtins.
pub fn bodies(o: &mut String) -> std::fmt::Result {
    for (builtin, kind, end) in SHUFFLES {
        writeln!(
            o,
            "declare i32 @llvm.nvvm.shfl.sync.{kind}.i32(i32, i32, i32, i32)
             define i32 @{builtin}(i32 %value, i32 %argument) alwaysinline convergent nounwind {{
               %result = call i32 @llvm.nvvm.shfl.sync.{kind}.i32(i32 -1, i32 %value, i32 %argument, i32 {end})
               ret i32 %result
             }}"
        )?;
    }
    writeln!(
        o,
        "declare i32 @llvm.nvvm.vote.ballot.sync(i32, i1)
         define i32 @{BALLOT}(i32 %flag) alwaysinline convergent nounwind {{
           %is.set = icmp ne i32 %flag, 0
           %result = call i32 @llvm.nvvm.vote.ballot.sync(i32 -1, i1 %is.set)
           ret i32 %result
         }}
         declare void @llvm.nvvm.bar.warp.sync(i32)
         define void @{SUB_GROUP_BARRIER}() alwaysinline convergent nounwind {{
           call void @llvm.nvvm.bar.warp.sync(i32 -1)
           ret void
         }}"
    )
}
