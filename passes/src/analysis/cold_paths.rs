//! Finds the blocks that belong to a panic.

use std::collections::BTreeSet;

use schism_llvm::{Block, Opcode, Value};

use crate::ir::cfg::Cfg;

/// How many blocks a panic may have, before the one that shows it.
const PANIC: usize = 8;

/// Whether a function that is optimised has panics.
#[must_use]
pub fn has_panics(function: Value<'_>) -> bool {
    !function.has_function_attribute("optnone") && function.blocks().into_iter().any(is_cold)
}

/// Whether a block is a part of a panic: it ends in nothing, or calls what is `cold`.
pub(crate) fn is_cold(block: Block<'_>) -> bool {
    block.instructions().into_iter().any(|instruction| match instruction.opcode() {
        Some(Opcode::Unreachable) => true,
        Some(Opcode::Call | Opcode::Invoke) => instruction.has_attribute_of_call("cold"),
        _ => false,
    })
}

/// How many blocks may decide which panic it is.
const DECISION: usize = 256;

/// Whether a panic comes after a block, whichever way control goes.
pub(crate) fn panics_anyway(cfg: &Cfg<'_>, block: usize) -> bool {
    let (mut seen, mut open) = (BTreeSet::new(), vec![block]);
    while let Some(block) = open.pop() {
        if is_cold(cfg.blocks[block]) || !seen.insert(block) {
            continue;
        }
        if cfg.successors[block].is_empty() || seen.len() > DECISION {
            return false;
        }
        open.extend(&cfg.successors[block]);
    }
    true
}

/// Whether what comes after a block is a panic.
pub(crate) fn panics(cfg: &Cfg<'_>, mut block: usize) -> bool {
    for _ in 0..PANIC {
        if is_cold(cfg.blocks[block]) {
            return true;
        }
        let &[next] = &cfg.successors[block][..] else { return false };
        block = next;
    }
    false
}
