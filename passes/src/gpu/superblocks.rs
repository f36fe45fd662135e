//! Speculates the fast paths of several rare-case operations in one straight-line block. Runs in
//! stage 2, for GPUs, after optimisation.
//!
//! Before, with `expf` of the device library twice:
//! ```llvm
//!   …                                                   ; what is right if %a is in range
//!   %a.plain = fcmp olt float %a.size, 8.7e+1
//!   br i1 %a.plain, label %a.fast, label %a.rare, !prof !{!"branch_weights", i32 2000, i32 1}
//! a.fast:
//!   %a.shifted = …
//!   br label %a.done
//! a.rare:
//!   %a.special = …
//!   br label %a.done
//! a.done:
//!   %a.exp = phi float [ %a.shifted, %a.fast ], [ %a.special, %a.rare ]
//!   …                                                   ; the same for %b
//! b.done:
//!   %b.exp = phi float [ %b.shifted, %b.fast ], [ %b.special, %b.rare ]
//!   %inverse = fdiv float 1.0, %x
//! ```
//! After:
//! ```llvm
//!   %a.plain = fcmp olt float %a.size, 8.7e+1
//!   %a.shifted.fast = …
//!   %b.plain = fcmp olt float %b.size, 8.7e+1
//!   %b.shifted.fast = …
//!   %near = call float @llvm.nvvm.rcp.approx.ftz.f(float %x)
//!   %x.negative = fneg float %x
//!   %off = call float @llvm.fma.f32(float %x.negative, float %near, float 1.0)
//!   %inverse.fast = call float @llvm.fma.f32(float %near, float %off, float %near)
//!   %off.size = call float @llvm.fabs.f32(float %off)
//!   %x.plain = fcmp olt float %off.size, 0x3F50000000000000
//!   …                                                   ; %all: all three, each frozen
//!   br i1 %all, label %done, label %again, !prof !{!"branch_weights", i32 2000, i32 1}
//! again:
//!   …                                                   ; all that is above, as it was before
//! done:
//!   %a.exp.1 = phi float [ %a.shifted.fast, … ], [ %a.exp, … ]
//!   …
//! ```
//!
//! A GPU records at each divergent branch where its work-items reconverge, and waits there; and it
//! does not schedule instructions across a branch. A rare case is a branch or a `select` whose
//! weights say that one side is hardly ever taken. Reciprocals and square roots have a rare case
//! inside of the instruction that rounds correctly; [`approx_math`](crate::nvptx::approx_math)
//! makes them explicit.
//!
//! The speculated code may run for values that belong to a rare case. So it only computes: a
//! superblock ends before memory is accessed, and before anything that may be undefined for such
//! values. Guards are frozen, since a later guard may depend on such values. So that fewer end at loads, these
//! are moved before roots and quotients first (`nvptx/hoist_loads.rs`).

use std::collections::{HashMap, HashSet};

use schism_llvm::{Block, Builder, ContextRef, ModuleRef, Opcode, TypeKind, Value, enum_kind};

use crate::analysis::effects::{family, only_computes};
use crate::ir::clone;
use crate::nvptx::approx_math::Approximation;
use crate::nvptx::hoist_loads;

/// A side of a branch is likely if it is taken this many times as often as the other one.
const LIKELY: u64 = 256;

/// How many rare cases a superblock has, at least.
const CHECKS: usize = 2;

/// How many instructions are duplicated, at most.
const LONGEST: usize = 512;

/// Runs the pass over a function with a body, in a module for NVIDIA's GPUs.
pub fn run(function: Value<'_>) {
    hoist_loads::run(function);
    let mut seen: HashSet<Block<'_>> = HashSet::new();
    for block in function.blocks() {
        let mut next = Some(block);
        // What follows a superblock stays in its block.
        while let Some(begin) = next.filter(|block| !seen.contains(block)) {
            next = Superblock::find(begin).map(|superblock| {
                seen.extend(superblock.blocks.iter().chain(&superblock.cold_blocks));
                let end = superblock.after;
                superblock.speculate(function.module());
                seen.remove(&end);
                end
            });
        }
    }
}

