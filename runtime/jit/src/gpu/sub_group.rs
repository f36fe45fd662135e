//! Sub-group operations on a GPU, where a sub-group is a warp.
//!
//! ```llvm
//! define i32 @__schism_shuffle(i32 %value, i32 %lane) alwaysinline convergent nounwind {
//!   %result = call i32 @llvm.nvvm.shfl.sync.idx.i32(i32 -1, i32 %value, i32 %lane, i32 31)
//!   ret i32 %result
//! }
//! ```
//! All lanes of the warp that have not ended take part; in the last warp of a group the missing
//! lanes count as ended. So the mask of participants is always full, and is never a register. From
//! a lane that has ended comes an unspecified number.

use std::fmt::Write;

use super::builtins::{
    DEVICE_BALLOT, DEVICE_LANE, DEVICE_REDUCE, DEVICE_SHUFFLE, DEVICE_SHUFFLE_DOWN,
    DEVICE_SHUFFLE_UP, DEVICE_SHUFFLE_XOR, DEVICE_SUB_GROUP_BARRIER,
};
use crate::common::image::{
    BALLOT, REDUCE_ADD, REDUCE_LEAST, SHUFFLE, SHUFFLE_DOWN, SHUFFLE_UP, SHUFFLE_XOR,
    SUB_GROUP_BARRIER,
};

/// The builtins, the device's, and the last operand of those: the lane at which shuffles end.
const SHUFFLES: [(&str, &str, u32); 4] = [
    (SHUFFLE, DEVICE_SHUFFLE, 31),
    (SHUFFLE_XOR, DEVICE_SHUFFLE_XOR, 31),
    (SHUFFLE_UP, DEVICE_SHUFFLE_UP, 0),
    (SHUFFLE_DOWN, DEVICE_SHUFFLE_DOWN, 31),
];

/// From this processor on, one instruction reduces the numbers of all lanes.
const REDUCES: u32 = 80;

/// Defines the builtins, for a processor such as `sm_80`.
pub fn bodies(o: &mut String, arch: &str) -> std::fmt::Result {
    for (builtin, shuffle, end) in SHUFFLES {
        writeln!(
            o,
            "declare i32 @{shuffle}(i32, i32, i32, i32)
             define i32 @{builtin}(i32 %value, i32 %argument) alwaysinline convergent nounwind {{
               %result = call i32 @{shuffle}(i32 -1, i32 %value, i32 %argument, i32 {end})
               ret i32 %result
             }}"
        )?;
    }
    writeln!(
        o,
        "declare i32 @{DEVICE_BALLOT}(i32, i1)
         define i32 @{BALLOT}(i32 %flag) alwaysinline convergent nounwind {{
           %is.set = icmp ne i32 %flag, 0
           %result = call i32 @{DEVICE_BALLOT}(i32 -1, i1 %is.set)
           ret i32 %result
         }}
         declare void @{DEVICE_SUB_GROUP_BARRIER}(i32)
         define void @{SUB_GROUP_BARRIER}() alwaysinline convergent nounwind {{
           call void @{DEVICE_SUB_GROUP_BARRIER}(i32 -1)
           ret void
         }}"
    )?;
    // Other targets have other names.
    let number = arch.strip_prefix("sm_").unwrap_or_default();
    let number: String = number.chars().filter(char::is_ascii_digit).collect();
    if number.parse::<u32>().is_ok_and(|number| number >= REDUCES) {
        return reductions_at_once(o);
    }
    reductions_by_halves(o)
}

/// The reductions, and how two numbers are combined in each: an instruction, or an intrinsic.
fn reductions() -> impl Iterator<Item = (&'static str, &'static str)> {
    [REDUCE_ADD].into_iter().chain(REDUCE_LEAST).zip(["add", "min", "max", "umin", "umax"])
}

fn reductions_at_once(o: &mut String) -> std::fmt::Result {
    for (builtin, kind) in reductions() {
        writeln!(
            o,
            "declare i32 @{DEVICE_REDUCE}.{kind}(i32, i32)
             define i32 @{builtin}(i32 %value) alwaysinline convergent nounwind {{
               %result = call i32 @{DEVICE_REDUCE}.{kind}(i32 %value, i32 -1)
               ret i32 %result
             }}"
        )?;
    }
    Ok(())
}

/// Each lane combines its value with that of the lane 16 after it, then 8, 4, 2, 1, if it exists;
/// then lane 0 has the result, and broadcasts it.
fn reductions_by_halves(o: &mut String) -> std::fmt::Result {
    writeln!(o, "declare i32 @llvm.ctpop.i32(i32)\ndeclare i32 @{DEVICE_LANE}()")?;
    for (builtin, kind) in reductions() {
        let intrinsic = match kind {
            "add" => None,
            "min" | "max" => Some(format!("llvm.s{kind}.i32")),
            _ => Some(format!("llvm.{kind}.i32")),
        };
        if let Some(intrinsic) = &intrinsic {
            writeln!(o, "declare i32 @{intrinsic}(i32, i32)")?;
        }
        writeln!(
            o,
            "define i32 @{builtin}(i32 %value) alwaysinline convergent nounwind {{
               %lanes = call i32 @{DEVICE_BALLOT}(i32 -1, i1 true)
               %size = call i32 @llvm.ctpop.i32(i32 %lanes)
               %lane = call i32 @{DEVICE_LANE}()"
        )?;
        let mut before = "%value".to_owned();
        for step in [16, 8, 4, 2, 1] {
            let both = match &intrinsic {
                None => format!("add i32 {before}, %other.{step}"),
                Some(name) => format!("call i32 @{name}(i32 {before}, i32 %other.{step})"),
            };
            writeln!(
                o,
                "  %other.{step} = call i32 @{DEVICE_SHUFFLE_DOWN}(i32 -1, i32 {before}, i32 {step}, i32 31)
                   %both.{step} = {both}
                   %from.{step} = add i32 %lane, {step}
                   %is.{step} = icmp ult i32 %from.{step}, %size
                   %now.{step} = select i1 %is.{step}, i32 %both.{step}, i32 {before}"
            )?;
            before = format!("%now.{step}");
        }
        writeln!(
            o,
            "  %result = call i32 @{DEVICE_SHUFFLE}(i32 -1, i32 {before}, i32 0, i32 31)
               ret i32 %result
             }}"
        )?;
    }
    Ok(())
}
