//! Integers of 65 to 128 bits: vectors of two 64-bit numbers, the low one first. Bits that the type
//! does not have are 0, as in narrower integers.
//!
//! ```llvm
//!   %sum = add i128 %a, %b
//! ```
//! becomes
//! ```text
//!     %60 = OpCompositeExtract %ulong %a 0
//!     %61 = OpCompositeExtract %ulong %b 0
//!    %low = OpIAdd %ulong %60 %61
//!     %62 = OpULessThan %bool %low %60
//!  %carry = OpSelect %ulong %62 %ulong_1 %ulong_0
//!     %63 = OpCompositeExtract %ulong %a 1
//!     %64 = OpCompositeExtract %ulong %b 1
//!     %65 = OpIAdd %ulong %63 %64
//!   %high = OpIAdd %ulong %65 %carry
//!    %sum = OpCompositeConstruct %v2ulong %low %high
//! ```
//! Divisions, conversions of floating-point numbers, and intrinsics are functions of such
//! instructions (`spirv::expand_i128`).

use rspirv::dr::Operand;
use rspirv::spirv::{Op, OpenclStd100Op as OpenCl, Word};
use schism_llvm::{Builder, IntPredicate, Opcode, Type, Value};

use super::types::{HALF, bits_of, held_in, is_bit, is_i128};
use super::{Lowered, Lowering, refuse};

impl<'m> Lowering<'m> {
    /// The type of SPIR-V.
    pub fn int128(&mut self) -> Lowered<Word> {
        let long = self.int(HALF);
        self.vector(long, 2)
    }

    /// The two numbers of a value.
    fn halves(&mut self, id: Word) -> [Word; 2] {
        let long = self.int(HALF);
        [0, 1].map(|index| {
            let operands = vec![Operand::IdRef(id), Operand::LiteralBit32(index)];
            self.emit(Op::CompositeExtract, long, operands)
        })
    }

    /// The value of two numbers, without the bits that its type does not have.
    pub fn of_halves(&mut self, ty: Type<'m>, low: Word, high: Word) -> Lowered<Word> {
        let unused = 2 * HALF - ty.int_width();
        let mut high = high;
        if unused > 0 {
            let long = self.int(HALF);
            let mask = self.number(HALF, u64::MAX >> unused);
            high = self.emit_of(Op::BitwiseAnd, long, &[high, mask]);
        }
        let int128 = self.int128()?;
        Ok(self.emit_of(Op::CompositeConstruct, int128, &[low, high]))
    }

    /// The two numbers of a value, with its sign in all bits that its type does not have.
    fn signed_halves(&mut self, value: Value<'m>) -> Lowered<[Word; 2]> {
        let id = self.value(value)?;
        let [low, mut high] = self.halves(id);
        let unused = 2 * HALF - value.ty().int_width();
        if unused > 0 {
            let long = self.int(HALF);
            let by = self.number(HALF, u64::from(unused));
            high = self.emit_of(Op::ShiftLeftLogical, long, &[high, by]);
            high = self.emit_of(Op::ShiftRightArithmetic, long, &[high, by]);
        }
        Ok([low, high])
    }

    /// The two numbers of a constant.
    pub fn int128_words(&self, value: Value<'m>) -> Option<[u64; 2]> {
        // The builder folds constants, so no instruction is made.
        let (builder, long) = (Builder::at_end(self.entry.entry()), value.context().int_type(HALF));
        let by = value.ty().const_int(u64::from(HALF), false);
        let low = builder.cast(Opcode::Trunc, value, long);
        let high = builder.cast(Opcode::Trunc, builder.binary(Opcode::LShr, value, by), long);
        Some([low.as_unsigned()?, high.as_unsigned()?])
    }

    /// A constant.
    pub fn int128_constant(&mut self, value: Value<'m>) -> Lowered<Word> {
        let Some(words) = self.int128_words(value) else {
            return refuse(format!("a constant of type `{}`", value.ty().text()));
        };
        let operands = words.map(|word| Operand::IdRef(self.number(HALF, word))).to_vec();
        let int128 = self.int128()?;
        Ok(self.out.declare(Op::ConstantComposite, Some(int128), operands))
    }

    /// 1 where a condition holds, and 0 elsewhere.
    fn carry(&mut self, condition: Word) -> Word {
        self.bit_as_number(condition, HALF)
    }

