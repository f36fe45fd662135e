//! Private memory: which of a work-item's locals keep their contents across a barrier.

use std::collections::HashSet;

use schism_llvm::{Opcode, Value};

use super::body::Body;

/// What a block does with a local.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Event {
    Access,
    /// It has no contents any more, or none yet.
    Reset,
}

/// The locals that work-items of a group may not share: all but those whose contents are never
/// needed behind a barrier.
pub(super) fn kept_across_barriers<'m>(body: &Body<'m>) -> Vec<Value<'m>> {
    body.function.allocas().into_iter().filter(|&local| is_kept(body, local)).collect()
}

/// Removes the marks of where locals begin and end to have contents: one work-item's end would come
/// before another one's use.
pub(super) fn forget_lifetimes(function: Value<'_>) {
    for local in function.allocas() {
        for user in local.users() {
            if user.calls_intrinsic(&["lifetime."]) {
                user.erase();
            }
        }
    }
}

fn is_kept<'m>(body: &Body<'m>, local: Value<'m>) -> bool {
    let mut events: Vec<Vec<(Value<'m>, Event)>> = vec![Vec::new(); body.blocks.len()];
    let mut seen = HashSet::from([local]);
    let mut open = vec![local];
    let mut is_used = false;
    while let Some(address) = open.pop() {
        for user in address.users() {
            let Some(block) = body.block_of(user) else { continue };
            is_used = true;
            let event = match user.opcode() {
                // On the way to a panic, after which nothing runs.
                _ if !body.lives[block] => Event::Access,
                Some(Opcode::GetElementPtr | Opcode::Phi | Opcode::Select | Opcode::BitCast) => {
                    if seen.insert(user) {
                        open.push(user);
                    }
                    continue;
                }
                Some(Opcode::Load) => Event::Access,
                Some(Opcode::Store) if user.operand(0) != address => Event::Access,
                Some(Opcode::ICmp) => continue,
                Some(Opcode::Call) if user.calls_intrinsic(&["lifetime."]) => Event::Reset,
                Some(Opcode::Call) if user.calls_intrinsic(&["mem"]) => Event::Access,
                _ => return true,
            };
            events[block].push((user, event));
        }
    }
    if !is_used {
        return false;
    }
    let order = |events: &[(Value<'m>, Event)], block: usize| -> Vec<Event> {
        let all = body.blocks[block].instructions();
        let at = |value: Value<'m>| all.iter().position(|it| *it == value);
        let mut sorted: Vec<_> = events.iter().map(|&(user, event)| (at(user), event)).collect();
        sorted.sort_by_key(|(at, _)| *at);
        sorted.into_iter().map(|(_, event)| event).collect()
    };
    let events: Vec<Vec<Event>> =
        events.iter().enumerate().map(|(block, events)| order(events, block)).collect();
    let has_contents = flow(&events, &body.successors, |events| events.last().copied());
    let needed = flow(&events, &body.predecessors, |events| events.first().copied());
    let barriers = (0..body.blocks.len()).filter(|&block| body.barrier[block].is_some());
    // At the end of a block with a barrier; what is needed there is so at its successor's begin.
    barriers.into_iter().any(|block| {
        let contents = match events[block].last() {
            Some(event) => *event == Event::Access,
            None => has_contents[block],
        };
        let wanted = body.successors[block].iter().any(|&next| match events[next].first() {
            Some(event) => *event == Event::Access,
            None => needed[next],
        });
        contents && wanted
    })
}

/// For each block whether an access reaches it along the edges with nothing between that resets
/// the local. `decisive` is the event of a block that counts for those behind it.
fn flow(
    events: &[Vec<Event>],
    edges: &[Vec<usize>],
    decisive: impl Fn(&[Event]) -> Option<Event>,
) -> Vec<bool> {
    let mut reached = vec![false; events.len()];
    let accesses = |block: usize| decisive(&events[block]) == Some(Event::Access);
    let mut open: Vec<usize> = (0..events.len()).filter(|&block| accesses(block)).collect();
    while let Some(block) = open.pop() {
        for &next in &edges[block] {
            if !reached[next] {
                reached[next] = true;
                if decisive(&events[next]).is_none() {
                    open.push(next);
                }
            }
        }
    }
    reached
}
