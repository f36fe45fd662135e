//! Makes one branch of successive checks whose failures are noted (OpenCL).
//!
//! Before, as [`group_bailouts`](super::group_bailouts) leaves it:
//! ```llvm
//!   br i1 %begin.fails, label %failed, label %second
//! second:
//!   %n = sub nuw i64 %end, %begin
//!   %end.fails = icmp ult i64 %len, %end
//!   br i1 %end.fails, label %failed, label %inside
//! failed:
//!   store atomic i32 %group, ptr addrspace(3) @__schism_bailout.0 syncscope("block") monotonic
//! ```
//! After:
//! ```llvm
//!   %n = sub nuw i64 %end, %begin
//!   %end.fails = icmp ult i64 %len, %end
//!   %fails = select i1 %begin.fails, i1 true, i1 %end.fails
//!   br i1 %fails, label %failed, label %inside
//! ```
//! In the lanes of vectors each branch is a mask. What stands between the checks only computes, so
//! all lanes may do it.
//!
//! Runs after LLVM's optimisation, which knows more behind one check than behind several: that `%n`
//! does not wrap, for example.

use std::collections::HashSet;

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
    let cfg = Cfg::of(function);
    let mut gone = HashSet::new();
    for block in (0..cfg.blocks.len()).rev() {
        if gone.contains(&block) {
            continue;
        }
        let next = cfg.successors[block].iter().filter(|next| !gone.contains(*next));
        let failed = next.clone().find_map(|&next| bailout(&cfg, next));
        let joined = failed.and_then(|failed| join_next(&cfg, cfg.blocks[block], failed));
        gone.extend(joined);
    }
}

/// Makes one check of two, if the first one goes on at the second one, which only computes. Returns
/// the second one's block, which is gone then.
fn join_next<'m>(cfg: &Cfg<'m>, first: Block<'m>, failed: Block<'m>) -> Option<usize> {
    // Whether it fails if the condition holds, and where it goes on.
    let check = |block: Block<'m>| {
        let end = block.end();
        if end.opcode() != Some(Opcode::Br) || !end.is_conditional() {
            return None;
        }
        match [0, 1].map(|index| end.successor(index)) {
            [yes, no] if yes == failed && no != failed => Some((true, no)),
            [yes, no] if no == failed && yes != failed => Some((false, yes)),
            _ => None,
        }
    };
    let (first_fails, second) = check(first)?;
    let (second_fails, next) = check(second)?;
    let number = cfg.index[&second];
    let is_alone = cfg.predecessors[number].len() == 1;
    let computes = |one: &Value<'m>| is_computed(*one) || *one == second.end();
    if !is_alone || next == first || !second.instructions().iter().all(computes) {
        return None;
    }
    let [end, other] = [first.end(), second.end()];
    let builder = Builder::before(end);
    for moved in second.instructions().into_iter().filter(|it| *it != other) {
        moved.remove_from_block();
        builder.insert(moved);
    }
    let fails = |end: Value<'m>, fails| match fails {
        true => end.condition(),
        false => builder.not(end.condition()),
    };
    let [a, b] = [fails(end, first_fails), fails(other, second_fails)];
    let any = builder.select(a, a.ty().const_int(1, false), b);
    builder.cond_br(any, failed, next);
    end.erase();
    for phi in next.phis() {
        if let Some(value) = phi.incoming(second) {
            phi.add_incoming(value, first);
        }
    }
    next.forget_edge(second);
    second.delete();
    Some(number)
}
