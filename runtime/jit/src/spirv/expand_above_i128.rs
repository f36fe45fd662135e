//! Integers of more than 128 bits, which LLVM makes of sums over loops: `0 + 1 + … + n` is a product with one more
//! bit, and half of that. They become pairs of 128 bits.
//!
//! ```llvm
//!   %a.long = zext i128 %a to i129
//!   %b.long = zext i128 %b to i129
//!   %product = mul i129 %a.long, %b.long
//!   %half = lshr i129 %product, 1
//!   %sum = trunc i129 %half to i128
//! ```
//! becomes
//! ```llvm
//!   %low = mul i128 %a, %b
//!   %high = ...                                    ; of four products of halves
//!   %high.own = and i128 %high, 1
//!   %low.shifted = lshr i128 %low, 1
//!   %from.high = shl i128 %high.own, 127
//!   %sum = or i128 %low.shifted, %from.high
//! ```
//! Of what is cut to 128 bits or fewer only; other such integers are refused when the kernel is lowered. Runs after
//! optimisation.

use std::collections::HashMap;

use schism_llvm::{Builder, IntPredicate, Opcode, TypeKind, Value};
use schism_passes::llvm_passes;

use crate::JitError;
use crate::common::module::Module;

/// Bits of each half of a pair.
const HALF: u32 = 128;

/// Replaces the integers.
pub fn expand(module: &Module<'_>) -> Result<(), JitError> {
    let mut found = false;
    for function in module.functions() {
        let mut pairs = Pairs::default();
        for cut in function.instructions() {
            if cut.opcode() != Some(Opcode::Trunc) || !is_long(cut.operand(0)) || is_long(cut) {
                continue;
            }
            let builder = Builder::before(cut);
            let Some((low, _)) = pairs.of(&builder, cut.operand(0)) else { continue };
            let short = builder.int_cast(low, cut.ty(), false);
            cut.replace_with(short);
            found = true;
        }
    }
    if found {
        module.run_passes(llvm_passes::DCE, None).map_err(JitError::Internal)
    } else {
        Ok(())
    }
}

fn is_long(value: Value<'_>) -> bool {
    let ty = value.ty();
    ty.kind() == TypeKind::Integer && (HALF + 1..=2 * HALF).contains(&ty.int_width())
}

/// The lower and the upper halves of values. Bits of the upper one beyond the value's own may be anything.
#[derive(Default)]
struct Pairs<'m>(HashMap<Value<'m>, Option<(Value<'m>, Value<'m>)>>);

impl<'m> Pairs<'m> {
    /// Those of a value, where a builder is; `None` if it is no sum, product or shift of what has pairs.
    fn of(&mut self, b: &Builder<'m>, value: Value<'m>) -> Option<(Value<'m>, Value<'m>)> {
        if value.is_constant_int() {
            // LLVM folds these.
            let half = value.context().int_type(HALF);
            let shift = value.ty().const_int(HALF.into(), false);
            return Some((b.trunc(value, half), b.trunc(b.lshr(value, shift), half)));
        }
        if let Some(&known) = self.0.get(&value) {
            return known;
        }
        let pair = self.make(value);
        self.0.insert(value, pair);
        pair
    }

