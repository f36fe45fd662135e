//! Rarely taken code, for devices where one thread computes several work-items in the lanes of
//! vectors: it becomes a loop that is never repeated.
//!
//! ```llvm
//!   br i1 %is.normal, label %done, label %rare, !prof !{!"branch_weights", i32 2000, i32 1}
//! rare:
//!   %scaled = fmul float %value, %power
//!   ...
//!   br label %done
//! done:
//!   %result = phi float [ %value, %before ], [ %scaled, %rare ]
//! ```
//! becomes
//! ```llvm
//! rare:
//!   %turn = phi i32 [ 0, %before ], [ %turn.next, %rare ]
//!   %value.bits = bitcast float %value to i32
//!   %value.same = add i32 %value.bits, %turn
//!   %value.here = bitcast i32 %value.same to float
//!   %scaled = fmul float %value.here, %power
//!   ...
//!   %turn.next = add i32 %turn, 1
//!   %again = icmp ule i32 %turn.next, %zero      ; no compiler knows that it is 0
//!   br i1 %again, label %rare, label %done
//! ```
//! Drivers' compilers compute both sides of a branch for all lanes, and choose. A loop they skip if
//! no lane reaches it. To compilers, what it computes of depends on the iteration: otherwise they would
//! compute it before the loop.
//!
//! What the other, common side computes, if it does nothing else, moves before the branch: there
//! it is for all lanes, and drivers hold its constants in registers instead of masking them. Runs
//! after optimisation.

use std::collections::HashMap;

use schism_llvm::{Block, Builder, IntPredicate, Opcode, TypeKind, Value, intrinsic_id};

use crate::common::module::Module;

/// A side of a branch is rare if the other one is taken this many times as often.
const RARE: u64 = 256;

/// How many instructions it has at least.
const LEAST: usize = 3;

/// Runs the step over a kernel's entry.
pub fn skip(module: &Module<'_>, entry: &str) {
    let Some(entry) = module.function(entry) else { return };
    let rare: Vec<_> = entry.blocks().into_iter().filter_map(|block| rare_side(block)).collect();
    let mut predecessors: HashMap<Block<'_>, usize> = HashMap::new();
    for next in entry.blocks().into_iter().flat_map(Block::successors) {
        *predecessors.entry(next).or_default() += 1;
    }
    let mut zero = None;
    for (before, block) in rare {
        if predecessors[&block] == 1 && computes(block) {
            let zero = *zero.get_or_insert_with(|| hidden_zero(entry));
            let common = before.successors().into_iter().find(|side| *side != block);
            if let Some(common) = common
                && predecessors[&common] == 1
                && computes(common)
                && !common.instructions().into_iter().any(divides)
                && common.end().successor(0) == block.end().successor(0)
            {
                compute_before(before, common);
            }
            repeat(before, block, zero);
        }
    }
}

/// A block, and the side that it rarely branches to.
fn rare_side(block: Block<'_>) -> Option<(Block<'_>, Block<'_>)> {
    let branch = block.terminator()?;
    if branch.opcode() != Some(Opcode::Br) || !branch.is_conditional() {
        return None;
    }
    let weights = branch.named_kind_metadata("prof")?.md_operands();
    let weights: Vec<u64> = weights.into_iter().flatten().filter_map(Value::as_unsigned).collect();
    let rare = match weights[..] {
        [a, b] if a >= b.max(1).saturating_mul(RARE) => 1,
        [a, b] if b >= a.max(1).saturating_mul(RARE) => 0,
        _ => return None,
    };
    Some((block, branch.successor(rare)))
}

/// Whether a block only computes, and has one successor.
fn computes(block: Block<'_>) -> bool {
    let end = block.end();
    let goes_on = end.opcode() == Some(Opcode::Br) && !end.is_conditional();
    let instructions = block.instructions();
    let is_pure = |it: &Value<'_>| *it == end || is_pure(*it);
    goes_on && instructions.len() > LEAST && instructions.iter().all(is_pure)
}

