//! Counts in 32 bits what stays below 2³², where work-items count different numbers. Runs in stage 2
//! after optimisation, for OpenCL's devices.
//!
//! Before:
//! ```llvm
//!   %lane = and i64 %place, 31
//! loop:
//!   %k = phi i64 [ %lane, %before ], [ %next, %loop ]
//!   ...
//!   %next = add i64 %k, 32
//!   %goes.on = icmp ult i64 %next, %n            ; %n is below 2^31
//!   br i1 %goes.on, label %loop, label %end
//! ```
//! After:
//! ```llvm
//!   %lane.32 = and i32 %place.32, 31
//! loop:
//!   %k.32 = phi i32 [ %lane.32, %before ], [ %next.32, %loop ]
//!   %k = zext i32 %k.32 to i64
//!   %next.32 = add i32 %k.32, 32
//!   %next = zext i32 %next.32 to i64
//!   ...
//!   %goes.on = icmp ult i64 %next, %n            ; for `narrow-comparisons`
//! ```
//! A vector has half as many lanes of 64 bits. LLVM makes counters as wide as addresses, which costs
//! nothing where one counter serves all.
//!
//! **Which.** Counters that begin with an irregular (`irregular.rs`) number, or go up to one.
//! Neighbouring elements stay that: of a counter that begins with a work-item's place a driver knows
//! that it goes up by one from work-item to work-item, and of one that may wrap it does not.
//!
//! **That it does not wrap** follows from what the limit is at most, by its type, by what a launch
//! promises of parameters, and by branches in front of the loop.

use inkwell::module::Module;
use schism_llvm::{AsModule, Builder, IntPredicate, Opcode, TypeKind, Value};

use super::irregular::Irregular;
use super::short_numbers::{Facts, LowerHalves, SHORT};
use crate::ir::cfg::{Cfg, NaturalLoop};

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
    let (mut irregular, mut halves) = (Irregular::default(), LowerHalves::default());
    let mut counters = Vec::new();
    for one in cfg.natural_loops() {
        let facts = Facts::at(&cfg, one.header);
        for phi in cfg.blocks[one.header].phis() {
            counters.extend(Counter::of(&cfg, &one, phi, &facts, &mut irregular));
        }
    }
    for counter in counters {
        counter.narrow(&mut halves);
    }
}

/// A counter that stays below 2³².
struct Counter<'m> {
    phi: Value<'m>,
    next: Value<'m>,
    step: u64,
}

impl<'m> Counter<'m> {
    fn of(
        cfg: &Cfg<'m>,
        one: &NaturalLoop,
        phi: Value<'m>,
        facts: &Facts<'m>,
        irregular: &mut Irregular<'m>,
    ) -> Option<Self> {
        let &[latch] = &one.latches[..] else { return None };
        let ty = phi.ty();
        if ty.kind() != TypeKind::Integer || ty.int_width() != 64 {
            return None;
        }
        let next = phi.incoming(cfg.blocks[latch])?;
        let step = next.get_operand(1).filter(|_| next.opcode() == Some(Opcode::Add))?;
        let step = step.as_unsigned().filter(|&step| step > 0 && next.operand(0) == phi)?;
        // Another iteration begins only with a number below the limit.
        let branch = cfg.blocks[latch].end();
        if branch.opcode() != Some(Opcode::Br) || !branch.is_conditional() {
            return None;
        }
        let condition = branch.condition();
        let [yes, no] = [0, 1].map(|index| branch.successor(index));
        let header = cfg.blocks[one.header];
        if condition.opcode() != Some(Opcode::ICmp) || (yes == header) == (no == header) {
            return None;
        }
        let [a, b] = [0, 1].map(|index| condition.operand(index));
        let limit = match (condition.icmp_predicate(), yes == header) {
            (IntPredicate::ULT, true) | (IntPredicate::UGE, false) if a == next => b,
            (IntPredicate::UGT, true) | (IntPredicate::ULE, false) if b == next => a,
            _ => return None,
        };
        let starts: Vec<Value<'m>> =
            phi.incoming_edges().into_iter().map(|it| it.0).filter(|&it| it != next).collect();
        let is_short =
            |&it: &Value<'m>| facts.most(it).checked_add(step).is_some_and(|it| it <= SHORT);
        if !is_short(&limit) || !starts.iter().all(is_short) {
            return None;
        }
        let counts = |it: &Value<'m>| irregular.is_irregular(*it);
        let is_own = [limit].iter().chain(&starts).any(counts);
        is_own.then_some(Counter { phi, next, step })
    }

    fn narrow(self, halves: &mut LowerHalves<'m>) {
        let Counter { phi, next, step } = self;
        let ty = phi.context().int_type(32);
        let new = Builder::before(phi).phi(ty);
        let builder = Builder::before(next);
        let new_next = builder.add(new, ty.const_int(step, false));
        let wide_next = builder.zext(new_next, phi.ty());
        let wide = Builder::before(phi.block().first_non_phi()).zext(new, phi.ty());
        for (start, from) in phi.incoming_edges() {
            let start = if start == next { new_next } else { halves.of(start) };
            new.add_incoming(start, from);
        }
        next.replace_uses(wide_next);
        phi.replace_uses(wide);
        next.erase();
        phi.erase();
    }
}
