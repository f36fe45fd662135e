//! Decides before a loop whether any of its turns can panic, and if none can, runs a copy without the checks.
//!
//! Before, in the form that LLVM's `loop-simplify` and `lcssa` make:
//! ```llvm
//! before:
//!   br label %turn
//! turn:
//!   %k = phi i64 [ 0, %before ], [ %k.next, %inside ]
//!   %row = mul i64 %k, %width
//!   %at = add i64 %row, %column
//!   %is.inside = icmp ult i64 %at, %len
//!   br i1 %is.inside, label %inside, label %panic
//! inside:
//!   ...                                          ; the element at %at
//!   %k.next = add i64 %k, 1
//!   %is.last = icmp eq i64 %k.next, %n
//!   br i1 %is.last, label %done, label %turn
//! ```
//! After:
//! ```llvm
//! before:
//!   %last = ...                                  ; %column + (%n - 1) * %width
//!   %all = ...                                   ; nothing overflows in that, and it is less than %len
//!   br i1 %all, label %turn, label %checked.turn
//! turn:
//!   %k = phi i64 [ 0, %before ], [ %k.next, %inside ]
//!   ...
//!   br label %inside
//! inside:
//!   ...
//! checked.turn:                                  ; the loop as it was
//!   ...
//! ```
//!
//! A loop whose turns are one block and whose end can be counted is one that LLVM unrolls and vectorises, and whose loads it and
//! the device have on their way together.
//!
//! **What is decided.** Checks are exits that lead to a panic (`cold` code). Their conditions compare values of the form `base + turn * step`
//! (the module `affine`) with others of that form, nearly always with a length that stays. If the last turn's value can be
//! computed without an overflow, all values are between the first and the last. How many turns there are at most tells another
//! exit, one that every turn comes by. What the form does not fit, such as an index that is loaded, stays checked in both loops.
//!
//! **Nothing else changes.** The condition is computed of values that are there before the loop, and made definite (`freeze`), so that
//! it may be computed where the loop would not have come to it. If it does not hold, or cannot be told, the loop runs as it
//! was: what panics does so in its turn, after all that comes before it. So do loops that nothing is known of.
//!
//! **Groups.** The condition may differ between the work-items of a group, so a loop with a barrier stays one (`clone::can_be_copied`).

use std::collections::HashSet;

use inkwell::module::Module;
use inkwell::values::AsValueRef;
use llvm_sys::LLVMIntPredicate::{self, *};
use llvm_sys::LLVMOpcode;
use llvm_sys::core::*;
use llvm_sys::prelude::*;

use crate::analysis::scev::{self, Affine, Emit, Expr, Step, Values};
use crate::ir;
use crate::ir::cfg::{Graph, Loop};
use crate::ir::clone;

/// How many instructions a loop may have to be copied.
const LOOP: usize = 500;

/// How many a function may grow by.
const GROWTH: usize = 5_000;

/// How many checks one condition decides.
const CHECKS: usize = 32;

/// How many blocks a panic may have, before the one that shows it.
const PANIC: usize = 8;

/// Runs the pass over the module.
///
/// # Errors
/// LLVM's message, if its passes fail.
pub fn run(module: &Module<'_>) -> Result<(), String> {
    for function in module.get_functions() {
        // SAFETY: the function is one of the live module, which the caller holds.
        unsafe { run_on(function.as_value_ref()) }?;
    }
    Ok(())
}

/// Runs the pass over one function; a declaration has nothing to do.
///
/// # Errors
/// LLVM's message, if its passes fail.
///
/// # Safety
/// `function` is a function of a live module that nobody else changes meanwhile.
pub unsafe fn run_on(function: LLVMValueRef) -> Result<(), String> {
    // SAFETY: as promised by the caller; a function with a way back has blocks.
    unsafe {
        if !has_panics(function) || !returns(function) {
            return Ok(());
        }
        ir::run_llvm_passes_on(function, "loop-simplify,lcssa")?;
    }
    let mut growth = 0;
    // A copy beside one loop changes nothing inside of another, so one look at the function serves all of them: there may be very many.
    let mut graph = Graph::of(function);
    for one in graph.loops().into_iter().filter(|one| one.innermost) {
        let Some(plan) = plan(&graph, &one).filter(|plan| growth + plan.size <= GROWTH) else {
            continue;
        };
        growth += plan.size;
        // SAFETY: the plan was made of the function as it is.
        let changed = unsafe { carry_out(&graph, &plan) };
        graph.update(&changed);
    }
    Ok(())
}

