//! Looks at the checks of loaded indices when the loop has ended. For OpenCL's devices, whose
//! drivers compute several work-items in the lanes of vectors.
//!
//! Before, in the form that LLVM's `loop-simplify` and `lcssa` make, with `%columns` and `%x` slices
//! that the kernel is passed:
//! ```llvm
//! before:
//!   br label %loop
//! loop:
//!   %k = phi i64 [ 0, %before ], [ %k.next, %inside ]
//!   %sum = phi float [ 0.0, %before ], [ %sum.next, %inside ]
//!   %column.at = getelementptr i32, ptr %columns, i64 %k
//!   %column = load i32, ptr %column.at
//!   %index = zext i32 %column to i64
//!   %is.inside = icmp ult i64 %index, %x.len
//!   br i1 %is.inside, label %inside, label %panic
//! inside:
//!   %x.at = getelementptr float, ptr %x, i64 %index
//!   ...                                          ; the element at %x.at, to %sum.next
//!   %k.next = add i64 %k, 1
//!   %is.last = icmp eq i64 %k.next, %n
//!   br i1 %is.last, label %done, label %loop
//! ```
//! After:
//! ```llvm
//! before:
//!   %all = ...                                   ; %x.len is not 0, and columns 0 to %n - 1 are in %columns
//!   %x.last = ...                                ; %x.len - 1, in 32 bits the most there is
//!   br i1 %all, label %loop, label %checked.loop
//! loop:
//!   %k = phi i64 [ 0, %before ], [ %k.next, %loop ]
//!   %most = phi i32 [ 0, %before ], [ %most.next, %loop ]
//!   ...
//!   %most.next = call i32 @llvm.umax.i32(i32 %most, i32 %column)
//!   %here = call i32 @llvm.umin.i32(i32 %column, i32 %x.last)
//!   %here.64 = zext i32 %here to i64
//!   %x.at = getelementptr float, ptr %x, i64 %here.64
//!   ...
//!   br i1 %is.last, label %decide, label %loop
//! decide:
//!   %ok = icmp ult i64 %most.next.64, %x.len
//!   br i1 %ok, label %done, label %checked.loop
//! checked.loop:                                  ; the original loop, from its begin
//!   ...
//! ```
//!
//! In the original, which lanes take part in an iteration depends on what the one before has loaded,
//! so no two iterations overlap. A processor that computes one work-item at a time has no such
//! dependence: it predicts the branch.
//!
//! Masks are not what is kept of a check: they are merged with those of the lanes that have left the
//! loop, and between the loads of an index and of its element lies no more than a minimum.
//!
//! **Nothing else changes.** The loop only loads and computes, so if a check has failed, all is as
//! it was in front of it, and the original loop runs to the first panic in order. What the new loop
//! has computed is dropped.
//!
//! **What is loaded that was not** is what iterations after a failed check load. All of it lies in
//! slices that the kernel is passed ([`slices`]), which are readable as a whole: the front
//! compares what the counter makes of an address in the first and in the last iteration with the
//! slice's size, and the limits of the checks with the lengths of what their indices choose from.
//! A loop with any other load stays as it is.
//!
//! **What such iterations compute** may be poison where the original promised that it was not: so
//! the new loop has no promises, indices are frozen before they are compared, and branches depend
//! on nothing else that is loaded.
//!
//! **A failure that is only noted** ([`group_bailouts`](super::group_bailouts)) needs no copy of the
//! loop: the note is where control goes on if a check has failed, or if what is loaded may not lie
//! in the slices.
//!
//! **What is left alone.** Work-items that share a row take every n-th element of it each: few
//! iterations, in which the rest of a check costs more than the dependence, unless failures are only
//! noted. Measured on rows of 32 to 128 elements with 32 work-items for each.
//!
//! Checks that the counter decides are gone before ([`loop_versioning`](super::loop_versioning)).

use inkwell::module::Module;
use schism_llvm::{
    AtomicOrdering, Block, Builder, IntPredicate, IntoValue, Opcode, Type, Value, enum_kind,
};

