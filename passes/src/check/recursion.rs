//! Refuses functions that call themselves, for targets whose code has no stack to do so.
//!
//! The CPU has one, so stage 1 does not run this; a target without one runs it before its own
//! passes. For
//! ```llvm
//! define internal void @a() { call void @b() ... }
//! define internal void @b() { call void @a() ... }
//! ```
//! it reports the circle `a`, `b`, at the call that closes it. [`feature`] says it to people.

use std::collections::{HashSet, VecDeque};

use inkwell::module::Module;
use schism_llvm::{AsModule, Attribute, FUNCTION_INDEX, Value};

use crate::analysis::cleanup::outside_cleanup;
use crate::analysis::uses::use_at;
use crate::spec::report::{Violation, ViolationKind};

/// The attribute of a function that calls others by comparing addresses: the names of those that it
/// may call, with blanks between them.
pub const CHOOSES: &str = "schism-chooses";

/// What is in the names of functions that format text.
const FORMATS: [&str; 2] = ["core::fmt::", " as core::fmt::"];

/// Runs the check: a violation for each circle of direct calls.
pub fn run(module: &Module<'_>) -> Vec<Violation> {
    let circles = circles(module.handle().functions(), Value::instructions).into_iter();
    circles
        .map(|circle| Violation {
            what: ViolationKind::Recursion(circle.functions.into_iter().map(Value::name).collect()),
            uses: vec![use_at(circle.call, None)],
        })
        .collect()
}

/// What a kernel of these functions uses, as an error says it, if they have a circle.
pub fn feature<'m>(functions: impl IntoIterator<Item = Value<'m>>) -> Option<String> {
    let circle = circles(functions, Value::instructions).into_iter().next()?;
    let (mut names, mut chosen) = (Vec::new(), Vec::new());
    for function in circle.functions {
        let all = function.string_attribute(FUNCTION_INDEX, CHOOSES);
        match all.and_then(Attribute::string_value) {
            Some(all) => chosen.extend(all.split_whitespace().map(readable)),
            None => names.push(readable(&function.name())),
        }
    }
    let formats = |name: &String| FORMATS.iter().any(|part| name.contains(part));
    if names.iter().chain(&chosen).any(formats) {
        let write =
            "recursion (it formats text with `write!`, which calls itself through pointers)";
        return Some(write.to_owned());
    }
    Some(match (names.first(), chosen.first()) {
        (Some(name), _) => format!("recursion (`{name}` calls itself)"),
        (None, Some(name)) => {
            format!("recursion (`{name}`, which is called through a pointer, calls itself)")
        }
        (None, None) => "recursion".to_owned(),
    })
}

/// A function's name as its source has it.
pub fn readable(symbol: &str) -> String {
    format!("{:#}", rustc_demangle::demangle(symbol))
}

/// Functions that call each other.
struct Circle<'m> {
    functions: Vec<Value<'m>>,
    /// The call that closes it.
    call: Value<'m>,
}

/// Whether direct calls among some functions, all that are reached from some kernel, come back to
/// where they began, those aside that are executed while a panic unwinds.
pub(crate) fn has_circle(functions: &[Value<'_>]) -> bool {
    !circles(functions.iter().copied(), outside_cleanup).is_empty()
}

fn circles<'m>(
    functions: impl IntoIterator<Item = Value<'m>>,
    instructions_of: fn(Value<'m>) -> Vec<Value<'m>>,
) -> Vec<Circle<'m>> {
    let calls = |function| calls(instructions_of(function));
    let mut circles = Vec::new();
    let mut done = HashSet::new();
    for start in functions {
        if done.contains(&start) {
            continue;
        }
        // Depth first; `path` holds each function on the way down with its calls yet to follow.
        let mut path = vec![(start, calls(start))];
        while let Some((_, left)) = path.last_mut() {
            let Some((call, callee)) = left.pop_front() else {
                done.extend(path.pop().map(|(function, _)| function));
                continue;
            };
            if let Some(at) = path.iter().position(|&(function, _)| function == callee) {
                let functions = path[at..].iter().map(|&(function, _)| function).collect();
                circles.push(Circle { functions, call });
            } else if !done.contains(&callee) {
                path.push((callee, calls(callee)));
            }
        }
    }
    circles
}

/// The first direct call of each function with a body among some instructions.
fn calls(instructions: Vec<Value<'_>>) -> VecDeque<(Value<'_>, Value<'_>)> {
    let mut seen = HashSet::new();
    instructions
        .into_iter()
        .filter_map(|call| Some((call, call.callee()?)))
        .filter(|&(_, callee)| (!callee.is_declaration()) && seen.insert(callee))
        .collect()
}
