//! Updates of values by code that is skipped if no lane is on.
//!
//! ```c
//! if (inside > 0) {               // skipped if no lane is on, because of the root
//!   t = along - sqrt(inside);
//!   if (t < nearest)
//!     nearest = t;
//! }
//! ```
//! Where both paths meet, a phi has the old value on all edges but those from this code. As a
//! select at that place it would be computed in each iteration. So the select stands in the code
//! that is skipped, and a phi takes its result or the old value.

use schism_llvm::Value;

use super::Emit;
use crate::vectorize::region::Part;
use crate::vectorize::shape::Shape;

/// From one block to another.
type Edge = (usize, usize);

/// A way out of a block that is skipped, through a block without instructions or not.
#[derive(Clone, Copy)]
struct Way {
    /// The edge whose mask says for which lanes.
    mask: Edge,
    /// The edge that phis know.
    last: Edge,
}

/// A phi that a block updates.
pub(super) struct Update<'m> {
    phi: Value<'m>,
    /// What it is where the block is skipped, in each lane.
    other: Value<'m>,
    /// What the block's ways bring, if it is something else.
    ways: Vec<(Way, Value<'m>)>,
}

impl<'m> Emit<'_, 'm> {
    /// The phis that a block updates, for code that is about to be made.
    pub(super) fn updates(&mut self, block: usize) -> Vec<Update<'m>> {
        let region = self.region;
        let mut ways: Vec<Way> = Vec::new();
        for next in region.successors(block) {
            let is_empty = region.cfg.blocks[next].instructions().len() == 1
                && region.cfg.predecessors[next] == [block]
                && region.side_exits(next).is_empty();
            let mask = (block, next);
            let last = match region.successors(next)[..] {
                [behind] if is_empty => (next, behind),
                _ => mask,
            };
            ways.push(Way { mask, last });
        }
        let mut updates = Vec::new();
        let mut targets: Vec<usize> = ways.iter().map(|way| way.last.1).collect();
        targets.sort_unstable();
        targets.dedup();
        for target in targets {
            let level = region.loop_of[&block];
            let is_node = region.loop_of[&target] == level
                && region.loops[level].header != target
                && region.loops[level].nodes.iter().any(|node| node.part == Part::Block(target));
            if !is_node {
                continue;
            }
            for phi in region.cfg.blocks[target].phis() {
                if self.shape(phi) == Shape::Varying {
                    updates.extend(self.update(phi, target, &ways));
                }
            }
        }
        updates
    }

    /// The update of one phi, if there is nothing else that changes it.
    fn update(&mut self, phi: Value<'m>, target: usize, all: &[Way]) -> Option<Update<'m>> {
        let region = self.region;
        let (mut old, mut ways) = (None, Vec::new());
        for (value, from) in region.incoming(phi) {
            let edge = (from, target);
            if value.is_poison() {
                continue;
            }
            // The old value may be `poison` in lanes that get `undef`.
            if value.is_undef() {
                return None;
            }
            if let Some(way) = all.iter().find(|way| way.last == edge) {
                ways.push((*way, value));
            } else if self.edge_value(edge, value).is_some()
                || old.replace(value).is_some_and(|old| old != value)
            {
                return None;
            }
        }
        let old = old?;
        ways.retain(|(_, value)| *value != old);
        let is_there = !old.is_instruction()
            || !region.contains(region.cfg.block_of(old))
            || self.values.contains_key(&old);
        if ways.is_empty() || !is_there {
            return None;
        }
        let other = self.vector(old);
        Some(Update { phi, other, ways })
    }

    /// Makes the updates, at the end of the code that is skipped.
    pub(super) fn apply_updates(&mut self, updates: Vec<Update<'m>>) {
        for Update { phi, other, ways } in updates {
            let mut value = other;
            for (way, new) in ways {
                let new = self.edge_vector(way.last, new);
                let mask = self.edge_masks[&way.mask];
                value = if mask.is_full() {
                    new
                } else {
                    let lanes = self.masks().vector(mask, phi);
                    self.select(lanes, new, value)
                };
            }
            self.updated.push((phi, value, other));
        }
    }
}
