//! Lets all panics of a function leave by one block. Runs in stage 2, for GPUs, after optimisation.
//!
//! Before:
//! ```llvm
//! one:
//!   call void @__schism_panic_site.2(ptr %record, ptr @shape, ptr @here, i64 %i, i64 %n)
//!   unreachable
//! other:
//!   call void @__schism_panic_site.1(ptr %record, ptr @text, ptr @there, i64 %k)
//!   unreachable
//! ```
//! After:
//! ```llvm
//! one:
//!   fence syncscope("block") acq_rel
//!   br label %panic
//! other:
//!   fence syncscope("block") acq_rel
//!   br label %panic
//! panic:
//!   %shape = phi ptr [ @shape, %one ], [ @text, %other ]
//!   %location = phi ptr [ @here, %one ], [ @there, %other ]
//!   %word.0 = phi i64 [ %i, %one ], [ %k, %other ]
//!   %word.1 = phi i64 [ %n, %one ], [ poison, %other ]
//!   call void @__schism_panic_site.2(ptr %record, ptr %shape, ptr %location, i64 %word.0, i64 %word.1)
//!   unreachable
//! ```
//!
//! So what leaves the message is there once. Where LLVM has joined panics already, they are taken
//! apart first, and what only a panic needs is computed where it panics:
//! ```llvm
//!   %a = add i64 %i, 16                          ; in the loop, before the check
//!   ...
//! both:
//!   %index = phi i64 [ %a, %one ], [ %b, %other ]
//!   call void @__schism_panic_site.1(ptr %record, ptr @shape, ptr @here, i64 %index)
//!   unreachable
//! ```
//! becomes two blocks, each with its own addition.
//!
//! The fence orders nothing that matters: it keeps a panic's block a block. Without it the code
//! generator goes to `%panic` right from the check, and prepares what `%panic` takes in front of
//! it; and NVIDIA's assembler makes of the short block instructions with a condition, which take
//! their time in a loop that never panics.

use std::collections::HashSet;

use inkwell::module::Module;
use llvm_sys::core::*;
use llvm_sys::prelude::*;
use llvm_sys::{LLVMAtomicOrdering, LLVMOpcode};

use crate::ir;
use crate::spec::builtins;

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
    for function in ir::functions(module) {
        for panic in panics(function) {
            // SAFETY: it is live: only the block of the one before it may have gone.
            unsafe { take_apart(function, panic) };
        }
        let calls = panics(function);
        for panic in &calls {
            // SAFETY: it is live.
            unsafe { sink_operands(panic.call) };
        }
        if calls.len() > 1 {
            // SAFETY: they are live, the first of each block, so that none goes with another one.
            unsafe { join(function, &calls) };
        }
    }
}

/// A call that panics, what it calls, and how many words it passes.
#[derive(Clone, Copy)]
struct Panic {
    call: LLVMValueRef,
    callee: LLVMValueRef,
    words: u32,
}

/// The panics of a function, one of each block.
fn panics(function: LLVMValueRef) -> Vec<Panic> {
    let blocks = ir::blocks(function).into_iter();
    blocks.filter_map(|block| ir::instructions_of(block).into_iter().find_map(panic_of)).collect()
}

/// Makes of a block that chooses what to panic with by where control comes from a block for each of these places.
///
/// # Safety
/// The panic is live, in the function.
unsafe fn take_apart(function: LLVMValueRef, panic: Panic) {
    // SAFETY: as promised by the caller. A block whose end is not reached is followed by none, so nothing else uses its values.
    unsafe {
        let block = LLVMGetInstructionParent(panic.call);
        let is_phi = |value: &LLVMValueRef| ir::opcode(*value) == Some(LLVMOpcode::LLVMPHI);
        let phis: Vec<_> = ir::instructions_of(block).into_iter().take_while(is_phi).collect();
        let Some(&first) = phis.first() else { return };
        let last = phis.last().copied().unwrap_or(first);
        if LLVMGetNextInstruction(last) != panic.call {
            return;
        }
        let context = LLVMGetTypeContext(LLVMTypeOf(function));
        let builder = LLVMCreateBuilderInContext(context);
        let name = c"".as_ptr();
        // In the order of the phi, which is always the same.
        let mut seen = HashSet::new();
        for index in 0..LLVMCountIncoming(first) {
            let place = LLVMGetIncomingBlock(first, index);
            if !seen.insert(place) {
                continue;
            }
            let from_there = |value: LLVMValueRef| {
                if !phis.contains(&value) {
                    return value;
                }
                ir::incoming(value, place).unwrap_or(value)
            };
            let count = LLVMGetNumArgOperands(panic.call);
            let mut operands: Vec<_> =
                (0..count).map(|index| from_there(LLVMGetOperand(panic.call, index))).collect();
            let own = LLVMInsertBasicBlockInContext(context, block, name);
            LLVMPositionBuilderAtEnd(builder, own);
            let ty = LLVMGlobalGetValueType(panic.callee);
            LLVMBuildCall2(builder, ty, panic.callee, operands.as_mut_ptr(), count, name);
            LLVMBuildUnreachable(builder);
            let branch = LLVMGetBasicBlockTerminator(place);
            for index in 0..LLVMGetNumSuccessors(branch) {
                if LLVMGetSuccessor(branch, index) == block {
                    LLVMSetSuccessor(branch, index, own);
                }
            }
        }
        LLVMDisposeBuilder(builder);
        LLVMDeleteBasicBlock(block);
    }
}

