//! The new body of the loop function: what the group does once, and loop nests for regions.

use std::collections::{HashMap, HashSet};

use schism_llvm::{Block, Builder, ContextRef, Opcode, Value};

use super::body::{Body, Next};
use super::interface::RUN_NO_MEMORY;
use super::liveness::Kept;
use super::memory::Memory;
use super::nest::{Nest, ROWS, nowrap_add};
use super::uniformity::{Varying, is_pure, is_skipped};
use crate::ir::clone;
use crate::ir::graph::reverse_post_order;

/// The number of a work-item's end among the places where work-items go on.
pub(super) const END: u64 = 0;

/// What the whole of a body is.
pub(super) struct Analyses<'a, 'm> {
    pub body: &'a Body<'m>,
    pub varying: &'a Varying<'m>,
    pub kept: &'a Kept<'m>,
    /// The locals that are arrays with an element for each work-item.
    pub locals: &'a HashSet<Value<'m>>,
    /// Whether a block can be run once for the group.
    pub shared: &'a [bool],
    pub group: Value<'m>,
}

/// Values at one place of the code.
type Values<'m> = HashMap<Value<'m>, Value<'m>>;

/// Makes the new body.
pub(super) struct Emitter<'a, 'm> {
    pub(super) analyses: Analyses<'a, 'm>,
    pub(super) context: ContextRef<'m>,
    pub(super) memory: Memory<'m>,
    /// The beginnings of what runs once, and of regions, by the first block of the body.
    made: HashMap<usize, Block<'m>>,
    open: Vec<usize>,
    end: Block<'m>,
    /// What phis of the first blocks of regions begin with, where that is computed in the region.
    pub(super) entered_with: Values<'m>,
    /// What runs between operations of sub-groups and what follows them, by their blocks.
    pub(super) exchanges: HashMap<usize, Block<'m>>,
    /// The operands of the operation of sub-groups to which the work-items have come.
    pub(super) operands: [Option<Value<'m>>; 2],
    /// Where work-items go on, if that is not known to be the same.
    pub(super) numbers: Option<Value<'m>>,
    /// The same, if it is.
    pub(super) number: Option<Value<'m>>,
}

/// A work-item's run through a region, or that of work-items of several rows, side by side.
pub(super) struct Item<'m> {
    pub nest: Nest<'m>,
    /// The end of the block before the nest, and of the first block in it.
    pub before: Builder<'m>,
    pub begin: Builder<'m>,
    /// Values before the nest.
    group_values: Values<'m>,
    pub rows: Vec<Row<'m>>,
}

/// A work-item of several that run side by side.
pub(super) struct Row<'m> {
    /// Its ids, x first, and its linear position in the group.
    ids: Vec<Value<'m>>,
    pub index: Value<'m>,
    /// Values at its beginning.
    values: Values<'m>,
}

impl<'a, 'm> Emitter<'a, 'm> {
    pub(super) fn new(analyses: Analyses<'a, 'm>, memory: Memory<'m>) -> Self {
        let function = analyses.body.function;
        let context = function.module().context();
        let end = function.append_block("group.done");
        Builder::at_end(end).ret(context.int_type(32).const_int(0, false));
        Self {
            analyses,
            context,
            memory,
            made: HashMap::new(),
            open: Vec::new(),
            end,
            entered_with: Values::new(),
            exchanges: HashMap::new(),
            operands: [None; 2],
            numbers: None,
            number: None,
        }
    }

    /// Makes everything, and lets control go there instead of to the nest.
    pub(super) fn run(mut self) {
        let begin = self.enter(Next::Block(0));
        while let Some(block) = self.open.pop() {
            let at = self.made[&block];
            if self.analyses.shared[block] {
                self.emit_shared(block, at);
            } else {
                self.emit_region(block, at);
            }
        }
        let body = self.analyses.body;
        body.before.end().set_successor(0, begin);
        let (function, context) = (body.function, self.context);
        self.memory.finish(|| leave(function, context, "no.memory", RUN_NO_MEMORY));
    }

