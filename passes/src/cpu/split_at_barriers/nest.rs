//! The loop nest over the work-items of a group.

use schism_llvm::{Block, Builder, ContextRef, IntPredicate, Metadata, Value};

use super::body::Body;
use crate::ir::metadata;
use crate::vectorize::MARK as WORK_ITEM_LOOP;

/// The dimension in which an iteration may run several work-items.
pub(super) const ROWS: usize = 1;

/// A loop nest around blocks that are still to come.
pub(super) struct Nest<'m> {
    /// Where the outermost loop begins.
    pub head: Block<'m>,
    /// What each work-item runs first. It has no terminator yet.
    pub item: Block<'m>,
    /// Where each work-item goes in the end.
    pub next: Block<'m>,
    /// What comes after the last work-item: an empty block.
    pub done: Block<'m>,
    /// The ids, x first, and the same counted from the group's first one.
    pub ids: Vec<Value<'m>>,
    pub local_ids: Vec<Value<'m>>,
    /// The work-item's linear position in the group.
    pub index: Value<'m>,
}

impl<'m> Nest<'m> {
    /// Makes a nest that control reaches from `from`, which has no terminator yet. Each iteration
    /// runs a work-item of so many rows; their number divides that of all rows.
    pub(super) fn new(
        body: &Body<'m>,
        sizes: &[Value<'m>],
        rows: u64,
        name: &str,
        from: Block<'m>,
    ) -> Self {
        let function = body.function;
        let context = function.module().context();
        let block = |part: &str| function.append_block(&format!("{name}.{part}"));
        let done = block("done");
        let (mut outside, mut leaves_to) = (from, done);
        let (mut ids, mut row): (Vec<Value<'m>>, Option<Value<'m>>) = (Vec::new(), None);
        let mut local_ids = Vec::new();
        let (mut head, mut next) = (None, None);
        for (number, axis) in body.axes.iter().enumerate().rev() {
            let header = block(&format!("{}.head", axis.name));
            let inside =
                if number == 0 { block("item") } else { block(&format!("{}.row", axis.name)) };
            let latch = block(&format!("{}.next", axis.name));
            let builder = Builder::at_end(header);
            let local = builder.phi(axis.id.ty()).with_name(&format!("{}.local", axis.name));
            let more = builder.icmp(IntPredicate::ULT, local, sizes[number]);
            builder.cond_br(more, inside, leaves_to);
            local.add_incoming(axis.id.ty().zero(), outside);
            if let Some(outer) = head {
                let _: Block<'m> = outer;
                Builder::at_end(outside).br(header);
            } else {
                head = Some(header);
            }
            let builder = Builder::at_end(inside);
            let id = nowrap_add(&builder, axis.begin, local).with_name(axis.name);
            row = Some(match row {
                None => local,
                Some(row) => builder.add(builder.mul(row, sizes[number]), local),
            });
            let builder = Builder::at_end(latch);
            let step = axis.id.ty().const_int(if number == ROWS { rows } else { 1 }, false);
            let after = nowrap_add(&builder, local, step);
            let end = builder.br(header);
            local.add_incoming(after, latch);
            if number == 0 {
                mark(context, end, body.latch_end);
            }
            ids.push(id);
            local_ids.push(local);
            (outside, leaves_to, next) = (inside, latch, Some(latch));
        }
        ids.reverse();
        local_ids.reverse();
        let (Some(head), Some(next), Some(index)) = (head, next, row) else {
            unreachable!("a nest has a dimension")
        };
        Self { head, item: outside, next, done, ids, local_ids, index }
    }
}

/// The sum of numbers, which is at most the end of a range.
pub(super) fn nowrap_add<'m>(builder: &Builder<'m>, a: Value<'m>, b: Value<'m>) -> Value<'m> {
    let sum = builder.add(a, b);
    if sum.is_instruction() {
        sum.set_nuw(true);
        sum.set_nsw(true);
    }
    sum
}

/// Gives the innermost loop of a nest the properties of the original one, and marks it.
fn mark<'m>(context: ContextRef<'m>, end: Value<'m>, original: Value<'m>) {
    let kind = context.metadata_kind("llvm.loop");
    let known = original.metadata(kind);
    let mut properties: Vec<Metadata<'m>> = known
        .into_iter()
        .flat_map(|node| node.md_operands().into_iter().skip(1).flatten())
        .map(Value::as_metadata)
        .collect();
    if !metadata::has(original, WORK_ITEM_LOOP) {
        properties.push(context.md_node(&[context.md_string(WORK_ITEM_LOOP)]));
    }
    let itself = context.temporary_node();
    let node = context.md_node(&[&[itself.metadata()], &properties[..]].concat());
    itself.replace_with(node);
    end.set_metadata(kind, node.as_value(context));
}
