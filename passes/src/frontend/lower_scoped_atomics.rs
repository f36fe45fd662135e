//! Replaces the builtins of scoped atomics by LLVM's atomics with a scope.
//!
//! Before:
//! ```llvm
//! %old = call i32 @__schism_atomic_add_i32(ptr %p, i32 %n, i32 1, i32 2)
//! call void @__schism_fence(i32 3, i32 3)
//! ```
//! After:
//! ```llvm
//! %old = atomicrmw add ptr %p, i32 %n syncscope("workgroup") acquire
//! fence syncscope("device") acq_rel
//! ```
//!
//! Rust has no words for scopes, so the runtime's functions call builtins whose names have the
//! operation and the type, and whose last arguments are the order ([`ORDERS`]) and the scope
//! ([`SCOPES`]), which are constants. If one is not, the strongest serves. Atomics of the standard
//! library have no scope: a target decides what that means.

use inkwell::module::Module;
use inkwell::values::AsValueRef;
use llvm_sys::LLVMAtomicRMWBinOp as Op;
use llvm_sys::core::*;
use llvm_sys::prelude::*;
use llvm_sys::{LLVMAtomicOrdering, LLVMTypeKind};

use crate::ir;

/// What the builtins' names begin with; the operation and the type follow.
pub const PREFIX: &str = "__schism_atomic_";

/// `void (i32 order, i32 scope)`.
pub const FENCE: &str = "__schism_fence";

/// Orders, by their numbers.
pub const ORDERS: [LLVMAtomicOrdering; 5] = [
    LLVMAtomicOrdering::LLVMAtomicOrderingMonotonic,
    LLVMAtomicOrdering::LLVMAtomicOrderingAcquire,
    LLVMAtomicOrdering::LLVMAtomicOrderingRelease,
    LLVMAtomicOrdering::LLVMAtomicOrderingAcquireRelease,
    LLVMAtomicOrdering::LLVMAtomicOrderingSequentiallyConsistent,
];

/// The names of scopes, by their numbers: who an access is for.
pub const SCOPES: [&str; 5] = ["singlethread", "subgroup", "workgroup", "device", "system"];

/// What an operation is.
#[derive(Clone, Copy)]
enum Operation {
    Load,
    Store,
    CompareExchange,
    Update(Op),
}

fn operation(name: &str) -> Option<Operation> {
    let (operation, _) = name.strip_prefix(PREFIX)?.rsplit_once('_')?;
    Some(match operation {
        "load" => Operation::Load,
        "store" => Operation::Store,
        "cmpxchg" => Operation::CompareExchange,
        "xchg" => Operation::Update(Op::LLVMAtomicRMWBinOpXchg),
        "add" => Operation::Update(Op::LLVMAtomicRMWBinOpAdd),
        "sub" => Operation::Update(Op::LLVMAtomicRMWBinOpSub),
        "and" => Operation::Update(Op::LLVMAtomicRMWBinOpAnd),
        "or" => Operation::Update(Op::LLVMAtomicRMWBinOpOr),
        "xor" => Operation::Update(Op::LLVMAtomicRMWBinOpXor),
        "min" => Operation::Update(Op::LLVMAtomicRMWBinOpMin),
        "max" => Operation::Update(Op::LLVMAtomicRMWBinOpMax),
        "umin" => Operation::Update(Op::LLVMAtomicRMWBinOpUMin),
        "umax" => Operation::Update(Op::LLVMAtomicRMWBinOpUMax),
        "fadd" => Operation::Update(Op::LLVMAtomicRMWBinOpFAdd),
        _ => return None,
    })
}

/// Runs the pass over a module.
pub fn run(module: &Module<'_>) {
    let functions: Vec<LLVMValueRef> = module.get_functions().map(|f| f.as_value_ref()).collect();
    for value in functions {
        let name = ir::name_of(value);
        let operation = operation(&name);
        if operation.is_none() && name != FENCE {
            continue;
        }
        for call in ir::users(value) {
            if ir::callee(call) != Some(value) {
                continue;
            }
            // SAFETY: the call is live, of a builtin with this operation, and nothing refers to it afterwards.
            unsafe {
                match operation {
                    Some(operation) => access(call, operation),
                    None => fence(call),
                }
            }
        }
        if ir::users(value).is_empty() {
            // SAFETY: nothing uses the declaration, and the list is not asked for it again.
            unsafe { LLVMDeleteFunction(value) };
        }
    }
}

/// An argument that says an order or a scope, if it is a constant that means one.
unsafe fn number(call: LLVMValueRef, index: u32) -> Option<usize> {
    // SAFETY: callers have a call with that many arguments.
    unsafe {
        let argument = LLVMGetOperand(call, index);
        if LLVMIsAConstantInt(argument).is_null() {
            return None;
        }
        usize::try_from(LLVMConstIntGetZExtValue(argument)).ok()
    }
}

unsafe fn order(call: LLVMValueRef, index: u32) -> LLVMAtomicOrdering {
    // SAFETY: as promised by the caller.
    let known = unsafe { number(call, index) }.and_then(|number| ORDERS.get(number).copied());
    known.unwrap_or(LLVMAtomicOrdering::LLVMAtomicOrderingSequentiallyConsistent)
}