/// Whether a function that is optimised has panics.
///
/// # Safety
/// `function` is a function of a live module.
#[must_use]
pub unsafe fn has_panics(function: LLVMValueRef) -> bool {
    !ir::has_function_attribute(function, "optnone")
        && ir::blocks(function).into_iter().any(is_cold)
}

/// How many loops a function has: edges back to what dominates them.
///
/// # Safety
/// `function` is a function of a live module that nobody else changes meanwhile.
#[must_use]
pub unsafe fn count(function: LLVMValueRef) -> usize {
    if ir::blocks(function).is_empty() {
        return 0;
    }
    let graph = Graph::of(function);
    let edges = graph.successors.iter().enumerate();
    edges
        .flat_map(|(from, next)| next.iter().map(move |&to| (from, to)))
        .filter(|&(from, to)| graph.dominates(to, from))
        .count()
}

/// Whether a function has a way back: then it may have loops.
pub(crate) fn returns(function: LLVMValueRef) -> bool {
    let mut seen = HashSet::new();
    ir::blocks(function).into_iter().any(|block| {
        seen.insert(block);
        ir::successors(block).iter().any(|next| seen.contains(next))
    })
}

/// What is going to be done with a loop.
struct Plan {
    of: Loop,
    /// How many instructions it has.
    size: usize,
    turns: Option<Turns>,
    checks: Vec<Check>,
}

/// An exit that ends in a panic, and what keeps every turn from taking it.
struct Check {
    block: usize,
    /// Where the loop goes on.
    inside: usize,
    /// Whether the turn that ends the loop does not come here any more.
    after_end: bool,
    facts: Vec<Fact>,
}

/// What is to hold in all turns.
enum Fact {
    /// A condition that is the same in all turns, or its opposite.
    Condition(LLVMValueRef, bool),
    Compare(LLVMIntPredicate, Affine, Affine),
}

/// How a loop ends: the turn whose value is the first that the loop does not go on with.
pub(crate) struct Turns {
    /// The block that every turn comes by, and that this is decided in.
    block: usize,
    /// What holds as long as the loop goes on.
    predicate: LLVMIntPredicate,
    pub(crate) value: Affine,
    /// By how much it changes.
    step: u64,
    bound: Expr,
}

/// Looks at a loop.
fn plan(graph: &Graph, of: &Loop) -> Option<Plan> {
    let instructions: Vec<LLVMValueRef> =
        of.blocks.iter().flat_map(|&block| ir::instructions_of(graph.blocks[block])).collect();
    let fits = instructions.len() <= LOOP
        && instructions.iter().all(|&one| clone::can_be_copied(one) && is_closed(graph, of, one));
    if !fits {
        return None;
    }
    let mut values = Values::new(graph, of);
    let is_check = |block: usize| {
        graph.successors[block]
            .iter()
            .any(|&next| !of.blocks.contains(&next) && panics(graph, next))
    };
    let turns = of
        .blocks
        .iter()
        .filter(|block| !is_check(**block))
        .find_map(|&block| turns(graph, of, &mut values, block));
    let mut checks = Vec::new();
    for &block in &of.blocks {
        let Some((condition, inside, stays)) = exit(graph, of, block) else { continue };
        if checks.len() == CHECKS || !is_check(block) {
            continue;
        }
        let mut facts = Vec::new();
        if !facts_of(&mut values, condition, stays, &mut facts)
            || (turns.is_none() && !facts.iter().all(Fact::is_fixed))
        {
            continue;
        }
        let after_end = turns
            .as_ref()
            .is_some_and(|turns| turns.block != block && graph.dominates(turns.block, block));
        checks.push(Check { block, inside, after_end, facts });
    }
    let size = instructions.len();
    (!checks.is_empty()).then(|| Plan { of: of.clone(), size, turns, checks })
}

/// Whether what uses an instruction outside of the loop is a phi where the loop is left.
pub(crate) fn is_closed(graph: &Graph, of: &Loop, instruction: LLVMValueRef) -> bool {
    ir::users(instruction).into_iter().all(|user| {
        let block = graph.block_of(user);
        of.blocks.contains(&block)
            || (ir::opcode(user) == Some(LLVMOpcode::LLVMPHI)
                && graph.predecessors[block].iter().all(|from| of.blocks.contains(from)))
    })
}