use crate::analysis::cold_paths::panics;
use crate::analysis::effects::is_computed;
use crate::analysis::scev::{self, AddRec, Emit, Expr, Kind, Step, Values};
use crate::analysis::trip_count::{
    TripCount, chain, exit, is_closed, opposite, swapped, trip_count,
};
use crate::bounds::conditions::Conditions;
use crate::bounds::group_bailouts::bailout;
use crate::bounds::innermost::change_innermost;
use crate::ir::cfg::{Cfg, Loop};
use crate::ir::clone::{self, ClonedBlocks};
use crate::ir::metadata;
use crate::spec::slices::{self, Extent, Slice};

/// How many instructions a loop may have.
const LOOP: usize = 100;

/// How many a function may grow by.
const GROWTH: usize = 1_000;

/// How many loads a loop may have: the front looks at each.
const LOADS: usize = 12;

/// Sizes of slices are at most this many bytes.
const MOST: u64 = i64::MAX as u64;

/// Runs the pass over the module.
///
/// # Errors
/// LLVM's message, if its passes fail.
pub fn run(module: &Module<'_>) -> Result<(), String> {
    for function in module.get_functions() {
        run_on(function.value())?;
    }
    Ok(())
}

/// Runs the pass over one function; a declaration has nothing to do.
///
/// # Errors
/// LLVM's message, if its passes fail.
pub fn run_on<'m>(function: Value<'m>) -> Result<(), String> {
    let slices = slices::of(function);
    if slices.is_empty() {
        return Ok(());
    }
    let plan = |cfg: &Cfg<'m>, of: &Loop| plan(cfg, of, &slices).map(|plan| (plan.size, plan));
    change_innermost(function, GROWTH, plan, apply)
}

/// What is going to be done with a loop.
struct Plan<'m> {
    of: Loop,
    /// How many instructions it has.
    size: usize,
    trip_count: TripCount<'m>,
    /// What the counter is compared with, as a value, and whether it may be poison.
    bound: Option<(Value<'m>, bool)>,
    /// Where the loop ends: inside and outside.
    ends: [usize; 2],
    /// Where a failed check is noted, if that is all that is done then.
    bailout: Option<Block<'m>>,
    checks: Vec<Check<'m>>,
    counted: Vec<Counted<'m>>,
    gathered: Vec<Gathered<'m>>,
}

/// A branch that panics unless an index is less than a limit.
struct Check<'m> {
    block: usize,
    /// Where the loop goes on.
    inside: usize,
    /// What the number that is compared is an extension of, by zeros.
    root: Value<'m>,
    limit: Expr<'m>,
}

/// A load whose address follows from the iteration.
struct Counted<'m> {
    slice: Slice<'m>,
    /// How far from the slice's begin, in bytes.
    offset: AddRec<'m>,
    size: u64,
}

/// A load at an index that a check has compared.
struct Gathered<'m> {
    load: Value<'m>,
    slice: Slice<'m>,
    /// How far from the slice's begin what is chosen from begins, in bytes.
    offset: Expr<'m>,
    /// How many bytes the index counts.
    stride: u64,
    /// The instructions that make the address; the first one adds the index.
    address: Vec<Value<'m>>,
    /// The number of the check.
    check: usize,
}

