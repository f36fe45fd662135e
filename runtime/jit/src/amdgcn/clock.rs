//! The clock builtins.
//!
//! ```llvm
//! define i64 @__schism_time() alwaysinline nounwind {
//!   %ticks = call i64 @llvm.readsteadycounter()
//!   ...                                         ; times @__schism_tick, a fixed-point number
//! ```
//! Processors count the ticks of a clock that does not change, mostly one of 100 MHz. The driver
//! knows the rate, so a tick's length is a variable of the code, which a runtime sets before the
//! first launch: nanoseconds in the upper 32 bits, and their fraction in the lower ones.

use schism_jit_abi::code::TICK;
use schism_llvm::Context;

use super::arch::Processor;
use crate::JitError;
use crate::common::clock;
use crate::common::image::{self, CLOCK, TIME};
use crate::common::module::Module;

/// Gives the builtins bodies, which are always inlined.
pub fn add<'c>(
    context: &'c Context,
    module: &Module<'c>,
    processor: Processor,
) -> Result<(), JitError> {
    let steady = "llvm.readsteadycounter";
    let cycles = if processor.counts_cycles() { "llvm.readcyclecounter" } else { steady };
    clock::call(context, module, CLOCK, cycles)?;
    let text = format!(
        "@{TICK} = externally_initialized global i64 {}, align 8
         declare i64 @{steady}() nounwind
         define i64 @{TIME}() alwaysinline nounwind {{
           %ticks = call i64 @{steady}()
           %tick = load i64, ptr @{TICK}, align 8, !invariant.load !{{}}
           %ticks.wide = zext i64 %ticks to i128
           %tick.wide = zext i64 %tick to i128
           %time.fixed = mul i128 %ticks.wide, %tick.wide
           %time.wide = lshr i128 %time.fixed, 32
           %time = trunc i128 %time.wide to i64
           ret i64 %time
         }}\n",
        10_u64 << 32
    );
    image::define_builtin(context, module, TIME, &text)
}
