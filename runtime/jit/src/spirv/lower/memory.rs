//! Addresses, loads, stores and copies.

use rspirv::dr::Operand;
use rspirv::spirv::{MemoryAccess, Op, Word};
use schism_llvm::{Opcode, Type, TypeKind, Value, enum_kind};

use super::instructions::is_bits;
use super::types::{held_in, is_bit, is_i128, is_whole, storage_class};
use super::{Lowered, Lowering, refuse};

impl<'m> Lowering<'m> {
    /// A pointer to a type of SPIR-V, of one to bytes.
    pub fn typed(&mut self, pointer: Word, space: u32, pointee: Word) -> Lowered<Word> {
        let class = storage_class(space)?;
        if pointee == self.int(8) {
            return Ok(pointer);
        }
        let ty = self.pointer_to(class, pointee);
        Ok(self.emit_of(Op::Bitcast, ty, &[pointer]))
    }

    /// A pointer at an offset in bytes from another.
    pub fn at_offset(&mut self, pointer: Word, space: u32, offset: u64) -> Lowered<Word> {
        if offset == 0 {
            return Ok(pointer);
        }
        let ty = self.pointer(space)?;
        let offset = self.number(64, offset);
        Ok(self.emit_of(Op::InBoundsPtrAccessChain, ty, &[pointer, offset]))
    }