/// Looks at a loop.
fn plan<'m>(cfg: &Cfg<'m>, of: &Loop, slices: &[Slice<'m>]) -> Option<Plan<'m>> {
    if metadata::has(cfg.blocks[of.latch].end(), metadata::CHECKED) {
        return None;
    }
    let fails = |block| panics(cfg, block) || bailout(cfg, block).is_some();
    let chain = chain(cfg, of, fails)?;
    let mut values = Values::new(cfg, of);
    let trip_count = trip_count(cfg, of, &mut values, of.latch)?;
    let &out = cfg.successors[of.latch].iter().find(|next| **next != of.header)?;
    let (mut checks, mut counted, mut gathered) = (Vec::new(), Vec::new(), Vec::new());
    let mut size = 0;
    for &block in &chain {
        for instruction in cfg.blocks[block].instructions() {
            size += 1;
            if size > LOOP || !clone::is_cloneable(instruction) || !is_closed(cfg, of, instruction)
            {
                return None;
            }
            match instruction.opcode()? {
                Opcode::Phi | Opcode::Br => {}
                Opcode::Load if counted.len() + gathered.len() < LOADS => {
                    let access = Access::of(instruction)?;
                    if let Some(load) = Counted::of(cfg, of, &mut values, slices, &access) {
                        counted.push(load);
                    } else {
                        let load = Gathered::of(cfg, of, &mut values, slices, &access, &checks)?;
                        gathered.push(load);
                    }
                }
                _ if is_computed(instruction) || is_assumption(instruction) => {}
                _ => return None,
            }
        }
        if block != of.latch && exit(cfg, of, block).is_some() {
            checks.push(Check::of(cfg, of, &mut values, block)?);
        }
    }
    // Without a load of what it names nothing is won. Without one that the counter names, nothing
    // says that the loop ends soon.
    let bailout = common_bailout(cfg, &checks);
    let mut steps = counted.iter().filter(|load| !load.offset.is_fixed()).peekable();
    let is_worth_it = |load| bailout.is_some() || Counted::is_consecutive(load);
    if gathered.is_empty() || steps.peek().is_none() || !steps.all(is_worth_it) {
        return None;
    }
    let ends = [of.latch, out];
    let bound = bound(cfg, of, &values);
    Some(Plan { of: of.clone(), size, trip_count, bound, ends, bailout, checks, counted, gathered })
}

/// What the end of a loop compares that the loop does not change, and whether it may be poison in
/// front of the loop: not if a branch to there has compared it.
fn bound<'m>(cfg: &Cfg<'m>, of: &Loop, values: &Values<'_, 'm>) -> Option<(Value<'m>, bool)> {
    let (condition, ..) = exit(cfg, of, of.latch)?;
    let sides = [0, 1].map(|index| condition.operand(index));
    let is_bound = |it: &Value<'m>| values.is_outside(*it) && !scev::is_pointer(*it);
    let bound = sides.into_iter().find(is_bound)?;
    let compares = |guard: Value<'m>| {
        guard.opcode() == Some(Opcode::Br) && guard.is_conditional() && {
            let condition = guard.condition();
            condition.opcode() == Some(Opcode::ICmp) && condition.operands().any(|it| it == bound)
        }
    };
    let is_known = match cfg.predecessors[of.preheader][..] {
        [from] => compares(cfg.blocks[from].end()),
        _ => false,
    };
    Some((bound, !is_known))
}

