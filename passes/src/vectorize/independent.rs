//! Finds loops of a work-item whose iterations are independent, though they are not marked.
//!
//! A work-item that has a row of an image goes through its pixels:
//! ```llvm
//! loop:
//!   %to = phi ptr [ %row, %before ], [ %to.next, %latch ]
//!   %column = phi i64 [ 0, %before ], [ %column.next, %latch ]
//!   %width = load i64, ptr %picture
//!   …                                              ; loops and branches
//! latch:
//!   store i32 %count, ptr %to
//!   %to.next = getelementptr i8, ptr %to, i64 4
//!   %column.next = add i64 %column, 1
//!   %is.last = icmp eq ptr %to.next, %row.end
//!   br i1 %is.last, label %after, label %loop
//! ```
//! Each iteration stores to its own memory, and nothing goes from one to the next but what
//! counts. What is not known is whether the picture's description lies in the row. So the loop is
//! cloned, and a comparison of addresses before it decides which one runs:
//! ```llvm
//! before:
//!   …                                              ; %count is (%row.end - %row) / 4
//!   %apart = …                                     ; %picture is not between %row and %row.end
//!   br i1 %apart, label %loop, label %ordered.loop
//! loop:
//!   %iteration = phi i64 [ 0, %before ], [ %iteration.next, %latch ]
//!   %0 = mul i64 %iteration, 4
//!   %to = getelementptr i8, ptr %row, i64 %0
//!   …
//! latch:
//!   …
//!   %goes.on = icmp ne i64 %iteration.next, %count
//!   br i1 %goes.on, label %loop, label %after, !llvm.loop !0  ; !0 has !{!"schism.independent_iterations"}
//! ordered.loop:                                    ; the loop as it was
//! ```
//! From there on it is like a loop that is marked.
//!
//! **Which loops.** Those with a loop inside or with checks, in which LLVM's own vectoriser sees
//! nothing. All that they access is of the same address in all iterations, or of addresses a known
//! step apart; of these, what is stored lies within one step. What is loaded may lie anywhere in a
//! slice, if its index is checked. Addresses and lengths that the loop loads must be there before it:
//! such loads run before the loop, too, where each first iteration runs them.
//!
//! Of [`shareable`] loops, whose iterations the lanes of a group take, LLVM's vectoriser sees none. They may
//! also reduce ([`Reduction`]), and load what loops inside count through ([`Extent`]).

use std::collections::{BTreeSet, HashMap, HashSet};

use schism_llvm::{Block, Builder, IntPredicate, ModuleRef, Opcode, Value};

use super::extents::{self, Extent};
use super::intrinsics::{self, Form};
use super::reductions::Reduction;
use super::{MARK, plan};
use crate::analysis::effects::is_pure;
use crate::analysis::scev::{self, AddRec, Emit, Expr, Step, Values};
use crate::analysis::trip_count::{TripCount, exit, is_closed, trip_count};
use crate::bounds::conditions::{Conditions, conjuncts};
use crate::ir::cfg::{Cfg, Loop};
use crate::ir::{clone, metadata};
use crate::llvm_passes;

/// How many instructions a loop may have to be cloned.
const LOOP: usize = 800;

/// How many a function may grow by.
const GROWTH: usize = 2_400;

/// How many things may have to be apart.
const MOST: usize = 12;

/// The longest step of addresses, in bytes.
const LONGEST: u64 = 1 << 20;

/// A loop that is cloned.
pub(super) struct Found<'m> {
    pub(super) of: Loop,
    size: usize,
    trip_count: TripCount<'m>,
    /// The header's phis that count, and what they are; those that are reduced.
    phis: Vec<(Value<'m>, AddRec<'m>)>,
    pub(super) reductions: Vec<Reduction<'m>>,
    /// What is computed before the loop, too.
    front: Vec<Value<'m>>,
    accesses: Accesses<'m>,
}

impl Found<'_> {
    /// Whether it stores something.
    pub(super) fn has_stores(&self) -> bool {
        !self.accesses.own.is_empty()
    }
}