    fn make(&mut self, value: Value<'m>) -> Option<(Value<'m>, Value<'m>)> {
        let half = value.context().int_type(HALF);
        let word = |number: u32| half.const_int(number.into(), false);
        if !value.is_instruction() {
            return None;
        }
        let bits = value.ty().int_width() - HALF;
        let b = &Builder::before(value);
        if value.opcode() == Some(Opcode::ZExt) {
            let from = value.operand(0);
            if !is_long(from) {
                return Some((b.int_cast(from, half, false), word(0)));
            }
            let (low, high) = self.of(b, from)?;
            return Some((low, own_bits(b, high, from.ty().int_width() - HALF)));
        }
        let (low, high) = self.of(b, value.operand(0))?;
        let shift = value.get_operand(1).filter(|by| by.is_constant_int()).map(Value::zext_value);
        match value.opcode()? {
            Opcode::Trunc => Some((low, high)),
            Opcode::LShr => {
                let by = u32::try_from(shift?).ok().filter(|by| (1..HALF + bits).contains(by))?;
                let high = own_bits(b, high, bits);
                Some(if by >= HALF {
                    (b.lshr(high, word(by - HALF)), word(0))
                } else {
                    let low = b.or(b.lshr(low, word(by)), b.shl(high, word(HALF - by)));
                    (low, b.lshr(high, word(by)))
                })
            }
            Opcode::Shl => {
                let by = u32::try_from(shift?).ok().filter(|by| (1..HALF + bits).contains(by))?;
                Some(if by >= HALF {
                    (word(0), b.shl(low, word(by - HALF)))
                } else {
                    let high = b.or(b.shl(high, word(by)), b.lshr(low, word(HALF - by)));
                    (b.shl(low, word(by)), high)
                })
            }
            Opcode::Add => {
                let (other_low, other_high) = self.of(b, value.operand(1))?;
                let sum = b.add(low, other_low);
                let carry = b.icmp(IntPredicate::ULT, sum, low);
                let carry = b.int_cast(carry, half, false);
                Some((sum, b.add(b.add(high, other_high), carry)))
            }
            Opcode::Mul => {
                let (other_low, other_high) = self.of(b, value.operand(1))?;
                let crossed = b.add(b.mul(high, other_low), b.mul(low, other_high));
                let product = b.mul(low, other_low);
                Some((product, b.add(upper_product(b, low, other_low), crossed)))
            }
            _ => None,
        }
    }
}

/// The lowest bits of a number.
fn own_bits<'m>(b: &Builder<'m>, number: Value<'m>, bits: u32) -> Value<'m> {
    if bits >= HALF {
        return number;
    }
    let ty = number.ty();
    let one = ty.const_int(1, false);
    let above = b.shl(one, ty.const_int(bits.into(), false));
    b.and(number, b.sub(above, one))
}

/// The upper half of a product (Knuth, *The Art of Computer Programming* 4.3.1, algorithm M, with two digits).
fn upper_product<'m>(b: &Builder<'m>, x: Value<'m>, y: Value<'m>) -> Value<'m> {
    const DIGIT: u64 = 64;
    let ty = x.ty();
    let digit = ty.const_int(DIGIT, false);
    let lower = |number| own_bits(b, number, DIGIT as u32);
    let upper = |number| b.lshr(number, digit);
    let ([x0, y0], [x1, y1]) = ([lower(x), lower(y)], [upper(x), upper(y)]);
    let (crossed, other) = (b.mul(x0, y1), b.mul(x1, y0));
    let carried = b.add(b.add(upper(b.mul(x0, y0)), lower(crossed)), lower(other));
    let sum = b.add(b.add(b.mul(x1, y1), upper(crossed)), upper(other));
    b.add(sum, upper(carried))
}

#[cfg(test)]
mod tests {
    use super::*;
    use schism_llvm::Context;

    /// What a function of constants returns, as LLVM's assembly says it.
    fn result(module: &Module<'_>) -> String {
        module.run_passes("function(instcombine)", None).expect("LLVM's passes run");
        let text = module.print();
        let line = text.lines().find(|line| line.contains("ret ")).expect("it returns");
        line.trim().to_owned()
    }

    #[test]
    fn pairs_compute_what_llvm_does() {
        let numbers = [
            "0",
            "1",
            "18446744073709551615",
            "340282366920938463463374607431768211455",
            "170141183460469231731687303715884105728",
            "226854911280625642308916404954512140970",
        ];
        for (bits, by) in [(129, 1), (131, 3), (160, 32), (192, 64), (200, 130), (256, 200)] {
            for a in numbers {
                for b in numbers {
                    let text = format!(
                        "define i128 @f() {{
                           %a = zext i128 {a} to i{bits}
                           %b = zext i128 {b} to i{bits}
                           %sum = add i{bits} %b, %a
                           %product = mul i{bits} %a, %sum
                           %up = shl i{bits} %product, 1
                           %part = lshr i{bits} %up, {by}
                           %result = trunc i{bits} %part to i128
                           ret i128 %result
                         }}"
                    );
                    let context = Context::new();
                    let of = || Module::from_text(&context, &text).expect("it is well-formed");
                    let (plain, pairs) = (of(), of());
                    expand(&pairs).expect("LLVM's passes run");
                    assert!(!pairs.print().contains(&format!("i{bits}")));
                    assert_eq!(result(&pairs), result(&plain), "{text}");
                }
            }
        }
    }
}