/// What decides whether a rare case occurs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Check<'m> {
    /// The condition has this value on the fast path.
    Condition(Value<'m>, bool),
    /// A reciprocal or a square root.
    Approximation(Approximation<'m>),
}

/// Instructions that run one after the other if no rare case occurs.
struct Superblock<'m> {
    /// The first instruction.
    start: Value<'m>,
    /// The first instruction after the last one, and its block.
    end: Value<'m>,
    after: Block<'m>,
    /// The blocks of the fast path; the first and the last may be the same.
    blocks: Vec<Block<'m>>,
    /// The blocks of rare cases.
    cold_blocks: Vec<Block<'m>>,
    checks: Vec<Check<'m>>,
}

impl<'m> Superblock<'m> {
    /// The first superblock with enough rare cases that begins in a block.
    fn find(first: Block<'m>) -> Option<Self> {
        let mut run = Vec::new();
        for instruction in first.instructions() {
            if is_harmless(instruction) {
                if instruction.opcode() != Some(Opcode::Phi) {
                    run.push(instruction);
                }
                continue;
            }
            let superblock = if !instruction.is_terminator() {
                Self::within(first, &run)
            } else {
                Self::along(first, &run)
            };
            if superblock.is_some() {
                return superblock;
            }
            run.clear();
        }
        None
    }

    /// The superblock inside of one block, from consecutive instructions.
    fn within(block: Block<'m>, run: &[Value<'m>]) -> Option<Self> {
        let found = |&instruction: &Value<'m>| check(instruction).is_some();
        let (start, last) = (run.iter().find(|it| found(it))?, run.iter().rfind(|it| found(it))?);
        let superblock = Self {
            start: *start,
            end: last.next()?,
            after: block,
            blocks: vec![block],
            cold_blocks: Vec::new(),
            checks: distinct(run.iter().filter_map(|&it| check(it)).collect()),
        };
        superblock.is_worthwhile().then_some(superblock)
    }

    /// The longest superblock that starts in a block, which ends in these instructions and a
    /// terminator.
    fn along(first: Block<'m>, run: &[Value<'m>]) -> Option<Self> {
        let mut blocks = vec![first];
        let mut cold_blocks = Vec::new();
        let mut checks: Vec<Check> = run.iter().filter_map(|&it| check(it)).collect();
        let start = run.iter().copied().find(|&it| check(it).is_some());
        let start = start.unwrap_or(first.end());
        let mut end = None;
        while let Some(step) = Diamond::from(blocks[blocks.len() - 1])
            && !blocks.contains(&step.join)
        {
            checks.push(step.check);
            blocks.extend(step.likely);
            blocks.push(step.join);
            cold_blocks.extend(step.cold);
            let all = step.join.instructions();
            let harmless = all.iter().take_while(|&&it| is_harmless(it)).count();
            let phis = step.join.phis().len();
            let found = |place: &usize| check(all[*place]).is_some();
            let after = (phis..harmless).rfind(found).map_or(phis, |last| last + 1);
            checks.extend(all[..after].iter().filter_map(|&it| check(it)));
            end = Some(all[after]);
            if harmless + 1 != all.len() {
                break;
            }
        }
        let Some(end) = end else { return Self::within(first, run) };
        let after = end.block();
        let superblock = Self { start, end, after, blocks, cold_blocks, checks: distinct(checks) };
        superblock.is_worthwhile().then_some(superblock)
    }

    fn is_worthwhile(&self) -> bool {
        let length: usize = self.blocks.iter().map(|&block| block.instructions().len()).sum();
        self.checks.len() >= CHECKS && length <= LONGEST
    }

    /// Puts the speculated code before the original code.
    fn speculate(self, module: ModuleRef<'m>) {
        let context = module.context();
        let builder = Builder::new(context);
        let before = self.start.split_before();
        let last = self.end.split_before();
        let mut blocks = self.blocks;
        if let Some(place) = blocks.iter().rposition(|&block| block == self.after) {
            blocks[place] = last;
        }
        let function = last.function();
        let fast = function.append_block("");
        fast.move_after(before);
        before.end().set_successor(0, fast);
        builder.position_at_end(fast);

        let mut speculation =
            Speculation { module, builder: &builder, values: HashMap::new(), guards: Vec::new() };
        let mut from = before;
        for &block in &blocks {
            for instruction in block.instructions() {
                speculation.add(instruction, from);
            }
            from = block;
        }
        for check in &self.checks {
            if let Check::Condition(condition, value) = *check {
                speculation.require(condition, value);
            }
        }
        let all = speculation.all();
        let values = speculation.values;
        let branch = builder.cond_br(all, self.after, blocks[0]);
        set_likely(context, branch);

        let superblock: HashSet<Block<'m>> =
            blocks.iter().chain(&self.cold_blocks).copied().collect();
        builder.position_before(self.after.begin());
        for value in blocks.iter().flat_map(|&block| block.instructions()) {
            if value.use_blocks().iter().any(|place| !superblock.contains(place)) {
                let both = builder.phi(value.ty());
                if both.has_fast_math() {
                    both.set_fast_math_flags(0);
                }
                clone::replace_uses_in(value, both, |at| !superblock.contains(&at));
                both.add_incoming(value, last);
                both.add_incoming(values[&value], fast);
            }
        }
        remove_unused(fast);
    }
}