/// What is asked of a loop.
struct Wanted<'a> {
    /// The address spaces that it may access, whose addresses are those of one memory.
    spaces: &'a [u32],
    /// The function's loops, if iterations may be joined by reductions, and what loops inside of them access
    /// counts by itself.
    loops: Option<&'a [Loop]>,
}

/// What a loop accesses.
#[derive(Default)]
struct Accesses<'m> {
    /// What each iteration stores and loads for itself.
    own: Vec<Range<'m>>,
    /// What all load.
    common: Vec<Range<'m>>,
}

/// Bytes that an iteration accesses, from an address on.
#[derive(Clone)]
struct Range<'m> {
    address: Expr<'m>,
    /// How far the next iteration's address is.
    step: Step<'m>,
    /// How far it goes in loops inside.
    inner: Vec<Extent<'m>>,
    /// The first byte, and the one behind the last.
    from: i64,
    to: i64,
    /// So many elements of so many bytes are in a slice that begins there, anywhere in which it is.
    slice: Option<(Expr<'m>, u64)>,
}

/// Clones such loops inside of the loops over work-items of a function, which has the form that
/// `loop-simplify` and `lcssa` make. Returns whether there are any; then [`settle`] is to follow.
pub(super) fn run(function: Value<'_>) -> bool {
    let cfg = Cfg::of(function);
    let loops = cfg.loops();
    let has_mark = |one: &&Loop| metadata::has(cfg.blocks[one.latch].end(), MARK);
    let marked: Vec<&BTreeSet<usize>> =
        loops.iter().filter(has_mark).map(|one| &one.blocks).collect();
    let locals = uses_of_locals(function);
    let wanted = Wanted { spaces: &[0], loops: None };
    let (mut growth, mut all) = (0, Vec::<Found<'_>>::new());
    // The outer ones first.
    for one in loops.iter().rev() {
        let is_inside = marked
            .iter()
            .any(|outer| one.blocks.is_subset(outer) && one.blocks.len() < outer.len());
        let is_taken = all.iter().any(|found| one.blocks.is_subset(&found.of.blocks));
        let end = cfg.blocks[one.latch].end();
        let is_copy = metadata::has(end, metadata::CHECKED);
        if !is_inside || is_taken || is_copy || (one.innermost && !has_checks(&cfg, one)) {
            continue;
        }
        let found = find(&cfg, one, &locals, &wanted).filter(|found| growth + found.size <= GROWTH);
        growth += found.as_ref().map_or(0, |found| found.size);
        all.extend(found);
    }
    all.iter().for_each(|found| apply(&cfg, found));
    !all.is_empty()
}

/// The loops of a function whose iterations can be shared out among the lanes of a group, the outer ones
/// first, none in another: each is left at its latch alone, and leaves nothing but memory and what it reduces.
/// Accesses are of the address spaces `spaces`.
pub(super) fn shareable<'m>(cfg: &Cfg<'m>, spaces: &[u32]) -> Vec<Found<'m>> {
    let function = cfg.blocks[0].function();
    let (locals, loops) = (uses_of_locals(function), cfg.loops());
    let wanted = Wanted { spaces, loops: Some(&loops) };
    let (mut growth, mut all) = (0, Vec::<Found<'_>>::new());
    for one in loops.iter().rev() {
        let is_taken = all.iter().any(|found| one.blocks.is_subset(&found.of.blocks));
        let is_copy = metadata::has(cfg.blocks[one.latch].end(), metadata::CHECKED);
        if is_taken || is_copy || has_checks(cfg, one) {
            continue;
        }
        // Lanes that join values in each iteration of a loop around wait more than they gain.
        let is_inside = loops.iter().any(|outer| {
            one.blocks.is_subset(&outer.blocks) && one.blocks.len() < outer.blocks.len()
        });
        let found = find(cfg, one, &locals, &wanted)
            .filter(|found| growth + found.size <= GROWTH && leaves_no_other(cfg, found))
            .filter(|found| found.reductions.is_empty() || !is_inside);
        growth += found.as_ref().map_or(0, |found| found.size);
        all.extend(found);
    }
    all
}

