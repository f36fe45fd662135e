//! Intrinsics that tell whether a result fits, or that make it fit.

use rspirv::spirv::{Op, OpenclStd100Op as OpenCl, Word};
use schism_llvm::{Type, TypeKind, Value};

use super::types::{bits_of, is_whole};
use super::{Lowered, Lowering, refuse};

impl<'m> Lowering<'m> {
    /// `llvm.sadd.with.overflow` and the like: the result, and whether it does not fit.
    pub fn with_overflow(&mut self, it: Value<'m>, kind: &str) -> Lowered<Word> {
        let (left, right) = (it.operand(0), it.operand(1));
        let ty = left.ty();
        if !is_whole(ty) || ty.is_vector() {
            return refuse(format!("`llvm.{kind}.with.overflow` of `{}`", ty.text()));
        }
        let (own, bool, pair) = (self.ty(ty)?, self.bool(), self.ty(it.ty())?);
        let (a, b) = (self.value(left)?, self.value(right)?);
        let zero = self.number_like(ty, 0)?;
        let (result, lost) = match kind {
            "uadd" => {
                let sum = self.emit_of(Op::IAdd, own, &[a, b]);
                (sum, self.emit_of(Op::ULessThan, bool, &[sum, a]))
            }
            "usub" => {
                let difference = self.emit_of(Op::ISub, own, &[a, b]);
                (difference, self.emit_of(Op::ULessThan, bool, &[a, b]))
            }
            "sadd" | "ssub" => {
                let op = if kind == "sadd" { Op::IAdd } else { Op::ISub };
                let result = self.emit_of(op, own, &[a, b]);
                // The sign is wrong if it is neither operand's (the second's negated).
                let from_a = self.emit_of(Op::BitwiseXor, own, &[a, result]);
                let other = if kind == "sadd" { result } else { a };
                let from_b = self.emit_of(Op::BitwiseXor, own, &[b, other]);
                let both = self.emit_of(Op::BitwiseAnd, own, &[from_a, from_b]);
                (result, self.emit_of(Op::SLessThan, bool, &[both, zero]))
            }
            "umul" => {
                let product = self.emit_of(Op::IMul, own, &[a, b]);
                let high = self.emit_library(OpenCl::u_mul_hi, own, &[a, b]);
                (product, self.emit_of(Op::INotEqual, bool, &[high, zero]))
            }
            "smul" => {
                let product = self.emit_of(Op::IMul, own, &[a, b]);
                let high = self.emit_library(OpenCl::s_mul_hi, own, &[a, b]);
                let last = self.number_like(ty, u64::from(bits_of(ty)? - 1))?;
                let sign = self.emit_of(Op::ShiftRightArithmetic, own, &[product, last]);
                (product, self.emit_of(Op::INotEqual, bool, &[high, sign]))
            }
            _ => return refuse(format!("`llvm.{kind}.with.overflow`")),
        };
        Ok(self.emit_of(Op::CompositeConstruct, pair, &[result, lost]))
    }

    /// `llvm.sadd.sat`, `llvm.fptosi.sat` and the like.
    pub fn saturated(&mut self, it: Value<'m>, kind: &str) -> Lowered<Word> {
        let ty = it.ty();
        if !is_whole(ty) {
            return refuse(format!("`llvm.{kind}.sat` of `{}`", ty.text()));
        }
        let own = self.ty(ty)?;
        let function = match kind {
            "sadd" => OpenCl::s_add_sat,
            "uadd" => OpenCl::u_add_sat,
            "ssub" => OpenCl::s_sub_sat,
            "usub" => OpenCl::u_sub_sat,
            "fptosi" => return self.number_to_integer(it, true),
            "fptoui" => return self.number_to_integer(it, false),
            _ => return refuse(format!("`llvm.{kind}.sat`")),
        };
        let (a, b) = (self.value(it.operand(0))?, self.value(it.operand(1))?);
        Ok(self.emit_library(function, own, &[a, b]))
    }

    /// A number as an integer: the nearest one to 0, or the last one of its type; 0 for a NaN.
    fn number_to_integer(&mut self, it: Value<'m>, signed: bool) -> Lowered<Word> {
        let (from, to) = (it.operand(0).ty(), it.ty());
        if from.is_vector() {
            return refuse("vectors of numbers as integers");
        }
        let (own, bool) = (self.ty(to)?, self.bool());
        let bits = bits_of(to)?;
        let value = self.value(it.operand(0))?;
        // The first number beyond the last integer, and the least integer, are exact.
        let above = self.power_of_two(from, if signed { bits - 1 } else { bits }, false)?;
        let least = match signed {
            true => self.power_of_two(from, bits - 1, true)?,
            false => {
                let float = self.ty(from)?;
                self.null(float)
            }
        };
        let (last, first) = match signed {
            true => (u64::MAX >> (65 - bits), 1 << (bits - 1)),
            false => (u64::MAX >> (64 - bits), 0),
        };
        let (last, first) = (self.number_like(to, last)?, self.number_like(to, first)?);
        let zero = self.number_like(to, 0)?;
        // What does not fit is not converted.
        let is_large = self.emit_of(Op::FOrdGreaterThanEqual, bool, &[value, above]);
        let is_small = self.emit_of(Op::FOrdLessThan, bool, &[value, least]);
        let is_nan = self.emit_of(Op::Unordered, bool, &[value, value]);
        let outside = self.emit_of(Op::LogicalOr, bool, &[is_large, is_small]);
        let outside = self.emit_of(Op::LogicalOr, bool, &[outside, is_nan]);
        let float = self.ty(from)?;
        let nothing = self.null(float);
        let inside = self.emit_of(Op::Select, float, &[outside, nothing, value]);
        let op = if signed { Op::ConvertFToS } else { Op::ConvertFToU };
        let result = self.emit_of(op, own, &[inside]);
        let result = self.emit_of(Op::Select, own, &[is_large, last, result]);
        let result = self.emit_of(Op::Select, own, &[is_small, first, result]);
        Ok(self.emit_of(Op::Select, own, &[is_nan, zero, result]))
    }

    /// 2 to that power, or its negative; infinite where the type has no such number.
    fn power_of_two(&mut self, ty: Type<'m>, power: u32, negative: bool) -> Lowered<Word> {
        let (bits, exponent, digits, largest) = match ty.kind() {
            TypeKind::Half => (16, 15, 10, 15),
            TypeKind::Float => (32, 127, 23, 127),
            TypeKind::Double => (64, 1023, 52, 1023),
            _ => return refuse(format!("a number of type `{}`", ty.text())),
        };
        let power = u64::from(power).min(largest + 1);
        let sign = u64::from(negative) << (bits - 1);
        Ok(self.float_of_bits(bits, sign | (power + exponent) << digits))
    }
}
