//! Refuses what no device has, with the chain of calls that reaches it.
//!
//! Runs after [`crate::cleanup`]: what no kernel reaches raises nothing, and neither does what
//! folded away. Before:
//! ```llvm
//! define void @kernel() { call void @helper() ... }
//! define internal void @helper() { call i64 @write(i32 1, ptr %p, i64 4) ... }
//! declare i64 @write(i32, ptr, i64)
//! ```
//! After: a [`Violation`] that names `write`, and the chain `helper` ← `kernel`.

use std::collections::{HashSet, VecDeque};
use std::fmt;

use inkwell::module::Module;
use inkwell::values::AsValueRef;
use llvm_sys::LLVMOpcode;
use llvm_sys::core::*;
use llvm_sys::debuginfo::LLVMInstructionGetDebugLoc;
use llvm_sys::prelude::*;

use crate::builtins;
use crate::{implicit_offset, ir};

/// Something in a kernel that no device has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// What it is.
    pub what: ViolationKind,
    /// The functions on the way from the offending one to a kernel, by symbol; the kernel last.
    pub chain: Vec<String>,
    /// Where it stands, if the module has debug information.
    pub location: Option<SourceLocation>,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}, chain: {:?}", self.what, self.chain)?;
        match &self.location {
            Some(SourceLocation { file, line, column }) => write!(f, ", at {file}:{line}:{column}"),
            None => Ok(()),
        }
    }
}

/// A place in the source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceLocation {
    /// Directory and file as the compiler recorded them.
    pub file: String,
    /// Line, from 1.
    pub line: u32,
    /// Column, from 1; 0 when unknown.
    pub column: u32,
}

/// The kinds of violation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ViolationKind {
    /// A function without a body that no target provides.
    ExternalFunction(String),
    /// A global without a value.
    ExternalStatic(String),
    /// Inline assembly.
    InlineAssembly,
    /// A thread-local variable.
    ThreadLocal(String),
    /// A static whose value can change: the device would have a copy of its own.
    MutableStatic(String),
    /// A function that needs to know where the launch begins, and whose address is taken.
    OffsetByAddress(String),
}

/// Finds the statics whose value can change. Runs before [`crate::cleanup`], which would fold reads
/// of those that no kernel writes into the value with which the program starts.
pub fn run_early(module: &Module<'_>, kernels: &HashSet<&str>) -> Vec<Violation> {
    let mut violations = Vec::new();
    for global in module.get_globals() {
        let value = global.as_value_ref();
        let name = ir::name_of(value);
        // SAFETY: the global is live.
        let (changes, thread_local) = unsafe {
            (
                LLVMIsDeclaration(value) == 0 && LLVMIsGlobalConstant(value) == 0,
                LLVMIsThreadLocal(value) != 0,
            )
        };
        if thread_local {
            report(value, ViolationKind::ThreadLocal(name), kernels, &mut violations);
        } else if changes {
            report(value, ViolationKind::MutableStatic(name), kernels, &mut violations);
        }
    }
    violations
}

/// Runs the check; `kernels` are the names of the kernel functions.
pub fn run(module: &Module<'_>, kernels: &HashSet<&str>) -> Vec<Violation> {
    let mut violations = Vec::new();
    for function in module.get_functions() {
        let value = function.as_value_ref();
        let name = ir::name_of(value);
        if function.count_basic_blocks() == 0 {
            let provided = name.starts_with("llvm.")
                || builtins::is_builtin(&name)
                || builtins::is_library_function(&name);
            if !provided {
                report(value, ViolationKind::ExternalFunction(name), kernels, &mut violations);
            }
            continue;
        }
        for instruction in ir::instructions(value) {
            if is_inline_assembly(instruction) {
                violations.push(Violation {
                    what: ViolationKind::InlineAssembly,
                    chain: chain_to_kernel(value, kernels),
                    location: location_of(instruction),
                });
            }
        }
    }
    for global in module.get_globals() {
        let value = global.as_value_ref();
        let name = ir::name_of(value);
        // SAFETY: the global is live.
        let (declared, thread_local) =
            unsafe { (LLVMIsDeclaration(value) != 0, LLVMIsThreadLocal(value) != 0) };
        if thread_local {
            report(value, ViolationKind::ThreadLocal(name), kernels, &mut violations);
        } else if declared {
            report(value, ViolationKind::ExternalStatic(name), kernels, &mut violations);
        }
    }
    violations
}

