//! Removes checks of a work-item's place in its group that a branch on its place in a part of the
//! group has decided. Runs in stage 2, after optimisation.
//!
//! Before, in a group of 256 work-items:
//! ```llvm
//!   %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
//!   %lane = and i32 %tid, 31
//!   %is.lower = icmp ult i32 %lane, 16
//!   br i1 %is.lower, label %add, label %done
//! add:
//!   %is.inside = icmp ult i32 %tid, 240          ; the element at %tid + 16 is one of 256
//!   br i1 %is.inside, label %inside, label %panic
//! ```
//! After:
//! ```llvm
//! add:
//!   br label %inside
//! ```
//! The last work-item of a group of 256 whose lowest five bits are below 16 is 239. LLVM knows what is
//! below 16, and not what that says of the whole. Sums of parts of a group, such as the 32 work-items
//! that share the row of a matrix, have such a check for each level of their tree. It relies on the
//! size of the group, which is known to the kernel's code (`schism.block`).

use inkwell::module::Module;
use schism_llvm::{AsModule, Attribute, FUNCTION_INDEX, IntPredicate, Opcode, Value};

use crate::analysis::cold_paths::{has_panics, panics_anyway};
use crate::ir::cfg::Cfg;
use crate::nvptx::launch_bounds::BLOCK;

/// How many branches in front of a check are looked at.
const BRANCHES: usize = 8;

/// Runs the pass over a module.
///
/// # Errors
/// LLVM's message, if its passes fail.
pub fn run(module: &Module<'_>) -> Result<(), String> {
    module.handle().functions().into_iter().try_for_each(run_on)
}

fn run_on(function: Value<'_>) -> Result<(), String> {
    let block = function.string_attribute(FUNCTION_INDEX, BLOCK);
    let Some(sizes) = block.and_then(Attribute::string_value) else { return Ok(()) };
    let sizes: Vec<u64> = sizes.split(',').filter_map(|size| size.parse().ok()).collect();
    if !has_panics(function) || sizes.len() != 3 {
        return Ok(());
    }
    let cfg = Cfg::of(function);
    let mut decided = Vec::new();
    for (block, next) in cfg.successors.iter().enumerate() {
        let &[inside, panic] = &next[..] else { continue };
        let branch = cfg.blocks[block].end();
        let is_check = branch.opcode() == Some(Opcode::Br)
            && panics_anyway(&cfg, panic)
            && !panics_anyway(&cfg, inside);
        if is_check && always_holds(&cfg, block, branch.condition(), &sizes) == Some(true) {
            decided.push((cfg.blocks[block], cfg.blocks[inside]));
        }
    }
    if decided.is_empty() {
        return Ok(());
    }
    for (block, inside) in decided {
        block.always_go_to(inside);
    }
    // Panics that nobody comes to: a kernel without any needs no memory for messages.
    function.run_passes("sccp")
}

/// Whether a condition at the end of a block holds for all work-items that come there.
fn always_holds(
    cfg: &Cfg<'_>,
    mut block: usize,
    condition: Value<'_>,
    sizes: &[u64],
) -> Option<bool> {
    let (place, limit) = below(condition)?;
    let (place, axis) = place_in_group(place)?;
    let size = *sizes.get(axis)?;
    for _ in 0..BRANCHES {
        let &[before] = &cfg.predecessors[block][..] else { return None };
        let branch = cfg.blocks[before].end();
        if branch.opcode() == Some(Opcode::Br) && branch.is_conditional() {
            let holds = branch.successor(0) == cfg.blocks[block];
            let differs = branch.successor(0) != branch.successor(1);
            let known = part(branch.condition(), place).filter(|_| holds && differs);
            if let Some(greatest) = known.and_then(|part| part.greatest_below(size))
                && greatest < limit
            {
                return Some(true);
            }
        }
        block = before;
    }
    None
}

/// The number that a condition says to be below a constant, and the constant.
fn below<'m>(condition: Value<'m>) -> Option<(Value<'m>, u64)> {
    let is_below =
        condition.opcode() == Some(Opcode::ICmp) && condition.icmp_predicate() == IntPredicate::ULT;
    let limit = condition.get_operand(1).filter(|limit| is_below && limit.is_constant_int())?;
    Some((condition.operand(0), limit.zext_value()))
}

/// A work-item's place in its group, and the axis, if a number is that.
fn place_in_group(value: Value<'_>) -> Option<(Value<'_>, usize)> {
    let mut value = value;
    while value.opcode() == Some(Opcode::ZExt) {
        value = value.operand(0);
    }
    let name = value.callee()?.name();
    let axis = match name.strip_prefix("llvm.nvvm.read.ptx.sreg.tid.")? {
        "x" => 0,
        "y" => 1,
        "z" => 2,
        _ => return None,
    };
    Some((value, axis))
}

/// What is known of a number's lowest bits: those of `mask` are below `limit`.
struct Part {
    mask: u64,
    limit: u64,
}

/// What a condition that holds says of a work-item's place in a part of its group.
fn part(condition: Value<'_>, place: Value<'_>) -> Option<Part> {
    let (lowest, limit) = below(condition)?;
    let mut lowest = lowest;
    while lowest.opcode() == Some(Opcode::ZExt) {
        lowest = lowest.operand(0);
    }
    if lowest.opcode() != Some(Opcode::And) || !lowest.operand(1).is_constant_int() {
        return None;
    }
    let mask = lowest.operand(1).zext_value();
    let is_place = place_in_group(lowest.operand(0)).is_some_and(|(of, _)| same(of, place));
    let is_low = mask < u64::from(u32::MAX) && (mask + 1).is_power_of_two();
    (is_place && is_low && limit > 0).then_some(Part { mask, limit })
}

/// Whether two calls give the same register.
fn same(a: Value<'_>, b: Value<'_>) -> bool {
    a == b || (a.callee().is_some() && a.callee() == b.callee())
}

impl Part {
    /// The greatest such number below `size`.
    fn greatest_below(&self, size: u64) -> Option<u64> {
        let last = size.checked_sub(1)?;
        Some((last & !self.mask) + (last & self.mask).min(self.limit - 1))
    }
}