/// If a block may leave the loop: the condition, where the loop goes on, and whether it does so if the condition holds.
pub(crate) fn exit(graph: &Graph, of: &Loop, block: usize) -> Option<(LLVMValueRef, usize, bool)> {
    let &[yes, no] = &graph.successors[block][..] else { return None };
    let stays = of.blocks.contains(&yes);
    if stays == of.blocks.contains(&no) {
        return None;
    }
    // SAFETY: the block has a terminator, since it has successors.
    unsafe {
        let end = LLVMGetBasicBlockTerminator(graph.blocks[block]);
        let branches = ir::opcode(end) == Some(LLVMOpcode::LLVMBr);
        branches.then(|| (LLVMGetCondition(end), if stays { yes } else { no }, stays))
    }
}

/// Whether a block is a part of a panic: it ends in nothing, or calls what is `cold`.
pub(crate) fn is_cold(block: LLVMBasicBlockRef) -> bool {
    ir::instructions_of(block).into_iter().any(|instruction| match ir::opcode(instruction) {
        Some(LLVMOpcode::LLVMUnreachable) => true,
        Some(LLVMOpcode::LLVMCall) => {
            let callee = ir::callee(instruction);
            ir::has_call_attribute(instruction, "cold")
                || callee.is_some_and(|callee| ir::has_function_attribute(callee, "cold"))
        }
        _ => false,
    })
}

/// Whether what comes after a block is a panic.
pub(crate) fn panics(graph: &Graph, mut block: usize) -> bool {
    for _ in 0..PANIC {
        if is_cold(graph.blocks[block]) {
            return true;
        }
        let &[next] = &graph.successors[block][..] else { return false };
        block = next;
    }
    false
}

/// How a block ends the loop, if every turn comes by it and that can be counted.
pub(crate) fn turns(
    graph: &Graph,
    of: &Loop,
    values: &mut Values<'_>,
    block: usize,
) -> Option<Turns> {
    let (condition, _, stays) = exit(graph, of, block)?;
    if !graph.dominates(block, of.latch) {
        return None;
    }
    let (mut predicate, [mut value, mut bound]) = comparison(values, condition, stays)?;
    if value.is_fixed() {
        (value, bound) = (bound, value);
        predicate = swapped(predicate);
    }
    if !bound.is_fixed() {
        return None;
    }
    let (step, up) = match &value.step {
        Step::Up(size) => (scev::known(size)?, true),
        Step::Down(size) => (scev::known(size)?, false),
        Step::None => return None,
    };
    let counted = match predicate {
        LLVMIntNE => true,
        LLVMIntULT | LLVMIntULE | LLVMIntSLT | LLVMIntSLE => up,
        LLVMIntUGT => !up,
        _ => false,
    };
    // Where the highest bit is set, a step would be as well one back.
    let most = 1 << (value.bits() - 1);
    (counted && step != 0 && step < most).then_some(Turns {
        block,
        predicate,
        value,
        step,
        bound: bound.base,
    })
}

/// What `condition` compares: what holds if it is `wanted`.
fn comparison(
    values: &mut Values<'_>,
    condition: LLVMValueRef,
    wanted: bool,
) -> Option<(LLVMIntPredicate, [Affine; 2])> {
    if ir::opcode(condition) != Some(LLVMOpcode::LLVMICmp) {
        return None;
    }
    // SAFETY: an `icmp` is live, stands in a module, and has two operands.
    let (predicate, operands) = unsafe {
        let module = LLVMGetGlobalParent(ir::parent_function(condition));
        let operands = [0, 1].map(|index| LLVMGetOperand(condition, index));
        let is_pointer = scev::is_pointer(operands[0]);
        if is_pointer && !scev::is_wide_pointer(module, operands[0]) {
            return None;
        }
        (LLVMGetICmpPredicate(condition), operands)
    };
    let predicate = if wanted { predicate } else { opposite(predicate) };
    let [a, b] = operands.map(|operand| values.affine(operand));
    Some((predicate, [a?, b?]))
}

