//! Copies what edges lead through, and lets the edges go there.
//!
//! Values of the blocks that were led through get a place in memory meanwhile, as a definition no
//! longer dominates its uses where an edge goes past it. `mem2reg` makes phis of that.

use std::collections::HashMap;

use schism_llvm::{Block, Builder, Opcode, TypeKind, Value};

use crate::gpu::thread_headers::thread::Thread;

/// A thread's copies.
struct Edge<'m> {
    /// The copies of the blocks on the way.
    blocks: Vec<Block<'m>>,
    /// What the values of the blocks on the way are there.
    values: HashMap<Value<'m>, Value<'m>>,
}

/// Threads edges.
pub(super) fn apply<'m>(function: Value<'m>, threads: &[Thread<'m>]) {
    let edges: Vec<_> = threads.iter().map(copy).collect();
    let mut places = Vec::new();
    let mut passed: Vec<Block<'m>> = Vec::new();
    for &block in threads.iter().flat_map(|thread| &thread.path) {
        if !passed.contains(&block) {
            passed.push(block);
        }
    }
    for value in passed.iter().flat_map(|block| block.instructions()) {
        let is_value = !matches!(value.ty().kind(), TypeKind::Void | TypeKind::Token);
        if is_value && !uses_elsewhere(value).is_empty() {
            let room = Builder::before(function.entry().begin());
            places.push((value, room.alloca(value.ty())));
        }
    }
    // At the end of a copy, what is computed there; these stores use values of before, too.
    for (thread, edge) in threads.iter().zip(&edges) {
        for (value, place) in &places {
            let on_way = thread.path.iter().position(|block| *block == value.block());
            if let Some(number) = on_way {
                let end = edge.blocks[number].end();
                Builder::before(end).store(edge.values[value], *place);
            }
        }
    }
    for &(value, place) in &places {
        let mut loaded = HashMap::new();
        for (user, at) in uses_elsewhere(value) {
            // On an edge: before it stores.
            let on_edge = edges.iter().find(|edge| edge.blocks.contains(&at));
            let new = match (on_edge, user.opcode()) {
                (Some(edge), _) => *loaded.entry(edge.blocks[0]).or_insert_with(|| {
                    Builder::before(edge.blocks[0].begin()).load(value.ty(), place)
                }),
                (None, Some(Opcode::Phi)) => *loaded
                    .entry(at)
                    .or_insert_with(|| Builder::before(at.end()).load(value.ty(), place)),
                (None, _) => Builder::before(user).load(value.ty(), place),
            };
            replace(user, at, value, new);
        }
        let next = match value.opcode() {
            Some(Opcode::Phi) => value.block().first_non_phi(),
            _ => value.next().expect("a terminator has no value"),
        };
        Builder::before(next).store(value, place);
    }
    for (thread, edge) in threads.iter().zip(&edges) {
        let (end, to) = (thread.from.end(), thread.path[0]);
        for index in (0..end.num_successors()).filter(|&index| end.successor(index) == to) {
            end.set_successor(index, edge.blocks[0]);
        }
        to.forget_edge(thread.from);
    }
}

/// Copies the blocks that an edge leads through.
fn copy<'m>(thread: &Thread<'m>) -> Edge<'m> {
    let blocks: Vec<_> = thread.path.iter().map(|_| thread.path[0].insert_before("")).collect();
    let mut values: HashMap<Value<'m>, Value<'m>> = HashMap::new();
    let mut before = thread.from;
    for (number, (&at, next)) in thread.path.iter().zip(&thread.next).enumerate() {
        let builder = Builder::at_end(blocks[number]);
        let of = |value| values.get(&value).copied().unwrap_or(value);
        let phis = at.phis();
        let incoming: Vec<_> = phis.iter().filter_map(|phi| phi.incoming(before)).map(of).collect();
        values.extend(phis.into_iter().zip(incoming));
        for one in at.instructions() {
            // A scope of `noalias` begins where it is declared, which two places would not be.
            if one.opcode() == Some(Opcode::Phi) || one.is_terminator() || is_scope(one) {
                continue;
            }
            let new = one.duplicate();
            builder.insert(new);
            for scope in ["noalias", "alias.scope"] {
                new.remove_metadata(new.context().metadata_kind(scope));
            }
            use_copies(new, &values);
            values.insert(one, new);
        }
        let target = blocks.get(number + 1).copied().unwrap_or(next.block);
        if next.may_end {
            let end = at.end().duplicate();
            builder.insert(end);
            use_copies(end, &values);
            for index in 0..end.num_successors() {
                let way = end.successor(index);
                if way == next.block {
                    end.set_successor(index, target);
                } else {
                    hand_on(way, at, blocks[number], &values);
                }
            }
        } else {
            builder.br(target);
        }
        before = at;
    }
    let last = blocks.len() - 1;
    hand_on(thread.target(), before, blocks[last], &values);
    Edge { blocks, values }
}

/// Gives the phis of a block an edge from a copy, as they have one from what was copied.
fn hand_on<'m>(
    to: Block<'m>,
    from: Block<'m>,
    copy: Block<'m>,
    values: &HashMap<Value<'m>, Value<'m>>,
) {
    for phi in to.phis() {
        let value = phi.incoming(from).expect("an edge leads there");
        phi.add_incoming(values.get(&value).copied().unwrap_or(value), copy);
    }
}

/// Lets a copy use copies.
fn use_copies<'m>(copy: Value<'m>, values: &HashMap<Value<'m>, Value<'m>>) {
    for index in 0..copy.num_operands() {
        if let Some(&new) = values.get(&copy.operand(index)) {
            copy.set_operand(index, new);
        }
    }
}

/// Whether an instruction declares a scope.
fn is_scope(one: Value<'_>) -> bool {
    one.calls_intrinsic(&["experimental.noalias.scope.decl"])
}

/// The uses of a value that are not in its own block: the users, and the blocks in which it is used. A phi
/// uses it at the end of the block that it comes from.
fn uses_elsewhere<'m>(value: Value<'m>) -> Vec<(Value<'m>, Block<'m>)> {
    let own = value.block();
    let mut found = Vec::new();
    for user in value.users() {
        if user.opcode() == Some(Opcode::Phi) {
            let edges = user.incoming_edges().into_iter();
            found.extend(edges.filter(|edge| edge.0 == value).map(|(_, from)| (user, from)));
        } else {
            found.push((user, user.block()));
        }
    }
    found.retain(|(_, at)| *at != own);
    let mut unique = Vec::new();
    for one in found {
        if !unique.contains(&one) {
            unique.push(one);
        }
    }
    unique
}

/// Lets a user use another value; a phi, on an edge.
fn replace<'m>(user: Value<'m>, at: Block<'m>, old: Value<'m>, new: Value<'m>) {
    for index in 0..user.num_operands() {
        let is_edge = user.opcode() != Some(Opcode::Phi) || user.incoming_block(index) == at;
        if is_edge && user.operand(index) == old {
            user.set_operand(index, new);
        }
    }
}
