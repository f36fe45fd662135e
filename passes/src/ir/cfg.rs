//! The control-flow graph of a function: successors, predecessors, dominance, loops.
//!
//! LLVM's own analyses are not in its C interface. These are recomputed after a change, unless the
//! caller can do with edges that are [updated](Cfg::update).

use std::collections::{BTreeSet, HashMap};

use schism_llvm::{Block, Value};

use crate::ir::graph::{Dominators, reached};

/// The blocks of a function, by their number in the function's order. The first is the entry.
pub(crate) struct Cfg<'m> {
    /// The blocks.
    pub blocks: Vec<Block<'m>>,
    /// The number of each block.
    pub index: HashMap<Block<'m>, usize>,
    /// Where each block continues; a block is there twice if two edges lead to it.
    pub successors: Vec<Vec<usize>>,
    /// The predecessors of each block.
    pub predecessors: Vec<Vec<usize>>,
    dominators: Dominators,
}

/// A natural loop with one entry and one back edge, as `loop-simplify` makes them.
#[derive(Clone, Debug)]
pub(crate) struct Loop {
    /// The block that every iteration begins with.
    pub header: usize,
    /// The header's only predecessor outside of the loop; it has no other successor.
    pub preheader: usize,
    /// The header's only predecessor inside of the loop.
    pub latch: usize,
    /// All blocks, in the function's order.
    pub blocks: BTreeSet<usize>,
    /// Whether there is no other loop inside.
    pub innermost: bool,
}

/// A natural loop of any form: its back edges, and what lies between them and the header.
#[derive(Clone, Debug)]
pub(crate) struct NaturalLoop {
    /// The block that every iteration begins with; no other loop has the same one.
    pub header: usize,
    /// The header's predecessors inside of the loop, in their order.
    pub latches: Vec<usize>,
    /// All blocks, in the function's order.
    pub blocks: BTreeSet<usize>,
}

impl<'m> Cfg<'m> {
    /// Of a function with a body.
    pub fn of(function: Value<'m>) -> Self {
        let blocks = function.blocks();
        #[cfg(test)]
        MADE.with(|made| made.set(made.get() + 1));
        let index: HashMap<_, _> = blocks.iter().copied().zip(0..).collect();
        let successors: Vec<Vec<usize>> = blocks
            .iter()
            .map(|&block| block.successors().into_iter().map(|next| index[&next]).collect())
            .collect();
        let mut predecessors = vec![Vec::new(); blocks.len()];
        for (block, next) in successors.iter().enumerate() {
            for &next in next {
                predecessors[next].push(block);
            }
        }
        let dominators = Dominators::of(0, &successors);
        Cfg { blocks, index, successors, predecessors, dominators }
    }

    /// Looks again at where some blocks go on, after a change; blocks that are new get the numbers
    /// behind all others. Dominators stay what they were: new blocks have none, and a caller asks
    /// only for blocks between which nothing has changed.
    pub fn update(&mut self, changed: &[Block<'m>]) {
        for &block in changed {
            if !self.index.contains_key(&block) {
                self.index.insert(block, self.blocks.len());
                self.blocks.push(block);
                self.successors.push(Vec::new());
                self.predecessors.push(Vec::new());
                self.dominators.add();
            }
        }
        for block in changed {
            let number = self.index[block];
            for next in std::mem::take(&mut self.successors[number]) {
                self.predecessors[next].retain(|&from| from != number);
            }
            let next: Vec<usize> = block.successors().iter().map(|next| self.index[next]).collect();
            for &next in &next {
                self.predecessors[next].push(number);
            }
            self.successors[number] = next;
        }
    }

    /// The instructions of some blocks.
    pub fn instructions<'a>(
        &'a self,
        blocks: impl IntoIterator<Item = &'a usize>,
    ) -> impl Iterator<Item = Value<'m>> {
        blocks.into_iter().flat_map(|&block| self.blocks[block].instructions())
    }

    /// The block that an instruction stands in.
    pub fn block_of(&self, instruction: Value<'m>) -> usize {
        self.index[&instruction.block()]
    }

    /// Whether every path to `below` leads through `above`; a block dominates itself.
    pub fn dominates(&self, above: usize, below: usize) -> bool {
        self.dominators.dominates(above, below)
    }

    /// All natural loops, in the order of their headers. Loops with the same header are one.
    pub fn natural_loops(&self) -> Vec<NaturalLoop> {
        let mut found = Vec::new();
        for header in 0..self.blocks.len() {
            let from = self.predecessors[header].iter().copied();
            let latches: Vec<usize> = from.filter(|&from| self.dominates(header, from)).collect();
            if latches.is_empty() {
                continue;
            }
            let of = |block: usize| {
                let from = self.predecessors[block].iter().copied();
                from.filter(move |&from| block != header && self.dominators.is_reached(from))
            };
            let blocks = reached([header].into_iter().chain(latches.clone()), of);
            let blocks = blocks.into_iter().collect();
            found.push(NaturalLoop { header, latches, blocks });
        }
        found
    }

    /// The loops with one entry and one back edge, inner ones first.
    pub fn loops(&self) -> Vec<Loop> {
        let mut found: Vec<Loop> = Vec::new();
        for NaturalLoop { header, latches, blocks } in self.natural_loops() {
            let from = self.predecessors[header].iter().copied();
            let before: Vec<usize> = from.filter(|from| !latches.contains(from)).collect();
            let (&[latch], &[preheader]) = (&latches[..], &before[..]) else { continue };
            if self.successors[preheader].len() != 1 || !self.dominators.is_reached(preheader) {
                continue;
            }
            found.push(Loop { header, preheader, latch, blocks, innermost: true });
        }
        for one in &mut found {
            // Any cycle inside, of whatever form, is an edge back to a block other than the header.
            one.innermost = !self.has_inner_cycle(one);
        }
        found.sort_by_key(|one| one.blocks.len());
        found
    }

    /// Whether a loop's blocks have a cycle that does not go through its header.
    fn has_inner_cycle(&self, one: &Loop) -> bool {
        // Removes blocks without predecessors until none is left, or only cycles are (Kahn).
        let inside = |block: &usize| *block != one.header && one.blocks.contains(block);
        let mut in_degree: HashMap<usize, usize> = HashMap::new();
        for &block in one.blocks.iter().filter(|block| inside(block)) {
            in_degree
                .insert(block, self.predecessors[block].iter().filter(|from| inside(from)).count());
        }
        let mut free: Vec<usize> =
            in_degree.iter().filter(|(_, degree)| **degree == 0).map(|(&block, _)| block).collect();
        let mut gone = 0;
        while let Some(block) = free.pop() {
            gone += 1;
            for next in self.successors[block].iter().filter(|next| inside(next)) {
                let Some(left) = in_degree.get_mut(next) else { continue };
                *left -= 1;
                if *left == 0 {
                    free.push(*next);
                }
            }
        }
        gone < in_degree.len()
    }
}

