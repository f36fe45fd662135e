//! Target-neutral simplification, so that stage 2 starts from small IR.
//!
//! Inlines, promotes the closure's copy to registers, folds, and removes what became dead; does
//! nothing that depends on a target (no vectorisation, no unrolling), and nothing that would have
//! to be undone by one.

use inkwell::module::Module;

use crate::ir;

/// LLVM's pipeline text.
///
/// `instcombine` by itself would end the process where one round leaves something to do, a check
/// meant for LLVM's own tests.
///
/// Inlining follows calls from the bottom up; what it makes dead goes at the end, after
/// `deadargelim` has cut the last uses.
const PIPELINE: &str = "\
    always-inline,\
    globalopt,\
    cgscc(inline,function(sroa,early-cse,instcombine<no-verify-fixpoint>,simplifycfg,dse)),\
    ipsccp,\
    function(sroa,early-cse<memssa>,jump-threading,instcombine<no-verify-fixpoint>,simplifycfg,\
        loop-mssa(licm),loop-mssa(loop-rotate),gvn,sccp,instcombine<no-verify-fixpoint>,adce,dse,simplifycfg),\
    deadargelim,globalopt,globaldce,constmerge,strip-dead-prototypes";

/// Runs the pass over the module.
///
/// # Errors
/// LLVM's message, if its pass manager fails.
pub fn run(module: &Module<'_>) -> Result<(), String> {
    ir::run_llvm_passes(module, PIPELINE)
}

#[cfg(test)]
mod tests {
    use super::PIPELINE;

    #[test]
    fn no_pass_of_the_pipeline_may_end_the_process() {
        for (at, _) in PIPELINE.match_indices("instcombine") {
            assert!(PIPELINE[at..].starts_with("instcombine<no-verify-fixpoint>"), "at {at}");
        }
    }
}
