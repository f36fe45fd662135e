//! Target-neutral simplification, so that stage 2 starts from small IR.
//!
//! Before:
//! ```llvm
//! define void @kernel(ptr %0) {
//!   %closure = alloca [8 x i8]
//!   store ptr %0, ptr %closure
//!   %x = call i64 @__schism_global_id_x()
//!   call void @entry(ptr %closure, i64 %x, ...)
//!   ret void
//! }
//! ```
//! After:
//! ```llvm
//! define void @kernel(ptr %0) {
//!   %x = call i64 @__schism_global_id_x()
//!   %q = getelementptr float, ptr %0, i64 %x
//!   ...
//! ```
//!
//! Inlines, promotes the closure's copy to registers, and removes what became dead, so that what is
//! left is what a device would run. Nothing here shapes code: loops stay as rustc wrote them, and
//! no pass looks for a better form of an expression. Stage 2 runs a full pipeline that knows its
//! target, and it does best on code that nobody has bent before: with `instcombine` or loop passes
//! in this place the blur of the example `image_filter` became up to 1.7 times slower on the CPU.

use inkwell::module::Module;

use crate::{ir, panics};

/// Inlines, from the bottom up.
const INLINE: &str = "\
    always-inline,globalopt,\
    cgscc(inline,function(sroa,early-cse,simplifycfg))";

/// Removes what that has made dead.
const REMOVE: &str = "\
    function(instsimplify,sroa,early-cse,simplifycfg,dse,adce,simplifycfg),\
    deadargelim,globalopt,globaldce,constmerge,strip-dead-prototypes";

/// Runs the pass over the module.
///
/// # Errors
/// LLVM's message, if its pass manager fails.
pub fn run(module: &Module<'_>) -> Result<(), String> {
    ir::run_llvm_passes(module, INLINE)?;
    panics::settle(module);
    ir::run_llvm_passes(module, REMOVE)
}

#[cfg(test)]
mod tests {
    use super::{INLINE, REMOVE};

    /// Without this option `instcombine` ends the process where one round leaves something to do, a
    /// check meant for LLVM's own tests.
    #[test]
    fn no_pass_of_the_pipeline_may_end_the_process() {
        for pipeline in [INLINE, REMOVE] {
            for (at, _) in pipeline.match_indices("instcombine") {
                assert!(pipeline[at..].starts_with("instcombine<no-verify-fixpoint>"), "at {at}");
            }
        }
    }
}
