//! The region that is vectorised: the work-item loop, and the loops inside of it, each as a list of
//! nodes without a cycle. A node is a block, or a whole inner loop.

use std::collections::{BTreeSet, HashMap};

use schism_llvm::{Block, IntPredicate, Opcode, Value};

use super::refusal::Refusal;
use crate::analysis::trip_count::swapped;
use crate::ir::cfg::{Cfg, NaturalLoop};
use crate::ir::metadata;

/// The property of the loop over work-items.
pub const MARK: &str = "schism.work_item_loop";

/// The work-item loop of a function.
pub(super) struct Region<'m> {
    pub cfg: Cfg<'m>,
    pub function: Value<'m>,
    /// The block before the loop, whose only successor is the header.
    pub preheader: usize,
    pub header: usize,
    pub latch: usize,
    /// The work-item's number.
    pub item: Value<'m>,
    /// Its first value.
    pub begin: Value<'m>,
    /// The value that no work-item has any more.
    pub end: Value<'m>,
    /// What has that value where the loop ends: the counter, or the next work-item's.
    pub counted: Value<'m>,
    /// Whether it is a loop of independent iterations, in a work-item.
    pub is_inside: bool,
    /// The edge by which the loop ends.
    pub exit: (usize, usize),
    /// The loops: the work-item loop is the first, and each comes behind the one that it is in.
    pub loops: Vec<InnerLoop>,
    /// For each block of the region, the innermost loop that it is in.
    pub loop_of: HashMap<usize, usize>,
}

/// A loop of the region.
pub(super) struct InnerLoop {
    pub header: usize,
    pub latch: usize,
    pub blocks: BTreeSet<usize>,
    /// The loop around it; that of the work-item loop is itself.
    pub parent: usize,
    /// How many loops of the region are around it.
    pub depth: u32,
    pub nodes: Vec<Node>,
}

/// A block, or an inner loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    Block(usize),
    Loop(usize),
}

/// A part of a loop's body.
pub(super) struct Node {
    pub part: Part,
    /// The edges that lead here from other nodes of the loop.
    pub incoming: Vec<(usize, usize)>,
    /// The node that all paths to this one lead through, which is the last such; the first node's
    /// is itself.
    pub dominator: usize,
    /// Whether all paths from that one lead here.
    pub always_follows: bool,
}

impl<'m> Region<'m> {
    /// Looks at the loop whose latch is this block.
    pub fn of(cfg: Cfg<'m>, function: Value<'m>, latch: usize) -> Result<Self, Refusal> {
        Self::without(cfg, function, latch, |_, _| BTreeSet::new())
    }

    /// Looks at the loop whose latch is this block, without the copies of inner loops that have checks:
    /// where one of them begins, the scalar loop takes over.
    pub fn without_copies(
        cfg: Cfg<'m>,
        function: Value<'m>,
        latch: usize,
    ) -> Result<Self, Refusal> {
        Self::without(cfg, function, latch, copies)
    }

