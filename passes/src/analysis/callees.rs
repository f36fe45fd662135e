//! Where the addresses of functions come from that are called through pointers.
//!
//! A call is refused if its pointer can be nothing but the host's: every way back from it ends at a
//! number, or in memory that the launch passes in. What may be a function of the module is
//! accepted, also where it may be something else; the rest is for the `unsafe` code that made the
//! pointer to promise.
//! ```llvm
//! %n = add i64 %x, 4096
//! %f = inttoptr i64 %n to ptr
//! call void %f()                              ; a number
//! %g = load ptr, ptr %captured
//! call void %g()                              ; from the host
//! %bits = phi i64 [ %n, %a ], [ ptrtoint (ptr @h to i64), %b ]
//! %h = inttoptr i64 %bits to ptr
//! call void %h()                              ; accepted: an enum of numbers and functions looks like this
//! ```

use std::collections::HashSet;

use llvm_sys::core::*;
use llvm_sys::prelude::*;
use llvm_sys::{LLVMLinkage, LLVMOpcode, LLVMTypeKind, LLVMValueKind};

use crate::ir;

/// What a called pointer is, where it is certainly no function of the module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Foreign {
    /// A number.
    Number,
    /// What the launch passes in, or what stands in memory that it passes in.
    Host,
}

/// Looks at an instruction that may be a call through a pointer.
pub(crate) fn foreign(instruction: LLVMValueRef) -> Option<Foreign> {
    if ir::opcode(instruction) != Some(LLVMOpcode::LLVMCall) || ir::callee(instruction).is_some() {
        return None;
    }
    // SAFETY: the instruction is a call, which has a called value.
    let called = unsafe { LLVMGetCalledValue(instruction) };
    Search::default().run(called)
}

#[derive(Default)]
struct Search {
    seen: HashSet<LLVMValueRef>,
    next: Vec<LLVMValueRef>,
    found: Option<Foreign>,
}

/// It may be a function of the module.
struct Accepted;

impl Search {
    fn run(mut self, value: LLVMValueRef) -> Option<Foreign> {
        self.next.push(value);
        while let Some(value) = self.next.pop() {
            if self.seen.insert(value) && self.visit(value).is_err() {
                return None;
            }
        }
        self.found
    }

    fn found(&mut self, what: Foreign) -> Result<(), Accepted> {
        // A number that the launch passes in is told as a number.
        if self.found != Some(Foreign::Number) {
            self.found = Some(what);
        }
        Ok(())
    }

    fn visit(&mut self, value: LLVMValueRef) -> Result<(), Accepted> {
        // SAFETY: the value is live, and operands are asked of users that have them.
        unsafe {
            match LLVMGetValueKind(value) {
                LLVMValueKind::LLVMUndefValueValueKind
                | LLVMValueKind::LLVMPoisonValueKind
                | LLVMValueKind::LLVMConstantPointerNullValueKind => Ok(()),
                LLVMValueKind::LLVMConstantIntValueKind => self.found(Foreign::Number),
                LLVMValueKind::LLVMConstantExprValueKind => match LLVMGetConstOpcode(value) {
                    LLVMOpcode::LLVMIntToPtr | LLVMOpcode::LLVMPtrToInt => {
                        self.next.push(LLVMGetOperand(value, 0));
                        Ok(())
                    }
                    _ => Err(Accepted),
                },
                LLVMValueKind::LLVMArgumentValueKind => match of_launch(value) {
                    true if is_integer(value) => self.found(Foreign::Number),
                    true => self.found(Foreign::Host),
                    false => {
                        self.next.extend(arguments(value)?);
                        Ok(())
                    }
                },
                LLVMValueKind::LLVMInstructionValueKind => self.visit_instruction(value),
                _ => Err(Accepted),
            }
        }
    }

