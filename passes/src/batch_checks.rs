//! Checks that follow each other are made at once, so that the accesses behind them can be too. Runs in stage 2, after optimisation.
//!
//! Before:
//! ```llvm
//!   %first.in = icmp ult i64 %i, %len
//!   br i1 %first.in, label %first, label %panic.first
//! first:
//!   %at = getelementptr float, ptr %p, i64 %i
//!   %x = load float, ptr %at
//!   %j = add i64 %i, 1
//!   %second.in = icmp ult i64 %j, %len
//!   br i1 %second.in, label %second, label %panic.second
//! second:
//!   %next = getelementptr float, ptr %p, i64 %j
//!   %y = load float, ptr %next
//! ```
//! After:
//! ```llvm
//!   %first.in = icmp ult i64 %i, %len
//!   %j = add i64 %i, 1
//!   %second.in = icmp ult i64 %j, %len
//!   %all.in = select i1 %first.in, i1 %second.in, i1 false
//!   br i1 %all.in, label %first, label %checks
//! first:
//!   %at = getelementptr float, ptr %p, i64 %i
//!   %x = load float, ptr %at
//!   br label %second
//! second:
//!   %next = getelementptr float, ptr %p, i64 %j
//!   %y = load float, ptr %next
//!   …
//! checks:                                     ; one of them fails: the blocks as they were, up to the last check
//!   br i1 %first.in, label %first.copy, label %panic.first
//! first.copy:
//!   …
//!   br label %panic.second
//! ```
//!
//! A GPU starts loads in the order of the program and waits where a value is used. Behind a branch that a load's neighbour may not
//! pass, it waits for each; in one block, only once.
//!
//! Nothing else changes: the copy does what was done before the panic, in the same order, and panics at the same place. A chain of
//! checks ends where a condition depends on memory or on what has effects, and before anything `convergent`, which must not be copied.

use std::collections::{HashMap, HashSet};
use std::ffi::{CStr, CString};

use inkwell::module::Module;
use inkwell::values::AsValueRef;
use llvm_sys::core::*;
use llvm_sys::prelude::*;
use llvm_sys::{LLVMAttributeFunctionIndex, LLVMOpcode as Op};

use crate::ir;

/// Instructions that a chain may copy.
const MOST_COPIED: usize = 300;

/// Runs the pass over a module.
pub fn run_on(module: &Module<'_>) {
    for function in module.get_functions() {
        // SAFETY: the module is live and held by the caller.
        unsafe { run(function.as_value_ref()) };
    }
}

/// Runs the pass over a function, and says whether it changed anything.
///
/// # Safety
/// `function` is a function of a live module that nobody else changes during the call.
pub unsafe fn run(function: LLVMValueRef) -> bool {
    let blocks = ir::blocks(function);
    // SAFETY: the blocks are the live function's: none is removed here. A chain is what `Chain::from` found, and nothing has changed
    // since.
    unsafe {
        let checks = blocks.iter().filter_map(|&block| Check::of(block));
        let behind_checks: HashSet<_> = checks.map(|check| check.next).collect();
        let (later, begins): (Vec<_>, Vec<_>) =
            blocks.into_iter().partition(|block| behind_checks.contains(block));
        let mut taken = HashSet::new();
        let mut changed = false;
        for mut block in begins.into_iter().chain(later) {
            while !taken.contains(&block)
                && let Some(first) = Check::of(block)
            {
                let chain = Chain::from(first);
                taken.extend(chain.checks.iter().map(|check| check.block));
                let Some(last) = chain.checks.last() else { break };
                block = last.next;
                if chain.checks.len() > 1 {
                    chain.batch();
                    changed = true;
                }
            }
        }
        changed
    }
}

/// A block that ends in a choice between going on and a panic.
#[derive(Clone, Copy)]
struct Check {
    block: LLVMBasicBlockRef,
    condition: LLVMValueRef,
    /// Whether the program goes on if the condition is true.
    if_true: bool,
    next: LLVMBasicBlockRef,
    /// Ends in `unreachable`.
    panic: LLVMBasicBlockRef,
}

