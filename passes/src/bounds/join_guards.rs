//! Looks at checks whose failures are noted behind the code that they guard (OpenCL).
//!
//! Before, as [`join_bailouts`](super::join_bailouts) leaves it:
//! ```llvm
//!   br i1 %fails, label %failed, label %second
//! second:
//!   br i1 %has.elements, label %loop, label %join
//! loop:
//!   ...
//!   br i1 %goes.on, label %loop, label %end
//! end:
//!   br i1 %is.inside, label %join, label %failed
//! join:
//!   %sum = phi float [ 0.0, %second ], [ %all, %end ]
//!   store float %sum, ptr addrspace(3) %sum.at
//! ```
//! After:
//! ```llvm
//!   %enters = select i1 %fails, i1 false, i1 %has.elements
//!   br i1 %enters, label %loop, label %join
//! loop:
//!   ...
//!   br i1 %goes.on, label %loop, label %end
//! end:
//!   %is.outside = xor i1 %is.inside, true
//!   br label %join
//! join:
//!   %failed.one = phi i1 [ %fails, %entry ], [ %is.outside, %end ]
//!   %sum = phi float [ 0.0, %entry ], [ %all, %end ]
//!   br i1 %failed.one, label %failed, label %rest
//! rest:
//!   store float %sum, ptr addrspace(3) %sum.at
//! ```
//! In the lanes of vectors each branch is a mask, and masks of a branch around a loop are kept during
//! the loop. Here the loop has one mask, and what fails is one mask behind it.
//!
//! What stands between the check and the loop only computes, so all lanes may do it.

use inkwell::module::Module;
use schism_llvm::{AsModule, Block, Builder, Opcode, Value};

use crate::analysis::effects::is_computed;
use crate::bounds::group_bailouts::{bailout, has_notes};
use crate::ir::cfg::Cfg;

/// Runs the pass over a module.
pub fn run(module: &Module<'_>) {
    module.handle().functions().into_iter().for_each(run_on);
}

/// Runs the pass over one function.
fn run_on(function: Value<'_>) {
    if function.is_declaration() || !has_notes(function) {
        return;
    }
    while join_one(&Cfg::of(function)) {}
}

/// A branch to where a failed check is noted.
struct Check<'m> {
    block: Block<'m>,
    failed: Block<'m>,
    /// Whether it fails if the condition holds.
    fails_if: bool,
    next: Block<'m>,
}

impl<'m> Check<'m> {
    fn of(cfg: &Cfg<'m>, number: usize) -> Option<Self> {
        let block = cfg.blocks[number];
        let end = block.end();
        if end.opcode() != Some(Opcode::Br) || !end.is_conditional() {
            return None;
        }
        let failed = cfg.successors[number].iter().find_map(|&next| bailout(cfg, next))?;
        let (fails_if, next) = match [0, 1].map(|index| end.successor(index)) {
            [yes, no] if yes == failed && no != failed => (true, no),
            [yes, no] if no == failed && yes != failed => (false, yes),
            _ => return None,
        };
        failed.phis().is_empty().then_some(Check { block, failed, fails_if, next })
    }

