//! Merges successive range checks into one branch.
//!
//! Before:
//! ```llvm
//! first:
//!   %a.inside = icmp ult i64 %a, %len
//!   br i1 %a.inside, label %second, label %panic.a
//! second:
//!   %x = load float, ptr %a.place
//!   %b = add i64 %a, %width
//!   %b.inside = icmp ult i64 %b, %len
//!   br i1 %b.inside, label %third, label %panic.b
//! third:
//!   %y = load float, ptr %b.place
//!   ...
//! ```
//! After:
//! ```llvm
//! first:
//!   %a.inside = icmp ult i64 %a, %len
//!   %b.early = add i64 %a, %width
//!   %b.inside.early = icmp ult i64 %b.early, %len
//!   %both = select i1 %a.inside, i1 %b.inside.early, i1 false
//!   br i1 %both, label %second, label %checked.first
//! second:
//!   %x = load float, ptr %a.place
//!   br label %third
//! third:
//!   %y = load float, ptr %b.place
//!   ...
//! checked.first:
//!   br i1 %a.inside, label %checked.second, label %panic.a
//! checked.second:
//!   %x.again = load float, ptr %a.place
//!   br label %panic.b
//! ```
//!
//! LLVM moves no load across a branch, so a GPU waits for the first element before it requests the
//! second. In one block all loads are in flight together, and there is one branch.
//!
//! **What is computed early** is arithmetic on available values: no memory access moves. The
//! conditions are combined by `select` in their order, so a condition that an earlier check guards
//! is not evaluated (it may be poison).
//!
//! **Panics** happen in a clone of the original code, which has the same side effects in the same
//! order. One of its checks fails, so it never rejoins the rest. A barrier ends a group of checks
//! (`clone::is_cloneable`).

use std::collections::{BTreeSet, HashMap, HashSet};

use inkwell::module::Module;
use llvm_sys::LLVMOpcode;
use llvm_sys::core::*;
use llvm_sys::prelude::*;

use crate::analysis::cold_paths::{is_cold, panics};
use crate::ir;
use crate::ir::cfg::{Cfg, Loop};
use crate::ir::clone;

/// How many checks are decided together.
const CHECKS: usize = 32;

/// How many instructions a group of them may have.
const SIZE: usize = 500;

/// How many a function may grow by.
const GROWTH: usize = 5_000;

/// How many values a condition may be computed of.
const VALUES: usize = 64;

/// Runs the pass over the module.
pub fn run(module: &Module<'_>) {
    ir::on_each_function(module, run_on);
}

/// Runs the pass over one function; a declaration has nothing to do.
///
/// # Safety
/// `function` is a function of a live module that nobody else changes meanwhile.
pub unsafe fn run_on(function: LLVMValueRef) {
    let blocks = ir::blocks(function);
    if ir::has_function_attribute(function, "optnone")
        || blocks.iter().filter(|block| is_cold(**block)).count() < 2
    {
        return;
    }
    let mut done = HashSet::new();
    let mut growth = 0;
    loop {
        let cfg = Cfg::of(function);
        let loops = cfg.loops();
        let found = (0..cfg.blocks.len())
            .filter(|&first| done.insert(cfg.blocks[first]))
            .find_map(|first| group(&cfg, &loops, first));
        let Some(group) = found else { return };
        growth += group.size;
        if growth > GROWTH {
            return;
        }
        done.extend(group.blocks.iter().map(|one| cfg.blocks[one.block]));
        // SAFETY: the group was found in the function as it is.
        unsafe { join(&cfg, &group) };
    }
}

/// Checks that are decided together: each block has a check at its end.
struct Group {
    blocks: Vec<Link>,
    /// How many instructions are cloned.
    size: usize,
    /// Whether something between them may not come back.
    may_stay: bool,
}

/// A block with a check.
#[derive(Clone, Copy)]
struct Link {
    block: usize,
    next: usize,
    panic: usize,
    /// Whether the check is passed if the condition holds.
    passes: bool,
    condition: LLVMValueRef,
}

/// The check at a block's end.
fn link(cfg: &Cfg, block: usize) -> Option<Link> {
    let &[yes, no] = &cfg.successors[block][..] else { return None };
    // SAFETY: the block has a terminator, since it has successors.
    let end = unsafe { LLVMGetBasicBlockTerminator(cfg.blocks[block]) };
    let passes = panics(cfg, no);
    if ir::opcode(end) != Some(LLVMOpcode::LLVMBr) || yes == no || passes == panics(cfg, yes) {
        return None;
    }
    let (next, panic) = if passes { (yes, no) } else { (no, yes) };
    // SAFETY: a branch with two successors has a condition.
    Some(Link { block, next, panic, passes, condition: unsafe { LLVMGetCondition(end) } })
}

