//! Arithmetic, comparisons, casts, and parts of aggregates.

use rspirv::dr::Operand;
use rspirv::spirv::{Op, Word};
use schism_llvm::{FloatPredicate, IntPredicate, Opcode, Type, TypeKind, Value};

use super::types::{bits_of, held_in, is_bit, is_i128, is_whole};
use super::{Lowered, Lowering, refuse};

impl<'m> Lowering<'m> {
    /// Lowers an instruction that does not end its block; what it gives, if it gives something.
    pub fn instruction(&mut self, it: Value<'m>) -> Lowered<Option<Word>> {
        use Opcode::*;
        let Some(opcode) = it.opcode() else { return refuse("what is no instruction") };
        let result = match opcode {
            Alloca => self.alloca(it)?,
            Load => self.load(it)?,
            Store => return self.store(it).map(|()| None),
            Fence => return self.fence(it).map(|()| None),
            AtomicRMW => self.update(it)?,
            AtomicCmpXchg => self.exchange(it)?,
            Call => return self.call(it),
            FNeg => self.negate(it)?,
            Freeze => self.value(it.operand(0))?,
            FCmp => self.fcmp(it)?,
            ExtractValue | InsertValue => self.aggregate(it, opcode)?,
            ExtractElement => self.extract_element(it)?,
            InsertElement => self.insert_element(it)?,
            ShuffleVector => self.shuffle(it)?,
            opcode => self.expression(it, opcode)?,
        };
        Ok(Some(result))
    }

    /// What an instruction and an operation on constants have in common.
    pub fn expression(&mut self, it: Value<'m>, opcode: Opcode) -> Lowered<Word> {
        use Opcode::*;
        match opcode {
            Add | Sub | Mul | And | Or | Xor | Shl | LShr | AShr | UDiv | SDiv | URem | SRem => {
                self.integers(it, opcode)
            }
            FAdd | FSub | FMul | FDiv => {
                let op = match opcode {
                    FAdd => Op::FAdd,
                    FSub => Op::FSub,
                    FMul => Op::FMul,
                    _ => Op::FDiv,
                };
                let ty = self.ty(it.ty())?;
                let (left, right) = (self.value(it.operand(0))?, self.value(it.operand(1))?);
                Ok(self.emit_of(op, ty, &[left, right]))
            }
            ICmp => self.icmp(it),
            Select => self.select(it),
            GetElementPtr => self.gep(it),
            Trunc | ZExt | SExt => self.resize(it, opcode),
            FPTrunc | FPExt | FPToUI | FPToSI | UIToFP | SIToFP => self.convert(it, opcode),
            PtrToInt | IntToPtr | BitCast | AddrSpaceCast => self.reinterpret(it, opcode),
            opcode => refuse(format!("the instruction {opcode:?}")),
        }
    }

    /// Elements of two vectors, by their number.
    fn shuffle(&mut self, it: Value<'m>) -> Lowered<Word> {
        /// An element of any value.
        const ANY: u32 = u32::MAX;
        let ty = self.ty(it.ty())?;
        let sides = [self.value(it.operand(0))?, self.value(it.operand(1))?];
        let mut operands = sides.map(Operand::IdRef).to_vec();
        let elements = it.shuffle_mask();
        operands.extend(elements.map(|element| Operand::LiteralBit32(element.unwrap_or(ANY))));
        Ok(self.emit(Op::VectorShuffle, ty, operands))
    }

    /// An integer of one bit as 0 or 1.
    pub fn bit_as_number(&mut self, bit: Word, bits: u32) -> Word {
        let ty = self.int(bits);
        let (one, zero) = (self.number(bits, 1), self.number(bits, 0));
        self.emit_of(Op::Select, ty, &[bit, one, zero])
    }

    /// Whether the lowest bit of a number is set.
    pub fn number_as_bit(&mut self, number: Word, bits: u32) -> Word {
        let (ty, bool) = (self.int(bits), self.bool());
        let (one, zero) = (self.number(bits, 1), self.number(bits, 0));
        let lowest = self.emit_of(Op::BitwiseAnd, ty, &[number, one]);
        self.emit_of(Op::INotEqual, bool, &[lowest, zero])
    }

