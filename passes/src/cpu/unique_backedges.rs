//! Gives each loop one edge back to its header.
//!
//! Before, a loop with a `continue`:
//! ```llvm
//! loop:
//!   %nearest = phi float [ inf, %start ], [ %nearest, %loop ], [ %distance, %hit ]
//!   …
//!   br i1 %misses, label %loop, label %hit
//! hit:
//!   …
//!   br label %loop
//! ```
//! After:
//! ```llvm
//! loop:
//!   %nearest = phi float [ inf, %start ], [ %0, %loop.next ]
//!   …
//!   br i1 %misses, label %loop.next, label %hit
//! hit:
//!   …
//!   br label %loop.next
//! loop.next:
//!   %0 = phi float [ %nearest, %loop ], [ %distance, %hit ]
//!   br label %loop
//! ```
//!
//! LLVM's `loop-simplify` makes two loops of such a one, the inner one of iterations that change nothing.
//! Work-items in lanes would leave the inner loop one by one, and from then on be at different places
//! of what they go through together.

use schism_llvm::{Block, Builder, Value};

use crate::ir::cfg::Cfg;
use crate::ir::metadata;

/// Runs the pass over a function with a body.
pub fn run(function: Value<'_>) {
    let cfg = Cfg::of(function);
    for one in cfg.natural_loops() {
        // A block with several edges is there as often.
        let mut latches = one.latches;
        latches.dedup();
        if latches.len() > 1 {
            let latches: Vec<_> = latches.into_iter().map(|latch| cfg.blocks[latch]).collect();
            join(cfg.blocks[one.header], &latches);
        }
    }
}

/// Leads edges from some blocks to a header through a new block.
fn join<'m>(header: Block<'m>, latches: &[Block<'m>]) {
    let next = header.insert_before("loop.next");
    next.move_after(*latches.last().unwrap_or(&header));
    let builder = Builder::at_end(next);
    for phi in header.phis() {
        let joined = builder.phi(phi.ty());
        for &latch in latches {
            // As many values as edges: a switch may have several to the header.
            let edges = phi.incoming_edges().into_iter().filter(|(_, from)| *from == latch);
            edges.for_each(|(value, from)| joined.add_incoming(value, from));
        }
        phi.add_incoming(joined, next);
    }
    let end = builder.br(header);
    for latch in latches {
        let old = latch.end();
        metadata::hand_on(old, end);
        for index in 0..old.num_successors() {
            if old.successor(index) == header {
                old.set_successor(index, next);
                header.forget_edge(*latch);
            }
        }
    }
}
