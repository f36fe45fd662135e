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
//! Also compares what is below 2³¹, as work-items' ids are, with a number that all work-items have in common.
//! Before:
//! ```llvm
//!   %column = call "schism.narrow" i64 @llvm.spv.thread.id.i64(i32 0)
//!   %last = add nsw i64 %side, -1
//!   %is.last = icmp eq i64 %column, %last
//! ```
//! After:
//! ```llvm
//!   %last = add nsw i64 %side, -1
//!   %is.long = icmp ugt i64 %last, 4294967295
//!   %last.trunc = trunc i64 %last to i32
//!   %last.32 = select i1 %is.long, i32 -1, i32 %last.trunc
//!   %column.32 = trunc i64 %column to i32
//!   %is.last = icmp eq i32 %column.32, %last.32
//! ```
//! A number that has no 32 bits becomes the greatest one that has: those below it are below both.
//! Ids themselves are narrowed in equalities only: of `id < n` a driver learns where its loop over work-items ends.
//!
//! A driver for processors computes the work-items of a group in the lanes of vectors. A vector has
//! half as many lanes of 64 bits, so that a comparison takes two instructions, one for each half of
//! the work-items, and one that joins the halves of the mask.
//!
//! Indices stay as they are: of sums of 64 bits a driver knows that neighbours access neighbouring
//! elements, and of those of 32 bits it does not, as they may wrap.

use inkwell::module::Module;
use schism_llvm::{AsModule, Builder, IntPredicate, Opcode, TypeKind, Value};

use super::short_numbers::{Facts, LowerHalves, SHORT, is_common};
use crate::ir::cfg::Cfg;

/// Runs the pass over a module.
pub fn run(module: &Module<'_>) {
    for function in module.handle().functions() {
        if !function.is_declaration() {
            run_on(function);
        }
    }
}

fn run_on(function: Value<'_>) {
    let cfg = Cfg::of(function);
    let mut halves = LowerHalves::default();
    for (number, block) in cfg.blocks.iter().enumerate() {
        let mut facts = None;
        for comparison in block.instructions() {
            if comparison.opcode() != Some(Opcode::ICmp) {
                continue;
            }
            let sides = [0, 1].map(|index| comparison.operand(index));
            let ty = sides[0].ty();
            let is_long = ty.kind() == TypeKind::Integer && ty.int_width() == 64;
            if !is_long || !sides.iter().any(|side| side.is_instruction()) {
                continue;
            }
            let predicate = comparison.icmp_predicate();
            let is_equality = matches!(predicate, IntPredicate::EQ | IntPredicate::NE);
            let facts = facts.get_or_insert_with(|| Facts::at(&cfg, number));
            let is_at_hand = |side| match is_equality {
                true => LowerHalves::is_at_hand_or_id(side),
                false => LowerHalves::is_at_hand(side),
            };
            let is_below = |side, limit| is_at_hand(side) && facts.most(side) < limit;
            let is_common = sides.map(is_common);
            if sides.iter().all(|&side| is_below(side, SHORT + 1)) {
                let [a, b] = sides.map(|side| halves.of(side));
                narrow(comparison, a, b);
            } else if is_signed(predicate) || is_common[0] == is_common[1] {
                // Nothing is known of the upper halves.
            } else if is_common[1] && is_below(sides[0], SHORT) {
                let (a, b) = (halves.of(sides[0]), halves.of_at_most_all(sides[1]));
                narrow(comparison, a, b);
            } else if is_common[0] && is_below(sides[1], SHORT) {
                let (a, b) = (halves.of_at_most_all(sides[0]), halves.of(sides[1]));
                narrow(comparison, a, b);
            }
        }
    }
}

/// Makes a comparison one of the sides' lower halves.
fn narrow<'m>(comparison: Value<'m>, a: Value<'m>, b: Value<'m>) {
    // Neither has a sign.
    let predicate = match comparison.icmp_predicate() {
        IntPredicate::SLT => IntPredicate::ULT,
        IntPredicate::SLE => IntPredicate::ULE,
        IntPredicate::SGT => IntPredicate::UGT,
        IntPredicate::SGE => IntPredicate::UGE,
        other => other,
    };
    let new = Builder::before(comparison).icmp(predicate, a, b);
    comparison.replace_uses(new);
    comparison.erase();
}

fn is_signed(predicate: IntPredicate) -> bool {
    use IntPredicate::{SGE, SGT, SLE, SLT};
    matches!(predicate, SGE | SGT | SLE | SLT)
}
