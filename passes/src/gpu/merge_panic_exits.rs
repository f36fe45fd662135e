//! Lets all panics of a function leave by one block. Runs in stage 2, for GPUs, after optimisation.
//!
//! Before:
//! ```llvm
//! one:
//!   call void @__schism_panic_site.2(ptr %record, ptr @shape, ptr @here, i64 %i, i64 %n)
//!   unreachable
//! other:
//!   call void @__schism_panic_site.1(ptr %record, ptr @text, ptr @there, i64 %k)
//!   unreachable
//! ```
//! After:
//! ```llvm
//! one:
//!   fence syncscope("block") acq_rel
//!   br label %panic
//! other:
//!   fence syncscope("block") acq_rel
//!   br label %panic
//! panic:
//!   %shape = phi ptr [ @shape, %one ], [ @text, %other ]
//!   %location = phi ptr [ @here, %one ], [ @there, %other ]
//!   %word.0 = phi i64 [ %i, %one ], [ %k, %other ]
//!   %word.1 = phi i64 [ %n, %one ], [ poison, %other ]
//!   call void @__schism_panic_site.2(ptr %record, ptr %shape, ptr %location, i64 %word.0, i64 %word.1)
//!   unreachable
//! ```
//!
//! So what leaves the message is there once. Where LLVM has joined panics already, they are taken
//! apart first, and what only a panic needs is computed where it panics:
//! ```llvm
//!   %a = add i64 %i, 16                          ; in the loop, before the check
//!   ...
//! both:
//!   %index = phi i64 [ %a, %one ], [ %b, %other ]
//!   call void @__schism_panic_site.1(ptr %record, ptr @shape, ptr @here, i64 %index)
//!   unreachable
//! ```
//! becomes two blocks, each with its own addition.
//!
//! The fence orders nothing that matters, and is there for NVIDIA's GPUs: it keeps a panic's block a
//! block. Without it the code generator goes to `%panic` right from the check, and prepares what
//! `%panic` takes before it; and NVIDIA's assembler makes of the short block instructions with
//! a condition, which take their time in a loop that never panics.

use std::collections::HashSet;

use schism_llvm::{AtomicOrdering, Builder, ModuleRef, Opcode, Value};

use crate::analysis::effects::is_barrier;
use crate::spec::builtins;

/// Whether there is a fence before each branch to the common block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fences {
    /// There is.
    Yes,
    /// There is none.
    No,
}

/// Whose panics are joined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Joins {
    /// Those of all functions.
    All,
    /// Those of functions without barriers; of others they are only taken apart. A driver of OpenCL for
    /// processors makes loops over a group's work-items of the parts between barriers, and Intel's goes down
    /// where a block has come from several of these.
    WithoutBarriers,
}

/// Runs the pass over a module.
pub fn run(module: ModuleRef<'_>, fences: Fences, joins: Joins) {
    for function in module.functions() {
        for panic in panics(function) {
            take_apart(function, panic);
        }
        let calls = panics(function);
        for panic in &calls {
            sink_operands(panic.call);
        }
        let is_kept = joins == Joins::WithoutBarriers && has_barriers(function);
        if calls.len() > 1 && !is_kept {
            join(function, &calls, fences);
        }
    }
}

fn has_barriers(function: Value<'_>) -> bool {
    function.instructions().into_iter().any(is_barrier)
}

/// A call that panics, what it calls, and how many words it passes.
#[derive(Clone, Copy)]
struct Panic<'m> {
    call: Value<'m>,
    callee: Value<'m>,
    words: u32,
}

