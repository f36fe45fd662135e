//! Unrolls small loops around barriers.
//!
//! Where the size of groups is known, so are the numbers of iterations of loops that halve it or
//! double up to it. Each level of a tree or a scan is then its own region, with work-items that
//! are known. Loops that are larger stay, and so do those without a barrier for now: what a region
//! does in a loop is seen better as one.

use schism_llvm::Value;

use super::waits::waits;
use crate::ir::cfg::Cfg;
use crate::ir::metadata;
use crate::llvm_passes;

/// The property of loops that are not unrolled here.
const NOT_NOW: &str = "schism.not_unrolled_now";

/// Unrolls the loops of a function.
///
/// # Errors
/// LLVM's message, if its passes fail.
pub(super) fn run(function: Value<'_>) -> Result<(), String> {
    let cfg = Cfg::of(function);
    for of in cfg.natural_loops() {
        let ends: Vec<Value<'_>> =
            of.latches.iter().map(|&latch| cfg.blocks[latch].end()).collect();
        if !cfg.instructions(&of.blocks).any(waits)
            && !ends.iter().any(|&end| metadata::is_told_of_unrolling(end))
        {
            metadata::set_unroll(&ends, metadata::UNROLL_DISABLE, None);
            metadata::add(&ends, NOT_NOW);
        }
    }
    function.run_passes(llvm_passes::UNROLL_AROUND_BARRIERS)?;
    for block in function.blocks() {
        let Some(end) = block.terminator() else { continue };
        if end.is_branch() && metadata::has(end, NOT_NOW) {
            metadata::forget_unroll(end);
            metadata::forget(end, NOT_NOW);
        }
    }
    Ok(())
}
