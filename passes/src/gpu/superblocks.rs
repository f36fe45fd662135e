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
//! values. Guards are frozen, since a later guard may depend on such values.

use std::collections::{HashMap, HashSet};
use std::ffi::CString;

use inkwell::module::Module;
use llvm_sys::core::*;
use llvm_sys::prelude::*;
use llvm_sys::{LLVMOpcode, LLVMTypeKind};

use crate::ir;
use crate::nvptx::approx_math::{Approximation, metadata};

/// A side of a branch is likely if it is taken this many times as often as the other one.
const LIKELY: u64 = 256;

/// How many rare cases a superblock has, at least.
const CHECKS: usize = 2;

/// How many instructions are duplicated, at most.
const LONGEST: usize = 512;

/// Runs the pass over a module, which is one for NVIDIA's GPUs.
pub fn run(module: &Module<'_>) {
    // SAFETY: the module is live and held by the caller.
    unsafe { run_raw(module.as_mut_ptr()) };
}

/// Runs the pass over a module, which is one for NVIDIA's GPUs.
///
/// # Safety
/// The module is live, and nobody else changes it during the call.
pub unsafe fn run_raw(module: LLVMModuleRef) {
    for function in ir::functions(module) {
        let mut seen: HashSet<LLVMBasicBlockRef> = HashSet::new();
        for block in ir::blocks(function) {
            let mut next = Some(block);
            // What follows a superblock stays in its block.
            while let Some(begin) = next.filter(|block| !seen.contains(block)) {
                // SAFETY: as promised by the caller; blocks stay when superblocks are built.
                next = unsafe { Superblock::find(begin) }.map(|superblock| {
                    seen.extend(superblock.blocks.iter().chain(&superblock.cold_blocks));
                    let end = superblock.after;
                    // SAFETY: as promised by the caller; nothing has changed since the superblock was found.
                    unsafe { superblock.speculate(module) };
                    seen.remove(&end);
                    end
                });
            }
        }
    }
}

/// What decides whether a rare case occurs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Check {
    /// The condition has this value on the fast path.
    Condition(LLVMValueRef, bool),
    /// A reciprocal or a square root.
    Approximation(Approximation),
}

/// Instructions that run one after the other if no rare case occurs.
struct Superblock {
    /// The first instruction.
    start: LLVMValueRef,
    /// The first instruction after the last one, and its block.
    end: LLVMValueRef,
    after: LLVMBasicBlockRef,
    /// The blocks of the fast path; the first and the last may be the same.
    blocks: Vec<LLVMBasicBlockRef>,
    /// The blocks of rare cases.
    cold_blocks: Vec<LLVMBasicBlockRef>,
    checks: Vec<Check>,
}

