//! Compares indices with lengths below 2^31 in 32 bits. Runs in stage 2 after optimisation, for
//! GPUs.
//!
//! Before:
//! ```llvm
//!   %len = zext nneg i32 %len.32 to i64
//!   %width = zext nneg i32 %width.32 to i64
//!   %last = add nsw i64 %width, -1
//!   %at.last = icmp eq i64 %last, %x                      ; %x = zext nneg i32 %x.32 to i64
//!   …
//!   %a.inside = icmp ult i64 %a, %len                     ; %a is any number
//!   %b = add i64 %a, %width
//!   %b.inside = icmp ult i64 %b, %len
//!   %both = select i1 %a.inside, i1 %b.inside, i1 false
//!   br i1 %both, label %inside, label %panic
//! inside:
//!   %a.at = getelementptr float, ptr %p, i64 %a
//!   %b.at = getelementptr float, ptr %p, i64 %b
//! ```
//! After:
//! ```llvm
//!   %last.32 = add i32 %width.32, -1
//!   %at.last = icmp eq i32 %last.32, %x.32
//!   …
//!   %a.inside = icmp ult i64 %a, %len
//!   %a.32 = trunc i64 %a to i32
//!   %b.32 = add i32 %a.32, %width.32
//!   %b.inside = icmp ult i32 %b.32, %len.32
//!   %both = select i1 %a.inside, i1 %b.inside, i1 false
//!   br i1 %both, label %inside, label %panic
//! inside:
//!   %a.wide = zext nneg i32 %a.32 to i64
//!   %a.at = getelementptr float, ptr %p, i64 %a.wide
//!   %b.wide = zext nneg i32 %b.32 to i64
//!   %b.at = getelementptr float, ptr %p, i64 %b.wide
//! ```
//!
//! A GPU has 32-bit registers: a 64-bit addition or comparison takes two instructions, and so does
//! an address with a 64-bit index; with a 32-bit index it takes one.
//!
//! **Why it is sound.** The first check says that `%a` is below 2^31. A value that differs from it
//! by at most 2^31 is between -2^31 and 2^32: if it is negative, its lower 32 bits are 2^31 or
//! more, and so out of bounds as well. If the first check fails, the others do not matter. Where
//! all have held, an index equals its lower 32 bits.
//!
//! **Two address steps** in one block, `p + y * width` and then `x` more, become one step by the
//! sum of both: a multiply-add. Factors are extended in the block of their product, since LLVM
//! matches a 32 x 32 to 64 multiplication per block.

use std::collections::{HashMap, HashSet};

use inkwell::module::Module;
use llvm_sys::core::*;
use llvm_sys::prelude::*;
use llvm_sys::{LLVMIntPredicate, LLVMOpcode, LLVMTypeKind};

use crate::ir;

/// How deep sums are looked into.
const DEPTH: usize = 4;

/// 2^31 and 2^32.
const HALF: i128 = 1 << 31;
const FULL: i128 = 1 << 32;

/// Runs the pass over a module.
pub fn run(module: &Module<'_>) {
    // SAFETY: the module is live and held by the caller.
    unsafe { run_raw(module.as_mut_ptr()) };
}

/// Runs the pass over a module.
///
/// # Safety
/// The module is live, and nobody else changes it during the call.
pub unsafe fn run_raw(module: LLVMModuleRef) {
    for function in ir::functions(module).into_iter().filter(|it| !ir::blocks(*it).is_empty()) {
        // SAFETY: as promised by the caller; instructions of a list are live, since what is removed is not in it any more.
        unsafe {
            let builder = LLVMCreateBuilderInContext(LLVMGetModuleContext(module));
            let mut narrow = Narrow { builder, made: HashMap::new(), checks: HashMap::new() };
            for instruction in ir::instructions(function) {
                narrow.compare_small(instruction);
            }
            for instruction in ir::instructions(function) {
                narrow.compare_near(instruction);
            }
            for block in ir::blocks(function) {
                narrow.indices(block);
                join_steps(block, builder);
                extend_here(block, builder);
            }
            LLVMDisposeBuilder(builder);
        }
    }
}

/// The least and the largest number that a value can be, as one with a sign.
type Range = (i128, i128);