/// A rare case: from a block with a branch to where both cold_blocks meet again.
struct Diamond<'m> {
    check: Check<'m>,
    /// The block of the likely cold, if there is one.
    likely: Option<Block<'m>>,
    /// The block of the rare cold, if there is one.
    cold: Option<Block<'m>>,
    join: Block<'m>,
}

impl<'m> Diamond<'m> {
    fn from(block: Block<'m>) -> Option<Self> {
        let end = block.end();
        let is_branch = end.is_branch() && end.is_conditional();
        let first = likely(end).filter(|_| is_branch)?;
        let check = Check::Condition(end.condition(), first);
        let [a, b] = [end.successor(0), end.successor(1)];
        let (near, far) = if first { (a, b) } else { (b, a) };
        let next = |between: Block<'m>| match between.successors()[..] {
            [next] if has_predecessors(between, &[block]) => Some(next),
            _ => None,
        };
        let step = if next(far) == Some(near) && near != block {
            Self { check, likely: None, cold: Some(far), join: near }
        } else {
            let join = next(near)?;
            let cold = if far == join { None } else { Some(far) };
            if cold.is_some_and(|cold| next(cold) != Some(join)) {
                return None;
            }
            Self { check, likely: Some(near), cold, join }
        };
        let from = [step.likely.unwrap_or(block), step.cold.unwrap_or(block)];
        let plain = |between: Block<'m>| {
            let all = between.instructions();
            all[..all.len() - 1].iter().all(|&it| is_harmless(it))
        };
        let fits = step.join != block && has_predecessors(step.join, &from);
        (fits && step.likely.is_none_or(plain)).then_some(step)
    }
}

/// The speculated code, while it is built.
struct Speculation<'a, 'm> {
    module: ModuleRef<'m>,
    builder: &'a Builder<'m>,
    /// The clones of the superblock's values.
    values: HashMap<Value<'m>, Value<'m>>,
    /// Conditions that hold unless a rare case occurs.
    guards: Vec<Value<'m>>,
}