/// Whether no value that a loop computes is used outside of it, but what it reduces.
fn leaves_no_other(cfg: &Cfg<'_>, Found { of, reductions, .. }: &Found<'_>) -> bool {
    let is_inside = |user: Value<'_>| of.blocks.contains(&cfg.block_of(user));
    cfg.instructions(&of.blocks).all(|one| {
        one.users().into_iter().all(is_inside) || reductions.iter().any(|own| own.last == one)
    })
}

/// The function that a condition goes through until it is known whether the loop behind it is
/// vectorised.
const MARKER: &str = "schism.independent";

fn marker(module: ModuleRef<'_>) -> Value<'_> {
    let condition = module.context().int_type(1);
    module.declare_pure_builtin(MARKER, condition.function(&[condition], false))
}

/// Lets the conditions choose if a loop behind them was vectorised; otherwise the clones go again.
pub(super) fn settle(function: Value<'_>, is_vectorised: bool) -> Result<(), String> {
    let Some(marker) = function.module().function(MARKER) else { return Ok(()) };
    let no = function.module().context().int_type(1).zero();
    for call in marker.users().into_iter().filter(|call| call.parent_function() == function) {
        call.replace_with(if is_vectorised { call.operand(0) } else { no });
    }
    if !marker.is_used() {
        marker.delete_function();
    }
    if is_vectorised { Ok(()) } else { function.run_passes(llvm_passes::SIMPLIFY_CFG_AND_LOOPS) }
}

/// Whether a loop can be left from several blocks.
fn has_checks(cfg: &Cfg<'_>, of: &Loop) -> bool {
    let leaves =
        |block: &&usize| cfg.successors[**block].iter().any(|next| !of.blocks.contains(next));
    of.blocks.iter().filter(leaves).count() > 1
}

/// The instructions that access locals, or have their addresses.
fn uses_of_locals<'m>(function: Value<'m>) -> HashSet<Value<'m>> {
    let mut open = function.allocas();
    let mut seen = HashSet::new();
    while let Some(address) = open.pop() {
        for user in address.users() {
            let leads_on = matches!(
                user.opcode(),
                Some(
                    Opcode::GetElementPtr
                        | Opcode::Phi
                        | Opcode::Select
                        | Opcode::BitCast
                        | Opcode::AddrSpaceCast
                )
            );
            let is_marker = user.opcode() == Some(Opcode::Call)
                && user.callee().and_then(intrinsics::form) == Some(Form::Dropped);
            if !is_marker && seen.insert(user) && leads_on {
                open.push(user);
            }
        }
    }
    seen
}

/// Looks at a loop.
fn find<'m>(
    cfg: &Cfg<'m>,
    of: &Loop,
    locals: &HashSet<Value<'m>>,
    wanted: &Wanted<'_>,
) -> Option<Found<'m>> {
    let instructions: Vec<Value<'m>> = cfg.instructions(&of.blocks).collect();
    let fits = instructions.len() <= LOOP
        && instructions.iter().all(|&one| {
            clone::is_cloneable(one) && is_closed(cfg, of, one) && !locals.contains(&one)
        });
    if !fits {
        return None;
    }
    let mut values = Values::new(cfg, of);
    let trip_count = trip_count(cfg, of, &mut values, of.latch)?;
    if !trip_count.value.no_wrap.is_empty() {
        return None;
    }
    let (mut phis, mut reductions) = (Vec::new(), Vec::new());
    for phi in cfg.blocks[of.header].phis() {
        let reduction = wanted.loops.and_then(|_| Reduction::of(cfg, of, phi));
        // Where a counter is used after the loop, it is computed there.
        if let Some(reduction) = reduction.filter(|own| own.is_used_after(cfg, of)) {
            reductions.push(reduction);
            continue;
        }
        let value = values.add_rec(phi)?;
        let is_simple = match &value.step {
            Step::None => false,
            Step::Up(step) | Step::Down(step) => scev::known(step).is_some(),
        };
        if !is_simple || !value.no_wrap.is_empty() {
            return None;
        }
        phis.push((phi, value));
    }
    let front = front(cfg, of, &mut values);
    let accesses = accesses(cfg, of, &mut values, (&instructions, wanted))?;
    let size = instructions.len();
    let has_effect = !accesses.own.is_empty() || !reductions.is_empty();
    let of = of.clone();
    has_effect.then_some(Found { of, size, trip_count, phis, reductions, front, accesses })
}

