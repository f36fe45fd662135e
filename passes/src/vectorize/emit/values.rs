//! Instructions in lanes.

use schism_llvm::{Block, IntPredicate, Opcode, Type, TypeKind, Value, intrinsic_id};

use super::Emit;
use crate::vectorize::intrinsics::{self, Form};
use crate::vectorize::shape::Shape;

impl<'m> Emit<'_, 'm> {
    /// The scalar that stands for a value that is uniform or strided.
    pub(super) fn scalar(&self, value: Value<'m>) -> Value<'m> {
        self.values.get(&value).copied().unwrap_or(value)
    }

    /// The same value in each lane.
    pub(super) fn splat(&self, value: Value<'m>) -> Value<'m> {
        if value.ty().kind() != TypeKind::Struct {
            return self.builder.splat(value, self.lanes);
        }
        let mut all = self.vector_type(value.ty()).poison();
        for field in 0..value.ty().num_fields() {
            let part = self.builder.extract_value(value, field);
            all = self.builder.insert_value(all, self.splat(part), field);
        }
        all
    }

    /// A value of each lane.
    pub(super) fn vector(&mut self, value: Value<'m>) -> Value<'m> {
        let shape = self.shape(value);
        if shape == Shape::Varying {
            return self.values[&value];
        }
        if let Some(&made) = self.vectors.get(&(self.at, value)) {
            return made;
        }
        let scalar = self.scalar(value);
        let made = match shape {
            Shape::Strided(step) => self.stepped(scalar, step),
            _ if value.is_poison() => self.vector_type(value.ty()).poison(),
            _ if value.is_undef() => self.vector_type(value.ty()).undef(),
            _ => self.splat(scalar),
        };
        self.vectors.insert((self.at, value), made);
        made
    }

    /// A number or an address, and more by `step` in each further lane.
    pub(super) fn stepped(&self, first: Value<'m>, step: i64) -> Value<'m> {
        let is_pointer = first.ty().kind() == TypeKind::Pointer;
        let number = if is_pointer { first.context().int_type(64) } else { first.ty() };
        let bits = !0 >> (64 - number.int_width());
        let steps: Vec<_> = (0..i64::from(self.lanes))
            .map(|lane| number.const_int(lane.wrapping_mul(step) as u64 & bits, false))
            .collect();
        let steps = Value::const_vector(&steps);
        if is_pointer {
            return self.builder.gep(first.context().int_type(8), first, &[steps]);
        }
        self.builder.add(self.builder.splat(first, self.lanes), steps)
    }

    /// The number of a lane.
    pub(super) fn lane(&self, lane: u32) -> Value<'m> {
        self.region.item.context().int_type(32).const_int(lane.into(), false)
    }

    /// One instruction, for the current mask.
    pub(super) fn instruction(&mut self, one: Value<'m>) {
        let new = match one.opcode() {
            Some(Opcode::Load) => Some(self.load(one)),
            Some(Opcode::Store) => {
                self.store(one);
                None
            }
            Some(Opcode::GetElementPtr) if self.plan.privates.of(one).is_some() => {
                Some(self.private_address(one))
            }
            Some(Opcode::Call) => self.call(one),
            Some(Opcode::AtomicRMW) => Some(self.each_lane(one)),
            Some(Opcode::Or) if matches!(self.shape(one), Shape::Strided(_)) => {
                // The same sum for the lanes that have no bits in common; the first lane, which may
                // be off, may have some.
                let (a, b) = (self.scalar(one.operand(0)), self.scalar(one.operand(1)));
                Some(self.builder.add(a, b))
            }
            _ if self.shape(one) != Shape::Varying => Some(self.cloned(one)),
            _ => Some(self.widened(one)),
        };
        if let Some(new) = new {
            self.values.insert(one, new);
        }
    }

    /// The same instruction once for all lanes, or for the first one.
    pub(super) fn cloned(&mut self, one: Value<'m>) -> Value<'m> {
        let new = one.duplicate();
        self.builder.insert(new);
        for (kind, _) in new.metadata_entries() {
            new.remove_metadata(kind);
        }
        // A strided value is the first lane's, and stands for lanes that keep promises which the
        // first one, where it is not used, may break.
        if !self.mask.is_full() || self.shape(one) != Shape::Uniform {
            new.drop_promises();
        }
        for index in 0..new.num_operands() {
            let old = new.operand(index);
            if let Some(&own) = self.values.get(&old) {
                new.set_operand(index, own);
            }
        }
        new.copy_name(one);
        new
    }

    /// An instruction of vectors.
    fn widened(&mut self, one: Value<'m>) -> Value<'m> {
        let opcode = one.opcode().expect("an instruction");
        use Opcode::*;
        let new = match opcode {
            UDiv | SDiv | URem | SRem => return self.divided(one, opcode),
            Add | Sub | Mul | Shl | LShr | AShr | And | Or | Xor | FAdd | FSub | FMul | FDiv
            | FRem => {
                let (a, b) = (self.vector(one.operand(0)), self.vector(one.operand(1)));
                self.builder.binary(opcode, a, b)
            }
            FNeg => {
                let value = self.vector(one.operand(0));
                self.builder.fneg(value)
            }
            Freeze => {
                let value = self.vector(one.operand(0));
                self.builder.freeze(value)
            }
            ICmp => {
                let (a, b) = (self.vector(one.operand(0)), self.vector(one.operand(1)));
                self.builder.icmp(one.icmp_predicate(), a, b)
            }
            FCmp => {
                let (a, b) = (self.vector(one.operand(0)), self.vector(one.operand(1)));
                self.builder.fcmp(one.fcmp_predicate(), a, b)
            }
            Select => {
                let condition = match self.shape(one.operand(0)) {
                    Shape::Uniform => self.scalar(one.operand(0)),
                    _ => self.vector(one.operand(0)),
                };
                let (a, b) = (self.vector(one.operand(1)), self.vector(one.operand(2)));
                self.select(condition, a, b)
            }
            GetElementPtr => {
                let base = self.vector(one.operand(0));
                let mut indices = Vec::new();
                let mut ty = one.gep_source_type();
                for (at, index) in one.operands().skip(1).enumerate() {
                    // A field's number stays a constant.
                    if at > 0 && ty.kind() == TypeKind::Struct {
                        ty = ty.field_type(index.zext_value() as u32);
                        indices.push(index);
                        continue;
                    }
                    if at > 0 {
                        ty = ty.element_type();
                    }
                    let own = if self.shape(index) == Shape::Uniform {
                        self.scalar(index)
                    } else {
                        self.vector(index)
                    };
                    indices.push(own);
                }
                self.builder.gep(one.gep_source_type(), base, &indices)
            }
            ExtractValue => {
                let mut value = self.vector(one.operand(0));
                for index in one.aggregate_indices() {
                    value = self.builder.extract_value(value, index);
                }
                value
            }
            InsertValue => {
                let aggregate = self.vector(one.operand(0));
                let value = self.vector(one.operand(1));
                self.builder.insert_value(aggregate, value, one.aggregate_indices()[0])
            }
            _ => {
                let value = self.vector(one.operand(0));
                let ty = self.vector_type(one.ty());
                self.builder.cast(opcode, value, ty)
            }
        };
        if one.has_fast_math() && new.has_fast_math() {
            new.set_fast_math_flags(one.fast_math_flags());
        }
        new.with_name(&one.name())
    }

    /// A division of integers. Lanes that are off divide by one.
    fn divided(&mut self, one: Value<'m>, opcode: Opcode) -> Value<'m> {
        let a = self.vector(one.operand(0));
        let number = one.ty();
        let divisor = one.operand(1);
        let is_unsigned = matches!(opcode, Opcode::UDiv | Opcode::URem);
        let bits = number.int_width();
        if self.shape(divisor) == Shape::Uniform && !divisor.is_constant() {
            let by = self.scalar(divisor);
            match bits {
                8 | 16 | 32 => return self.times_reciprocal(opcode, a, by),
                64 if is_unsigned => return self.divided_if_short(opcode, a, by),
                _ => {}
            }
        }
        let mut b = self.vector(divisor);
        if divisor.is_constant() {
            return self.builder.binary(opcode, a, b);
        }
        if !self.mask.is_full() {
            let lanes = self.masks().vector(self.mask, one);
            let ones = self.splat(number.const_int(1, false));
            b = self.builder.select(lanes, b, ones);
        }
        match bits {
            8 | 16 | 32 => self.divided_by_floats(opcode, a, b),
            64 if is_unsigned => self.divided_if_short(opcode, a, b),
            _ => self.builder.binary(opcode, a, b),
        }
    }

    /// Quotients of at most 32 bits by one divisor, which is not zero, since a lane is on: products
    /// with its reciprocal, which is computed once, and too large by half a unit to two and a half
    /// units in its last place. So a product is no less than the quotient, and the rest of it, which
    /// is no integer unless it is zero, misses the next integer by one divisor's part at least: that
    /// is 2^18 times as much as the product is too large.
    fn times_reciprocal(&self, opcode: Opcode, a: Value<'m>, divisor: Value<'m>) -> Value<'m> {
        use Opcode::*;
        let ty = a.ty();
        let double = ty.context().double_type();
        let (to, from) = match opcode {
            UDiv | URem => (UIToFP, FPToUI),
            _ => (SIToFP, FPToSI),
        };
        let number = self.builder.cast(to, divisor, double);
        let reciprocal = self.builder.binary(FDiv, double.const_float(1.0), number);
        // Away from zero, whatever its sign.
        let larger = double.const_float(1.0 + f64::EPSILON);
        let reciprocal = self.builder.binary(FMul, reciprocal, larger);
        let reciprocal = self.builder.splat(reciprocal, self.lanes);
        let x = self.builder.cast(to, a, double.vector(self.lanes));
        let quotient = self.builder.binary(FMul, x, reciprocal);
        let quotient = self.builder.cast(from, quotient, ty);
        match opcode {
            UDiv | SDiv => quotient,
            _ => {
                let divisors = self.builder.splat(divisor, self.lanes);
                self.builder.sub(a, self.builder.mul(quotient, divisors))
            }
        }
    }

    /// Quotients of at most 32 bits by division of floating-point numbers: these have 53 bits, and
    /// a quotient that is no integer is further from the next one than rounding goes.
    fn divided_by_floats(&self, opcode: Opcode, a: Value<'m>, b: Value<'m>) -> Value<'m> {
        use Opcode::*;
        let ty = a.ty();
        let double = ty.context().double_type().vector(self.lanes);
        let (to, from) = match opcode {
            UDiv | URem => (UIToFP, FPToUI),
            _ => (SIToFP, FPToSI),
        };
        let [x, y] = [a, b].map(|value| self.builder.cast(to, value, double));
        let quotient = self.builder.binary(FDiv, x, y);
        let quotient = self.builder.cast(from, quotient, ty);
        match opcode {
            UDiv | SDiv => quotient,
            _ => self.builder.sub(a, self.builder.mul(quotient, b)),
        }
    }

    /// Quotients of 64 bits, by a shorter division if all numbers have 32. There may be one divisor
    /// for all lanes.
    fn divided_if_short(&mut self, opcode: Opcode, a: Value<'m>, b: Value<'m>) -> Value<'m> {
        let ty = a.ty();
        let is_one = !b.ty().is_vector();
        let divisors = if is_one { self.builder.splat(b, self.lanes) } else { b };
        let high = self.splat(ty.element_type().const_int(!0 << 32, false));
        let upper = self.builder.and(self.builder.or(a, divisors), high);
        let long = self.builder.icmp(IntPredicate::NE, upper, ty.zero());
        let any = self.masks().any_lane(long);
        let (slow, fast) = (self.new_block("vector.long"), self.new_block("vector.short"));
        let after = self.new_block("vector.divided");
        self.builder.cond_br(any, slow, fast);
        self.go_on_at(slow);
        let by_hardware = self.builder.binary(opcode, a, divisors);
        self.builder.br(after);
        self.go_on_at(fast);
        let half = ty.context().int_type(32);
        let x = self.builder.trunc(a, half.vector(self.lanes));
        let short = if is_one {
            self.times_reciprocal(opcode, x, self.builder.trunc(b, half))
        } else {
            self.divided_by_floats(opcode, x, self.builder.trunc(b, half.vector(self.lanes)))
        };
        let short = self.builder.zext(short, ty);
        self.builder.br(after);
        self.go_on_at(after);
        let phi = self.builder.phi(ty);
        phi.add_incoming(by_hardware, slow);
        phi.add_incoming(short, fast);
        phi
    }

    /// A call.
    fn call(&mut self, one: Value<'m>) -> Option<Value<'m>> {
        let callee = one.callee()?;
        let form = intrinsics::form(callee);
        if form == Some(Form::Dropped) {
            return None;
        }
        if intrinsics::is_called(callee, "memset")
            && self.plan.privates.of(one.operand(0)).is_some()
        {
            self.private_memset(one);
            return None;
        }
        if one.num_args() > 0 && self.plan.privates.shared.contains_key(&one.operand(0)) {
            // A copy or a fill of what is the same for all lanes.
            self.cloned(one);
            return None;
        }
        if self.shape(one) == Shape::Uniform && intrinsics::is_pure_or_plain(one, callee) {
            return Some(self.cloned(one));
        }
        match form {
            Some(Form::Lanewise { constants }) => {
                let args = one.args();
                let count = args.len() - constants;
                let own: Vec<_> = args
                    .iter()
                    .enumerate()
                    .map(|(at, &arg)| if at < count { self.vector(arg) } else { arg })
                    .collect();
                Some(self.intrinsic(one, callee, &[own[0].ty()], &own))
            }
            Some(Form::Converts) => {
                let own: Vec<_> = one.args().into_iter().map(|arg| self.vector(arg)).collect();
                let types = [self.vector_type(one.ty()), own[0].ty()];
                Some(self.intrinsic(one, callee, &types, &own))
            }
            _ => Some(self.each_lane(one)),
        }
    }

    fn intrinsic(
        &self,
        one: Value<'m>,
        callee: Value<'m>,
        types: &[Type<'m>],
        args: &[Value<'m>],
    ) -> Value<'m> {
        let function = self.region.function.module().intrinsic(callee.intrinsic_id(), types);
        let new = self.builder.call_function(function, args);
        if one.has_fast_math() && new.has_fast_math() {
            new.set_fast_math_flags(one.fast_math_flags());
        }
        new.with_name(&one.name())
    }

    /// An instruction that is done once for each lane that is on, in their order.
    pub(super) fn each_lane(&mut self, one: Value<'m>) -> Value<'m> {
        let has_result = one.ty().kind() != TypeKind::Void;
        let operands: Vec<(u32, Value<'m>)> = (0..one.num_operands())
            .map(|index| (index, one.operand(index)))
            .filter(|(_, operand)| !operand.is_function() && !operand.is_metadata())
            .map(|(index, operand)| {
                let own = match self.shape(operand) {
                    Shape::Uniform => self.scalar(operand),
                    _ => self.vector(operand),
                };
                (index, own)
            })
            .collect();
        let nothing = has_result.then(|| self.vector_type(one.ty()).poison());
        let once = |emit: &Self, lane: Value<'m>, sum: Option<Value<'m>>| {
            let own: Vec<_> = operands
                .iter()
                .map(|&(index, operand)| {
                    let is_vector = operand.ty() != one.operand(index).ty();
                    let own = if is_vector {
                        emit.builder.extract_element(operand, lane)
                    } else {
                        operand
                    };
                    (index, own)
                })
                .collect();
            let new = one.duplicate();
            emit.builder.insert(new);
            for (kind, _) in new.metadata_entries() {
                new.remove_metadata(kind);
            }
            for (index, own) in own {
                new.set_operand(index, own);
            }
            sum.map(|sum| emit.builder.insert_element(sum, new, lane))
        };
        if self.mask.is_full() {
            let mut sum = nothing;
            for lane in 0..self.lanes {
                sum = once(self, self.lane(lane), sum);
            }
            return sum.unwrap_or(self.region.item);
        }
        self.for_lanes(nothing, once).unwrap_or(self.region.item)
    }

    /// A loop over the lanes that are on.
    pub(super) fn for_lanes(
        &mut self,
        nothing: Option<Value<'m>>,
        code: impl Fn(&Self, Value<'m>, Option<Value<'m>>) -> Option<Value<'m>>,
    ) -> Option<Value<'m>> {
        let context = self.region.item.context();
        let mask = self.masks().vector(self.mask, self.region.item);
        let number = context.int_type(self.lanes);
        let all = self.builder.bitcast(mask, number);
        let before = self.at;
        let (head, body) = (self.new_block("vector.lanes"), self.new_block("vector.lane"));
        let after = self.new_block("vector.each");
        self.builder.br(head);
        self.go_on_at(head);
        let left = self.builder.phi(number);
        let sum = nothing.map(|nothing| self.builder.phi(nothing.ty()));
        let more = self.builder.icmp(IntPredicate::NE, left, number.zero());
        self.builder.cond_br(more, body, after);
        self.go_on_at(body);
        let count = self.region.function.module().intrinsic(intrinsic_id("llvm.cttz"), &[number]);
        let defined = context.int_type(1).const_int(1, false);
        let lane = self.builder.call_function(count, &[left, defined]);
        let lane = self.builder.int_cast(lane, context.int_type(32), false);
        let new = code(self, lane, sum);
        let less = self.builder.sub(left, number.const_int(1, false));
        let less = self.builder.and(left, less);
        let end: Block<'m> = self.at;
        self.builder.br(head);
        left.add_incoming(all, before);
        left.add_incoming(less, end);
        if let (Some(sum), Some(nothing), Some(new)) = (sum, nothing, new) {
            sum.add_incoming(nothing, before);
            sum.add_incoming(new, end);
        }
        self.go_on_at(after);
        sum
    }
}