    /// The block to go to for a block of the body, from where all work-items are at once.
    pub(super) fn enter(&mut self, next: Next) -> Block<'m> {
        let Next::Block(block) = next else { return self.end };
        if let Some(&made) = self.made.get(&block) {
            return made;
        }
        let name = if self.analyses.shared[block] { "group" } else { "region" };
        let new = self.analyses.body.function.append_block(&format!("{name}.{block}"));
        self.made.insert(block, new);
        self.open.push(block);
        new
    }

    /// A value that is the same for all work-items, where all are at once.
    fn group_value(
        &mut self,
        builder: &Builder<'m>,
        known: &mut Values<'m>,
        value: Value<'m>,
    ) -> Value<'m> {
        if self.analyses.body.block_of(value).is_none() {
            return value;
        }
        if let Some(&known) = known.get(&value) {
            return known;
        }
        let new = if self.analyses.kept.is_again(value) {
            self.group_copy(builder, known, value)
        } else {
            builder.load(value.ty(), self.memory.shared(value))
        };
        known.insert(value, new);
        new
    }

    /// A copy of an instruction with operands that are the same for all work-items.
    fn group_copy(
        &mut self,
        builder: &Builder<'m>,
        known: &mut Values<'m>,
        value: Value<'m>,
    ) -> Value<'m> {
        let operands: Vec<Value<'m>> =
            value.operands().map(|operand| self.group_value(builder, known, operand)).collect();
        clone::insert_copy(builder, value, &operands).with_name(&value.name())
    }

    /// Runs a block once for the group.
    fn emit_shared(&mut self, block: usize, at: Block<'m>) {
        let body = self.analyses.body;
        let builder = Builder::at_end(at);
        let mut known = Values::new();
        for instruction in body.blocks[block].instructions() {
            let skipped = instruction.opcode() == Some(Opcode::Phi)
                || instruction.is_terminator()
                || self.analyses.kept.is_again(instruction)
                || is_skipped(body, block, instruction);
            if skipped {
                continue;
            }
            let value = self.group_copy(&builder, &mut known, instruction);
            builder.store(value, self.memory.shared(instruction));
            known.insert(instruction, value);
        }
        let end = body.blocks[block].end();
        let condition = (body.next[block].len() > 1)
            .then(|| self.group_value(&builder, &mut known, end.operand(0)));
        let copy = end.duplicate();
        builder.insert(copy);
        if let Some(condition) = condition {
            copy.set_operand(0, condition);
        }
        for (&next, successor) in body.next[block].iter().zip(0..) {
            let target = self.edge(block, next, &known);
            copy.set_successor(successor, target);
        }
    }

    /// The block to go to for an edge from a block that runs once: phis get their values on it.
    fn edge(&mut self, from: usize, next: Next, known: &Values<'m>) -> Block<'m> {
        let body = self.analyses.body;
        let Next::Block(to) = next else { return self.enter(next) };
        let phis = body.blocks[to].phis();
        if phis.is_empty() {
            return self.enter(next);
        }
        let edge = body.function.append_block("edge");
        let mut builder = Builder::at_end(edge);
        let mut known = known.clone();
        let (mut shared, mut own) = (Vec::new(), Vec::new());
        // All are read before one is written.
        for phi in phis {
            let Some(value) = phi.incoming(body.blocks[from]) else { continue };
            if self.memory.is_one_array(phi, value) {
                // It is there.
            } else if self.analyses.varying.has(phi) {
                own.push((phi, value));
            } else {
                shared.push((phi, self.group_value(&builder, &mut known, value)));
            }
        }
        // What is computed in the region is so when the shared phis have their new values.
        let is_later_the_same = own
            .iter()
            .all(|&(_, value)| shared.iter().all(|&(phi, _)| !self.is_made_of(value, phi)));
        if !own.is_empty() && is_later_the_same && self.is_only_entry(from, to) {
            self.entered_with.extend(own);
        } else if !own.is_empty() {
            let done = self.copy_own(edge, builder, known, &own);
            builder = Builder::at_end(done);
        }
        for (phi, value) in shared {
            builder.store(value, self.memory.shared(phi));
        }
        let target = self.enter(next);
        builder.br(target);
        edge
    }

    /// Whether a value that is computed again needs another one.
    fn is_made_of(&self, value: Value<'m>, other: Value<'m>) -> bool {
        value == other
            || self.analyses.kept.is_again(value)
                && value.operands().any(|operand| self.is_made_of(operand, other))
    }

    /// Whether a region begins with `to`, and only where `from` has run once for the group.
    fn is_only_entry(&self, from: usize, to: usize) -> bool {
        let body = self.analyses.body;
        if self.analyses.shared[to] {
            return false;
        }
        let successors: Vec<Vec<usize>> =
            (0..body.blocks.len()).map(|block| body.inner_successors(block).to_vec()).collect();
        let region = reverse_post_order(to, &successors);
        body.predecessors[to].iter().all(|&other| {
            let is_own = region.contains(&other)
                && body.barrier[other].is_none()
                && !self.analyses.shared[other];
            other == from || is_own
        })
    }

    /// Copies values of each work-item for phis. Returns the block behind that.
    fn copy_own(
        &mut self,
        edge: Block<'m>,
        builder: Builder<'m>,
        known: Values<'m>,
        copies: &[(Value<'m>, Value<'m>)],
    ) -> Block<'m> {
        let mut item = self.begin_items("copy", edge, builder, 1);
        item.group_values = known;
        let values: Vec<Value<'m>> =
            copies.iter().map(|&(_, value)| self.item_value(&mut item, 0, value)).collect();
        for (&(phi, _), value) in copies.iter().zip(values) {
            let array = self.memory.array(phi);
            array.store(&item.begin, value, item.rows[0].index);
        }
        item.begin.br(item.nest.next);
        item.before.br(item.nest.head);
        item.nest.done
    }

    /// A nest whose items have run nothing yet.
    pub(super) fn begin_items(
        &mut self,
        name: &str,
        from: Block<'m>,
        before: Builder<'m>,
        rows: u64,
    ) -> Item<'m> {
        let sizes = &self.memory.sizes;
        let nest = Nest::new(self.analyses.body, sizes, rows, name, from);
        let begin = Builder::at_end(nest.item);
        let row = |number: u64| {
            let (mut ids, mut index) = (nest.ids.clone(), nest.index);
            if number > 0 {
                let word = |value: u64| index.ty().const_int(value, false);
                let local = nowrap_add(&begin, nest.local_ids[ROWS], word(number));
                ids[ROWS] = nowrap_add(&begin, self.analyses.body.axes[ROWS].begin, local);
                let items = sizes[0].as_unsigned().unwrap_or_default();
                index = nowrap_add(&begin, index, word(number * items));
            }
            Row { ids, index, values: Values::new() }
        };
        let rows = (0..rows).map(row).collect();
        Item { nest, before, begin, group_values: Values::new(), rows }
    }

    /// A value as it is when a work-item enters a region.
    pub(super) fn item_value(
        &mut self,
        item: &mut Item<'m>,
        row: usize,
        value: Value<'m>,
    ) -> Value<'m> {
        let axes = &self.analyses.body.axes;
        if let Some(at) = axes.iter().position(|axis| axis.id == value) {
            return item.rows[row].ids[at];
        }
        if let Some(&known) = item.rows[row].values.get(&value) {
            return known;
        }
        let new = if self.analyses.locals.contains(&value) {
            self.memory.local(&item.begin, value, item.rows[row].index)
        } else if !self.analyses.varying.has(value) || self.analyses.body.block_of(value).is_none()
        {
            return self.group_value(&item.before, &mut item.group_values, value);
        } else if self.analyses.kept.is_again(value) {
            let operands: Vec<Value<'m>> =
                value.operands().map(|operand| self.item_value(item, row, operand)).collect();
            clone::insert_copy(&item.begin, value, &operands).with_name(&value.name())
        } else {
            self.memory.array(value).load(&item.begin, item.rows[row].index)
        };
        item.rows[row].values.insert(value, new);
        new
    }
}