    /// Clears the bits of a result that its type does not have.
    pub fn cut(&mut self, ty: Type<'m>, value: Word) -> Lowered<Word> {
        let bits = bits_of(ty)?;
        if bits == held_in(bits)? {
            return Ok(value);
        }
        let mask = self.number_like(ty, u64::MAX >> (64 - bits))?;
        let own = self.ty(ty)?;
        Ok(self.emit_of(Op::BitwiseAnd, own, &[value, mask]))
    }

    /// An integer with its sign in all bits that its type does not have.
    pub fn signed(&mut self, value: Value<'m>) -> Lowered<Word> {
        let id = self.value(value)?;
        let bits = bits_of(value.ty())?;
        let unused = held_in(bits)? - bits;
        if unused == 0 {
            return Ok(id);
        }
        let ty = self.ty(value.ty())?;
        let by = self.number_like(value.ty(), u64::from(unused))?;
        let up = self.emit_of(Op::ShiftLeftLogical, ty, &[id, by]);
        Ok(self.emit_of(Op::ShiftRightArithmetic, ty, &[up, by]))
    }

    fn integers(&mut self, it: Value<'m>, opcode: Opcode) -> Lowered<Word> {
        use Opcode::*;
        if is_i128(it.ty()) {
            return self.int128_arithmetic(it, opcode);
        }
        let ty = self.ty(it.ty())?;
        let [left, right] = [it.operand(0), it.operand(1)];
        if is_bit(it.ty()) {
            let (left, right) = (self.value(left)?, self.value(right)?);
            let op = match opcode {
                Add | Sub | Xor => Op::LogicalNotEqual,
                And | Mul => Op::LogicalAnd,
                Or => Op::LogicalOr,
                // By what is not 0 a bit cannot be shifted, and by 0 not divided.
                Shl | LShr | AShr | UDiv | SDiv => return Ok(left),
                _ => return Ok(self.null(ty)),
            };
            return Ok(self.emit_of(op, ty, &[left, right]));
        }
        let op = match opcode {
            Add => Op::IAdd,
            Sub => Op::ISub,
            Mul => Op::IMul,
            And => Op::BitwiseAnd,
            // LLVM makes this of sums, of which drivers see that neighbours access neighbouring
            // elements.
            Or if it.is_disjoint() => Op::IAdd,
            Or => Op::BitwiseOr,
            Xor => Op::BitwiseXor,
            Shl => Op::ShiftLeftLogical,
            LShr => Op::ShiftRightLogical,
            AShr => Op::ShiftRightArithmetic,
            UDiv => Op::UDiv,
            SDiv => Op::SDiv,
            URem => Op::UMod,
            _ => Op::SRem,
        };
        let left = match opcode {
            AShr | SDiv | SRem => self.signed(left)?,
            _ => self.value(left)?,
        };
        let right = match opcode {
            SDiv | SRem => self.signed(right)?,
            _ => self.value(right)?,
        };
        let result = self.emit_of(op, ty, &[left, right]);
        match opcode {
            And | Or | Xor | LShr | UDiv | URem => Ok(result),
            _ => self.cut(it.ty(), result),
        }
    }

