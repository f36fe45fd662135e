//! Sides of a branch that both have control flow of their own: one becomes a loop that is never
//! repeated.
//!
//! Intel's compiler for processors computes both sides of a branch that differs between work-items,
//! and chooses for each lane. If one side has a loop with a branch inside, and the other side also
//! branches, it may choose a number of the wrong side where the two meet, of OpenCL C too:
//!
//! ```text
//!   if (a[i]) {
//!       for (;;) { if (n & 1) x = x * y + p[3]; n >>= 1; y *= y; if (n == 0) break; }
//!       d = 0;
//!   } else {
//!       if (i >= q) p[0] = 1;
//!       x = t[0];
//!       d = 3;
//!   }
//!   out[i] = d;                                    // 0, whatever a[i] is
//! ```
//! It chooses well of what comes out of a loop. So
//! ```llvm
//!   br i1 %a, label %then, label %else
//! then:
//!   ...
//! then.end:
//!   br label %meet
//! meet:
//!   %d = phi i32 [ 0, %then.end ], [ 3, %else.end ]
//! ```
//! becomes
//! ```llvm
//! then.end:
//!   br label %once
//! once:
//!   %d.then = phi i32 [ 0, %then.end ]
//!   %again = icmp ne i32 %zero, 0                  ; no compiler knows that it is 0
//!   br i1 %again, label %then, label %meet
//! meet:
//!   %d = phi i32 [ %d.then, %once ], [ 3, %else.end ]
//! ```
//! A side with a barrier stays, since all work-items of a group take it or none does. So do loops whose
//! branches only leave them, such as a loop with checks beside one without: what they leave was not seen to
//! be wrong, and a hot loop around them takes six times as long. Runs after optimisation.

use std::collections::{HashMap, HashSet};

use schism_llvm::{Block, Builder, IntPredicate, Opcode, Value, intrinsic_id};

use crate::common::module::Module;

/// Runs the step over a kernel's entry.
pub fn separate(module: &Module<'_>, entry: &str) {
    let Some(entry) = module.function(entry) else { return };
    let mut zero = None;
    let mut graph = Graph::of(entry);
    // Blocks that are new do not branch to two sides.
    for before in entry.blocks() {
        let found = sides(&graph, before);
        if found.is_empty() {
            continue;
        }
        let zero = *zero.get_or_insert_with(|| hidden_zero(entry));
        for (meet, side) in found {
            repeat(before, meet, &side, zero);
        }
        graph = Graph::of(entry);
    }
}

/// Zero, of which no compiler knows that it is, at the function's begin.
fn hidden_zero(entry: Value<'_>) -> Value<'_> {
    let context = entry.context();
    let (long, word) = (context.int_type(64), context.int_type(32));
    let offset = entry.module().intrinsic(intrinsic_id("llvm.spv.global.offset"), &[long]);
    let builder = Builder::before(entry.entry().begin());
    let zero = builder.call_function(offset, &[word.const_int(0, false)]);
    builder.trunc(zero, word)
}

/// Where blocks come from.
struct Graph<'m> {
    blocks: Vec<Block<'m>>,
    predecessors: HashMap<Block<'m>, Vec<Block<'m>>>,
}

/// What lies between a branch and where its sides meet.
struct Side<'m> {
    begin: Block<'m>,
    blocks: HashSet<Block<'m>>,
}

impl<'m> Graph<'m> {
    fn of(function: Value<'m>) -> Self {
        let blocks = function.blocks();
        let mut predecessors: HashMap<Block<'m>, Vec<Block<'m>>> = HashMap::new();
        for &block in &blocks {
            for next in block.successors() {
                predecessors.entry(next).or_default().push(block);
            }
        }
        Self { blocks, predecessors }
    }

    fn before(&self, block: Block<'m>) -> &[Block<'m>] {
        self.predecessors.get(&block).map(Vec::as_slice).unwrap_or_default()
    }

    /// The blocks that can be come to from one without passing any of two others.
    fn reachable(&self, from: Block<'m>, stops: [Block<'m>; 2]) -> HashSet<Block<'m>> {
        closure(from, |block| block.successors(), |block| !stops.contains(block))
    }

    /// The side that begins with a block, up to where it meets another: the blocks from which
    /// control comes there. `None` if control comes into it other than by its begin.
    fn side(&self, before: Block<'m>, begin: Block<'m>, meet: Block<'m>) -> Option<Side<'m>> {
        let edges = self.before(begin).iter().filter(|from| **from == before);
        if begin == meet || edges.count() != 1 {
            return None;
        }
        let mut blocks = self.reachable(begin, [before, meet]);
        let mut meets = HashSet::new();
        for &end in self.before(meet).iter().filter(|end| blocks.contains(end)) {
            let is_between = |block: &Block<'m>| ![before, meet].contains(block);
            meets.extend(closure(end, |block| self.before(block).to_vec(), is_between));
        }
        blocks.retain(|block| meets.contains(block));
        let is_own = |block: &Block<'m>| {
            let is_entry = |from: &Block<'m>| *block == begin && *from == before;
            self.before(*block).iter().all(|from| blocks.contains(from) || is_entry(from))
        };
        (blocks.contains(&begin) && blocks.iter().all(is_own)).then_some(Side { begin, blocks })
    }
}