    /// # Safety
    /// The value is a live instruction.
    unsafe fn visit_instruction(&mut self, value: LLVMValueRef) -> Result<(), Accepted> {
        // SAFETY: as promised by the caller; operands are those that the opcodes have.
        unsafe {
            match LLVMGetInstructionOpcode(value) {
                LLVMOpcode::LLVMPHI => {
                    let incoming = 0..LLVMCountIncoming(value);
                    self.next.extend(incoming.map(|index| LLVMGetIncomingValue(value, index)));
                    Ok(())
                }
                LLVMOpcode::LLVMSelect => {
                    self.next.extend([LLVMGetOperand(value, 1), LLVMGetOperand(value, 2)]);
                    Ok(())
                }
                LLVMOpcode::LLVMFreeze
                | LLVMOpcode::LLVMBitCast
                | LLVMOpcode::LLVMAddrSpaceCast
                | LLVMOpcode::LLVMIntToPtr
                | LLVMOpcode::LLVMPtrToInt => {
                    self.next.push(LLVMGetOperand(value, 0));
                    Ok(())
                }
                LLVMOpcode::LLVMCall => match returned(value) {
                    Some(values) => {
                        self.next.extend(values);
                        Ok(())
                    }
                    None if is_integer(value) => self.found(Foreign::Number),
                    None => Err(Accepted),
                },
                // What an integer is made of otherwise, is a number: a function's address would be seen.
                _ if is_integer(value) => self.found(Foreign::Number),
                LLVMOpcode::LLVMLoad if is_host_memory(LLVMGetOperand(value, 0)) => {
                    self.found(Foreign::Host)
                }
                _ => Err(Accepted),
            }
        }
    }
}

/// Whether all that a pointer can point to is memory that the launch passes in.
///
/// # Safety
/// The pointer is a live value.
unsafe fn is_host_memory(pointer: LLVMValueRef) -> bool {
    let mut seen = HashSet::new();
    let mut next = vec![pointer];
    let mut any = false;
    while let Some(value) = next.pop() {
        if !seen.insert(value) {
            continue;
        }
        // SAFETY: operands of live values are live; each opcode has those that are asked for.
        unsafe {
            if LLVMGetValueKind(value) == LLVMValueKind::LLVMArgumentValueKind {
                if of_launch(value) {
                    any = true;
                } else if let Ok(values) = arguments(value) {
                    next.extend(values);
                } else {
                    return false;
                }
                continue;
            }
            match ir::opcode(value) {
                Some(
                    LLVMOpcode::LLVMGetElementPtr
                    | LLVMOpcode::LLVMLoad
                    | LLVMOpcode::LLVMFreeze
                    | LLVMOpcode::LLVMAddrSpaceCast,
                ) => next.push(LLVMGetOperand(value, 0)),
                _ => return false,
            }
        }
    }
    any
}

/// Whether a value is a parameter of a kernel.
///
/// # Safety
/// The value is a live argument.
unsafe fn of_launch(argument: LLVMValueRef) -> bool {
    // SAFETY: as promised by the caller. Kernels are what others can see of a module.
    unsafe { LLVMGetLinkage(LLVMGetParamParent(argument)) == LLVMLinkage::LLVMExternalLinkage }
}

/// What the callers of a function pass for one of its parameters, if all of them are known.
///
/// # Safety
/// The value is a live argument.
unsafe fn arguments(argument: LLVMValueRef) -> Result<Vec<LLVMValueRef>, Accepted> {
    // SAFETY: as promised by the caller; a call of the function has an operand for each of its parameters.
    unsafe {
        let function = LLVMGetParamParent(argument);
        let index = (0..LLVMCountParams(function))
            .find(|index| LLVMGetParam(function, *index) == argument)
            .ok_or(Accepted)?;
        ir::users(function)
            .into_iter()
            .map(|user| {
                let only_calls = ir::callee(user) == Some(function)
                    && (0..LLVMGetNumArgOperands(user))
                        .all(|operand| LLVMGetOperand(user, operand) != function)
                    && index < LLVMGetNumArgOperands(user);
                if only_calls { Ok(LLVMGetOperand(user, index)) } else { Err(Accepted) }
            })
            .collect()
    }
}

/// What a call returns, if its callee has a body.
///
/// # Safety
/// The value is a live call.
unsafe fn returned(call: LLVMValueRef) -> Option<Vec<LLVMValueRef>> {
    let callee = ir::callee(call)?;
    let values: Vec<LLVMValueRef> = ir::instructions(callee)
        .into_iter()
        .filter(|instruction| ir::opcode(*instruction) == Some(LLVMOpcode::LLVMRet))
        // SAFETY: the callee returns what the call has as its value.
        .map(|instruction| unsafe { LLVMGetOperand(instruction, 0) })
        .collect();
    (!values.is_empty()).then_some(values)
}

fn is_integer(value: LLVMValueRef) -> bool {
    // SAFETY: the value is live.
    unsafe { LLVMGetTypeKind(LLVMTypeOf(value)) == LLVMTypeKind::LLVMIntegerTypeKind }
}
