//! Operations of sub-groups: what the lanes receive, of what all have given.
//!
//! Work-items leave their operands in arrays at the end of a region. Behind it come loops over the
//! group. Shuffles are one loop; reductions and ballots, one over sub-groups, with a loop that
//! combines the values and another that stores the result for each lane:
//! ```llvm
//! exchange:                                        ; %r = call i32 @schism.meet.__schism_shuffle_xor(…)
//!   br label %lanes.head
//! lanes.head:
//!   %i = phi i64 [ 0, %exchange ], [ %i.after, %lanes.body ]
//!   %more = icmp ult i64 %i, %items
//!   br i1 %more, label %lanes.body, label %lanes.done
//! lanes.body:
//!   %lane = and i64 %i, 31
//!   %first = and i64 %i, -32                       ; the first work-item of the sub-group
//!   %behind = sub i64 %items, %first
//!   %size = call i64 @llvm.umin.i64(i64 %behind, i64 32)
//!   %wanted = xor i64 %lane, %mask
//!   %is.there = icmp ult i64 %wanted, %size        ; otherwise a lane gets its own value
//!   …
//! ```

use schism_llvm::{Block, Builder, IntPredicate, Value};

use super::emit::Emitter;
use super::waits::MEET;
use crate::spec::builtins::{
    BALLOT, REDUCE_ADD, REDUCE_LEAST, SHUFFLE, SHUFFLE_DOWN, SHUFFLE_UP, SHUFFLE_XOR,
    SUB_GROUP_SIZE,
};

/// How a loop goes through work-items.
struct Loop<'m> {
    head: Block<'m>,
    body: Block<'m>,
    done: Block<'m>,
    /// The number of the work-item.
    index: Value<'m>,
}