    fn without(
        cfg: Cfg<'m>,
        function: Value<'m>,
        latch: usize,
        left_out: impl FnOnce(&Cfg<'m>, &[NaturalLoop]) -> BTreeSet<usize>,
    ) -> Result<Self, Refusal> {
        let mut natural = cfg.natural_loops();
        let left_out = left_out(&cfg, &natural);
        natural.retain(|one| !left_out.contains(&one.header));
        for one in &mut natural {
            one.blocks.retain(|block| !left_out.contains(block));
        }
        let own = natural.iter().find(|one| one.latches.contains(&latch));
        let own = own.ok_or(Refusal::Form("the loop is not natural"))?.clone();
        if own.latches.len() != 1 {
            return Err(Refusal::Form("the loop has several latches"));
        }
        let header = own.header;
        let before: Vec<usize> =
            cfg.predecessors[header].iter().copied().filter(|&from| from != latch).collect();
        let &[preheader] = &before[..] else {
            return Err(Refusal::Form("the loop has several entries"));
        };
        if cfg.successors[preheader].len() != 1 {
            return Err(Refusal::Form("the loop has no preheader"));
        }
        let &[item] = &cfg.blocks[header].phis()[..] else {
            return Err(Refusal::Form("work-items pass values on to the next one"));
        };
        let (Some(begin), Some(next)) =
            (item.incoming(cfg.blocks[preheader]), item.incoming(cfg.blocks[latch]))
        else {
            return Err(Refusal::Form("the counter has other edges than the loop"));
        };
        let one = |value: Value<'_>| value.is_constant_int() && value.as_unsigned() == Some(1);
        let steps = next.opcode() == Some(Opcode::Add)
            && next.operand(0) == item
            && one(next.operand(1))
            && item.ty().int_width() == 64;
        if !steps {
            return Err(Refusal::Form("the counter does not step by one"));
        }
        let inside = |block: usize| own.blocks.contains(&block);
        let in_loop = |value: Value<'m>| value.is_instruction() && inside(cfg.block_of(value));
        let mut found = None;
        for &block in &own.blocks {
            let last = cfg.blocks[block].end();
            if !last.is_conditional() {
                continue;
            }
            let &[then, other] = &cfg.successors[block][..] else { continue };
            if inside(then) == inside(other) || !cfg.dominates(block, latch) {
                continue;
            }
            let (outside, leaves_if) = if inside(then) { (other, false) } else { (then, true) };
            let Some(end) = bound(last.condition(), item, next, block == latch, leaves_if) else {
                continue;
            };
            if in_loop(end) {
                continue;
            }
            let is_top = block == header && last.condition().operand(0) != next;
            if is_top || block == latch {
                let counted = if block == latch { next } else { item };
                found = Some((end, counted, (block, outside)));
            }
        }
        let Some((end, counted, exit)) = found else {
            return Err(Refusal::Form("the loop does not end at a number of work-items"));
        };
        let is_inside = metadata::has(cfg.blocks[latch].end(), metadata::INDEPENDENT_ITERATIONS);
        let mut region = Self {
            cfg,
            function,
            preheader,
            header,
            latch,
            item,
            begin,
            end,
            counted,
            is_inside,
            exit,
            loops: Vec::new(),
            loop_of: HashMap::new(),
        };
        region.find_loops(&own.blocks, natural)?;
        for index in 0..region.loops.len() {
            region.loops[index].nodes = region.nodes(index)?;
        }
        Ok(region)
    }

    fn find_loops(
        &mut self,
        own: &BTreeSet<usize>,
        natural: Vec<NaturalLoop>,
    ) -> Result<(), Refusal> {
        let mut inner: Vec<_> =
            natural.into_iter().filter(|one| one.blocks.is_subset(own)).collect();
        inner.sort_by_key(|one| std::cmp::Reverse(one.blocks.len()));
        for one in inner {
            let &[latch] = &one.latches[..] else {
                return Err(Refusal::Form("a loop inside has several latches"));
            };
            let around = self.loops.iter().rposition(|outer| one.blocks.is_subset(&outer.blocks));
            let parent = around.unwrap_or(0);
            let depth = around.map_or(0, |around| self.loops[around].depth + 1);
            for &block in &one.blocks {
                self.loop_of.insert(block, self.loops.len());
            }
            let (header, blocks) = (one.header, one.blocks);
            self.loops.push(InnerLoop { header, latch, blocks, parent, depth, nodes: Vec::new() });
        }
        let found = self.loops.first().is_some_and(|first| first.header == self.header);
        if found { Ok(()) } else { Err(Refusal::Form("the loop is not natural")) }
    }

    /// Whether a block is of the region.
    pub fn contains(&self, block: usize) -> bool {
        self.loop_of.contains_key(&block)
    }

    /// All blocks of the region.
    pub fn blocks(&self) -> Vec<Block<'m>> {
        self.loops[0].blocks.iter().map(|&block| self.cfg.blocks[block]).collect()
    }

    /// Whether a value is an instruction of the region.
    pub fn has(&self, value: Value<'m>) -> bool {
        value.is_instruction() && self.contains(self.cfg.block_of(value))
    }

    /// Whether what leaves the region of a value leaves it by phis, and not by the loop's end, behind
    /// which there may be another loop then.
    pub fn stays_inside(&self, value: Value<'m>) -> bool {
        let exit = self.cfg.blocks[self.exit.1];
        value.users().into_iter().all(|user| {
            self.has(user) || user.opcode() == Some(Opcode::Phi) && user.block() != exit
        })
    }

    /// Where a block continues within the region, each block once. Edges that leave the work-item
    /// loop are none: [`side_exits`](Self::side_exits) are tested by themselves, and the vector
    /// loop counts for itself.
    pub fn successors(&self, block: usize) -> Vec<usize> {
        self.next(block, |next| self.contains(next))
    }

