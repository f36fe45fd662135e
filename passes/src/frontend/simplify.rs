//! Promotes locals to registers and removes dead code.
//!
//! Before:
//! ```llvm
//! define void @kernel(ptr %0) {
//!   %closure = alloca [8 x i8]
//!   store ptr %0, ptr %closure
//!   %copy = load ptr, ptr %closure
//!   call void @work(ptr %copy)
//!   ret void
//! }
//! ```
//! After:
//! ```llvm
//! define void @kernel(ptr %0) {
//!   call void @work(ptr %0)
//!   ret void
//! }
//! ```
//!
//! Promotes locals to registers and removes what is dead, so that what is left is what a device
//! would run ([`run`]). Nothing here shapes code: functions stay functions, loops stay as rustc
//! wrote them, and no pass looks for a better form of an expression. Stage 2 runs a full pipeline
//! that knows its target, and it does best on code that was not optimised before: with inlining at
//! this point already, the blur of the example `image_filter` became 1.5 times slower on the CPU.
//!
//! Some code is only seen to be dead once it has been inlined.
//! [`inline_refused`](crate::frontend::inline_refused) is for modules that would be refused without
//! it.

use inkwell::module::Module;
use schism_llvm::AsModule;

/// Locals to registers.
const PROMOTE: &str = "always-inline,globalopt,function(sroa,early-cse,simplifycfg)";

/// The same, with inlining from the bottom up.
const INLINE: &str = "cgscc(inline,function(sroa,early-cse,simplifycfg))";

/// Locals to registers alone, where what is loaded from one may be the address of another.
const REGISTERS: &str = "\
    function(sroa,early-cse,instsimplify,sroa,early-cse,instsimplify,sroa,early-cse,simplifycfg,dse,adce)";

/// Removes what that has made dead.
const REMOVE: &str = "\
    function(instsimplify,sroa,early-cse,simplifycfg,dse,adce,simplifycfg),\
    globalopt,globaldce,constmerge,strip-dead-prototypes";

/// Runs the pass over the module.
///
/// # Errors
/// LLVM's message, if its pass manager fails.
pub fn run(module: &Module<'_>) -> Result<(), String> {
    clean(module, PROMOTE)
}

/// Runs the pass over the module, after inlining: shows what is dead.
pub(crate) fn inline(module: &Module<'_>) -> Result<(), String> {
    clean(module, INLINE)
}

/// Promotes locals to registers in functions as they are.
pub(crate) fn promote(module: &Module<'_>) -> Result<(), String> {
    module.handle().run_passes(REGISTERS)
}

fn clean(module: &Module<'_>, first: &str) -> Result<(), String> {
    module.handle().run_passes(first)?;
    module.handle().run_passes(REMOVE)
}

#[cfg(test)]
mod tests {
    use super::{INLINE, PROMOTE, REGISTERS, REMOVE};

    /// Without this option `instcombine` ends the process where one round leaves something to do, a
    /// check meant for LLVM's own tests.
    #[test]
    fn no_pass_of_the_pipeline_may_end_the_process() {
        for pipeline in [PROMOTE, INLINE, REGISTERS, REMOVE] {
            for (at, _) in pipeline.match_indices("instcombine") {
                assert!(pipeline[at..].starts_with("instcombine<no-verify-fixpoint>"), "at {at}");
            }
        }
    }
}
