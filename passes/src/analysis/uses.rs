//! Where functions and globals are used, for reports.

use std::collections::{BTreeMap, HashSet, VecDeque};

use inkwell::module::Module;
use schism_llvm::{IntoValue, Value};

use crate::analysis::call_sites;
use crate::spec::builtins::OFFSET_SUFFIX;
use crate::spec::report::{Use, Violation, ViolationKind};

/// Where each function of the module is used; a copy of a function counts as the function.
pub fn uses(module: &Module<'_>) -> BTreeMap<String, Vec<Use>> {
    let mut all: BTreeMap<String, Vec<Use>> = BTreeMap::new();
    for function in module.get_functions() {
        let value = function.value();
        let uses = uses_of(value);
        if !uses.is_empty() {
            all.entry(name_of_original(value)).or_default().extend(uses);
        }
    }
    all
}

/// The violation that a user of something is: an instruction, or a constant with its uses.
pub(crate) fn violation_of_use(user: Value<'_>, what: ViolationKind) -> Violation {
    let uses = if user.opcode().is_some() { vec![use_at(user, None)] } else { uses_of(user) };
    Violation { what, uses }
}

/// The instructions that use an object, itself or through constants.
pub(crate) fn uses_of(object: Value<'_>) -> Vec<Use> {
    let mut seen = HashSet::from([object]);
    let mut queue = VecDeque::from([(object, None)]);
    let mut uses = Vec::new();
    while let Some((value, through)) = queue.pop_front() {
        // The list of uses starts with the newest.
        for user in value.users().into_iter().rev() {
            if !seen.insert(user) {
                continue;
            }
            let (is_function, is_global) = (user.is_function(), user.is_global_variable());
            if user.opcode().is_some() {
                uses.push(use_at(user, through.clone()));
            } else if is_global {
                queue.push_back((user, Some(user.name())));
            } else if !is_function {
                // A constant expression. (A function uses its personality, and no instruction
                // does.)
                queue.push_back((user, through.clone()));
            }
        }
    }
    uses
}

pub(crate) fn use_at(instruction: Value<'_>, through: Option<String>) -> Use {
    Use {
        function: name_of_original(instruction.parent_function()),
        through,
        call_path: call_sites::call_path_of(instruction),
    }
}

/// The name of a function, or of the one that it is a copy of: what people know.
pub(crate) fn name_of_original(function: Value<'_>) -> String {
    let name = function.name();
    let Some(original) = name.strip_suffix(OFFSET_SUFFIX) else { return name };
    if function.module().function(original).is_some() { original.to_owned() } else { name }
}
