//! Computes one work-item apart from the loop over the others.
//!
//! The borders of an image are copied:
//! ```llvm
//! item:
//!   %x = phi i64 [ %begin, %start ], [ %x.after, %next ]
//!   %is.border = icmp eq i64 %x, %last
//!   %copies = or i1 %is.border, %is.top
//!   br i1 %copies, label %copy, label %blur
//!   …
//! ```
//! The loop runs up to that work-item, then a clone of the loop's body, which branches to the other side,
//! then the loop once more, from there on. So the loop needs no mask:
//! ```llvm
//! start:
//!   …                                              ; %is.there: %last is in the range
//!   %up.to = select i1 %is.there, i64 %last, i64 %end
//!   br label %part
//! part:
//!   %from = phi i64 [ %begin, %start ], [ %behind, %single ]
//!   %to = phi i64 [ %up.to, %start ], [ %end, %single ]
//!   %todo = phi i1 [ %is.there, %start ], [ false, %single ]
//!   %any = icmp ult i64 %from, %to
//!   br i1 %any, label %item, label %part.end
//! item:
//!   %x = phi i64 [ %from, %part ], [ %x.after, %next ]
//!   br i1 %is.top, label %copy, label %blur
//!   …
//! part.end:
//!   br i1 %todo, label %single, label %exit
//! single:
//!   …                                              ; with %last for %x
//!   br label %part
//! ```
//! Work-items run in the order in which they ran.

use schism_llvm::{Builder, IntPredicate, Value};

use super::region::Region;
use super::split_range::{Condition, blocks_of, leave_as_well};
use crate::ir::clone::clone_blocks;

/// Takes the work-item with a number, of which a condition is an equality, out of the loop. Returns whether
/// the loop allows that.
pub(super) fn apply<'m>(region: &Region<'m>, condition: &Condition<'m>) -> bool {
    use IntPredicate::*;
    let blocks = blocks_of(region);
    let [preheader, header, latch, from, exit] =
        [region.preheader, region.header, region.latch, region.exit.0, region.exit.1]
            .map(|block| region.cfg.blocks[block]);
    if from != latch {
        return false;
    }
    let (begin, end) = (region.begin, region.end);
    let cloned = clone_blocks(&blocks);
    let own = cloned.value(region.item);
    leave_as_well(&blocks, &cloned);
    let [part, part_end] = ["part", "part.end"].map(|name| region.function.append_block(name));
    part.move_after(preheader);
    part_end.move_after(blocks[blocks.len() - 1]);

    // Whether the work-item is there. What is not evaluated may be poison.
    let old = preheader.end();
    let builder = Builder::before(old);
    let single = builder.freeze(condition.with);
    let is_behind = builder.icmp(UGE, single, begin);
    let is_there = builder.and(is_behind, builder.icmp(ULT, single, end));
    let up_to = builder.select(is_there, single, end);
    let ty = begin.ty();
    let behind = builder.add(single, ty.const_int(1, false));
    builder.br(part);
    old.erase();

    let builder = Builder::at_end(part);
    let [first, limit] = [(begin, behind), (up_to, end)].map(|(before, after)| {
        let phi = builder.phi(ty);
        phi.add_incoming(before, preheader);
        phi.add_incoming(after, cloned.block(latch));
        phi
    });
    let todo = builder.phi(is_there.ty());
    todo.add_incoming(is_there, preheader);
    todo.add_incoming(is_there.ty().const_int(0, false), cloned.block(latch));
    builder.cond_br(builder.icmp(ULT, first, limit), header, part_end);
    header.forget_edge(preheader);
    let item = header.begin();
    item.add_incoming(first, part);

    // The end of the loop.
    let branch = latch.end();
    let exit_at = u32::from(branch.successor(0) != exit);
    let predicate = if exit_at == 0 { UGE } else { ULT };
    let comparison = branch.condition();
    let counter = [0, 1].map(|at| comparison.operand(at)).into_iter().find(|&it| it != end);
    let counter = counter.unwrap_or(item);
    branch.set_operand(0, Builder::before(branch).icmp(predicate, counter, limit));
    branch.set_successor(exit_at, part_end);
    let brought: Vec<Option<Value<'m>>> =
        exit.phis().into_iter().map(|phi| phi.incoming(latch)).collect();
    exit.forget_edge(latch);
    for (phi, value) in exit.phis().into_iter().zip(brought) {
        // The clone comes back here, and does not leave by its end.
        phi.add_incoming(value.expect("a phi has a value for each edge"), part_end);
    }
    Builder::at_end(part_end).cond_br(todo, cloned.block(header), exit);

    // The work-item alone.
    let last = cloned.block(latch).end();
    exit.forget_edge(cloned.block(latch));
    Builder::before(last).br(part);
    last.erase();
    own.replace_uses(single);
    own.erase();

    // The sides that they take.
    let bit = is_there.ty();
    let holds =
        |is_equal: bool| bit.const_int((is_equal == (condition.predicate == EQ)).into(), false);
    cloned.value(condition.value).replace_uses(holds(true));
    condition.value.replace_uses(holds(false));
    true
}