/// The panics of a function, one of each block.
fn panics(function: Value<'_>) -> Vec<Panic<'_>> {
    let blocks = function.blocks().into_iter();
    blocks.filter_map(|block| block.instructions().into_iter().find_map(panic_of)).collect()
}

/// Makes of a block that chooses what to panic with by where control comes from a block for each of
/// these places.
fn take_apart<'m>(function: Value<'m>, panic: Panic<'m>) {
    let block = panic.call.block();
    let is_phi = |value: &Value<'m>| value.opcode() == Some(Opcode::Phi);
    let phis: Vec<_> = block.instructions().into_iter().take_while(is_phi).collect();
    let Some(&first) = phis.first() else { return };
    let last = phis.last().copied().unwrap_or(first);
    if last.next() != Some(panic.call) {
        return;
    }
    let context = function.ty().context();
    let builder = Builder::new(context);
    // In the order of the phi, which is always the same.
    // Control never comes behind the call, so no block may expect it from there.
    if let Some(next) = panic.call.next().filter(|_| !block.successors().is_empty()) {
        next.cut_block();
    }
    let mut seen = HashSet::new();
    for index in 0..first.num_incoming() {
        let place = first.incoming_block(index);
        if !seen.insert(place) {
            continue;
        }
        let from_there = |value: Value<'m>| {
            if !phis.contains(&value) {
                return value;
            }
            value.incoming(place).unwrap_or(value)
        };
        let count = panic.call.num_args();
        let operands: Vec<_> =
            (0..count).map(|index| from_there(panic.call.operand(index))).collect();
        let own = block.insert_before("");
        builder.position_at_end(own);
        let ty = panic.callee.value_type();
        builder.call(ty, panic.callee, &operands);
        builder.unreachable();
        let branch = place.end();
        for index in 0..branch.num_successors() {
            if branch.successor(index) == block {
                branch.set_successor(index, own);
            }
        }
    }
    block.delete();
}

/// Moves before a panic what only it needs.
fn sink_operands(call: Value<'_>) {
    let block = call.block();
    let builder = Builder::new(call.ty().context());
    let mut open = vec![call];
    while let Some(user) = open.pop() {
        for value in user.operands() {
            let only_here = || value.users().into_iter().all(|other| other == user);
            if value.is_integer_arithmetic() && value.block() != block && only_here() {
                value.remove_from_block();
                builder.position_before(user);
                builder.insert(value);
                open.push(value);
            }
        }
    }
}

fn panic_of(call: Value<'_>) -> Option<Panic<'_>> {
    let callee = call.callee()?;
    let name = callee.name();
    Some(Panic { call, callee, words: words_of(&name)? })
}

/// How many words what leaves a panic's message takes; none of other functions.
pub(crate) fn words_of(function: &str) -> Option<u32> {
    function.strip_prefix(builtins::PANIC_SITE)?.strip_prefix('.')?.parse().ok()
}

fn join<'m>(function: Value<'m>, calls: &[Panic<'m>], fences: Fences) {
    let Some(widest) = calls.iter().max_by_key(|panic| panic.words).copied() else { return };
    let ty = widest.callee.value_type();
    let context = function.ty().context();
    let joined = function.append_block("panic");
    let builder = Builder::at_end(joined);
    let count = widest.call.num_args();
    let mut operands = Vec::new();
    for index in 0..count {
        let ty = widest.call.operand(index).ty();
        let values: Vec<_> = calls
            .iter()
            .map(|panic| match index < panic.call.num_args() {
                true => panic.call.operand(index),
                false => ty.poison(),
            })
            .collect();
        let same = values.iter().all(|value| *value == values[0]);
        // What is the same is known everywhere, but for a value that is computed in one of several
        // blocks.
        if same && values[0].opcode().is_none() {
            operands.push(values[0]);
            continue;
        }
        let phi = builder.phi(ty);
        for (value, panic) in values.into_iter().zip(calls) {
            phi.add_incoming(value, panic.call.block());
        }
        operands.push(phi);
    }
    builder.call(ty, widest.callee, &operands);
    builder.unreachable();
    let ordering = AtomicOrdering::AcquireRelease;
    let block_wide = context.sync_scope("block");
    for panic in calls {
        let block = panic.call.block();
        panic.call.cut_block();
        block.end().erase();
        builder.position_at_end(block);
        if fences == Fences::Yes {
            builder.fence(ordering, block_wide);
        }
        builder.br(joined);
    }
}