/// The checks that can be decided at the end of a block.
fn group(cfg: &Cfg, loops: &[Loop], first: usize) -> Option<Group> {
    let mut blocks = vec![link(cfg, first)?];
    let (mut size, mut may_stay) = (0, false);
    // What is computed between the checks, and can be computed before them.
    let mut inside: BTreeSet<usize> = BTreeSet::new();
    while let Some(&Link { next, .. }) = blocks.last() {
        let Some(link) = link(cfg, next) else { break };
        let instructions = ir::instructions_of(cfg.blocks[next]);
        let fits = blocks.len() < CHECKS
            && size + instructions.len() <= SIZE
            && cfg.predecessors[next].len() == 1
            && next != first
            && loops.iter().all(|one| one.blocks.contains(&first) == one.blocks.contains(&next))
            && instructions.iter().all(|&one| {
                clone::is_cloneable(one) && ir::opcode(one) != Some(LLVMOpcode::LLVMPHI)
            });
        if !fits {
            break;
        }
        inside.insert(next);
        if !is_early(cfg, &inside, link.condition, &mut { VALUES }) {
            break;
        }
        size += instructions.len();
        may_stay |= instructions.iter().any(|&one| may_stay_away(one));
        blocks.push(link);
    }
    // A panic block with other predecessors would need phis for its message.
    let own = |panic: usize, blocks: &[Link]| {
        cfg.predecessors[panic].iter().all(|from| blocks.iter().any(|one| one.block == *from))
    };
    while blocks.iter().any(|one| !own(one.panic, &blocks)) {
        blocks.pop();
    }
    if blocks.len() < 2 || !stays_apart(cfg, &blocks) {
        return None;
    }
    Some(Group { blocks, size, may_stay })
}

/// Whether what is computed between the checks is needed only where all of them have passed, or only where one has failed. It is not where
/// what is `cold` comes back.
fn stays_apart(cfg: &Cfg, blocks: &[Link]) -> bool {
    let inside: HashSet<usize> = blocks[1..].iter().map(|one| one.block).collect();
    let panics: BTreeSet<usize> = blocks.iter().map(|one| one.panic).collect();
    let mut failed: HashSet<usize> = HashSet::new();
    let mut open: Vec<usize> = panics.iter().copied().collect();
    while let Some(block) = open.pop() {
        if failed.insert(block) {
            open.extend(&cfg.successors[block]);
        }
    }
    let instructions = inside.iter().flat_map(|&block| ir::instructions_of(cfg.blocks[block]));
    instructions.flat_map(ir::uses).all(|at| {
        let at = cfg.index[&at];
        inside.contains(&at)
            || !failed.contains(&at)
            || panics.iter().any(|&panic| cfg.dominates(panic, at))
    })
}

/// Whether a call may never come back.
fn may_stay_away(instruction: LLVMValueRef) -> bool {
    ir::opcode(instruction) == Some(LLVMOpcode::LLVMCall)
        && !ir::callee(instruction).is_some_and(|callee| ir::name_of(callee).starts_with("llvm."))
}

/// Whether an instruction computes something that nobody notices, and the same whenever it does: `freeze` may not.
fn is_arithmetic(instruction: LLVMValueRef) -> bool {
    use LLVMOpcode::*;
    ir::is_integer_arithmetic(instruction)
        || matches!(ir::opcode(instruction), Some(LLVMGetElementPtr | LLVMIntToPtr | LLVMFCmp))
}

/// Whether a value can be had before the blocks `inside`: it comes from elsewhere, or arithmetic makes it. `left` are the values that may
/// still be looked at.
fn is_early(cfg: &Cfg, inside: &BTreeSet<usize>, value: LLVMValueRef, left: &mut usize) -> bool {
    if ir::opcode(value).is_none() || !inside.contains(&cfg.block_of(value)) {
        return true;
    }
    *left = left.saturating_sub(1);
    *left > 0
        && is_arithmetic(value)
        && ir::operands(value).all(|operand| is_early(cfg, inside, operand, left))
}

/// Computes a value of the blocks `inside` in front of an instruction.
///
/// # Safety
/// `value` [is early](is_early), and `before` ends the block that the others come after.
unsafe fn early(
    cfg: &Cfg,
    inside: &BTreeSet<usize>,
    value: LLVMValueRef,
    builder: LLVMBuilderRef,
    known: &mut HashMap<LLVMValueRef, LLVMValueRef>,
) -> LLVMValueRef {
    if ir::opcode(value).is_none() || !inside.contains(&cfg.block_of(value)) {
        return value;
    }
    if let Some(&known) = known.get(&value) {
        return known;
    }
    // SAFETY: the value is arithmetic, whose operands are early, too; the copy is made behind theirs.
    unsafe {
        let operands: Vec<LLVMValueRef> = ir::operands(value)
            .map(|operand| early(cfg, inside, operand, builder, known))
            .collect();
        let clone = LLVMInstructionClone(value);
        LLVMInsertIntoBuilder(builder, clone);
        for (operand, index) in operands.into_iter().zip(0..) {
            LLVMSetOperand(clone, index, operand);
        }
        known.insert(value, clone);
        clone
    }
}