/// What has to hold in all turns for `condition` to be `wanted` in all of them. Adds it to `facts`; false if it cannot be said.
fn facts_of(
    values: &mut Values<'_>,
    condition: LLVMValueRef,
    wanted: bool,
    facts: &mut Vec<Fact>,
) -> bool {
    if facts.len() >= CHECKS {
        return false;
    }
    if values.is_outside(condition) {
        facts.push(Fact::Condition(condition, wanted));
        return true;
    }
    // SAFETY: the condition is an instruction; each opcode has the operands that are asked for.
    let operand = |index| unsafe { LLVMGetOperand(condition, index) };
    // SAFETY: a constant of one bit has such a value.
    let is = |value: LLVMValueRef, bit: u64| unsafe {
        !LLVMIsAConstantInt(value).is_null() && LLVMConstIntGetZExtValue(value) == bit
    };
    match ir::opcode(condition) {
        Some(LLVMOpcode::LLVMAnd) if wanted => {
            facts_of(values, operand(0), true, facts) && facts_of(values, operand(1), true, facts)
        }
        Some(LLVMOpcode::LLVMOr) if !wanted => {
            facts_of(values, operand(0), false, facts) && facts_of(values, operand(1), false, facts)
        }
        Some(LLVMOpcode::LLVMSelect) if wanted && is(operand(2), 0) => {
            facts_of(values, operand(0), true, facts) && facts_of(values, operand(1), true, facts)
        }
        Some(LLVMOpcode::LLVMSelect) if !wanted && is(operand(1), 1) => {
            facts_of(values, operand(0), false, facts) && facts_of(values, operand(2), false, facts)
        }
        Some(LLVMOpcode::LLVMXor) if is(operand(1), 1) => {
            facts_of(values, operand(0), !wanted, facts)
        }
        _ => {
            let Some((predicate, [a, b])) = comparison(values, condition, wanted) else {
                return false;
            };
            let said = (a.is_fixed() && b.is_fixed())
                || matches!(predicate, LLVMIntULT | LLVMIntULE | LLVMIntUGT | LLVMIntUGE);
            if said {
                facts.push(Fact::Compare(predicate, a, b));
            }
            said
        }
    }
}

impl Fact {
    /// Whether it does not depend on the turn.
    fn is_fixed(&self) -> bool {
        match self {
            Fact::Condition(..) => true,
            Fact::Compare(_, a, b) => {
                [a, b].iter().all(|side| side.is_fixed() && side.unwrapped.is_empty())
            }
        }
    }
}

fn opposite(predicate: LLVMIntPredicate) -> LLVMIntPredicate {
    match predicate {
        LLVMIntEQ => LLVMIntNE,
        LLVMIntNE => LLVMIntEQ,
        LLVMIntUGT => LLVMIntULE,
        LLVMIntUGE => LLVMIntULT,
        LLVMIntULT => LLVMIntUGE,
        LLVMIntULE => LLVMIntUGT,
        LLVMIntSGT => LLVMIntSLE,
        LLVMIntSGE => LLVMIntSLT,
        LLVMIntSLT => LLVMIntSGE,
        LLVMIntSLE => LLVMIntSGT,
    }
}

fn swapped(predicate: LLVMIntPredicate) -> LLVMIntPredicate {
    match predicate {
        LLVMIntEQ | LLVMIntNE => predicate,
        LLVMIntUGT => LLVMIntULT,
        LLVMIntUGE => LLVMIntULE,
        LLVMIntULT => LLVMIntUGT,
        LLVMIntULE => LLVMIntUGE,
        LLVMIntSGT => LLVMIntSLT,
        LLVMIntSGE => LLVMIntSLE,
        LLVMIntSLT => LLVMIntSGT,
        LLVMIntSLE => LLVMIntSGE,
    }
}

