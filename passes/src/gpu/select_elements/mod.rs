//! Keeps small private arrays in registers whose indices are known but for a choice. Runs in stage 2, for
//! GPUs, after optimisation.
//!
//! Before:
//! ```llvm
//!   %rows = alloca [2 x float]
//!   ...
//!   %pivot = select i1 %larger, i64 1, i64 0
//!   %at = getelementptr inbounds float, ptr %rows, i64 %pivot
//!   %value = load float, ptr %at
//!   store float %new, ptr %at
//! ```
//! After:
//! ```llvm
//!   %value = select i1 %larger, float %rows.1, float %rows.0
//!   %rows.0.new = select i1 %larger, float %rows.0, float %new
//!   %rows.1.new = select i1 %larger, float %new, float %rows.1
//! ```
//!
//! Registers have no addresses, so one index that is chosen at run time keeps the whole array in memory, and
//! with it all of its other accesses. Where an index is one of a few constants (`choice.rs`) it takes as many
//! instructions less one to select the element, and as many to store to it. That is what pivots, swaps and
//! small tables have. An index that nothing is known of is that of an element of the array, whatever it is.
//!
//! All accesses of an array are of one size, or of several elements at once; copies become such. The pass is
//! for arrays whose accesses would take longer in memory.

mod choice;

use std::collections::{BTreeSet, HashMap};

use schism_llvm::{Builder, Opcode, Type, TypeKind, Value};

use crate::gpu::expand_mem_intrinsics::alignment;
use crate::gpu::select_elements::choice::{Choice, sign_extended};
use crate::ir::cfg::Cfg;
use crate::llvm_passes;

/// Bytes of an array that may be in registers.
const BYTES: u64 = 256;

/// The most elements of an array that one access reads or writes.
const ELEMENTS: u64 = 64;

/// The most instructions that an array's accesses become.
const MOST: u64 = 1024;

/// How many instructions of arithmetic are executed in the time of an access of private memory.
const ACCESS: u64 = 4;

/// How much oftener a loop's instructions are executed than those around it.
const TURNS: u64 = 4;

/// Runs the pass over a function with a body.
///
/// # Errors
/// LLVM's message, if its passes fail.
pub fn run(function: Value<'_>) -> Result<(), String> {
    if function.has_function_attribute("optnone") {
        return Ok(());
    }
    let mut is_changed = false;
    for local in function.allocas() {
        if let Some(plan) = Plan::of(local)
            && plan.gains()
        {
            plan.apply();
            is_changed = true;
        }
    }
    if is_changed {
        function.run_passes(llvm_passes::SELECTED_ELEMENTS)?;
    }
    Ok(())
}

/// An array, and what accesses it.
struct Plan<'m> {
    local: Value<'m>,
    /// Bytes of it.
    size: u64,
    /// The type of its elements, and its bytes.
    element: Type<'m>,
    bytes: u64,
    accesses: Vec<Access<'m>>,
    /// What else refers to it: addresses, each behind those that it is computed from, and its lifetime.
    others: Vec<Value<'m>>,
}

/// An access of an array.
struct Access<'m> {
    instruction: Value<'m>,
    /// Where it reads, and where it writes, if that is in the array.
    reads: Option<Choice<'m>>,
    writes: Option<Choice<'m>>,
    /// How many bytes.
    length: u64,
}

impl<'m> Access<'m> {
    /// The type of what is read or written, unless it is copied or filled.
    fn ty(&self) -> Option<Type<'m>> {
        match self.instruction.opcode()? {
            Opcode::Load => Some(self.instruction.ty()),
            Opcode::Store => Some(self.instruction.operand(0).ty()),
            _ => None,
        }
    }
}

