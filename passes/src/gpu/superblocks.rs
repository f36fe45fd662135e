//! Detours that few values take are left for later: what nearly all take runs straight on, and one branch behind it looks back.
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
//! Where work-items of a group may part, a GPU notes where they meet again and waits there, for each branch; and what stands before a
//! branch is not mixed with what stands behind it. A function's detour is its branch or its selection with weights that say that
//! hardly anything goes there. Reciprocals and square roots have theirs inside of the instruction that rounds correctly: PTX's `rcp.rn`
//! and `sqrt.rn` come to an approximation, a step of Newton's that rounds correctly, and a branch for numbers that the step is
//! not right for. The step is made here, where one comparison of its result finds those numbers.
//!
//! What is done once too often must do nothing but compute: so the road ends before memory is read or written, and before everything
//! that may be undefined for values that should have taken a detour. Conditions are frozen, since later ones may come from
//! such values.

use std::collections::{HashMap, HashSet};
use std::ffi::CString;

use inkwell::module::Module;
use llvm_sys::core::*;
use llvm_sys::prelude::*;
use llvm_sys::{LLVMOpcode, LLVMRealPredicate, LLVMTypeKind};

use crate::ir;

/// A way is likely if it is taken so many times as often as the other one.
const LIKELY: u64 = 256;

/// How many things must be looked back for, at least.
const CHECKS: usize = 2;

/// How many instructions are there twice afterwards, at most.
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
            // What is behind a road stays in the block that it was in.
            while let Some(begin) = next.filter(|block| !seen.contains(block)) {
                // SAFETY: as promised by the caller; blocks stay when roads are built.
                next = unsafe { Road::find(begin) }.map(|road| {
                    seen.extend(road.blocks.iter().chain(&road.sides));
                    let end = road.behind;
                    // SAFETY: as promised by the caller; nothing was changed since the road was found.
                    unsafe { road.straighten(module) };
                    seen.remove(&end);
                    end
                });
            }
        }
    }
}

/// Something that is not as it nearly always is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Check {
    /// The condition should have this value.
    Condition(LLVMValueRef, bool),
    /// `1 / x`: the division.
    Reciprocal(LLVMValueRef),
    /// The call of `llvm.sqrt.f32`.
    Root(LLVMValueRef),
}

/// Instructions that run one after another if all is as it nearly always is.
struct Road {
    /// The first instruction.
    start: LLVMValueRef,
    /// The first instruction behind the last one, and its block.
    end: LLVMValueRef,
    behind: LLVMBasicBlockRef,
    /// The blocks that the road goes through; the first and the last may be the same.
    blocks: Vec<LLVMBasicBlockRef>,
    /// The blocks of detours.
    sides: Vec<LLVMBasicBlockRef>,
    checks: Vec<Check>,
}

