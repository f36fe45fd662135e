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

use schism_llvm::{Linkage, Opcode, TypeKind, Value, ValueKind};

/// What a called pointer is, where it is certainly no function of the module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Foreign {
    /// A number.
    Number,
    /// What the launch passes in, or what stands in memory that it passes in.
    Host,
}

/// Looks at an instruction that may be a call through a pointer.
pub(crate) fn foreign(instruction: Value<'_>) -> Option<Foreign> {
    let calls = matches!(instruction.opcode(), Some(Opcode::Call | Opcode::Invoke));
    if !calls || instruction.callee().is_some() {
        return None;
    }
    let called = instruction.called_value();
    Search::default().run(called)
}

#[derive(Default)]
struct Search<'m> {
    seen: HashSet<Value<'m>>,
    next: Vec<Value<'m>>,
    found: Option<Foreign>,
}

/// It may be a function of the module.
struct Accepted;

impl<'m> Search<'m> {
    fn run(mut self, value: Value<'m>) -> Option<Foreign> {
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

    fn visit(&mut self, value: Value<'m>) -> Result<(), Accepted> {
        match value.kind() {
            ValueKind::Undef | ValueKind::Poison | ValueKind::ConstantPointerNull => Ok(()),
            ValueKind::ConstantInt => self.found(Foreign::Number),
            ValueKind::ConstantExpr => match value.const_opcode() {
                Opcode::IntToPtr | Opcode::PtrToInt => {
                    self.next.push(value.operand(0));
                    Ok(())
                }
                _ => Err(Accepted),
            },
            ValueKind::Argument => match of_launch(value) {
                true if is_integer(value) => self.found(Foreign::Number),
                true => self.found(Foreign::Host),
                false => {
                    self.next.extend(arguments(value)?);
                    Ok(())
                }
            },
            ValueKind::Instruction => self.visit_instruction(value),
            _ => Err(Accepted),
        }
    }

    fn visit_instruction(&mut self, value: Value<'m>) -> Result<(), Accepted> {
        let Some(opcode) = value.opcode() else { return Err(Accepted) };
        match opcode {
            Opcode::Phi => {
                let incoming = 0..value.num_incoming();
                self.next.extend(incoming.map(|index| value.incoming_value(index)));
                Ok(())
            }
            Opcode::Select => {
                self.next.extend([value.operand(1), value.operand(2)]);
                Ok(())
            }
            Opcode::Freeze
            | Opcode::BitCast
            | Opcode::AddrSpaceCast
            | Opcode::IntToPtr
            | Opcode::PtrToInt => {
                self.next.push(value.operand(0));
                Ok(())
            }
            Opcode::Call => match returned(value) {
                Some(values) => {
                    self.next.extend(values);
                    Ok(())
                }
                None if is_integer(value) => self.found(Foreign::Number),
                None => Err(Accepted),
            },
            // What an integer is made of otherwise, is a number: a function's address would be
            // seen.
            _ if is_integer(value) => self.found(Foreign::Number),
            Opcode::Load if is_host_memory(value.operand(0)) => self.found(Foreign::Host),
            _ => Err(Accepted),
        }
    }
}

/// Whether all that a pointer can point to is memory that the launch passes in.
fn is_host_memory(pointer: Value<'_>) -> bool {
    let mut seen = HashSet::new();
    let mut next = vec![pointer];
    let mut any = false;
    while let Some(value) = next.pop() {
        if !seen.insert(value) {
            continue;
        }
        if value.kind() == ValueKind::Argument {
            if of_launch(value) {
                any = true;
            } else if let Ok(values) = arguments(value) {
                next.extend(values);
            } else {
                return false;
            }
            continue;
        }
        match value.opcode() {
            Some(Opcode::GetElementPtr | Opcode::Load | Opcode::Freeze | Opcode::AddrSpaceCast) => {
                next.push(value.operand(0))
            }
            _ => return false,
        }
    }
    any
}

/// Whether a value is a parameter of a kernel.
fn of_launch(argument: Value<'_>) -> bool {
    argument.param_function().linkage() == Linkage::External
}

/// What the callers of a function pass for one of its parameters, if all of them are known.
fn arguments(argument: Value<'_>) -> Result<Vec<Value<'_>>, Accepted> {
    let function = argument.param_function();
    let index = (0..function.num_params())
        .find(|index| function.param(*index) == argument)
        .ok_or(Accepted)?;
    function
        .users()
        .into_iter()
        .map(|user| {
            let only_calls = user.callee() == Some(function)
                && (0..user.num_args()).all(|operand| user.operand(operand) != function)
                && index < user.num_args();
            if only_calls { Ok(user.operand(index)) } else { Err(Accepted) }
        })
        .collect()
}

/// What a call returns, if its callee has a body.
fn returned(call: Value<'_>) -> Option<Vec<Value<'_>>> {
    let callee = call.callee()?;
    let values: Vec<Value<'_>> = callee
        .instructions()
        .into_iter()
        .filter(|instruction| instruction.opcode() == Some(Opcode::Return))
        // A call through a pointer of another type may take a result where nothing is returned.
        .filter_map(|instruction| instruction.get_operand(0))
        .collect();
    (!values.is_empty()).then_some(values)
}

fn is_integer(value: Value<'_>) -> bool {
    value.ty().kind() == TypeKind::Integer
}