impl Superblock {
    /// The first superblock with enough rare cases that begins in a block.
    ///
    /// # Safety
    /// The block is one of a live function.
    unsafe fn find(first: LLVMBasicBlockRef) -> Option<Self> {
        // SAFETY: as promised by the caller, here and below.
        unsafe {
            let mut run = Vec::new();
            for instruction in ir::instructions_of(first) {
                if is_harmless(instruction) {
                    if ir::opcode(instruction) != Some(LLVMOpcode::LLVMPHI) {
                        run.push(instruction);
                    }
                    continue;
                }
                let superblock = if LLVMIsATerminatorInst(instruction).is_null() {
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
    }

    /// The superblock inside of one block, from consecutive instructions.
    unsafe fn within(block: LLVMBasicBlockRef, run: &[LLVMValueRef]) -> Option<Self> {
        // SAFETY: the instructions are live; each stands before its block's terminator.
        unsafe {
            let found = |&instruction: &LLVMValueRef| check(instruction).is_some();
            let (start, last) =
                (run.iter().find(|it| found(it))?, run.iter().rfind(|it| found(it))?);
            let superblock = Self {
                start: *start,
                end: LLVMGetNextInstruction(*last),
                after: block,
                blocks: vec![block],
                cold_blocks: Vec::new(),
                checks: distinct(run.iter().filter_map(|&it| check(it)).collect()),
            };
            superblock.is_worthwhile().then_some(superblock)
        }
    }

    /// The longest superblock that starts in a block, which ends in these instructions and a terminator.
    unsafe fn along(first: LLVMBasicBlockRef, run: &[LLVMValueRef]) -> Option<Self> {
        // SAFETY: the blocks are live.
        unsafe {
            let mut blocks = vec![first];
            let mut cold_blocks = Vec::new();
            let mut checks: Vec<Check> = run.iter().filter_map(|&it| check(it)).collect();
            let start = run.iter().copied().find(|&it| check(it).is_some());
            let start = start.unwrap_or(LLVMGetBasicBlockTerminator(first));
            let mut end = None;
            while let Some(step) = Diamond::from(blocks[blocks.len() - 1])
                && !blocks.contains(&step.join)
            {
                checks.push(step.check);
                blocks.extend(step.likely);
                blocks.push(step.join);
                cold_blocks.extend(step.cold);
                let all = ir::instructions_of(step.join);
                let harmless = all.iter().take_while(|&&it| is_harmless(it)).count();
                let phis = ir::phis(step.join).len();
                let found = |place: &usize| check(all[*place]).is_some();
                let after = (phis..harmless).rfind(found).map_or(phis, |last| last + 1);
                checks.extend(all[..after].iter().filter_map(|&it| check(it)));
                end = Some(all[after]);
                if harmless + 1 != all.len() {
                    break;
                }
            }
            let Some(end) = end else { return Self::within(first, run) };
            let after = LLVMGetInstructionParent(end);
            let superblock =
                Self { start, end, after, blocks, cold_blocks, checks: distinct(checks) };
            superblock.is_worthwhile().then_some(superblock)
        }
    }

    fn is_worthwhile(&self) -> bool {
        let length: usize = self.blocks.iter().map(|&block| ir::instructions_of(block).len()).sum();
        self.checks.len() >= CHECKS && length <= LONGEST
    }

    /// Puts the speculated code in front of the original code.
    ///
    /// # Safety
    /// The superblock was found in the module, which is live, and nothing has changed since.
    unsafe fn speculate(self, module: LLVMModuleRef) {
        // SAFETY: as promised by the caller. The parts before and after the superblock become blocks of their own, so that it consists
        // of whole blocks; the speculated code has a clone of each of their values, and uses only what comes before the superblock.
        unsafe {
            let context = LLVMGetModuleContext(module);
            let builder = LLVMCreateBuilderInContext(context);
            let before = split_before(self.start, builder);
            let last = split_before(self.end, builder);
            let mut blocks = self.blocks;
            if let Some(place) = blocks.iter().rposition(|&block| block == self.after) {
                blocks[place] = last;
            }
            let function = LLVMGetBasicBlockParent(last);
            let fast = LLVMAppendBasicBlockInContext(context, function, c"".as_ptr());
            LLVMMoveBasicBlockAfter(fast, before);
            LLVMSetSuccessor(LLVMGetBasicBlockTerminator(before), 0, fast);
            LLVMPositionBuilderAtEnd(builder, fast);

            let mut speculation =
                Speculation { module, builder, values: HashMap::new(), guards: Vec::new() };
            let mut from = before;
            for &block in &blocks {
                for instruction in ir::instructions_of(block) {
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
            let branch = LLVMBuildCondBr(builder, all, self.after, blocks[0]);
            set_likely(context, branch);

            let superblock: HashSet<LLVMBasicBlockRef> =
                blocks.iter().chain(&self.cold_blocks).copied().collect();
            LLVMPositionBuilderBefore(builder, LLVMGetFirstInstruction(self.after));
            for value in blocks.iter().flat_map(|&block| ir::instructions_of(block)) {
                if ir::uses(value).iter().any(|place| !superblock.contains(place)) {
                    let both = LLVMBuildPhi(builder, LLVMTypeOf(value), c"".as_ptr());
                    if LLVMCanValueUseFastMathFlags(both) != 0 {
                        LLVMSetFastMathFlags(both, 0);
                    }
                    replace_outside(value, both, &superblock);
                    let (mut incoming, mut from) = ([value, values[&value]], [last, fast]);
                    LLVMAddIncoming(both, incoming.as_mut_ptr(), from.as_mut_ptr(), 2);
                }
            }
            LLVMDisposeBuilder(builder);
            remove_unused(fast);
        }
    }
}

/// A rare case: from a block with a branch to where both cold_blocks meet again.
struct Diamond {
    check: Check,
    /// The block of the likely cold, if there is one.
    likely: Option<LLVMBasicBlockRef>,
    /// The block of the rare cold, if there is one.
    cold: Option<LLVMBasicBlockRef>,
    join: LLVMBasicBlockRef,
}

impl Diamond {
    /// # Safety
    /// The block is one of a live function.
    unsafe fn from(block: LLVMBasicBlockRef) -> Option<Self> {
        // SAFETY: as promised by the caller; only a conditional branch is asked for its condition.
        unsafe {
            let end = LLVMGetBasicBlockTerminator(block);
            let is_branch = !LLVMIsABranchInst(end).is_null() && LLVMIsConditional(end) != 0;
            let first = likely(end).filter(|_| is_branch)?;
            let check = Check::Condition(LLVMGetCondition(end), first);
            let [a, b] = [LLVMGetSuccessor(end, 0), LLVMGetSuccessor(end, 1)];
            let (near, far) = if first { (a, b) } else { (b, a) };
            let next = |between| match ir::successors(between)[..] {
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
            let plain = |between| {
                let all = ir::instructions_of(between);
                all[..all.len() - 1].iter().all(|&it| is_harmless(it))
            };
            let fits = step.join != block && has_predecessors(step.join, &from);
            (fits && step.likely.is_none_or(plain)).then_some(step)
        }
    }
}

/// The speculated code, while it is built.
struct Speculation {
    module: LLVMModuleRef,
    builder: LLVMBuilderRef,
    /// The clones of the superblock's values.
    values: HashMap<LLVMValueRef, LLVMValueRef>,
    /// Conditions that hold unless a rare case occurs.
    guards: Vec<LLVMValueRef>,
}

impl Speculation {
    fn value(&self, value: LLVMValueRef) -> LLVMValueRef {
        self.values.get(&value).copied().unwrap_or(value)
    }

    /// Adds the clone of an instruction whose predecessor on the fast path is `from`.
    ///
    /// # Safety
    /// The instruction is a live one of the superblock, and those before it were added.
    unsafe fn add(&mut self, instruction: LLVMValueRef, from: LLVMBasicBlockRef) {
        // SAFETY: as promised by the caller; each index is below the number of the instruction's operands.
        unsafe {
            if !LLVMIsATerminatorInst(instruction).is_null() || is_assumption(instruction) {
                return;
            }
            if ir::opcode(instruction) == Some(LLVMOpcode::LLVMPHI) {
                if let Some(value) = ir::incoming(instruction, from) {
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
                    self.value(LLVMGetOperand(instruction, if first { 1 } else { 2 }))
                }
                None => self.clone(instruction),
            };
            self.values.insert(instruction, clone);
        }
    }

    /// # Safety
    /// As for [`add`](Self::add).
    unsafe fn clone(&self, instruction: LLVMValueRef) -> LLVMValueRef {
        // SAFETY: as promised by the caller.
        unsafe {
            let clone = LLVMInstructionClone(instruction);
            LLVMInsertIntoBuilder(self.builder, clone);
            for index in 0..LLVMGetNumOperands(clone) as u32 {
                LLVMSetOperand(clone, index, self.value(LLVMGetOperand(clone, index)));
            }
            if ir::opcode(clone) == Some(LLVMOpcode::LLVMCall) {
                // The value of a rare case may be poison.
                for place in 0..=LLVMGetNumArgOperands(clone) {
                    LLVMRemoveCallSiteEnumAttribute(clone, place, ir::enum_kind("noundef"));
                }
            }
            clone
        }
    }

    /// Adds a guard: a condition of the superblock.
    unsafe fn require(&mut self, condition: LLVMValueRef, value: bool) {
        // SAFETY: the condition is live, and its clone was added or stands before the superblock.
        unsafe {
            let mut condition = self.value(condition);
            if !value {
                condition = LLVMBuildNot(self.builder, condition, c"".as_ptr());
            }
            self.guards.push(condition);
        }
    }

    /// Whether all guards hold.
    unsafe fn all(&self) -> LLVMValueRef {
        let joined = self.guards.iter().fold(None, |all, &guard| {
            // SAFETY: the guards are live conditions of the speculated code.
            unsafe {
                let guard = LLVMBuildFreeze(self.builder, guard, c"".as_ptr());
                Some(match all {
                    Some(all) => LLVMBuildAnd(self.builder, all, guard, c"".as_ptr()),
                    None => guard,
                })
            }
        });
        joined.expect("a superblock has guards")
    }
}

/// The rare case of an instruction.
///
/// # Safety
/// The instruction is live.
unsafe fn check(instruction: LLVMValueRef) -> Option<Check> {
    // SAFETY: as promised by the caller; a selection has three operands, a division two, a call of the function one.
    unsafe {
        match ir::opcode(instruction)? {
            LLVMOpcode::LLVMSelect => {
                let first = likely(instruction)?;
                let condition = LLVMGetOperand(instruction, 0);
                let is_one =
                    LLVMGetTypeKind(LLVMTypeOf(condition)) != LLVMTypeKind::LLVMVectorTypeKind;
                is_one.then_some(Check::Condition(condition, first))
            }
            _ => Approximation::of(instruction).map(Check::Approximation),
        }
    }
}

fn distinct(checks: Vec<Check>) -> Vec<Check> {
    let mut all = Vec::new();
    for check in checks {
        if !all.contains(&check) {
            all.push(check);
        }
    }
    all
}

/// Which side of a branch or a selection is nearly always taken: true for the one where the condition holds.
unsafe fn likely(instruction: LLVMValueRef) -> Option<bool> {
    // SAFETY: the instruction is live; the node's operands are counted.
    unsafe {
        let node = metadata(instruction, "prof");
        if node.is_null() {
            return None;
        }
        let mut operands = vec![std::ptr::null_mut(); LLVMGetMDNodeNumOperands(node) as usize];
        LLVMGetMDNodeOperands(node, operands.as_mut_ptr());
        let number = |&operand: &LLVMValueRef| {
            let is_number = !operand.is_null() && !LLVMIsAConstantInt(operand).is_null();
            is_number.then(|| LLVMConstIntGetZExtValue(operand))
        };
        let weights: Vec<u64> = operands.iter().filter_map(number).collect();
        match weights[..] {
            [a, b] if a >= b.max(1).saturating_mul(LIKELY) => Some(true),
            [a, b] if b >= a.max(1).saturating_mul(LIKELY) => Some(false),
            _ => None,
        }
    }
}

unsafe fn set_likely(context: LLVMContextRef, branch: LLVMValueRef) {
    // SAFETY: the branch is a live one with a condition, of the context.
    unsafe {
        let name = "branch_weights";
        let name = LLVMMDStringInContext2(context, name.as_ptr().cast(), name.len());
        let number =
            |value| LLVMValueAsMetadata(LLVMConstInt(LLVMInt32TypeInContext(context), value, 0));
        let mut parts = [name, number(2000), number(1)];
        let node = LLVMMDNodeInContext2(context, parts.as_mut_ptr(), parts.len());
        let node = LLVMMetadataAsValue(context, node);
        let kind = LLVMGetMDKindIDInContext(context, c"prof".as_ptr(), 4);
        LLVMSetMetadata(branch, kind, node);
    }
}

/// Whether an instruction only computes, and is never undefined.
fn is_harmless(instruction: LLVMValueRef) -> bool {
    use LLVMOpcode::*;
    if ir::is_integer_arithmetic(instruction) {
        return true;
    }
    match ir::opcode(instruction) {
        Some(LLVMCall) => {
            /// Pure intrinsics, up to the first type in their names.
            const PURE: [&str; 14] = [
                "assume", "fma", "fabs", "sqrt", "copysign", "minnum", "maxnum", "floor", "trunc",
                "rint", "umin", "umax", "smin", "smax",
            ];
            ir::callee(instruction).is_some_and(|callee| {
                let name = ir::name_of(callee);
                let name = name.strip_prefix("llvm.").unwrap_or_default();
                PURE.contains(&name.split('.').next().unwrap_or_default())
            })
        }
        Some(
            LLVMPHI | LLVMFAdd | LLVMFSub | LLVMFMul | LLVMFDiv | LLVMFNeg | LLVMFCmp | LLVMFPToSI
            | LLVMFPToUI | LLVMSIToFP | LLVMUIToFP | LLVMFPTrunc | LLVMFPExt | LLVMGetElementPtr
            | LLVMIntToPtr | LLVMAddrSpaceCast | LLVMFreeze | LLVMExtractValue,
        ) => true,
        _ => false,
    }
}

fn is_assumption(instruction: LLVMValueRef) -> bool {
    ir::callee(instruction).is_some_and(|callee| ir::name_of(callee) == "llvm.assume")
}

/// Whether all predecessors of a block are among these blocks.
unsafe fn has_predecessors(block: LLVMBasicBlockRef, from: &[LLVMBasicBlockRef]) -> bool {
    // SAFETY: the block is live, so its users are; those that are instructions are terminators.
    unsafe {
        ir::users(LLVMBasicBlockAsValue(block)).into_iter().all(|user| {
            ir::opcode(user).is_some() && from.contains(&LLVMGetInstructionParent(user))
        })
    }
}

/// Splits a block before an instruction: what stands before it moves to a new block, which takes over the old one's predecessors.
///
/// # Safety
/// The instruction stands in a live function, after its block's phis.
unsafe fn split_before(instruction: LLVMValueRef, builder: LLVMBuilderRef) -> LLVMBasicBlockRef {
    // SAFETY: as promised by the caller; a block's users that are instructions are terminators, each index is below the number of
    // successors, and instructions move in their order.
    unsafe {
        let block = LLVMGetInstructionParent(instruction);
        let context = LLVMGetTypeContext(LLVMTypeOf(instruction));
        let head = LLVMInsertBasicBlockInContext(context, block, c"".as_ptr());
        for user in ir::users(LLVMBasicBlockAsValue(block)) {
            if ir::opcode(user).is_some() {
                for index in 0..LLVMGetNumSuccessors(user) {
                    if LLVMGetSuccessor(user, index) == block {
                        LLVMSetSuccessor(user, index, head);
                    }
                }
            }
        }
        LLVMPositionBuilderAtEnd(builder, head);
        for moved in ir::instructions_of(block).into_iter().take_while(|&it| it != instruction) {
            let name = CString::new(ir::name_of(moved)).unwrap_or_default();
            LLVMInstructionRemoveFromParent(moved);
            LLVMInsertIntoBuilderWithName(builder, moved, name.as_ptr());
        }
        LLVMBuildBr(builder, block);
        head
    }
}

/// Replaces the uses of a value outside of blocks.
///
/// # Safety
/// Both are live values of one function, and of one type.
unsafe fn replace_outside(
    value: LLVMValueRef,
    new: LLVMValueRef,
    blocks: &HashSet<LLVMBasicBlockRef>,
) {
    // SAFETY: as promised by the caller; the users of an instruction are instructions, and each index is below the number of operands.
    unsafe {
        for user in ir::users(value) {
            for index in 0..LLVMGetNumOperands(user) as u32 {
                if LLVMGetOperand(user, index) == value
                    && !blocks.contains(&ir::used_at(user, index))
                {
                    LLVMSetOperand(user, index, new);
                }
            }
        }
    }
}

/// Removes what a block computes for nobody.
unsafe fn remove_unused(block: LLVMBasicBlockRef) {
    for instruction in ir::instructions_of(block).into_iter().rev() {
        if is_harmless(instruction) && ir::users(instruction).is_empty() {
            // SAFETY: it is live, nobody uses it, and it does nothing.
            unsafe { LLVMInstructionEraseFromParent(instruction) };
        }
    }
}