    fn icmp(&mut self, it: Value<'m>) -> Lowered<Word> {
        use IntPredicate::*;
        if is_i128(it.operand(0).ty()) {
            return self.int128_compare(it);
        }
        let bool = self.bool_like(it.operand(0).ty())?;
        let predicate = it.icmp_predicate();
        let ty = it.operand(0).ty();
        let is_signed = matches!(predicate, SGT | SGE | SLT | SLE);
        let mut sides = [0; 2];
        for (side, index) in sides.iter_mut().zip(0..) {
            let value = it.operand(index);
            *side = match ty.kind() {
                TypeKind::Pointer => {
                    let address = self.value(value)?;
                    let long = self.int(64);
                    self.emit_of(Op::ConvertPtrToU, long, &[address])
                }
                TypeKind::Integer | TypeKind::Vector if is_signed && !is_bit(ty) => {
                    self.signed(value)?
                }
                _ => self.value(value)?,
            };
        }
        if is_bit(ty) {
            match predicate {
                EQ => return Ok(self.emit_of(Op::LogicalEqual, bool, &sides)),
                NE => return Ok(self.emit_of(Op::LogicalNotEqual, bool, &sides)),
                _ if ty.is_vector() => return refuse("an order of bits"),
                _ => sides = sides.map(|side| self.bit_as_number(side, 8)),
            }
            // A set bit is -1 with a sign.
            if is_signed {
                sides.reverse();
            }
        }
        let op = match predicate {
            EQ => Op::IEqual,
            NE => Op::INotEqual,
            UGT => Op::UGreaterThan,
            UGE => Op::UGreaterThanEqual,
            ULT => Op::ULessThan,
            ULE => Op::ULessThanEqual,
            SGT => Op::SGreaterThan,
            SGE => Op::SGreaterThanEqual,
            SLT => Op::SLessThan,
            SLE => Op::SLessThanEqual,
        };
        Ok(self.emit_of(op, bool, &sides))
    }

    fn fcmp(&mut self, it: Value<'m>) -> Lowered<Word> {
        use FloatPredicate::*;
        let ty = it.operand(0).ty();
        let bool = self.bool_like(ty)?;
        let op = match it.fcmp_predicate() {
            OEQ => Op::FOrdEqual,
            OGT => Op::FOrdGreaterThan,
            OGE => Op::FOrdGreaterThanEqual,
            OLT => Op::FOrdLessThan,
            OLE => Op::FOrdLessThanEqual,
            ONE => Op::FOrdNotEqual,
            ORD => Op::Ordered,
            UNO => Op::Unordered,
            UEQ => Op::FUnordEqual,
            UGT => Op::FUnordGreaterThan,
            UGE => Op::FUnordGreaterThanEqual,
            ULT => Op::FUnordLessThan,
            ULE => Op::FUnordLessThanEqual,
            UNE => Op::FUnordNotEqual,
            constant if ty.is_vector() => return refuse(format!("a comparison {constant:?}")),
            constant => return Ok(self.truth(constant == PredicateTrue)),
        };
        let (left, right) = (self.value(it.operand(0))?, self.value(it.operand(1))?);
        Ok(self.emit_of(op, bool, &[left, right]))
    }

    fn select(&mut self, it: Value<'m>) -> Lowered<Word> {
        if matches!(it.ty().kind(), TypeKind::Struct | TypeKind::Array) {
            return refuse("a choice between aggregates");
        }
        let ty = self.ty(it.ty())?;
        let mut condition = self.value(it.operand(0))?;
        if is_i128(it.ty()) {
            let bool = self.bool();
            let bools = self.vector(bool, 2)?;
            condition = self.emit_of(Op::CompositeConstruct, bools, &[condition; 2]);
        } else if it.ty().is_vector() && !it.operand(0).ty().is_vector() {
            let bools = self.bool_like(it.ty())?;
            let all = vec![condition; it.ty().vector_size() as usize];
            condition = self.emit_of(Op::CompositeConstruct, bools, &all);
        }
        let (yes, no) = (self.value(it.operand(1))?, self.value(it.operand(2))?);
        Ok(self.emit_of(Op::Select, ty, &[condition, yes, no]))
    }