impl<'m> Emitter<'_, 'm> {
    /// The operands of the operation of sub-groups at the end of a block, without the group. None
    /// if its result is not used.
    pub(super) fn operands_of(&self, block: usize) -> Vec<Value<'m>> {
        match self.exchanged(block) {
            Some(call) => (1..call.num_args()).map(|at| call.operand(at)).collect(),
            None => Vec::new(),
        }
    }

    /// The operation of sub-groups at the end of a block, if lanes receive something.
    fn exchanged(&self, block: usize) -> Option<Value<'m>> {
        self.analyses.body.sub_group_operation(block).filter(|call| call.is_used())
    }

    /// Where a work-item leaves an operand.
    pub(super) fn operand_place(
        &mut self,
        builder: &Builder<'m>,
        at: usize,
        index: Value<'m>,
    ) -> Value<'m> {
        let array = *self.operands[at].get_or_insert_with(|| self.memory.words("given"));
        builder.inbounds_gep(self.context.int_type(32), array, &[index])
    }

    /// What comes between a region that ends at `block` and `behind`: the exchange, if there is an
    /// operation of sub-groups whose result is needed.
    pub(super) fn exchange(&mut self, block: usize, behind: Block<'m>) -> Block<'m> {
        let Some(call) = self.exchanged(block) else { return behind };
        if let Some(&made) = self.exchanges.get(&block) {
            return made;
        }
        let begin = self.append("exchange");
        self.exchanges.insert(block, begin);
        let name = call.direct_callee().map(|callee| callee.name()).unwrap_or_default();
        let done = match name.strip_prefix(MEET).unwrap_or(&name) {
            name @ (SHUFFLE | SHUFFLE_XOR | SHUFFLE_UP | SHUFFLE_DOWN) => {
                self.shuffle(name, call, begin)
            }
            name => self.combine(name, call, begin),
        };
        Builder::at_end(done).br(behind);
        begin
    }

    fn append(&self, name: &str) -> Block<'m> {
        self.analyses.body.function.append_block(name)
    }

    fn word(&self, number: u64) -> Value<'m> {
        self.context.int_type(64).const_int(number, false)
    }

    /// A loop from `begin` to `end`. Its body is still empty.
    fn count(&self, name: &str, from: Block<'m>, begin: Value<'m>, end: Value<'m>) -> Loop<'m> {
        let [head, body, done] =
            ["head", "body", "done"].map(|part| self.append(&format!("{name}.{part}")));
        Builder::at_end(from).br(head);
        let builder = Builder::at_end(head);
        let index = builder.phi(begin.ty());
        index.add_incoming(begin, from);
        let more = builder.icmp(IntPredicate::ULT, index, end);
        builder.cond_br(more, body, done);
        Loop { head, body, done, index }
    }

    /// Ends a loop's body.
    fn again(&self, it: &Loop<'m>, builder: &Builder<'m>, step: u64, latch: Block<'m>) {
        let after = builder.nuw_add(it.index, self.word(step));
        builder.br(it.head);
        it.index.add_incoming(after, latch);
    }

    /// The operand of the work-item with a number.
    fn given(
        &mut self,
        builder: &Builder<'m>,
        call: Value<'m>,
        at: usize,
        index: Value<'m>,
    ) -> Value<'m> {
        let operand = call.operand(at as u32 + 1);
        if operand.is_constant() {
            return operand;
        }
        let place = self.operand_place(builder, at, index);
        builder.load(self.context.int_type(32), place)
    }

    /// The number behind the last work-item of the sub-group that begins with `first`.
    fn end_of_sub_group(&self, builder: &Builder<'m>, first: Value<'m>) -> Value<'m> {
        let full = builder.nuw_add(first, self.word(SUB_GROUP_SIZE as u64));
        let is_full = builder.icmp(IntPredicate::ULE, full, self.memory.items);
        builder.select(is_full, full, self.memory.items)
    }

    fn shuffle(&mut self, name: &str, call: Value<'m>, from: Block<'m>) -> Block<'m> {
        let it = self.count("lanes", from, self.word(0), self.memory.items);
        let builder = Builder::at_end(it.body);
        let lane = builder.and(it.index, self.word(SUB_GROUP_SIZE as u64 - 1));
        let first = builder.sub(it.index, lane);
        let size = builder.sub(self.end_of_sub_group(&builder, first), first);
        let argument = self.given(&builder, call, 1, it.index);
        let argument = builder.int_cast(argument, lane.ty(), false);
        let wanted = match name {
            SHUFFLE_XOR => builder.xor(lane, argument),
            // Before the first lane, this is a very large number.
            SHUFFLE_UP => builder.sub(lane, argument),
            SHUFFLE_DOWN => builder.add(lane, argument),
            _ => argument,
        };
        let is_there = builder.icmp(IntPredicate::ULT, wanted, size);
        let source = builder.add(first, builder.select(is_there, wanted, lane));
        let value = self.given(&builder, call, 0, source);
        self.memory.array(call).store(&builder, value, it.index);
        self.again(&it, &builder, 1, it.body);
        it.done
    }

    /// Reductions and ballots: all lanes of a sub-group receive the same.
    fn combine(&mut self, name: &str, call: Value<'m>, from: Block<'m>) -> Block<'m> {
        let ty = self.context.int_type(32);
        let of_group = self.count("sub.groups", from, self.word(0), self.memory.items);
        let builder = Builder::at_end(of_group.body);
        let end = self.end_of_sub_group(&builder, of_group.index);
        let it = self.count("lanes", of_group.body, of_group.index, end);
        let so_far = Builder::before(it.index).phi(ty);
        let neutral = match name {
            _ if name == REDUCE_LEAST[0] => i32::MAX as u32,
            _ if name == REDUCE_LEAST[1] => i32::MIN as u32,
            _ if name == REDUCE_LEAST[2] => u32::MAX,
            _ => 0,
        };
        so_far.add_incoming(ty.const_int(neutral.into(), false), of_group.body);
        let builder = Builder::at_end(it.body);
        let value = self.given(&builder, call, 0, it.index);
        let least = |predicate| {
            let is_it = builder.icmp(predicate, value, so_far);
            builder.select(is_it, value, so_far)
        };
        let all = match name {
            BALLOT => {
                let is_set = builder.icmp(IntPredicate::NE, value, ty.const_int(0, false));
                let lane = builder.sub(it.index, of_group.index);
                let bit = builder.int_cast(is_set, ty, false);
                let bit = builder.shl(bit, builder.int_cast(lane, ty, false));
                builder.or(so_far, bit)
            }
            REDUCE_ADD => builder.add(so_far, value),
            _ if name == REDUCE_LEAST[0] => least(IntPredicate::SLT),
            _ if name == REDUCE_LEAST[1] => least(IntPredicate::SGT),
            _ if name == REDUCE_LEAST[2] => least(IntPredicate::ULT),
            _ if name == REDUCE_LEAST[3] => least(IntPredicate::UGT),
            other => unreachable!("`{other}` has no result"),
        };
        so_far.add_incoming(all, it.body);
        self.again(&it, &builder, 1, it.body);
        let to_lanes = self.count("results", it.done, of_group.index, end);
        let builder = Builder::at_end(to_lanes.body);
        self.memory.array(call).store(&builder, so_far, to_lanes.index);
        self.again(&to_lanes, &builder, 1, to_lanes.body);
        let builder = Builder::at_end(to_lanes.done);
        self.again(&of_group, &builder, SUB_GROUP_SIZE as u64, to_lanes.done);
        of_group.done
    }
}
