//! Whether code could tell where values are that some addresses point to.
//!
//! Changes nothing. A kernel may use copies of values that it refers to
//! ([`finish_module`](crate::frontend::finish_module)) unless that makes a difference:
//! ```llvm
//!   %same = icmp eq ptr %copied, %other                ; the original may be at %other
//!   %distance = sub i64 %copied_number, %other_number
//! ```
//! To compare an address with another one of the same value is fine, as loops over an array do, and so
//! it is with null. What gets out of the kernel by a store is
//! [found](crate::check::host_memory::can_be_told_apart) when the copies are in place; then it is too
//! late for comparisons, since LLVM knows of local variables that they are nowhere else.
//!
//! Each address has a *root*: a source, or the load of an address out of a value that a source points
//! to. This is a walk over def-use chains, without regard to the order of instructions. The functions
//! are inlined, so an address that goes to another function, or into a variable that is in memory, is
//! taken for one that is compared.

use std::collections::{HashMap, HashSet};

use schism_llvm::{Opcode, TypeKind, Value};

use super::host_memory::{is_address, may_hold};
use crate::analysis::effects;
use crate::ir::address::local_variable;
use crate::spec::builtins::{COPY_OF, PANIC, PANIC_FORMAT};

/// Whether `functions`, all that a kernel reaches, could tell where something is that one of their
/// `sources` points to: calls of the marker.
pub(crate) fn is_observed<'m>(functions: &[Value<'m>], sources: &[Value<'m>]) -> bool {
    let mut walk = Walk {
        functions: functions.iter().copied().collect(),
        copies: sources.iter().map(|source| source.operand(0)).collect(),
        roots: HashMap::new(),
        stack: Vec::new(),
        compared: Vec::new(),
    };
    for source in sources {
        walk.add(*source, Some(*source));
    }
    loop {
        if !walk.follow() {
            return true;
        }
        // What may also be another address has no one root.
        let mixed: Vec<Value<'m>> = walk.mixed();
        if mixed.is_empty() {
            break;
        }
        mixed.into_iter().for_each(|value| walk.add(value, None));
    }
    walk.compared.iter().any(|comparison| !walk.is_of_one_root(*comparison))
}

struct Walk<'m> {
    functions: HashSet<Value<'m>>,
    /// The variables that have copies. Addresses of others are put into them.
    copies: HashSet<Value<'m>>,
    /// The root of each address, if it has one only.
    roots: HashMap<Value<'m>, Option<Value<'m>>>,
    /// Addresses whose users are still to be looked at.
    stack: Vec<Value<'m>>,
    /// Comparisons and differences.
    compared: Vec<Value<'m>>,
}

impl<'m> Walk<'m> {
    fn add(&mut self, value: Value<'m>, root: Option<Value<'m>>) {
        let root = match self.roots.get(&value) {
            Some(known) if *known == root || known.is_none() => return,
            Some(_) => None,
            None => root,
        };
        self.roots.insert(value, root);
        self.stack.push(value);
    }

    /// Looks at all users; returns `false` if an address goes where it is not followed.
    fn follow(&mut self) -> bool {
        while let Some(value) = self.stack.pop() {
            let root = self.roots[&value];
            for user in value.users() {
                if user.is_instruction()
                    && self.functions.contains(&user.parent_function())
                    && !self.follow_to(value, root, user)
                {
                    return false;
                }
            }
        }
        true
    }

    fn follow_to(&mut self, value: Value<'m>, root: Option<Value<'m>>, user: Value<'m>) -> bool {
        match user.opcode() {
            Some(Opcode::Load) => {
                if may_hold(user.ty(), &is_address) {
                    self.add(user, Some(user));
                }
                true
            }
            // Into a copy, or out of the kernel.
            Some(Opcode::Store) => {
                user.operand(0) != value
                    || local_variable(user.operand(1))
                        .is_none_or(|variable| self.copies.contains(&variable))
            }
            Some(Opcode::ICmp | Opcode::Sub) => {
                self.compared.push(user);
                // The difference to another address is a number, if that is one of the same root.
                if user.opcode() == Some(Opcode::Sub) && user.operand(1).is_constant() {
                    self.add(user, root);
                }
                true
            }
            Some(
                Opcode::GetElementPtr
                | Opcode::BitCast
                | Opcode::AddrSpaceCast
                | Opcode::Phi
                | Opcode::Select
                | Opcode::Freeze
                | Opcode::PtrToInt
                | Opcode::IntToPtr
                | Opcode::InsertValue
                | Opcode::ExtractValue
                | Opcode::Add
                | Opcode::And
                | Opcode::Or,
            ) => {
                self.add(user, root);
                true
            }
            Some(Opcode::Call) => self.follow_into(value, user),
            _ => false,
        }
    }

    /// An address is an argument of a call.
    fn follow_into(&mut self, value: Value<'m>, call: Value<'m>) -> bool {
        let called = call.called_value();
        if !called.is_function() {
            return false;
        }
        let name = called.name();
        if call.calls_intrinsic(&["memcpy.", "memmove."]) {
            // A variable that has what is behind the address has the addresses that are there.
            if call.operand(1) == value
                && let Some(variable) = local_variable(call.operand(0))
                && !self.copies.contains(&variable)
            {
                self.add(variable, Some(variable));
            }
            return true;
        }
        effects::keeps_no_address(call)
            || [PANIC, PANIC_FORMAT].contains(&name.as_str())
            || call.has_attribute_of_call("noreturn")
            // The original of another copy.
            || name == COPY_OF
    }

    /// Addresses with a root that may also be others.
    fn mixed(&self) -> Vec<Value<'m>> {
        let is_mixed = |value: &Value<'m>| {
            let operands = match value.opcode() {
                Some(Opcode::Phi) => value.operands().collect::<Vec<_>>(),
                Some(Opcode::Select) => value.operands().skip(1).collect(),
                _ => return false,
            };
            let is_other = |operand: &Value<'m>| !operand.is_zero() && !operand.is_undef();
            operands.iter().any(|operand| is_other(operand) && !self.roots.contains_key(operand))
        };
        let single = self.roots.iter().filter(|(_, root)| root.is_some());
        single.map(|(value, _)| *value).filter(is_mixed).collect()
    }

    /// Whether a comparison or a difference is one of two addresses with the same root, or of an
    /// address with nothing that could be one.
    fn is_of_one_root(&self, comparison: Value<'m>) -> bool {
        let root = |index: u32| self.roots.get(&comparison.operand(index)).copied();
        let is_number = |index: u32| {
            let operand = comparison.operand(index);
            operand.is_zero() || (operand.is_constant() && operand.ty().kind() == TypeKind::Integer)
        };
        match (root(0), root(1)) {
            (Some(Some(left)), Some(Some(right))) => left == right,
            (Some(_), None) => is_number(1),
            (None, Some(_)) => is_number(0) && comparison.opcode() == Some(Opcode::ICmp),
            _ => false,
        }
    }
}
