//! Vectorises across work-items: each lane of a vector is one work-item.
//!
//! The loop over work-items, marked by `schism.work_item_loop`, with any control flow in it:
//! ```llvm
//! item:
//!   %x = phi i64 [ %begin, %start ], [ %x.after, %next ]
//!   %p = getelementptr float, ptr %in, i64 %x
//!   %v = load float, ptr %p
//!   br label %inner
//! inner:                                         ; each work-item has its own number of iterations
//!   %a = phi float [ %v, %item ], [ %b, %inner ]
//!   %n = phi i64 [ 0, %item ], [ %m, %inner ]
//!   %b = fmul float %a, %a
//!   %m = add i64 %n, 1
//!   %more = fcmp olt float %b, 4.0
//!   br i1 %more, label %inner, label %next
//! next:
//!   %q = getelementptr i64, ptr %out, i64 %x
//!   store i64 %n, ptr %q
//!   %x.after = add i64 %x, 1
//!   %done = icmp eq i64 %x.after, %end
//!   br i1 %done, label %exit, label %item, !llvm.loop !0   ; !0 has !{!"schism.work_item_loop"}
//! ```
//! becomes a loop over vectors before it, which leaves the last work-items to the old one:
//! ```llvm
//! vector.loop:
//!   %vector.item = phi i64 [ %begin, %vector.begin ], [ %vector.next, %vector.latch ]
//!   %0 = getelementptr float, ptr %in, i64 %vector.item
//!   %1 = load <8 x float>, ptr %0
//!   br label %vector.inner
//! vector.inner:
//!   %a1 = phi <8 x float> [ %1, %vector.loop ], [ %b3, %vector.inner ]
//!   %n2 = phi i64 [ 0, %vector.loop ], [ %m4, %vector.inner ]
//!   %vector.live = phi <8 x i1> [ splat (i1 true), %vector.loop ], [ %8, %vector.inner ]
//!   %2 = phi <8 x i64> [ poison, %vector.loop ], [ %7, %vector.inner ]
//!   %b3 = fmul <8 x float> %a1, %a1
//!   %more = fcmp olt <8 x float> %b3, splat (float 4.0)
//!   %4 = xor <8 x i1> %more, splat (i1 true)
//!   %5 = select <8 x i1> %vector.live, <8 x i1> %4, <8 x i1> zeroinitializer
//!   %7 = select <8 x i1> %5, <8 x i64> %6, <8 x i64> %2   ; %6 is %n2 in each lane
//!   %8 = select <8 x i1> %vector.live, <8 x i1> %more, <8 x i1> zeroinitializer
//!   br i1 %9, label %vector.inner, label %vector.after    ; %9: is any lane of %8 on?
//! ```
//!
//! **How.** `region` finds the loops inside and orders their parts. `shapes` finds what is the
//! same for all lanes, and what differs by a known step: that stays scalar, and accesses at such
//! addresses are of whole vectors. Branches on what is uniform stay branches. Other control flow is
//! made straight by `masks` in `emit`, as described by Karrenberg and Hack (whole-function
//! vectorisation) and by Moll and Hack (partial control-flow linearisation). `private` gives
//! lanes their own locals. `plan` says what is refused, `cost` what does not pay.
//!
//! Before, `split_range` divides loops where a condition on the work-item's number changes: what
//! only the first work-items of a group do needs no masks. `expand_copies` makes copies of parts of private
//! arrays element by element. `single_item` takes the one out of a loop of
//! which a part of a condition asks whether it is that one, as at the borders of an image. `split_clamps` is a
//! separate pass, before checks are taken out of loops. `tables` fills before a loop what all work-items
//! would fill with the same.
//!
//! **What it relies on.** Work-items do not race, so the order of their accesses does not count.
//! The loop's form: one latch, a counter in steps of one, no other value that goes from one
//! work-item to the next.
//!
//! **Loops of work-items.** A work-item may have a loop whose iterations are independent: one of
//! a parallel iterator's pieces, marked by `schism.independent_iterations`. Then that loop is
//! vectorised in the same way, its iterations for work-items, and the loop around it is not.
//!
//! **GPUs** run work-items side by side by themselves. There, the lanes are those of a group that has one item of
//! a pipeline, and share out its loops: `spread_rows`.
//!
//! **Floating-point numbers.** A lane computes what the scalar loop computes, operation for
//! operation, so its results have the same bits.
//!
//! **Panics.** An edge that leaves the work-item loop is tested for any lane. If one takes it, the
//! scalar loop takes over at the vector's first work-item: it repeats what the vector computed and
//! panics as it would have, at the first work-item that does, when those before it have stored and
//! none behind it has. So nothing may be stored before such an edge; a loop where it is is refused.
//!
//! **Lanes that are off** may compute garbage, but they neither trap nor access memory. What runs
//! for fewer lanes than all loses the promises (`nuw`, `inbounds`, …) that held where it stood.