impl Check {
    /// # Safety
    /// The block is one of a live function.
    unsafe fn of(block: LLVMBasicBlockRef) -> Option<Self> {
        // SAFETY: as promised by the caller; a branch is asked for its condition if it has one.
        unsafe {
            let end = LLVMGetBasicBlockTerminator(block);
            if ir::opcode(end) != Some(Op::LLVMBr) || LLVMIsConditional(end) == 0 {
                return None;
            }
            let [one, other] = [0, 1].map(|index| LLVMGetSuccessor(end, index));
            let condition = LLVMGetCondition(end);
            let (next, panic, if_true) = match (is_panic(one), is_panic(other)) {
                (false, true) => (one, other, true),
                (true, false) => (other, one, false),
                _ => return None,
            };
            Some(Check { block, condition, if_true, next, panic })
        }
    }
}

/// Whether a block comes to no other, and can be copied.
///
/// # Safety
/// The block is one of a live function.
unsafe fn is_panic(block: LLVMBasicBlockRef) -> bool {
    // SAFETY: as promised by the caller.
    let end = unsafe { LLVMGetBasicBlockTerminator(block) };
    ir::opcode(end) == Some(Op::LLVMUnreachable)
        && ir::instructions_of(block).into_iter().all(can_be_copied)
}

/// Whether an instruction means the same in a place that fewer work-items come to.
fn can_be_copied(instruction: LLVMValueRef) -> bool {
    if ir::opcode(instruction) != Some(Op::LLVMCall) {
        // Nothing of these stands in a block without a name for its address, or is made by stage 1.
        return !matches!(
            ir::opcode(instruction),
            Some(Op::LLVMAlloca | Op::LLVMInvoke | Op::LLVMCallBr | Op::LLVMIndirectBr)
        );
    }
    ["convergent", "noduplicate"].into_iter().all(|name| !has_attribute(instruction, name))
}

/// Whether a call, or the function that it calls, has an attribute.
fn has_attribute(call: LLVMValueRef, name: &str) -> bool {
    let kind = ir::enum_kind(name);
    // SAFETY: `call` is a live call.
    unsafe {
        let at = LLVMAttributeFunctionIndex;
        !LLVMGetCallSiteEnumAttribute(call, at, kind).is_null()
            || ir::callee(call)
                .is_some_and(|function| !LLVMGetEnumAttributeAtIndex(function, at, kind).is_null())
    }
}

/// Whether an instruction has no effect, reads no memory, and can be executed anywhere: at worst its result is poison.
fn is_arithmetic(instruction: LLVMValueRef) -> bool {
    match ir::opcode(instruction) {
        Some(
            Op::LLVMAdd
            | Op::LLVMSub
            | Op::LLVMMul
            | Op::LLVMShl
            | Op::LLVMLShr
            | Op::LLVMAShr
            | Op::LLVMAnd
            | Op::LLVMOr
            | Op::LLVMXor
            | Op::LLVMICmp
            | Op::LLVMSelect
            | Op::LLVMZExt
            | Op::LLVMSExt
            | Op::LLVMTrunc
            | Op::LLVMPtrToInt
            | Op::LLVMIntToPtr
            | Op::LLVMBitCast
            | Op::LLVMAddrSpaceCast
            | Op::LLVMGetElementPtr
            | Op::LLVMExtractValue
            | Op::LLVMFreeze,
        ) => true,
        Some(Op::LLVMCall) => has_attribute(instruction, "speculatable"),
        _ => false,
    }
}

/// Checks, each behind the one before.
struct Chain {
    checks: Vec<Check>,
    /// What the conditions need of the blocks behind the first, in an order in which it can be computed.
    early: Vec<LLVMValueRef>,
}

impl Chain {
    /// The checks that can be made with the first.
    ///
    /// # Safety
    /// The check is one of a live function.
    unsafe fn from(first: Check) -> Self {
        let mut chain = Chain { checks: vec![first], early: Vec::new() };
        let mut blocks = HashSet::from([first.block]);
        let mut copied = 0;
        let mut last = first;
        loop {
            let block = last.next;
            let instructions = ir::instructions_of(block);
            copied += instructions.len();
            // SAFETY: the block is one of the same function.
            let Some(check) = (unsafe { Check::of(block) }) else { break };
            // SAFETY: as above.
            let predecessors = ir::users(unsafe { LLVMBasicBlockAsValue(block) });
            if predecessors.len() != 1
                || copied > MOST_COPIED
                || !instructions.into_iter().all(|instruction| {
                    ir::opcode(instruction) != Some(Op::LLVMPHI) && can_be_copied(instruction)
                })
                || !blocks.insert(block)
            {
                break;
            }
            let mut early = chain.early.clone();
            if !needs(check.condition, &blocks, first.block, &mut early) {
                break;
            }
            chain.early = early;
            chain.checks.push(check);
            last = check;
        }
        chain
    }