/// What a number of 64 bits can be at most, if that is known.
fn range(value: LLVMValueRef, depth: usize) -> Option<Range> {
    // SAFETY: the value is a live integer; operands are asked of instructions that have them.
    unsafe {
        if !LLVMIsAConstantInt(value).is_null() {
            let number = i128::from(LLVMConstIntGetSExtValue(value));
            return Some((number, number));
        }
        match ir::opcode(value)? {
            LLVMOpcode::LLVMZExt => {
                let width = LLVMGetIntTypeWidth(LLVMTypeOf(LLVMGetOperand(value, 0)));
                let width = if LLVMGetNNeg(value) != 0 { width - 1 } else { width };
                (width <= 32).then(|| (0, (1 << width) - 1))
            }
            opcode @ (LLVMOpcode::LLVMAdd | LLVMOpcode::LLVMSub) if depth > 0 => {
                let a = range(LLVMGetOperand(value, 0), depth - 1)?;
                let b = range(LLVMGetOperand(value, 1), depth - 1)?;
                // Each part is small (2^32 at most) or a constant, so a sum that is in 63 bits did not wrap.
                let (low, high) = match opcode {
                    LLVMOpcode::LLVMAdd => (a.0 + b.0, a.1 + b.1),
                    _ => (a.0 - b.1, a.1 - b.0),
                };
                (low > -(1 << 62) && high < 1 << 62).then_some((low, high))
            }
            _ => None,
        }
    }
}

/// A value, and those that it is some way from: each with how far it can be.
fn bases(value: LLVMValueRef) -> Vec<(LLVMValueRef, Range)> {
    let mut all = vec![(value, (0, 0))];
    while all.len() < DEPTH {
        let (at, (low, high)) = all[all.len() - 1];
        // SAFETY: the values are live; a sum and a difference have two operands.
        let next = unsafe {
            match ir::opcode(at) {
                Some(LLVMOpcode::LLVMAdd) => {
                    let (a, b) = (LLVMGetOperand(at, 0), LLVMGetOperand(at, 1));
                    match (range(a, DEPTH), range(b, DEPTH)) {
                        (_, Some(far)) => Some((a, (low + far.0, high + far.1))),
                        (Some(far), None) => Some((b, (low + far.0, high + far.1))),
                        (None, None) => None,
                    }
                }
                Some(LLVMOpcode::LLVMSub) => range(LLVMGetOperand(at, 1), DEPTH)
                    .map(|far| (LLVMGetOperand(at, 0), (low - far.1, high - far.0))),
                _ => None,
            }
        };
        let Some(next) = next else { break };
        all.push(next);
    }
    all
}

/// A check of an index: `index < length`, where the length is below 2^31.
#[derive(Clone, Copy)]
struct Check {
    index: LLVMValueRef,
    length: LLVMValueRef,
}

/// The check that a condition is.
fn check(condition: LLVMValueRef) -> Option<Check> {
    // SAFETY: the condition is live; only a comparison is asked for its predicate and operands.
    unsafe {
        if ir::opcode(condition) != Some(LLVMOpcode::LLVMICmp)
            || LLVMGetICmpPredicate(condition) != LLVMIntPredicate::LLVMIntULT
        {
            return None;
        }
        let [index, length] = [LLVMGetOperand(condition, 0), LLVMGetOperand(condition, 1)];
        let (low, high) = range(length, DEPTH).filter(|_| is_long(index))?;
        (low >= 0 && high < HALF).then_some(Check { index, length })
    }
}

fn is_long(value: LLVMValueRef) -> bool {
    // SAFETY: the value is live; only an integer is asked for its width.
    unsafe {
        let ty = LLVMTypeOf(value);
        LLVMGetTypeKind(ty) == LLVMTypeKind::LLVMIntegerTypeKind && LLVMGetIntTypeWidth(ty) == 64
    }
}