/// The loads that may run before the loop, of addresses that are the same in all iterations, and
/// what is computed of them. From now on it is known as the same in all iterations: it is, unless
/// something that the loop has stored is loaded.
fn front<'m>(cfg: &Cfg<'m>, of: &Loop, values: &mut Values<'_, 'm>) -> Vec<Value<'m>> {
    let layout = cfg.blocks[of.header].function().module().data_layout();
    let first = always_executed(cfg, of);
    let others = of.blocks.iter().copied().filter(|block| !first.contains(block));
    let mut all: Vec<Value<'m>> = Vec::new();
    // How much there is behind an address, because something is loaded there.
    let mut known: HashMap<Value<'m>, u64> = HashMap::new();
    for block in first.iter().copied().chain(others) {
        for one in cfg.blocks[block].instructions() {
            let is_there =
                |operand: Value<'m>| values.is_outside(operand) || all.contains(&operand);
            let is_same = if one.opcode() == Some(Opcode::Load) {
                let (base, offset) = field(one.operand(0));
                let end = offset + plan::bytes(&layout, one.ty());
                let is_known = known.get(&base).is_some_and(|known| end <= *known);
                let is_plain = one.is_simple();
                let may = is_plain && is_there(one.operand(0));
                if may && first.contains(&block) {
                    let known = known.entry(base).or_default();
                    *known = end.max(*known);
                }
                may && (is_known || first.contains(&block))
            } else {
                is_pure(one) && one.operands().all(is_there)
            };
            if is_same {
                // What is known of it more is known from its operands.
                if values.add_rec(one).is_none() {
                    values.assume_fixed(one);
                }
                all.push(one);
            }
        }
    }
    all
}

/// The blocks that each first iteration runs, whatever happens in it.
fn always_executed(cfg: &Cfg<'_>, of: &Loop) -> Vec<usize> {
    let returns = |block: usize| {
        let mut all = cfg.blocks[block].instructions().into_iter();
        all.all(|one| one.opcode() != Some(Opcode::Call) || is_harmless(one))
    };
    let mut all = Vec::new();
    let mut block = of.header;
    // What is behind a call that might not return does not count.
    while returns(block) {
        all.push(block);
        match cfg.successors[block][..] {
            [next] if next != of.header && cfg.predecessors[next].len() == 1 => block = next,
            _ => break,
        }
    }
    all
}

/// An address as a distance from another one, in between which there is memory of the same object.
fn field(address: Value<'_>) -> (Value<'_>, u64) {
    let is_inside = address.opcode() == Some(Opcode::GetElementPtr) && address.is_inbounds();
    let field = address.element().filter(|_| is_inside).and_then(|(base, index, size)| {
        Some((base, index.as_unsigned()?.checked_mul(size).filter(|it| *it <= LONGEST)?))
    });
    field.unwrap_or((address, 0))
}

/// Whether a call returns, and does nothing else that counts.
fn is_harmless(call: Value<'_>) -> bool {
    call.callee().is_some_and(|callee| {
        call.bundle_tags().is_empty() && intrinsics::form(callee).is_some()
            || intrinsics::is_pure(call, callee)
    })
}