    fn resize(&mut self, it: Value<'m>, opcode: Opcode) -> Lowered<Word> {
        let (from, to) = (it.operand(0).ty(), it.ty());
        if is_i128(from) || is_i128(to) {
            return self.int128_resize(it, opcode);
        }
        if opcode == Opcode::ZExt
            && let Some(number) = self.extended_register(it)?
        {
            return Ok(number);
        }
        let ty = self.ty(to)?;
        if is_bit(from) {
            let bit = self.value(it.operand(0))?;
            let set = if opcode == Opcode::SExt { u64::MAX } else { 1 };
            let set = set & (u64::MAX >> (64 - bits_of(to)?));
            let (set, zero) = (self.number_like(to, set)?, self.number_like(to, 0)?);
            return Ok(self.emit_of(Op::Select, ty, &[bit, set, zero]));
        }
        if is_bit(to) {
            let number = self.value(it.operand(0))?;
            let wide = self.ty(from)?;
            let (one, zero) = (self.number_like(from, 1)?, self.number_like(from, 0)?);
            let lowest = self.emit_of(Op::BitwiseAnd, wide, &[number, one]);
            return Ok(self.emit_of(Op::INotEqual, ty, &[lowest, zero]));
        }
        let value = match opcode {
            Opcode::SExt => self.signed(it.operand(0))?,
            _ => self.value(it.operand(0))?,
        };
        let op = if opcode == Opcode::SExt { Op::SConvert } else { Op::UConvert };
        let same = held_in(bits_of(from)?)? == held_in(bits_of(to)?)?;
        let result = if same { value } else { self.emit_of(op, ty, &[value]) };
        match opcode {
            Opcode::ZExt => Ok(result),
            _ => self.cut(to, result),
        }
    }

    fn convert(&mut self, it: Value<'m>, opcode: Opcode) -> Lowered<Word> {
        use Opcode::*;
        let (from, to) = (it.operand(0).ty(), it.ty());
        if is_i128(from) || is_i128(to) {
            return refuse(format!("`{}` converted to `{}`", from.text(), to.text()));
        }
        let ty = self.ty(to)?;
        if is_bit(from) {
            if from.is_vector() {
                return refuse("a conversion of bits to numbers");
            }
            let bit = self.value(it.operand(0))?;
            let number = self.bit_as_number(bit, 8);
            let op = if opcode == SIToFP { Op::SNegate } else { Op::CopyObject };
            let byte = self.int(8);
            let number = self.emit_of(op, byte, &[number]);
            return Ok(self.emit_of(Op::ConvertSToF, ty, &[number]));
        }
        let value = match opcode {
            SIToFP => self.signed(it.operand(0))?,
            _ => self.value(it.operand(0))?,
        };
        let op = match opcode {
            FPTrunc | FPExt => Op::FConvert,
            FPToUI => Op::ConvertFToU,
            FPToSI => Op::ConvertFToS,
            UIToFP => Op::ConvertUToF,
            _ => Op::ConvertSToF,
        };
        if is_bit(to) {
            if to.is_vector() {
                return refuse("a conversion of numbers to bits");
            }
            let byte = self.int(8);
            let number = self.emit_of(op, byte, &[value]);
            return Ok(self.number_as_bit(number, 8));
        }
        let result = self.emit_of(op, ty, &[value]);
        if matches!(opcode, FPToUI | FPToSI) { self.cut(to, result) } else { Ok(result) }
    }

    fn reinterpret(&mut self, it: Value<'m>, opcode: Opcode) -> Lowered<Word> {
        use Opcode::*;
        let (from, to) = (it.operand(0).ty(), it.ty());
        if from.is_vector() != to.is_vector() && [PtrToInt, IntToPtr].contains(&opcode) {
            return refuse("vectors of addresses");
        }
        let value = self.value(it.operand(0))?;
        match opcode {
            PtrToInt => {
                let long = self.int(64);
                let address = self.emit_of(Op::ConvertPtrToU, long, &[value]);
                self.address_bits(address, to)
            }
            IntToPtr => {
                let bits = from.int_width();
                let mut address = value;
                if bits == 1 {
                    address = self.bit_as_number(value, 64);
                } else if held_in(bits)? != 64 {
                    let long = self.int(64);
                    address = self.emit_of(Op::UConvert, long, &[value]);
                }
                let ty = self.ty(to)?;
                Ok(self.emit_of(Op::ConvertUToPtr, ty, &[address]))
            }
            AddrSpaceCast => {
                let ty = self.ty(to)?;
                let op = match (from.address_space(), to.address_space()) {
                    (a, b) if a == b => return Ok(value),
                    (_, 0) => Op::PtrCastToGeneric,
                    (0, _) => Op::GenericCastToPtr,
                    (a, b) => {
                        return refuse(format!("a cast from address space {a} to {b}"));
                    }
                };
                Ok(self.emit_of(op, ty, &[value]))
            }
            _ if from == to => Ok(value),
            _ if is_bits(from) && to.kind() == TypeKind::Integer => {
                self.number_of_bits(value, from.vector_size(), to)
            }
            _ if is_bits(to) && from.kind() == TypeKind::Integer => {
                self.bits_of_number(value, from, to)
            }
            _ if is_all_bits(from) && is_all_bits(to) => {
                let [own, other] = [self.ty(from)?, self.ty(to)?];
                if own == other {
                    return Ok(value);
                }
                let ty = self.ty(to)?;
                Ok(self.emit_of(Op::Bitcast, ty, &[value]))
            }
            _ => refuse(format!("`{}` taken as `{}`", from.text(), to.text())),
        }
    }