    /// Whether it fails.
    fn fails(&self, builder: &Builder<'m>) -> Value<'m> {
        let condition = self.block.end().condition();
        if self.fails_if { condition } else { builder.not(condition) }
    }

    /// Computes in front of the check what stands behind it.
    fn take_over(&self, computed: Block<'m>) {
        let builder = Builder::before(self.block.end());
        for moved in computed.instructions().into_iter().filter(|it| *it != computed.end()) {
            moved.remove_from_block();
            builder.insert(moved);
        }
    }
}

/// Whether a block only computes, and is come to from one other.
fn only_computes(cfg: &Cfg<'_>, block: Block<'_>) -> bool {
    let instructions = block.instructions();
    let (end, rest) = instructions.split_last().expect("a block ends in a terminator");
    end.opcode() == Some(Opcode::Br)
        && rest.iter().all(|&it| is_computed(it))
        && cfg.predecessors[cfg.index[&block]].len() == 1
}

/// Moves the first check that guards a branch behind what it guards. Returns whether there is one.
fn join_one(cfg: &Cfg<'_>) -> bool {
    (0..cfg.blocks.len()).filter_map(|number| Check::of(cfg, number)).any(|check| {
        let guard = check.next;
        if !only_computes(cfg, guard) || !guard.end().is_conditional() {
            return false;
        }
        let sides = [0, 1].map(|index| guard.end().successor(index));
        let is_join = |join: Block<'_>, inside: Block<'_>| {
            let [join, inside] = [join, inside].map(|block| cfg.index[&block]);
            let before = &cfg.predecessors[join];
            let enters = cfg.predecessors[inside].iter().filter(|&&it| !cfg.dominates(inside, it));
            enters.count() == 1
                && before.len() > 1
                && !before.iter().any(|&from| cfg.dominates(join, from))
                && !before.contains(&cfg.index[&check.block])
        };
        let failed = check.failed;
        match sides {
            [inside, join] if join != failed && inside != failed && is_join(join, inside) => {
                apply(cfg, &check, true, inside, join);
            }
            [join, inside] if join != failed && inside != failed && is_join(join, inside) => {
                apply(cfg, &check, false, inside, join);
            }
            _ => return false,
        }
        true
    })
}

/// Lets a check decide whether what it guards is entered, and looks at it where that ends.
fn apply<'m>(
    cfg: &Cfg<'m>,
    check: &Check<'m>,
    enters_if: bool,
    inside: Block<'m>,
    join: Block<'m>,
) {
    let (first, guard, failed) = (check.block, check.next, check.failed);
    // Checks at the end of what is guarded: their blocks, and what they have in front of the join.
    let ends: Vec<(Check<'m>, Block<'m>)> = cfg.predecessors[cfg.index[&join]]
        .iter()
        .filter_map(|&from| {
            let last = cfg.blocks[from];
            if last == guard || !only_computes(cfg, last) || last.end().is_conditional() {
                return None;
            }
            let before = cfg.predecessors[from].first()?;
            let end = Check::of(cfg, *before)?;
            (end.failed == failed && end.next == last && end.block != first).then_some((end, last))
        })
        .collect();

    let bit = join.context().int_type(1);
    let meet = join.insert_before("");
    let builder = Builder::at_end(meet);
    let failed_one = builder.phi(bit);
    for phi in join.phis() {
        let new = builder.phi(phi.ty());
        for (value, from) in phi.incoming_edges() {
            let end = ends.iter().find(|(_, last)| *last == from);
            let from = if from == guard { first } else { end.map_or(from, |it| it.0.block) };
            new.add_incoming(value, from);
        }
        phi.replace_uses(new);
        phi.erase();
    }
    builder.cond_br(failed_one, failed, join);

    check.take_over(guard);
    let end = first.end();
    let builder = Builder::before(end);
    let fails = check.fails(&builder);
    let condition = guard.end().condition();
    let goes_in = if enters_if { condition } else { builder.not(condition) };
    let enters = builder.select(fails, bit.const_int(0, false), goes_in);
    builder.cond_br(enters, inside, meet);
    failed_one.add_incoming(fails, first);
    for phi in inside.phis() {
        let value = phi.incoming(guard).expect("control comes from there");
        phi.add_incoming(value, first);
    }
    inside.forget_edge(guard);
    end.erase();

    for &from in &cfg.predecessors[cfg.index[&join]] {
        let from = cfg.blocks[from];
        if from == guard {
            continue;
        }
        if let Some((check, last)) = ends.iter().find(|(_, last)| *last == from) {
            check.take_over(*last);
            let end = check.block.end();
            let builder = Builder::before(end);
            failed_one.add_incoming(check.fails(&builder), check.block);
            builder.br(meet);
            end.erase();
            last.delete();
        } else {
            failed_one.add_incoming(bit.const_int(0, false), from);
            let end = from.end();
            for index in (0..end.num_successors()).filter(|&index| end.successor(index) == join) {
                end.set_successor(index, meet);
            }
        }
    }
    guard.delete();
}