/// What a loop accesses, if its iterations are independent as soon as that is apart.
fn accesses<'m>(
    cfg: &Cfg<'m>,
    of: &Loop,
    values: &mut Values<'_, 'm>,
    (instructions, wanted): (&[Value<'m>], &Wanted<'_>),
) -> Option<Accesses<'m>> {
    let layout = instructions.first()?.parent_function().module().data_layout();
    let has_stores = instructions.iter().any(|one| one.opcode() == Some(Opcode::Store));
    let mut accesses = Accesses::default();
    let mut loaded = Vec::new();
    for &one in instructions {
        let Some((address, value)) = one.loaded_or_stored() else {
            match one.opcode()? {
                Opcode::Call if is_harmless(one) => continue,
                Opcode::Call
                | Opcode::AtomicRMW
                | Opcode::AtomicCmpXchg
                | Opcode::Fence
                | Opcode::Invoke
                | Opcode::VAArg => return None,
                _ => continue,
            }
        };
        let ty = value.ty();
        if !one.is_simple() || !wanted.spaces.contains(&address.ty().address_space()) {
            return None;
        }
        // What only loads has nothing to be apart from.
        if !has_stores {
            continue;
        }
        let is_store = one.opcode() == Some(Opcode::Store);
        let value = values.add_rec(address).map(|value| (value, Vec::new()));
        let value = value.or_else(|| {
            let loops = wanted.loops.filter(|_| !is_store)?;
            extents::of_access((cfg, loops), of, values, (one, address))
        });
        let Some((value, inner)) = value.filter(|(value, _)| value.no_wrap.is_empty()) else {
            if is_store {
                return None;
            }
            loaded.push(slice(cfg, of, values, one)?);
            continue;
        };
        let (address, from) = scev::without_constant(&value.base);
        let to = from.checked_add_unsigned(plan::bytes(&layout, ty))?;
        let range = Range { address, step: value.step, inner, from, to, slice: None };
        if is_store {
            add(&mut accesses.own, range)?;
        } else {
            loaded.push(range);
        }
    }
    for range in loaded {
        let is_own = |own: &Range<'m>| {
            let is_plain = range.slice.is_none() && range.inner.is_empty();
            is_plain && own.address == range.address && own.step == range.step
        };
        let is_own = accesses.own.iter().any(is_own);
        if is_own {
            add(&mut accesses.own, range)?;
        } else if accesses.own.iter().any(|own| own.address == range.address) {
            // They are not apart.
            return None;
        } else {
            add(&mut accesses.common, range)?;
        }
    }
    let has_steps = accesses.own.iter().all(|own| match &own.step {
        Step::Up(step) | Step::Down(step) => scev::known(step)
            .is_some_and(|step| step <= LONGEST && own.to.abs_diff(own.from) <= step),
        Step::None => false,
    });
    has_steps.then_some(accesses)
}

/// The slice that a load is of, whose index is checked before it.
fn slice<'m>(
    cfg: &Cfg<'m>,
    of: &Loop,
    values: &mut Values<'_, 'm>,
    load: Value<'m>,
) -> Option<Range<'m>> {
    let (first, index, size) = load.operand(0).element()?;
    let first = values.add_rec(first).filter(AddRec::is_fixed)?;
    let own = cfg.block_of(load);
    let mut lengths = of.blocks.iter().filter_map(|&block| {
        let end = cfg.blocks[block].end();
        let is_check = end.is_conditional() && end.successor(0) != end.successor(1);
        let inside = is_check.then(|| cfg.index[&end.successor(0)])?;
        // The edge and nothing else leads there.
        let is_before = cfg.predecessors[inside].len() == 1 && cfg.dominates(inside, own);
        if is_before { length(end.condition(), true, index) } else { None }
    });
    let length = lengths.find_map(|length| values.add_rec(length).filter(AddRec::is_fixed))?;
    let bytes = load.parent_function().module().data_layout().abi_size(load.ty());
    let (address, from) = scev::without_constant(&first.base);
    let is_whole = from == 0 && bytes == size && length.bits() == 64;
    is_whole.then_some(Range {
        address,
        step: Step::None,
        inner: Vec::new(),
        from,
        to: 0,
        slice: Some((length.base, size)),
    })
}

/// What an index is less than where a condition is `wanted`.
fn length<'m>(condition: Value<'m>, wanted: bool, index: Value<'m>) -> Option<Value<'m>> {
    if let Some(parts) = conjuncts(condition, wanted) {
        return parts.into_iter().find_map(|(part, wanted)| length(part, wanted, index));
    }
    if !wanted || condition.opcode() != Some(Opcode::ICmp) {
        return None;
    }
    let (a, b) = (condition.operand(0), condition.operand(1));
    match condition.icmp_predicate() {
        IntPredicate::ULT if a == index => Some(b),
        IntPredicate::UGT if b == index => Some(a),
        _ => None,
    }
}

