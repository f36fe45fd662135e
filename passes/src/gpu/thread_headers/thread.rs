//! Edges that are threaded.

use schism_llvm::Block;

/// An edge inside or to a nest of loops, and where it leads.
pub(super) struct Thread<'m> {
    pub from: Block<'m>,
    /// The blocks that it leads through.
    pub path: Vec<Block<'m>>,
    /// Where it continues behind each of them.
    pub next: Vec<Next<'m>>,
    /// The headers of the loops whose state decides that.
    pub decided_by: Vec<Block<'m>>,
}

/// Where an edge continues behind a block.
#[derive(Clone, Copy)]
pub(super) struct Next<'m> {
    pub block: Block<'m>,
    /// Whether the nest may end there.
    pub may_end: bool,
}

impl<'m> Thread<'m> {
    /// Where the edge leads.
    pub fn target(&self) -> Block<'m> {
        self.next[self.next.len() - 1].block
    }
}