#[cfg(test)]
thread_local! {
    /// How many graphs this thread has made: passes need not make one for each of very many loops.
    pub(crate) static MADE: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use inkwell::context::Context;
    use inkwell::memory_buffer::MemoryBuffer;
    use schism_llvm::IntoValue;

    use super::Cfg;

    #[test]
    fn loops_and_dominators() {
        // Blocks by their numbers: an outer loop 1..=5 around an inner one, 3; then 7 is
        // unreachable.
        let text = "define void @f(i1 %a) {
            b0: br label %b1
            b1: br i1 %a, label %b2, label %b4
            b2: br label %b3
            b3: br i1 %a, label %b3, label %b4.pre
            b4.pre: br label %b4
            b4: br i1 %a, label %b1, label %b6
            b6: ret void
            b7: br label %b6
        }";
        let context = Context::create();
        let buffer = MemoryBuffer::create_from_memory_range_copy(text.as_bytes(), "text");
        let module = context.create_module_from_ir(buffer).expect("assembly");
        let cfg = Cfg::of(module.get_function("f").expect("there").value());
        let dominates = |above, below| cfg.dominates(above, below);
        assert!(dominates(0, 6) && dominates(1, 5) && dominates(2, 4) && dominates(3, 3));
        assert!(!dominates(2, 5) && !dominates(4, 3) && !dominates(7, 6) && !dominates(0, 7));
        let loops = cfg.loops();
        let shapes: Vec<_> =
            loops.iter().map(|one| (one.header, one.preheader, one.latch, one.innermost)).collect();
        assert_eq!(shapes, [(3, 2, 3, true), (1, 0, 5, false)]);
        assert_eq!(loops[1].blocks, [1, 2, 3, 4, 5].into());
    }

    #[test]
    fn a_natural_loop_may_have_several_latches_and_entries() {
        let text = "define void @f(i1 %a) {
            b0: br i1 %a, label %b1, label %b2
            b1: br label %b3
            b2: br label %b3
            b3: br i1 %a, label %b4, label %b5
            b4: br i1 %a, label %b3, label %b6
            b5: br label %b3
            b6: ret void
        }";
        let context = Context::create();
        let buffer = MemoryBuffer::create_from_memory_range_copy(text.as_bytes(), "text");
        let module = context.create_module_from_ir(buffer).expect("assembly");
        let cfg = Cfg::of(module.get_function("f").expect("there").value());
        let [one] = &cfg.natural_loops()[..] else { panic!("one loop") };
        assert_eq!(one.header, 3);
        assert_eq!(one.latches.iter().copied().collect::<BTreeSet<_>>(), [4, 5].into());
        assert_eq!(one.blocks, [3, 4, 5].into());
        assert!(cfg.loops().is_empty());
    }
}
