//! What must be kept across barriers.

use std::collections::{HashMap, HashSet};

use schism_llvm::{Opcode, Value};

use super::body::Body;
use super::uniformity::{Varying, is_cheap};
use super::waits::waits;

/// How many instructions computing a value again may take.
const CHEAP: usize = 8;

/// What a work-item does to get a value at the beginning of a region.
pub(super) struct Kept<'m> {
    /// The values that are computed again.
    again: HashSet<Value<'m>>,
    /// The values that live across each barrier, by the number of its block, without those that
    /// are computed again.
    across: Vec<HashSet<Value<'m>>>,
    /// The values that live at the beginning of each block, those that barriers need to know.
    at_begin: Vec<HashSet<Value<'m>>>,
}

impl<'m> Kept<'m> {
    pub(super) fn of(body: &Body<'m>, varying: &Varying<'m>) -> Self {
        let blocks = body.blocks.len();
        let mut kept = Kept {
            again: computed_again(body, varying),
            across: vec![HashSet::new(); blocks],
            at_begin: vec![HashSet::new(); blocks],
        };
        for (block, number) in body.blocks.iter().zip(0..) {
            for user in block.instructions() {
                if user.opcode() == Some(Opcode::Phi) {
                    for (value, from) in user.incoming_edges() {
                        // An edge from a block that no work-item reaches is in no graph.
                        let Some(&from) = body.index.get(&from) else { continue };
                        for source in kept.sources(body, value) {
                            kept.at_end(body, source, from);
                        }
                    }
                } else {
                    for operand in user.operands() {
                        for source in kept.sources(body, operand) {
                            kept.at_begin(body, source, number);
                        }
                    }
                }
            }
        }
        kept
    }

    /// Whether a value is computed again where it is needed.
    pub(super) fn is_again(&self, value: Value<'m>) -> bool {
        self.again.contains(&value)
    }

    /// The values to keep at a barrier, in the order of the body.
    pub(super) fn across(&self, body: &Body<'m>, barrier: usize) -> Vec<Value<'m>> {
        in_order(body, self.across[barrier].iter().copied())
    }

    /// The values to keep at any barrier.
    pub(super) fn all_across(&self, body: &Body<'m>) -> impl Iterator<Item = Value<'m>> {
        let all: HashSet<Value<'m>> = self.across.iter().flatten().copied().collect();
        in_order(body, all.into_iter()).into_iter()
    }

    /// The values that come to phis by edges, and can be in the phis' places: neither is needed
    /// where the other one is. A sum that goes from one iteration to the next is not copied then.
    pub(super) fn in_place_of_phis(
        &self,
        body: &Body<'m>,
        varying: &Varying<'m>,
    ) -> HashMap<Value<'m>, Value<'m>> {
        let mut found: HashMap<Value<'m>, Value<'m>> = HashMap::new();
        let phis = body.blocks.iter().flat_map(|block| block.phis());
        for phi in phis.filter(|&phi| varying.has(phi)) {
            let fits = |value: Value<'m>| {
                value.opcode() != Some(Opcode::Phi)
                    && body.block_of(value).is_some()
                    && varying.has(value)
                    && !self.is_again(value)
                    && !waits(value)
                    && !found.contains_key(&value)
                    && !self.are_both_needed(body, phi, value)
            };
            let value =
                phi.incoming_edges().into_iter().map(|(value, _)| value).find(|&it| fits(it));
            if let Some(value) = value {
                found.insert(value, phi);
            }
        }
        found
    }

    /// Whether there is a place where a phi and a value that reaches it are needed.
    fn are_both_needed(&self, body: &Body<'m>, phi: Value<'m>, value: Value<'m>) -> bool {
        let home = body.block_of(phi);
        let both = |set: &HashSet<Value<'m>>| set.contains(&phi) && set.contains(&value);
        self.at_begin.iter().chain(&self.across).any(both)
            || home.is_none_or(|home| self.at_begin[home].contains(&value))
    }

    /// The values in memory that a value is computed of.
    fn sources(&self, body: &Body<'m>, value: Value<'m>) -> Vec<Value<'m>> {
        let (mut found, mut open) = (Vec::new(), vec![value]);
        while let Some(value) = open.pop() {
            if body.block_of(value).is_none() {
                continue;
            }
            if self.again.contains(&value) {
                // A value that is computed again also lives as itself: a region may have it.
                open.extend(value.operands());
            } else if !found.contains(&value) {
                found.push(value);
            }
        }
        found
    }

    /// A value is needed in a block.
    fn at_begin(&mut self, body: &Body<'m>, value: Value<'m>, block: usize) {
        let mut open = vec![block];
        while let Some(block) = open.pop() {
            if body.block_of(value) == Some(block) || !self.at_begin[block].insert(value) {
                continue;
            }
            for &from in &body.predecessors[block] {
                if body.barrier[from].is_some() {
                    self.across[from].insert(value);
                }
                open.push(from);
            }
        }
    }

    /// A value is needed at the end of a block.
    fn at_end(&mut self, body: &Body<'m>, value: Value<'m>, block: usize) {
        if body.barrier[block].is_some() {
            self.across[block].insert(value);
        }
        self.at_begin(body, value, block);
    }
}

fn in_order<'m>(body: &Body<'m>, values: impl Iterator<Item = Value<'m>>) -> Vec<Value<'m>> {
    let mut values: Vec<Value<'m>> = values.collect();
    values.sort_by_key(|value| body.place_of(*value));
    values
}

/// The values that are computed again: few cheap operations on ids, on what comes from outside of
/// the nest, and on values that are the same for all work-items.
fn computed_again<'m>(body: &Body<'m>, varying: &Varying<'m>) -> HashSet<Value<'m>> {
    let mut cost: HashMap<Value<'m>, usize> = HashMap::new();
    // Operands come before their users, but for those of phis, which are never computed again.
    for block in &body.blocks {
        for instruction in block.instructions() {
            if !is_cheap(instruction) {
                continue;
            }
            let operands = instruction.operands().map(|operand| match body.block_of(operand) {
                None => Some(0),
                Some(_) => match cost.get(&operand) {
                    Some(&cost) => Some(cost),
                    None => (!varying.has(operand)).then_some(0),
                },
            });
            let total = operands.sum::<Option<usize>>().map(|sum| sum + 1);
            if let Some(total) = total.filter(|total| *total <= CHEAP) {
                cost.insert(instruction, total);
            }
        }
    }
    cost.into_keys().collect()
}
