//! Threads jumps across loop headers, where the state of an iterator is known on an edge.
//!
//! Before, `pieces.flat_map(|piece| piece.iter().take(3)).zip(…)`, one loop for all elements:
//! ```llvm
//! start:
//!   br label %next
//! next:                                              ; FlatMap::next
//!   %piece = phi ptr [ null, %start ], [ %piece, %element ], [ %pieces.at, %piece.begins ]
//!   %left = phi i64 [ 0, %start ], [ %left.next, %element ], [ 3, %piece.begins ]
//!   %none = icmp eq ptr %piece, null
//!   %empty = icmp eq i64 %left, 0
//!   %exhausted = select i1 %none, i1 true, i1 %empty
//!   br i1 %exhausted, label %pieces.next, label %element
//! pieces.next:
//!   %more = icmp ne ptr %pieces.at, %end
//!   br i1 %more, label %piece.begins, label %done
//! piece.begins:
//!   ...
//!   br label %next
//! element:
//!   %left.next = add i64 %left, -1
//!   ...
//!   br label %next
//! ```
//! After, an inner loop for the elements of a piece, with a trip count:
//! ```llvm
//! start:
//!   br label %pieces.next
//! next:
//!   %empty = icmp eq i64 %left.next, 0
//!   br i1 %empty, label %pieces.next, label %element
//! pieces.next:
//!   %more = icmp ne ptr %pieces.at, %end
//!   br i1 %more, label %piece.begins, label %done
//! piece.begins:
//!   ...
//!   br label %element
//! element:
//!   %left = phi i64 [ 3, %piece.begins ], [ %left.next, %next ]
//!   %left.next = add i64 %left, -1
//!   ...
//!   br label %next
//! ```
//!
//! An iterator's `next` finds out each time where the iterator stands. `sum` and `for_each` of
//! `flat_map` are nested loops in the standard library; but `zip`, `for` and others call `next`,
//! and then the two loops are one whose trip count is not known. LLVM's `jump-threading` leaves
//! loop headers alone, as it may make loops of two entries.
//!
//! **Where.** In each nest of loops, all edges to headers are followed whose branches are decided
//! by constants, by constant distances, and by the branches before the edge. If a back edge is
//! one of them, and every loop still has one entry afterwards, these edges go where they lead.
//! Otherwise edges are followed from where they meet before a header. `a.chain(b).zip(…)` is one
//! loop that has done with `a` from some iteration on; what comes behind both is copied, and there
//! are two loops, one behind the other.
//!
//! Work-items whose state changes in different iterations would wait for each other where they are
//! together in one loop before. So no condition is threaded that depends on memory, as that of
//! `skip_while` does. Nests with convergent calls stay as they are, and those of which something is
//! told about unrolling: their loops are not the same ones afterwards.
//!
//! **What does not change.** An edge's copy runs the instructions that the edge led through.

mod apply;
mod state;
mod thread;

use std::collections::HashSet;

use schism_llvm::{Block, Opcode, Value};

use crate::analysis::effects::only_computes;
use crate::analysis::trip_count::returns;
use crate::gpu::thread_headers::state::State;
use crate::gpu::thread_headers::thread::{Next, Thread};
use crate::ir::cfg::{Cfg, NaturalLoop};
use crate::ir::clone::is_cloneable;
use crate::ir::graph::{Dominators, numbers, reverse_post_order};
use crate::ir::metadata;
use crate::llvm_passes;

/// How many blocks an edge is followed through.
const BLOCKS: usize = 6;

/// How many instructions are copied for an edge.
const INSTRUCTIONS: usize = 40;

/// How many blocks a nest has.
const NEST: usize = 256;

/// How many instructions the edges of a nest lead through.
const GROWTH: usize = 300;

/// How many values a condition is made of.
const VALUES: usize = 64;

/// How often a function is looked at: adaptors stand in each other.
const ROUNDS: usize = 4;

/// Runs the pass over a function with a body.
///
/// # Errors
/// LLVM's message, if its passes fail.
pub fn run(function: Value<'_>) -> Result<(), String> {
    if !returns(function) {
        return Ok(());
    }
    for _ in 0..ROUNDS {
        let threads = plan(&Cfg::of(function));
        if threads.is_empty() {
            return Ok(());
        }
        apply::apply(function, &threads);
        function.run_passes(llvm_passes::THREADED_VARIABLES)?;
    }
    Ok(())
}

/// A nest of loops.
struct Nest<'c, 'm> {
    cfg: &'c Cfg<'m>,
    /// The outermost loop.
    outer: &'c NaturalLoop,
    /// The headers of all loops.
    headers: Vec<usize>,
}

