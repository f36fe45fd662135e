//! The body of the work-item loop: its blocks, the barriers that end some of them, and where a
//! work-item ends.

use std::collections::HashMap;

use schism_llvm::{Block, Builder, Opcode, Value};

use super::refusal::Refusal;
use super::waits::{BARRIER, waits};
use crate::ir::cfg::Cfg;
use crate::ir::clone::is_duplicable;
use crate::ir::graph::{reached, reverse_post_order};

/// One dimension of the loop nest.
#[derive(Clone, Copy)]
pub(super) struct Axis<'m> {
    pub name: &'static str,
    /// The parameters between which its ids are.
    pub begin: Value<'m>,
    pub end: Value<'m>,
    /// The id.
    pub id: Value<'m>,
    header: Block<'m>,
    /// The id of the next iteration.
    after: Value<'m>,
}

/// What a block leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// A block of the body.
    Block(usize),
    /// The next work-item.
    End,
    /// A block outside of the nest, on the way out of the function: a panic.
    Outside,
}

/// The part of the loop function that each work-item executes.
pub(super) struct Body<'m> {
    pub function: Value<'m>,
    /// The dimensions, x first.
    pub axes: Vec<Axis<'m>>,
    /// The block before the nest.
    pub before: Block<'m>,
    /// The terminator of the innermost loop's latch.
    pub latch_end: Value<'m>,
    /// The body's blocks. A work-item begins with the first, which has no phi.
    pub blocks: Vec<Block<'m>>,
    pub index: HashMap<Block<'m>, usize>,
    /// Where each block continues, in the order of its terminator's successors.
    pub next: Vec<Vec<Next>>,
    /// The same, as blocks of the body only.
    pub successors: Vec<Vec<usize>>,
    pub predecessors: Vec<Vec<usize>>,
    /// The barriers and operations of sub-groups at the ends of blocks: such a block has one
    /// successor.
    pub barrier: Vec<Option<Value<'m>>>,
    /// Whether a work-item can still come to its end from there.
    pub lives: Vec<bool>,
    /// The body's instructions with the numbers of their block and in it.
    home: HashMap<Value<'m>, (usize, usize)>,
}