impl<'m> Speculation<'_, 'm> {
    fn value(&self, value: Value<'m>) -> Value<'m> {
        self.values.get(&value).copied().unwrap_or(value)
    }

    /// Adds the clone of an instruction whose predecessor on the fast path is `from`.
    fn add(&mut self, instruction: Value<'m>, from: Block<'m>) {
        if instruction.is_terminator() || instruction.calls_intrinsic(&["assume"]) {
            return;
        }
        if instruction.opcode() == Some(Opcode::Phi) {
            if let Some(value) = instruction.incoming(from) {
                self.values.insert(instruction, self.value(value));
            }
            return;
        }
        let clone = match check(instruction) {
            Some(Check::Approximation(approximation)) => {
                let x = self.value(approximation.argument());
                let (result, guard) = approximation.expand(self.module, self.builder, x);
                self.guards.push(guard);
                result
            }
            Some(Check::Condition(_, first)) => {
                self.value(instruction.operand(if first { 1 } else { 2 }))
            }
            None => self.clone(instruction),
        };
        self.values.insert(instruction, clone);
    }

    fn clone(&self, instruction: Value<'m>) -> Value<'m> {
        let operands: Vec<_> = instruction.operands().map(|operand| self.value(operand)).collect();
        let clone = clone::insert_copy(self.builder, instruction, &operands);
        if clone.opcode() == Some(Opcode::Call) {
            // The value of a rare case may be poison.
            for place in 0..=clone.num_args() {
                clone.remove_call_enum_attribute(place, enum_kind("noundef"));
            }
        }
        clone
    }

    /// Adds a guard: a condition of the superblock.
    fn require(&mut self, condition: Value<'m>, value: bool) {
        let mut condition = self.value(condition);
        if !value {
            condition = self.builder.not(condition);
        }
        self.guards.push(condition);
    }

    /// Whether all guards hold.
    fn all(&self) -> Value<'m> {
        let joined = self.guards.iter().fold(None, |all, &guard| {
            let guard = self.builder.freeze(guard);
            Some(match all {
                Some(all) => self.builder.and(all, guard),
                None => guard,
            })
        });
        joined.expect("a superblock has guards")
    }
}

/// The rare case of an instruction.
fn check(instruction: Value<'_>) -> Option<Check<'_>> {
    match instruction.opcode()? {
        Opcode::Select => {
            let first = likely(instruction)?;
            let condition = instruction.operand(0);
            let is_one = condition.ty().kind() == TypeKind::Integer;
            is_one.then_some(Check::Condition(condition, first))
        }
        _ => Approximation::of(instruction).map(Check::Approximation),
    }
}

fn distinct(checks: Vec<Check<'_>>) -> Vec<Check<'_>> {
    let mut all = Vec::new();
    for check in checks {
        if !all.contains(&check) {
            all.push(check);
        }
    }
    all
}

/// Which side of a branch or a selection is nearly always taken: true for the one where the
/// condition holds.
fn likely(instruction: Value<'_>) -> Option<bool> {
    let node = instruction.named_kind_metadata("prof")?;
    let operands = node.md_operands().into_iter().flatten();
    let weights: Vec<u64> = operands.filter_map(Value::as_unsigned).collect();
    match weights[..] {
        [a, b] if a >= b.max(1).saturating_mul(LIKELY) => Some(true),
        [a, b] if b >= a.max(1).saturating_mul(LIKELY) => Some(false),
        _ => None,
    }
}

fn set_likely<'m>(context: ContextRef<'m>, branch: Value<'m>) {
    let name = context.md_string("branch_weights");
    let number = |value| context.int_type(32).const_int(value, false).as_metadata();
    let node = context.md_node(&[name, number(2000), number(1)]).as_value(context);
    let kind = context.metadata_kind("prof");
    branch.set_metadata(kind, node);
}

/// Whether an instruction only computes, and is never undefined. Of functions those that become a few
/// instructions.
fn is_harmless(instruction: Value<'_>) -> bool {
    /// Without `llvm.`, up to the first type.
    const SHORT: [&str; 14] = [
        "assume", "fma", "fabs", "sqrt", "copysign", "minnum", "maxnum", "floor", "trunc", "rint",
        "umin", "umax", "smin", "smax",
    ];
    match instruction.opcode() {
        Some(Opcode::Phi) => true,
        Some(Opcode::Call) => instruction
            .callee()
            .is_some_and(|callee| callee.is_intrinsic() && SHORT.contains(&family(&callee.name()))),
        _ => only_computes(instruction),
    }
}

/// Whether all predecessors of a block are among these blocks.
fn has_predecessors<'m>(block: Block<'m>, from: &[Block<'m>]) -> bool {
    block
        .as_value()
        .users()
        .into_iter()
        .all(|user| user.opcode().is_some() && from.contains(&user.block()))
}

/// Removes the dead instructions of a block.
fn remove_unused(block: Block<'_>) {
    for instruction in block.instructions().into_iter().rev() {
        if is_harmless(instruction) && instruction.users().is_empty() {
            instruction.erase();
        }
    }
}
