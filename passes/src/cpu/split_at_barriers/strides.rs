//! Interchanges loops over a grid's strides with the loops over work-items.
//!
//! On a GPU neighbouring work-items should access neighbouring elements at the same time, so each of
//! them walks over the data in steps as long as the grid. One work-item after the other walks over
//! all of the memory as many times as a group has work-items:
//! ```llvm
//! loop:
//!   %place = phi i64 [ %x, %item ], [ %after, %body ]
//!   %more = icmp ult i64 %place, %limit
//!   br i1 %more, label %body, label %end
//! body:
//!   …                                             ; accesses the element at %place
//!   %after = add i64 %place, %stride
//!   br label %loop
//! ```
//! All of a group's work-items do one step each instead, as if there were a barrier at the end of a
//! step. The group's first work-item has the most steps:
//! ```llvm
//!   br i1 %is.limited, label %strides.begin, label %loop   ; the loop stays for what would wrap
//! strides.begin:
//!   call void @schism.meet.__schism_barrier(ptr %group)
//!   br label %strides.head
//! strides.head:                                   ; once for the group
//!   %first = phi i64 [ %x.begin, %strides.begin ], [ %first.after, %strides.next ]
//!   %any.more = icmp ult i64 %first, %limit
//!   br i1 %any.more, label %strides.step, label %end
//! strides.step:
//!   %local = sub i64 %x, %x.begin
//!   %place = add i64 %first, %local
//!   %more = icmp ult i64 %place, %limit
//!   br i1 %more, label %body, label %strides.next
//! body:
//!   …
//! strides.next:
//!   call void @schism.meet.__schism_barrier(ptr %group)
//!   %first.after = add i64 %first, %stride
//!   br label %strides.head
//! ```
//!
//! **Why it is sound.** Between two barriers the order of the work-items is not specified, and each
//! keeps its own. What would show the order is refused: calls, panics, and atomic operations but for
//! updates whose previous value is not used. A check of `%place` against a length is decided for
//! all by `%limit` (`%is.limited`), and a place that does not wrap needs no check for that. All work-items must reach the loop, and nothing but `%place`
//! goes from one step to the next.

use std::collections::HashSet;

use schism_llvm::{AtomicOrdering, Block, Builder, IntPredicate, Opcode, TypeKind, Value};

use super::body::{Axis, Body};
use super::uniformity::Varying;
use super::waits::BARRIER;
use crate::ir::cfg::{Cfg, Loop};
use crate::ir::clone::{clone_blocks, is_cloneable};
use crate::llvm_passes;

/// The attribute of a loop function with such loops: how many there are.
pub(crate) const INTERCHANGED: &str = "schism-interchanged";

/// Neither limits nor steps are as large, so that no place wraps.
const LARGE: u64 = 1 << 62;

/// Interchanges the loops of a function that is cut afterwards. Returns the branches that choose
/// between a loop and what was made of it.
pub(super) fn run(function: Value<'_>) -> Vec<Value<'_>> {
    let (mut seen, mut branches) = (HashSet::new(), Vec::new());
    let cfg = Cfg::of(function);
    let begins_at_id = |of: &Loop| {
        let first = Head::of(&cfg, of).map(|head| head.first);
        first.is_some_and(|first| {
            first.opcode() == Some(Opcode::Phi)
                && first.incoming_edges().into_iter().any(|(value, _)| value.is_argument())
        })
    };
    if !cfg.loops().iter().any(begins_at_id) {
        return branches;
    }
    // Each loop that is changed changes the blocks.
    while let Ok(body) = Body::find(function) {
        let Some(barrier) = body.barrier.iter().flatten().copied().find(is_barrier) else { break };
        let &[axis] = &body.axes[..] else { break };
        let (varying, cfg) = (Varying::of(&body), Cfg::of(function));
        let mut loops = cfg.loops().into_iter();
        let found = loops.find_map(|of| {
            let header = cfg.blocks[of.header];
            let walk = seen.insert(header).then(|| Walk::find(&body, &varying, &cfg, &of, axis));
            walk.flatten()
        });
        let Some(walk) = found else { break };
        branches.push(walk.interchange(barrier));
    }
    if !branches.is_empty() {
        function.add_string_attribute(INTERCHANGED, &branches.len().to_string());
    }
    branches
}

/// Lets loops stay as they were, and removes what was made of them.
///
/// # Errors
/// LLVM's message, if its pass fails.
pub(super) fn undo(function: Value<'_>, branches: &[Value<'_>]) -> Result<(), String> {
    let Some(first) = branches.first() else { return Ok(()) };
    let no = first.condition().ty().const_int(0, false);
    branches.iter().for_each(|branch| branch.set_operand(0, no));
    function.remove_string_attribute(INTERCHANGED);
    function.run_passes(llvm_passes::SIMPLIFY_CFG)
}