/// Where all checks go on if they fail, if the failure is only noted there.
fn common_bailout<'m>(cfg: &Cfg<'m>, checks: &[Check<'m>]) -> Option<Block<'m>> {
    let mut fails = checks.iter().map(|check| {
        let fails = cfg.successors[check.block].iter().find(|next| **next != check.inside);
        fails.and_then(|&fails| bailout(cfg, fails))
    });
    let first = fails.next()??;
    fails.all(|next| next == Some(first)).then_some(first)
}

/// Whether an instruction only tells LLVM something.
fn is_assumption(instruction: Value<'_>) -> bool {
    instruction
        .callee()
        .is_some_and(|callee| callee.is_intrinsic() && callee.name() == "llvm.assume")
}

/// What a number is an extension of, by zeros.
fn root(mut value: Value<'_>) -> Value<'_> {
    while value.opcode() == Some(Opcode::ZExt) {
        value = value.operand(0);
    }
    value
}

impl<'m> Check<'m> {
    fn of(cfg: &Cfg<'m>, of: &Loop, values: &mut Values<'_, 'm>, block: usize) -> Option<Self> {
        let (condition, inside, stays) = exit(cfg, of, block)?;
        if condition.opcode() != Some(Opcode::ICmp) || values.is_outside(condition) {
            return None;
        }
        let predicate = condition.icmp_predicate();
        let predicate = if stays { predicate } else { opposite(predicate) };
        let (a, b) = (condition.operand(0), condition.operand(1));
        let (predicate, index, limit) = match values.is_outside(b) {
            true => (predicate, a, b),
            false => (swapped(predicate), b, a),
        };
        if predicate != IntPredicate::ULT || scev::is_pointer(index) || !values.is_outside(limit) {
            return None;
        }
        let limit = values.add_rec(limit).filter(AddRec::is_fixed)?.base;
        Some(Check { block, inside, root: root(index), limit })
    }
}

/// A load of a whole number of bytes that orders nothing.
struct Access<'m> {
    load: Value<'m>,
    address: Value<'m>,
    size: u64,
}

impl<'m> Access<'m> {
    fn of(load: Value<'m>) -> Option<Self> {
        if load.is_volatile() || load.ordering() != AtomicOrdering::NotAtomic {
            return None;
        }
        let module = load.parent_function().module();
        let (bits, address) = (module.data_layout().size_in_bits(load.ty()), load.operand(0));
        let is_known = bits > 0 && bits % 8 == 0 && scev::is_wide_pointer(module, address);
        is_known.then_some(Access { load, address, size: bits / 8 })
    }
}

impl<'m> Counted<'m> {
    fn of(
        cfg: &Cfg<'m>,
        of: &Loop,
        values: &mut Values<'_, 'm>,
        slices: &[Slice<'m>],
        access: &Access<'m>,
    ) -> Option<Self> {
        let mut offset = values.add_rec(access.address)?;
        let (slice, base) = place(cfg, of, slices, &offset.base)?;
        offset.base = base;
        Some(Counted { slice, offset, size: access.size })
    }
}

impl Counted<'_> {
    /// Whether the next iteration loads the next element.
    fn is_consecutive(&self) -> bool {
        let element = match self.slice.extent {
            Extent::Elements { size, .. } => size,
            Extent::Bytes(_) => self.size,
        };
        match &self.offset.step {
            Step::Up(step) | Step::Down(step) => scev::known(step) == Some(element),
            Step::None => false,
        }
    }
}

impl<'m> Gathered<'m> {
    fn of(
        cfg: &Cfg<'m>,
        of: &Loop,
        values: &mut Values<'_, 'm>,
        slices: &[Slice<'m>],
        access: &Access<'m>,
        checks: &[Check<'m>],
    ) -> Option<Self> {
        // What is added to the element's address: a field's offset.
        let (mut address, mut at, mut extra) = (Vec::new(), access.address, 0_u64);
        let (base, index, stride) = loop {
            if values.is_outside(at) {
                return None;
            }
            let (base, index, size) = at.element()?;
            address.push(at);
            if !index.is_constant_int() {
                break (base, index, size);
            }
            let by = u64::try_from(index.sext_value()).ok()?;
            extra = extra.checked_add(by.checked_mul(size)?)?;
            at = base;
        };
        address.reverse();
        let is_long = index.ty() == index.context().int_type(64);
        if !is_long || extra.checked_add(access.size)? > stride || !values.is_outside(base) {
            return None;
        }
        let check = checks.iter().position(|check| check.root == root(index))?;
        let base = values.add_rec(base).filter(AddRec::is_fixed)?.base;
        let (slice, offset) = place(cfg, of, slices, &base)?;
        Some(Gathered { load: access.load, slice, offset, stride, address, check })
    }
}

/// The slice that an address lies in, as a sum says, and how far from its begin.
fn place<'m>(
    cfg: &Cfg<'m>,
    of: &Loop,
    slices: &[Slice<'m>],
    address: &Expr<'m>,
) -> Option<(Slice<'m>, Expr<'m>)> {
    match &address.kind {
        Kind::Unknown(value) => {
            if let Some(slice) = slices.iter().find(|slice| slice.address == *value) {
                return Some((*slice, scev::constant(64, 0)));
            }
            // What a counter begins with has not been looked into.
            let base = Values::new(cfg, of).add_rec(*value)?.base;
            (base != *address).then(|| place(cfg, of, slices, &base))?
        }
        Kind::Sum(a, b) => {
            let of_a = place(cfg, of, slices, a).map(|(slice, rest)| (slice, scev::sum(&rest, b)));
            of_a.or_else(|| {
                let (slice, rest) = place(cfg, of, slices, b)?;
                Some((slice, scev::sum(a, &rest)))
            })
        }
        _ => None,
    }
}

/// Copies the loop, takes the checks out of the first one, and lets conditions in front of it and
/// behind it choose. Returns the blocks that are new or go on elsewhere.
fn apply<'m>(cfg: &Cfg<'m>, plan: &Plan<'m>) -> Vec<Block<'m>> {
    let of = &plan.of;
    let block = |number: usize| cfg.blocks[number];
    let (preheader, header) = (block(of.preheader), block(of.header));
    let [last, out] = plan.ends.map(block);
    let front = preheader.end();
    let mut emit = Emit::before(front);
    let limits: Vec<Value<'m>> = plan.checks.iter().map(|check| emit.value(&check.limit)).collect();
    let all = condition(&mut emit, plan, &limits);

    let blocks: Vec<Block<'m>> = of.blocks.iter().map(|&number| block(number)).collect();
    let cloned = match plan.bailout {
        Some(_) => ClonedBlocks::default(),
        None => clone::clone_loop(cfg, of),
    };
    let fallback = plan.bailout.unwrap_or_else(|| cloned.block(header));
    if plan.bailout.is_none() {
        metadata::add(&[cloned.block(last).end()], metadata::CHECKED);
    }
    // Lanes that end in different iterations would end apart from each other.
    let asks = [metadata::UNROLL_COUNT, metadata::UNROLL_FULL];
    if !asks.into_iter().any(|property| metadata::has(last.end(), property)) {
        metadata::set_unroll(&[last.end()], metadata::UNROLL_DISABLE, None);
    }
    emit.builder().cond_br(all, header, fallback);
    front.erase();

    let starts: Vec<(Value<'m>, Option<Value<'m>>)> =
        header.phis().into_iter().map(|phi| (phi, phi.incoming(preheader))).collect();
    forget_promises(&blocks);
    let decide = header.function().append_block("");
    decide.move_after(last);
    let ok = collect(cfg, plan, &limits, decide);

    // What the loop leaves is used if all was well.
    for phi in out.phis() {
        phi.add_incoming(phi.incoming(last).expect("the loop ends there"), decide);
    }
    out.forget_edge(last);
    let end = last.end();
    for index in (0..end.num_successors()).filter(|&index| end.successor(index) == out) {
        end.set_successor(index, decide);
    }
    Builder::at_end(decide).cond_br(ok, out, fallback);
    for (phi, start) in starts.into_iter().filter(|_| plan.bailout.is_none()) {
        cloned.value(phi).add_incoming(start.expect("the loop begins there"), decide);
    }

    let mut changed: Vec<Block<'m>> = blocks.iter().map(|&block| cloned.block(block)).collect();
    changed.extend([preheader, last, decide]);
    changed.extend(plan.checks.iter().map(|check| block(check.block)));
    changed
}

/// Takes from the loop's instructions what is so only in iterations that the original makes.
fn forget_promises(blocks: &[Block<'_>]) {
    for instruction in blocks.iter().flat_map(|block| block.instructions()) {
        match instruction.opcode() {
            // What is known of a loop stands there.
            Some(Opcode::Br | Opcode::Phi) => continue,
            Some(Opcode::Call) if is_assumption(instruction) => {
                instruction.erase();
                continue;
            }
            Some(Opcode::Call) => {
                for place in 0..=instruction.num_args() {
                    for name in ["noundef", "range", "nonnull", "align", "dereferenceable"] {
                        instruction.remove_call_enum_attribute(place, enum_kind(name));
                    }
                }
            }
            _ => {}
        }
        for (kind, _) in instruction.metadata_entries() {
            instruction.remove_metadata(kind);
        }
        instruction.drop_promises();
    }
}

/// Has checks note the largest index instead of leaving the loop, and loads behind them choose an
/// element that there is. Returns whether none has failed, as a value at the end of `decide`.
fn collect<'m>(
    cfg: &Cfg<'m>,
    plan: &Plan<'m>,
    limits: &[Value<'m>],
    decide: Block<'m>,
) -> Value<'m> {
    let block = |number: usize| cfg.blocks[number];
    let (preheader, latch) = (block(plan.of.preheader), block(plan.of.latch));
    let wide = preheader.function().ty().context().int_type(64);
    let after = Builder::at_end(decide);
    let mut ok: Option<Value<'m>> = None;
    let mut here = Vec::new();
    for (check, &limit) in plan.checks.iter().zip(limits) {
        let ty = check.root.ty();
        let most = Builder::before(block(plan.of.header).begin()).phi(ty);
        let emit = Emit::before(block(check.block).end());
        let root = emit.builder().freeze(check.root);
        let next = emit.intrinsic("llvm.umax", most, root);
        most.add_incoming(ty.const_int(0, false), preheader);
        most.add_incoming(next, latch);
        let last = last(preheader.end(), limit, ty);
        let chosen = emit.intrinsic("llvm.umin", root, last);
        here.push(emit.builder().int_cast(chosen, wide, false));
        block(check.block).always_go_to(block(check.inside));
        let next = after.int_cast(next, limit.ty(), false);
        let is_inside = after.icmp(IntPredicate::ULT, next, limit);
        ok = Some(ok.map_or(is_inside, |ok| after.and(ok, is_inside)));
    }
    for gathered in &plan.gathered {
        let builder = Builder::before(gathered.load);
        let mut index = Some(here[gathered.check]);
        let mut address: Option<Value<'m>> = None;
        for step in &gathered.address {
            let new = step.duplicate();
            builder.insert(new);
            if let Some(address) = address {
                new.set_operand(0, address);
            }
            if let Some(index) = index.take() {
                new.set_operand(1, index);
            }
            address = Some(new);
        }
        gathered.load.set_operand(0, address.expect("an address has an index"));
    }
    ok.expect("a loop has a check")
}

/// The last number below a limit, computed in front of an instruction, or the largest of a type if
/// that is less.
fn last<'m>(front: Value<'m>, limit: Value<'m>, ty: Type<'m>) -> Value<'m> {
    let emit = Emit::before(front);
    let mut last = emit.builder().sub(limit, limit.ty().const_int(1, false));
    if ty != limit.ty() {
        let largest = u64::MAX >> (64 - ty.int_width());
        last = emit.intrinsic("llvm.umin", last, limit.ty().const_int(largest, false));
    }
    emit.builder().int_cast(last, ty, false)
}

/// Makes the condition under which all that the loop may load is there.
fn condition<'m>(emit: &mut Emit<'m>, plan: &Plan<'m>, limits: &[Value<'m>]) -> Value<'m> {
    let mut conditions = Conditions { emit, all: None };
    let counter = Counter::of(&mut conditions, plan);
    let mut end = None;
    let mut ends = |conditions: &mut Conditions<'_, 'm>| {
        *end.get_or_insert_with(|| conditions.end(&plan.trip_count))
    };
    for inner in &plan.trip_count.value.no_wrap {
        let end = ends(&mut conditions);
        conditions.last(inner, end);
    }
    let zero = conditions.emit.number(64, 0);
    let wide: Vec<Value<'m>> =
        plan.checks.iter().map(|it| conditions.emit.wide(&it.limit)).collect();
    for load in &plan.gathered {
        let limit = wide[load.check];
        conditions.compare(IntPredicate::NE, limit, zero);
        match load.slice.extent {
            Extent::Elements { length, size }
                if size == load.stride && scev::known(&load.offset) == Some(0) =>
            {
                if limits[load.check] != length {
                    conditions.compare(IntPredicate::ULE, limit, length);
                }
            }
            _ => {
                let offset = conditions.emit.wide(&load.offset);
                let size = times(&mut conditions, limit, load.stride);
                within(&mut conditions, &load.slice, offset, size);
            }
        }
    }
    for load in &plan.counted {
        for inner in &load.offset.no_wrap {
            let end = ends(&mut conditions);
            conditions.last(inner, end);
        }
        let first = conditions.emit.wide(&load.offset.base);
        let size = conditions.emit.number(64, load.size);
        let step = match &load.offset.step {
            Step::Up(step) => scev::known(step),
            _ => None,
        };
        let counted = counter
            .as_ref()
            .zip(step)
            .and_then(|(counter, step)| counter.end(&mut conditions, first, step, load.size));
        let furthest = if let Some(end) = counted {
            let bytes = bytes(&conditions, &load.slice);
            conditions.compare(IntPredicate::ULE, end, bytes);
            continue;
        } else {
            let end = ends(&mut conditions);
            match (&load.offset.step, step) {
                (Step::None, _) => first,
                (Step::Up(_), Some(step)) => {
                    let distance = times(&mut conditions, end, step);
                    small(&mut conditions, first);
                    conditions.emit.builder().add(first, distance)
                }
                (Step::Up(_), None) => conditions.last(&load.offset, end),
                (Step::Down(_), _) => {
                    conditions.last(&load.offset, end);
                    first
                }
            }
        };
        within(&mut conditions, &load.slice, furthest, size);
    }
    conditions.all.expect("a loop with such loads has conditions")
}