/// The edges that are going to be threaded.
fn plan<'m>(cfg: &Cfg<'m>) -> Vec<Thread<'m>> {
    let loops = cfg.natural_loops();
    let is_inside = |inner: &NaturalLoop, outer: &NaturalLoop| {
        inner.header != outer.header && outer.blocks.contains(&inner.header)
    };
    let outermost = loops.iter().filter(|one| !loops.iter().any(|other| is_inside(one, other)));
    let mut found = Vec::new();
    for outer in outermost.filter(|outer| may_change(cfg, outer)) {
        let headers = loops.iter().map(|one| one.header).filter(|it| outer.blocks.contains(it));
        let nest = Nest { cfg, outer, headers: headers.collect() };
        // What leads to a header, or what leads to it through blocks where edges meet before.
        let meet = |block: &usize| cfg.predecessors[*block].len() > 1;
        let meetings: Vec<usize> = outer.blocks.iter().copied().filter(meet).collect();
        let threads = [&nest.headers, &meetings].into_iter().find_map(|to| {
            let threads = nest.threads(to);
            (!threads.is_empty() && stays_reducible(cfg, &found, &threads)).then_some(threads)
        });
        found.extend(threads.into_iter().flatten());
    }
    found
}

/// Whether a nest may get other loops.
fn may_change(cfg: &Cfg<'_>, nest: &NaturalLoop) -> bool {
    nest.blocks.len() <= NEST
        && nest.blocks.iter().all(|&number| {
            let block = cfg.blocks[number];
            let end = block.end();
            let is_told = [metadata::UNROLL_DISABLE, metadata::UNROLL_FULL, metadata::UNROLL_COUNT]
                .into_iter()
                .any(|property| metadata::has(end, property));
            let is_convergent = |one: Value<'_>| {
                one.opcode() == Some(Opcode::Call)
                    && (one.has_call_attribute("convergent")
                        || one.callee().is_none_or(|it| it.has_function_attribute("convergent")))
            };
            !is_told && !block.instructions().into_iter().any(is_convergent)
        })
}

