//! Cuts before what a group decides once, behind what each work-item does.
//!
//! ```llvm
//! step:                                          ; behind a barrier
//!   ...                                          ; exchanges two elements, or does not
//! exchanged:
//!   %distance.next = lshr i64 %distance, 1       ; the same for all work-items
//!   %more = icmp ne i64 %distance.next, 0
//!   br i1 %more, label %barrier.1, label %barrier.2
//! ```
//! All work-items reach `%exchanged`, and from there on all do the same until it is clear whether
//! there is a next step. So there is another barrier:
//! ```llvm
//! exchanged:
//!   call void @schism.meet.__schism_barrier(ptr %group)
//!   %distance.next = lshr i64 %distance, 1
//! ```
//! The group runs what comes behind it once. Otherwise each work-item would leave where it continues to the group
//! behind the region, and values such as `%distance.next` to the next work-item, so that it could not be
//! computed beside others in the lanes of vectors.

use schism_llvm::{Builder, Value};

use super::body::Body;
use super::uniformity::Varying;
use crate::ir::graph::reached;

/// Inserts barriers, like `call`. Returns whether there are any.
pub(super) fn cut<'m>(
    body: &Body<'m>,
    varying: &Varying<'m>,
    shared: &[bool],
    call: Value<'m>,
) -> bool {
    let sub_groups = (0..body.blocks.len()).any(|it| body.sub_group_operation(it).is_some());
    if sub_groups {
        return false;
    }
    let mut found = Vec::new();
    for block in 0..body.blocks.len() {
        let before = &body.predecessors[block];
        let is_behind_own =
            before.iter().any(|&from| !shared[from] && body.barrier[from].is_none());
        if shared[block]
            && is_behind_own
            && body.barrier[block].is_none()
            && decides(body, shared, block)
            && !body.comes_back(block)
            && body.blocks[block].phis().iter().all(|&phi| !varying.has(phi))
            && varying.come_together(body, block)
        {
            found.push(block);
        }
    }
    for &block in &found {
        let copy = call.duplicate();
        Builder::before(body.blocks[block].first_non_phi()).insert(copy);
    }
    !found.is_empty()
}

/// Whether the group decides from a block on whether it reaches a barrier, without what each work-item does.
fn decides(body: &Body<'_>, shared: &[bool], block: usize) -> bool {
    let goes_on = |block: usize| shared[block] && body.barrier[block].is_none();
    let all = reached([block], |block| {
        body.successors[block].iter().copied().filter(move |_| goes_on(block))
    });
    all.iter().any(|&block| goes_on(block) && body.next[block].len() > 1)
        && all.iter().any(|&block| shared[block] && body.barrier[block].is_some())
}
