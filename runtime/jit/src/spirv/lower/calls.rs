//! Calls: of functions, and of LLVM's intrinsics.

use rspirv::dr::Operand;
use rspirv::spirv::{Op, OpenclStd100Op as OpenCl, Word};
use schism_llvm::{Type, TypeKind, Value};

use super::types::{bits_of, held_in, is_whole};
use super::{Lowered, Lowering, refuse};

/// Intrinsics that tell an optimiser something and have no effect. That LLVM has no others with
/// these beginnings is not said: a name ends, or continues with a point.
const NOTHING: [&str; 11] = [
    "llvm.assume",
    "llvm.dbg",
    "llvm.donothing",
    "llvm.experimental.noalias.scope.decl",
    "llvm.invariant.end",
    "llvm.invariant.start",
    "llvm.lifetime.end",
    "llvm.lifetime.start",
    "llvm.prefetch",
    "llvm.pseudoprobe",
    "llvm.sideeffect",
];

impl<'m> Lowering<'m> {
    /// Inline assembly without a text, which hides a value from optimisation: what it gives is what
    /// it takes.
    fn no_assembly(&mut self, it: Value<'m>) -> Lowered<Option<Word>> {
        if it.ty().kind() == TypeKind::Void {
            return Ok(None);
        }
        match *it.args() {
            [value] if value.ty() == it.ty() => self.value(value).map(Some),
            _ => refuse("inline assembly"),
        }
    }