impl Road {
    /// The first road with enough checks that begins in a block.
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
                let road = if LLVMIsATerminatorInst(instruction).is_null() {
                    Self::within(first, &run)
                } else {
                    Self::along(first, &run)
                };
                if road.is_some() {
                    return road;
                }
                run.clear();
            }
            None
        }
    }

    /// The road in one block, through instructions that follow on each other.
    unsafe fn within(block: LLVMBasicBlockRef, run: &[LLVMValueRef]) -> Option<Self> {
        // SAFETY: the instructions are live; each stands before its block's terminator.
        unsafe {
            let found = |&instruction: &LLVMValueRef| check(instruction).is_some();
            let (start, last) =
                (run.iter().find(|it| found(it))?, run.iter().rfind(|it| found(it))?);
            let road = Self {
                start: *start,
                end: LLVMGetNextInstruction(*last),
                behind: block,
                blocks: vec![block],
                sides: Vec::new(),
                checks: distinct(run.iter().filter_map(|&it| check(it)).collect()),
            };
            road.is_worth().then_some(road)
        }
    }

    /// The road from a block, which ends in these instructions and a terminator, as far as it goes.
    unsafe fn along(first: LLVMBasicBlockRef, run: &[LLVMValueRef]) -> Option<Self> {
        // SAFETY: the blocks are live.
        unsafe {
            let mut blocks = vec![first];
            let mut sides = Vec::new();
            let mut checks: Vec<Check> = run.iter().filter_map(|&it| check(it)).collect();
            let start = run.iter().copied().find(|&it| check(it).is_some());
            let start = start.unwrap_or(LLVMGetBasicBlockTerminator(first));
            let mut end = None;
            while let Some(step) = Step::from(blocks[blocks.len() - 1])
                && !blocks.contains(&step.join)
            {
                checks.push(step.check);
                blocks.extend(step.likely);
                blocks.push(step.join);
                sides.extend(step.side);
                let all = ir::instructions_of(step.join);
                let harmless = all.iter().take_while(|&&it| is_harmless(it)).count();
                let phis = ir::phis(step.join).len();
                let found = |place: &usize| check(all[*place]).is_some();
                let behind = (phis..harmless).rfind(found).map_or(phis, |last| last + 1);
                checks.extend(all[..behind].iter().filter_map(|&it| check(it)));
                end = Some(all[behind]);
                if harmless + 1 != all.len() {
                    break;
                }
            }
            let Some(end) = end else { return Self::within(first, run) };
            let behind = LLVMGetInstructionParent(end);
            let road = Self { start, end, behind, blocks, sides, checks: distinct(checks) };
            road.is_worth().then_some(road)
        }
    }

    fn is_worth(&self) -> bool {
        let length: usize = self.blocks.iter().map(|&block| ir::instructions_of(block).len()).sum();
        self.checks.len() >= CHECKS && length <= LONGEST
    }

    /// Puts the straight code in front of the road as it is.
    ///
    /// # Safety
    /// The road was found in the module, which is live, and nothing has changed since.
    unsafe fn straighten(self, module: LLVMModuleRef) {
        // SAFETY: as promised by the caller. The parts before and behind the road become blocks of their own, so that the road is whole
        // blocks; the straight code has a twin for each of their values, and stands where only what comes before the road is used.
        unsafe {
            let context = LLVMGetModuleContext(module);
            let builder = LLVMCreateBuilderInContext(context);
            let before = split_before(self.start, builder);
            let last = split_before(self.end, builder);
            let mut blocks = self.blocks;
            if let Some(place) = blocks.iter().rposition(|&block| block == self.behind) {
                blocks[place] = last;
            }
            let function = LLVMGetBasicBlockParent(last);
            let straight = LLVMAppendBasicBlockInContext(context, function, c"".as_ptr());
            LLVMMoveBasicBlockAfter(straight, before);
            LLVMSetSuccessor(LLVMGetBasicBlockTerminator(before), 0, straight);
            LLVMPositionBuilderAtEnd(builder, straight);

            let mut copy = Straight { module, builder, values: HashMap::new(), checks: Vec::new() };
            let mut from = before;
            for &block in &blocks {
                for instruction in ir::instructions_of(block) {
                    copy.add(instruction, from);
                }
                from = block;
            }
            for check in &self.checks {
                if let Check::Condition(condition, value) = *check {
                    copy.require(condition, value);
                }
            }
            let all = copy.all();
            let values = copy.values;
            let branch = LLVMBuildCondBr(builder, all, self.behind, blocks[0]);
            set_likely(context, branch);

            let road: HashSet<LLVMBasicBlockRef> =
                blocks.iter().chain(&self.sides).copied().collect();
            LLVMPositionBuilderBefore(builder, LLVMGetFirstInstruction(self.behind));
            for value in blocks.iter().flat_map(|&block| ir::instructions_of(block)) {
                if ir::uses(value).iter().any(|place| !road.contains(place)) {
                    let both = LLVMBuildPhi(builder, LLVMTypeOf(value), c"".as_ptr());
                    if LLVMCanValueUseFastMathFlags(both) != 0 {
                        LLVMSetFastMathFlags(both, 0);
                    }
                    replace_outside(value, both, &road);
                    let (mut incoming, mut from) = ([value, values[&value]], [last, straight]);
                    LLVMAddIncoming(both, incoming.as_mut_ptr(), from.as_mut_ptr(), 2);
                }
            }
            LLVMDisposeBuilder(builder);
            remove_unused(straight);
        }
    }
}

/// From a block past a detour to where both ways meet again.
struct Step {
    check: Check,
    /// The block between, if there is one.
    likely: Option<LLVMBasicBlockRef>,
    /// The detour's block, if it has one.
    side: Option<LLVMBasicBlockRef>,
    join: LLVMBasicBlockRef,
}