impl<'m> Plan<'m> {
    /// What is known of an array; `None` if it must stay in memory.
    fn of(local: Value<'m>) -> Option<Self> {
        if local.is_dynamic_alloca() || local.operand(0).as_unsigned() != Some(1) {
            return None;
        }
        let size = layout(local).abi_size(local.allocated_type());
        let places = Places { local, size };
        let (mut accesses, mut others) = (Vec::new(), Vec::new());
        let (mut seen, mut open) = (BTreeSet::new(), vec![local]);
        while let Some(pointer) = open.pop() {
            for user in pointer.users() {
                if !seen.insert(user) {
                    continue;
                }
                match user.opcode()? {
                    Opcode::Load | Opcode::Store => accesses.push(access(user, &places)?),
                    Opcode::Call if user.calls_intrinsic(&["lifetime."]) => others.push(user),
                    Opcode::Call => accesses.push(copy(user, &places)?),
                    Opcode::GetElementPtr | Opcode::AddrSpaceCast | Opcode::Select => {
                        others.push(user);
                        open.push(user);
                    }
                    _ => return None,
                }
            }
        }
        let types: Vec<Type<'m>> = accesses.iter().filter_map(Access::ty).collect();
        let bytes = types.iter().map(|ty| layout(local).abi_size(*ty)).min()?;
        let small = || types.iter().filter(|ty| layout(local).abi_size(**ty) == bytes);
        let is_pointer = |ty: &Type<'m>| ty.kind() == TypeKind::Pointer;
        let first = *small().next()?;
        let element = if types.iter().all(|ty| *ty == first) {
            first
        } else if types.iter().any(is_pointer) {
            return None;
        } else if small().all(|ty| *ty == first) {
            first
        } else {
            local.context().int_type(u32::try_from(8 * bytes).ok()?)
        };
        let plan = Self { local, size, element, bytes, accesses, others };
        let fits = |access: &Access<'m>| {
            let places = [&access.reads, &access.writes].into_iter().flatten();
            let mut offsets = places.flat_map(|place| plan.offsets(place, access.length));
            let elements = access.length / bytes;
            access.length.is_multiple_of(bytes)
                && (1..=ELEMENTS).contains(&elements)
                && (access.ty().is_none() || elements <= 4)
                && offsets.all(|offset| offset.is_multiple_of(bytes))
        };
        let is_small = size <= BYTES && bytes <= 8 && size.is_multiple_of(bytes);
        (is_small && plan.accesses.iter().all(fits)).then_some(plan)
    }

    /// Where an access of that many bytes may be: anything outside of the array is undefined behaviour.
    fn offsets(&self, place: &Choice<'m>, length: u64) -> BTreeSet<u64> {
        let is_inside =
            |offset: &u64| offset.checked_add(length).is_some_and(|end| end <= self.size);
        place.constants().into_iter().filter(is_inside).collect()
    }

    /// Whether the accesses take less time in registers, and are not all known anyway.
    fn gains(&self) -> bool {
        let cfg = Cfg::of(self.local.parent_function());
        let loops = cfg.natural_loops();
        let words = self.bytes.div_ceil(4);
        let (mut chosen, mut all, mut in_memory, mut in_registers) = (false, 0, 0, 0);
        for access in &self.accesses {
            let block = cfg.block_of(access.instruction);
            let depth = loops.iter().filter(|one| one.blocks.contains(&block)).count();
            let turns = TURNS.pow(depth.min(3) as u32);
            let elements = access.length / self.bytes;
            for (place, is_read) in [(&access.reads, true), (&access.writes, false)] {
                let Some(place) = place else { continue };
                let offsets = self.offsets(place, access.length).len() as u64;
                chosen |= offsets > 1;
                let selects = match offsets {
                    0 | 1 => 0,
                    _ if is_read => offsets - 1,
                    _ => offsets,
                };
                // The conditions are the same for all elements.
                let instructions = selects * (elements * words + 1);
                all += instructions;
                in_registers += turns * instructions;
                in_memory += turns * ACCESS * elements;
            }
        }
        chosen && all <= MOST && in_registers <= in_memory
    }

    /// Makes a local of each element, and accesses of these.
    fn apply(self) {
        let builder = Builder::before(self.local);
        let elements = (0..self.size / self.bytes).map(|_| builder.alloca(self.element)).collect();
        let elements = Elements { plan: &self, elements };
        for access in &self.accesses {
            elements.replace(access);
        }
        for one in self.accesses.iter().map(|access| access.instruction) {
            one.erase();
        }
        let mut others = self.others;
        while !others.is_empty() {
            let (used, unused): (Vec<_>, Vec<_>) =
                others.into_iter().partition(|one| one.is_used());
            unused.into_iter().for_each(Value::erase);
            others = used;
        }
        self.local.erase();
    }
}

