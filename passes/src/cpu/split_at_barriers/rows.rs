//! How many rows of a group run side by side in a region.
//!
//! In a product of matrices all work-items of a column load the same element of one matrix. Where
//! control flow is the same for all work-items, a work-item of each of some rows can run at once,
//! instruction by instruction:
//! ```llvm
//!   %b = load float, ptr %b.at                    ; the same for both rows
//!   %a.0 = load float, ptr %a.at.0
//!   %a.1 = load float, ptr %a.at.1
//!   %product.0 = fmul float %a.0, %b
//!   %product.1 = fmul float %a.1, %b
//!   %after.0 = fadd float %sum.0, %product.0
//!   %after.1 = fadd float %sum.1, %product.1
//! ```
//! That loads `%b` once, and the additions of one row do not wait for those of the others.
//!
//! Between two barriers the order in which work-items access memory is not specified; but updates,
//! atomic accesses, calls and panics keep the order of the work-items.

use std::collections::HashMap;

use schism_llvm::{Opcode, Value};

use super::body::Next;
use super::emit::Analyses;
use super::nest::ROWS;
use super::uniformity::{is_pure, is_skipped};

/// The numbers of rows that are tried. Each has its own sums in registers.
const NUMBERS: [u64; 2] = [4, 2];

/// The fewest loads that rows must have in common.
const COMMON: usize = 4;

/// The most instructions of a region, for one row.
const SIZE: usize = 400;

/// How many rows of the group run side by side in a region of these blocks, with so many exits.
pub(super) fn side_by_side<'m>(
    analyses: &Analyses<'_, 'm>,
    sizes: &[Value<'m>],
    blocks: &[usize],
    exits: usize,
) -> u64 {
    let known: Option<Vec<u64>> = sizes.iter().map(|size| size.as_unsigned()).collect();
    let Some(rows) = known.and_then(|sizes| sizes.get(ROWS).copied()) else { return 1 };
    let Some(number) = NUMBERS.into_iter().find(|&number| rows.is_multiple_of(number)) else {
        return 1;
    };
    if exits == 1 && may_run_so(analyses, blocks) && pays(analyses, blocks) { number } else { 1 }
}

/// Whether all work-items go the same way, and nothing has an order.
fn may_run_so<'m>(analyses: &Analyses<'_, 'm>, blocks: &[usize]) -> bool {
    let body = analyses.body;
    let mut size = 0;
    blocks.iter().all(|&block| {
        let next = &body.next[block];
        let end = body.blocks[block].end();
        let same_way = next.len() < 2 || !analyses.varying.has(end.operand(0));
        let all = body.blocks[block].instructions();
        size += all.len();
        let is_plain = |&one: &Value<'m>| {
            let is_shared_local =
                |operand: Value<'m>| operand.is_alloca() && !analyses.locals.contains(&operand);
            let has_no_order = match one.opcode() {
                Some(Opcode::Load | Opcode::Store) => one.is_simple(),
                Some(Opcode::Phi | Opcode::Freeze) => true,
                _ => one.is_terminator() || is_pure(one) || is_skipped(body, block, one),
            };
            has_no_order && !one.operands().any(is_shared_local)
        };
        let goes_on = body.lives[block] && !next.is_empty() && !next.contains(&Next::Outside);
        goes_on && same_way && size <= SIZE && all.iter().all(is_plain)
    })
}

/// Whether rows have loads in common that are worth it: several, or one in a loop.
fn pays<'m>(analyses: &Analyses<'_, 'm>, blocks: &[usize]) -> bool {
    let body = analyses.body;
    let id = body.axes[ROWS].id;
    let mut known = HashMap::new();
    let loads = blocks.iter().flat_map(|&block| {
        body.blocks[block].instructions().into_iter().map(move |one| (block, one))
    });
    let mut common = 0;
    for (block, load) in loads.filter(|(_, one)| one.opcode() == Some(Opcode::Load)) {
        let address = load.operand(0);
        // What is the same for all work-items is loaded once for all lanes.
        if analyses.varying.has(address) && !depends(analyses, blocks, &mut known, address, id) {
            common += if analyses.body.comes_back(block) { COMMON } else { 1 };
        }
    }
    common >= COMMON
}

/// Whether a value may differ between the rows of a column.
fn depends<'m>(
    analyses: &Analyses<'_, 'm>,
    blocks: &[usize],
    known: &mut HashMap<Value<'m>, bool>,
    value: Value<'m>,
    id: Value<'m>,
) -> bool {
    if value == id {
        return true;
    }
    let Some(home) = analyses.body.block_of(value) else { return false };
    if !analyses.varying.has(value) {
        return false;
    }
    if let Some(&known) = known.get(&value) {
        return known;
    }
    if !blocks.contains(&home) && !analyses.kept.is_again(value) {
        // It is in an array.
        return true;
    }
    // A loop's value depends on the row if another operand of its phi does.
    known.insert(value, false);
    let does = match value.opcode() {
        Some(Opcode::Phi) => value
            .incoming_edges()
            .into_iter()
            .any(|(value, _)| depends(analyses, blocks, known, value, id)),
        _ => value.operands().any(|operand| depends(analyses, blocks, known, operand, id)),
    };
    known.insert(value, does);
    does
}