impl Step {
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
                [next] if comes_from(between, &[block]) => Some(next),
                _ => None,
            };
            let step = if next(far) == Some(near) && near != block {
                Self { check, likely: None, side: Some(far), join: near }
            } else {
                let join = next(near)?;
                let side = if far == join { None } else { Some(far) };
                if side.is_some_and(|side| next(side) != Some(join)) {
                    return None;
                }
                Self { check, likely: Some(near), side, join }
            };
            let from = [step.likely.unwrap_or(block), step.side.unwrap_or(block)];
            let plain = |between| {
                let all = ir::instructions_of(between);
                all[..all.len() - 1].iter().all(|&it| is_harmless(it))
            };
            let fits = step.join != block && comes_from(step.join, &from);
            (fits && step.likely.is_none_or(plain)).then_some(step)
        }
    }
}

/// The straight code, while it is built.
struct Straight {
    module: LLVMModuleRef,
    builder: LLVMBuilderRef,
    /// What became of the road's values.
    values: HashMap<LLVMValueRef, LLVMValueRef>,
    /// Conditions that hold where nothing should have taken a detour.
    checks: Vec<LLVMValueRef>,
}

impl Straight {
    fn value(&self, value: LLVMValueRef) -> LLVMValueRef {
        self.values.get(&value).copied().unwrap_or(value)
    }

    /// Adds the twin of an instruction, which is come to from `from`.
    ///
    /// # Safety
    /// The instruction is live and of the road, and those before it on the road were added.
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
            let twin = match check(instruction) {
                Some(Check::Reciprocal(_)) => self.reciprocal(instruction),
                Some(Check::Root(_)) => self.root(instruction),
                Some(Check::Condition(_, first)) => {
                    self.value(LLVMGetOperand(instruction, if first { 1 } else { 2 }))
                }
                None => self.twin(instruction),
            };
            self.values.insert(instruction, twin);
        }
    }

    /// # Safety
    /// As for [`add`](Self::add).
    unsafe fn twin(&self, instruction: LLVMValueRef) -> LLVMValueRef {
        // SAFETY: as promised by the caller.
        unsafe {
            let twin = LLVMInstructionClone(instruction);
            LLVMInsertIntoBuilder(self.builder, twin);
            for index in 0..LLVMGetNumOperands(twin) as u32 {
                LLVMSetOperand(twin, index, self.value(LLVMGetOperand(twin, index)));
            }
            if ir::opcode(twin) == Some(LLVMOpcode::LLVMCall) {
                // What should have taken a detour may be poison.
                for place in 0..=LLVMGetNumArgOperands(twin) {
                    LLVMRemoveCallSiteEnumAttribute(twin, place, ir::enum_kind("noundef"));
                }
            }
            twin
        }
    }

    /// `1 / x` as `rcp.rn` computes it where `x`, its inverse and what is left over are normal numbers. Otherwise what is left over is
    /// no small number: the approximation takes subnormal numbers for zero, and gives zero for them.
    unsafe fn reciprocal(&mut self, division: LLVMValueRef) -> LLVMValueRef {
        // SAFETY: the division is a live one of numbers of 32 bits.
        unsafe {
            let (ty, builder) = (LLVMTypeOf(division), self.builder);
            let x = self.value(LLVMGetOperand(division, 1));
            let one = LLVMConstReal(ty, 1.0);
            let near = self.call("llvm.nvvm.rcp.approx.ftz.f", &mut [x]);
            let negative = LLVMBuildFNeg(builder, x, c"".as_ptr());
            let off = self.call("llvm.fma.f32", &mut [negative, near, one]);
            let inverse = self.call("llvm.fma.f32", &mut [near, off, near]);
            let size = self.call("llvm.fabs.f32", &mut [off]);
            let small = LLVMConstReal(ty, 1.0 / 1024.0);
            let predicate = LLVMRealPredicate::LLVMRealOLT;
            self.checks.push(LLVMBuildFCmp(builder, predicate, size, small, c"".as_ptr()));
            inverse
        }
    }

    /// The root of `x` as `sqrt.rn` computes it where `x` is a number above 2^-101, so that what is left over is not rounded. Otherwise
    /// the result is smaller than that one's root, or none.
    unsafe fn root(&mut self, call: LLVMValueRef) -> LLVMValueRef {
        // SAFETY: the call is a live one, with a number of 32 bits.
        unsafe {
            let (ty, builder) = (LLVMTypeOf(call), self.builder);
            let x = self.value(LLVMGetOperand(call, 0));
            let inverse = self.call("llvm.nvvm.rsqrt.approx.ftz.f", &mut [x]);
            let near = LLVMBuildFMul(builder, x, inverse, c"".as_ptr());
            let half = LLVMBuildFMul(builder, inverse, LLVMConstReal(ty, 0.5), c"".as_ptr());
            let negative = LLVMBuildFNeg(builder, near, c"".as_ptr());
            let off = self.call("llvm.fma.f32", &mut [negative, near, x]);
            let root = self.call("llvm.fma.f32", &mut [off, half, near]);
            let least = LLVMConstReal(ty, (-50.0_f64).exp2());
            let predicate = LLVMRealPredicate::LLVMRealOGE;
            self.checks.push(LLVMBuildFCmp(builder, predicate, root, least, c"".as_ptr()));
            root
        }
    }

    /// Calls a function of numbers of 32 bits.
    unsafe fn call(&self, name: &str, arguments: &mut [LLVMValueRef]) -> LLVMValueRef {
        // SAFETY: the module is live, and the arguments are numbers of 32 bits, which these intrinsics take.
        unsafe {
            let mut types: Vec<LLVMTypeRef> = arguments.iter().map(|&it| LLVMTypeOf(it)).collect();
            let count = types.len() as u32;
            let ty = LLVMFunctionType(types[0], types.as_mut_ptr(), count, 0);
            let function = ir::declare_pure_builtin(self.module, name, ty);
            let nothing = c"".as_ptr();
            LLVMBuildCall2(self.builder, ty, function, arguments.as_mut_ptr(), count, nothing)
        }
    }

    /// Has a condition of the road be checked.
    unsafe fn require(&mut self, condition: LLVMValueRef, value: bool) {
        // SAFETY: the condition is live, and its twin was added or stands before the road.
        unsafe {
            let mut condition = self.value(condition);
            if !value {
                condition = LLVMBuildNot(self.builder, condition, c"".as_ptr());
            }
            self.checks.push(condition);
        }
    }

    /// Whether all checks hold.
    unsafe fn all(&self) -> LLVMValueRef {
        let joined = self.checks.iter().fold(None, |all, &check| {
            // SAFETY: the checks are live conditions of the straight code.
            unsafe {
                let check = LLVMBuildFreeze(self.builder, check, c"".as_ptr());
                Some(match all {
                    Some(all) => LLVMBuildAnd(self.builder, all, check, c"".as_ptr()),
                    None => check,
                })
            }
        });
        joined.expect("a road has checks")
    }
}