fn is_pure(it: Value<'_>) -> bool {
    use Opcode::*;
    match it.opcode() {
        Some(Call) => {
            const PURE: [&str; 17] = [
                "fma", "fabs", "sqrt", "copysign", "minnum", "maxnum", "floor", "ceil", "trunc",
                "rint", "is", "umin", "umax", "smin", "smax", "fshl", "ctlz",
            ];
            it.callee().is_some_and(|callee| {
                let name = callee.name();
                let name = name.strip_prefix("llvm.").unwrap_or_default();
                PURE.contains(&name.split('.').next().unwrap_or_default())
            })
        }
        Some(
            FAdd | FSub | FMul | FDiv | FNeg | FCmp | ICmp | Select | FPToSI | FPToUI | SIToFP
            | UIToFP | FPTrunc | FPExt | BitCast | Freeze | ZExt | SExt | Trunc,
        ) => true,
        _ => it.is_integer_arithmetic(),
    }
}

/// Zero, of which no compiler knows that it is, at the function's begin.
pub(super) fn hidden_zero(entry: Value<'_>) -> Value<'_> {
    let context = entry.context();
    let (long, word) = (context.int_type(64), context.int_type(32));
    let offset = entry.module().intrinsic(intrinsic_id("llvm.spv.global.offset"), &[long]);
    let builder = Builder::before(entry.entry().begin());
    let zero = builder.call_function(offset, &[word.const_int(0, false)]);
    builder.trunc(zero, word)
}

/// Whether it must not be computed where it was not.
fn divides(it: Value<'_>) -> bool {
    use Opcode::{SDiv, SRem, UDiv, URem};
    matches!(it.opcode(), Some(UDiv | SDiv | URem | SRem))
}

/// Computes before a branch what its common side does.
fn compute_before<'m>(before: Block<'m>, common: Block<'m>) {
    let builder = Builder::before(before.end());
    for instruction in common.instructions().into_iter().filter(|it| *it != common.end()) {
        instruction.remove_from_block();
        builder.insert(instruction);
    }
}

/// Makes a loop of a block.
fn repeat<'m>(before: Block<'m>, block: Block<'m>, zero: Value<'m>) {
    let word = zero.ty();
    let instructions = block.instructions();
    let Some((&end, instructions)) = instructions.split_last() else { return };
    let next = end.successor(0);
    let builder = Builder::before(block.begin());
    let turn = builder.phi(word);
    let mut here: HashMap<Value<'m>, Value<'m>> = HashMap::new();
    for instruction in instructions {
        for (index, operand) in (0..).zip(instruction.operands()) {
            let comes_in = operand.is_argument() || operand.is_instruction();
            if !comes_in || (operand.is_instruction() && operand.block() == block) {
                continue;
            }
            let known = here.get(&operand).copied();
            let Some(same) = known.or_else(|| of_turn(&builder, operand, turn)) else { continue };
            here.insert(operand, same);
            instruction.set_operand(index, same);
        }
    }
    builder.position_before(end);
    let turn_next = builder.add(turn, word.const_int(1, false));
    let again = builder.icmp(IntPredicate::ULE, turn_next, zero);
    builder.cond_br(again, block, next);
    end.erase();
    turn.add_incoming(word.const_int(0, false), before);
    turn.add_incoming(turn_next, block);
}

/// The same number, which to a compiler depends on the iteration.
fn of_turn<'m>(builder: &Builder<'m>, number: Value<'m>, turn: Value<'m>) -> Option<Value<'m>> {
    let ty = number.ty();
    let (bits, is_float) = match ty.kind() {
        TypeKind::Integer if (8..=64).contains(&ty.int_width()) => (ty.int_width(), false),
        TypeKind::Float => (32, true),
        TypeKind::Double => (64, true),
        _ => return None,
    };
    let int = ty.context().int_type(bits);
    let turn = builder.int_cast(turn, int, false);
    let of = if is_float { builder.bitcast(number, int) } else { number };
    let same = builder.add(of, turn);
    Some(if is_float { builder.bitcast(same, ty) } else { same })
}