    /// Some of a block's successors, each once.
    fn next(&self, block: usize, is_wanted: impl Fn(usize) -> bool) -> Vec<usize> {
        let next = self.cfg.successors[block].iter().copied();
        BTreeSet::from_iter(next.filter(|&next| is_wanted(next))).into_iter().collect()
    }

    /// What a phi gets by the edges of the region.
    pub fn incoming(&self, phi: Value<'m>) -> Vec<(Value<'m>, usize)> {
        let edges = phi.incoming_edges().into_iter();
        edges
            .map(|(value, from)| (value, self.cfg.index[&from]))
            .filter(|&(_, from)| self.contains(from))
            .collect()
    }

    /// Where a block leaves the work-item loop otherwise than at its end: panics.
    pub fn side_exits(&self, block: usize) -> Vec<usize> {
        self.next(block, |next| !self.contains(next) && (block, next) != self.exit)
    }

    /// The edges that leave a loop inside of the region, for blocks of the region.
    pub fn exits(&self, index: usize) -> Vec<(usize, usize)> {
        let blocks = &self.loops[index].blocks;
        let mut exits = Vec::new();
        for &block in blocks {
            let next = self.successors(block);
            exits.extend(next.into_iter().filter(|to| !blocks.contains(to)).map(|to| (block, to)));
        }
        exits
    }

    /// The part of a loop that a block belongs to.
    fn part_of(&self, index: usize, block: usize) -> Part {
        let mut at = self.loop_of[&block];
        if at == index {
            return Part::Block(block);
        }
        while self.loops[at].parent != index {
            at = self.loops[at].parent;
        }
        Part::Loop(at)
    }

    /// The blocks of a part.
    pub fn blocks_of(&self, part: Part) -> Vec<usize> {
        match part {
            Part::Block(block) => vec![block],
            Part::Loop(index) => self.loops[index].blocks.iter().copied().collect(),
        }
    }

    /// Whether a block belongs to a part.
    pub fn is_in(&self, part: Part, block: usize) -> bool {
        match part {
            Part::Block(own) => own == block,
            Part::Loop(index) => self.loops[index].blocks.contains(&block),
        }
    }

    /// A loop's nodes, each behind its predecessors.
    fn nodes(&self, index: usize) -> Result<Vec<Node>, Refusal> {
        let InnerLoop { header, blocks, .. } = &self.loops[index];
        let mut parts: Vec<Part> = Vec::new();
        for &block in blocks {
            let part = self.part_of(index, block);
            if !parts.contains(&part) {
                parts.push(part);
            }
        }
        let number = |block: usize| {
            let part = self.part_of(index, block);
            parts.iter().position(|&one| one == part).expect("each block is of a part")
        };
        // The edges between parts; an edge back to the header, or out of the loop, leads nowhere.
        let mut edges: Vec<Vec<(usize, (usize, usize))>> = vec![Vec::new(); parts.len()];
        let mut leaves = vec![false; parts.len()];
        for &block in blocks {
            let from = number(block);
            for next in self.successors(block) {
                if next == *header || !blocks.contains(&next) {
                    leaves[from] = true;
                } else if number(next) != from {
                    edges[from].push((number(next), (block, next)));
                }
            }
            leaves[from] |= index == 0 && block == self.latch;
        }
        let order = topological(number(*header), &edges)
            .filter(|order| order.len() == parts.len())
            .ok_or(Refusal::Form("control flow is irreducible"))?;
        let mut place = vec![0; parts.len()];
        for (at, &part) in order.iter().enumerate() {
            place[part] = at;
        }
        let mut nodes: Vec<Node> = order
            .iter()
            .map(|&part| Node {
                part: parts[part],
                incoming: Vec::new(),
                dominator: 0,
                always_follows: false,
            })
            .collect();
        let mut successors = vec![Vec::new(); nodes.len()];
        let mut predecessors = vec![Vec::new(); nodes.len()];
        for (at, &part) in order.iter().enumerate() {
            for &(to, edge) in &edges[part] {
                nodes[place[to]].incoming.push(edge);
                successors[at].push(place[to]);
                predecessors[place[to]].push(at);
            }
        }
        let count = nodes.len();
        let above = closure(0..count, &predecessors, |_| false);
        let below = closure((0..count).rev(), &successors, |at| leaves[order[at]]);
        for at in 1..count {
            let dominator = (0..at).rev().find(|&up| above[at].contains(up)).unwrap_or(0);
            nodes[at].dominator = dominator;
            nodes[at].always_follows = below[dominator].contains(at);
        }
        Ok(nodes)
    }
}

