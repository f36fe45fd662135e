//! A region: what a work-item runs from one point where all are at once to the next.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use schism_llvm::{Block, Builder, IntPredicate, Opcode, Value};

use super::body::{Body, Next};
use super::emit::{Emitter, Item, leave};
use super::interface::{AGREE, RUN_DIVERGED};
use super::rows;
use super::uniformity::Varying;
use super::waits::waits;
use crate::ir::graph::{Dominators, reverse_post_order};

/// A region that is being copied.
struct Region<'m> {
    /// Its blocks of the body, each behind all that dominate it.
    blocks: Vec<usize>,
    dominators: Dominators,
    copies: HashMap<usize, Block<'m>>,
    /// The copies of instructions, for each row.
    values: Vec<HashMap<Value<'m>, Value<'m>>>,
    /// Places of values of rows that are entered with and computed again in the region.
    cells: HashMap<(usize, Value<'m>), Value<'m>>,
    item: Item<'m>,
    /// Where work-items may go on, by the blocks of barriers; `None` is their end.
    exits: Vec<Option<usize>>,
    /// Whether all work-items are known to go on at the same exit.
    agrees: bool,
}

impl<'m> Region<'m> {
    fn has(&self, block: usize) -> bool {
        self.copies.contains_key(&block)
    }

    /// The rows for which there are copies of an instruction of their own.
    fn rows_of(&self, instruction: Value<'m>) -> Range<usize> {
        let first = self.values[0].get(&instruction);
        let is_one = self.values.iter().all(|row| row.get(&instruction) == first);
        0..if is_one { 1 } else { self.values.len() }
    }
}

/// Inserts a copy of an instruction with the operands that it has, or a phi without values.
fn insert_duplicate<'m>(builder: &Builder<'m>, instruction: Value<'m>) -> Value<'m> {
    let new = if instruction.opcode() == Some(Opcode::Phi) {
        let phi = builder.phi(instruction.ty());
        if instruction.has_fast_math() {
            phi.set_fast_math_flags(instruction.fast_math_flags());
        }
        phi
    } else {
        let copy = instruction.duplicate();
        builder.insert(copy);
        copy
    };
    let name = instruction.name();
    if !name.is_empty() {
        new.set_name(name);
    }
    new
}

/// The number of an exit: 0 is the end of work-items.
fn number_of(exit: Option<usize>) -> u64 {
    exit.map_or(super::emit::END, |block| block as u64 + 1)
}

/// Where work-items may go on, and whether it is certain that all do so at the same place.
pub(super) fn exits<'m>(
    body: &Body<'m>,
    varying: &Varying<'m>,
    blocks: &[usize],
) -> (Vec<Option<usize>>, bool) {
    let mut found: HashMap<usize, HashSet<Option<usize>>> = HashMap::new();
    for &block in blocks {
        let mut own = HashSet::new();
        if body.barrier[block].is_some() {
            own.insert(Some(block));
        } else if body.next[block].contains(&Next::End) {
            own.insert(None);
        }
        found.insert(block, own);
    }
    loop {
        let mut changed = false;
        for &block in blocks.iter().rev() {
            for next in body.inner_successors(block) {
                let more = found[next].clone();
                if let Some(own) = found.get_mut(&block) {
                    let before = own.len();
                    own.extend(more);
                    changed |= own.len() != before;
                }
            }
        }
        if !changed {
            break;
        }
    }
    let agrees = blocks.iter().all(|&block| {
        found[&block].len() < 2 || body.barrier[block].is_some() || !varying.parts(body, block)
    });
    let mut exits: Vec<Option<usize>> = found.into_values().flatten().collect();
    exits.sort_unstable();
    exits.dedup();
    (exits, agrees)
}