    /// What the indices of an address amount to in bytes: a constant, and indices that are not
    /// constant, each with its factor.
    pub fn gep_terms(&self, it: Value<'m>) -> Lowered<(i64, Vec<(Value<'m>, u64)>)> {
        let mut ty = it.gep_source_type();
        let mut offset = 0_i64;
        let mut terms = Vec::new();
        for (index, number) in it.operands().skip(1).zip(0..) {
            if index.ty().kind() != TypeKind::Integer {
                return refuse("vectors of addresses");
            }
            if number > 0 && ty.kind() == TypeKind::Struct {
                let Some(field) = index.as_unsigned() else {
                    return refuse("a field that is not constant");
                };
                let place = self.layout.offset_of(ty, field as u32);
                offset = offset.wrapping_add(place.cast_signed());
                ty = ty.field_type(field as u32);
                continue;
            }
            if number > 0 {
                if !matches!(ty.kind(), TypeKind::Array | TypeKind::Vector) {
                    return refuse(format!("an element of `{}`", ty.text()));
                }
                ty = ty.element_type();
            }
            let size = self.layout.abi_size(ty);
            match index.as_signed() {
                Some(index) => {
                    offset = offset.wrapping_add(index.wrapping_mul(size.cast_signed()));
                }
                None if index.is_undef() => {}
                None => terms.push((index, size)),
            }
        }
        Ok((offset, terms))
    }

    /// Whether an instruction computes an address at a constant distance from another.
    pub fn is_displacement(&self, it: Value<'m>) -> Lowered<bool> {
        let is_address = it.opcode() == Some(Opcode::GetElementPtr);
        Ok(is_address && it.ty().kind() == TypeKind::Pointer && self.gep_terms(it)?.1.is_empty())
    }

    /// An address computed of another one and indices.
    pub fn gep(&mut self, it: Value<'m>) -> Lowered<Word> {
        if it.ty().kind() != TypeKind::Pointer {
            return refuse("vectors of addresses");
        }
        let space = it.ty().address_space();
        let base = self.value(it.operand(0))?;
        let (offset, terms) = self.gep_terms(it)?;
        let in_bounds = it.gep_flags() & 1 != 0;
        let op = if in_bounds { Op::InBoundsPtrAccessChain } else { Op::PtrAccessChain };
        let bytes = self.pointer(space)?;
        let element = it.gep_source_type();
        if let ([(index, _)], 0) = (&*terms, offset)
            && it.num_operands() == 2
            && is_whole(element)
            && !element.is_vector()
        {
            let index = self.index(*index)?;
            let element = self.ty(element)?;
            let typed = self.typed(base, space, element)?;
            let ty = self.pointer_to(storage_class(space)?, element);
            let at = self.emit_of(op, ty, &[typed, index]);
            return Ok(self.pointer_to_bytes(at, ty, bytes));
        }
        let long = self.int(64);
        let mut sum = None;
        for (index, size) in terms {
            let mut term = self.index(index)?;
            if size != 1 {
                let size = self.number(64, size);
                term = self.emit_of(Op::IMul, long, &[term, size]);
            }
            sum = Some(match sum {
                Some(sum) => self.emit_of(Op::IAdd, long, &[sum, term]),
                None => term,
            });
        }
        let sum = match (sum, offset) {
            (None, 0) => return Ok(base),
            (Some(sum), 0) => sum,
            (None, offset) => self.number(64, offset.cast_unsigned()),
            (Some(sum), offset) => {
                let offset = self.number(64, offset.cast_unsigned());
                self.emit_of(Op::IAdd, long, &[sum, offset])
            }
        };
        Ok(self.emit_of(op, bytes, &[base, sum]))
    }

    /// A pointer of a type as one to bytes.
    fn pointer_to_bytes(&mut self, pointer: Word, ty: Word, bytes: Word) -> Word {
        if ty == bytes { pointer } else { self.emit_of(Op::Bitcast, bytes, &[pointer]) }
    }

    /// An index, in 64 bits.
    fn index(&mut self, index: Value<'m>) -> Lowered<Word> {
        let bits = index.ty().int_width();
        if bits > 64 {
            return refuse(format!("an index of {bits} bits"));
        }
        if bits == 1 {
            let bit = self.value(index)?;
            let number = self.bit_as_number(bit, 64);
            let long = self.int(64);
            return Ok(self.emit_of(Op::SNegate, long, &[number]));
        }
        let value = self.signed(index)?;
        if bits > 32 {
            return Ok(value);
        }
        let long = self.int(64);
        Ok(self.emit_of(Op::SConvert, long, &[value]))
    }

    /// How an access accesses memory.
    fn access(align: u64, is_volatile: bool) -> Vec<Operand> {
        let volatile = if is_volatile { MemoryAccess::VOLATILE } else { MemoryAccess::NONE };
        let align = u32::try_from(align).unwrap_or(1 << 31);
        vec![Operand::MemoryAccess(MemoryAccess::ALIGNED | volatile), Operand::LiteralBit32(align)]
    }

    pub fn load(&mut self, it: Value<'m>) -> Lowered<Word> {
        if it.is_atomic() {
            return self.atomic_load(it);
        }
        let address = it.operand(0);
        let space = address.ty().address_space();
        let mut pointer = self.value(address)?;
        if self.hoisted_loads.contains(&it) {
            pointer = self.own_address(pointer, space)?;
        }
        self.load_from(pointer, space, it.ty(), u64::from(it.alignment()), it.is_volatile())
    }

    fn load_from(
        &mut self,
        pointer: Word,
        space: u32,
        ty: Type<'m>,
        align: u64,
        is_volatile: bool,
    ) -> Lowered<Word> {
        if let Some(parts) = self.parts(ty)? {
            let mut values = Vec::new();
            for (part, offset) in parts {
                let at = self.at_offset(pointer, space, offset)?;
                let align = align_at(align, offset);
                values.push(self.load_from(at, space, part, align, is_volatile)?);
            }
            let ty = self.ty(ty)?;
            return Ok(self.emit_of(Op::CompositeConstruct, ty, &values));
        }
        if is_i128(ty) && ty.int_width() == 128 {
            let long = self.int(64);
            let mut halves = [0; 2];
            for (half, offset) in halves.iter_mut().zip([0, 8]) {
                let at = self.at_offset(pointer, space, offset)?;
                let at = self.typed(at, space, long)?;
                let mut operands = vec![Operand::IdRef(at)];
                operands.extend(Self::access(align_at(align, offset), is_volatile));
                *half = self.emit(Op::Load, long, operands);
            }
            return self.of_halves(ty, halves[0], halves[1]);
        }
        if let Some((low, high)) = halves_of(ty) {
            let first = self.load_from(pointer, space, low, align, is_volatile)?;
            let at = self.at_offset(pointer, space, 8)?;
            let rest = self.load_from(at, space, high, align_at(align, 8), is_volatile)?;
            let long = self.int(64);
            let rest = match high.int_width() {
                1 => self.bit_as_number(rest, 64),
                bits if held_in(bits)? == 64 => rest,
                _ => self.emit_of(Op::UConvert, long, &[rest]),
            };
            return self.of_halves(ty, first, rest);
        }
        if has_pieces(ty) {
            return self.load_pieces(pointer, space, ty, (align, is_volatile));
        }
        if let Some(number) = number_for(ty) {
            let number = self.load_from(pointer, space, number, align, is_volatile)?;
            return self.bits_of_number(number, number_for(ty).unwrap_or(ty), ty);
        }
        let is_one_bit = is_bit(ty) && !ty.is_vector();
        let pointee = if is_one_bit { self.int(8) } else { self.in_memory(ty)? };
        let pointer = self.typed(pointer, space, pointee)?;
        let mut operands = vec![Operand::IdRef(pointer)];
        operands.extend(Self::access(align, is_volatile));
        let value = self.emit(Op::Load, pointee, operands);
        Ok(if is_one_bit { self.number_as_bit(value, 8) } else { value })
    }

    pub fn store(&mut self, it: Value<'m>) -> Lowered<()> {
        if it.is_atomic() {
            return self.atomic_store(it);
        }
        let (value, address) = (it.operand(0), it.operand(1));
        let space = address.ty().address_space();
        let pointer = self.value(address)?;
        let id = self.value(value)?;
        let align = u64::from(it.alignment());
        let is_fill = may_be_private(space) && repeats_a_byte(value);
        self.store_to(pointer, space, id, value.ty(), align, it.is_volatile() || is_fill)
    }

    fn store_to(
        &mut self,
        pointer: Word,
        space: u32,
        mut value: Word,
        ty: Type<'m>,
        align: u64,
        is_volatile: bool,
    ) -> Lowered<()> {
        if let Some(parts) = self.parts(ty)? {
            for ((part, offset), index) in parts.into_iter().zip(0..) {
                let at = self.at_offset(pointer, space, offset)?;
                let of = self.ty(part)?;
                let operands = vec![Operand::IdRef(value), Operand::LiteralBit32(index)];
                let one = self.emit(Op::CompositeExtract, of, operands);
                self.store_to(at, space, one, part, align_at(align, offset), is_volatile)?;
            }
            return Ok(());
        }
        if is_i128(ty) && ty.int_width() == 128 {
            let long = self.int(64);
            for (half, offset) in self.int128_to_memory(value).into_iter().zip([0, 8]) {
                let at = self.at_offset(pointer, space, offset)?;
                let at = self.typed(at, space, long)?;
                let mut operands = vec![Operand::IdRef(at), Operand::IdRef(half)];
                operands.extend(Self::access(align_at(align, offset), is_volatile));
                self.emit_void(Op::Store, operands);
            }
            return Ok(());
        }
        if let Some((low, high)) = halves_of(ty) {
            let [first, rest] = self.int128_to_memory(value);
            self.store_to(pointer, space, first, low, align, is_volatile)?;
            let at = self.at_offset(pointer, space, 8)?;
            let rest = match high.int_width() {
                1 => self.number_as_bit(rest, 64),
                bits if held_in(bits)? == 64 => rest,
                _ => {
                    let own = self.ty(high)?;
                    self.emit_of(Op::UConvert, own, &[rest])
                }
            };
            return self.store_to(at, space, rest, high, align_at(align, 8), is_volatile);
        }
        if has_pieces(ty) {
            return self.store_pieces(pointer, space, value, ty, (align, is_volatile));
        }
        if let Some(number) = number_for(ty) {
            let value = self.number_of_bits(value, ty.vector_size(), number)?;
            return self.store_to(pointer, space, value, number, align, is_volatile);
        }
        let pointee = if is_bit(ty) && !ty.is_vector() {
            value = self.bit_as_number(value, 8);
            self.int(8)
        } else {
            self.in_memory(ty)?
        };
        let pointer = self.typed(pointer, space, pointee)?;
        let mut operands = vec![Operand::IdRef(pointer), Operand::IdRef(value)];
        operands.extend(Self::access(align, is_volatile));
        self.emit_void(Op::Store, operands);
        Ok(())
    }

    /// An integer of a width that SPIR-V does not have, of the numbers that it is in memory.
    fn load_pieces(
        &mut self,
        pointer: Word,
        space: u32,
        ty: Type<'m>,
        (align, is_volatile): (u64, bool),
    ) -> Lowered<Word> {
        let own = self.ty(ty)?;
        let mut sum = None;
        for (bits, offset) in pieces(ty) {
            let piece = self.int(bits);
            let at = self.at_offset(pointer, space, offset)?;
            let at = self.typed(at, space, piece)?;
            let mut operands = vec![Operand::IdRef(at)];
            operands.extend(Self::access(align_at(align, offset), is_volatile));
            let value = self.emit(Op::Load, piece, operands);
            let same = bits == held_in(ty.int_width())?;
            let mut value = if same { value } else { self.emit_of(Op::UConvert, own, &[value]) };
            if offset != 0 {
                let by = self.number_like(ty, offset * 8)?;
                value = self.emit_of(Op::ShiftLeftLogical, own, &[value, by]);
            }
            sum = Some(match sum {
                Some(sum) => self.emit_of(Op::BitwiseOr, own, &[sum, value]),
                None => value,
            });
        }
        let Some(sum) = sum else { return refuse(format!("`{}` in memory", ty.text())) };
        self.cut(ty, sum)
    }

    fn store_pieces(
        &mut self,
        pointer: Word,
        space: u32,
        value: Word,
        ty: Type<'m>,
        (align, is_volatile): (u64, bool),
    ) -> Lowered<()> {
        let own = self.ty(ty)?;
        for (bits, offset) in pieces(ty) {
            let mut part = value;
            if offset != 0 {
                let by = self.number_like(ty, offset * 8)?;
                part = self.emit_of(Op::ShiftRightLogical, own, &[value, by]);
            }
            let piece = self.int(bits);
            if bits != held_in(ty.int_width())? {
                part = self.emit_of(Op::UConvert, piece, &[part]);
            }
            let at = self.at_offset(pointer, space, offset)?;
            let at = self.typed(at, space, piece)?;
            let mut operands = vec![Operand::IdRef(at), Operand::IdRef(part)];
            operands.extend(Self::access(align_at(align, offset), is_volatile));
            self.emit_void(Op::Store, operands);
        }
        Ok(())
    }

    /// The parts of an aggregate, and where each is.
    fn parts(&self, ty: Type<'m>) -> Lowered<Option<Vec<(Type<'m>, u64)>>> {
        /// An aggregate in a register that has more parts is a mistake.
        const MOST: u64 = 1024;
        Ok(match ty.kind() {
            TypeKind::Struct => {
                let fields = 0..ty.num_fields();
                let part = |index| (ty.field_type(index), self.layout.offset_of(ty, index));
                Some(fields.map(part).collect())
            }
            TypeKind::Array if ty.array_length() > MOST => {
                return refuse(format!("a value of type `{}`", ty.text()));
            }
            TypeKind::Array => {
                let element = ty.element_type();
                let size = self.layout.abi_size(element);
                Some((0..ty.array_length()).map(|index| (element, index * size)).collect())
            }
            _ => None,
        })
    }

    /// The type of a value that memory can hold.
    fn in_memory(&mut self, ty: Type<'m>) -> Lowered<Word> {
        if ty.kind() != TypeKind::Pointer && !is_whole(ty) {
            return refuse(format!("`{}` in memory", ty.text()));
        }
        self.ty(ty)
    }

    /// `llvm.memcpy`.
    pub fn copy(&mut self, call: Value<'m>) -> Lowered<()> {
        let [to, from, size] = [0, 1, 2].map(|index| call.operand(index));
        if size.as_unsigned() == Some(0) {
            return Ok(());
        }
        let align = |index: u32| call.call_enum_attribute(index + 1, enum_kind("align"));
        let align = |index: u32| align(index).map_or(1, |align| align.value());
        let align = align(0).min(align(1));
        let is_volatile = call.operand(3).as_unsigned() != Some(0);
        let operands = [to, from, size].map(|value| self.value(value));
        let [to, from, size] = operands;
        let mut operands = [to?, from?, size?].map(Operand::IdRef).to_vec();
        operands.extend(Self::access(align, is_volatile));
        self.emit_void(Op::CopyMemorySized, operands);
        Ok(())
    }
}