/// What can be come to by steps, through some blocks only.
fn closure<'m>(
    from: Block<'m>,
    next: impl Fn(Block<'m>) -> Vec<Block<'m>>,
    is_passed: impl Fn(&Block<'m>) -> bool,
) -> HashSet<Block<'m>> {
    let (mut seen, mut open) = (HashSet::new(), vec![from]);
    while let Some(block) = open.pop() {
        if is_passed(&block) && seen.insert(block) {
            open.extend(next(block));
        }
    }
    seen
}

impl<'m> Side<'m> {
    /// Whether it branches by itself.
    fn branches(&self) -> bool {
        self.blocks.iter().any(|block| block.successors().len() > 1)
    }

    /// Whether it has a loop in which control may take two ways that both stay in the loop.
    fn has_branching_loop(&self) -> bool {
        self.blocks.iter().any(|&block| {
            let mut ways = block.successors();
            ways.dedup();
            let returns = |way: &Block<'m>| self.reachable(*way).contains(&block);
            ways.iter().filter(|way| returns(way)).count() > 1
        })
    }

    /// The blocks of the side that can be come to from one of them.
    fn reachable(&self, from: Block<'m>) -> HashSet<Block<'m>> {
        closure(from, |block| block.successors(), |block| self.blocks.contains(block))
    }

    /// Whether work-items wait for each other in it.
    fn waits(&self) -> bool {
        let instructions = self.blocks.iter().flat_map(|block| block.instructions());
        instructions.filter(|it| it.opcode() == Some(Opcode::Call)).any(|call| {
            call.has_call_attribute("convergent")
                || call.callee().is_some_and(|it| it.has_function_attribute("convergent"))
        })
    }
}

/// The sides of a branch that are to become loops, and where they meet.
fn sides<'m>(graph: &Graph<'m>, before: Block<'m>) -> Vec<(Block<'m>, Side<'m>)> {
    let mut begins = before.successors();
    begins.dedup();
    if begins.len() < 2 {
        return Vec::new();
    }
    let reached: Vec<HashSet<Block<'m>>> =
        begins.iter().map(|&begin| graph.reachable(begin, [before, before])).collect();
    // Where the first ones meet: control comes from blocks of one side only, and from such of another.
    let is_meet = |block: &&Block<'m>| {
        let mut own = HashSet::new();
        for from in graph.before(**block) {
            let of = (0..reached.len()).filter(|&side| reached[side].contains(from));
            if let [side] = of.collect::<Vec<_>>()[..] {
                own.insert(side);
            }
        }
        own.len() > 1 && !block.phis().is_empty()
    };
    for &meet in graph.blocks.iter().filter(is_meet) {
        let mut found: Vec<Side<'m>> =
            begins.iter().filter_map(|&begin| graph.side(before, begin, meet)).collect();
        found.retain(|side| side.branches());
        let is_hit = found.len() > 1
            && found.iter().any(Side::has_branching_loop)
            && !found.iter().any(Side::waits);
        if is_hit {
            // The longest side is the most to skip where no lane reaches it.
            found.sort_by_key(|side| side.blocks.len());
            return found.into_iter().skip(1).map(|side| (meet, side)).collect();
        }
    }
    Vec::new()
}

/// Makes a loop of a side.
fn repeat<'m>(before: Block<'m>, meet: Block<'m>, side: &Side<'m>, zero: Value<'m>) {
    let once = meet.insert_before("");
    let builder = Builder::at_end(once);
    let mut collected = Vec::new();
    for phi in meet.phis() {
        let edges = phi.incoming_edges();
        let own = edges.into_iter().filter(|(_, from)| side.blocks.contains(from));
        let new = builder.phi(phi.ty());
        for (value, from) in own {
            new.add_incoming(value, from);
        }
        collected.push(new);
    }
    for &end in &side.blocks {
        if end.successors().contains(&meet) {
            meet.forget_edge(end);
            let branch = end.end();
            for index in (0..branch.num_successors()).filter(|&it| branch.successor(it) == meet) {
                branch.set_successor(index, once);
            }
        }
    }
    for (phi, value) in meet.phis().into_iter().zip(collected) {
        phi.add_incoming(value, once);
    }
    // The side may begin with a loop.
    let enter = side.begin.insert_before("");
    Builder::at_end(enter).br(side.begin);
    let starts: Vec<_> = side.begin.phis().into_iter().map(|phi| phi.incoming(before)).collect();
    side.begin.forget_edge(before);
    for (phi, start) in side.begin.phis().into_iter().zip(starts) {
        phi.add_incoming(start.expect("control comes from there"), enter);
    }
    let branch = before.end();
    for index in (0..branch.num_successors()).filter(|&it| branch.successor(it) == side.begin) {
        branch.set_successor(index, enter);
    }
    let again = builder.icmp(IntPredicate::NE, zero, zero.ty().const_int(0, false));
    builder.cond_br(again, enter, meet);
}