mod apart;
mod cost;
mod emit;
mod expand_copies;
mod explain;
mod extents;
mod independent;
mod intrinsics;
mod latency;
mod masks;
mod plan;
mod private;
mod reductions;
mod refusal;
mod region;
mod shape;
mod shapes;
mod share_out;
mod single_item;
pub(crate) mod split_clamps;
mod split_range;
mod spread_rows;
mod tables;
mod team;

use inkwell::module::Module;
use schism_llvm::{
    AsModule, Block, Builder, FUNCTION_INDEX, IntPredicate, IntoValue, Opcode, TypeKind, Value,
};

use crate::cpu::split_at_barriers::GROUP_SIZE;
use crate::ir::cfg::Cfg;
use crate::ir::metadata;
use crate::llvm_passes;
use crate::spec::target::AddressSpaces;
use cost::Width;
use plan::Plan;
use refusal::Refusal;

pub use crate::spec::lanes::Lanes;
pub use region::MARK;

/// Runs the pass over the module, and says what became of each loop over work-items.
///
/// # Errors
/// LLVM's message, if its passes fail.
pub fn run(module: &Module<'_>, lanes: Option<&Lanes>) -> Result<Vec<String>, String> {
    if let Some(spaces) = AddressSpaces::of_triple(&module.handle().triple()) {
        return spread_rows::run(module.handle(), spaces);
    }
    expand_copies::run(module);
    let Some(lanes) = lanes else { return Ok(Vec::new()) };
    let mut remarks = Vec::new();
    for function in module.get_functions().map(IntoValue::value) {
        let loops = latches_of(function).len();
        if let Some(barriers) = explain::barriers(function, loops) {
            remarks.push(format!("{}: {barriers}", function.name()));
        }
        if loops == 0 {
            continue;
        }
        let is_known = is_of_known_groups(function);
        let has_iterations = prepare(function)?;
        let (all, vectorised) = vectorise(function, lanes, is_known)?;
        remarks.extend(all);
        if !has_iterations && !is_known && vectorised == 0 {
            remarks.extend(inside(function, lanes)?);
        }
        for latch in latches_with(function, MARK).into_iter().filter(|_| is_known) {
            metadata::forget_unroll(latch.end());
        }
    }
    Ok(remarks)
}

/// Whether a function runs groups of a size that is known.
fn is_of_known_groups(function: Value<'_>) -> bool {
    function.string_attribute(FUNCTION_INDEX, GROUP_SIZE).is_some()
}

/// Brings the loops of a function to the form in which they are vectorised. Returns whether there are loops of
/// independent iterations among them.
fn prepare(function: Value<'_>) -> Result<bool, String> {
    // A loop that is unrolled is none any more.
    for latch in latches_with(function, metadata::INDEPENDENT_ITERATIONS) {
        metadata::set_unroll(&[latch.end()], metadata::UNROLL_DISABLE, None);
    }
    // Rows of a group of a known size are not unrolled before there are vectors.
    let is_known = is_of_known_groups(function);
    for latch in latches_with(function, MARK).into_iter().filter(|_| is_known) {
        metadata::set_unroll(&[latch.end()], metadata::UNROLL_DISABLE, None);
    }
    keep_copies(function);
    function.run_passes(llvm_passes::BEFORE_VECTORIZE)?;
    let has_iterations = !latches_with(function, metadata::INDEPENDENT_ITERATIONS).is_empty();
    if has_iterations {
        function.run_passes(llvm_passes::BEFORE_VECTORIZE_ITERATIONS)?;
    }
    forget_parts(function);
    latches_of(function).into_iter().for_each(count_at_latch);
    if tables::run(function, &latches_of(function)) {
        function.run_passes(llvm_passes::LOADS_OF_TABLES)?;
    }
    Ok(has_iterations)
}

