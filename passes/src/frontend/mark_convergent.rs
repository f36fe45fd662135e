//! Marks calls that may reach a barrier as convergent.
//!
//! Before:
//! ```llvm
//! declare void @__schism_barrier()
//! define internal void @step() { call void @__schism_barrier() ... }
//! define void @kernel() { call void @step() ... }
//! ```
//! After:
//! ```llvm
//! declare void @__schism_barrier() #0
//! define internal void @step() #1 { call void @__schism_barrier() #0 ... }
//! define void @kernel() #1 { call void @step() #1 ... }
//! attributes #0 = { convergent nomerge }
//! attributes #1 = { convergent }
//! ```
//!
//! The operations of sub-groups (shuffles, votes) are treated in the same way as barriers.
//!
//! A barrier is good only where all work-items of a group reach the same one. So LLVM must neither
//! copy a call of it into the two arms of a branch, nor merge the calls of two arms into one, nor
//! move it to where fewer work-items come. `convergent` says so, and it has to stand on everything
//! that may reach a barrier: on functions, on the calls of them, and on calls through pointers
//! where a function that may reach one has its address taken. Nothing changes in a module without
//! barriers.
//!
//! What the compiler did before LLVM is kept from threading jumps through such calls by marks:
//! empty inline assembly with the text [`MARK`]. They have done their work here, and
//! [`remove_marks`] takes them out.

use std::collections::HashSet;

use inkwell::module::Module;
use inkwell::values::AsValueRef;
use llvm_sys::LLVMOpcode;
use llvm_sys::core::*;
use llvm_sys::prelude::*;

use crate::ir;
use crate::spec::builtins::convergent;

/// The text of a mark: a comment for every assembler.
pub const MARK: &str = "/* schism: convergent */";

/// Runs the pass over the module.
pub fn run(module: &Module<'_>) {
    remove_marks(module);
    let barriers: Vec<LLVMValueRef> =
        convergent().filter_map(|name| Some(module.get_function(name)?.as_value_ref())).collect();
    if barriers.is_empty() {
        return;
    }
    let reaching = Reaching::of(module.as_mut_ptr(), &barriers);
    for &function in &reaching.functions {
        ir::add_attribute_at(function, llvm_sys::LLVMAttributeFunctionIndex, "convergent", 0);
    }
    for &barrier in &barriers {
        ir::add_attribute_at(barrier, llvm_sys::LLVMAttributeFunctionIndex, "nomerge", 0);
    }
    for function in module.get_functions() {
        for call in ir::instructions(function.as_value_ref()) {
            if reaching.has(call) {
                ir::add_call_attribute(call, "convergent");
                if ir::callee(call).is_some_and(|callee| barriers.contains(&callee)) {
                    ir::add_call_attribute(call, "nomerge");
                }
            }
        }
    }
}

/// Takes the marks out of a module.
pub fn remove_marks(module: &Module<'_>) {
    // SAFETY: the module is live and held by the caller.
    unsafe { remove_marks_in(module.as_mut_ptr()) };
}

/// Takes the marks out of a module.
///
/// # Safety
/// `module` is a live module that nobody else changes during the call.
pub unsafe fn remove_marks_in(module: LLVMModuleRef) {
    // SAFETY: as promised by the caller. A mark returns nothing, so it has no uses.
    unsafe {
        let mut function = LLVMGetFirstFunction(module);
        while !function.is_null() {
            for instruction in ir::instructions(function) {
                if is_mark(instruction) {
                    if ir::opcode(instruction) == Some(LLVMOpcode::LLVMInvoke) {
                        ir::replace_invoke_by_branch(instruction);
                    } else {
                        LLVMInstructionEraseFromParent(instruction);
                    }
                }
            }
            function = LLVMGetNextFunction(function);
        }
    }
}

fn is_mark(instruction: LLVMValueRef) -> bool {
    if !is_call(instruction) {
        return false;
    }
    // SAFETY: the instruction is a call or an invoke, which has a called value.
    unsafe {
        let called = LLVMGetCalledValue(instruction);
        if LLVMIsAInlineAsm(called).is_null() {
            return false;
        }
        let mut length = 0;
        let text = LLVMGetInlineAsmAsmString(called, &mut length);
        std::slice::from_raw_parts(text.cast::<u8>(), length) == MARK.as_bytes()
    }
}

pub(crate) fn is_call(instruction: LLVMValueRef) -> bool {
    matches!(ir::opcode(instruction), Some(LLVMOpcode::LLVMCall | LLVMOpcode::LLVMInvoke))
}

/// What may reach one of some functions: a barrier, or a panic.
pub(crate) struct Reaching {
    /// The functions, those themselves included.
    pub(crate) functions: HashSet<LLVMValueRef>,
    /// Whether one of them has its address taken, so that a call through a pointer may be of it.
    by_pointer: bool,
}

impl Reaching {
    /// The functions of a live module that may reach `targets`, which are some of them.
    pub(crate) fn of(module: LLVMModuleRef, targets: &[LLVMValueRef]) -> Self {
        let mut reaching = Self { functions: HashSet::new(), by_pointer: false };
        let mut open = targets.to_vec();
        while let Some(function) = open.pop() {
            if !reaching.functions.insert(function) {
                continue;
            }
            for user in ir::users(function) {
                if ir::callee(user) == Some(function) {
                    open.push(ir::parent_function(user));
                    // It may be an argument of a call of itself, too.
                    if count_operands(user, function) == 1 {
                        continue;
                    }
                }
                if !reaching.by_pointer {
                    reaching.by_pointer = true;
                    open.extend(functions_that_call_pointers(module));
                }
            }
        }
        reaching
    }

    /// Whether a call may be of one of the functions.
    pub(crate) fn has(&self, call: LLVMValueRef) -> bool {
        match ir::callee(call) {
            Some(callee) => self.functions.contains(&callee),
            None => self.by_pointer && calls_pointer(call),
        }
    }
}

fn count_operands(user: LLVMValueRef, value: LLVMValueRef) -> usize {
    // SAFETY: `user` is an instruction, and the index is below its number of operands.
    unsafe {
        (0..LLVMGetNumOperands(user) as u32)
            .filter(|&index| LLVMGetOperand(user, index) == value)
            .count()
    }
}

fn functions_that_call_pointers(module: LLVMModuleRef) -> Vec<LLVMValueRef> {
    let calls =
        |&function: &LLVMValueRef| ir::instructions(function).into_iter().any(calls_pointer);
    ir::functions(module).into_iter().filter(calls).collect()
}

fn calls_pointer(instruction: LLVMValueRef) -> bool {
    // SAFETY: only a call or an invoke is asked for its called value.
    is_call(instruction)
        && ir::callee(instruction).is_none()
        && unsafe { LLVMIsAInlineAsm(LLVMGetCalledValue(instruction)).is_null() }
}