    /// The elements of a vector of bits as the bits of a number, the first one the lowest.
    pub fn number_of_bits(&mut self, bits: Word, count: u32, to: Type<'m>) -> Lowered<Word> {
        let (bool, own) = (self.bool(), self.ty(to)?);
        let zero = self.number_like(to, 0)?;
        let mut sum = zero;
        for index in 0..count {
            let operands = vec![Operand::IdRef(bits), Operand::LiteralBit32(index)];
            let bit = self.emit(Op::CompositeExtract, bool, operands);
            let set = self.number_like(to, 1 << index)?;
            let one = self.emit_of(Op::Select, own, &[bit, set, zero]);
            sum = self.emit_of(Op::BitwiseOr, own, &[sum, one]);
        }
        Ok(sum)
    }

    /// The bits of a number as the elements of a vector.
    pub fn bits_of_number(&mut self, number: Word, from: Type<'m>, to: Type<'m>) -> Lowered<Word> {
        let (bool, own, wide) = (self.bool(), self.ty(to)?, self.ty(from)?);
        let zero = self.number_like(from, 0)?;
        let mut bits = Vec::new();
        for index in 0..to.vector_size() {
            let mask = self.number_like(from, 1 << index)?;
            let one = self.emit_of(Op::BitwiseAnd, wide, &[number, mask]);
            bits.push(self.emit_of(Op::INotEqual, bool, &[one, zero]));
        }
        Ok(self.emit_of(Op::CompositeConstruct, own, &bits))
    }

    /// An address as an integer of another width.
    fn address_bits(&mut self, address: Word, to: Type<'m>) -> Lowered<Word> {
        if to.kind() != TypeKind::Integer {
            return refuse("vectors of addresses");
        }
        let bits = to.int_width();
        if bits == 1 {
            return Ok(self.number_as_bit(address, 64));
        }
        if bits == 64 {
            return Ok(address);
        }
        let ty = self.ty(to)?;
        let same = held_in(bits)? == 64;
        let value = if same { address } else { self.emit_of(Op::UConvert, ty, &[address]) };
        self.cut(to, value)
    }

    fn aggregate(&mut self, it: Value<'m>, opcode: Opcode) -> Lowered<Word> {
        let ty = self.ty(it.ty())?;
        let of = self.value(it.operand(0))?;
        let indices = it.aggregate_indices().into_iter().map(Operand::LiteralBit32);
        if opcode == Opcode::ExtractValue {
            let mut operands = vec![Operand::IdRef(of)];
            operands.extend(indices);
            return Ok(self.emit(Op::CompositeExtract, ty, operands));
        }
        let part = self.value(it.operand(1))?;
        let mut operands = vec![Operand::IdRef(part), Operand::IdRef(of)];
        operands.extend(indices);
        Ok(self.emit(Op::CompositeInsert, ty, operands))
    }
}

/// Whether a type is a vector of bits that a number can have.
pub fn is_bits(ty: Type<'_>) -> bool {
    ty.is_vector() && is_bit(ty) && ty.vector_size() <= 64
}

/// Whether a type of SPIR-V has the same bits.
fn is_all_bits(ty: Type<'_>) -> bool {
    is_whole(ty) || is_i128(ty) && ty.int_width() == 128
}
