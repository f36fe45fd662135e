//! The vector loop: control flow made straight.
//!
//! A loop's nodes follow each other in an order in which each stands behind its predecessors. Each
//! runs for a [mask](super::masks) of lanes. A node that must not run without a lane is guarded by
//! a branch, and what later nodes use of it goes through phis. Where edges with different masks
//! meet, phis become selects. A loop that lanes leave in different iterations runs while any lane
//! is left; what such a lane leaves with is kept.

mod exits;
mod memory;
mod updates;
mod values;

use std::collections::HashMap;

use schism_llvm::{Block, Builder, IntPredicate, Opcode, Type, TypeKind, Value, intrinsic_id};

use super::intrinsics;
use super::masks::{Mask, Masks};
use super::plan::Plan;
use super::private::Layout;
use super::region::{Part, Region, body};
use super::shape::Shape;
use crate::ir::metadata;

/// The state of the work.
pub(super) struct Emit<'a, 'm> {
    plan: &'a Plan<'m>,
    region: &'a Region<'m>,
    lanes: u32,
    builder: Builder<'m>,
    /// Where instructions go now.
    at: Block<'m>,
    /// What stands for each value: a scalar for what is uniform, the first lane's value for what is
    /// strided, and a vector for all else.
    values: HashMap<Value<'m>, Value<'m>>,
    /// Vectors of scalars, by the block that they were made in.
    vectors: HashMap<(Block<'m>, Value<'m>), Value<'m>>,
    edge_masks: HashMap<(usize, usize), Mask<'m>>,
    /// What lanes left a loop with by an edge.
    edge_values: HashMap<((usize, usize), Value<'m>), Value<'m>>,
    /// The keys of that, in the order in which they came.
    left_with: Vec<((usize, usize), Value<'m>)>,
    /// Where the scalar loop takes over at the vector's first work-item.
    restart: Block<'m>,
    restarts: bool,
    /// The mask of the code that is being made.
    mask: Mask<'m>,
    /// That of the lanes which have a work-item.
    items: Mask<'m>,
    /// The number of the last of them; without a value it is that of the last lane.
    last_lane: Option<Value<'m>>,
    /// Vectors with a lane that is on, in the code that is being made.
    occupied: Vec<Value<'m>>,
    /// Phis that code which is skipped has updated: the phi, its value there, and that where the code
    /// is skipped.
    updated: Vec<(Value<'m>, Value<'m>, Value<'m>)>,
    /// Phis whose values are there before their block is made.
    joined: HashMap<Value<'m>, Value<'m>>,
}

/// Makes the vector loop of a plan.
pub(super) fn apply(plan: &Plan<'_>) {
    let region = &plan.region;
    let function = region.function;
    let block = |name: &str| function.append_block(name);
    let names = ["vector.begin", "vector.loop", "vector.latch", "vector.end", "vector.restart"];
    let [begin, head, latch, end, restart] = names.map(block);
    let header = region.cfg.blocks[region.header];
    let preheader = region.cfg.blocks[region.preheader];
    let lanes = u64::from(plan.lanes);
    let number = region.item.ty();
    let constant = |value: u64| number.const_int(value, false);

    // Whether there are enough work-items.
    let old = preheader.end();
    let builder = Builder::before(old);
    let count = builder.sub(region.end, region.begin).with_name("vector.count");
    let ordered = builder.icmp(IntPredicate::ULT, region.begin, region.end);
    let enough = plan.least.map_or(lanes, u64::from);
    let enough = builder.icmp(IntPredicate::UGE, count, constant(enough));
    let both = builder.select(ordered, enough, enough.ty().zero());
    builder.cond_br(both, begin, header);
    old.erase();

    builder.position_at_end(begin);
    let mut whole = builder.and(count, constant(lanes.wrapping_neg()));
    if let Some(least) = plan.least {
        let rest = builder.and(count, constant(lanes - 1));
        let is_vector = builder.icmp(IntPredicate::UGE, rest, constant(least.into()));
        whole = builder.select(is_vector, count, whole);
    }
    let last = builder.add(region.begin, whole).with_name("vector.last");
    let mut emit = Emit {
        plan,
        region,
        lanes: plan.lanes,
        builder,
        at: begin,
        values: HashMap::new(),
        vectors: HashMap::new(),
        edge_masks: HashMap::new(),
        edge_values: HashMap::new(),
        left_with: Vec::new(),
        restart,
        restarts: false,
        mask: Mask::FULL,
        items: Mask::FULL,
        last_lane: None,
        occupied: Vec::new(),
        updated: Vec::new(),
        joined: HashMap::new(),
    };
    emit.locals();
    emit.builder.br(head);

    emit.go_on_at(head);
    let item = emit.builder.phi(number).with_name("vector.item");
    emit.values.insert(region.item, item);
    let left = plan.least.map(|_| emit.builder.phi(number).with_name("vector.left"));
    if let Some(left) = left {
        emit.mask_rest(left);
    }
    emit.level(0, emit.items);
    emit.builder.br(latch);

    emit.go_on_at(latch);
    let next = match left {
        // The last lanes of all may have no numbers.
        Some(_) => emit.builder.add(item, constant(lanes)),
        None => emit.builder.nuw_add(item, constant(lanes)),
    };
    let next = next.with_name("vector.next");
    let done = match left {
        Some(left) => {
            let after = emit.builder.sub(left, constant(lanes));
            left.add_incoming(whole, begin);
            left.add_incoming(after, latch);
            emit.builder.icmp(IntPredicate::ULE, left, constant(lanes))
        }
        None => emit.builder.icmp(IntPredicate::EQ, next, last),
    };
    let back = emit.builder.cond_br(done, end, head);
    item.add_incoming(region.begin, begin);
    item.add_incoming(next, latch);
    metadata::mark(back, metadata::IS_VECTORIZED, Some(1));
    if plan.becomes_straight(plan.lanes) {
        metadata::set_unroll(&[back], metadata::UNROLL_FULL, None);
    }

    // The work-items that are left.
    emit.go_on_at(end);
    let all = emit.builder.icmp(IntPredicate::EQ, last, region.end);
    let exit = region.cfg.blocks[region.exit.1];
    emit.builder.cond_br(all, exit, header);
    region.item.add_incoming(last, end);
    let from = region.cfg.blocks[region.exit.0];
    for phi in exit.phis() {
        let value = phi.incoming(from).expect("a phi has a value for each edge");
        phi.add_incoming(if value == region.counted { region.end } else { value }, end);
    }
    let restarts = emit.restarts;
    if restarts {
        emit.go_on_at(restart);
        emit.builder.br(header);
        region.item.add_incoming(item, restart);
    } else {
        restart.delete();
    }
    let scalar_latch = region.cfg.blocks[region.latch].end();
    for mark in [super::region::MARK, metadata::INDEPENDENT_ITERATIONS] {
        if metadata::has(scalar_latch, mark) {
            metadata::replace(scalar_latch, mark, metadata::IS_VECTORIZED, 1);
        }
    }
}

impl<'m> Emit<'_, 'm> {
    fn masks(&self) -> Masks<'_, 'm> {
        Masks { builder: &self.builder, lanes: self.lanes }
    }

    /// Takes the lanes without a work-item out of the mask; `left` is how many work-items are left.
    fn mask_rest(&mut self, left: Value<'m>) {
        let module = self.region.function.module();
        let number = left.ty();
        let lanes = number.const_int(self.lanes.into(), false);
        let umin = module.intrinsic(intrinsic_id("llvm.umin"), &[number]);
        let count = self.builder.call_function(umin, &[left, lanes]);
        self.last_lane = Some(self.builder.sub(count, number.const_int(1, false)));
        let numbers: Vec<_> = (0..self.lanes).map(|lane| self.lane(lane)).collect();
        let count = self.builder.trunc(count, numbers[0].ty());
        let count = self.builder.splat(count, self.lanes);
        let lanes = self.builder.icmp(IntPredicate::UGT, count, Value::const_vector(&numbers));
        self.items = Mask::of_lanes(lanes.with_name("vector.items"));
        self.occupied.push(lanes);
    }

    fn go_on_at(&mut self, block: Block<'m>) {
        self.at = block;
        self.builder.position_at_end(block);
    }

    fn new_block(&self, name: &str) -> Block<'m> {
        let new = self.region.function.append_block(name);
        new.move_after(self.at);
        new
    }

    fn shape(&self, value: Value<'m>) -> Shape {
        self.plan.shapes.get(value)
    }

    /// Memory for the locals of all lanes, and the addresses in it that are known before the loop.
    fn locals(&mut self) {
        let context = self.region.item.context();
        let first = self.region.function.entry().begin();
        for &local in &self.plan.privates.order {
            let private = &self.plan.privates.all[&local];
            let builder = Builder::before(first);
            let (size, align) = match private.layout {
                Layout::Interleaved(unit) => {
                    (private.size, (unit * u64::from(self.lanes)).min(64) as u32)
                }
                Layout::Copies(stride) => (stride, 1),
            };
            let bytes = context.int_type(8).array(size * u64::from(self.lanes));
            let new = builder.alloca(bytes).with_name("vector.local");
            new.set_alignment(align.max(private.align));
            self.values.insert(local, new);
        }
        for pointer in self.plan.privates.outside.clone() {
            self.instruction(pointer);
        }
    }

    /// One iteration of a loop, for the mask that its header runs for.
    fn level(&mut self, index: usize, mask: Mask<'m>) {
        let region = self.region;
        let mut masks: Vec<Mask<'m>> = Vec::new();
        for (at, node) in region.loops[index].nodes.iter().enumerate() {
            let mask = if at == 0 {
                mask
            } else if node.always_follows {
                masks[node.dominator]
            } else {
                let all: Vec<_> = node.incoming.iter().map(|edge| self.edge_masks[edge]).collect();
                self.masks().union(&all, region.item)
            };
            masks.push(mask);
            match node.part {
                Part::Block(block) => {
                    let is_header = at == 0;
                    if is_header || !self.needs_guard(block, mask) {
                        self.mask = mask;
                        self.block(block, is_header);
                    } else {
                        let updates = self.updates(block);
                        self.guarded(mask, node.part, |emit| {
                            emit.block(block, false);
                            emit.apply_updates(updates);
                        });
                    }
                }
                Part::Loop(inner) => {
                    if self.is_occupied(mask) {
                        self.mask = mask;
                        self.inner_loop(inner);
                    } else {
                        self.guarded(mask, node.part, |emit| emit.inner_loop(inner));
                    }
                }
            }
        }
    }

    /// Whether a mask is known to have a lane that is on.
    fn is_occupied(&self, mask: Mask<'m>) -> bool {
        mask.uniform.is_none() && mask.lanes.is_none_or(|lanes| self.occupied.contains(&lanes))
    }

    /// Whether a block must not run without a lane, or had better not.
    fn needs_guard(&self, block: usize, mask: Mask<'m>) -> bool {
        const CHEAP: usize = 8;
        if self.is_occupied(mask) {
            return false;
        }
        let all = body(self.region.cfg.blocks[block]);
        let mut weight = 0;
        for one in all {
            use Opcode::*;
            match one.opcode() {
                // As long as many others, and for nothing if no lane is on.
                Some(Call) if one.callee().is_some_and(|it| intrinsics::is_called(it, "sqrt")) => {
                    weight += CHEAP;
                }
                Some(FDiv) => weight += CHEAP,
                Some(Call) if one.callee().and_then(intrinsics::form).is_some() => weight += 1,
                Some(Load | Store | Call | AtomicRMW | UDiv | SDiv | URem | SRem) => return true,
                _ => weight += 1,
            }
        }
        let has_exits = !self.region.side_exits(block).is_empty();
        has_exits || weight > CHEAP || (mask.lanes.is_none() && weight > 0)
    }

    /// Makes code that is skipped if no lane is on.
    fn guarded(&mut self, mask: Mask<'m>, part: Part, code: impl FnOnce(&mut Self)) {
        let any = self.masks().any(mask, self.region.item);
        let before = self.at;
        let (inside, after) = (self.new_block("vector.some"), self.new_block("vector.skip"));
        inside.move_after(before);
        self.builder.cond_br(any, inside, after);
        self.go_on_at(inside);
        self.mask = mask.entered();
        let known = self.occupied.len();
        self.occupied.extend(mask.lanes);
        code(self);
        self.occupied.truncate(known);
        let end = self.at;
        self.builder.br(after);
        self.go_on_at(after);
        let join = |emit: &Self, value: Value<'m>, other: Value<'m>| {
            if !value.is_instruction() {
                return value;
            }
            let phi = emit.builder.phi(value.ty());
            phi.add_incoming(value, end);
            phi.add_incoming(other, before);
            phi
        };
        for (phi, value, other) in std::mem::take(&mut self.updated) {
            // The new value may be a constant.
            let joined = self.builder.phi(value.ty());
            joined.add_incoming(value, end);
            joined.add_incoming(other, before);
            self.joined.insert(phi, joined);
        }
        let region = self.region;
        for block in region.blocks_of(part) {
            for one in region.cfg.blocks[block].instructions() {
                let Some(&value) = self.values.get(&one) else { continue };
                let leaves = one.users().into_iter().any(|user| {
                    let user = region.cfg.block_of(user);
                    region.contains(user) && !region.is_in(part, user)
                });
                if leaves {
                    let joined = join(self, value, value.ty().poison());
                    self.values.insert(one, joined);
                }
            }
        }
        let mut edges = Vec::new();
        for block in region.blocks_of(part) {
            let next = region.successors(block);
            edges.extend(
                next.into_iter().filter(|&to| !region.is_in(part, to)).map(|to| (block, to)),
            );
        }
        for edge in edges {
            let Some(&own) = self.edge_masks.get(&edge) else { continue };
            let no = any.ty().zero();
            let joined = if own == mask.entered() {
                mask
            } else {
                let uniform = own.uniform.map(|own| {
                    let own = if own.is_instruction() { join(self, own, no) } else { own };
                    // A condition that is no instruction holds or not whether or not this ran.
                    if own.is_instruction() { own } else { self.masks().both(any, own) }
                });
                let lanes = match own.lanes {
                    Some(lanes) if own.lanes == mask.lanes => Some(lanes),
                    Some(lanes) if lanes.is_instruction() => {
                        Some(join(self, lanes, lanes.ty().zero()))
                    }
                    lanes => lanes,
                };
                let uniform = if own.lanes == mask.lanes && uniform.is_none() {
                    mask.uniform
                } else if own.lanes != mask.lanes
                    && own.lanes.is_none_or(|lanes| !lanes.is_instruction())
                {
                    Some(uniform.unwrap_or(any))
                } else {
                    uniform
                };
                Mask { uniform, lanes }
            };
            self.edge_masks.insert(edge, joined);
            let own: Vec<_> = self.left_with.iter().filter(|key| key.0 == edge).copied().collect();
            for key in own {
                let value = self.edge_values[&key];
                let joined = join(self, value, value.ty().poison());
                self.edge_values.insert(key, joined);
            }
        }
        self.mask = mask;
    }

    /// The value that an edge brings to a phi.
    fn edge_value(&self, edge: (usize, usize), value: Value<'m>) -> Option<Value<'m>> {
        self.edge_values.get(&(edge, value)).copied()
    }

    /// What a phi gets by an edge, as a vector.
    fn edge_vector(&mut self, edge: (usize, usize), value: Value<'m>) -> Value<'m> {
        match self.edge_value(edge, value) {
            Some(kept) => kept,
            None => self.vector(value),
        }
    }

    /// A block, for the current mask.
    fn block(&mut self, block: usize, is_header: bool) {
        let region = self.region;
        if !is_header {
            for phi in region.cfg.blocks[block].phis() {
                let value = self.joined(block, phi);
                self.values.insert(phi, value);
            }
        }
        for one in body(region.cfg.blocks[block]) {
            self.instruction(one);
        }
        self.leave_block(block);
    }

    /// A phi that is not a loop's, as selects.
    fn joined(&mut self, block: usize, phi: Value<'m>) -> Value<'m> {
        if let Some(value) = self.joined.remove(&phi) {
            return value;
        }
        let region = self.region;
        let incoming = region.incoming(phi);
        // LLVM relies on `undef` not being `poison`, which what another edge brings may be in lanes
        // that are off there.
        let is_defined = incoming.iter().any(|(value, _)| value.is_undef() && !value.is_poison());
        let edges: Vec<_> = incoming
            .into_iter()
            // Where nothing is brought, what another edge brings is as good.
            .filter(|(value, _)| !value.is_undef())
            .map(|(value, from)| ((from, block), value))
            .collect();
        let is_vector = self.shape(phi) == Shape::Varying;
        let mut seen: Vec<(usize, usize)> = Vec::new();
        let mut result: Option<Value<'m>> = None;
        let all_same = edges
            .iter()
            .all(|(edge, value)| *value == edges[0].1 && self.edge_value(*edge, *value).is_none());
        let same_lanes = edges
            .windows(2)
            .all(|two| self.edge_masks[&two[0].0].lanes == self.edge_masks[&two[1].0].lanes);
        for (edge, value) in edges {
            if seen.contains(&edge) {
                continue;
            }
            seen.push(edge);
            let own = if is_vector { self.edge_vector(edge, value) } else { self.scalar(value) };
            let Some(other) = result else {
                result = Some(own);
                if all_same {
                    break;
                }
                continue;
            };
            if other == own {
                continue;
            }
            let mask = self.edge_masks[&edge];
            let scalar = match mask.uniform {
                Some(uniform) if same_lanes => Some(uniform),
                _ if !is_vector => Some(self.masks().any(mask, phi)),
                _ => None,
            };
            let condition = match scalar {
                Some(condition) => condition,
                None => self.masks().vector(mask, phi),
            };
            result = Some(self.select(condition, own, other));
        }
        match result {
            Some(result) if is_defined && result.is_instruction() => self.builder.freeze(result),
            Some(result) => result,
            None if is_defined => phi.ty().undef(),
            None => phi.ty().poison(),
        }
    }

    /// One of two values, which may be structures of vectors.
    fn select(&self, condition: Value<'m>, then: Value<'m>, other: Value<'m>) -> Value<'m> {
        if then.ty().kind() != TypeKind::Struct || !condition.ty().is_vector() {
            return self.builder.select(condition, then, other);
        }
        let mut all = then.ty().poison();
        for field in 0..then.ty().num_fields() {
            let parts = [then, other].map(|one| self.builder.extract_value(one, field));
            let part = self.select(condition, parts[0], parts[1]);
            all = self.builder.insert_value(all, part, field);
        }
        all
    }

    /// The masks of a block's edges, and the tests of those that leave the work-item loop.
    fn leave_block(&mut self, block: usize) {
        let region = self.region;
        let mask = self.mask;
        let next = region.successors(block);
        let exits: Vec<usize> = region
            .side_exits(block)
            .into_iter()
            .filter(|&exit| !super::plan::is_dead_end(region.cfg.blocks[exit]))
            .collect();
        for exit in exits {
            let fails = self.last_fails(block, exit).unwrap_or_else(|| {
                let fails = self.edge(block, exit);
                self.masks().any(fails, region.item)
            });
            let after = self.new_block("vector.checked");
            self.builder.cond_br(fails, self.restart, after);
            self.restarts = true;
            self.go_on_at(after);
        }
        if let &[next] = &next[..] {
            self.edge_masks.insert((block, next), mask);
            return;
        }
        for next in next {
            let own = self.edge(block, next);
            self.edge_masks.insert((block, next), own);
        }
    }

    /// The mask of an edge of a block with several.
    fn edge(&mut self, block: usize, to: usize) -> Mask<'m> {
        let region = self.region;
        let mask = self.mask;
        let end = region.cfg.blocks[block].end();
        let to = region.cfg.blocks[to];
        let (conditions, negated, is_vector) = match end.opcode() {
            Some(Opcode::Br) if end.is_conditional() => {
                let condition = end.condition();
                let is_vector = self.shape(condition) != Shape::Uniform;
                let own = if is_vector { self.vector(condition) } else { self.scalar(condition) };
                let both = end.successor(0) == end.successor(1);
                if both {
                    return mask;
                }
                (vec![own], end.successor(0) != to, is_vector)
            }
            Some(Opcode::Switch) => {
                let value = end.operand(0);
                let is_vector = self.shape(value) != Shape::Uniform;
                let own = if is_vector { self.vector(value) } else { self.scalar(value) };
                let is_default = end.successor(0) == to;
                let cases: Vec<_> = end
                    .switch_cases()
                    .into_iter()
                    .filter(|(_, block)| (*block == to) != is_default)
                    .map(|(case, _)| {
                        let case = if is_vector { self.splat(case) } else { case };
                        self.builder.icmp(IntPredicate::EQ, own, case)
                    })
                    .collect();
                if cases.is_empty() {
                    return mask;
                }
                (cases, is_default, is_vector)
            }
            _ => return mask,
        };
        let mut condition = conditions[0];
        for &other in &conditions[1..] {
            condition = self.builder.or(condition, other);
        }
        if negated {
            condition = self.builder.not(condition);
        }
        if is_vector {
            self.masks().and_lanes(mask, condition)
        } else {
            self.masks().and_uniform(mask, condition)
        }
    }

    /// An inner loop, for the current mask, which has a lane that is on.
    fn inner_loop(&mut self, index: usize) {
        let region = self.region;
        let of = &region.loops[index];
        let outer = self.mask;
        let diverges = self.plan.shapes.divergent_loops.contains(&index);
        let header = region.cfg.blocks[of.header];
        let latch = region.cfg.blocks[of.latch];
        let back = (of.latch, of.header);
        // What comes in.
        let mut incoming = Vec::new();
        for phi in header.phis() {
            let edges = region.incoming(phi);
            let &(value, from) = edges
                .iter()
                .find(|(_, from)| *from != of.latch)
                .expect("a loop has an edge from before");
            let edge = (from, of.header);
            let own = match self.shape(phi) {
                Shape::Varying => self.edge_vector(edge, value),
                _ => self.scalar(value),
            };
            incoming.push((phi, own));
        }
        let lanes_before = diverges.then(|| self.masks().vector(outer, region.item));
        let exits = region.exits(index);
        let mut kept: Vec<((usize, usize), Value<'m>)> = Vec::new();
        if diverges {
            for &edge in &exits {
                for phi in region.cfg.blocks[edge.1].phis() {
                    let Some(value) = phi.incoming(region.cfg.blocks[edge.0]) else { continue };
                    let is_own =
                        value.is_instruction() && of.blocks.contains(&region.cfg.block_of(value));
                    if is_own && !kept.contains(&(edge, value)) {
                        kept.push((edge, value));
                    }
                }
            }
        }
        let before = self.at;
        let head = self.new_block("vector.inner");
        self.builder.br(head);
        self.go_on_at(head);
        let mut phis = Vec::new();
        for (phi, own) in incoming {
            let new = self.builder.phi(own.ty());
            new.copy_name(phi);
            new.add_incoming(own, before);
            self.values.insert(phi, new);
            phis.push((phi, new));
        }
        let live = lanes_before.map(|lanes| {
            let live = self.builder.phi(lanes.ty()).with_name("vector.live");
            live.add_incoming(lanes, before);
            live
        });
        let mut kept_phis = Vec::new();
        for &(edge, value) in &kept {
            let ty = self.vector_type(value.ty());
            let phi = self.builder.phi(ty);
            phi.add_incoming(ty.poison(), before);
            kept_phis.push((edge, value, phi));
        }
        let count_exits = live.is_some() && exits.len() > 1;
        let mut left = Vec::new();
        if let (true, Some(live)) = (count_exits, live) {
            for &edge in &exits {
                let phi = self.builder.phi(live.ty());
                phi.add_incoming(live.ty().zero(), before);
                left.push((edge, phi));
            }
        }
        let inside = Mask { uniform: None, lanes: live.or(outer.lanes) };
        let known = self.occupied.len();
        self.occupied.extend(inside.lanes);
        self.mask = inside;
        self.level(index, inside);
        self.occupied.truncate(known);

        // The end of an iteration.
        self.mask = inside;
        let back_mask = self.edge_masks[&back];
        let mut latest = Vec::new();
        for &(edge, value, phi) in &kept_phis {
            let own = self.edge_vector(edge, value);
            let mask = self.edge_masks[&edge];
            let lanes = self.masks().vector(mask, value);
            let new = self.select(lanes, own, phi);
            latest.push((edge, value, phi, new));
        }
        let mut left_by = Vec::new();
        for &(edge, phi) in &left {
            let lanes = self.masks().vector(self.edge_masks[&edge], phi);
            left_by.push((edge, phi, self.builder.or(phi, lanes)));
        }
        let mut next = Vec::new();
        for &(phi, new) in &phis {
            let value = phi.incoming(latch).expect("a loop's phi has an edge from the latch");
            let own = match self.shape(phi) {
                Shape::Varying => self.edge_vector(back, value),
                _ => self.scalar(value),
            };
            next.push((new, own));
        }
        let again = match live {
            Some(live) => {
                let lanes = self.masks().vector(back_mask, live);
                live.add_incoming(lanes, self.at);
                self.masks().any_lane(lanes)
            }
            // All lanes of this mask go on, or none.
            None => match back_mask.uniform {
                Some(uniform) if back_mask.lanes == inside.lanes => uniform,
                None if back_mask.lanes == inside.lanes => {
                    region.item.context().int_type(1).const_int(1, false)
                }
                _ => self.masks().any(back_mask, region.item),
            },
        };
        let end = self.at;
        let after = self.new_block("vector.after");
        self.builder.cond_br(again, head, after);
        for (phi, own) in next {
            phi.add_incoming(own, end);
        }
        for (edge, value, phi, new) in latest {
            phi.add_incoming(new, end);
            if self.edge_values.insert((edge, value), new).is_none() {
                self.left_with.push((edge, value));
            }
        }
        for &(_, phi, new) in &left_by {
            phi.add_incoming(new, end);
        }
        self.go_on_at(after);
        self.mask = outer;
        if let &[exit] = &exits[..] {
            self.edge_masks.insert(exit, outer);
        } else {
            for (edge, _, new) in left_by {
                self.edge_masks.insert(edge, Mask::of_lanes(new));
            }
        }
    }

    /// The type of a value of each lane.
    fn vector_type(&self, ty: Type<'m>) -> Type<'m> {
        if ty.kind() != TypeKind::Struct {
            return ty.vector(self.lanes);
        }
        let fields: Vec<_> =
            (0..ty.num_fields()).map(|at| self.vector_type(ty.field_type(at))).collect();
        ty.context().struct_type(&fields, false)
    }
}
