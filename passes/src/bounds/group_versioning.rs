//! Clones a kernel without its checks, and decides once for a whole group which one runs (OpenCL).
//!
//! Before:
//! ```llvm
//! define ptx_kernel void @kernel(ptr addrspace(1) %p, i64 %len) {
//!   %x = call i64 @llvm.spv.thread.id.i64(i32 0)
//!   %at = add i64 %x, 1
//!   %is.inside = icmp ult i64 %at, %len
//!   br i1 %is.inside, label %inside, label %panic
//! inside:
//!   ...
//! ```
//! After:
//! ```llvm
//! define ptx_kernel void @kernel(ptr addrspace(1) %p, i64 %len) {
//!   %first = ...                                 ; ctaid.x * ntid.x
//!   %last = ...                                  ; %first + ntid.x - 1
//!   %last.at = add i64 %last, 1
//!   %all = ...                                   ; nothing overflows in that, and %last.at is less than %len
//!   br i1 %all, label %unchecked, label %checked
//! unchecked:
//!   %x = call i64 @llvm.spv.thread.id.i64(i32 0)
//!   br label %inside
//! inside:
//!   ...
//! checked:                                       ; the original code
//!   ...
//! ```
//!
//! A driver for processors computes the work-items of a group in the lanes of vectors. Behind a check
//! that one lane may fail and another not, all that follows is computed under a mask: what one
//! address serves is loaded for each lane, and masks take registers and time. A condition that is the
//! same for the whole group is a branch.
//!
//! **What is decided.** Checks are branches to a panic (`cold` code). The condition holds if the
//! ranges (`group_ranges`) of their indices, over all work-items and all iterations, are inside.
//! Whether a work-item is inside the launch's range is decided with them. Anything else, such as an
//! index that is loaded, stays checked in both.
//!
//! **Nothing else changes.** If the condition does not hold, the original code runs.
//!
//! **Barriers** are cloned with the rest: all work-items of a group go the same way.

use std::collections::HashSet;

use inkwell::module::Module;
use schism_llvm::{AsModule, Block, Builder, IntPredicate, Opcode, Value};

use crate::analysis::cold_paths::{has_panics, panics_anyway};
use crate::bounds::conditions::conjuncts;
use crate::bounds::group_ranges::Ranges;
use crate::bounds::versions::{can_clone, clone_kernel};
use crate::ir::cfg::Cfg;

/// How many checks one condition decides.
const CHECKS: usize = 64;

/// Runs the pass over the kernels of a module.
///
/// # Errors
/// LLVM's message, if its passes fail.
pub fn run(module: &Module<'_>, kernels: &HashSet<&str>) -> Result<(), String> {
    for function in module.handle().functions() {
        if kernels.contains(&*function.name()) && !function.is_declaration() {
            run_on(function)?;
        }
    }
    Ok(())
}

/// Runs the pass over one kernel.
fn run_on(function: Value<'_>) -> Result<(), String> {
    if !has_panics(function) {
        return Ok(());
    }
    function.run_passes("loop-simplify")?;
    if !can_clone(function) {
        return Ok(());
    }
    let entry = function.entry();
    let cfg = Cfg::of(function);
    let front = entry.insert_before("");
    let end = Builder::at_end(front).br(entry);
    let Some((all, decided)) = decide(&cfg, end) else {
        front.delete();
        return Ok(());
    };
    clone_kernel(end, all);
    for (block, inside) in decided {
        block.always_go_to(inside);
    }
    Ok(())
}

/// The condition under which checks hold for the whole group, and these checks: blocks, and where
/// they go on. `None` if there is no check.
fn decide<'m>(cfg: &Cfg<'m>, end: Value<'m>) -> Option<(Value<'m>, Vec<(Block<'m>, Block<'m>)>)> {
    let mut ranges = Ranges::new(cfg, end);
    let mut needs = Vec::new();
    let mut decided = Vec::new();
    let mut found = false;
    for (block, next) in cfg.successors.iter().enumerate() {
        let &[yes, no] = &next[..] else { continue };
        let branch = cfg.blocks[block].end();
        if yes == no || branch.opcode() != Some(Opcode::Br) || decided.len() == CHECKS {
            continue;
        }
        let [yes_panics, no_panics] = [yes, no].map(|next| panics_anyway(cfg, next));
        let is_check = yes_panics != no_panics;
        let (inside, wanted) = if yes_panics { (no, false) } else { (yes, true) };
        if !is_check && !is_range_check(cfg, branch.condition(), no) {
            continue;
        }
        let mut own = Vec::new();
        let can_hold = |own: &[Value<'m>]| own.iter().all(|need| !need.is_zero());
        if facts(&mut ranges, branch.condition(), wanted, &mut own) && can_hold(&own) {
            needs.extend(own);
            decided.push((cfg.blocks[block], cfg.blocks[inside]));
            found |= is_check;
        }
    }
    let mut seen = HashSet::new();
    needs.retain(|need| seen.insert(*need));
    found.then(|| (ranges.all(&needs), decided))
}

/// Whether a condition compares a work-item's place with a parameter, and the work-item ends if it
/// does not hold.
fn is_range_check(cfg: &Cfg<'_>, condition: Value<'_>, no: usize) -> bool {
    let is_compare = condition.opcode() == Some(Opcode::ICmp);
    let is_less = is_compare && condition.icmp_predicate() == IntPredicate::ULT;
    let ends = cfg.blocks[no].instructions();
    let ends = ends.len() == 1 && ends[0].opcode() == Some(Opcode::Return);
    is_less && ends && {
        let is_place = condition.operand(0).callee().is_some_and(|it| it.is_intrinsic());
        let limit = condition.operand(1);
        let limit = if limit.opcode() == Some(Opcode::ZExt) { limit.operand(0) } else { limit };
        is_place && limit.is_argument()
    }
}

/// What has to hold for `condition` to be `wanted` for all work-items. Adds it to `needs`; false if
/// it cannot be said.
fn facts<'m>(
    ranges: &mut Ranges<'_, 'm>,
    condition: Value<'m>,
    wanted: bool,
    needs: &mut Vec<Value<'m>>,
) -> bool {
    if needs.len() > CHECKS * 8 {
        return false;
    }
    if let Some(same) = ranges.uniform(condition) {
        needs.push(if wanted { same } else { ranges.not(same) });
        return true;
    }
    if let Some(parts) = conjuncts(condition, wanted) {
        return parts.into_iter().all(|(part, wanted)| facts(ranges, part, wanted, needs));
    }
    condition.opcode() == Some(Opcode::ICmp) && compare(ranges, condition, wanted, needs)
}

/// The same of a comparison.
fn compare<'m>(
    ranges: &mut Ranges<'_, 'm>,
    condition: Value<'m>,
    wanted: bool,
    needs: &mut Vec<Value<'m>>,
) -> bool {
    use IntPredicate::{UGE, UGT, ULE, ULT};
    let (small, large, or_equal) = match (condition.icmp_predicate(), wanted) {
        (ULT, true) | (UGE, false) => (0, 1, false),
        (ULE, true) | (UGT, false) => (0, 1, true),
        (UGT, true) | (ULE, false) => (1, 0, false),
        (UGE, true) | (ULT, false) => (1, 0, true),
        _ => return false,
    };
    let [small, large] = [small, large].map(|index| ranges.range(condition.operand(index)));
    let (Some(small), Some(large)) = (small, large) else { return false };
    let predicate = if or_equal { ULE } else { ULT };
    needs.extend(small.needs.iter().chain(&large.needs));
    needs.push(ranges.compare(predicate, small.high, large.low));
    true
}