/// Moves in front of a panic what only it needs.
///
/// # Safety
/// The call is live.
unsafe fn sink_operands(call: LLVMValueRef) {
    // SAFETY: as promised by the caller. A value is known where its only user stands, and what it is computed of was known before.
    unsafe {
        let block = LLVMGetInstructionParent(call);
        let builder = LLVMCreateBuilderInContext(LLVMGetTypeContext(LLVMTypeOf(call)));
        let mut open = vec![call];
        while let Some(user) = open.pop() {
            for value in ir::operands(user) {
                let only_here = || ir::users(value).into_iter().all(|other| other == user);
                if ir::is_integer_arithmetic(value)
                    && LLVMGetInstructionParent(value) != block
                    && only_here()
                {
                    LLVMInstructionRemoveFromParent(value);
                    LLVMPositionBuilderBefore(builder, user);
                    LLVMInsertIntoBuilder(builder, value);
                    open.push(value);
                }
            }
        }
        LLVMDisposeBuilder(builder);
    }
}

fn panic_of(call: LLVMValueRef) -> Option<Panic> {
    let callee = ir::callee(call)?;
    let name = ir::name_of(callee);
    Some(Panic { call, callee, words: words_of(&name)? })
}

/// How many words what leaves a panic's message takes; none of other functions.
pub(crate) fn words_of(function: &str) -> Option<u32> {
    function.strip_prefix(builtins::PANIC_SITE)?.strip_prefix('.')?.parse().ok()
}

/// # Safety
/// The calls are live, in different blocks of the function.
unsafe fn join(function: LLVMValueRef, calls: &[Panic]) {
    let Some(widest) = calls.iter().max_by_key(|panic| panic.words).copied() else { return };
    // SAFETY: as promised by the caller. A call's operands are known at the end of its block, where the branch takes its place.
    unsafe {
        let ty = LLVMGlobalGetValueType(widest.callee);
        let context = LLVMGetTypeContext(LLVMTypeOf(function));
        let joined = LLVMAppendBasicBlockInContext(context, function, c"panic".as_ptr());
        let builder = LLVMCreateBuilderInContext(context);
        LLVMPositionBuilderAtEnd(builder, joined);
        let count = LLVMGetNumArgOperands(widest.call);
        let mut operands = Vec::new();
        for index in 0..count {
            let ty = LLVMTypeOf(LLVMGetOperand(widest.call, index));
            let mut values: Vec<_> = calls
                .iter()
                .map(|panic| match index < LLVMGetNumArgOperands(panic.call) {
                    true => LLVMGetOperand(panic.call, index),
                    false => LLVMGetPoison(ty),
                })
                .collect();
            let same = values.iter().all(|value| *value == values[0]);
            // What is the same is known everywhere, but for a value that is computed in one of several blocks.
            if same && ir::opcode(values[0]).is_none() {
                operands.push(values[0]);
                continue;
            }
            let mut blocks: Vec<_> =
                calls.iter().map(|panic| LLVMGetInstructionParent(panic.call)).collect();
            let phi = LLVMBuildPhi(builder, ty, c"".as_ptr());
            LLVMAddIncoming(phi, values.as_mut_ptr(), blocks.as_mut_ptr(), values.len() as u32);
            operands.push(phi);
        }
        let name = c"".as_ptr();
        LLVMBuildCall2(builder, ty, widest.callee, operands.as_mut_ptr(), count, name);
        LLVMBuildUnreachable(builder);
        let ordering = LLVMAtomicOrdering::LLVMAtomicOrderingAcquireRelease;
        let block_wide = LLVMGetSyncScopeID(context, c"block".as_ptr(), 5);
        for panic in calls {
            let block = LLVMGetInstructionParent(panic.call);
            ir::cut_block_at(panic.call);
            LLVMInstructionEraseFromParent(LLVMGetBasicBlockTerminator(block));
            LLVMPositionBuilderAtEnd(builder, block);
            let fence = LLVMBuildFence(builder, ordering, 0, name);
            LLVMSetAtomicSyncScopeID(fence, block_wide);
            LLVMBuildBr(builder, joined);
        }
        LLVMDisposeBuilder(builder);
    }
}