impl<'m> Nest<'_, 'm> {
    /// The edges to some blocks that can be threaded: those of headers of which a back edge can.
    fn threads(&self, to: &[usize]) -> Vec<Thread<'m>> {
        let mut found = Vec::new();
        let mut growth = 0;
        for &block in to {
            let mut from = self.cfg.predecessors[block].clone();
            from.sort_unstable();
            // Two edges between the same blocks would be two values of a phi.
            for edges in from.chunk_by(|a, b| a == b).filter(|edges| edges.len() == 1) {
                let Some(thread) = self.follow(edges[0], block) else { continue };
                growth += thread.path.iter().map(|it| it.instructions().len()).sum::<usize>();
                if growth <= GROWTH {
                    found.push(thread);
                }
            }
        }
        // A loop of which only the entry is decided is any loop that runs at all.
        let again: Vec<_> = found.iter().flat_map(|thread| self.again(thread)).collect();
        found.retain(|thread| thread.decided_by.iter().any(|header| again.contains(header)));
        found
    }

    /// The headers of the loops whose state decides where an edge leads, and of which it is a back
    /// edge, or leads through one.
    fn again(&self, thread: &Thread<'m>) -> Vec<Block<'m>> {
        let from = [thread.from].into_iter().chain(thread.path.iter().copied());
        let edges = from.zip(thread.path.iter().copied());
        let is_back = |&(from, to): &(Block<'m>, Block<'m>)| {
            self.cfg.dominates(self.cfg.index[&to], self.cfg.index[&from])
        };
        let headers = edges.filter(is_back).map(|(_, to)| to);
        headers.filter(|header| thread.decided_by.contains(header)).collect()
    }

    /// Follows an edge for as long as branches are decided, or end the nest.
    fn follow(&self, from: usize, to: usize) -> Option<Thread<'m>> {
        let cfg = self.cfg;
        let is_inside = |block: &Block<'m>| self.outer.blocks.contains(&cfg.index[block]);
        let mut state = State::in_front_of(cfg, from, to);
        let (mut path, mut ways) = (Vec::new(), Vec::new());
        let mut copied = 0;
        let mut decided_by = Vec::new();
        let mut decided = 0;
        let (mut before, mut at) = (cfg.blocks[from], cfg.blocks[to]);
        while path.len() < BLOCKS && !path.contains(&at) && is_inside(&at) {
            let instructions = at.instructions();
            copied += instructions.len() - at.phis().len();
            let (end, body) = instructions.split_last()?;
            if copied > INSTRUCTIONS || !body.iter().all(|&one| is_cloneable(one)) {
                break;
            }
            state.enter(at, before);
            let next = match end.opcode() {
                Some(Opcode::Br) if end.is_conditional() => {
                    let [yes, no] = [0, 1].map(|index| end.successor(index));
                    let mut by = self.headers_of(end.condition());
                    by.retain(|header| *header == at || path.contains(header));
                    match state.condition(end.condition()) {
                        // A check, or where the nest ends; whether that is known does not matter.
                        _ if is_inside(&yes) != is_inside(&no) => {
                            Next { block: if is_inside(&yes) { yes } else { no }, may_end: true }
                        }
                        Some(holds) if !by.is_empty() && self.is_steady(end.condition()) => {
                            decided_by.extend(by);
                            decided = path.len() + 1;
                            Next { block: if holds { yes } else { no }, may_end: false }
                        }
                        _ => break,
                    }
                }
                Some(Opcode::Br) => Next { block: end.successor(0), may_end: false },
                _ => break,
            };
            path.push(at);
            ways.push(next);
            (before, at) = (at, next.block);
        }
        path.truncate(decided);
        ways.truncate(decided);
        let thread = Thread { from: cfg.blocks[from], path, next: ways, decided_by };
        let ends_well = decided > 0 && !thread.path.contains(&thread.target());
        let branches = thread.from.end().opcode() == Some(Opcode::Br);
        (ends_well && branches).then_some(thread)
    }

    /// The headers of the nest's loops of whose phis a condition is made.
    fn headers_of(&self, condition: Value<'m>) -> Vec<Block<'m>> {
        let cfg = self.cfg;
        let (mut open, mut seen) = (vec![condition], HashSet::new());
        let mut found = Vec::new();
        while let Some(value) = open.pop() {
            if value.opcode().is_none() || seen.len() > VALUES || !seen.insert(value) {
                continue;
            }
            let block = cfg.block_of(value);
            let is_phi = value.opcode() == Some(Opcode::Phi);
            if is_phi && self.headers.contains(&block) {
                found.push(cfg.blocks[block]);
            } else if self.outer.blocks.contains(&block) {
                open.extend(value.operands());
            }
        }
        found
    }

    /// Whether a condition of the nest holds or not whatever is in memory: then work-items change
    /// their state in the same iteration. Where they do not, they are together in one loop, and
    /// apart in two.
    fn is_steady(&self, condition: Value<'m>) -> bool {
        let cfg = self.cfg;
        let (mut open, mut seen) = (vec![condition], HashSet::new());
        while let Some(value) = open.pop() {
            let is_known = value.opcode().is_none()
                || !self.outer.blocks.contains(&cfg.block_of(value))
                || !seen.insert(value);
            if is_known {
                continue;
            }
            if seen.len() > VALUES || !(only_computes(value) || is_choice(value)) {
                return false;
            }
            open.extend(value.operands());
            if value.opcode() == Some(Opcode::Phi) {
                let edges = value.incoming_edges().into_iter();
                let set = edges.filter(|(value, _)| value.is_constant()).map(|(_, from)| from);
                open.extend(set.flat_map(|from| self.conditions_above(cfg.index[&from])));
            }
        }
        true
    }

    /// The conditions that decide in an iteration whether a block runs.
    fn conditions_above(&self, block: usize) -> Vec<Value<'m>> {
        let cfg = self.cfg;
        let (mut open, mut seen) = (vec![block], HashSet::new());
        let mut conditions = Vec::new();
        while let Some(at) = open.pop() {
            if !self.outer.blocks.contains(&at) || !seen.insert(at) {
                continue;
            }
            let end = cfg.blocks[at].end();
            let is_inside = |next: &usize| self.outer.blocks.contains(next);
            // Work-items that leave the nest are not waited for.
            if end.opcode() == Some(Opcode::Br)
                && end.is_conditional()
                && cfg.successors[at].iter().all(is_inside)
            {
                conditions.push(end.condition());
            }
            if !self.headers.contains(&at) {
                open.extend(&cfg.predecessors[at]);
            }
        }
        conditions
    }
}

/// Whether an instruction is one of several values.
fn is_choice(value: Value<'_>) -> bool {
    matches!(value.opcode(), Some(Opcode::Phi | Opcode::Select | Opcode::ICmp))
}

/// Whether all loops have one entry with some edges threaded.
fn stays_reducible<'m>(cfg: &Cfg<'m>, found: &[Thread<'m>], new: &[Thread<'m>]) -> bool {
    let mut successors = cfg.successors.clone();
    for thread in found.iter().chain(new) {
        let (from, to) = (cfg.index[&thread.from], cfg.index[&thread.path[0]]);
        let first = successors.len();
        for (block, next) in thread.path.iter().zip(&thread.next) {
            let index = successors.len();
            let inside = cfg.index[&next.block];
            let others = cfg.successors[cfg.index[block]].iter().copied();
            let mut ways: Vec<_> =
                others.filter(|other| next.may_end && *other != inside).collect();
            let is_last = index + 1 - first == thread.path.len();
            ways.push(if is_last { inside } else { index + 1 });
            successors.push(ways);
        }
        successors[from].iter_mut().filter(|next| **next == to).for_each(|next| *next = first);
    }
    let order = reverse_post_order(0, &successors);
    let rpo = numbers(&order, successors.len());
    let dominators = Dominators::of(0, &successors);
    order.iter().all(|&from| {
        let mut next = successors[from].iter();
        next.all(|&to| rpo[to] > rpo[from] || dominators.dominates(to, from))
    })
}