/// Copies the loop, takes the checks out of the first one, and lets the condition choose. Returns the blocks that are new or go on elsewhere.
///
/// # Safety
/// The plan is of the graph's function, which is as it was then.
unsafe fn carry_out(graph: &Graph, plan: &Plan) -> Vec<LLVMBasicBlockRef> {
    let of = &plan.of;
    // SAFETY: as promised by the caller. What the condition is made of dominates the preheader, since the loop uses it and does
    // not contain it. Phis outside of the loop are where the loop is left: each gets an edge from the copy for each from the loop.
    unsafe {
        let block = |number: usize| graph.blocks[number];
        let end = LLVMGetBasicBlockTerminator(block(of.preheader));
        let mut emit = Emit::before(end);
        let all = condition(&mut emit, plan);

        let blocks: Vec<LLVMBasicBlockRef> =
            of.blocks.iter().map(|&number| block(number)).collect();
        let copied = clone::copy(&blocks);
        let mut out: Vec<usize> =
            of.blocks.iter().flat_map(|&inside| graph.successors[inside].clone()).collect();
        out.retain(|next| !of.blocks.contains(next));
        out.sort_unstable();
        out.dedup();
        for phi in out.into_iter().flat_map(|next| ir::phis(block(next))) {
            for index in 0..LLVMCountIncoming(phi) {
                let from = LLVMGetIncomingBlock(phi, index);
                let Some(&twin) = copied.blocks.get(&from) else { continue };
                let mut value = copied.value(LLVMGetIncomingValue(phi, index));
                LLVMAddIncoming(phi, &mut value, &mut { twin }, 1);
            }
        }
        let header = block(of.header);
        LLVMBuildCondBr(emit.builder(), all, header, copied.block(header));
        LLVMInstructionEraseFromParent(end);
        for check in &plan.checks {
            ir::always_go_to(block(check.block), block(check.inside));
        }
        let mut changed: Vec<LLVMBasicBlockRef> =
            blocks.iter().map(|&block| copied.block(block)).collect();
        changed.push(block(of.preheader));
        changed.extend(plan.checks.iter().map(|check| block(check.block)));
        changed
    }
}

/// The conditions that are collected, and what makes them.
pub(crate) struct Conditions<'a> {
    pub(crate) emit: &'a mut Emit,
    pub(crate) all: Option<LLVMValueRef>,
}

/// Makes the condition under which no check of the plan fails in any turn.
///
/// # Safety
/// What the plan is made of dominates where `emit` makes instructions.
unsafe fn condition(emit: &mut Emit, plan: &Plan) -> LLVMValueRef {
    let always = emit.number(1, 1);
    let mut conditions = Conditions { emit, all: None };
    // SAFETY: as promised by the caller; all numbers are of 64 bits.
    unsafe {
        // The turn that the loop ends in, and the one before it.
        let mut last = None;
        if let Some(turns) = &plan.turns {
            let end = conditions.end(turns);
            for inner in &turns.value.unwrapped {
                conditions.last(inner, end);
            }
            let one = conditions.emit.number(64, 1);
            let before = match plan.checks.iter().any(|check| check.after_end) {
                true => conditions.emit.intrinsic("llvm.usub.sat", end, one),
                false => end,
            };
            last = Some((end, before));
        }
        for check in &plan.checks {
            let none = conditions.emit.number(64, 0);
            let turn = match last {
                Some((_, before)) if check.after_end => before,
                Some((end, _)) => end,
                None => none,
            };
            for fact in &check.facts {
                conditions.fact(fact, turn);
            }
        }
    }
    conditions.all.unwrap_or(always)
}

