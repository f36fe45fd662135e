//! Memory in lanes: accesses of consecutive elements, of elements a few apart, of any, and of the
//! lanes' own.

use schism_llvm::{IntPredicate, Opcode, Type, TypeKind, Value, intrinsic_id};

use super::Emit;
use crate::vectorize::plan::{Access, access};
use crate::vectorize::shape::Shape;

impl<'m> Emit<'_, 'm> {
    fn size_of(&self, ty: Type<'m>) -> u64 {
        self.region.function.module().data_layout().abi_size(ty)
    }

    /// An intrinsic for masked accesses, by its types.
    fn masked(&self, name: &str, types: &[Type<'m>], args: &[Value<'m>]) -> Value<'m> {
        let function = self.region.function.module().intrinsic(intrinsic_id(name), types);
        self.builder.call_function(function, args)
    }

    pub(super) fn load(&mut self, one: Value<'m>) -> Value<'m> {
        let address = one.operand(0);
        let ty = one.ty();
        if let Some((_, unit)) = self.plan.privates.of(address) {
            return self.private_load(one, unit);
        }
        match access(&self.region.function.module().data_layout(), self.shape(address), ty) {
            Access::Same => {
                let new = self.cloned(one);
                if self.shape(one) == Shape::Uniform { new } else { self.splat(new) }
            }
            Access::Consecutive => {
                let at = self.scalar(address);
                self.load_vector(ty.vector(self.lanes), at, one.alignment())
            }
            Access::Apart(step) if self.mask.is_full() => self.load_apart(one, step),
            Access::Packed(bytes) => self.load_packed(one, bytes),
            Access::Single => self.each_lane(one),
            _ => {
                if let Some(loaded) = self.load_by_step(one) {
                    return loaded;
                }
                let pointers = self.vector(address);
                let align = one.alignment();
                if self.mask.is_full() && self.may_be_consecutive(address) {
                    return self.gather_unless_consecutive(ty, pointers, align);
                }
                self.gather(ty, pointers, align)
            }
        }
    }

    /// Whether an address is computed of the work-item's number alone, by limits and divisions:
    /// then it is often consecutive for the lanes of a vector, though not always. A step that is
    /// known is not that of consecutive elements, or there were no need to ask.
    fn may_be_consecutive(&self, address: Value<'m>) -> bool {
        const STEPS: usize = 48;
        if self.shape(address) != Shape::Varying {
            return false;
        }
        let mut open = vec![address];
        let mut seen = Vec::new();
        while let Some(value) = open.pop() {
            if self.shape(value) != Shape::Varying || seen.contains(&value) {
                continue;
            }
            seen.push(value);
            let is_computed = match value.opcode() {
                None | Some(Opcode::Load | Opcode::Phi | Opcode::AtomicRMW) => false,
                Some(Opcode::Call) => {
                    value.callee().is_some_and(crate::vectorize::intrinsics::is_plain)
                }
                _ => true,
            };
            if !is_computed || seen.len() > STEPS {
                return false;
            }
            open.extend(value.operands().filter(|operand| operand.is_instruction()));
        }
        true
    }

    /// A load of a whole vector if the addresses are one behind the other.
    fn gather_unless_consecutive(
        &mut self,
        ty: Type<'m>,
        pointers: Value<'m>,
        align: u32,
    ) -> Value<'m> {
        let first = self.builder.extract_element(pointers, self.lane(0));
        let expected = self.stepped(first, self.size_of(ty) as i64);
        let differ = self.builder.icmp(IntPredicate::NE, pointers, expected);
        let any = self.masks().any_lane(differ);
        let [apart, near, after] =
            ["vector.apart", "vector.near", "vector.loaded"].map(|name| self.new_block(name));
        self.builder.cond_br(any, apart, near);
        self.go_on_at(apart);
        let gathered = self.gather(ty, pointers, align);
        self.builder.br(after);
        self.go_on_at(near);
        let loaded = self.load_vector(ty.vector(self.lanes), first, align);
        self.builder.br(after);
        self.go_on_at(after);
        let phi = self.builder.phi(loaded.ty());
        phi.add_incoming(gathered, apart);
        phi.add_incoming(loaded, near);
        phi
    }

    /// Consecutive elements of all lanes.
    fn load_whole(&self, ty: Type<'m>, at: Value<'m>, align: u32) -> Value<'m> {
        let new = self.builder.load(ty, at);
        new.set_alignment(align);
        new
    }

    /// Consecutive elements of the lanes that are on.
    fn load_vector(&self, ty: Type<'m>, at: Value<'m>, align: u32) -> Value<'m> {
        if self.mask.is_full() {
            return self.load_whole(ty, at, align);
        }
        let mask = self.masks().vector(self.mask, at);
        let new = self.masked("llvm.masked.load", &[ty, at.ty()], &[at, mask, ty.poison()]);
        new.align_argument(0, align);
        new
    }

    fn store_vector(&self, value: Value<'m>, at: Value<'m>, align: u32) {
        if self.mask.is_full() {
            self.builder.store(value, at).set_alignment(align);
            return;
        }
        let mask = self.masks().vector(self.mask, at);
        let new = self.masked("llvm.masked.store", &[value.ty(), at.ty()], &[value, at, mask]);
        new.align_argument(1, align);
    }

    /// Elements a known step apart, one by one: the first lane's address is enough, and processors
    /// gather few elements no faster.
    fn load_by_step(&mut self, one: Value<'m>) -> Option<Value<'m>> {
        const MOST: u32 = 8;
        let (ty, address) = (one.ty(), one.operand(0));
        let Shape::Strided(step) = self.shape(address) else { return None };
        if !self.mask.is_full() || self.lanes > MOST || !one.is_simple() {
            return None;
        }
        let at = self.scalar(address);
        let (byte, word) = (at.context().int_type(8), at.context().int_type(64));
        let mut all = ty.vector(self.lanes).poison();
        for lane in 0..self.lanes {
            let offset = word.const_int((step * i64::from(lane)) as u64, true);
            let element = self.builder.load(ty, self.builder.gep(byte, at, &[offset]));
            element.set_alignment(one.alignment());
            all = self.builder.insert_element(all, element, self.lane(lane));
        }
        Some(all)
    }

    /// All that lies between the first and the last element, and the elements out of that.
    fn load_apart(&mut self, one: Value<'m>, step: u32) -> Value<'m> {
        let ty = one.ty();
        let at = self.scalar(one.operand(0));
        let count = (self.lanes - 1) * step + 1;
        let all = self.builder.load(ty.vector(count), at);
        all.set_alignment(one.alignment());
        let elements: Vec<u32> = (0..self.lanes).map(|lane| lane * step).collect();
        self.builder.shuffle(all, all.ty().poison(), &elements)
    }

    /// The numbers of the bytes that elements of `bytes` bytes have among such with room for more.
    fn bytes_of(&self, bytes: u32) -> Vec<u32> {
        let room = bytes.next_power_of_two();
        (0..self.lanes).flat_map(|lane| (0..bytes).map(move |byte| lane * room + byte)).collect()
    }

    /// The mask, for each byte of elements of so many.
    fn packed_mask(&self, bytes: u32, like: Value<'m>) -> Value<'m> {
        let mask = self.masks().vector(self.mask, like);
        let lanes: Vec<u32> = (0..self.lanes * bytes).map(|byte| byte / bytes).collect();
        self.builder.shuffle(mask, mask.ty().poison(), &lanes)
    }

    /// Elements of three, five, six or seven bytes, one behind the other.
    fn load_packed(&mut self, one: Value<'m>, bytes: u32) -> Value<'m> {
        let context = self.region.item.context();
        let at = self.scalar(one.operand(0));
        let all = context.int_type(8).vector(self.lanes * bytes);
        let all = if self.mask.is_full() {
            let new = self.builder.load(all, at);
            new.set_alignment(1);
            new
        } else {
            let mask = self.packed_mask(bytes, at);
            let new = self.masked("llvm.masked.load", &[all, at.ty()], &[at, mask, all.poison()]);
            new.align_argument(0, 1);
            new
        };
        let room = bytes.next_power_of_two();
        // The bytes above an element are cut off again: any will do.
        let places: Vec<u32> = (0..self.lanes)
            .flat_map(|lane| (0..room).map(move |byte| lane * bytes + byte.min(bytes - 1)))
            .collect();
        let spread = self.builder.shuffle(all, all.ty().poison(), &places);
        let wide = self.builder.bitcast(spread, context.int_type(8 * room).vector(self.lanes));
        self.builder.trunc(wide, one.ty().vector(self.lanes))
    }

    fn store_packed(&mut self, one: Value<'m>, bytes: u32) {
        let context = self.region.item.context();
        let value = self.vector(one.operand(0));
        let at = self.scalar(one.operand(1));
        let room = bytes.next_power_of_two();
        let wide = self.builder.zext(value, context.int_type(8 * room).vector(self.lanes));
        let spread = self.builder.bitcast(wide, context.int_type(8).vector(self.lanes * room));
        let all = self.builder.shuffle(spread, spread.ty().poison(), &self.bytes_of(bytes));
        if self.mask.is_full() {
            self.builder.store(all, at).set_alignment(1);
            return;
        }
        let mask = self.packed_mask(bytes, at);
        let new = self.masked("llvm.masked.store", &[all.ty(), at.ty()], &[all, at, mask]);
        new.align_argument(1, 1);
    }

    fn gather(&self, ty: Type<'m>, pointers: Value<'m>, align: u32) -> Value<'m> {
        let mask = self.masks().vector(self.mask, pointers);
        let vector = ty.vector(self.lanes);
        let args = [pointers, mask, vector.poison()];
        let new = self.masked("llvm.masked.gather", &[vector, pointers.ty()], &args);
        new.align_argument(0, align);
        new
    }

    fn scatter(&self, value: Value<'m>, pointers: Value<'m>, align: u32) {
        let mask = self.masks().vector(self.mask, pointers);
        let args = [value, pointers, mask];
        let new = self.masked("llvm.masked.scatter", &[value.ty(), pointers.ty()], &args);
        new.align_argument(1, align);
    }

    pub(super) fn store(&mut self, one: Value<'m>) {
        let (value, address) = (one.operand(0), one.operand(1));
        let ty = value.ty();
        if let Some((_, unit)) = self.plan.privates.of(address) {
            self.private_store(one, unit);
            return;
        }
        match access(&self.region.function.module().data_layout(), self.shape(address), ty) {
            Access::Same => self.store_same(one),
            Access::Consecutive => {
                let at = self.scalar(address);
                let value = self.vector(value);
                self.store_vector(value, at, one.alignment());
            }
            Access::Packed(bytes) => self.store_packed(one, bytes),
            Access::Single => {
                self.each_lane(one);
            }
            _ => {
                let (value, pointers) = (self.vector(value), self.vector(address));
                self.scatter(value, pointers, one.alignment());
            }
        }
    }

    /// A store to one address: the last lane's value stays.
    fn store_same(&mut self, one: Value<'m>) {
        let (value, address) = (one.operand(0), one.operand(1));
        if self.shape(value) == Shape::Uniform {
            // The block runs only if a lane is on.
            self.cloned(one);
            return;
        }
        let values = self.vector(value);
        let at = self.scalar(address);
        let align = one.alignment();
        if self.mask.is_full() {
            let last = self.builder.extract_element(values, self.lane(self.lanes - 1));
            self.builder.store(last, at).set_alignment(align);
            return;
        }
        self.for_lanes(None, |emit, lane, _| {
            let own = emit.builder.extract_element(values, lane);
            emit.builder.store(own, at).set_alignment(align);
            None
        });
    }

    /// The alignment of a vector of the lanes' own elements.
    fn private_align(&self, unit: u64) -> u32 {
        (unit * u64::from(self.lanes)).min(64) as u32
    }

    /// Whether an access of the lanes' own memory may be of all lanes: those that have no work-item
    /// have such memory nevertheless.
    fn is_for_all(&self) -> bool {
        self.mask == self.items
    }

    fn private_load(&mut self, one: Value<'m>, unit: u64) -> Value<'m> {
        let address = one.operand(0);
        let ty = one.ty();
        if self.shape(address) == Shape::Uniform {
            let at = self.scalar(address);
            let (all, align) = (ty.vector(self.lanes), self.private_align(unit));
            return match self.is_for_all() {
                true => self.load_whole(all, at, align),
                false => self.load_vector(all, at, align),
            };
        }
        let pointers = self.lanes_of(address, unit);
        self.gather(ty, pointers, unit as u32)
    }

    fn private_store(&mut self, one: Value<'m>, unit: u64) {
        let address = one.operand(1);
        let value = self.vector(one.operand(0));
        if self.shape(address) == Shape::Uniform {
            let at = self.scalar(address);
            if self.is_for_all() {
                self.builder.store(value, at).set_alignment(self.private_align(unit));
                return;
            }
            self.store_vector(value, at, self.private_align(unit));
            return;
        }
        let pointers = self.lanes_of(address, unit);
        self.scatter(value, pointers, unit as u32);
    }

    /// The addresses of the lanes' own elements.
    fn lanes_of(&mut self, address: Value<'m>, unit: u64) -> Value<'m> {
        let first = self.vector(address);
        let context = self.region.item.context();
        let number = context.int_type(64);
        let steps: Vec<_> =
            (0..u64::from(self.lanes)).map(|lane| number.const_int(lane * unit, false)).collect();
        self.builder.gep(context.int_type(8), first, &[Value::const_vector(&steps)])
    }

    /// An address of interleaved memory: all steps are as many times as long as there are lanes.
    pub(super) fn private_address(&mut self, one: Value<'m>) -> Value<'m> {
        let context = self.region.item.context();
        let layout = self.region.function.module().data_layout();
        let number = context.int_type(64);
        let is_vector = self.shape(one) != Shape::Uniform;
        let lanes = u64::from(self.lanes);
        let base = one.operand(0);
        let mut at = if is_vector && self.shape(base) != Shape::Uniform {
            self.vector(base)
        } else {
            self.scalar(base)
        };
        let mut ty = one.gep_source_type();
        for (place, index) in one.operands().skip(1).enumerate() {
            if place > 0 {
                if ty.kind() == TypeKind::Struct {
                    let field = index.zext_value() as u32;
                    let offset = layout.offset_of(ty, field) * lanes;
                    ty = ty.field_type(field);
                    let offset = number.const_int(offset, false);
                    at = self.builder.gep(context.int_type(8), at, &[offset]);
                    continue;
                }
                ty = ty.element_type();
            }
            let size = layout.abi_size(ty) * lanes;
            let own = match self.shape(index) {
                Shape::Uniform => self.scalar(index),
                _ => self.vector(index),
            };
            let wide = if own.ty().is_vector() { number.vector(self.lanes) } else { number };
            let own = self.builder.int_cast(own, wide, true);
            at = self.builder.gep(context.int_type(8).array(size), at, &[own]);
        }
        at
    }

    /// Fills elements of all lanes that are on.
    pub(super) fn private_memset(&mut self, one: Value<'m>) {
        let address = one.operand(0);
        let Some((_, unit)) = self.plan.privates.of(address) else { return };
        let context = self.region.item.context();
        let byte = one.operand(1).zext_value();
        let length = one.operand(2).zext_value();
        let at = self.scalar(address);
        let lanes = u64::from(self.lanes);
        let number = context.int_type(64);
        let element = context.int_type(8 * unit as u32);
        let bytes = byte.wrapping_mul(0x0101_0101_0101_0101);
        let value = element.const_int(bytes & (!0 >> (64 - 8 * unit)), false);
        let value = self.splat(value);
        let count = length / unit;
        let before = self.at;
        let (head, after) = (self.new_block("vector.fill"), self.new_block("vector.filled"));
        if count == 0 {
            self.builder.br(after);
            self.go_on_at(after);
            head.delete();
            return;
        }
        self.builder.br(head);
        self.go_on_at(head);
        let index = self.builder.phi(number);
        let to = self.builder.gep(context.int_type(8).array(unit * lanes), at, &[index]);
        self.store_vector(value, to, self.private_align(unit));
        let next = self.builder.add(index, number.const_int(1, false));
        let more = self.builder.icmp(IntPredicate::NE, next, number.const_int(count, false));
        self.builder.cond_br(more, head, after);
        index.add_incoming(number.zero(), before);
        index.add_incoming(next, head);
        self.go_on_at(after);
    }
}