/// The elements of an array, as locals.
struct Elements<'p, 'm> {
    plan: &'p Plan<'m>,
    elements: Vec<Value<'m>>,
}

impl<'m> Elements<'_, 'm> {
    /// Puts what accesses the elements before an access of the array.
    fn replace(&self, access: &Access<'m>) {
        let instruction = access.instruction;
        let builder = Builder::before(instruction);
        let bytes = self.plan.bytes;
        let at: Vec<u64> = (0..access.length / bytes).map(|index| index * bytes).collect();
        let values: Vec<Value<'m>> = match &access.reads {
            Some(place) => {
                at.iter().map(|at| self.read(&builder, place, *at, access.length)).collect()
            }
            None => {
                let elements = at.len();
                at.iter().map(|at| self.source(&builder, instruction, *at, elements)).collect()
            }
        };
        match (&access.writes, instruction.opcode()) {
            (_, Some(Opcode::Load)) => {
                instruction.replace_uses(self.joined(&builder, &values, instruction.ty()));
            }
            (Some(place), _) => {
                for (at, value) in at.into_iter().zip(values) {
                    self.write(&builder, place, at, access.length, value);
                }
            }
            (None, _) => {
                let align = alignment(instruction, 1);
                for (at, value) in at.into_iter().zip(values) {
                    let to = self.foreign(&builder, instruction.operand(0), at);
                    builder.store(value, to).set_alignment(aligned(align, at));
                }
            }
        }
    }

    /// Loads an element of a place.
    fn read(&self, builder: &Builder<'m>, place: &Choice<'m>, at: u64, length: u64) -> Value<'m> {
        let element = self.plan.element;
        let offsets = self.plan.offsets(place, length);
        let values: HashMap<u64, Value<'m>> = offsets
            .into_iter()
            .map(|offset| (offset, builder.load(element, self.element(offset + at))))
            .collect();
        place.select(builder, &mut |offset| {
            values.get(&offset).copied().unwrap_or_else(|| element.poison())
        })
    }

    /// Stores an element of a place.
    fn write(
        &self,
        builder: &Builder<'m>,
        place: &Choice<'m>,
        at: u64,
        length: u64,
        value: Value<'m>,
    ) {
        let offsets = self.plan.offsets(place, length);
        let condition = value.context().int_type(1);
        // All are decided before the first one is written.
        let mut writes = Vec::new();
        for &offset in &offsets {
            let to = self.element(offset + at);
            let value = match offsets.len() {
                1 => value,
                _ => {
                    let is_it = place.select(builder, &mut |chosen| {
                        condition.const_int(u64::from(chosen == offset), false)
                    });
                    builder.select(is_it, value, builder.load(self.plan.element, to))
                }
            };
            writes.push((value, to));
        }
        for (value, to) in writes {
            builder.store(value, to);
        }
    }

    fn element(&self, offset: u64) -> Value<'m> {
        self.elements[(offset / self.plan.bytes) as usize]
    }

    /// What an instruction writes to an element, if that is not from the array.
    fn source(
        &self,
        builder: &Builder<'m>,
        instruction: Value<'m>,
        at: u64,
        elements: usize,
    ) -> Value<'m> {
        let (element, bytes) = (self.plan.element, self.plan.bytes);
        let value = instruction.operand(0);
        if instruction.opcode() == Some(Opcode::Store) {
            if elements == 1 {
                return converted(builder, value, element);
            }
            let whole = self.integer(elements as u64 * bytes);
            let all = converted(builder, value, whole);
            let shifted = builder.binary(Opcode::LShr, all, whole.const_int(8 * at, false));
            let part = builder.cast(Opcode::Trunc, shifted, self.integer(bytes));
            return converted(builder, part, element);
        }
        let source = instruction.operand(1);
        if instruction.calls_intrinsic(&["memset.p"]) {
            let byte = source.as_unsigned().unwrap_or(0);
            let word = (0..bytes.min(8)).fold(0, |word, _| word << 8 | byte);
            return match element.kind() {
                _ if word == 0 => element.zero(),
                _ => converted(builder, self.integer(bytes).const_int(word, false), element),
            };
        }
        let align = alignment(instruction, 2);
        let load = builder.load(element, self.foreign(builder, source, at));
        load.set_alignment(aligned(align, at));
        load
    }

    /// A value of several elements.
    fn joined(&self, builder: &Builder<'m>, values: &[Value<'m>], ty: Type<'m>) -> Value<'m> {
        let &[value] = values else {
            let whole = self.integer(values.len() as u64 * self.plan.bytes);
            let parts = values.iter().zip(0..).map(|(value, index)| {
                let part = converted(builder, *value, self.integer(self.plan.bytes));
                let part = builder.cast(Opcode::ZExt, part, whole);
                let bits = whole.const_int(8 * self.plan.bytes * index, false);
                builder.binary(Opcode::Shl, part, bits)
            });
            let all = parts.reduce(|all, part| builder.binary(Opcode::Or, all, part));
            return converted(builder, all.unwrap_or_else(|| whole.zero()), ty);
        };
        converted(builder, value, ty)
    }

    fn integer(&self, bytes: u64) -> Type<'m> {
        self.plan.local.context().int_type(8 * bytes as u32)
    }

    /// An address in other memory.
    fn foreign(&self, builder: &Builder<'m>, pointer: Value<'m>, at: u64) -> Value<'m> {
        let context = pointer.context();
        builder.gep(context.int_type(8), pointer, &[context.int_type(64).const_int(at, false)])
    }
}