    /// Makes all checks in the first block, and what was done between them in a copy that is come to if one fails.
    ///
    /// # Safety
    /// The chain is what [`Self::from`] gave for a function that has not changed since.
    unsafe fn batch(self) {
        let [first, rest @ ..] = &self.checks[..] else { return };
        // SAFETY: as promised by the caller. The instructions that move stand behind the end of the first block and depend on
        // nothing that does not move or stand before; copies are of the same context, and each block gets one terminator.
        unsafe {
            let context = LLVMGetTypeContext(LLVMTypeOf(first.condition));
            let builder = LLVMCreateBuilderInContext(context);
            let end = LLVMGetBasicBlockTerminator(first.block);
            LLVMPositionBuilderBefore(builder, end);
            for instruction in self.early {
                let name = CString::new(ir::name_of(instruction)).unwrap_or_default();
                LLVMInstructionRemoveFromParent(instruction);
                LLVMInsertIntoBuilderWithName(builder, instruction, name.as_ptr());
            }
            // From the last to the first: where a check fails, the conditions of those behind it may be poison.
            let never = LLVMConstInt(LLVMInt1TypeInContext(context), 0, 0);
            let holds = |check: &Check| {
                if check.if_true {
                    check.condition
                } else {
                    LLVMBuildNot(builder, check.condition, c"".as_ptr())
                }
            };
            let last = holds(&self.checks[self.checks.len() - 1]);
            let all = self.checks[..self.checks.len() - 1].iter().rev().fold(last, |all, check| {
                LLVMBuildSelect(builder, holds(check), all, never, c"checks.hold".as_ptr())
            });

            let mut copy = Copy { context, builder, values: HashMap::new() };
            let slow = copy.empty_block(first.block, c"checks");
            let blocks: Vec<_> =
                rest.iter().map(|check| copy.body(check.block, c"checks.copy")).collect();
            let panics = copy.panics(&self.checks, slow, &blocks);
            let sides = std::iter::once(&slow).chain(&blocks);
            for (index, (check, &block)) in self.checks.iter().zip(sides).enumerate() {
                LLVMPositionBuilderAtEnd(builder, block);
                let panic = panics[&check.panic];
                // The conditions stand in the first block, or before it.
                match (blocks.get(index), check.if_true) {
                    // All the others hold, so the last one does not.
                    (None, _) => LLVMBuildBr(builder, panic),
                    (Some(&next), true) => {
                        LLVMBuildCondBr(builder, copy.value(check.condition), next, panic)
                    }
                    (Some(&next), false) => {
                        LLVMBuildCondBr(builder, copy.value(check.condition), panic, next)
                    }
                };
            }

            for check in &self.checks {
                ir::forget_edge(check.panic, check.block);
                LLVMInstructionEraseFromParent(LLVMGetBasicBlockTerminator(check.block));
                LLVMPositionBuilderAtEnd(builder, check.block);
                if check.block == first.block {
                    LLVMBuildCondBr(builder, all, check.next, slow);
                } else {
                    LLVMBuildBr(builder, check.next);
                }
            }
            LLVMDisposeBuilder(builder);
        }
    }
}

/// Whether a condition can be computed at the end of the block `first`. Adds what must be computed there for it, of what stands in the
/// other blocks.
fn needs(
    value: LLVMValueRef,
    blocks: &HashSet<LLVMBasicBlockRef>,
    first: LLVMBasicBlockRef,
    early: &mut Vec<LLVMValueRef>,
) -> bool {
    if ir::opcode(value).is_none() || early.contains(&value) {
        return true;
    }
    // SAFETY: the value is an instruction of a live function.
    unsafe {
        let block = LLVMGetInstructionParent(value);
        if block == first || !blocks.contains(&block) {
            return true;
        }
        if !is_arithmetic(value) {
            return false;
        }
        let operands = 0..LLVMGetNumOperands(value) as u32;
        let all = operands
            .map(|index| LLVMGetOperand(value, index))
            .all(|operand| needs(operand, blocks, first, early));
        if all {
            early.push(value);
        }
        all
    }
}

