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

use schism_llvm::{Block, Builder, Opcode, Value};

use crate::analysis::cold_paths::{is_cold, panics};
use crate::analysis::effects::is_index_arithmetic;
use crate::ir::cfg::{Cfg, Loop};
use crate::ir::clone;
use crate::ir::graph::reached;

/// How many checks are decided together.
const CHECKS: usize = 32;

/// How many instructions a group of them may have.
const SIZE: usize = 500;

/// How many a function may grow by.
const GROWTH: usize = 5_000;

/// How many values a condition may be computed of.
const VALUES: usize = 64;

/// Runs the pass over a function with a body.
pub fn run(function: Value<'_>) {
    let blocks = function.blocks();
    if function.has_function_attribute("optnone")
        || blocks.iter().flat_map(|block| block.successors()).filter(|next| is_cold(*next)).count()
            < 2
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
        join(&cfg, &group);
    }
}

/// Checks that are decided together: each block has a check at its end.
struct Group<'m> {
    blocks: Vec<Link<'m>>,
    /// How many instructions are cloned.
    size: usize,
    /// Whether something between them may not come back.
    may_stay: bool,
}

/// A block with a check.
#[derive(Clone, Copy)]
struct Link<'m> {
    block: usize,
    next: usize,
    panic: usize,
    /// Whether the check is passed if the condition holds.
    passes: bool,
    condition: Value<'m>,
}

/// The check at a block's end.
fn link<'m>(cfg: &Cfg<'m>, block: usize) -> Option<Link<'m>> {
    let &[yes, no] = &cfg.successors[block][..] else { return None };
    let end = cfg.blocks[block].end();
    let passes = panics(cfg, no);
    if end.opcode() != Some(Opcode::Br) || yes == no || passes == panics(cfg, yes) {
        return None;
    }
    let (next, panic) = if passes { (yes, no) } else { (no, yes) };
    Some(Link { block, next, panic, passes, condition: end.condition() })
}

/// The checks that can be decided at the end of a block.
fn group<'m>(cfg: &Cfg<'m>, loops: &[Loop], first: usize) -> Option<Group<'m>> {
    let mut blocks = vec![link(cfg, first)?];
    let (mut size, mut may_stay) = (0, false);
    // What is computed between the checks, and can be computed before them.
    let mut inside: BTreeSet<usize> = BTreeSet::new();
    while let Some(&Link { next, .. }) = blocks.last() {
        let Some(link) = link(cfg, next) else { break };
        let instructions = cfg.blocks[next].instructions();
        let fits = blocks.len() < CHECKS
            && size + instructions.len() <= SIZE
            && cfg.predecessors[next].len() == 1
            && next != first
            && loops.iter().all(|one| one.blocks.contains(&first) == one.blocks.contains(&next))
            && instructions
                .iter()
                .all(|&one| clone::is_cloneable(one) && one.opcode() != Some(Opcode::Phi));
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

/// Whether what is computed between the checks is needed only where all of them have passed, or
/// only where one has failed. It is not where what is `cold` comes back.
fn stays_apart<'m>(cfg: &Cfg<'m>, blocks: &[Link<'m>]) -> bool {
    let inside: HashSet<usize> = blocks[1..].iter().map(|one| one.block).collect();
    let panics: BTreeSet<usize> = blocks.iter().map(|one| one.panic).collect();
    let failed = reached(panics.iter().copied(), |block| cfg.successors[block].iter().copied());
    let instructions = inside.iter().flat_map(|&block| cfg.blocks[block].instructions());
    instructions.flat_map(Value::use_blocks).all(|at| {
        let at = cfg.index[&at];
        inside.contains(&at)
            || !failed.contains(&at)
            || panics.iter().any(|&panic| cfg.dominates(panic, at))
    })
}

/// Whether a call may never come back.
fn may_stay_away(instruction: Value<'_>) -> bool {
    instruction.opcode() == Some(Opcode::Call) && !instruction.calls_intrinsic(&[""])
}

/// Whether a value can be had before the blocks `inside`: it comes from elsewhere, or arithmetic
/// makes it. `left` are the values that may still be looked at.
fn is_early<'m>(
    cfg: &Cfg<'m>,
    inside: &BTreeSet<usize>,
    value: Value<'m>,
    left: &mut usize,
) -> bool {
    if value.opcode().is_none() || !inside.contains(&cfg.block_of(value)) {
        return true;
    }
    *left = left.saturating_sub(1);
    *left > 0
        && is_index_arithmetic(value)
        && value.operands().all(|operand| is_early(cfg, inside, operand, left))
}

/// Decides the checks of a group together.
fn join<'m>(cfg: &Cfg<'m>, group: &Group<'m>) {
    let block = |number: usize| cfg.blocks[number];
    let (first, rest) = (group.blocks[0], &group.blocks[1..]);
    let inside: BTreeSet<usize> = rest.iter().map(|one| one.block).collect();
    let end = block(first.block).end();
    let function = block(first.block).function();
    let context = function.ty().context();
    let builder = Builder::before(end);
    let no = context.int_type(1).const_int(0, false);
    let mut known = HashMap::new();
    let is_inside = |value: Value<'m>| inside.contains(&cfg.block_of(value));
    let mut all = None;
    for one in &group.blocks {
        let condition = clone::compute_again(&builder, one.condition, &is_inside, &mut known);
        let passed = if one.passes { condition } else { builder.not(condition) };
        all = Some(match all {
            None => passed,
            Some(all) => builder.select(all, passed, no),
        });
    }
    let mut all = all.expect("a group has checks");
    if group.may_stay {
        all = builder.freeze(all);
    }

    let copies: Vec<Block<'m>> = rest.iter().map(|one| block(one.block)).collect();
    let cloned = clone::clone_blocks(&copies);
    // Panics use the copies' values.
    let panics: BTreeSet<usize> = group.blocks.iter().map(|one| one.panic).collect();
    for (&value, &clone) in &cloned.values {
        // The copies are in no CFG yet.
        clone::replace_uses_in(value, clone, |at| {
            let at = cfg.index.get(&at);
            at.is_some_and(|&at| panics.iter().any(|&panic| cfg.dominates(panic, at)))
        });
    }

    // The checks one by one.
    let checked = function.append_block("");
    checked.move_after(block(rest[rest.len() - 1].block));
    for &panic in &panics {
        for phi in block(panic).phis() {
            for index in 0..phi.num_incoming() {
                let from = phi.incoming_block(index);
                let new = match from == block(first.block) {
                    true => Some(checked),
                    false => cloned.blocks.get(&from).copied(),
                };
                if let Some(new) = new {
                    let value = cloned.value(phi.incoming_value(index));
                    phi.add_incoming(value, new);
                }
            }
        }
    }
    let second = cloned.block(block(first.next));
    let clone = end.duplicate();
    builder.position_at_end(checked);
    builder.insert(clone);
    for index in 0..2 {
        if clone.successor(index) == block(first.next) {
            clone.set_successor(index, second);
        }
    }
    let last = rest[rest.len() - 1];
    cloned.block(block(last.block)).always_go_to(block(last.panic));

    // And at once.
    for one in rest {
        block(one.block).always_go_to(block(one.next));
    }
    block(first.block).always_go_to(block(first.next));
    let end = block(first.block).end();
    builder.position_before(end);
    builder.cond_br(all, block(first.next), checked);
    end.erase();
}
