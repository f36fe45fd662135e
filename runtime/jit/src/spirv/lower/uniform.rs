//! Instructions that a driver takes for the same in all work-items, where these wait for each other.
//!
//! Intel's compiler for processors computes the work-items of a group one after the other, from one
//! barrier to the next, and keeps what each has computed, unless that is the same for all. It
//! believes so of every negation of a floating-point number, and of an element of a vector that is
//! the same for all, whatever the element's index is; of OpenCL C, too. After a barrier each
//! work-item then has the last one's value. So in modules with barriers these become other code.
//!
//! Of a negated number only the sign's bit is changed, by a number of which that compiler does not
//! know that it is the sign's bit. Otherwise it makes a negation of the change.
//!
//! ```text
//!   %r = OpFNegate %float %x
//! ```
//! becomes
//! ```text
//!   %offset = OpLoad %v3ulong %GlobalOffset
//!     %zero = OpCompositeExtract %ulong %offset 0
//!     %none = OpUConvert %uint %zero
//!     %sign = OpBitwiseOr %uint %none %uint_2147483648
//!     %bits = OpBitcast %uint %x
//!  %changed = OpBitwiseXor %uint %bits %sign
//!        %r = OpBitcast %float %changed
//! ```
//! Launches have no offset of OpenCL's.
//!
//! An index that is not constant is compared with that of each element:
//!
//! ```text
//!   %r = OpVectorExtractDynamic %uint %v %i
//! ```
//! becomes
//! ```text
//!    %0 = OpCompositeExtract %uint %v 0
//!    %1 = OpCompositeExtract %uint %v 1
//!   %is = OpIEqual %bool %i %uint_1
//!    %r = OpSelect %uint %is %1 %0
//! ```

use rspirv::dr::Operand;
use rspirv::spirv::{Op, Word};
use schism_llvm::Value;

use super::types::bits_of;
use super::{Lowered, Lowering};

impl<'m> Lowering<'m> {
    /// A number, or a vector of numbers, with the other sign.
    pub fn negate(&mut self, it: Value<'m>) -> Lowered<Word> {
        let (ty, value) = (self.ty(it.ty())?, self.value(it.operand(0))?);
        if !self.waits {
            return Ok(self.emit_of(Op::FNegate, ty, &[value]));
        }
        let bits = bits_of(it.ty())?;
        let int = self.int(bits);
        let mut zero = self.hidden_zero()?;
        if bits != 64 {
            zero = self.emit_of(Op::UConvert, int, &[zero]);
        }
        let sign = self.number(bits, 1 << (bits - 1));
        let mut sign = self.emit_of(Op::BitwiseOr, int, &[zero, sign]);
        let mut ints = int;
        if it.ty().is_vector() {
            let length = it.ty().vector_size();
            ints = self.vector(int, length)?;
            sign = self.emit_of(Op::CompositeConstruct, ints, &vec![sign; length as usize]);
        }
        let number = self.emit_of(Op::Bitcast, ints, &[value]);
        let changed = self.emit_of(Op::BitwiseXor, ints, &[number, sign]);
        Ok(self.emit_of(Op::Bitcast, ty, &[changed]))
    }

    /// An element of a vector.
    pub fn extract_element(&mut self, it: Value<'m>) -> Lowered<Word> {
        let ty = self.ty(it.ty())?;
        let vector = self.value(it.operand(0))?;
        let index = self.value(it.operand(1))?;
        if !self.waits || it.operand(1).is_a_constant() {
            return Ok(self.emit_of(Op::VectorExtractDynamic, ty, &[vector, index]));
        }
        let mut chosen = self.element(ty, vector, 0);
        for at in 1..it.operand(0).ty().vector_size() {
            let element = self.element(ty, vector, at);
            let is = self.is_index(it.operand(1), at)?;
            chosen = self.emit_of(Op::Select, ty, &[is, element, chosen]);
        }
        Ok(chosen)
    }

    /// A vector with another element.
    pub fn insert_element(&mut self, it: Value<'m>) -> Lowered<Word> {
        let ty = self.ty(it.ty())?;
        let operands = [0, 1, 2].map(|index| self.value(it.operand(index)));
        let [vector, element, index] = operands;
        let (vector, element, index) = (vector?, element?, index?);
        if !self.waits || it.operand(2).is_a_constant() {
            return Ok(self.emit_of(Op::VectorInsertDynamic, ty, &[vector, element, index]));
        }
        let one = self.ty(it.operand(1).ty())?;
        let mut all = Vec::new();
        for at in 0..it.ty().vector_size() {
            let before = self.element(one, vector, at);
            let is = self.is_index(it.operand(2), at)?;
            all.push(self.emit_of(Op::Select, one, &[is, element, before]));
        }
        Ok(self.emit_of(Op::CompositeConstruct, ty, &all))
    }

    /// The element of a vector at an index that is constant.
    pub fn element(&mut self, ty: Word, vector: Word, at: u32) -> Word {
        let operands = vec![Operand::IdRef(vector), Operand::LiteralBit32(at)];
        self.emit(Op::CompositeExtract, ty, operands)
    }

    /// Whether an index is this one.
    fn is_index(&mut self, index: Value<'m>, at: u32) -> Lowered<Word> {
        let bool = self.bool();
        let (number, at) = (self.value(index)?, self.number_like(index.ty(), u64::from(at))?);
        Ok(self.emit_of(Op::IEqual, bool, &[number, at]))
    }
}