/// Adds a range to others; `None` if there are too many.
fn add<'m>(all: &mut Vec<Range<'m>>, new: Range<'m>) -> Option<()> {
    let is_same = |old: &&mut Range<'m>| {
        let is_plain = old.inner.is_empty() && new.inner.is_empty();
        is_plain && old.address == new.address && old.step == new.step && old.slice == new.slice
    };
    let known = all.iter_mut().find(is_same);
    if let Some(old) = known {
        old.from = old.from.min(new.from);
        old.to = old.to.max(new.to);
    } else if all.len() == MOST {
        return None;
    } else {
        all.push(new);
    }
    Some(())
}

/// Clones a loop, and lets the condition choose.
fn apply<'m>(cfg: &Cfg<'m>, found: &Found<'m>) {
    let of = &found.of;
    let (preheader, header) = (cfg.blocks[of.preheader], cfg.blocks[of.header]);
    let end = preheader.end();
    let (apart, count) = precondition(cfg, found);
    let cloned = clone::clone_loop(cfg, of);
    let builder = Builder::before(end);
    let apart = builder.call_function(marker(header.function().module()), &[apart]);
    builder.cond_br(apart, header, cloned.block(header));
    end.erase();
    let [first, by] = [0, 1].map(|number| count.ty().const_int(number, false));
    let last = renumber(cfg, found, (preheader, first, by), |builder, next| {
        let stays = exit(cfg, of, of.latch).is_some_and(|(_, _, stays)| stays);
        let predicate = if stays { IntPredicate::NE } else { IntPredicate::EQ };
        builder.icmp(predicate, next, count)
    });
    metadata::add(&[last], metadata::INDEPENDENT_ITERATIONS);
}

/// Makes, before a loop, the condition under which its iterations are independent, and how many there are.
pub(super) fn precondition<'m>(cfg: &Cfg<'m>, found: &Found<'m>) -> (Value<'m>, Value<'m>) {
    let of = &found.of;
    let mut emit = Emit::before(cfg.blocks[of.preheader].end());
    let mut clones = HashMap::new();
    for &one in &found.front {
        let is_inside =
            |value: Value<'m>| value.is_instruction() && of.blocks.contains(&cfg.block_of(value));
        let clone = in_front(emit.builder(), &is_inside, one, &mut clones);
        emit.stands_for(clone, one);
    }
    condition(&mut emit, found)
}

/// Has a loop count by itself, from a number on by another one, and what counted with it be computed. The
/// loop is entered from a block, and ends as a condition on the next number says. Returns the latch's end.
pub(super) fn renumber<'m>(
    cfg: &Cfg<'m>,
    found: &Found<'m>,
    (entry, from, by): (Block<'m>, Value<'m>, Value<'m>),
    condition: impl FnOnce(&Builder<'m>, Value<'m>) -> Value<'m>,
) -> Value<'m> {
    let of = &found.of;
    let (header, latch) = (cfg.blocks[of.header], cfg.blocks[of.latch]);
    let preheader = cfg.blocks[of.preheader];
    let builder = Builder::before(header.begin());
    let iteration = builder.phi(from.ty()).with_name("iteration");
    let last = latch.end();
    builder.position_before(last);
    let next = builder.nuw_add(iteration, by).with_name("iteration.next");
    iteration.add_incoming(from, entry);
    iteration.add_incoming(next, latch);
    last.set_operand(0, condition(&builder, next));
    builder.position_before(header.first_non_phi());
    for (phi, value) in &found.phis {
        let start = phi.incoming(preheader).expect("a loop's phi has an edge from before");
        let new = nth(&builder, start, &value.step, iteration).with_name(&phi.name());
        phi.replace_with(new);
    }
    last
}

/// Clones what is computed before a loop, too, with what it is made of.
fn in_front<'m>(
    builder: &Builder<'m>,
    is_inside: &impl Fn(Value<'m>) -> bool,
    value: Value<'m>,
    clones: &mut HashMap<Value<'m>, Value<'m>>,
) -> Value<'m> {
    if let Some(&clone) = clones.get(&value) {
        return clone;
    }
    let clone = value.duplicate();
    // What is promised where it is needed need not hold here.
    for (kind, _) in clone.metadata_entries() {
        clone.remove_metadata(kind);
    }
    clone.drop_promises();
    for index in 0..value.num_operands() {
        let operand = value.operand(index);
        if is_inside(operand) {
            clone.set_operand(index, in_front(builder, is_inside, operand, clones));
        }
    }
    builder.insert(clone);
    clones.insert(value, clone);
    clone
}