/// Vectorises the loops of a function that are to be. Returns what is said of them, and how many are
/// vectorised.
fn vectorise(
    function: Value<'_>,
    lanes: &Lanes,
    is_known: bool,
) -> Result<(Vec<String>, usize), String> {
    let count_on = |function| latches_of(function).into_iter().for_each(count_by_next);
    count_on(function);
    split_ranges(function)?;
    count_on(function);
    let (mut remarks, mut vectorised) = (Vec::new(), 0);
    // What is made for one loop leaves the blocks of the others as they are.
    for latch in latches_of(function) {
        let name = function.name();
        match plan_of(function, latch, lanes) {
            Ok((plan, width)) => {
                remarks.push(format!("{name}: vectorised: {} lanes", plan.lanes));
                let details = explain::of(&plan, &width).into_iter();
                remarks.extend(details.map(|line| format!("{name}:   {line}")));
                emit::apply(&plan);
                vectorised += 1;
            }
            Err(refusal) => remarks.push(format!("{name}: {refusal}")),
        }
        // What is left of a loop may be unrolled.
        if is_known || metadata::has(latch.end(), metadata::INDEPENDENT_ITERATIONS) {
            metadata::forget_unroll(latch.end());
        }
    }
    Ok((remarks, vectorised))
}

/// Vectorises loops inside of work-items that are not marked, where work-items stay one after
/// the other.
fn inside(function: Value<'_>, lanes: &Lanes) -> Result<Vec<String>, String> {
    if !independent::run(function) {
        return Ok(Vec::new());
    }
    function.run_passes(llvm_passes::BEFORE_VECTORIZE)?;
    function.run_passes(llvm_passes::BEFORE_VECTORIZE_ITERATIONS)?;
    let (remarks, vectorised) = vectorise(function, lanes, false)?;
    independent::settle(function, vectorised > 0)?;
    Ok(if vectorised > 0 { remarks } else { Vec::new() })
}

/// Forgets marks of loops around the parts of a loop ([`apart`]): where LLVM gives one its own latch, it
/// copies what the latch of a loop inside is told.
fn forget_parts(function: Value<'_>) {
    for latch in latches_with(function, MARK) {
        let is_around = |next: &Block<'_>| next.phis().len() > 1;
        if !latch.end().is_conditional() && latch.successors().iter().all(is_around) {
            metadata::forget(latch.end(), MARK);
        }
    }
}

/// Computes the next work-item's number behind the loops inside, if LLVM has found it in one of them, whose
/// value it is then.
fn count_at_latch(latch: Block<'_>) {
    let is_own = |next: Value<'_>, item: Value<'_>| {
        next.opcode() == Some(Opcode::Add)
            && next.operand(0) == item
            && next.operand(1).as_unsigned() == Some(1)
    };
    for item in latch.successors().into_iter().flat_map(Block::phis) {
        let Some(next) = item.incoming(latch) else { continue };
        let mut inside = next;
        while inside.opcode() == Some(Opcode::Phi) && inside.num_incoming() == 1 {
            inside = inside.incoming_value(0);
        }
        if inside != next && is_own(inside, item) {
            let builder = Builder::before(next.block().first_non_phi());
            let new = builder.add(item, item.ty().const_int(1, false));
            next.replace_uses(new);
            next.erase();
        }
    }
}