/// The two conditions that a condition joins: if the first does not hold, the second does not matter.
fn joined(condition: LLVMValueRef) -> Option<[LLVMValueRef; 2]> {
    // SAFETY: the condition is live; a selection has three operands, a conjunction two.
    unsafe {
        match ir::opcode(condition)? {
            LLVMOpcode::LLVMSelect => {
                let never = LLVMGetOperand(condition, 2);
                let is_false = !LLVMIsAConstantInt(never).is_null()
                    && LLVMGetIntTypeWidth(LLVMTypeOf(never)) == 1
                    && LLVMConstIntGetZExtValue(never) == 0;
                is_false.then(|| [LLVMGetOperand(condition, 0), LLVMGetOperand(condition, 1)])
            }
            LLVMOpcode::LLVMAnd => {
                let ty = LLVMTypeOf(condition);
                let is_condition = LLVMGetTypeKind(ty) == LLVMTypeKind::LLVMIntegerTypeKind
                    && LLVMGetIntTypeWidth(ty) == 1;
                is_condition.then(|| [LLVMGetOperand(condition, 0), LLVMGetOperand(condition, 1)])
            }
            _ => None,
        }
    }
}

/// What there is of values in 32 bits.
struct Narrow {
    builder: LLVMBuilderRef,
    made: HashMap<LLVMValueRef, LLVMValueRef>,
    /// What conditions of 32 bits check.
    checks: HashMap<LLVMValueRef, Check>,
}

impl Narrow {
    /// The checks that hold if a condition does.
    fn checks(&self, condition: LLVMValueRef) -> Vec<Check> {
        let (mut all, mut open) = (Vec::new(), vec![condition]);
        while let Some(condition) = open.pop() {
            match joined(condition) {
                Some([first, second]) => open.extend([second, first]),
                None => {
                    all.extend(self.checks.get(&condition).copied().or_else(|| check(condition)))
                }
            }
        }
        all
    }

    /// The lower 32 bits of a number of 64 that is there anyway.
    ///
    /// # Safety
    /// As for [`low`](Self::low).
    unsafe fn lower_half(&mut self, value: LLVMValueRef) -> LLVMValueRef {
        // SAFETY: as promised by the caller.
        unsafe {
            let is_sum =
                matches!(ir::opcode(value), Some(LLVMOpcode::LLVMAdd | LLVMOpcode::LLVMSub));
            if !is_sum || self.made.contains_key(&value) {
                return self.low(value);
            }
            self.stand_behind(value);
            let ty = LLVMInt32TypeInContext(LLVMGetTypeContext(LLVMTypeOf(value)));
            let half = LLVMBuildTrunc(self.builder, value, ty, c"".as_ptr());
            self.made.insert(value, half);
            half
        }
    }

    /// The lower 32 bits of a number of 64, computed right behind it.
    ///
    /// # Safety
    /// The number is one of a live function.
    unsafe fn low(&mut self, value: LLVMValueRef) -> LLVMValueRef {
        if let Some(&made) = self.made.get(&value) {
            return made;
        }
        // SAFETY: as promised by the caller; what is computed from a value's operands may stand behind the value.
        unsafe {
            let context = LLVMGetTypeContext(LLVMTypeOf(value));
            let ty = LLVMInt32TypeInContext(context);
            if !LLVMIsAConstantInt(value).is_null() {
                return LLVMConstInt(ty, LLVMConstIntGetZExtValue(value) & 0xFFFF_FFFF, 0);
            }
            let made = match ir::opcode(value) {
                Some(LLVMOpcode::LLVMZExt) => {
                    let narrow = LLVMGetOperand(value, 0);
                    match LLVMGetIntTypeWidth(LLVMTypeOf(narrow)) {
                        32 => narrow,
                        _ => {
                            self.stand_behind(value);
                            LLVMBuildIntCast2(self.builder, narrow, ty, 0, c"".as_ptr())
                        }
                    }
                }
                Some(opcode @ (LLVMOpcode::LLVMAdd | LLVMOpcode::LLVMSub)) => {
                    let a = self.low(LLVMGetOperand(value, 0));
                    let b = self.low(LLVMGetOperand(value, 1));
                    self.stand_behind(value);
                    LLVMBuildBinOp(self.builder, opcode, a, b, c"".as_ptr())
                }
                _ => {
                    self.stand_behind(value);
                    LLVMBuildTrunc(self.builder, value, ty, c"".as_ptr())
                }
            };
            self.made.insert(value, made);
            made
        }
    }

