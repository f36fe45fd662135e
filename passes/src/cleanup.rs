//! Target-neutral simplification, so that stage 2 starts from small IR.
//!
//! Inlines, promotes the closure's copy to registers, folds, and removes what became dead; does
//! nothing that depends on a target (no vectorisation, no unrolling), and nothing that would have
//! to be undone by one.

use inkwell::module::Module;

use crate::ir;

/// LLVM's pipeline text.
///
/// Inlining follows calls from the bottom up; what it makes dead goes at the end, after
/// `deadargelim` has cut the last uses.
const PIPELINE: &str = "\
    always-inline,\
    globalopt,\
    cgscc(inline,function(sroa,early-cse,instcombine,simplifycfg,dse)),\
    ipsccp,\
    function(sroa,early-cse<memssa>,jump-threading,instcombine,simplifycfg,\
        loop-mssa(licm),loop-mssa(loop-rotate),gvn,sccp,instcombine,adce,dse,simplifycfg),\
    deadargelim,globalopt,globaldce,constmerge,strip-dead-prototypes";

/// Runs the pass over the module.
///
/// # Errors
/// LLVM's message, if its pass manager fails.
pub fn run(module: &Module<'_>) -> Result<(), String> {
    ir::run_llvm_passes(module, PIPELINE)
}