/// A value with the same bits, of another type of that size.
fn converted<'m>(builder: &Builder<'m>, value: Value<'m>, ty: Type<'m>) -> Value<'m> {
    if value.ty() == ty { value } else { builder.cast(Opcode::BitCast, value, ty) }
}

/// The addresses in an array.
struct Places<'m> {
    local: Value<'m>,
    size: u64,
}

impl<'m> Places<'m> {
    /// Whether an address may be in the array. No phi is.
    fn contain(&self, address: Value<'m>) -> bool {
        address == self.local
            || match address.opcode() {
                Some(Opcode::AddrSpaceCast | Opcode::GetElementPtr) => {
                    self.contain(address.operand(0))
                }
                Some(Opcode::Select) => {
                    [1, 2].into_iter().any(|index| self.contain(address.operand(index)))
                }
                _ => false,
            }
    }

    /// The offset of an address, if it is one of a few.
    fn of(&self, address: Value<'m>) -> Option<Choice<'m>> {
        if address == self.local {
            return Some(Choice::Known(0));
        }
        match address.opcode()? {
            Opcode::AddrSpaceCast => self.of(address.operand(0)),
            Opcode::Select => {
                let [then, other] = [1, 2].map(|index| self.of(address.operand(index)));
                Some(Choice::chosen(address.operand(0), then?, other?))
            }
            Opcode::GetElementPtr => self.of_element(address),
            _ => None,
        }
    }

    fn of_element(&self, address: Value<'m>) -> Option<Choice<'m>> {
        let mut place = self.of(address.operand(0))?;
        // What each index counts.
        let layout = layout(address);
        let mut ty = address.gep_source_type();
        let mut unknown = None;
        for (index, number) in address.operands().skip(1).zip(0..) {
            let mut bytes = layout.abi_size(ty);
            if number > 0 {
                match ty.kind() {
                    TypeKind::Array => {
                        ty = ty.element_type();
                        bytes = layout.abi_size(ty);
                    }
                    TypeKind::Struct => {
                        let field = index.as_unsigned()? as u32;
                        let offset = layout.offset_of(ty, field);
                        ty = ty.field_type(field);
                        place = place.map(&|place| place.wrapping_add(offset));
                        continue;
                    }
                    _ => return None,
                }
            }
            let bits = index.ty().int_width();
            let Some(choice) = Choice::of(index) else {
                if unknown.replace((index, bytes)).is_some() {
                    return None;
                }
                continue;
            };
            let offset = choice.map(&|known| sign_extended(known, bits).wrapping_mul(bytes));
            place = place.combined(&offset, &u64::wrapping_add)?;
        }
        match unknown {
            None => Some(place),
            Some((index, bytes)) => self.anywhere(address, &place, index, bytes),
        }
    }

    /// The offsets of an address with an index that nothing is known of: all of the array.
    fn anywhere(
        &self,
        address: Value<'m>,
        place: &Choice<'m>,
        index: Value<'m>,
        bytes: u64,
    ) -> Option<Choice<'m>> {
        let Choice::Known(first) = *place else { return None };
        let bits = index.ty().int_width();
        if !address.is_inbounds() || bytes == 0 || first >= self.size || bits > 64 {
            return None;
        }
        let is_access =
            |user: &Value<'m>| matches!(user.opcode(), Some(Opcode::Load | Opcode::Store));
        // An address that continues may begin one behind the end.
        let most = match address.users().iter().all(is_access) {
            true => self.size - 1 - first,
            false => self.size - first,
        };
        let [below, above] = [first / bytes, most / bytes].map(|number| number as i64);
        if below + above >= BYTES as i64 {
            return None;
        }
        let mask = u64::MAX >> (64 - bits);
        let constants = (-below..=above).map(|index| index.cast_unsigned() & mask).collect();
        let choice = Choice::among(index, constants)?;
        Some(
            choice.map(&|known| sign_extended(known, bits).wrapping_mul(bytes).wrapping_add(first)),
        )
    }
}

/// A load or a store.
fn access<'m>(instruction: Value<'m>, places: &Places<'m>) -> Option<Access<'m>> {
    let is_load = instruction.opcode() == Some(Opcode::Load);
    let ty = if is_load { instruction.ty() } else { instruction.operand(0).ty() };
    let length = layout(instruction).abi_size(ty);
    let is_plain = match ty.kind() {
        TypeKind::Integer => u64::from(ty.int_width()) == 8 * length,
        TypeKind::Half | TypeKind::Float | TypeKind::Double | TypeKind::Pointer => true,
        _ => false,
    };
    if !is_plain || !instruction.is_simple() {
        return None;
    }
    let place = places.of(instruction.operand(u32::from(!is_load)))?;
    // The address of the array may be stored, even to itself.
    if !is_load && places.contain(instruction.operand(0)) {
        return None;
    }
    let (reads, writes) = if is_load { (Some(place), None) } else { (None, Some(place)) };
    Some(Access { instruction, reads, writes, length })
}

/// A call that copies or fills a known number of bytes.
fn copy<'m>(call: Value<'m>, places: &Places<'m>) -> Option<Access<'m>> {
    let fills = call.calls_intrinsic(&["memset.p"]);
    if !fills && !call.calls_intrinsic(&["memcpy.p", "memmove.p"]) {
        return None;
    }
    let length = call.operand(2).as_unsigned()?;
    if !call.operand(3).is_zero() || fills && call.operand(1).as_unsigned().is_none() {
        return None;
    }
    let place = |address: Value<'m>| match places.contain(address) {
        true => places.of(address).map(Some),
        false => Some(None),
    };
    let writes = place(call.operand(0))?;
    let reads = if fills { None } else { place(call.operand(1))? };
    Some(Access { instruction: call, reads, writes, length })
}

/// The alignment at an offset from an aligned address.
fn aligned(align: u64, at: u64) -> u32 {
    1 << (align | at).trailing_zeros().min(8)
}

fn layout<'m>(value: Value<'m>) -> schism_llvm::DataLayout<'m> {
    value.parent_function().module().data_layout()
}
