//! Refuses functions that call themselves, for targets whose code has no stack to do so.
//!
//! The CPU has one, so stage 1 does not run this; a target without one runs it before its own
//! passes. For
//! ```llvm
//! define internal void @a() { call void @b() ... }
//! define internal void @b() { call void @a() ... }
//! ```
//! it reports the circle `a`, `b`, at the call that closes it.

use std::collections::{HashSet, VecDeque};

use inkwell::module::Module;
use schism_llvm::{IntoValue, Value};

use crate::analysis::uses::use_at;
use crate::spec::report::{Violation, ViolationKind};

/// Runs the check: a violation for each circle of direct calls.
pub fn run(module: &Module<'_>) -> Vec<Violation> {
    let mut violations = Vec::new();
    let mut done = HashSet::new();
    for function in module.get_functions() {
        let start = function.value();
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
                let circle = path[at..].iter().map(|&(function, _)| function.name());
                violations.push(Violation {
                    what: ViolationKind::Recursion(circle.collect()),
                    uses: vec![use_at(call, None)],
                });
            } else if !done.contains(&callee) {
                path.push((callee, calls(callee)));
            }
        }
    }
    violations
}

/// The first direct call of each function with a body that a function calls.
fn calls(function: Value<'_>) -> VecDeque<(Value<'_>, Value<'_>)> {
    let mut seen = HashSet::new();
    function
        .instructions()
        .into_iter()
        .filter_map(|call| Some((call, call.callee()?)))
        .filter(|&(_, callee)| (!callee.is_declaration()) && seen.insert(callee))
        .collect()
}
