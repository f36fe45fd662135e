//! Gives a function another body.
//!
//! Before:
//! ```llvm
//! define ptr @marker() noinline {
//!   ret ptr null
//! }
//! ```
//! After, with the address of a global as the constant; what counts for a profile stays:
//! ```llvm
//! define ptr @marker() {
//!   ret ptr @descriptor
//! }
//! ```

use schism_llvm::{Builder, FUNCTION_INDEX, TypeKind, Value, enum_kind};

use crate::frontend::prepare_module;

/// Makes a function return a constant and nothing else, and lets callers inline it. Where the
/// function counts its calls for a profile it continues to do so: a report on coverage looks for the
/// counters of every function that its map has.
pub fn return_constant<'m>(function: Value<'m>, constant: Value<'m>) {
    // Of the first block, which each call runs.
    let counters: Vec<_> = function
        .blocks()
        .first()
        .map(|entry| entry.instructions())
        .unwrap_or_default()
        .into_iter()
        .filter(|instruction| prepare_module::is_counter(*instruction))
        .collect();
    let doomed: Vec<_> = function
        .instructions()
        .into_iter()
        .filter(|instruction| !counters.contains(instruction))
        .collect();
    for &instruction in &doomed {
        let ty = instruction.ty();
        if ty.kind() != TypeKind::Void {
            instruction.replace_uses(ty.poison());
        }
    }
    for &instruction in doomed.iter().rev() {
        instruction.erase();
    }
    for &counter in &counters {
        counter.remove_from_block();
    }
    for block in function.blocks() {
        block.delete();
    }
    let _context = function.module().context();
    let block = function.append_block("");
    let builder = Builder::at_end(block);
    for counter in counters {
        builder.insert(counter);
    }
    builder.ret(constant);
    for attribute in ["noinline", "optnone"] {
        let kind = enum_kind(attribute);
        function.remove_enum_attribute(FUNCTION_INDEX, kind);
    }
}
