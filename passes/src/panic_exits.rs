//! The panics of a function leave by one block. Runs in stage 2, after optimisation.
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
//!   call void asm sideeffect "", ""()
//!   br label %panic
//! other:
//!   call void asm sideeffect "", ""()
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
//! So what leaves the message is there once. The empty assembly is what makes a block of its own of each: else the code generator would
//! go to `%panic` right from the check, and prepare in front of it, panic or not, what `%panic` takes.

use inkwell::module::Module;
use llvm_sys::LLVMInlineAsmDialect;
use llvm_sys::core::*;
use llvm_sys::prelude::*;

use crate::{builtins, ir};

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
        let calls: Vec<_> = ir::blocks(function)
            .into_iter()
            .filter_map(|block| ir::instructions_of(block).into_iter().find_map(panic_of))
            .collect();
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

fn panic_of(call: LLVMValueRef) -> Option<Panic> {
    let callee = ir::callee(call)?;
    let name = ir::name_of(callee);
    let words = name.strip_prefix(builtins::PANIC_SITE)?.strip_prefix('.')?.parse().ok()?;
    Some(Panic { call, callee, words })
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
        let void = LLVMVoidTypeInContext(context);
        let nothing = LLVMFunctionType(void, std::ptr::null_mut(), 0, 0);
        let dialect = LLVMInlineAsmDialect::LLVMInlineAsmDialectATT;
        let empty = std::ptr::null();
        let assembly = LLVMGetInlineAsm(nothing, empty, 0, empty, 0, 1, 0, dialect, 0);
        for panic in calls {
            let block = LLVMGetInstructionParent(panic.call);
            ir::cut_block_at(panic.call);
            LLVMInstructionEraseFromParent(LLVMGetBasicBlockTerminator(block));
            LLVMPositionBuilderAtEnd(builder, block);
            LLVMBuildCall2(builder, nothing, assembly, std::ptr::null_mut(), 0, name);
            LLVMBuildBr(builder, joined);
        }
        LLVMDisposeBuilder(builder);
    }
}
