//! Declares statics that refer to each other in a cycle before their definitions. Runs in stage 2,
//! right before PTX is written.
//!
//! Before:
//! ```llvm
//! @a = internal addrspace(1) constant ptr addrspacecast (ptr addrspace(1) @b to ptr)
//! @b = internal addrspace(1) constant ptr addrspacecast (ptr addrspace(1) @a to ptr)
//! ```
//! After:
//! ```llvm
//! @schism_circular_0_forward = external addrspace(1) constant ptr
//! @schism_circular_0 = addrspace(1) constant ptr addrspacecast (ptr addrspace(1) @b to ptr)
//! @b = internal addrspace(1) constant ptr addrspacecast (ptr addrspace(1) @schism_circular_0_forward to ptr)
//! ```
//!
//! In PTX a variable stands behind those that its initialiser refers to, which LLVM cannot bring
//! about here: it ends the process. But a variable that other modules see may be declared first, by
//! `.extern`. So in each circle one static is declared under another name, which everything else
//! uses instead. The writer of PTX makes one name of both, see
//! [`joined`].

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};

use schism_llvm::{Linkage, ModuleRef, UnnamedAddress, Value, Visibility};

/// How the names begin of statics that are declared first; a number follows.
const NAME: &str = "schism_circular_";

/// What the declaration's name has behind that of the definition.
const FORWARD: &str = "_forward";

/// Runs the pass over a module.
pub fn run(module: ModuleRef<'_>) {
    for (number, global) in closing(module).into_iter().enumerate() {
        let name = format!("{NAME}{number}");
        global.set_name(&name);
        let ty = global.value_type();
        let space = global.address_space().unwrap_or(0);
        let forward = module.add_global_in(ty, &format!("{name}{FORWARD}"), space);
        forward.set_global_constant(global.is_global_constant());
        forward.set_alignment(global.alignment());
        global.replace_uses(forward);
        global.set_linkage(Linkage::External);
        global.set_visibility(Visibility::Default);
        global.set_unnamed_address(UnnamedAddress::No);
    }
}

/// The statics that close a circle, in the module's order: without references to these, no static
/// reaches itself.
fn closing(module: ModuleRef<'_>) -> Vec<Value<'_>> {
    let mut globals = Vec::new();
    for global in module.globals() {
        globals.push(global);
    }
    let mut closing = HashSet::new();
    // Whether the search from a static is still open.
    let mut open: HashMap<Value<'_>, bool> = HashMap::new();
    for &start in &globals {
        // Statics may refer to each other in long chains.
        let mut stack = vec![(start, false)];
        while let Some((global, complete)) = stack.pop() {
            if complete {
                open.insert(global, false);
            } else if let Entry::Vacant(entry) = open.entry(global) {
                entry.insert(true);
                stack.push((global, true));
                for next in mentioned(global).into_iter().rev() {
                    match open.get(&next) {
                        Some(true) => {
                            closing.insert(next);
                        }
                        Some(false) => {}
                        None => stack.push((next, false)),
                    }
                }
            }
        }
    }
    globals.retain(|global| closing.contains(global));
    globals
}

/// The statics that the value of one mentions, in their order, each once.
fn mentioned(global: Value<'_>) -> Vec<Value<'_>> {
    let mut found = Vec::new();
    let mut seen = HashSet::new();
    let mut stack: Vec<Value<'_>> = global.initializer().into_iter().collect();
    while let Some(value) = stack.pop() {
        if !seen.insert(value) {
            continue;
        }
        if value.is_global_variable() {
            found.push(value);
        } else if !value.is_function() && value.is_user() {
            stack.extend(value.operands().rev());
        }
    }
    found
}

/// The text of a PTX module in which the declarations have the names of what they declare, and
/// stand before all variables.
///
/// ```
/// let written = "\
/// .extern .global .align 8 .b8 schism_circular_0_forward[8];
/// .global .align 8 .u64 b[1] = {generic(schism_circular_0_forward)};
/// .visible .global .align 8 .u64 schism_circular_0[1] = {generic(b)};
/// ";
/// let joined = schism_passes::nvptx::circular_statics::joined(written);
/// assert_eq!(joined, "\
/// .extern .global .align 8 .u64 schism_circular_0[1];
/// .global .align 8 .u64 b[1] = {generic(schism_circular_0)};
/// .visible .global .align 8 .u64 schism_circular_0[1] = {generic(b)};
/// ");
/// ```
#[must_use]
pub fn joined(text: &str) -> String {
    let is_forward = |line: &str| line.starts_with(".extern") && line.contains(FORWARD);
    let forward = text.lines().filter(|line| line.contains(NAME) && is_forward(line)).count();
    if forward == 0 {
        return text.to_owned();
    }
    // The longest first: the name of the first is the beginning of the eleventh's.
    let mut all = text.to_owned();
    let mut declarations = Vec::new();
    for number in (0..forward).rev() {
        let name = format!("{NAME}{number}");
        all = all.replace(&format!("{name}{FORWARD}"), &name);
        let definition = all.lines().find_map(|line| {
            let (declared, _) = line.strip_prefix(".visible ")?.split_once('=')?;
            let called = declared.split_whitespace().last()?.split('[').next()?;
            (called == name).then(|| format!(".extern {};\n", declared.trim_end()))
        });
        declarations.extend(definition);
    }
    let mut out = String::with_capacity(all.len());
    for line in all.split_inclusive('\n') {
        if line.starts_with(".extern .global") && line.contains(NAME) {
            continue;
        }
        if line.starts_with(".global") || line.starts_with(".visible .global") {
            declarations.drain(..).rev().for_each(|declaration| out += &declaration);
        }
        out += line;
    }
    out
}