unsafe fn scope(context: LLVMContextRef, call: LLVMValueRef, index: u32) -> u32 {
    // SAFETY: as promised by the caller; the length is the name's.
    unsafe {
        let known = number(call, index).and_then(|number| SCOPES.get(number));
        let name = known.unwrap_or(&SCOPES[SCOPES.len() - 1]);
        LLVMGetSyncScopeID(context, name.as_ptr().cast(), name.len())
    }
}

/// Puts an instruction in the place of a call.
///
/// # Safety
/// The call is live, and its function has as many parameters as the operation takes.
unsafe fn access(call: LLVMValueRef, operation: Operation) {
    use LLVMAtomicOrdering::*;
    // SAFETY: the caller's promise; what is built has the operands' types.
    unsafe {
        let arguments = LLVMGetNumArgOperands(call);
        let expected = match operation {
            Operation::Load => 3,
            Operation::Store | Operation::Update(_) => 4,
            Operation::CompareExchange => 6,
        };
        if arguments != expected {
            return;
        }
        let context = LLVMGetTypeContext(LLVMTypeOf(call));
        let builder = LLVMCreateBuilderInContext(context);
        LLVMPositionBuilderBefore(builder, call);
        let address = LLVMGetOperand(call, 0);
        let ordering = order(call, arguments - 2);
        let scope = scope(context, call, arguments - 1);
        let empty = c"".as_ptr();
        let result = match operation {
            Operation::Load => {
                let load = LLVMBuildLoad2(builder, LLVMTypeOf(call), address, empty);
                LLVMSetOrdering(
                    load,
                    match ordering {
                        LLVMAtomicOrderingRelease => LLVMAtomicOrderingMonotonic,
                        LLVMAtomicOrderingAcquireRelease => LLVMAtomicOrderingAcquire,
                        other => other,
                    },
                );
                LLVMSetAtomicSyncScopeID(load, scope);
                LLVMSetAlignment(load, bytes(LLVMTypeOf(call)));
                Some(load)
            }
            Operation::Store => {
                let value = LLVMGetOperand(call, 1);
                let store = LLVMBuildStore(builder, value, address);
                LLVMSetOrdering(
                    store,
                    match ordering {
                        LLVMAtomicOrderingAcquire => LLVMAtomicOrderingMonotonic,
                        LLVMAtomicOrderingAcquireRelease => LLVMAtomicOrderingRelease,
                        other => other,
                    },
                );
                LLVMSetAtomicSyncScopeID(store, scope);
                LLVMSetAlignment(store, bytes(LLVMTypeOf(value)));
                None
            }
            Operation::CompareExchange => {
                let (current, new) = (LLVMGetOperand(call, 1), LLVMGetOperand(call, 2));
                let failure = match ordering {
                    LLVMAtomicOrderingRelease => LLVMAtomicOrderingMonotonic,
                    LLVMAtomicOrderingAcquireRelease => LLVMAtomicOrderingAcquire,
                    other => other,
                };
                let pair = LLVMBuildAtomicCmpXchgSyncScope(
                    builder,
                    address,
                    current,
                    new,
                    order(call, 3),
                    failure,
                    scope,
                );
                Some(LLVMBuildExtractValue(builder, pair, 0, empty))
            }
            Operation::Update(operation) => Some(LLVMBuildAtomicRMWSyncScope(
                builder,
                operation,
                address,
                LLVMGetOperand(call, 1),
                ordering,
                scope,
            )),
        };
        LLVMDisposeBuilder(builder);
        if let Some(result) = result {
            LLVMReplaceAllUsesWith(call, result);
        }
        LLVMInstructionEraseFromParent(call);
    }
}

/// # Safety
/// The call is live, with two arguments.
unsafe fn fence(call: LLVMValueRef) {
    // SAFETY: the caller's promise.
    unsafe {
        if LLVMGetNumArgOperands(call) != 2 {
            return;
        }
        let ordering = order(call, 0);
        if ordering != LLVMAtomicOrdering::LLVMAtomicOrderingMonotonic {
            let context = LLVMGetTypeContext(LLVMTypeOf(call));
            let builder = LLVMCreateBuilderInContext(context);
            LLVMPositionBuilderBefore(builder, call);
            let scope = scope(context, call, 1);
            LLVMBuildFenceSyncScope(builder, ordering, scope, c"".as_ptr());
            LLVMDisposeBuilder(builder);
        }
        LLVMInstructionEraseFromParent(call);
    }
}

/// The size of a number, which is its alignment.
unsafe fn bytes(ty: LLVMTypeRef) -> u32 {
    // SAFETY: callers have a live type.
    unsafe {
        match LLVMGetTypeKind(ty) {
            LLVMTypeKind::LLVMIntegerTypeKind => LLVMGetIntTypeWidth(ty) / 8,
            LLVMTypeKind::LLVMFloatTypeKind => 4,
            _ => 8,
        }
    }
}