fn is_barrier(call: &Value<'_>) -> bool {
    call.direct_callee().is_some_and(|callee| callee.name() == BARRIER)
}

/// The head of a loop that counts a place up to a limit, and does nothing else.
struct Head<'m> {
    place: Value<'m>,
    /// The place in the next iteration.
    after: Value<'m>,
    /// The place in the first iteration.
    first: Value<'m>,
    limit: Value<'m>,
    stride: Value<'m>,
}

impl<'m> Head<'m> {
    fn of(cfg: &Cfg<'m>, of: &Loop) -> Option<Self> {
        let &[place, comparison, end] = &cfg.blocks[of.header].instructions()[..] else {
            return None;
        };
        let goes_on = |at: u32| of.blocks.contains(&cfg.index[&end.successor(at)]);
        let counts = place.opcode() == Some(Opcode::Phi)
            && end.is_conditional()
            && end.condition() == comparison
            && goes_on(0)
            && !goes_on(1);
        let limit = counts.then(|| upper_bound(comparison, place)).flatten()?;
        let first = place.incoming(cfg.blocks[of.preheader])?;
        let after = place.incoming(cfg.blocks[of.latch])?;
        let stride = step(after, place)?;
        Some(Self { place, after, first, limit, stride })
    }
}

/// A loop in which each work-item begins at its id, and continues by the same step.
struct Walk<'m> {
    axis: Axis<'m>,
    preheader: Block<'m>,
    header: Block<'m>,
    latch: Block<'m>,
    blocks: Vec<Block<'m>>,
    /// Where the loop ends, behind the header.
    exit: Block<'m>,
    place: Value<'m>,
    limit: Value<'m>,
    stride: Value<'m>,
    checks: Vec<Check<'m>>,
}

/// A panic unless `place` is below a length, or if the next place wraps.
struct Check<'m> {
    block: Block<'m>,
    length: Option<Value<'m>>,
    /// Where a work-item continues.
    inside: Block<'m>,
}

impl<'m> Check<'m> {
    /// The check at the end of a block.
    fn find(block: Block<'m>, place: Value<'m>, after: Value<'m>) -> Option<Self> {
        let end = block.end();
        let condition = end.is_conditional().then(|| end.condition())?;
        match upper_bound(condition, place) {
            Some(length) => Some(Self { block, length: Some(length), inside: end.successor(0) }),
            None if upper_bound(condition, after) == Some(place) => {
                Some(Self { block, length: None, inside: end.successor(1) })
            }
            None => None,
        }
    }
}

