//! One safe layer over LLVM's C interface, beside inkwell.
//!
//! inkwell is the project's binding to LLVM. It has no form for much of what a pass asks (an
//! operand that may be anything, uses of constants, attributes of calls, metadata, flags), and it
//! panics on kinds that it does not expect. This crate has that: a few handles ([`Value`],
//! [`Block`], [`Type`], [`Attribute`], [`Metadata`]) whose methods are safe functions, one file for
//! each concern.
//!
//! **What is checked.** LLVM's release builds cast without a look: an operand that is not there, or
//! the predicate of something that is no comparison, is undefined behaviour. Here each method looks
//! first. It answers `None` where the absence of an answer is one, and panics with
//! `internal error: …` where only a mistake in the pass can be the reason. A look is a compare of
//! opcodes or of types. Lists are collected before anything can change them.
//!
//! **What lifetimes say.** A handle lives no longer than the borrow of the module that it came from
//! ([`ModuleRef::of`], [`AsModule::handle`]), or than inkwell's value ([`IntoValue::value`]). Types
//! and attributes live as long as the context, which outlives the module.
//!
//! **What is left to the user**, as it is with inkwell's handles: handles are copied freely, so the
//! compiler does not see that a copy of a handle is used after the value went, by [`Value::erase`],
//! [`Value::delete_function`], [`Value::delete_global`], [`Block::delete`], or by a pipeline of
//! LLVM's own ([`ModuleRef::run_passes`]). What takes a value away consumes a handle (`self`), and
//! first has all users use `poison`, so what stays in the module never refers to what went. A
//! second rule is LLVM's: everything of one context stays on one thread, which no handle leaves
//! (they are not `Send`), and values of two contexts are not mixed.
//!
//! **Who cannot use it**: build scripts, which the system's loader would have to find LLVM for.
//! That of `schism-jit` opens LLVM while it runs, with a few bindings.
//!
//! The IR that comes out may still break LLVM's rules, which is not undefined behaviour but an
//! error: [`ModuleRef::verify`] says so.

mod attribute;
mod block;
mod builder;
mod call;
mod constant;
mod context;
mod debug_info;
mod diagnostics;
mod enums;
pub mod fatal;
mod ffi;
mod function;
mod global;
mod handles;
mod instruction;
mod layout;
mod machine;
mod memory;
mod metadata;
mod module;
mod pipeline;
mod types;
mod value;
mod vector;

pub use attribute::{FUNCTION_INDEX, RETURN_INDEX, enum_kind};
pub use builder::Builder;
pub use debug_info::{LineScopes, Location};
pub use diagnostics::{Context, collect_errors};
pub use enums::{AsmDialect, TailCallKind, TypeKind, UnnamedAddress, ValueKind, Visibility};
pub use handles::{Attribute, Block, ContextRef, Type, Value};
pub use inkwell::module::Linkage;
pub use inkwell::values::InstructionOpcode as Opcode;
pub use inkwell::{AtomicOrdering, AtomicRMWBinOp, FloatPredicate, IntPredicate};
pub use instruction::fast_math;
pub use layout::DataLayout;
pub use machine::{FileKind, Machine, host_cpu};
pub use metadata::{Metadata, TemporaryNode};
pub use module::{AsModule, Module, ModuleRef, View, intrinsic_id};
pub use pipeline::{initialize_nvptx, initialize_targets, initialize_x86};
pub use value::IntoValue;

/// The version of the LLVM that is loaded: major, minor, patch.
pub fn version() -> (u32, u32, u32) {
    let (mut major, mut minor, mut patch) = (0, 0, 0);
    // SAFETY: the three pointers are to live integers.
    unsafe { llvm_sys::core::LLVMGetVersion(&mut major, &mut minor, &mut patch) };
    (major, minor, patch)
}