    /// Lets what is built come behind a value.
    unsafe fn stand_behind(&self, value: LLVMValueRef) {
        // SAFETY: the value is an instruction, which is no terminator since it has a value (no function of a device unwinds), or a
        // parameter of a function that has blocks.
        unsafe {
            let mut place = if ir::opcode(value).is_some() {
                LLVMGetNextInstruction(value)
            } else {
                LLVMGetFirstInstruction(LLVMGetEntryBasicBlock(LLVMGetParamParent(value)))
            };
            while ir::opcode(place) == Some(LLVMOpcode::LLVMPHI) {
                place = LLVMGetNextInstruction(place);
            }
            LLVMPositionBuilderBefore(self.builder, place);
        }
    }

    /// Compares in 32 bits what is small on both sides.
    unsafe fn compare_small(&mut self, comparison: LLVMValueRef) {
        use LLVMIntPredicate::*;
        // SAFETY: the comparison is a live instruction; only a comparison is asked for its predicate and operands.
        unsafe {
            if ir::opcode(comparison) != Some(LLVMOpcode::LLVMICmp) {
                return;
            }
            let [a, b] = [LLVMGetOperand(comparison, 0), LLVMGetOperand(comparison, 1)];
            let is_sum = |value| {
                matches!(ir::opcode(value), Some(LLVMOpcode::LLVMAdd | LLVMOpcode::LLVMSub))
            };
            if !is_long(a) || !(is_sum(a) || is_sum(b)) {
                return;
            }
            let (Some(x), Some(y)) = (range(a, DEPTH), range(b, DEPTH)) else { return };
            let (least, most) = (x.0.min(y.0), x.1.max(y.1));
            let predicate = LLVMGetICmpPredicate(comparison);
            let fits = match predicate {
                LLVMIntEQ | LLVMIntNE => most - least < FULL,
                LLVMIntULT | LLVMIntULE | LLVMIntUGT | LLVMIntUGE => least >= 0 && most < FULL,
                _ => least >= -HALF && most < HALF,
            };
            if fits {
                let (a, b) = (self.low(a), self.low(b));
                LLVMPositionBuilderBefore(self.builder, comparison);
                let new = LLVMBuildICmp(self.builder, predicate, a, b, c"".as_ptr());
                LLVMReplaceAllUsesWith(comparison, new);
                LLVMInstructionEraseFromParent(comparison);
            }
        }
    }

    /// Makes a check in 32 bits if another one, which it is joined to, says that its index is near.
    unsafe fn compare_near(&mut self, join: LLVMValueRef) {
        let Some([first, second]) = joined(join) else { return };
        let Some(near) = check(second) else { return };
        let from = bases(near.index);
        let is_near = |known: &Check| {
            let others = bases(known.index);
            let common = from.iter().find_map(|&(base, far)| {
                others.iter().find(|(other, _)| *other == base).map(|&(_, other)| (far, other))
            });
            common.is_some_and(|(far, other)| {
                known.index != near.index && far.0 - other.1 >= -HALF && far.1 - other.0 <= HALF
            })
        };
        let known = self.checks(first);
        let Some(known) = known.into_iter().find(is_near) else { return };
        // SAFETY: the conditions are live instructions. The new one stands behind the index, the length and so the old one's operands,
        // where the old one is.
        unsafe {
            self.lower_half(known.index);
            let (index, length) = (self.low(near.index), self.low(near.length));
            LLVMPositionBuilderBefore(self.builder, second);
            let less = LLVMIntPredicate::LLVMIntULT;
            let new = LLVMBuildICmp(self.builder, less, index, length, c"".as_ptr());
            self.checks.insert(new, near);
            LLVMSetOperand(join, 1, new);
            if ir::users(second).is_empty() {
                LLVMInstructionEraseFromParent(second);
            }
        }
    }

    /// Has addresses of a block be computed from 32 bits where the way there says that an index has no more.
    unsafe fn indices(&mut self, block: LLVMBasicBlockRef) {
        // SAFETY: the block is live; only a conditional branch is asked for its condition.
        unsafe {
            let users = ir::users(LLVMBasicBlockAsValue(block));
            let [branch] = users[..] else { return };
            if LLVMIsABranchInst(branch).is_null()
                || LLVMIsConditional(branch) == 0
                || LLVMGetSuccessor(branch, 0) != block
            {
                return;
            }
            let known = self.checks(LLVMGetCondition(branch));
            let known = known.into_iter().map(|check| check.index).collect();
            for address in ir::instructions_of(block) {
                let Some((_, index, _)) = ir::element(address) else { continue };
                if let Some(wide) = self.wide(index, &known, address) {
                    LLVMSetOperand(address, 1, wide);
                }
            }
        }
    }