    pub fn int128_arithmetic(&mut self, it: Value<'m>, opcode: Opcode) -> Lowered<Word> {
        use Opcode::*;
        let ty = it.ty();
        let (long, bool) = (self.int(HALF), self.bool());
        if opcode == Shl || opcode == LShr || opcode == AShr {
            return self.int128_shift(it, opcode);
        }
        let [left, right] = [self.value(it.operand(0))?, self.value(it.operand(1))?];
        let bitwise = match opcode {
            And => Some(Op::BitwiseAnd),
            Or => Some(Op::BitwiseOr),
            Xor => Some(Op::BitwiseXor),
            _ => None,
        };
        if let Some(op) = bitwise {
            let int128 = self.int128()?;
            return Ok(self.emit_of(op, int128, &[left, right]));
        }
        let ([a, c], [b, d]) = (self.halves(left), self.halves(right));
        match opcode {
            Add => {
                let low = self.emit_of(Op::IAdd, long, &[a, b]);
                let is_more = self.emit_of(Op::ULessThan, bool, &[low, a]);
                let carry = self.carry(is_more);
                let high = self.emit_of(Op::IAdd, long, &[c, d]);
                let high = self.emit_of(Op::IAdd, long, &[high, carry]);
                self.of_halves(ty, low, high)
            }
            Sub => {
                let low = self.emit_of(Op::ISub, long, &[a, b]);
                let is_less = self.emit_of(Op::ULessThan, bool, &[a, b]);
                let borrow = self.carry(is_less);
                let high = self.emit_of(Op::ISub, long, &[c, d]);
                let high = self.emit_of(Op::ISub, long, &[high, borrow]);
                self.of_halves(ty, low, high)
            }
            Mul => {
                let low = self.emit_of(Op::IMul, long, &[a, b]);
                let high = self.emit_library(OpenCl::u_mul_hi, long, &[a, b]);
                let first = self.emit_of(Op::IMul, long, &[a, d]);
                let second = self.emit_of(Op::IMul, long, &[c, b]);
                let high = self.emit_of(Op::IAdd, long, &[high, first]);
                let high = self.emit_of(Op::IAdd, long, &[high, second]);
                self.of_halves(ty, low, high)
            }
            _ => refuse(format!("{opcode:?} of `{}`", ty.text())),
        }
    }

    fn int128_shift(&mut self, it: Value<'m>, opcode: Opcode) -> Lowered<Word> {
        let ty = it.ty();
        let (long, bool) = (self.int(HALF), self.bool());
        let [low, high] = match opcode {
            Opcode::AShr => self.signed_halves(it.operand(0))?,
            _ => {
                let id = self.value(it.operand(0))?;
                self.halves(id)
            }
        };
        let by = self.value(it.operand(1))?;
        let [by, _] = self.halves(by);
        let half = self.number(HALF, u64::from(HALF));
        let is_far = self.emit_of(Op::UGreaterThanEqual, bool, &[by, half]);
        let mask = self.number(HALF, u64::from(HALF - 1));
        let by = self.emit_of(Op::BitwiseAnd, long, &[by, mask]);
        // What crosses is shifted in two steps, since nothing is shifted by 64 at once.
        let rest = self.emit_of(Op::BitwiseXor, long, &[by, mask]);
        let one = self.number(HALF, 1);
        let zero = self.number(HALF, 0);
        if opcode == Opcode::Shl {
            let crosses = self.emit_of(Op::ShiftRightLogical, long, &[low, one]);
            let crosses = self.emit_of(Op::ShiftRightLogical, long, &[crosses, rest]);
            let near = self.emit_of(Op::ShiftLeftLogical, long, &[high, by]);
            let near = self.emit_of(Op::BitwiseOr, long, &[near, crosses]);
            let far = self.emit_of(Op::ShiftLeftLogical, long, &[low, by]);
            let low = self.emit_of(Op::Select, long, &[is_far, zero, far]);
            let high = self.emit_of(Op::Select, long, &[is_far, far, near]);
            return self.of_halves(ty, low, high);
        }
        let arithmetic = opcode == Opcode::AShr;
        let op = if arithmetic { Op::ShiftRightArithmetic } else { Op::ShiftRightLogical };
        let above = if arithmetic { self.emit_of(op, long, &[high, mask]) } else { zero };
        let crosses = self.emit_of(Op::ShiftLeftLogical, long, &[high, one]);
        let crosses = self.emit_of(Op::ShiftLeftLogical, long, &[crosses, rest]);
        let near = self.emit_of(Op::ShiftRightLogical, long, &[low, by]);
        let near = self.emit_of(Op::BitwiseOr, long, &[near, crosses]);
        let far = self.emit_of(op, long, &[high, by]);
        let low = self.emit_of(Op::Select, long, &[is_far, far, near]);
        let high = self.emit_of(Op::Select, long, &[is_far, above, far]);
        self.of_halves(ty, low, high)
    }

