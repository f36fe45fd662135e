//! `llvm.vector.reduce.*` of integers, and `llvm.experimental.cttz.elts`: element after element.
//!
//! ```text
//!   %a = OpCompositeExtract %uchar %vector 0
//!   %b = OpCompositeExtract %uchar %vector 1
//! %sum = OpIAdd %uchar %a %b
//! ```

use rspirv::spirv::{Op, Word};
use schism_llvm::{TypeKind, Value};

use super::types::bits_of;
use super::{Lowered, Lowering, refuse};

impl<'m> Lowering<'m> {
    /// A reduction; `name` is what follows `llvm.vector.reduce.`.
    pub fn reduction(&mut self, it: Value<'m>, name: &str) -> Lowered<Word> {
        let element = it.ty();
        let is_whole =
            element.kind() == TypeKind::Integer && matches!(element.int_width(), 8 | 16 | 32 | 64);
        let operation = match name.split('.').next().unwrap_or_default() {
            "add" => Op::IAdd,
            "mul" => Op::IMul,
            "and" => Op::BitwiseAnd,
            "or" => Op::BitwiseOr,
            "xor" => Op::BitwiseXor,
            "smax" => Op::SGreaterThan,
            "smin" => Op::SLessThan,
            "umax" => Op::UGreaterThan,
            "umin" => Op::ULessThan,
            _ => return refuse(format!("`llvm.vector.reduce.{name}`")),
        };
        if !is_whole {
            return refuse(format!("`llvm.vector.reduce.{name}`"));
        }
        let (ty, bool) = (self.ty(element)?, self.bool());
        let vector = self.value(it.operand(0))?;
        let count = it.operand(0).ty().vector_size();
        let mut result = None;
        for index in 0..count {
            let one = self.element(ty, vector, index);
            result = Some(match (result, operation) {
                (None, _) => one,
                (
                    Some(before),
                    Op::SGreaterThan | Op::SLessThan | Op::UGreaterThan | Op::ULessThan,
                ) => {
                    let wins = self.emit_of(operation, bool, &[before, one]);
                    self.emit_of(Op::Select, ty, &[wins, before, one])
                }
                (Some(before), _) => self.emit_of(operation, ty, &[before, one]),
            });
        }
        match result {
            Some(result) => Ok(result),
            None => refuse("a vector without elements"),
        }
    }

    /// `llvm.experimental.cttz.elts`: how many elements are before the first one that is not
    /// zero.
    pub fn zeros_in_front(&mut self, it: Value<'m>) -> Lowered<Word> {
        let (vector_ty, to) = (it.operand(0).ty(), it.ty());
        let element_ty = vector_ty.element_type();
        let bits = bits_of(element_ty)?;
        if bits_of(to)? < 8 || !matches!(bits, 1 | 8 | 16 | 32 | 64) {
            return refuse("the first element of a vector that is not zero");
        }
        let (own, element, bool) = (self.ty(to)?, self.ty(element_ty)?, self.bool());
        let vector = self.value(it.operand(0))?;
        let count = vector_ty.vector_size();
        let mut result = self.number_like(to, u64::from(count))?;
        for index in (0..count).rev() {
            let mut is_first = self.element(element, vector, index);
            if bits != 1 {
                let zero = self.number_like(element_ty, 0)?;
                is_first = self.emit_of(Op::INotEqual, bool, &[is_first, zero]);
            }
            let number = self.number_like(to, u64::from(index))?;
            result = self.emit_of(Op::Select, own, &[is_first, number, result]);
        }
        Ok(result)
    }
}
