//! Adds what all work-items have in common to an element's address instead of its index. Runs in stage 2
//! after optimisation, for OpenCL's devices.
//!
//! Before:
//! ```llvm
//!   %above = sub nsw i64 %at, %width             ; %width: a parameter
//!   %p = getelementptr inbounds float, ptr addrspace(1) %from, i64 %at
//!   %q = getelementptr inbounds float, ptr addrspace(1) %from, i64 %above
//! ```
//! After:
//! ```llvm
//!   %p = getelementptr inbounds float, ptr addrspace(1) %from, i64 %at
//!   %q.base = getelementptr float, ptr addrspace(1) %from, i64 %at
//!   %q.offset = sub i64 0, %width
//!   %q = getelementptr float, ptr addrspace(1) %q.base, i64 %q.offset
//! ```
//! A driver for processors computes the work-items of a group in the lanes of vectors. Where neighbours access
//! neighbouring elements it needs one address, that of the first lane. If two indices need a vector of
//! numbers, it computes that for all lanes, and takes the first one of it; with one it computes only that.
//!
//! Addresses wrap as sums do, so they are the same. They promise nothing any more (`inbounds`).

use inkwell::module::Module;
use schism_llvm::{AsModule, Builder, Opcode, Value};

use crate::bounds::short_numbers::is_common;

/// How many offsets an address may have.
const OFFSETS: usize = 4;

/// Runs the pass over a module.
///
/// # Errors
/// LLVM's message, if its passes fail.
pub fn run(module: &Module<'_>) -> Result<(), String> {
    for function in module.handle().functions() {
        let mut changed = false;
        for instruction in function.instructions() {
            changed |= separate(instruction, OFFSETS);
        }
        if changed {
            // Indices that are used no more, and addresses that were there before.
            function.run_passes("early-cse,dce")?;
        }
    }
    Ok(())
}

/// Makes two addresses of one whose index is a sum with a number that all work-items have in common.
fn separate(address: Value<'_>, offsets: usize) -> bool {
    let Some((base, index, _)) = address.element().filter(|_| offsets > 0) else { return false };
    if index.ty().int_width() != 64 {
        // It is extended behind the sum, which may wrap.
        return false;
    }
    let Some((own, offset, is_subtracted)) = sum(index) else { return false };
    let builder = Builder::before(address);
    let element = address.gep_source_type();
    let base = builder.gep(element, base, &[own]);
    let offset = match is_subtracted {
        true => builder.sub(index.ty().const_int(0, false), offset),
        false => offset,
    };
    let new = builder.gep(element, base, &[offset]);
    address.replace_uses(new);
    address.erase();
    separate(base, offsets - 1);
    true
}

/// An index as a work-item's own number and one that all have in common, and whether the latter is subtracted.
fn sum(index: Value<'_>) -> Option<(Value<'_>, Value<'_>, bool)> {
    let is_subtracted = match index.opcode()? {
        Opcode::Add => false,
        Opcode::Sub => true,
        _ => return None,
    };
    let [left, right] = [0, 1].map(|at| index.operand(at));
    match [left, right].map(is_common) {
        [false, true] => Some((left, right, is_subtracted)),
        [true, false] if !is_subtracted => Some((right, left, false)),
        _ => None,
    }
}