impl Conditions<'_> {
    pub(crate) unsafe fn and(&mut self, condition: LLVMValueRef) {
        let all = self.all.map(|all| {
            // SAFETY: as promised by the callers: both are conditions, and neither is poison.
            unsafe { LLVMBuildAnd(self.emit.builder(), all, condition, c"".as_ptr()) }
        });
        self.all = Some(all.unwrap_or(condition));
    }

    pub(crate) unsafe fn compare(
        &mut self,
        predicate: LLVMIntPredicate,
        a: LLVMValueRef,
        b: LLVMValueRef,
    ) {
        // SAFETY: as promised by the callers: both are numbers of the same type.
        unsafe {
            let condition = LLVMBuildICmp(self.emit.builder(), predicate, a, b, c"".as_ptr());
            self.and(condition);
        }
    }

    unsafe fn not(&mut self, overflows: LLVMValueRef) {
        // SAFETY: as promised by the callers: it is a condition.
        unsafe {
            let condition = LLVMBuildNot(self.emit.builder(), overflows, c"".as_ptr());
            self.and(condition);
        }
    }

    /// The turn in which the loop ends at the latest.
    pub(crate) unsafe fn end(&mut self, turns: &Turns) -> LLVMValueRef {
        let Turns { predicate, value, step, bound, .. } = turns;
        let (bits, step) = (value.bits(), *step);
        let name = c"".as_ptr();
        let most = match predicate {
            LLVMIntSLT | LLVMIntSLE => u64::MAX >> (65 - bits),
            _ => u64::MAX >> (64 - bits),
        };
        // SAFETY: as promised by the caller; all numbers are of 64 bits, and steps are no 0.
        unsafe {
            let size = self.emit.number(64, step);
            if *predicate == LLVMIntNE {
                // The first multiple of the step that is the distance is the distance, if it is a multiple.
                let up = matches!(value.step, Step::Up(_));
                // What the loop compares is often the value of the turn to come. Then all turns are counted, and one taken off again:
                // LLVM knows of a slice that it is not empty, and not how much is left of it behind its first element.
                let before = scev::before(&value.base, step).filter(|_| up);
                let first = before.as_ref().unwrap_or(&value.base);
                let distance = match up {
                    true => scev::difference(bound, first),
                    false => scev::difference(first, bound),
                };
                let distance = self.emit.wide(&distance);
                let mut turns = distance;
                if step != 1 {
                    let rest = LLVMBuildURem(self.emit.builder(), distance, size, name);
                    let none = self.emit.number(64, 0);
                    self.compare(LLVMIntEQ, rest, none);
                    turns = LLVMBuildUDiv(self.emit.builder(), distance, size, name);
                }
                if before.is_some() {
                    let one = self.emit.number(64, 1);
                    self.compare(LLVMIntUGE, turns, one);
                    turns = LLVMBuildSub(self.emit.builder(), turns, one, name);
                }
                return turns;
            }
            let first = self.emit.wide(&value.base);
            let mut bound = self.emit.wide(bound);
            // The value in the turn that ends the loop must not have wrapped.
            let distance = match predicate {
                LLVMIntUGT => {
                    let least = self.emit.number(64, step - 1);
                    self.compare(LLVMIntUGE, bound, least);
                    self.emit.intrinsic("llvm.usub.sat", first, bound)
                }
                _ => {
                    let through = matches!(predicate, LLVMIntULE | LLVMIntSLE);
                    let room = if through { step } else { step - 1 };
                    let limit = self.emit.number(64, most.wrapping_sub(room));
                    self.compare(LLVMIntULE, bound, limit);
                    if matches!(predicate, LLVMIntSLT | LLVMIntSLE) {
                        let limit = self.emit.number(64, most);
                        self.compare(LLVMIntULE, first, limit);
                    }
                    if through {
                        let one = self.emit.number(64, 1);
                        bound = LLVMBuildAdd(self.emit.builder(), bound, one, name);
                    }
                    self.emit.intrinsic("llvm.usub.sat", bound, first)
                }
            };
            if step == 1 {
                return distance;
            }
            let up = self.emit.number(64, step - 1);
            let rounded = LLVMBuildAdd(self.emit.builder(), distance, up, name);
            LLVMBuildUDiv(self.emit.builder(), rounded, size, name)
        }
    }

    /// A value in a turn, in 64 bits. Adds the conditions under which it has wrapped neither there nor in any turn before.
    pub(crate) unsafe fn last(&mut self, value: &Affine, turn: LLVMValueRef) -> LLVMValueRef {
        // SAFETY: as promised by the caller; all numbers are of 64 bits.
        unsafe {
            let first = self.emit.wide(&value.base);
            let (size, up) = match &value.step {
                Step::None => return first,
                Step::Up(size) => (size, true),
                Step::Down(size) => (size, false),
            };
            let way = if scev::known(size) == Some(1) {
                turn
            } else {
                let size = self.emit.wide(size);
                self.checked("llvm.umul.with.overflow", turn, size)
            };
            if !up {
                self.compare(LLVMIntUGE, first, way);
                return LLVMBuildSub(self.emit.builder(), first, way, c"".as_ptr());
            }
            let last = self.checked("llvm.uadd.with.overflow", first, way);
            if value.bits() < 64 {
                let most = self.emit.number(64, u64::MAX >> (64 - value.bits()));
                self.compare(LLVMIntULE, last, most);
            }
            last
        }
    }

    /// Arithmetic that must not overflow.
    unsafe fn checked(
        &mut self,
        intrinsic: &str,
        a: LLVMValueRef,
        b: LLVMValueRef,
    ) -> LLVMValueRef {
        let both = self.emit.intrinsic(intrinsic, a, b);
        // SAFETY: the intrinsic gives the result, and whether it overflows.
        unsafe {
            let builder = self.emit.builder();
            let overflows = LLVMBuildExtractValue(builder, both, 1, c"".as_ptr());
            self.not(overflows);
            LLVMBuildExtractValue(builder, both, 0, c"".as_ptr())
        }
    }

    /// Adds what makes a fact hold in all turns up to `turn`.
    unsafe fn fact(&mut self, fact: &Fact, turn: LLVMValueRef) {
        // SAFETY: as promised by the caller; numbers that are compared are of the same type.
        unsafe {
            let (predicate, a, b) = match fact {
                Fact::Condition(condition, wanted) => {
                    let condition = self.emit.condition(*condition);
                    if *wanted {
                        self.and(condition)
                    } else {
                        self.not(condition)
                    };
                    return;
                }
                Fact::Compare(predicate, a, b) => (*predicate, a, b),
            };
            for inner in a.unwrapped.iter().chain(&b.unwrapped) {
                self.last(inner, turn);
            }
            if a.is_fixed() && b.is_fixed() {
                let (a, b) = (self.emit.value(&a.base), self.emit.value(&b.base));
                return self.compare(predicate, a, b);
            }
            let (a_last, b_last) = (self.last(a, turn), self.last(b, turn));
            let (a_first, b_first) = (self.emit.wide(&a.base), self.emit.wide(&b.base));
            if a.step == b.step {
                // Both go on by the same amount, so they compare as they did first.
                return self.compare(predicate, a_first, b_first);
            }
            // The worst that each can be.
            let least = |value: &Affine, first, last| match value.step {
                Step::Down(_) => last,
                _ => first,
            };
            let most = |value: &Affine, first, last| match value.step {
                Step::Up(_) => last,
                _ => first,
            };
            let (a, b) = match predicate {
                LLVMIntULT | LLVMIntULE => (most(a, a_first, a_last), least(b, b_first, b_last)),
                _ => (least(a, a_first, a_last), most(b, b_first, b_last)),
            };
            self.compare(predicate, a, b);
        }
    }
}