/// Copies of blocks, and of the values in them.
struct Copy {
    context: LLVMContextRef,
    builder: LLVMBuilderRef,
    values: HashMap<LLVMValueRef, LLVMValueRef>,
}

impl Copy {
    /// A value as the copies know it.
    fn value(&self, value: LLVMValueRef) -> LLVMValueRef {
        self.values.get(&value).copied().unwrap_or(value)
    }

    /// A block at the end of a block's function.
    ///
    /// # Safety
    /// `beside` is a block of a live function.
    unsafe fn empty_block(&self, beside: LLVMBasicBlockRef, name: &CStr) -> LLVMBasicBlockRef {
        // SAFETY: as promised by the caller.
        unsafe {
            let function = LLVMGetBasicBlockParent(beside);
            LLVMAppendBasicBlockInContext(self.context, function, name.as_ptr())
        }
    }

    /// A copy of a block without phi nodes and without its terminator.
    ///
    /// # Safety
    /// The block is one of a live function, and what it takes from blocks that are copied is known already.
    unsafe fn body(&mut self, block: LLVMBasicBlockRef, name: &CStr) -> LLVMBasicBlockRef {
        // SAFETY: as promised by the caller.
        unsafe {
            let copy = self.empty_block(block, name);
            LLVMPositionBuilderAtEnd(self.builder, copy);
            for instruction in ir::instructions_of(block) {
                if instruction != LLVMGetBasicBlockTerminator(block) {
                    self.instruction(instruction);
                }
            }
            copy
        }
    }

    /// A copy of an instruction, where the builder stands.
    ///
    /// # Safety
    /// As for [`Self::body`].
    unsafe fn instruction(&mut self, instruction: LLVMValueRef) {
        // SAFETY: as promised by the caller.
        unsafe {
            let new = LLVMInstructionClone(instruction);
            for index in 0..LLVMGetNumOperands(new) as u32 {
                LLVMSetOperand(new, index, self.value(LLVMGetOperand(instruction, index)));
            }
            LLVMInsertIntoBuilder(self.builder, new);
            self.values.insert(instruction, new);
        }
    }

    /// Copies of the blocks that panic, by what they are copies of. `first` and `rest` come to them as the checks came.
    ///
    /// # Safety
    /// The checks are those of a live function, and their blocks have been copied as `first` and `rest`.
    unsafe fn panics(
        &mut self,
        checks: &[Check],
        first: LLVMBasicBlockRef,
        rest: &[LLVMBasicBlockRef],
    ) -> HashMap<LLVMBasicBlockRef, LLVMBasicBlockRef> {
        let mut panics = HashMap::new();
        for check in checks {
            let block = check.panic;
            if panics.contains_key(&block) {
                continue;
            }
            // SAFETY: as promised by the caller. A phi node has a value for each block that comes to it.
            unsafe {
                let copy = self.empty_block(block, c"checks.panic");
                panics.insert(block, copy);
                let known = self.values.clone();
                LLVMPositionBuilderAtEnd(self.builder, copy);
                for instruction in ir::instructions_of(block) {
                    if ir::opcode(instruction) != Some(Op::LLVMPHI) {
                        self.instruction(instruction);
                        continue;
                    }
                    let ty = LLVMTypeOf(instruction);
                    let phi = LLVMBuildPhi(self.builder, ty, c"".as_ptr());
                    let sides = std::iter::once(&first).chain(rest);
                    for (of, &side) in checks.iter().zip(sides) {
                        let edges = 0..LLVMCountIncoming(instruction);
                        let mut edges = edges
                            .filter(|&index| LLVMGetIncomingBlock(instruction, index) == of.block);
                        if let Some(index) = edges.next().filter(|_| of.panic == block) {
                            let mut value = self.value(LLVMGetIncomingValue(instruction, index));
                            LLVMAddIncoming(phi, &mut value, &mut side.clone(), 1);
                        }
                    }
                    self.values.insert(instruction, phi);
                }
                // What stands in the block is of no other.
                self.values = known;
            }
        }
        panics
    }
}
