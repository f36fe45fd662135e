//! Compares numbers of 64 bits in 32, if they were extended from those. Runs in stage 2 after
//! optimisation, for OpenCL's devices.
//!
//! Before:
//! ```llvm
//!   %place = zext nneg i32 %place.32 to i64
//!   %lane = and i64 %place, 31
//!   %is.first = icmp samesign ult i64 %lane, 16
//! ```
//! After:
//! ```llvm
//!   %place = zext nneg i32 %place.32 to i64
//!   %lane = and i64 %place, 31
//!   %lane.32 = and i32 %place.32, 31
//!   %is.first = icmp ult i32 %lane.32, 16
//! ```
//! A driver for processors computes the work-items of a group in the lanes of vectors. A vector has
//! half as many lanes of 64 bits, so that a comparison takes two instructions, one for each half of
//! the work-items, and one that joins the halves of the mask.
//!
//! Indices stay as they are: of sums of 64 bits a driver knows that neighbours access neighbouring
//! elements, and of those of 32 bits it does not, as they may wrap.

use std::collections::HashMap;

use inkwell::module::Module;
use schism_llvm::{AsModule, Builder, IntPredicate, Opcode, TypeKind, Value};

/// How many operations a number may be made of.
const DEPTH: usize = 6;

/// Runs the pass over a module.
pub fn run(module: &Module<'_>) {
    for function in module.handle().functions() {
        let mut made = HashMap::new();
        for comparison in function.instructions() {
            narrow(comparison, &mut made);
        }
    }
}

/// Makes a comparison one of 32 bits.
fn narrow<'m>(comparison: Value<'m>, made: &mut HashMap<Value<'m>, Value<'m>>) {
    if comparison.opcode() != Some(Opcode::ICmp) {
        return;
    }
    let [a, b] = [0, 1].map(|index| comparison.operand(index));
    let is_long = a.ty().kind() == TypeKind::Integer && a.ty().int_width() == 64;
    let is_computed = [a, b].iter().any(|side| side.is_instruction());
    if !is_long || !is_computed || ![a, b].into_iter().all(|side| is_short(side, DEPTH)) {
        return;
    }
    // Neither has a sign.
    let predicate = match comparison.icmp_predicate() {
        IntPredicate::SLT => IntPredicate::ULT,
        IntPredicate::SLE => IntPredicate::ULE,
        IntPredicate::SGT => IntPredicate::UGT,
        IntPredicate::SGE => IntPredicate::UGE,
        other => other,
    };
    let [a, b] = [a, b].map(|side| short(side, made));
    let new = Builder::before(comparison).icmp(predicate, a, b);
    comparison.replace_uses(new);
    comparison.erase();
}

/// Whether a number of 64 bits is below 2^32 and made of numbers of 32 bits.
fn is_short(value: Value<'_>, depth: usize) -> bool {
    if value.is_constant_int() {
        return value.zext_value() <= u64::from(u32::MAX);
    }
    let Some(depth) = depth.checked_sub(1) else { return false };
    let of = |index| is_short(value.operand(index), depth);
    match value.opcode() {
        Some(Opcode::ZExt) => value.operand(0).ty().int_width() <= 32,
        Some(Opcode::And | Opcode::Or | Opcode::Xor) => of(0) && of(1),
        Some(Opcode::Sub) => value.is_nuw() && of(0) && of(1),
        Some(Opcode::LShr) => {
            let by = value.operand(1);
            by.is_constant_int() && by.zext_value() < 32 && of(0)
        }
        _ => false,
    }
}

/// The same number in 32 bits, computed right behind it.
fn short<'m>(value: Value<'m>, made: &mut HashMap<Value<'m>, Value<'m>>) -> Value<'m> {
    let ty = value.context().int_type(32);
    if value.is_constant_int() {
        return ty.const_int(value.zext_value(), false);
    }
    if let Some(&known) = made.get(&value) {
        return known;
    }
    let behind = value.block().instructions().into_iter().skip_while(|it| *it != value).nth(1);
    let builder = Builder::before(behind.expect("a block ends in a terminator"));
    let new = match value.opcode() {
        Some(Opcode::ZExt) => builder.int_cast(value.operand(0), ty, false),
        opcode => {
            let [a, b] = [0, 1].map(|index| short(value.operand(index), made));
            builder.binary(opcode.expect("an instruction"), a, b)
        }
    };
    made.insert(value, new);
    new
}