/// What is checked instead of an instruction.
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
            LLVMOpcode::LLVMFDiv => {
                let over = LLVMGetOperand(instruction, 0);
                let mut inexact = 0;
                let is_one = !LLVMIsAConstantFP(over).is_null()
                    && LLVMConstRealGetDouble(over, &raw mut inexact) == 1.0;
                (is_one && is_exact(instruction)).then_some(Check::Reciprocal(instruction))
            }
            LLVMOpcode::LLVMCall => {
                let callee = ir::callee(instruction)?;
                let is_root = ir::name_of(callee) == "llvm.sqrt.f32" && is_exact(instruction);
                is_root.then_some(Check::Root(instruction))
            }
            _ => None,
        }
    }
}

/// Whether an operation is one of 32 bits and rounds correctly.
unsafe fn is_exact(operation: LLVMValueRef) -> bool {
    // SAFETY: the operation is a live one of floating-point numbers.
    unsafe {
        LLVMGetTypeKind(LLVMTypeOf(operation)) == LLVMTypeKind::LLVMFloatTypeKind
            && LLVMGetFastMathFlags(operation) == 0
            && metadata(operation, "fpmath").is_null()
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

/// Which of a branch's or a selection's two ways is nearly always taken: the one if the condition is true, or the other.
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

unsafe fn metadata(instruction: LLVMValueRef, kind: &str) -> LLVMValueRef {
    // SAFETY: the instruction is live; the name is passed with its length.
    unsafe {
        let context = LLVMGetTypeContext(LLVMTypeOf(instruction));
        let kind = LLVMGetMDKindIDInContext(context, kind.as_ptr().cast(), kind.len() as u32);
        LLVMGetMetadata(instruction, kind)
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

/// Whether a block is come to from these blocks, and no others.
unsafe fn comes_from(block: LLVMBasicBlockRef, from: &[LLVMBasicBlockRef]) -> bool {
    // SAFETY: the block is live, so its users are; those that are instructions are terminators.
    unsafe {
        ir::users(LLVMBasicBlockAsValue(block)).into_iter().all(|user| {
            ir::opcode(user).is_some() && from.contains(&LLVMGetInstructionParent(user))
        })
    }
}

/// Moves what stands before an instruction of a block to a block of its own, which goes on at the old one and is come to instead of it.
///
/// # Safety
/// The instruction stands in a live function, behind its block's phis.
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