/// A number that goes up from iteration to iteration, and is less than a bound in each: the loop
/// ends in front of the first iteration in which it is not.
struct Counter<'m> {
    first: Value<'m>,
    bound: Value<'m>,
    step: u64,
}

impl<'m> Counter<'m> {
    /// What a loop counts that compares the next iteration's number. LLVM mostly knows the condition
    /// for the first iteration, in front of the loop.
    fn of(conditions: &mut Conditions<'_, 'm>, plan: &Plan<'m>) -> Option<Self> {
        let TripCount { predicate, value, step, .. } = &plan.trip_count;
        if *predicate != IntPredicate::ULT || value.bits() != 64 {
            return None;
        }
        let first = scev::before(&value.base, *step)?;
        let first = conditions.emit.value(&first);
        let bound = match plan.bound? {
            (bound, true) => conditions.emit.builder().freeze(bound),
            // LLVM forgets of what is frozen that it does not wrap.
            (bound, false) => bound,
        };
        conditions.compare(IntPredicate::ULT, first, bound);
        Some(Counter { first, bound, step: *step })
    }

    /// Where the last load ends, as an offset that goes up with the counter, by a multiple of its
    /// steps: as many bytes as the bound says from where the first load would be for 0. In terms of
    /// the bound, LLVM knows it of a part of a slice.
    fn end(
        &self,
        conditions: &mut Conditions<'_, 'm>,
        first: Value<'m>,
        step: u64,
        size: u64,
    ) -> Option<Value<'m>> {
        let by = step.checked_div(self.step).filter(|by| by * self.step == step)?;
        let rest = by.checked_sub(size)?;
        let most = times(conditions, self.bound, by);
        let by = conditions.emit.number(64, by);
        let builder = conditions.emit.builder();
        let begin = builder.sub(first, builder.mul(self.first, by));
        small(conditions, begin);
        let rest = conditions.emit.number(64, rest);
        let builder = conditions.emit.builder();
        Some(builder.sub(builder.add(begin, most), rest))
    }
}