    /// Lowers a call; what it gives, if it gives something.
    pub fn call(&mut self, it: Value<'m>) -> Lowered<Option<Word>> {
        let assembly = Some(it.called_value()).filter(|called| called.is_inline_assembly());
        if assembly.is_some_and(|assembly| assembly.assembly_text().is_empty()) {
            return self.no_assembly(it);
        }
        let Some(callee) = it.callee() else {
            return refuse(match it.called_value().is_inline_assembly() {
                true => "inline assembly",
                false => "a call of a function that is only known when it runs",
            });
        };
        let name = callee.name();
        if let Some(&id) = self.functions.get(&callee) {
            let ty = self.ty(it.ty())?;
            let mut operands = vec![Operand::IdRef(id)];
            for argument in it.args() {
                operands.push(Operand::IdRef(self.value(argument)?));
            }
            return Ok(Some(self.emit(Op::FunctionCall, ty, operands)));
        }
        if Self::is_sub_group_operation(&name) {
            return self.sub_group_operation(it, &name);
        }
        if Self::is_register(&name) {
            return self.register(it, &name);
        }
        let Some(rest) = name.strip_prefix("llvm.") else {
            return refuse(format!("the function `{name}`"));
        };
        let is_nothing = |known: &str| {
            name.strip_prefix(known).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        if NOTHING.iter().any(|known| is_nothing(known)) {
            // What marks the beginning of a range gives a token that only its end takes.
            return Ok(None);
        }
        match rest.split('.').next().unwrap_or_default() {
            "memcpy" => return self.copy(it).map(|()| None),
            "memset" | "memmove" => return refuse(format!("`{name}`")),
            _ => {}
        }
        self.intrinsic(it, rest).map(Some)
    }

    /// Lowers an intrinsic with a result; `name` is without `llvm.`.
    fn intrinsic(&mut self, it: Value<'m>, name: &str) -> Lowered<Word> {
        // The types follow the name, and names contain points.
        if let Some((_, kind)) = name.split_once(".with.overflow") {
            let _ = kind;
            return self.with_overflow(it, name.split('.').next().unwrap_or_default());
        }
        let (kind, rest) = name.split_once('.').unwrap_or((name, ""));
        if rest.starts_with("sat.") {
            return self.saturated(it, kind);
        }
        let ty = it.ty();
        match kind {
            "expect" | "ssa_copy" | "launder" | "strip" | "annotation" => {
                return self.value(it.operand(0));
            }
            "fabs" => return self.float_function(it, OpenCl::fabs),
            "floor" => return self.float_function(it, OpenCl::floor),
            "ceil" => return self.float_function(it, OpenCl::ceil),
            "trunc" => return self.float_function(it, OpenCl::trunc),
            "rint" | "nearbyint" | "roundeven" => return self.float_function(it, OpenCl::rint),
            "round" => return self.float_function(it, OpenCl::round),
            "sqrt" => return self.float_function(it, OpenCl::sqrt),
            "fma" => return self.float_function(it, OpenCl::fma),
            "copysign" => return self.float_function(it, OpenCl::copysign),
            "minnum" | "minimumnum" => return self.float_function(it, OpenCl::fmin),
            "maxnum" | "maximumnum" => return self.float_function(it, OpenCl::fmax),
            "minimum" | "maximum" => return self.extreme(it, kind == "minimum"),
            "fmuladd" => {
                let own = self.ty(ty)?;
                let [a, b, c] = [0, 1, 2].map(|index| self.value(it.operand(index)));
                let product = self.emit_of(Op::FMul, own, &[a?, b?]);
                return Ok(self.emit_of(Op::FAdd, own, &[product, c?]));
            }
            "is" if rest.starts_with("constant") => return Ok(self.truth(false)),
            "is" if rest.starts_with("fpclass") => return self.is_class(it),
            "readcyclecounter" | "readsteadycounter" => return refuse("a clock"),
            "experimental" if rest.starts_with("cttz.elts.") => return self.zeros_in_front(it),
            "vector" if rest.starts_with("reduce.") => {
                return self.reduction(it, rest.trim_start_matches("reduce."));
            }
            _ => {}
        }
        let is_number = |ty: Type<'m>| is_whole(ty) && bits_of(ty).is_ok();
        if matches!(kind, "scmp" | "ucmp") {
            return self.three_way(it, kind == "scmp");
        }
        let of_any_width = ["smax", "smin", "umax", "umin", "abs", "ctpop", "bitreverse"];
        if !is_number(ty) && !of_any_width.contains(&kind) {
            return refuse(format!("`llvm.{name}`"));
        }
        match kind {
            "smax" => self.larger(it, Op::SGreaterThan),
            "smin" => self.larger(it, Op::SLessThan),
            "umax" => self.larger(it, Op::UGreaterThan),
            "umin" => self.larger(it, Op::ULessThan),
            "abs" => {
                let own = self.ty(ty)?;
                let value = self.signed(it.operand(0))?;
                let bool = self.bool_like(ty)?;
                let zero = self.number_like(ty, 0)?;
                let negative = self.emit_of(Op::SLessThan, bool, &[value, zero]);
                let minus = self.emit_of(Op::SNegate, own, &[value]);
                let result = self.emit_of(Op::Select, own, &[negative, minus, value]);
                self.cut(ty, result)
            }
            "ctpop" => {
                let (own, value) = (self.ty(ty)?, self.value(it.operand(0))?);
                Ok(self.emit_library(OpenCl::popcount, own, &[value]))
            }
            "ctlz" => self.float_function_of_one(it, OpenCl::clz),
            "cttz" => self.float_function_of_one(it, OpenCl::ctz),
            "bswap" => self.swap_bytes(it),
            "bitreverse" => self.reverse_bits(it),
            "fshl" | "fshr" => self.funnel(it, kind == "fshl"),
            "ptrmask" => refuse("`llvm.ptrmask`"),
            _ => refuse(format!("`llvm.{name}`")),
        }
    }

    /// A function of OpenCL's library that takes all arguments.
    fn float_function(&mut self, it: Value<'m>, function: OpenCl) -> Lowered<Word> {
        let ty = self.ty(it.ty())?;
        let arguments = it.args().into_iter().map(|argument| self.value(argument));
        let arguments = arguments.collect::<Lowered<Vec<_>>>()?;
        Ok(self.emit_library(function, ty, &arguments))
    }

    /// One that takes the first argument.
    fn float_function_of_one(&mut self, it: Value<'m>, function: OpenCl) -> Lowered<Word> {
        let (ty, value) = (self.ty(it.ty())?, self.value(it.operand(0))?);
        Ok(self.emit_library(function, ty, &[value]))
    }

    /// The one of two integers that stands in a relation to the other.
    fn larger(&mut self, it: Value<'m>, relation: Op) -> Lowered<Word> {
        let ty = it.ty();
        if bits_of(ty)? == 1 {
            return refuse("the larger one of two bits");
        }
        let (own, bool) = (self.ty(ty)?, self.bool_like(ty)?);
        let [left, right] = [it.operand(0), it.operand(1)];
        let sides = match relation {
            Op::SGreaterThan | Op::SLessThan => [self.signed(left)?, self.signed(right)?],
            _ => [self.value(left)?, self.value(right)?],
        };
        let (left, right) = (self.value(left)?, self.value(right)?);
        let wins = self.emit_of(relation, bool, &sides);
        Ok(self.emit_of(Op::Select, own, &[wins, left, right]))
    }

    /// `llvm.is.fpclass`: whether a number is of one of some classes, by its bits.
    fn is_class(&mut self, it: Value<'m>) -> Lowered<Word> {
        let ty = it.operand(0).ty();
        // Bits of the number: all, the sign, the exponent, the highest of the fraction.
        let (bits, exponent, quiet): (u32, u64, u64) = match ty.kind() {
            TypeKind::Half => (16, 0x7C00, 0x0200),
            TypeKind::Float => (32, 0x7F80_0000, 0x0040_0000),
            TypeKind::Double => (64, 0x7FF0_0000_0000_0000, 0x0008_0000_0000_0000),
            _ => return refuse(format!("the class of `{}`", ty.text())),
        };
        let Some(classes) = it.operand(1).as_unsigned() else {
            return refuse("classes of numbers that are not constant");
        };
        let (int, bool) = (self.int(bits), self.bool());
        let value = self.value(it.operand(0))?;
        let number = self.emit_of(Op::Bitcast, int, &[value]);
        let least_normal = exponent & exponent.wrapping_neg();
        // Without the sign, classes are ranges: each from its first number to before the next's.
        let zero = (0, 1);
        let subnormal = (1, least_normal);
        let normal = (least_normal, exponent);
        let infinite = (exponent, exponent + 1);
        let signaling = (exponent + 1, exponent | quiet);
        let quiet = (exponent | quiet, 1 << (bits - 1));
        // LLVM's classes, in the order of their bits: which range, and which sign.
        let known = [
            (signaling, None),
            (quiet, None),
            (infinite, Some(true)),
            (normal, Some(true)),
            (subnormal, Some(true)),
            (zero, Some(true)),
            (zero, Some(false)),
            (subnormal, Some(false)),
            (normal, Some(false)),
            (infinite, Some(false)),
        ];
        let sign = self.number(bits, 1 << (bits - 1));
        let mask = self.number(bits, (1 << (bits - 1)) - 1);
        let magnitude = self.emit_of(Op::BitwiseAnd, int, &[number, mask]);
        let mut result = self.truth(false);
        for (index, ((first, end), is_negative)) in known.into_iter().enumerate() {
            if classes >> index & 1 == 0 {
                continue;
            }
            let part = match is_negative {
                None => magnitude,
                Some(false) => number,
                // A negative number without its sign; a positive one is beyond all ranges.
                Some(true) => self.emit_of(Op::BitwiseXor, int, &[number, sign]),
            };
            let (first, size) = (self.number(bits, first), self.number(bits, end - first));
            let distance = self.emit_of(Op::ISub, int, &[part, first]);
            let inside = self.emit_of(Op::ULessThan, bool, &[distance, size]);
            result = self.emit_of(Op::LogicalOr, bool, &[result, inside]);
        }
        Ok(result)
    }

    /// `llvm.scmp` and `llvm.ucmp`: -1, 0 or 1, as the first number is less, the same or greater.
    fn three_way(&mut self, it: Value<'m>, is_signed: bool) -> Lowered<Word> {
        let (to, from) = (it.ty(), it.operand(0).ty());
        if bits_of(from)? == 1 || bits_of(to)? == 1 || to.is_vector() {
            return refuse(format!("a comparison of `{}`", from.text()));
        }
        let [left, right] = [it.operand(0), it.operand(1)];
        let sides = if is_signed {
            [self.signed(left)?, self.signed(right)?]
        } else {
            [self.value(left)?, self.value(right)?]
        };
        let (bool, own) = (self.bool(), self.ty(to)?);
        let (less, greater) = match is_signed {
            true => (Op::SLessThan, Op::SGreaterThan),
            false => (Op::ULessThan, Op::UGreaterThan),
        };
        let less = self.emit_of(less, bool, &sides);
        let greater = self.emit_of(greater, bool, &sides);
        let minus = self.number_like(to, u64::MAX >> (64 - bits_of(to)?))?;
        let (zero, one) = (self.number_like(to, 0)?, self.number_like(to, 1)?);
        let other = self.emit_of(Op::Select, own, &[greater, one, zero]);
        Ok(self.emit_of(Op::Select, own, &[less, minus, other]))
    }

    /// `llvm.minimum` and `llvm.maximum`: a NaN wins, and -0 is less than 0.
    fn extreme(&mut self, it: Value<'m>, least: bool) -> Lowered<Word> {
        let ty = it.ty();
        let (own, bool) = (self.ty(ty)?, self.bool_like(ty)?);
        let bits = bits_of(ty)?;
        if ty.is_vector() {
            return refuse("the least one of vectors of numbers");
        }
        let int = self.int(bits);
        let (left, right) = (self.value(it.operand(0))?, self.value(it.operand(1))?);
        let [a, b] = [left, right].map(|side| self.emit_of(Op::Bitcast, int, &[side]));
        // Of two equal numbers that are zeros, the signs are combined.
        let combine = if least { Op::BitwiseOr } else { Op::BitwiseAnd };
        let both = self.emit_of(combine, int, &[a, b]);
        let both = self.emit_of(Op::Bitcast, own, &[both]);
        let relation = if least { Op::FOrdLessThan } else { Op::FOrdGreaterThan };
        let wins = self.emit_of(relation, bool, &[left, right]);
        let winner = self.emit_of(Op::Select, own, &[wins, left, right]);
        let same = self.emit_of(Op::FOrdEqual, bool, &[left, right]);
        let winner = self.emit_of(Op::Select, own, &[same, both, winner]);
        let unordered = self.emit_of(Op::Unordered, bool, &[left, right]);
        let sum = self.emit_of(Op::FAdd, own, &[left, right]);
        Ok(self.emit_of(Op::Select, own, &[unordered, sum, winner]))
    }

    /// `llvm.bswap`, by shifts.
    fn swap_bytes(&mut self, it: Value<'m>) -> Lowered<Word> {
        let ty = it.ty();
        let value = self.value(it.operand(0))?;
        let bits = bits_of(ty)?;
        let mut result = value;
        // Halves change places, then halves of those.
        let mut width = bits / 2;
        while width >= 8 {
            result = self.swap_neighbours(ty, result, width)?;
            width /= 2;
        }
        Ok(result)
    }

    /// `llvm.bitreverse`, by shifts. A number that is held in a larger one moves to its upper end.
    fn reverse_bits(&mut self, it: Value<'m>) -> Lowered<Word> {
        let (ty, bits) = (it.ty(), bits_of(it.ty())?);
        if bits == 1 {
            return self.value(it.operand(0));
        }
        let held = held_in(bits)?;
        if held != bits && ty.is_vector() {
            return refuse(format!("`llvm.bitreverse` of vectors of {bits} bits"));
        }
        let ty = if held == bits { ty } else { ty.context().int_type(held) };
        let mut result = self.value(it.operand(0))?;
        let mut width = held / 2;
        while width >= 1 {
            result = self.swap_neighbours(ty, result, width)?;
            width /= 2;
        }
        if held != bits {
            let (own, by) = (self.ty(ty)?, self.number_like(ty, u64::from(held - bits))?);
            result = self.emit_of(Op::ShiftRightLogical, own, &[result, by]);
        }
        Ok(result)
    }

    /// Exchanges neighbouring groups of so many bits.
    fn swap_neighbours(&mut self, ty: Type<'m>, value: Word, width: u32) -> Lowered<Word> {
        let bits = bits_of(ty)?;
        let own = self.ty(ty)?;
        let group = u64::MAX >> (64 - width);
        let low = (0..bits).step_by(2 * width as usize).fold(0, |mask, at| mask | group << at);
        let (mask, by) = (self.number_like(ty, low)?, self.number_like(ty, u64::from(width))?);
        let down = self.emit_of(Op::ShiftRightLogical, own, &[value, by]);
        let down = self.emit_of(Op::BitwiseAnd, own, &[down, mask]);
        let up = self.emit_of(Op::BitwiseAnd, own, &[value, mask]);
        let up = self.emit_of(Op::ShiftLeftLogical, own, &[up, by]);
        Ok(self.emit_of(Op::BitwiseOr, own, &[down, up]))
    }

    /// `llvm.fshl` and `llvm.fshr`: bits of two numbers side by side.
    fn funnel(&mut self, it: Value<'m>, left: bool) -> Lowered<Word> {
        let ty = it.ty();
        let own = self.ty(ty)?;
        let bits = bits_of(ty)?;
        let [high, low, by] = [0, 1, 2].map(|index| self.value(it.operand(index)));
        let (high, low) = (high?, low?);
        // Shifts by all bits are done in two steps.
        let mask = self.number_like(ty, u64::from(held_in(bits)? - 1))?;
        let one = self.number_like(ty, 1)?;
        let by = self.emit_of(Op::BitwiseAnd, own, &[by?, mask]);
        let rest = self.emit_of(Op::BitwiseXor, own, &[by, mask]);
        let (up, down) = if left { (by, rest) } else { (rest, by) };
        let (high, low) = if left {
            let low = self.emit_of(Op::ShiftRightLogical, own, &[low, one]);
            (high, low)
        } else {
            let high = self.emit_of(Op::ShiftLeftLogical, own, &[high, one]);
            (high, low)
        };
        let high = self.emit_of(Op::ShiftLeftLogical, own, &[high, up]);
        let low = self.emit_of(Op::ShiftRightLogical, own, &[low, down]);
        Ok(self.emit_of(Op::BitwiseOr, own, &[high, low]))
    }
}
