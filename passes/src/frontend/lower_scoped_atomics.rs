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
use schism_llvm::{
    AtomicOrdering, AtomicRMWBinOp, Builder, ContextRef, IntoValue, Type, TypeKind, Value,
};

/// What the builtins' names begin with; the operation and the type follow.
pub const PREFIX: &str = "__schism_atomic_";

/// `void (i32 order, i32 scope)`.
pub const FENCE: &str = "__schism_fence";

/// Orders, by their numbers.
pub const ORDERS: [AtomicOrdering; 5] = [
    AtomicOrdering::Monotonic,
    AtomicOrdering::Acquire,
    AtomicOrdering::Release,
    AtomicOrdering::AcquireRelease,
    AtomicOrdering::SequentiallyConsistent,
];

/// The names of scopes, by their numbers: who an access is for.
pub const SCOPES: [&str; 5] = ["singlethread", "subgroup", "workgroup", "device", "system"];

/// What an operation is.
#[derive(Clone, Copy)]
enum Operation {
    Load,
    Store,
    CompareExchange,
    Update(AtomicRMWBinOp),
}

fn operation(name: &str) -> Option<Operation> {
    let (operation, _) = name.strip_prefix(PREFIX)?.rsplit_once('_')?;
    Some(match operation {
        "load" => Operation::Load,
        "store" => Operation::Store,
        "cmpxchg" => Operation::CompareExchange,
        "xchg" => Operation::Update(AtomicRMWBinOp::Xchg),
        "add" => Operation::Update(AtomicRMWBinOp::Add),
        "sub" => Operation::Update(AtomicRMWBinOp::Sub),
        "and" => Operation::Update(AtomicRMWBinOp::And),
        "or" => Operation::Update(AtomicRMWBinOp::Or),
        "xor" => Operation::Update(AtomicRMWBinOp::Xor),
        "min" => Operation::Update(AtomicRMWBinOp::Min),
        "max" => Operation::Update(AtomicRMWBinOp::Max),
        "umin" => Operation::Update(AtomicRMWBinOp::UMin),
        "umax" => Operation::Update(AtomicRMWBinOp::UMax),
        "fadd" => Operation::Update(AtomicRMWBinOp::FAdd),
        _ => return None,
    })
}

/// Runs the pass over a module.
pub fn run(module: &Module<'_>) {
    let functions: Vec<Value<'_>> = module.get_functions().map(|f| f.value()).collect();
    for value in functions {
        let name = value.name();
        let operation = operation(&name);
        if operation.is_none() && name != FENCE {
            continue;
        }
        for call in value.users() {
            if call.callee() != Some(value) {
                continue;
            }
            match operation {
                Some(operation) => access(call, operation),
                None => fence(call),
            }
        }
        if value.users().is_empty() {
            value.delete_function();
        }
    }
}

/// An argument that says an order or a scope, if it is a constant that means one.
fn number(call: Value<'_>, index: u32) -> Option<usize> {
    let argument = call.operand(index);
    if !argument.is_constant_int() {
        return None;
    }
    usize::try_from(argument.zext_value()).ok()
}

fn order(call: Value<'_>, index: u32) -> AtomicOrdering {
    let known = number(call, index).and_then(|number| ORDERS.get(number).copied());
    known.unwrap_or(AtomicOrdering::SequentiallyConsistent)
}

fn scope<'m>(context: ContextRef<'m>, call: Value<'m>, index: u32) -> u32 {
    let known = number(call, index).and_then(|number| SCOPES.get(number));
    let name = known.unwrap_or(&SCOPES[SCOPES.len() - 1]);
    context.sync_scope(name)
}

/// Puts an instruction in the place of a call.
fn access(call: Value<'_>, operation: Operation) {
    let arguments = call.num_args();
    let expected = match operation {
        Operation::Load => 3,
        Operation::Store | Operation::Update(_) => 4,
        Operation::CompareExchange => 6,
    };
    if arguments != expected {
        return;
    }
    let context = call.ty().context();
    let builder = Builder::before(call);
    let address = call.operand(0);
    let ordering = order(call, arguments - 2);
    let scope = scope(context, call, arguments - 1);
    let result = match operation {
        Operation::Load => {
            let load = builder.load(call.ty(), address);
            load.set_ordering(match ordering {
                AtomicOrdering::Release => AtomicOrdering::Monotonic,
                AtomicOrdering::AcquireRelease => AtomicOrdering::Acquire,
                other => other,
            });
            load.set_sync_scope(scope);
            load.set_alignment(bytes(call.ty()));
            Some(load)
        }
        Operation::Store => {
            let value = call.operand(1);
            let store = builder.store(value, address);
            store.set_ordering(match ordering {
                AtomicOrdering::Acquire => AtomicOrdering::Monotonic,
                AtomicOrdering::AcquireRelease => AtomicOrdering::Release,
                other => other,
            });
            store.set_sync_scope(scope);
            store.set_alignment(bytes(value.ty()));
            None
        }
        Operation::CompareExchange => {
            let (current, new) = (call.operand(1), call.operand(2));
            let failure = match ordering {
                AtomicOrdering::Release => AtomicOrdering::Monotonic,
                AtomicOrdering::AcquireRelease => AtomicOrdering::Acquire,
                other => other,
            };
            let pair =
                builder.atomic_cmpxchg(address, current, new, [order(call, 3), failure], scope);
            Some(builder.extract_value(pair, 0))
        }
        Operation::Update(operation) => {
            Some(builder.atomic_rmw(operation, address, call.operand(1), ordering, scope))
        }
    };
    if let Some(result) = result {
        call.replace_uses(result);
    }
    call.erase();
}

fn fence(call: Value<'_>) {
    if call.num_args() != 2 {
        return;
    }
    let ordering = order(call, 0);
    if ordering != AtomicOrdering::Monotonic {
        let context = call.ty().context();
        let builder = Builder::before(call);
        let scope = scope(context, call, 1);
        builder.fence(ordering, scope);
    }
    call.erase();
}

/// The size of a number, which is its alignment.
fn bytes(ty: Type<'_>) -> u32 {
    match ty.kind() {
        TypeKind::Integer => ty.int_width() / 8,
        TypeKind::Float => 4,
        _ => 8,
    }
}