#[cfg(test)]
mod tests {
    use inkwell::context::Context;
    use inkwell::memory_buffer::MemoryBuffer;

    use super::run;
    use crate::ir::cfg::MADE;

    /// A function of so many loops one after the other, each with a check of its index, and a panic of its own.
    fn many(loops: usize) -> String {
        let mut text = "declare void @panic() cold noreturn
            define i64 @many(ptr %p, i64 %len, i64 %n) {
            start:
              br label %before.0\n"
            .to_owned();
        for number in 0..loops {
            let next = number + 1;
            text += &format!(
                "before.{number}:
                   br label %loop.{number}
                 loop.{number}:
                   %k.{number} = phi i64 [ 0, %before.{number} ], [ %k.{number}.next, %inside.{number} ]
                   %is.inside.{number} = icmp ult i64 %k.{number}, %len
                   br i1 %is.inside.{number}, label %inside.{number}, label %bad.{number}
                 inside.{number}:
                   %at.{number} = getelementptr i64, ptr %p, i64 %k.{number}
                   store i64 {number}, ptr %at.{number}
                   %k.{number}.next = add nuw i64 %k.{number}, 1
                   %is.last.{number} = icmp eq i64 %k.{number}.next, %n
                   br i1 %is.last.{number}, label %before.{next}, label %loop.{number}
                 bad.{number}:
                   call void @panic()
                   unreachable\n"
            );
        }
        text + &format!("before.{loops}:\n  ret i64 0\n}}\n")
    }

    /// How many graphs are made for a function of so many loops, and how many loops are copied.
    fn graphs_and_copies(loops: usize) -> (usize, usize) {
        let context = Context::create();
        let text = many(loops);
        let buffer = MemoryBuffer::create_from_memory_range_copy(text.as_bytes(), "many");
        let module = context.create_module_from_ir(buffer).expect("assembly");
        let before = MADE.get();
        run(&module).expect("LLVM's passes run");
        let made = MADE.get() - before;
        module.verify().expect("it obeys LLVM's rules");
        let after = module.print_to_string().to_string();
        (made, after.matches("store i64").count() - loops)
    }

    #[test]
    fn one_graph_serves_all_loops() {
        let (few, copies) = graphs_and_copies(2);
        assert_eq!(copies, 2);
        let (many, copies) = graphs_and_copies(100);
        assert_eq!(copies, 100);
        assert_eq!(many, few, "graphs");
    }

    #[test]
    fn loops_beyond_the_limit_of_growth_stay_alone() {
        let (_, copies) = graphs_and_copies(1_500);
        assert!((500..1_500).contains(&copies), "{copies}");
    }
}
