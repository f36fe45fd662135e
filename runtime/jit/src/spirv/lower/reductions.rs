//! `llvm.vector.reduce.*` of integers: element after element.
//!
//! ```text
//!   %a = OpCompositeExtract %uchar %vector 0
//!   %b = OpCompositeExtract %uchar %vector 1
//! %sum = OpIAdd %uchar %a %b
//! ```

use rspirv::dr::Operand;
use rspirv::spirv::{Op, Word};
use schism_llvm::{TypeKind, Value};

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
            let operands = vec![Operand::IdRef(vector), Operand::LiteralBit32(index)];
            let one = self.emit(Op::CompositeExtract, ty, operands);
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
}