impl<'m> Body<'m> {
    /// The body of the loop nest of a function. Makes each barrier and each operation of sub-groups
    /// the last instruction of a block.
    pub(super) fn find(function: Value<'m>) -> Result<Self, Refusal> {
        let mut axes = Vec::new();
        for name in ["x", "y", "z"] {
            match axis(function, name) {
                Some(axis) => axes.push(axis),
                None => break,
            }
        }
        let (Some(&inner), Some(&outer)) = (axes.first(), axes.last()) else {
            return Err(Refusal::Nest);
        };
        let calls: Vec<Value<'m>> =
            function.instructions().into_iter().filter(|&call| waits(call)).collect();
        for call in calls {
            if let Some(next) = call.next() {
                next.split_before();
            }
        }
        // The latch is what follows the increment.
        inner.after.split_before();
        let latch = inner.after.block();
        let header_end = inner.header.end();
        let inside = header_end.is_conditional() && inner.header.successors().len() == 2;
        if !inside || latch.successors() != [inner.header] {
            return Err(Refusal::Nest);
        }
        let first = split_edge(header_end, 0);

        let cfg = Cfg::of(function);
        let first_number = cfg.index[&first];
        if !cfg.dominates(first_number, cfg.index[&latch]) {
            return Err(Refusal::Nest);
        }
        let all: Vec<Block<'m>> = cfg.blocks.clone();
        let order = reverse_post_order(first_number, &cfg.successors);
        let blocks: Vec<Block<'m>> = order
            .into_iter()
            .filter(|&number| cfg.dominates(first_number, number) && all[number] != latch)
            .map(|number| all[number])
            .collect();
        let index: HashMap<Block<'m>, usize> = blocks.iter().copied().zip(0..).collect();
        let next: Vec<Vec<Next>> = blocks
            .iter()
            .map(|block| {
                let successors = block.successors().into_iter();
                let next = successors.map(|next| match index.get(&next) {
                    Some(&number) => Next::Block(number),
                    None if next == latch => Next::End,
                    None => Next::Outside,
                });
                next.collect()
            })
            .collect();
        let inner_blocks = |next: &Vec<Next>| {
            let blocks = next.iter().filter_map(|next| match next {
                Next::Block(number) => Some(*number),
                _ => None,
            });
            blocks.collect::<Vec<_>>()
        };
        let successors: Vec<Vec<usize>> = next.iter().map(inner_blocks).collect();
        let mut predecessors = vec![Vec::new(); blocks.len()];
        for (block, next) in successors.iter().enumerate() {
            next.iter().for_each(|&next| predecessors[next].push(block));
        }
        let ends = (0..blocks.len()).filter(|&block| next[block].contains(&Next::End));
        let living = reached(ends, |block| predecessors[block].iter().copied());
        let lives: Vec<bool> = (0..blocks.len()).map(|block| living.contains(&block)).collect();
        let barriers = blocks.iter().map(|block| {
            let last = block.end().previous();
            last.filter(|&last| waits(last))
        });
        let barriers: Vec<_> = barriers.collect();
        let mut home = HashMap::new();
        for (block, number) in blocks.iter().zip(0..) {
            let instructions = block.instructions().into_iter().zip(0..);
            home.extend(instructions.map(|(it, at)| (it, (number, at))));
        }
        let before = outer.header;
        let preheaders: Vec<Block<'m>> = before
            .as_value()
            .users()
            .into_iter()
            .filter(|user| user.is_terminator())
            .map(Value::block)
            .filter(|block| {
                let number = cfg.index[block];
                !cfg.dominates(cfg.index[&outer.header], number)
            })
            .collect();
        let &[before] = &preheaders[..] else { return Err(Refusal::Nest) };
        let before_number = cfg.index[&before];
        // What a work-item uses is its own, an id, or there before all work-items.
        let is_known = |value: Value<'m>| {
            !value.is_instruction()
                || home.contains_key(&value)
                || axes.iter().any(|axis| axis.id == value)
                || cfg.dominates(cfg.index[&value.block()], before_number)
        };
        let uses = blocks.iter().flat_map(|block| block.instructions());
        let all_known = uses.flat_map(|user| user.operands().collect::<Vec<_>>()).all(is_known);
        if !all_known || before.successors().len() != 1 {
            return Err(Refusal::Nest);
        }
        let body = Body {
            function,
            axes,
            before,
            latch_end: latch.end(),
            blocks,
            index,
            next,
            successors,
            predecessors,
            barrier: barriers,
            lives,
            home,
        };
        body.check()?;
        Ok(body)
    }

    /// Refuses what cannot be copied, and work-items that never end.
    fn check(&self) -> Result<(), Refusal> {
        for (block, number) in self.blocks.iter().zip(0..) {
            if self.barrier[number].is_some() && !self.lives[number] {
                return Err(Refusal::NeverEnds);
            }
            for instruction in block.instructions() {
                let of_barrier = self.barrier[number] == Some(instruction);
                if !of_barrier && !is_duplicable(instruction) {
                    return Err(Refusal::Instruction(text_of(instruction)));
                }
            }
        }
        Ok(())
    }

    /// The successors of a block within a work-item's run between two barriers.
    pub(super) fn inner_successors(&self, block: usize) -> &[usize] {
        if self.barrier[block].is_some() { &[] } else { &self.successors[block] }
    }

    /// Whether a work-item that takes an edge out of a block can still come to its end.
    pub(super) fn leads_to_end(&self, block: usize, edge: usize) -> bool {
        match self.next[block][edge] {
            Next::Block(next) => self.lives[next],
            Next::End => true,
            Next::Outside => false,
        }
    }

    /// Whether a work-item may come to a block again without a barrier in between: its own loop.
    pub(super) fn comes_back(&self, block: usize) -> bool {
        let next = |block: usize| self.inner_successors(block).iter().copied();
        reached(next(block), next).contains(&block)
    }

    /// Where a block with a barrier continues.
    pub(super) fn behind(&self, block: usize) -> Next {
        self.next[block].first().copied().unwrap_or(Next::Outside)
    }

    /// The operation of sub-groups at the end of a block.
    pub(super) fn sub_group_operation(&self, block: usize) -> Option<Value<'m>> {
        self.barrier[block]
            .filter(|call| call.direct_callee().is_some_and(|callee| callee.name() != BARRIER))
    }

    /// The block of an instruction of the body.
    pub(super) fn block_of(&self, value: Value<'m>) -> Option<usize> {
        self.home.get(&value).map(|(block, _)| *block)
    }

    /// Where an instruction of the body stands, for an order.
    pub(super) fn place_of(&self, value: Value<'m>) -> Option<(usize, usize)> {
        self.home.get(&value).copied()
    }
}

/// Finds a dimension by the parameters between which its ids are.
fn axis<'m>(function: Value<'m>, name: &'static str) -> Option<Axis<'m>> {
    let params = function.params();
    let param = |suffix: &str| {
        let wanted = format!("{name}.{suffix}");
        params.iter().copied().find(|param| param.name() == wanted)
    };
    let (begin, end) = (param("begin")?, param("end")?);
    let is_id = |user: &Value<'m>| {
        user.opcode() == Some(Opcode::Phi)
            && user.num_incoming() == 2
            && user.block().end().is_conditional()
            && user.block().end().condition().operands().any(|operand| operand == end)
    };
    let id = begin.users().into_iter().find(is_id)?;
    let header = id.block();
    let is_step = |value: &Value<'m>| {
        value.opcode() == Some(Opcode::Add) && value.operands().any(|operand| operand == id)
    };
    let after = id.incoming_edges().into_iter().map(|(value, _)| value).find(is_step)?;
    (header.phis().len() == 1).then_some(Axis { name, begin, end, id, header, after })
}

/// A new block on an edge. The phis behind it get their values from there.
fn split_edge<'m>(terminator: Value<'m>, at: u32) -> Block<'m> {
    let (from, to) = (terminator.block(), terminator.successor(at));
    let new = to.insert_before("item.begin");
    Builder::at_end(new).br(to);
    terminator.set_successor(at, new);
    for phi in to.phis() {
        let moved = Builder::before(phi).phi(phi.ty());
        for (value, block) in phi.incoming_edges() {
            moved.add_incoming(value, if block == from { new } else { block });
        }
        moved.take_name(phi);
        phi.replace_uses(moved);
        phi.erase();
    }
    new
}

/// An instruction for a message.
fn text_of(instruction: Value<'_>) -> String {
    match instruction.callee() {
        Some(callee) => format!("call of {}", callee.name()),
        None => format!("{:?}", instruction.opcode()),
    }
}
