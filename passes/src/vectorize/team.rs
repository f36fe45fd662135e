//! The lanes of a group that run one item together: how they wait for each other, and how they join a value
//! that each of them has.

use schism_llvm::{Block, Builder, IntPredicate, ModuleRef, Type, TypeKind, Value};

/// So many lanes have places in the group's memory.
const MOST_LANES: u64 = 256;

/// The variable with the lanes' values.
const PARTIAL: &str = "schism.partial";

/// The lanes of a group, which meet at copies of a barrier.
#[derive(Clone, Copy)]
pub(super) struct Team<'m> {
    /// The number of the lane, and how many there are: both of 64 bits.
    pub(super) lane: Value<'m>,
    pub(super) lanes: Value<'m>,
    pub(super) barrier: Value<'m>,
    /// The address space of the group's memory.
    pub(super) local: u32,
}

impl<'m> Team<'m> {
    /// Has all lanes wait for each other.
    pub(super) fn meet(&self, builder: &Builder<'m>) {
        builder.insert(self.barrier.duplicate());
    }

    /// Whether the lane is the first one.
    pub(super) fn is_first(&self, builder: &Builder<'m>) -> Value<'m> {
        builder.icmp(IntPredicate::EQ, self.lane, self.lane.ty().zero())
    }

    /// Whether there are not too many lanes to join values.
    pub(super) fn can_join(&self, builder: &Builder<'m>) -> Value<'m> {
        let most = self.lanes.ty().const_int(MOST_LANES, false);
        builder.icmp(IntPredicate::ULE, self.lanes, most)
    }

    /// Joins the values that the lanes have where a block ends, which has no end yet: at the end of the block
    /// that is returned, all lanes have the result.
    /// ```llvm
    /// leave:
    ///   store i64 %value, ptr addrspace(3) %of.lane
    ///   call void @barrier()
    ///   br label %join
    /// join:
    ///   %count = phi i64 [ %lanes, %leave ], [ %half, %met ]
    ///   %half = …                                    ; (%count + 1) / 2
    ///   %other = add i64 %lane, %half
    ///   %has.other = icmp ult i64 %other, %count
    ///   br i1 %has.other, label %both, label %met
    /// both:
    ///   …                                            ; joins the value of %other to that of %lane
    ///   br label %met
    /// met:
    ///   call void @barrier()
    ///   %more = icmp ugt i64 %half, 1
    ///   br i1 %more, label %join, label %joined
    /// joined:
    ///   %result = load i64, ptr addrspace(3) @schism.partial
    ///   call void @barrier()
    /// ```
    pub(super) fn join(
        &self,
        leave: Block<'m>,
        value: Value<'m>,
        operation: impl FnOnce(&Builder<'m>, Value<'m>, Value<'m>) -> Value<'m>,
    ) -> (Block<'m>, Value<'m>) {
        let function = leave.function();
        let memory = self.memory(function.module());
        let [join, both, met, joined] =
            ["join", "both", "met", "joined"].map(|name| function.append_block(name));
        let (number, ty) = (self.lane.ty(), value.ty());
        let one = number.const_int(1, false);

        let builder = Builder::at_end(leave);
        let own = builder.gep(number, memory, &[self.lane]);
        builder.store(as_number(&builder, value, number), own);
        self.meet(&builder);
        builder.br(join);

        builder.position_at_end(join);
        let count = builder.phi(number).with_name("count");
        let half = builder.lshr(builder.add(count, one), one).with_name("half");
        let other = builder.add(self.lane, half);
        let has_other = builder.icmp(IntPredicate::ULT, other, count);
        builder.cond_br(has_other, both, met);

        builder.position_at_end(both);
        let load = |address| from_number(&builder, builder.load(number, address), ty);
        let (left, right) = (load(own), load(builder.gep(number, memory, &[other])));
        let result = operation(&builder, left, right);
        builder.store(as_number(&builder, result, number), own);
        builder.br(met);

        builder.position_at_end(met);
        self.meet(&builder);
        count.add_incoming(self.lanes, leave);
        count.add_incoming(half, met);
        builder.cond_br(builder.icmp(IntPredicate::UGT, half, one), join, joined);

        builder.position_at_end(joined);
        let result = from_number(&builder, builder.load(number, memory), ty);
        self.meet(&builder);
        (joined, result)
    }

    /// The places for the lanes' values.
    fn memory(&self, module: ModuleRef<'m>) -> Value<'m> {
        module.global(PARTIAL).unwrap_or_else(|| {
            let ty = self.lane.ty().array(MOST_LANES);
            let memory = module.add_global_in(ty, PARTIAL, self.local);
            memory.set_initializer(ty.poison());
            memory.set_internal();
            memory.set_alignment(8);
            memory
        })
    }
}

/// A number as the bits of a wider integer.
fn as_number<'m>(builder: &Builder<'m>, value: Value<'m>, number: Type<'m>) -> Value<'m> {
    let bits = match value.ty().kind() {
        TypeKind::Integer => value,
        _ => builder.bitcast(value, bits_of(value.ty())),
    };
    builder.int_cast(bits, number, false)
}

/// The number of a type that has the lower bits of an integer.
fn from_number<'m>(builder: &Builder<'m>, number: Value<'m>, ty: Type<'m>) -> Value<'m> {
    match ty.kind() {
        TypeKind::Integer => builder.int_cast(number, ty, false),
        _ => builder.bitcast(builder.int_cast(number, bits_of(ty), false), ty),
    }
}

/// The integer with the bits of a floating-point number.
fn bits_of(ty: Type<'_>) -> Type<'_> {
    ty.context().int_type(if ty.kind() == TypeKind::Float { 32 } else { 64 })
}
