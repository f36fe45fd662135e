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

use inkwell::module::Module;
use schism_llvm::{AsModule, Builder, IntPredicate, Opcode, TypeKind, Value};

use super::short_numbers::{Facts, LowerHalves, SHORT};
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
            let is_computed = sides.iter().any(|side| side.is_instruction());
            if !is_long || !is_computed || !sides.into_iter().all(LowerHalves::is_at_hand) {
                continue;
            }
            let facts = facts.get_or_insert_with(|| Facts::at(&cfg, number));
            if sides.iter().all(|&side| facts.most(side) <= SHORT) {
                narrow(comparison, &mut halves);
            }
        }
    }
}

/// Makes a comparison one of 32 bits.
fn narrow<'m>(comparison: Value<'m>, halves: &mut LowerHalves<'m>) {
    let [a, b] = [0, 1].map(|index| halves.of(comparison.operand(index)));
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