    pub fn int128_compare(&mut self, it: Value<'m>) -> Lowered<Word> {
        use IntPredicate::*;
        let (long, bool) = (self.int(HALF), self.bool());
        let predicate = it.icmp_predicate();
        let is_signed = matches!(predicate, SGT | SGE | SLT | SLE);
        let mut sides = [[0; 2]; 2];
        for (side, index) in sides.iter_mut().zip(0..) {
            *side = if is_signed {
                self.signed_halves(it.operand(index))?
            } else {
                let id = self.value(it.operand(index))?;
                self.halves(id)
            };
        }
        let [[a, c], [b, d]] = sides;
        if matches!(predicate, EQ | NE) {
            let low = self.emit_of(Op::BitwiseXor, long, &[a, b]);
            let high = self.emit_of(Op::BitwiseXor, long, &[c, d]);
            let both = self.emit_of(Op::BitwiseOr, long, &[low, high]);
            let zero = self.number(HALF, 0);
            let op = if predicate == EQ { Op::IEqual } else { Op::INotEqual };
            return Ok(self.emit_of(op, bool, &[both, zero]));
        }
        let (low, high) = match predicate {
            UGT => (Op::UGreaterThan, Op::UGreaterThan),
            UGE => (Op::UGreaterThanEqual, Op::UGreaterThan),
            ULT => (Op::ULessThan, Op::ULessThan),
            ULE => (Op::ULessThanEqual, Op::ULessThan),
            SGT => (Op::UGreaterThan, Op::SGreaterThan),
            SGE => (Op::UGreaterThanEqual, Op::SGreaterThan),
            SLT => (Op::ULessThan, Op::SLessThan),
            _ => (Op::ULessThanEqual, Op::SLessThan),
        };
        let by_low = self.emit_of(low, bool, &[a, b]);
        let by_high = self.emit_of(high, bool, &[c, d]);
        let same = self.emit_of(Op::IEqual, bool, &[c, d]);
        Ok(self.emit_of(Op::Select, bool, &[same, by_low, by_high]))
    }

    /// A choice by a value, which `OpSwitch` has no literals for: by the number of the case it is, from 1.
    pub fn int128_switch(&mut self, end: Value<'m>) -> Lowered<()> {
        let on = self.value(end.operand(0))?;
        let [low, high] = self.halves(on);
        let (long, word, bool) = (self.int(HALF), self.int(32), self.bool());
        let zero = self.number(HALF, 0);
        let mut selector = self.number(32, 0);
        let mut cases = Vec::new();
        for ((case, block), number) in end.switch_cases().into_iter().zip(1..) {
            let Some(words) = self.int128_words(case) else {
                return refuse(format!("a constant of type `{}`", case.ty().text()));
            };
            let [a, b] = words.map(|word| self.number(HALF, word));
            let low = self.emit_of(Op::BitwiseXor, long, &[low, a]);
            let high = self.emit_of(Op::BitwiseXor, long, &[high, b]);
            let both = self.emit_of(Op::BitwiseOr, long, &[low, high]);
            let same = self.emit_of(Op::IEqual, bool, &[both, zero]);
            let this = self.number(32, u64::from(number));
            selector = self.emit_of(Op::Select, word, &[same, this, selector]);
            cases.push(Operand::LiteralBit32(number));
            cases.push(Operand::IdRef(self.blocks[&block]));
        }
        let other = self.blocks[&end.successor(0)];
        let mut operands = vec![Operand::IdRef(selector), Operand::IdRef(other)];
        operands.extend(cases);
        self.emit_void(Op::Switch, operands);
        Ok(())
    }

    /// A cast between integers of which at least one has more than 64 bits.
    pub fn int128_resize(&mut self, it: Value<'m>, opcode: Opcode) -> Lowered<Word> {
        let (from, to) = (it.operand(0).ty(), it.ty());
        let long = self.int(HALF);
        if !is_i128(to) {
            let id = self.value(it.operand(0))?;
            let [low, _] = self.halves(id);
            if is_bit(to) {
                return Ok(self.number_as_bit(low, HALF));
            }
            let ty = self.ty(to)?;
            let same = held_in(bits_of(to)?)? == HALF;
            let value = if same { low } else { self.emit_of(Op::UConvert, ty, &[low]) };
            return self.cut(to, value);
        }
        let signed = opcode == Opcode::SExt;
        let [low, high] = match (is_i128(from), signed) {
            (true, true) => self.signed_halves(it.operand(0))?,
            (true, false) => {
                let id = self.value(it.operand(0))?;
                self.halves(id)
            }
            (false, _) if is_bit(from) => {
                let bit = self.value(it.operand(0))?;
                let set = self.number(HALF, if signed { u64::MAX } else { 1 });
                let zero = self.number(HALF, 0);
                let low = self.emit_of(Op::Select, long, &[bit, set, zero]);
                [low, if signed { low } else { zero }]
            }
            (false, true) => {
                let narrow = self.signed(it.operand(0))?;
                let same = held_in(bits_of(from)?)? == HALF;
                let low = if same { narrow } else { self.emit_of(Op::SConvert, long, &[narrow]) };
                let last = self.number(HALF, u64::from(HALF - 1));
                let high = self.emit_of(Op::ShiftRightArithmetic, long, &[low, last]);
                [low, high]
            }
            (false, false) => {
                let narrow = self.value(it.operand(0))?;
                let same = held_in(bits_of(from)?)? == HALF;
                let low = if same { narrow } else { self.emit_of(Op::UConvert, long, &[narrow]) };
                [low, self.number(HALF, 0)]
            }
        };
        self.of_halves(to, low, high)
    }

    /// Splits a value for memory.
    pub fn int128_to_memory(&mut self, value: Word) -> [Word; 2] {
        self.halves(value)
    }
}