/// A number by a constant, with the condition that the product is a size that a slice may have.
fn times<'m>(conditions: &mut Conditions<'_, 'm>, number: Value<'m>, by: u64) -> Value<'m> {
    let most = conditions.emit.number(64, MOST / by.max(1));
    conditions.compare(IntPredicate::ULE, number, most);
    let by = conditions.emit.number(64, by);
    conditions.emit.builder().mul(number, by)
}

/// The condition that a number is a size that a slice may have; the sum of two does not wrap.
fn small<'m>(conditions: &mut Conditions<'_, 'm>, number: Value<'m>) {
    let most = conditions.emit.number(64, MOST);
    conditions.compare(IntPredicate::ULE, number, most);
}

/// The condition that so many bytes, which are not too many for a slice, from an offset on are in a
/// slice.
fn within<'m>(
    conditions: &mut Conditions<'_, 'm>,
    slice: &Slice<'m>,
    offset: Value<'m>,
    size: Value<'m>,
) {
    small(conditions, offset);
    let end = conditions.emit.builder().add(offset, size);
    let bytes = bytes(conditions, slice);
    conditions.compare(IntPredicate::ULE, end, bytes);
}

/// How many bytes a slice has.
fn bytes<'m>(conditions: &Conditions<'_, 'm>, slice: &Slice<'m>) -> Value<'m> {
    match slice.extent {
        Extent::Bytes(bytes) => conditions.emit.number(64, bytes),
        Extent::Elements { length, size } => {
            let size = conditions.emit.number(64, size);
            conditions.emit.builder().mul(length, size)
        }
    }
}