/// The loops that keep their checks beside clones without them, and what only leads to such loops or
/// from them.
fn copies(cfg: &Cfg<'_>, natural: &[NaturalLoop]) -> BTreeSet<usize> {
    let is_copy = |one: &&NaturalLoop| {
        one.latches.iter().any(|&latch| metadata::has(cfg.blocks[latch].end(), metadata::CHECKED))
    };
    let mut all: BTreeSet<usize> =
        natural.iter().filter(is_copy).flat_map(|one| one.blocks.iter().copied()).collect();
    if all.is_empty() {
        return all;
    }
    loop {
        let is_of =
            |others: &[usize]| !others.is_empty() && others.iter().all(|it| all.contains(it));
        let more: Vec<usize> = (0..cfg.blocks.len())
            .filter(|&block| !all.contains(&block))
            .filter(|&block| is_of(&cfg.successors[block]) || is_of(&cfg.predecessors[block]))
            .collect();
        if more.is_empty() {
            return all;
        }
        all.extend(more);
    }
}

/// The value that the counter reaches when the loop ends, from the condition of its exit.
fn bound<'m>(
    condition: Value<'m>,
    item: Value<'m>,
    next: Value<'m>,
    at_latch: bool,
    leaves_if: bool,
) -> Option<Value<'m>> {
    use IntPredicate::*;
    if condition.opcode() != Some(Opcode::ICmp) {
        return None;
    }
    let (a, b) = (condition.operand(0), condition.operand(1));
    let counter = if at_latch { next } else { item };
    let (end, predicate) = if a == counter {
        (b, condition.icmp_predicate())
    } else if b == counter {
        (a, swapped(condition.icmp_predicate()))
    } else {
        return None;
    };
    // The counter is at most the end, since it steps by one: comparisons for order and for equality
    // say the same.
    let leaves = match predicate {
        EQ | UGE => true,
        NE | ULT => false,
        _ => return None,
    };
    (leaves == leaves_if).then_some(end)
}

/// The numbers in an order in which each comes behind its predecessors; `None` if there is a cycle.
fn topological(first: usize, edges: &[Vec<(usize, (usize, usize))>]) -> Option<Vec<usize>> {
    let mut state = vec![0_u8; edges.len()];
    let mut order = Vec::new();
    let mut path = vec![(first, 0)];
    state[first] = 1;
    while let Some(&mut (at, ref mut followed)) = path.last_mut() {
        if let Some(&(next, _)) = edges[at].get(*followed) {
            *followed += 1;
            match state[next] {
                0 => {
                    state[next] = 1;
                    path.push((next, 0));
                }
                1 => return None,
                _ => {}
            }
        } else {
            state[at] = 2;
            order.push(at);
            path.pop();
        }
    }
    order.reverse();
    Some(order)
}

/// A set of numbers.
#[derive(Clone)]
struct Set(Vec<u64>);

impl Set {
    fn contains(&self, number: usize) -> bool {
        self.0[number / 64] & 1 << (number % 64) != 0
    }
}

/// For each number, what all paths to it lead through, itself included. `from` are its
/// predecessors, which come before it in the order; where a path also begins, only it is.
fn closure(
    order: impl Iterator<Item = usize>,
    from: &[Vec<usize>],
    begins: impl Fn(usize) -> bool,
) -> Vec<Set> {
    let words = from.len().div_ceil(64);
    let mut all = vec![Set(vec![0; words]); from.len()];
    for at in order {
        let mut own = if begins(at) || from[at].is_empty() {
            vec![0; words]
        } else {
            let mut both = vec![u64::MAX; words];
            for &before in &from[at] {
                for (word, other) in both.iter_mut().zip(&all[before].0) {
                    *word &= other;
                }
            }
            both
        };
        own[at / 64] |= 1 << (at % 64);
        all[at] = Set(own);
    }
    all
}

/// The instructions of a block but for its phis and its end.
pub(super) fn body<'m>(block: Block<'m>) -> Vec<Value<'m>> {
    let mut all = block.instructions();
    all.retain(|one| one.opcode() != Some(Opcode::Phi) && !one.is_terminator());
    all
}
