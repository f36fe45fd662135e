//! Which kernels with operations of sub-groups can be cut there for the whole group.
//!
//! A sub-group need not wait for others: whole sub-groups may go different ways, and each runs up
//! to the group's next barrier before the next one begins. If all are made to wait for each other,
//! two things must not change. All must come to the operation. And the same work-item must panic
//! first: not one of a later sub-group before an operation, where one of an earlier sub-group
//! does behind it.

use std::collections::HashMap;

use super::body::{Body, Next};
use super::refusal::Refusal;
use super::region::exits;
use super::uniformity::Varying;
use crate::ir::graph::{reached, reverse_post_order};

/// A region, or a block that the group runs once.
struct Part {
    panics: bool,
    /// Where work-items go on without having come to a barrier of the group.
    in_phase: Vec<usize>,
}

/// Refuses kernels in which a cut for the whole group would be seen.
pub(super) fn check(
    body: &Body<'_>,
    varying: &Varying<'_>,
    shared: &[bool],
) -> Result<(), Refusal> {
    let is_operation = |&block: &usize| body.sub_group_operation(block).is_some();
    if !(0..body.blocks.len()).any(|block| is_operation(&block)) {
        return Ok(());
    }
    let inner: Vec<Vec<usize>> =
        (0..body.blocks.len()).map(|block| body.inner_successors(block).to_vec()).collect();
    let (mut parts, mut open) = (HashMap::new(), vec![0]);
    while let Some(entry) = open.pop() {
        if parts.contains_key(&entry) {
            continue;
        }
        if shared[entry] {
            open.extend(&body.successors[entry]);
            parts.insert(entry, Part { panics: false, in_phase: inner[entry].clone() });
            continue;
        }
        let blocks = reverse_post_order(entry, &inner);
        let (exits, agrees) = exits(body, varying, &blocks);
        let barriers: Vec<usize> = exits.into_iter().flatten().collect();
        if !agrees && barriers.iter().any(is_operation) {
            return Err(Refusal::SubGroupsPart);
        }
        let behind = |barriers: &mut dyn Iterator<Item = &usize>| -> Vec<usize> {
            barriers.flat_map(|&block| body.successors[block].clone()).collect()
        };
        open.extend(behind(&mut barriers.iter()));
        let panics =
            |&block: &usize| !body.lives[block] || body.next[block].contains(&Next::Outside);
        let in_phase = behind(&mut barriers.iter().filter(|block| is_operation(block)));
        parts.insert(entry, Part { panics: blocks.iter().any(panics), in_phase });
    }
    let panics_later = |part: &Part| {
        let of = |part: &Part| part.in_phase.clone();
        reached(of(part), |next| of(&parts[&next])).iter().any(|next| parts[next].panics)
    };
    if parts.values().any(|part| part.panics && panics_later(part)) {
        return Err(Refusal::SubGroupsPanic);
    }
    Ok(())
}