impl<'m> Walk<'m> {
    fn find(
        body: &Body<'m>,
        varying: &Varying<'m>,
        cfg: &Cfg<'m>,
        of: &Loop,
        axis: Axis<'m>,
    ) -> Option<Self> {
        let block = |number: usize| cfg.blocks[number];
        let (header, preheader, latch) = (block(of.header), block(of.preheader), block(of.latch));
        let blocks: Vec<Block<'m>> = of.blocks.iter().map(|&number| block(number)).collect();
        let numbers: Option<Vec<usize>> =
            blocks.iter().map(|block| body.index.get(block).copied()).collect();
        let numbers = numbers?;
        if numbers.iter().any(|&number| body.barrier[number].is_some())
            || !varying.come_together(body, *body.index.get(&preheader)?)
        {
            return None;
        }
        let Head { place, after, first, limit, stride } = Head::of(cfg, of)?;
        let exit = header.end().successor(1);
        let is_common = |value: Value<'m>| !varying.has(value);
        if first != axis.id || !is_common(limit) || !is_common(stride) {
            return None;
        }
        let mut checks = Vec::new();
        for (&block, &number) in blocks.iter().zip(&numbers) {
            if block == header || block.successors().iter().all(|next| blocks.contains(next)) {
                continue;
            }
            let check = Check::find(block, place, after)?;
            let fails = usize::from(check.inside == block.end().successor(0));
            if body.leads_to_end(number, fails)
                || !check.length.is_none_or(is_common)
                || !blocks.contains(&check.inside)
            {
                return None;
            }
            checks.push(check);
        }
        let all = || blocks.iter().flat_map(|block| block.instructions());
        // The copies lead to no panic, so what a message shows does not come from them.
        let is_here = |block: Block<'m>| {
            blocks.contains(&block) || body.index.get(&block).is_some_and(|&at| !body.lives[at])
        };
        let stays = |one: Value<'m>| one.users().into_iter().all(|it| is_here(it.block()));
        if !all().all(|one| has_no_order(one, of.innermost) && is_cloneable(one) && stays(one)) {
            return None;
        }
        let touches = |one: Value<'m>| {
            matches!(one.opcode(), Some(Opcode::Load | Opcode::Store | Opcode::AtomicRMW))
        };
        let walk = Self {
            axis,
            preheader,
            header,
            latch,
            exit,
            place,
            limit,
            stride,
            checks,
            blocks: blocks.clone(),
        };
        all().any(touches).then_some(walk)
    }

    /// Makes the loop of steps, and lets the preheader choose. Returns its branch.
    fn interchange(&self, barrier: Value<'m>) -> Value<'m> {
        let function = self.header.function();
        let ty = self.place.ty();
        let cloned = clone_blocks(&self.blocks);
        let step = cloned.block(self.header);
        let block = |name: &str| function.append_block(&format!("strides.{name}"));
        let (begin, head, next) = (block("begin"), block("head"), block("next"));
        let meet = |builder: &Builder<'m>| {
            builder.call(barrier.called_type(), barrier.called_value(), &[barrier.operand(0)]);
        };

        let builder = Builder::at_end(begin);
        meet(&builder);
        builder.br(head);

        let builder = Builder::at_end(head);
        let first = builder.phi(ty).with_name("first");
        let more = builder.icmp(IntPredicate::ULT, first, self.limit);
        builder.cond_br(more, step, self.exit);
        for phi in self.exit.phis() {
            if let Some(value) = phi.incoming(self.header) {
                phi.add_incoming(value, head);
            }
        }

        let builder = Builder::at_end(next);
        meet(&builder);
        let after = builder.add(first, self.stride);
        builder.br(head);
        first.add_incoming(self.axis.begin, begin);
        first.add_incoming(after, next);

        // The place is not what the step before has left.
        let old = cloned.value(self.place);
        let builder = Builder::before(old.next().unwrap_or(old));
        let local = builder.sub(self.axis.id, self.axis.begin);
        let place = builder.add(first, local);
        old.replace_uses(place);
        old.erase();
        for check in &self.checks {
            let end = cloned.block(check.block).end();
            Builder::before(end).br(cloned.block(check.inside));
            end.erase();
        }
        step.end().set_successor(1, next);
        let back = cloned.block(self.latch).end();
        for at in (0..back.num_successors()).filter(|&at| back.successor(at) == step) {
            back.set_successor(at, next);
        }
        back.remove_metadata(function.context().metadata_kind("llvm.loop"));
        self.choose(begin)
    }

    /// Lets the preheader go on at the loop of steps, unless a check may fail in it or a place may
    /// wrap.
    fn choose(&self, steps: Block<'m>) -> Value<'m> {
        let end = self.preheader.end();
        let builder = Builder::before(end);
        let large = self.limit.ty().const_int(LARGE, false);
        let mut is_limited = builder.icmp(IntPredicate::ULT, self.limit, large);
        let small = builder.icmp(IntPredicate::ULT, self.stride, large);
        is_limited = builder.and(is_limited, small);
        for length in self.checks.iter().filter_map(|check| check.length) {
            let fits = builder.icmp(IntPredicate::ULE, self.limit, length);
            is_limited = builder.and(is_limited, fits);
        }
        let branch = builder.cond_br(is_limited.with_name("is.limited"), steps, self.header);
        end.erase();
        branch
    }
}

/// What a value is below, if a comparison says so.
fn upper_bound<'m>(comparison: Value<'m>, value: Value<'m>) -> Option<Value<'m>> {
    let is_bound = comparison.opcode() == Some(Opcode::ICmp)
        && comparison.icmp_predicate() == IntPredicate::ULT
        && comparison.operand(0) == value;
    is_bound.then(|| comparison.operand(1))
}

/// What is added to a value.
fn step<'m>(after: Value<'m>, value: Value<'m>) -> Option<Value<'m>> {
    if after.opcode() != Some(Opcode::Add) {
        return None;
    }
    match [after.operand(0), after.operand(1)] {
        [of, step] | [step, of] if of == value => Some(step),
        _ => None,
    }
}

/// Whether the order in which work-items execute an instruction is not observable. In a loop inside, a
/// work-item may wait for what it loads.
fn has_no_order(one: Value<'_>, is_innermost: bool) -> bool {
    match one.opcode() {
        Some(Opcode::Load) if !is_innermost => one.is_simple(),
        Some(Opcode::Load | Opcode::Store) => {
            let order = one.ordering();
            !one.is_volatile()
                && matches!(order, AtomicOrdering::NotAtomic | AtomicOrdering::Monotonic)
        }
        Some(Opcode::AtomicRMW) => {
            !one.is_volatile()
                && one.ordering() == AtomicOrdering::Monotonic
                && one.users().is_empty()
        }
        Some(Opcode::AtomicCmpXchg | Opcode::Fence) => false,
        Some(Opcode::Call) => one.direct_callee().is_some_and(|callee| callee.is_intrinsic()),
        _ => one.ty().kind() != TypeKind::Token,
    }
}