/// Lets a loop end when the next work-item's number is the one behind the last: LLVM compares the
/// number of the last one.
fn count_by_next(latch: Block<'_>) {
    use IntPredicate::*;
    let end = latch.end();
    let is_comparison = end.is_conditional() && end.condition().opcode() == Some(Opcode::ICmp);
    if !is_comparison {
        return;
    }
    let comparison = end.condition();
    let (item, last) = (comparison.operand(0), comparison.operand(1));
    // A counter of another width is none that is vectorised.
    if last.ty().kind() != TypeKind::Integer || last.ty().int_width() != 64 {
        return;
    }
    if item.opcode() != Some(Opcode::Phi) || !latch.successors().contains(&item.block()) {
        return;
    }
    let Some(next) = item.incoming(latch) else { return };
    let steps = next.opcode() == Some(Opcode::Add)
        && next.operand(0) == item
        && next.operand(1).as_unsigned() == Some(1);
    if !steps {
        return;
    }
    let one = last.ty().const_int(1, false);
    let behind = match last.as_unsigned() {
        Some(last_item) => {
            // LLVM drops the flag where it moves a `freeze`. A counter that begins before the last
            // number stops there.
            let begins = item.incoming_edges().into_iter().filter(|(_, from)| *from != latch);
            let begins_before = begins
                .map(|(begin, _)| begin.as_unsigned())
                .all(|begin| begin.is_some_and(|begin| begin <= last_item));
            let orders = matches!(comparison.icmp_predicate(), ULT | ULE | UGT | UGE | EQ | NE);
            let is_fine = next.is_nuw() || (begins_before && continues_before(end, comparison));
            if !orders || !is_fine || last_item >= i64::MAX as u64 {
                return;
            }
            Builder::before(end).add(last, one)
        }
        // Both are equal, and so are both and one, whether or not that wraps.
        None => {
            let mut before = item.incoming_edges().into_iter().filter(|(_, from)| *from != latch);
            let (Some((_, before)), None) = (before.next(), before.next()) else { return };
            let cfg = Cfg::of(latch.function());
            let is_there =
                !last.is_instruction() || cfg.dominates(cfg.block_of(last), cfg.index[&before]);
            if !is_there || !matches!(comparison.icmp_predicate(), EQ | NE) {
                return;
            }
            Builder::before(before.end()).add(last, one)
        }
    };
    let new = Builder::before(end).icmp(comparison.icmp_predicate(), next, behind);
    end.set_operand(0, new);
}

/// Keeps copies of loops that have checks and stores from being unrolled: a loop around one can be
/// vectorised without it, as long as it is a loop.
fn keep_copies(function: Value<'_>) {
    if latches_with(function, metadata::CHECKED).is_empty() {
        return;
    }
    let cfg = Cfg::of(function);
    for one in cfg.natural_loops() {
        let ends = one.latches.iter().map(|&latch| cfg.blocks[latch].end());
        let copies: Vec<_> = ends.filter(|&end| metadata::has(end, metadata::CHECKED)).collect();
        let mut all = cfg.instructions(&one.blocks);
        if !copies.is_empty() && all.any(|it| it.opcode() == Some(Opcode::Store)) {
            metadata::set_unroll(&copies, metadata::UNROLL_DISABLE, None);
        }
    }
}

/// Whether a loop ends at the latest where its counter has the number that it is compared with.
fn continues_before(end: Value<'_>, comparison: Value<'_>) -> bool {
    use IntPredicate::*;
    let header = comparison.operand(0).block();
    let continues_if = end.successor(0) == header;
    matches!((comparison.icmp_predicate(), continues_if), (ULT | NE, true) | (UGE | EQ, false))
}

/// Divides loops where conditions on the work-item's number change, as long as there are such.
fn split_ranges(function: Value<'_>) -> Result<(), String> {
    const ROUNDS: usize = 3;
    for _ in 0..ROUNDS {
        let mut any = false;
        for latch in latches_of(function) {
            count_by_next(latch);
            any |= split_range::run(function, latch);
        }
        if !any {
            break;
        }
        function.run_passes(llvm_passes::AFTER_SPLIT_RANGE)?;
        forget_parts(function);
    }
    Ok(())
}

/// A plan with its number of lanes.
fn plan_of<'m>(
    function: Value<'m>,
    latch: Block<'m>,
    lanes: &Lanes,
) -> Result<(Plan<'m>, Width), Refusal> {
    let mut plan = Plan::of(function, latch)?;
    let width = cost::choose(&plan, lanes)?;
    plan.lanes = width.lanes;
    plan.least = cost::least(&plan, lanes);
    Ok((plan, width))
}

/// The latches of a function's loops that are to be vectorised: over independent iterations, or
/// else over work-items.
fn latches_of(function: Value<'_>) -> Vec<Block<'_>> {
    let iterations = latches_with(function, metadata::INDEPENDENT_ITERATIONS);
    if iterations.is_empty() { latches_with(function, MARK) } else { iterations }
}

/// The latches of loops with a property.
fn latches_with<'m>(function: Value<'m>, property: &str) -> Vec<Block<'m>> {
    let marked = |block: &Block<'_>| {
        block.terminator().is_some_and(|end| end.is_branch() && metadata::has(end, property))
    };
    function.blocks().into_iter().filter(marked).collect()
}