impl<'m> Emitter<'_, 'm> {
    /// Makes a region that begins with a block, and the nest around it, at `at`.
    pub(super) fn emit_region(&mut self, entry: usize, at: Block<'m>) {
        let body = self.analyses.body;
        let successors: Vec<Vec<usize>> =
            (0..body.blocks.len()).map(|block| body.inner_successors(block).to_vec()).collect();
        let blocks = reverse_post_order(entry, &successors);
        let (exits, agrees) = exits(body, self.analyses.varying, &blocks);
        let rows = rows::side_by_side(&self.analyses, &self.memory.sizes, &blocks, exits.len());
        let name = format!("region.{entry}");
        let item = self.begin_items(&name, at, Builder::at_end(at), rows);
        let mut region = Region {
            dominators: Dominators::of(entry, &successors),
            copies: HashMap::new(),
            values: vec![HashMap::new(); rows as usize],
            cells: HashMap::new(),
            item,
            exits,
            agrees,
            blocks,
        };
        self.copy_blocks(&mut region);
        self.connect(&mut region, entry);
        self.keep(&mut region);
        self.leave_region(&region);
        let Region { item, copies, exits, agrees, .. } = region;
        item.begin.br(copies[&entry]);
        item.before.br(item.nest.head);
        self.go_on(item.nest.done, &exits, agrees);
    }

    /// Copies the blocks, with the operands that they have, without phis' values.
    fn copy_blocks(&self, region: &mut Region<'m>) {
        let body = self.analyses.body;
        for &block in &region.blocks {
            let name = body.blocks[block].name();
            let copy = body.function.append_block(&name);
            region.copies.insert(block, copy);
            let builder = Builder::at_end(copy);
            for instruction in body.blocks[block].instructions() {
                if body.barrier[block] == Some(instruction) {
                    continue;
                }
                // What is the same for all work-items exists once.
                let is_own = self.analyses.varying.has(instruction) && !instruction.is_terminator();
                let mut new = insert_duplicate(&builder, instruction);
                for (row, values) in region.values.iter_mut().enumerate() {
                    if row > 0 && is_own {
                        new = insert_duplicate(&builder, instruction);
                    }
                    values.insert(instruction, new);
                }
            }
        }
    }

    /// Lets the copies use the region's own values.
    fn connect(&mut self, region: &mut Region<'m>, entry: usize) {
        let body = self.analyses.body;
        for block in region.blocks.clone() {
            let copy = region.copies[&block];
            for instruction in body.blocks[block].instructions() {
                if !region.values[0].contains_key(&instruction) {
                    continue;
                }
                for row in region.rows_of(instruction) {
                    self.connect_one(region, row, instruction, block, entry);
                }
            }
            for (&next, at) in body.next[block].iter().zip(0..) {
                match next {
                    Next::Block(next) => {
                        if let Some(&next) = region.copies.get(&next) {
                            copy.end().set_successor(at, next);
                        }
                    }
                    Next::End => {}
                    Next::Outside => self.go_outside(region, block, at),
                }
            }
        }
    }

    /// Lets a copy of an instruction use the region's own values.
    fn connect_one(
        &mut self,
        region: &mut Region<'m>,
        row: usize,
        instruction: Value<'m>,
        block: usize,
        entry: usize,
    ) {
        let body = self.analyses.body;
        let new = region.values[row][&instruction];
        if instruction.opcode() == Some(Opcode::Phi) {
            for &from in &body.predecessors[block] {
                if !region.has(from) || body.barrier[from].is_some() {
                    continue;
                }
                let Some(value) = instruction.incoming(body.blocks[from]) else { continue };
                let end = region.copies[&from].end();
                let value = self.value_at(region, row, value, from, end);
                new.add_incoming(value, region.copies[&from]);
            }
            if block == entry {
                let entered = self.entered_with.get(&instruction).copied();
                let value = entered.unwrap_or(instruction);
                let value = self.item_value(&mut region.item, row, value);
                new.add_incoming(value, region.item.nest.item);
            }
            return;
        }
        for at in 0..new.num_operands() {
            let operand = new.operand(at);
            let value = self.value_at(region, row, operand, block, new);
            if value != operand {
                new.set_operand(at, value);
            }
        }
    }

    /// Another edge to a block outside of the nest.
    fn go_outside(&mut self, region: &mut Region<'m>, block: usize, at: u32) {
        let original = self.analyses.body.blocks[block];
        let copy = region.copies[&block];
        for phi in original.end().successor(at).phis() {
            let Some(value) = phi.incoming(original) else { continue };
            let value = self.value_at(region, 0, value, block, copy.end());
            phi.add_incoming(value, copy);
        }
    }

    /// A value of a row before an instruction of the copy of a block.
    fn value_at(
        &mut self,
        region: &mut Region<'m>,
        row: usize,
        value: Value<'m>,
        block: usize,
        before: Value<'m>,
    ) -> Value<'m> {
        let Some(home) = self.analyses.body.block_of(value) else {
            return self.item_value(&mut region.item, row, value);
        };
        // What an operation of sub-groups has given is there before a region begins.
        if !region.has(home) || waits(value) {
            return self.item_value(&mut region.item, row, value);
        }
        if region.dominators.dominates(home, block) {
            return region.values[row][&value];
        }
        let cell = self.cell(region, row, value);
        Builder::before(before).load(value.ty(), cell)
    }

    /// The place of a value that a work-item has when it enters the region, until the region
    /// computes it anew.
    fn cell(&mut self, region: &mut Region<'m>, row: usize, value: Value<'m>) -> Value<'m> {
        if let Some(&cell) = region.cells.get(&(row, value)) {
            return cell;
        }
        let cell = self.memory.place(value.ty());
        region.cells.insert((row, value), cell);
        let entered = self.item_value(&mut region.item, row, value);
        region.item.begin.store(entered, cell);
        let new = region.values[row][&value];
        let mut behind = new.next();
        while let Some(phi) = behind.filter(|it| it.opcode() == Some(Opcode::Phi)) {
            behind = phi.next();
        }
        if let Some(behind) = behind {
            Builder::before(behind).store(new, cell);
        }
        cell
    }

    /// Stores what lives across the barriers at which the region ends.
    fn keep(&mut self, region: &mut Region<'m>) {
        let body = self.analyses.body;
        for barrier in region.exits.clone().into_iter().flatten() {
            let end = region.copies[&barrier].end();
            self.give_operands(region, barrier, end);
            for value in self.analyses.kept.across(body, barrier) {
                let Some(home) = body.block_of(value).filter(|&home| region.has(home)) else {
                    continue;
                };
                if waits(value) {
                    continue;
                }
                let is_entry = region.blocks.first() == Some(&home);
                let comes_back = body.predecessors[home]
                    .iter()
                    .any(|&from| region.has(from) && body.barrier[from].is_none());
                let is_kept = is_entry && !self.entered_with.contains_key(&value);
                if is_kept && !comes_back && value.opcode() == Some(Opcode::Phi) {
                    // It is what was loaded.
                    continue;
                }
                let builder = Builder::before(end);
                if !self.analyses.varying.has(value) {
                    let now = self.value_at(region, 0, value, barrier, end);
                    builder.store(now, self.memory.shared(value));
                    continue;
                }
                for row in 0..region.values.len() {
                    let now = self.value_at(region, row, value, barrier, end);
                    let array = self.memory.array(value);
                    array.store(&builder, now, region.item.rows[row].index);
                }
            }
        }
    }

    /// Stores the operands of the operation of sub-groups at the end of a block.
    fn give_operands(&mut self, region: &mut Region<'m>, block: usize, end: Value<'m>) {
        let operands = self.operands_of(block);
        for (operand, at) in operands.into_iter().zip(0..) {
            if operand.is_constant() {
                continue;
            }
            for row in 0..region.values.len() {
                let now = self.value_at(region, row, operand, block, end);
                let builder = Builder::before(end);
                let to = self.operand_place(&builder, at, region.item.rows[row].index);
                builder.store(now, to);
            }
        }
    }

    /// Ends each work-item's run: at barriers, and at its end.
    fn leave_region(&mut self, region: &Region<'m>) {
        let body = self.analyses.body;
        let next = region.item.nest.next;
        let many = region.exits.len() > 1;
        for &block in &region.blocks {
            let end = region.copies[&block].end();
            if body.barrier[block].is_some() {
                if many {
                    self.note(region, &Builder::before(end), Some(block));
                }
                end.set_successor(0, next);
                continue;
            }
            for (_, at) in body.next[block].iter().zip(0..).filter(|(next, _)| **next == Next::End)
            {
                let mut target = next;
                if many {
                    target = body.function.append_block("item.end");
                    let builder = Builder::at_end(target);
                    self.note(region, &builder, None);
                    builder.br(next);
                }
                end.set_successor(at, target);
            }
        }
    }

    /// Notes where a work-item continues.
    fn note(&mut self, region: &Region<'m>, builder: &Builder<'m>, exit: Option<usize>) {
        let ty = self.context.int_type(32);
        let number = ty.const_int(number_of(exit), false);
        let to = if region.agrees {
            *self.number.get_or_insert_with(|| self.memory.place(ty))
        } else {
            let numbers = *self.numbers.get_or_insert_with(|| self.memory.words("next"));
            builder.inbounds_gep(ty, numbers, &[region.item.rows[0].index])
        };
        builder.store(number, to);
    }

    /// What comes behind a region's nest.
    fn go_on(&mut self, done: Block<'m>, exits: &[Option<usize>], agrees: bool) {
        let body = self.analyses.body;
        let builder = Builder::at_end(done);
        let targets: Vec<(u64, Block<'m>)> = exits
            .iter()
            .map(|&exit| {
                let next = exit.map_or(Next::End, |block| body.behind(block));
                let behind = self.enter(next);
                let target = exit.map_or(behind, |block| self.exchange(block, behind));
                (number_of(exit), target)
            })
            .collect();
        let ty = self.context.int_type(32);
        match &targets[..] {
            // Every work-item panics, and there is one.
            [] => {
                builder.unreachable();
            }
            [(_, only)] => {
                builder.br(*only);
            }
            _ => {
                let number = if agrees {
                    let place = *self.number.get_or_insert_with(|| self.memory.place(ty));
                    builder.load(ty, place)
                } else {
                    self.agreed(&builder)
                };
                let mut builder = builder;
                let last = targets.len() - 1;
                for (at, (wanted, target)) in targets.into_iter().enumerate() {
                    if agrees && at == last {
                        builder.br(target);
                        return;
                    }
                    let is_it = builder.icmp(IntPredicate::EQ, number, ty.const_int(wanted, false));
                    let other = if at == last {
                        leave(body.function, self.context, "diverged", RUN_DIVERGED)
                    } else {
                        body.function.append_block("other")
                    };
                    builder.cond_br(is_it, target, other);
                    if at != last {
                        builder = Builder::at_end(other);
                    }
                }
            }
        }
    }

    /// Where all work-items go on, or a number that is no exit's.
    fn agreed(&mut self, builder: &Builder<'m>) -> Value<'m> {
        let module = self.analyses.body.function.module();
        let (number, word) = (self.context.int_type(32), self.context.int_type(64));
        let pointer = self.context.pointer_type(0);
        let agree = module.function(AGREE).unwrap_or_else(|| {
            let ty = number.function(&[pointer, pointer, word], false);
            let function = module.add_function(AGREE, ty);
            function.add_function_attribute("nounwind", 0);
            function
        });
        let numbers = *self.numbers.get_or_insert_with(|| self.memory.words("next"));
        builder.call_function(agree, &[self.analyses.group, numbers, self.memory.items])
    }
}
