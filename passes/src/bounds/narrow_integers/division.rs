//! Divides trip counts that fit into 32 bits in 32 bits.
//!
//! Before (`%len` is an extended number of 32 bits, and `%first` what the loop's second iteration
//! begins at):
//! ```llvm
//! %most = call i64 @llvm.umax.i64(i64 %len, i64 %first)
//! %below = icmp ult i64 %first, %len
//! %one = zext i1 %below to i64
//! %end = add nuw i64 %first, %one
//! %left = sub i64 %most, %end
//! %iterations = udiv i64 %left, %step
//! ```
//! After:
//! ```llvm
//! %left.32 = trunc i64 %left to i32
//! %step.least = call i64 @llvm.umin.i64(i64 %step, i64 4294967295)
//! %step.32 = trunc i64 %step.least to i32
//! %iterations.32 = udiv i32 %left.32, %step.32
//! %iterations = zext i32 %iterations.32 to i64
//! ```
//!
//! LLVM computes such a trip count in order to unroll a loop whose step is no constant, such as a
//! grid-stride loop. It does not see that `%left` is less than `%len`: it is `%len - %first - 1`,
//! or zero. So it divides in 64 bits. A GPU has no instruction for that, and its expansion takes
//! NVIDIA's assembler as long as the rest of such a kernel.

use schism_llvm::{Builder, IntPredicate, Opcode, TypeKind, Value, intrinsic_id};

use crate::analysis::value_range::range;

/// The largest number of 32 bits. A step that is larger is made this: what is less, divided by
/// either, is zero.
const LARGEST: u64 = u32::MAX as u64;

/// Narrows the divisions of a function; a declaration has nothing to do.
pub(super) fn narrow(function: Value<'_>) {
    for division in function.instructions() {
        if division.opcode() == Some(Opcode::UDiv) && is_short(division) {
            shorten(division);
        }
    }
}

/// Whether a division is one of 64 bits, by a variable, of what is left to a number of 31 bits.
fn is_short(division: Value<'_>) -> bool {
    let (left, step) = (division.operand(0), division.operand(1));
    let is_wide = {
        let ty = division.ty();
        !step.is_constant() && ty.kind() == TypeKind::Integer && ty.int_width() == 64
    };
    if !is_wide || left.opcode() != Some(Opcode::Sub) {
        return false;
    }
    let (most, end) = (left.operand(0), left.operand(1));
    let Some((a, b)) = greater(most) else { return false };
    [(a, b), (b, a)].into_iter().any(|(len, first)| is_small(len) && is_behind(end, first, len))
}

/// Whether a number is `first`, and one more if that is below `len`.
fn is_behind<'m>(end: Value<'m>, first: Value<'m>, len: Value<'m>) -> bool {
    let mut terms = terms(end);
    for term in self::terms(first) {
        let Some(place) = terms.iter().position(|other| *other == term) else { return false };
        terms.swap_remove(place);
    }
    matches!(terms[..], [one] if is_one_below(one, first, len))
}

/// Whether a number is one if `first` is below `len`, and else zero.
fn is_one_below<'m>(one: Value<'m>, first: Value<'m>, len: Value<'m>) -> bool {
    if one.opcode() != Some(Opcode::ZExt) {
        return false;
    }
    let Some(below) = one.operands().next() else { return false };
    if below.opcode() != Some(Opcode::ICmp) {
        return false;
    }
    let (predicate, a, b) = (below.icmp_predicate(), below.operand(0), below.operand(1));
    match predicate {
        IntPredicate::ULT => (a, b) == (first, len),
        IntPredicate::UGT => (a, b) == (len, first),
        _ => false,
    }
}

/// What a sum is of, if no addition goes beyond 64 bits.
fn terms(sum: Value<'_>) -> Vec<Value<'_>> {
    let (mut terms, mut open) = (Vec::new(), vec![sum]);
    while let Some(value) = open.pop() {
        let is_sum = value.opcode() == Some(Opcode::Add) && value.is_nuw();
        if is_sum { open.extend(value.operands()) } else { terms.push(value) }
    }
    terms
}

/// The two numbers that a value is the greater of.
fn greater(value: Value<'_>) -> Option<(Value<'_>, Value<'_>)> {
    let callee = value.callee()?;
    let mut operands = value.operands();
    (callee.name() == "llvm.umax.i64").then_some((operands.next()?, operands.next()?))
}

/// Whether a number is less than [`LARGEST`].
fn is_small(value: Value<'_>) -> bool {
    range(value).is_some_and(|(low, high)| low >= 0 && high < i128::from(LARGEST))
}

/// Divides in 32 bits.
fn shorten(division: Value<'_>) {
    let (left, step) = (division.operand(0), division.operand(1));
    let long = division.ty();
    let context = long.context();
    let short = context.int_type(32);
    let builder = Builder::before(division);
    let left = builder.trunc(left, short);
    let module = division.parent_function().module();
    let (word, types) = ("llvm.umin", [long]);
    let id = intrinsic_id(word);
    let least = module.intrinsic(id, &types);
    let operands = [step, long.const_int(LARGEST, false)];
    let ty = least.value_type();
    let step = builder.call(ty, least, &operands);
    let step = builder.trunc(step, short);
    let iterations = builder.udiv(left, step);
    let iterations = builder.zext(iterations, long);
    division.replace_uses(iterations);
    division.erase();
}
