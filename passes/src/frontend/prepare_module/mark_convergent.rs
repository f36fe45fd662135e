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
//! [`remove_marks_in`] takes them out.

use std::collections::HashSet;

use inkwell::module::Module;
use schism_llvm::{AsModule, FUNCTION_INDEX, IntoValue, ModuleRef, Opcode, Value};

use crate::spec::builtins::convergent;

/// The text of a mark: a comment for every assembler.
pub const MARK: &str = "/* schism: convergent */";

/// Marks the calls of a module.
pub(super) fn run(module: &Module<'_>) {
    remove_marks_in(module.handle());
    let barriers: Vec<Value<'_>> =
        convergent().filter_map(|name| Some(module.get_function(name)?.value())).collect();
    if barriers.is_empty() {
        return;
    }
    let reaching = Reaching::of(module.handle(), &barriers);
    for &function in &reaching.functions {
        function.add_attribute_at(FUNCTION_INDEX, "convergent", 0);
    }
    for &barrier in &barriers {
        barrier.add_attribute_at(FUNCTION_INDEX, "nomerge", 0);
    }
    for function in module.get_functions() {
        for call in function.value().instructions() {
            if reaching.has(call) {
                call.add_call_attribute("convergent");
                if call.callee().is_some_and(|callee| barriers.contains(&callee)) {
                    call.add_call_attribute("nomerge");
                }
            }
        }
    }
}

/// Takes the marks out of a module.
pub fn remove_marks_in(module: ModuleRef<'_>) {
    for function in module.functions() {
        for instruction in function.instructions() {
            if is_mark(instruction) {
                if instruction.opcode() == Some(Opcode::Invoke) {
                    instruction.replace_invoke_by_branch();
                } else {
                    instruction.erase();
                }
            }
        }
    }
}

fn is_mark(instruction: Value<'_>) -> bool {
    if !is_call(instruction) {
        return false;
    }
    let called = instruction.called_value();
    if !called.is_inline_assembly() {
        return false;
    }
    called.assembly_text() == MARK.as_bytes()
}

pub(crate) fn is_call(instruction: Value<'_>) -> bool {
    matches!(instruction.opcode(), Some(Opcode::Call | Opcode::Invoke))
}

/// What may reach one of some functions: a barrier, or a panic.
pub(crate) struct Reaching<'m> {
    /// The functions, those themselves included.
    pub(crate) functions: HashSet<Value<'m>>,
    /// Whether one of them has its address taken, so that a call through a pointer may be of it.
    by_pointer: bool,
}

impl<'m> Reaching<'m> {
    /// The functions of a live module that may reach `targets`, which are some of them.
    pub(crate) fn of(module: ModuleRef<'m>, targets: &[Value<'m>]) -> Self {
        let mut reaching = Self { functions: HashSet::new(), by_pointer: false };
        let mut open = targets.to_vec();
        while let Some(function) = open.pop() {
            if !reaching.functions.insert(function) {
                continue;
            }
            for user in function.users() {
                // A function uses its personality, and calls nothing by that.
                if user.is_function() {
                    continue;
                }
                if user.callee() == Some(function) {
                    open.push(user.parent_function());
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
    pub(crate) fn has(&self, call: Value<'m>) -> bool {
        match call.callee() {
            Some(callee) => self.functions.contains(&callee),
            None => self.by_pointer && calls_pointer(call),
        }
    }
}

fn count_operands<'m>(user: Value<'m>, value: Value<'m>) -> usize {
    (0..user.num_operands()).filter(|&index| user.operand(index) == value).count()
}

fn functions_that_call_pointers(module: ModuleRef<'_>) -> Vec<Value<'_>> {
    let calls = |&function: &Value<'_>| function.instructions().into_iter().any(calls_pointer);
    module.functions().into_iter().filter(calls).collect()
}

fn calls_pointer(instruction: Value<'_>) -> bool {
    is_call(instruction)
        && instruction.callee().is_none()
        && !instruction.called_value().is_inline_assembly()
}