/// A block that leaves the function with a status.
pub(super) fn leave<'m>(
    function: Value<'m>,
    context: ContextRef<'m>,
    name: &str,
    status: u32,
) -> Block<'m> {
    let block = function.append_block(name);
    Builder::at_end(block).ret(context.int_type(32).const_int(status.into(), false));
    block
}

/// For each block whether the group can run it once: it has no effect, and all work-items go on in
/// the same way.
pub(super) fn shared_blocks<'m>(
    body: &Body<'m>,
    varying: &Varying<'m>,
    kept: &Kept<'m>,
) -> Vec<bool> {
    let is_shared = |(block, number): (&Block<'m>, usize)| {
        let next = &body.next[number];
        let goes_on = body.lives[number] && !next.is_empty() && !next.contains(&Next::Outside);
        let same_way = next.len() < 2 || !varying.has(block.end().operand(0));
        let instructions = block.instructions();
        let has_no_effect = |&instruction: &Value<'m>| {
            instruction.opcode() == Some(Opcode::Phi)
                || instruction.is_terminator()
                || kept.is_again(instruction)
                || is_skipped(body, number, instruction)
                || !varying.has(instruction) && (is_pure(instruction) || is_read(instruction))
        };
        let exchanges = body.sub_group_operation(number).is_some();
        goes_on && same_way && !exchanges && instructions.iter().all(has_no_effect)
    };
    body.blocks.iter().zip(0..).map(is_shared).collect()
}

/// Whether an instruction gives the same for all work-items if it does for one.
fn is_read(instruction: Value<'_>) -> bool {
    matches!(instruction.opcode(), Some(Opcode::Load | Opcode::Freeze))
}