/// The violation that a user of something is: an instruction, or a constant at its first place in a function.
pub(crate) fn violation_of_use(
    user: LLVMValueRef,
    what: ViolationKind,
    kernels: &HashSet<&str>,
) -> Violation {
    if ir::opcode(user).is_some() {
        let chain = chain_to_kernel(ir::parent_function(user), kernels);
        return Violation { what, chain, location: location_of(user) };
    }
    let mut violations = Vec::new();
    report(user, what.clone(), kernels, &mut violations);
    violations.pop().unwrap_or(Violation { what, chain: Vec::new(), location: None })
}

/// One violation for an object, at the first of its uses that lies in a function.
fn report(
    object: LLVMValueRef,
    what: ViolationKind,
    kernels: &HashSet<&str>,
    violations: &mut Vec<Violation>,
) {
    let mut seen = HashSet::new();
    let mut queue = VecDeque::from([object]);
    while let Some(value) = queue.pop_front() {
        for user in ir::users(value) {
            if !seen.insert(user) {
                continue;
            }
            if ir::opcode(user).is_some() {
                violations.push(Violation {
                    what,
                    chain: chain_to_kernel(ir::parent_function(user), kernels),
                    location: location_of(user),
                });
                return;
            }
            queue.push_back(user);
        }
    }
}

/// The shortest way over users from a function to a kernel, both included.
fn chain_to_kernel(function: LLVMValueRef, kernels: &HashSet<&str>) -> Vec<String> {
    let mut came_from: Vec<(LLVMValueRef, usize)> = vec![(function, usize::MAX)];
    let mut seen = HashSet::from([function]);
    let mut next = 0;
    while next < came_from.len() {
        let (value, _) = came_from[next];
        if kernels.contains(ir::name_of(value).as_str()) {
            let mut chain = Vec::new();
            let mut index = next;
            while index != usize::MAX {
                let (value, previous) = came_from[index];
                // SAFETY: every value on the way is live.
                if unsafe { !LLVMIsAFunction(value).is_null() } {
                    chain.push(implicit_offset::name_of_original(value));
                }
                index = previous;
            }
            chain.reverse();
            return chain;
        }
        for user in ir::users(value) {
            let reached = if ir::opcode(user).is_some() { ir::parent_function(user) } else { user };
            if seen.insert(reached) {
                came_from.push((reached, next));
            }
        }
        next += 1;
    }
    vec![implicit_offset::name_of_original(function)]
}

/// Whether an instruction is inline assembly that says something.
pub(crate) fn is_inline_assembly(instruction: LLVMValueRef) -> bool {
    if ir::opcode(instruction) != Some(LLVMOpcode::LLVMCall) {
        return false;
    }
    // SAFETY: the instruction is a call, which has a called value. An empty template is
    // `core::hint::black_box`'s and the like: an optimisation barrier that every target can have.
    unsafe {
        let called = LLVMGetCalledValue(instruction);
        if LLVMIsAInlineAsm(called).is_null() {
            return false;
        }
        let mut length = 0;
        LLVMGetInlineAsmAsmString(called, &mut length);
        length != 0
    }
}

fn location_of(instruction: LLVMValueRef) -> Option<SourceLocation> {
    // SAFETY: the instruction is live; LLVM answers null or zero lengths where there is no
    // location.
    unsafe {
        if LLVMInstructionGetDebugLoc(instruction).is_null() {
            return None;
        }
        let text =
            |get: unsafe extern "C" fn(LLVMValueRef, *mut u32) -> *const std::ffi::c_char| {
                let mut length = 0;
                let data = get(instruction, &mut length);
                if data.is_null() {
                    return String::new();
                }
                let bytes = std::slice::from_raw_parts(data.cast::<u8>(), length as usize);
                String::from_utf8_lossy(bytes).into_owned()
            };
        let (directory, file) = (text(LLVMGetDebugLocDirectory), text(LLVMGetDebugLocFilename));
        let file = if file.starts_with('/') || directory.is_empty() {
            file
        } else {
            format!("{directory}/{file}")
        };
        Some(SourceLocation {
            file,
            line: LLVMGetDebugLocLine(instruction),
            column: LLVMGetDebugLocColumn(instruction),
        })
    }
}