    /// An index that is known to have 31 bits, made of them before an instruction. One that is a constant from another one stays so.
    unsafe fn wide(
        &mut self,
        index: LLVMValueRef,
        known: &HashSet<LLVMValueRef>,
        before: LLVMValueRef,
    ) -> Option<LLVMValueRef> {
        // SAFETY: the index is live and comes before the instruction; a sum has two operands.
        unsafe {
            if !known.contains(&index) || ir::opcode(index) == Some(LLVMOpcode::LLVMZExt) {
                return None;
            }
            if ir::opcode(index) == Some(LLVMOpcode::LLVMAdd) {
                let (base, far) = (LLVMGetOperand(index, 0), LLVMGetOperand(index, 1));
                if !LLVMIsAConstantInt(far).is_null() && known.contains(&base) {
                    let base = self.wide(base, known, before)?;
                    return Some(LLVMBuildNSWAdd(self.builder, base, far, c"".as_ptr()));
                }
            }
            let low = self.lower_half(index);
            LLVMPositionBuilderBefore(self.builder, before);
            let wide = LLVMBuildZExt(self.builder, low, LLVMTypeOf(index), c"".as_ptr());
            LLVMSetNNeg(wide, 1);
            Some(wide)
        }
    }
}

/// Joins two steps of an address, the first of which is a product, where nobody else needs the place between.
unsafe fn join_steps(block: LLVMBasicBlockRef, builder: LLVMBuilderRef) {
    for address in ir::instructions_of(block) {
        // SAFETY: the instructions are live: what is removed comes before what is looked at; both addresses are of one block, and
        // indices of one type are added.
        unsafe {
            let Some((between, second, size)) = ir::element(address) else { continue };
            let Some((base, first, same)) = ir::element(between) else { continue };
            if size != same
                || !is_long(first)
                || !is_long(second)
                || ir::opcode(first) != Some(LLVMOpcode::LLVMMul)
                || !LLVMIsAConstantInt(second).is_null()
                || LLVMGetInstructionParent(between) != block
                || ir::users(between).len() != 1
            {
                continue;
            }
            LLVMPositionBuilderBefore(builder, address);
            let index = LLVMBuildAdd(builder, first, second, c"".as_ptr());
            let ty = LLVMGetGEPSourceElementType(address);
            let mut indices = [index];
            let new = LLVMBuildGEP2(builder, ty, base, indices.as_mut_ptr(), 1, c"".as_ptr());
            LLVMReplaceAllUsesWith(address, new);
            LLVMInstructionEraseFromParent(address);
            LLVMInstructionEraseFromParent(between);
        }
    }
}

/// Has factors be extended where they are multiplied, if that is in another block. What is extended is frozen first, which is no
/// instruction, or LLVM would see that it has been extended already. Products that may share something with others stay.
unsafe fn extend_here(block: LLVMBasicBlockRef, builder: LLVMBuilderRef) {
    for product in ir::instructions_of(block) {
        if ir::opcode(product) != Some(LLVMOpcode::LLVMMul) || !is_long(product) {
            continue;
        }
        // SAFETY: the instruction is live and has two operands; what an operand is extended from comes before it.
        unsafe {
            for (place, other) in [(0, 1), (1, 0)] {
                let (wide, other) =
                    (LLVMGetOperand(product, place), LLVMGetOperand(product, other));
                let is_alone = ir::users(other)
                    .into_iter()
                    .all(|user| user == product || ir::opcode(user) != Some(LLVMOpcode::LLVMMul));
                if ir::opcode(wide) == Some(LLVMOpcode::LLVMZExt)
                    && LLVMGetInstructionParent(wide) != block
                    && ir::opcode(other) == Some(LLVMOpcode::LLVMZExt)
                    && is_alone
                {
                    LLVMPositionBuilderBefore(builder, product);
                    let narrow = LLVMBuildFreeze(builder, LLVMGetOperand(wide, 0), c"".as_ptr());
                    let new = LLVMBuildZExt(builder, narrow, LLVMTypeOf(wide), c"".as_ptr());
                    LLVMSetOperand(product, place, new);
                }
            }
        }
    }
}