/// The lower 64 bits of an integer of 65 to 127, and the others.
fn halves_of(ty: Type<'_>) -> Option<(Type<'_>, Type<'_>)> {
    let is_odd = is_i128(ty) && ty.int_width() < 128;
    is_odd.then(|| (ty.context().int_type(64), ty.context().int_type(ty.int_width() - 64)))
}

/// The number that memory holds a vector of bits as.
fn number_for(ty: Type<'_>) -> Option<Type<'_>> {
    let has_bytes = is_bits(ty) && ty.vector_size().is_multiple_of(8);
    has_bytes.then(|| ty.context().int_type(ty.vector_size()))
}

/// Whether a work-item's own memory may have an address space.
fn may_be_private(space: u32) -> bool {
    matches!(space, 0 | 5)
}

/// Whether a constant has the same bytes everywhere. Drivers join stores of such values beside each
/// other to one fill, and Intel's loses fills of a work-item's own memory where it computes several
/// work-items in the lanes of vectors. What is volatile it does not join.
fn repeats_a_byte(value: Value<'_>) -> bool {
    let repeats =
        |bits: u64, bytes: u32| (1..bytes).all(|byte| (bits >> (8 * byte)) as u8 == bits as u8);
    if value.is_zero() {
        return true;
    }
    let ty = value.ty();
    match (ty.kind(), value.float_bits()) {
        (TypeKind::Integer, _) if value.is_constant_int() && ty.int_width() <= 64 => {
            repeats(value.zext_value(), ty.int_width() / 8)
        }
        (TypeKind::Half, Some(bits)) => repeats(bits, 2),
        (TypeKind::Float, Some(bits)) => repeats(bits, 4),
        (TypeKind::Double, Some(bits)) => repeats(bits, 8),
        // Elements of aggregates become stores of their own.
        (TypeKind::Vector | TypeKind::Array | TypeKind::Struct, _) => value.is_a_constant(),
        _ => false,
    }
}

/// Whether memory holds an integer as several numbers, or as one with bits that are 0.
fn has_pieces(ty: Type<'_>) -> bool {
    ty.kind() == TypeKind::Integer && (2..=64).contains(&ty.int_width()) && !is_whole(ty)
}

/// The numbers that an integer is in memory: the bits of each, and how many bytes are before it.
fn pieces(ty: Type<'_>) -> Vec<(u32, u64)> {
    let bytes = ty.int_width().div_ceil(8);
    let mut offset = 0;
    let mut pieces = Vec::new();
    for size in [8, 4, 2, 1].into_iter().filter(|size| bytes & size != 0) {
        pieces.push((size * 8, u64::from(offset)));
        offset += size;
    }
    pieces
}

/// The alignment at an offset in bytes from an aligned address.
fn align_at(align: u64, offset: u64) -> u64 {
    if offset == 0 { align } else { align.min(1 << offset.trailing_zeros()) }
}
