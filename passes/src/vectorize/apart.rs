//! Lets a clone of a loop over work-items compute some of them, and the loop those before and those behind.
//!
//! ```llvm
//! start:
//!   …                                              ; %is.there: the clone computes any, from %first on
//!   %up.to = select i1 %is.there, i64 %first, i64 %end
//!   br label %part
//! part:
//!   %from = phi i64 [ %begin, %start ], [ %behind, %clone.latch ]
//!   %to = phi i64 [ %up.to, %start ], [ %end, %clone.latch ]
//!   %todo = phi i1 [ %is.there, %start ], [ false, %clone.latch ]
//!   %any = icmp ult i64 %from, %to
//!   br i1 %any, label %item, label %part.end
//! item:
//!   %x = phi i64 [ %from, %part ], [ %x.after, %next ]
//!   …                                              ; the loop, up to %to
//! part.end:
//!   br i1 %todo, label %clone, label %exit
//! clone:
//!   …                                              ; from %first to %behind, then to %part
//! ```
//! So the loop is there once, for both parts. Work-items run in the order in which they ran.

use schism_llvm::{Block, Builder, IntPredicate, Value};

use super::region::Region;
use crate::ir::clone::{ClonedBlocks, clone_blocks};

/// The work-items that the clone computes.
pub(super) struct Part<'m> {
    /// The first of them, which is in the loop's range if there are any.
    pub first: Value<'m>,
    /// The one behind the last, which is at most the loop's end then.
    pub behind: Value<'m>,
    pub is_there: Value<'m>,
}

/// What is cloned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Clone {
    /// The loop.
    Loop,
    /// Its body, for one work-item.
    Body,
}

/// Takes a part out of a loop, which `part` computes before it. Returns the clone, if the loop allows
/// that.
pub(super) fn take_apart<'m>(
    region: &Region<'m>,
    kind: Clone,
    part: impl FnOnce(&Builder<'m>) -> Part<'m>,
) -> Option<ClonedBlocks<'m>> {
    use IntPredicate::{UGE, ULT};
    let blocks = region.blocks();
    let [preheader, header, latch, from, exit] =
        [region.preheader, region.header, region.latch, region.exit.0, region.exit.1]
            .map(|block| region.cfg.blocks[block]);
    if from != latch {
        return None;
    }
    let (begin, end) = (region.begin, region.end);
    let cloned = clone_blocks(&blocks);
    let [own_header, own_latch] = [header, latch].map(|block| cloned.block(block));
    leave_as_well(&blocks, &cloned);
    let [start, part_end] = ["part", "part.end"].map(|name| region.function.append_block(name));
    start.move_after(preheader);
    part_end.move_after(blocks[blocks.len() - 1]);

    let old = preheader.end();
    let builder = Builder::before(old);
    let Part { first, behind, is_there } = part(&builder);
    let up_to = builder.select(is_there, first, end);
    builder.br(start);
    old.erase();

    let builder = Builder::at_end(start);
    let phi = |before: Value<'m>, after: Value<'m>| {
        let phi = builder.phi(before.ty());
        phi.add_incoming(before, preheader);
        phi.add_incoming(after, own_latch);
        phi
    };
    let (from, to) = (phi(begin, behind), phi(up_to, end));
    let todo = phi(is_there, is_there.ty().const_int(0, false));
    builder.cond_br(builder.icmp(ULT, from, to), header, part_end);
    header.forget_edge(preheader);
    header.begin().add_incoming(from, start);

    // The end of the loop, and that of the clone.
    let exit_at = u32::from(latch.end().successor(0) != exit);
    let predicate = if exit_at == 0 { UGE } else { ULT };
    let ends_at = |branch: Value<'m>, limit: Value<'m>| {
        let comparison = branch.condition();
        let counter = [0, 1].map(|at| comparison.operand(at)).into_iter().find(|&it| it != end);
        let counter = counter.unwrap_or(comparison.operand(0));
        branch.set_operand(0, Builder::before(branch).icmp(predicate, counter, limit));
    };
    ends_at(latch.end(), to);
    latch.end().set_successor(exit_at, part_end);
    let brought: Vec<Option<Value<'m>>> =
        exit.phis().into_iter().map(|phi| phi.incoming(latch)).collect();
    exit.forget_edge(latch);
    for (phi, value) in exit.phis().into_iter().zip(brought) {
        // The clone comes back, and does not leave by its end.
        phi.add_incoming(value.expect("a phi has a value for each edge"), part_end);
    }
    exit.forget_edge(own_latch);
    Builder::at_end(part_end).cond_br(todo, own_header, exit);
    match kind {
        Clone::Loop => {
            ends_at(own_latch.end(), behind);
            own_latch.end().set_successor(exit_at, start);
            own_header.forget_edge(preheader);
            own_header.begin().add_incoming(first, part_end);
        }
        Clone::Body => {
            let last = own_latch.end();
            Builder::before(last).br(start);
            last.erase();
            let own = own_header.begin();
            own.replace_uses(first);
            own.erase();
        }
    }
    Some(cloned)
}

/// Lets clones of a loop's blocks leave the loop where those do, besides its end.
pub(super) fn leave_as_well<'m>(blocks: &[Block<'m>], cloned: &ClonedBlocks<'m>) {
    for &block in blocks {
        let mut outside: Vec<Block<'m>> = Vec::new();
        for next in block.successors() {
            if !cloned.blocks.contains_key(&next) && !outside.contains(&next) {
                outside.push(next);
            }
        }
        for next in outside {
            for phi in next.phis() {
                let edges = phi.incoming_edges().into_iter().filter(|(_, from)| *from == block);
                for (value, _) in edges.collect::<Vec<_>>() {
                    phi.add_incoming(cloned.value(value), cloned.block(block));
                }
            }
        }
    }
}