/// What counts by `step` from `start` on, in an iteration.
fn nth<'m>(
    builder: &Builder<'m>,
    start: Value<'m>,
    step: &Step<'m>,
    iteration: Value<'m>,
) -> Value<'m> {
    let by = match step {
        Step::None => 0,
        Step::Up(step) => scev::known(step).unwrap_or_default() as i64,
        Step::Down(step) => (scev::known(step).unwrap_or_default() as i64).wrapping_neg(),
    };
    let is_pointer = scev::is_pointer(start);
    let number = if is_pointer { iteration.ty() } else { start.ty() };
    let iteration = builder.int_cast(iteration, number, false);
    let bits = u64::MAX >> (64 - number.int_width());
    let distance = builder.mul(iteration, number.const_int(by as u64 & bits, false));
    match is_pointer {
        true => builder.gep(start.context().int_type(8), start, &[distance]),
        false => builder.add(start, distance),
    }
}

/// The condition under which a loop's iterations are independent, and how many there are then.
fn condition<'m>(emit: &mut Emit<'m>, found: &Found<'m>) -> (Value<'m>, Value<'m>) {
    /// So many iterations are never executed, and fewer do not overflow.
    const ITERATIONS: u64 = 1 << 40;
    let mut conditions = Conditions { emit, all: None };
    let last = conditions.end(&found.trip_count);
    let limit = conditions.emit.number(64, ITERATIONS);
    conditions.compare(IntPredicate::ULT, last, limit);
    let Accesses { own, common } = &found.accesses;
    let bounds: Vec<[Value<'m>; 2]> =
        own.iter().chain(common).map(|range| conditions.bounds(range, last)).collect();
    for (at, [from, to]) in bounds.iter().enumerate().take(own.len()) {
        for [other_from, other_to] in &bounds[at + 1..] {
            let builder = conditions.emit.builder();
            let before = builder.icmp(IntPredicate::ULE, *to, *other_from);
            let behind = builder.icmp(IntPredicate::ULE, *other_to, *from);
            let apart = builder.or(before, behind);
            conditions.and(apart);
        }
    }
    let all = conditions.all.expect("there is a limit");
    let one = emit.number(64, 1);
    let count = emit.builder().add(last, one).with_name("iterations");
    (all, count)
}

impl<'m> Conditions<'_, 'm> {
    /// The first byte that iterations up to `last` access, and the one behind the last. Adds the
    /// conditions under which neither has wrapped.
    fn bounds(&mut self, range: &Range<'m>, last: Value<'m>) -> [Value<'m>; 2] {
        let value =
            AddRec { base: range.address.clone(), step: range.step.clone(), no_wrap: Vec::new() };
        let end = self.last(&value, last);
        let begin = self.emit.wide(&range.address);
        let (mut least, mut most) = match range.step {
            Step::Down(_) => (end, begin),
            _ => (begin, end),
        };
        for Extent { step, trip_count } in &range.inner {
            let (Step::Up(size) | Step::Down(size)) = step else { continue };
            let (last, size) = (self.end(trip_count), self.emit.wide(size));
            let distance = self.checked("llvm.umul.with.overflow", last, size);
            if matches!(step, Step::Up(_)) {
                most = self.checked("llvm.uadd.with.overflow", most, distance);
            } else {
                self.compare(IntPredicate::UGE, least, distance);
                least = self.emit.builder().sub(least, distance);
            }
        }
        // Distances from an address are short, and may be negative.
        if let Some((length, size)) = &range.slice {
            let [length, size] = [self.emit.value(length), self.emit.number(64, *size)];
            let bytes = self.checked("llvm.umul.with.overflow", length, size);
            return [begin, self.checked("llvm.uadd.with.overflow", begin, bytes)];
        }
        let offset = |this: &Self, address: Value<'m>, by: i64| {
            let by = this.emit.number(64, by as u64);
            this.emit.builder().add(address, by)
        };
        let (from, to) = (offset(self, least, range.from), offset(self, most, range.to));
        self.compare(IntPredicate::ULE, from, to);
        [from, to]
    }
}
