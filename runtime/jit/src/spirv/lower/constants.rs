//! Constants.

use rspirv::dr::Operand;
use rspirv::spirv::{Op, Word};
use schism_llvm::{Type, TypeKind, Value, ValueKind};

use super::types::{held_in, is_i128};
use super::{Lowered, Lowering, refuse};

impl<'m> Lowering<'m> {
    /// An integer constant of 8, 16, 32 or 64 bits.
    ///
    /// A zero is the null of its type: a driver is known that confuses 64-bit zeros otherwise.
    pub fn number(&mut self, bits: u32, value: u64) -> Word {
        let ty = self.int(bits);
        if value == 0 {
            return self.null(ty);
        }
        let literal = match bits {
            64 => Operand::LiteralBit64(value),
            // Narrow literals are extended to a word, with zeros because the type has no sign.
            bits => Operand::LiteralBit32((value & (u64::MAX >> (64 - bits))) as u32),
        };
        self.out.declare(Op::Constant, Some(ty), vec![literal])
    }

    /// A number for all elements of a vector, or for one.
    pub fn number_like(&mut self, ty: Type<'m>, value: u64) -> Lowered<Word> {
        if !ty.is_vector() {
            let bits = held_in(ty.int_width())?;
            return Ok(self.number(bits, value));
        }
        let bits = held_in(ty.element_type().int_width())?;
        let element = self.number(bits, value);
        let vector = self.ty(ty)?;
        let elements = vec![Operand::IdRef(element); ty.vector_size() as usize];
        Ok(self.out.declare(Op::ConstantComposite, Some(vector), elements))
    }

    /// The zero of a type of SPIR-V.
    pub fn null(&mut self, ty: Word) -> Word {
        self.out.declare(Op::ConstantNull, Some(ty), Vec::new())
    }

    pub fn truth(&mut self, value: bool) -> Word {
        let bool = self.bool();
        let op = if value { Op::ConstantTrue } else { Op::ConstantFalse };
        self.out.declare(op, Some(bool), Vec::new())
    }

    /// A floating-point constant, by its bits.
    pub fn float_of_bits(&mut self, bits: u32, value: u64) -> Word {
        let ty = self.float(bits);
        let literal = match bits {
            64 => Operand::LiteralBit64(value),
            _ => Operand::LiteralBit32(value as u32),
        };
        self.out.declare(Op::Constant, Some(ty), vec![literal])
    }

    /// Whether a constant is known without instructions where it is used.
    pub fn is_plain(value: Value<'m>) -> bool {
        if value.is_undef() || value.is_zero() {
            return true;
        }
        match value.ty().kind() {
            TypeKind::Vector | TypeKind::Array | TypeKind::Struct => {
                elements(value).iter().all(|&element| Self::is_plain(element))
            }
            _ => value.is_constant_int() || value.is_constant_float(),
        }
    }

    /// A constant of a function.
    pub fn constant(&mut self, value: Value<'m>) -> Lowered<Word> {
        let ty = value.ty();
        if value.is_undef() || value.is_zero() {
            let ty = self.ty(ty)?;
            return Ok(self.null(ty));
        }
        if value.is_constant_int() {
            if is_i128(ty) {
                return self.int128_constant(value);
            }
            let width = ty.int_width();
            if width == 1 {
                return Ok(self.truth(value.zext_value() != 0));
            }
            let bits = held_in(width)?;
            return Ok(self.number(bits, value.zext_value()));
        }
        if let Some(bits) = value.float_bits() {
            let width = match ty.kind() {
                TypeKind::Half => 16,
                TypeKind::Float => 32,
                TypeKind::Double => 64,
                _ => return refuse(format!("a number of type `{}`", ty.text())),
            };
            return Ok(self.float_of_bits(width, bits));
        }
        if matches!(ty.kind(), TypeKind::Vector | TypeKind::Array | TypeKind::Struct) {
            let parts = elements(value);
            if parts.is_empty() {
                return refuse(format!("a constant of type `{}`", ty.text()));
            }
            let plain = Self::is_plain(value);
            let parts = parts.into_iter().map(|part| self.value(part));
            let parts = parts.collect::<Lowered<Vec<_>>>()?;
            let ty = self.ty(ty)?;
            let operands = parts.iter().map(|&part| Operand::IdRef(part)).collect();
            return Ok(match plain {
                true => self.out.declare(Op::ConstantComposite, Some(ty), operands),
                false => self.emit(Op::CompositeConstruct, ty, operands),
            });
        }
        if value.is_function() {
            return refuse(format!("the address of the function `{}`", value.name()));
        }
        if value.is_global_variable() {
            return self.address_of(value);
        }
        match value.kind() {
            ValueKind::ConstantExpr => self.expression(value, value.const_opcode()),
            _ => refuse(format!("a constant of type `{}`", ty.text())),
        }
    }
}

/// The elements of a constant vector, array or structure.
pub fn elements(value: Value<'_>) -> Vec<Value<'_>> {
    (0..).map_while(|index| value.aggregate_element(index)).collect()
}
