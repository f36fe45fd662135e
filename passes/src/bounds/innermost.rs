//! Walks over the loops of a function that have no other loop inside.

use schism_llvm::{Block, Value};

use crate::analysis::cold_paths::has_panics;
use crate::analysis::trip_count::returns;
use crate::ir::cfg::{Cfg, Loop};
use crate::llvm_passes;

/// Changes innermost loops of a function that has panics. `plan` looks at a loop and says how many
/// instructions are cloned; `apply` returns the blocks that are new or go on elsewhere. The function
/// grows by at most `growth` instructions.
///
/// # Errors
/// LLVM's message, if its passes fail.
pub(crate) fn change_innermost<'m, Plan>(
    function: Value<'m>,
    growth: usize,
    plan: impl Fn(&Cfg<'m>, &Loop) -> Option<(usize, Plan)>,
    apply: impl Fn(&Cfg<'m>, &Plan) -> Vec<Block<'m>>,
) -> Result<(), String> {
    if !has_panics(function) || !returns(function) {
        return Ok(());
    }
    function.run_passes(llvm_passes::LOOP_SIMPLIFY)?;
    let mut left = growth;
    // A copy beside one loop changes nothing inside of another, so one look at the function serves
    // all of them: there may be very many.
    let mut cfg = Cfg::of(function);
    for one in cfg.loops().into_iter().filter(|one| one.innermost) {
        let Some((size, plan)) = plan(&cfg, &one).filter(|(size, _)| *size <= left) else {
            continue;
        };
        left -= size;
        let changed = apply(&cfg, &plan);
        cfg.update(&changed);
    }
    Ok(())
}