/// Decides the checks of a group together.
///
/// # Safety
/// The group is of the CFG's function, which is as it was then.
unsafe fn join(cfg: &Cfg, group: &Group) {
    let block = |number: usize| cfg.blocks[number];
    let (first, rest) = (group.blocks[0], &group.blocks[1..]);
    let inside: BTreeSet<usize> = rest.iter().map(|one| one.block).collect();
    // SAFETY: as promised by the caller. Each block of the rest has the one before it as its only predecessor, so the predecessors of the clones are
    // clones and the new block. The predecessors of panics are blocks of the group only: then their clones.
    unsafe {
        let end = LLVMGetBasicBlockTerminator(block(first.block));
        let function = LLVMGetBasicBlockParent(block(first.block));
        let context = LLVMGetTypeContext(LLVMTypeOf(function));
        let builder = LLVMCreateBuilderInContext(context);
        let name = c"".as_ptr();
        LLVMPositionBuilderBefore(builder, end);
        let no = LLVMConstInt(LLVMInt1TypeInContext(context), 0, 0);
        let mut known = HashMap::new();
        let mut all = None;
        for one in &group.blocks {
            let condition = early(cfg, &inside, one.condition, builder, &mut known);
            let passed =
                if one.passes { condition } else { LLVMBuildNot(builder, condition, name) };
            all = Some(match all {
                None => passed,
                Some(all) => LLVMBuildSelect(builder, all, passed, no, name),
            });
        }
        let mut all = all.expect("a group has checks");
        if group.may_stay {
            all = LLVMBuildFreeze(builder, all, name);
        }

        let copies: Vec<LLVMBasicBlockRef> = rest.iter().map(|one| block(one.block)).collect();
        let cloned = clone::clone_blocks(&copies);
        // Panics use the copies' values.
        let panics: BTreeSet<usize> = group.blocks.iter().map(|one| one.panic).collect();
        for (&value, &clone) in &cloned.values {
            for user in ir::users(value) {
                for index in 0..LLVMGetNumOperands(user) as u32 {
                    if LLVMGetOperand(user, index) != value {
                        continue;
                    }
                    let at = ir::used_at(user, index);
                    // The copies are in no CFG yet.
                    let Some(&at) = cfg.index.get(&at) else { continue };
                    if panics.iter().any(|&panic| cfg.dominates(panic, at)) {
                        LLVMSetOperand(user, index, clone);
                    }
                }
            }
        }

        // The checks one by one.
        let checked = LLVMAppendBasicBlockInContext(context, function, name);
        LLVMMoveBasicBlockAfter(checked, block(rest[rest.len() - 1].block));
        for &panic in &panics {
            for phi in ir::phis(block(panic)) {
                for index in 0..LLVMCountIncoming(phi) {
                    let from = LLVMGetIncomingBlock(phi, index);
                    let new = match from == block(first.block) {
                        true => Some(checked),
                        false => cloned.blocks.get(&from).copied(),
                    };
                    if let Some(mut new) = new {
                        let mut value = cloned.value(LLVMGetIncomingValue(phi, index));
                        LLVMAddIncoming(phi, &mut value, &mut new, 1);
                    }
                }
            }
        }
        let second = cloned.block(block(first.next));
        let clone = LLVMInstructionClone(end);
        LLVMPositionBuilderAtEnd(builder, checked);
        LLVMInsertIntoBuilder(builder, clone);
        for index in 0..2 {
            if LLVMGetSuccessor(clone, index) == block(first.next) {
                LLVMSetSuccessor(clone, index, second);
            }
        }
        let last = rest[rest.len() - 1];
        ir::always_go_to(cloned.block(block(last.block)), block(last.panic));

        // And at once.
        for one in rest {
            ir::always_go_to(block(one.block), block(one.next));
        }
        ir::always_go_to(block(first.block), block(first.next));
        let end = LLVMGetBasicBlockTerminator(block(first.block));
        LLVMPositionBuilderBefore(builder, end);
        LLVMBuildCondBr(builder, all, block(first.next), checked);
        LLVMInstructionEraseFromParent(end);
        LLVMDisposeBuilder(builder);
    }
}
