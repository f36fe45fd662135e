//! Adds unroll counts to small counted loops. Runs in stage 2, for GPUs, before optimisation.
//!
//! Before:
//! ```llvm
//! loop:
//!   …
//!   %next = add i32 %k, 1
//!   %more = icmp ult i32 %next, 512
//!   br i1 %more, label %loop, label %done
//! ```
//! After:
//! ```llvm
//!   br i1 %more, label %loop, label %done, !llvm.loop !0
//!
//! !0 = distinct !{!0, !1}
//! !1 = !{!"llvm.loop.unroll.count", i32 16}
//! ```
//!
//! A GPU issues one instruction after the other: counting and jumping are a tenth of a loop of
//! twenty instructions. LLVM's threshold is meant for processors that do both in parallel.
//! Unrolling also waits for memory once for all loads of the unrolled iterations, so very small
//! loops with several loads get the hint for any trip count: for as many iterations as have
//! `REQUESTS` loads in flight. Where a loop ends is often in memory too, as for the rows of a sparse matrix
//! and the words of a text. Each work-item has its own trip count then, most are small, and the
//! iterations that are left over are what takes time: such a loop with one load gets the hint for `ROW`
//! iterations, in place of LLVM's eight, which the driver's compiler would unroll once more. Only innermost loops without calls and without an exit to a panic
//! get the hint. A loop with a hint of the kernel's author (`schism::unroll`), or of LLVM's, keeps
//! that one.
//!
//! The weight of an operation is its number of GPU instructions: a precise division is dozens, with
//! a branch for rare operands. Unrolling gains nothing there, and costs the driver time. So LLVM is
//! also kept from peeling loops with such operations, which it does where a condition differs in
//! the first iteration:
//! ```llvm
//! !2 = distinct !{!2, !3}
//! !3 = !{!"llvm.loop.peeled.count", i32 7}
//! ```

use std::collections::HashSet;

use schism_llvm::{Block, Opcode, TypeKind, Value, fast_math};

use crate::analysis::cold_paths::panics;
use crate::ir::cfg::{Cfg, Loop};
use crate::ir::metadata;

/// Instructions that an unrolled loop may have.
const SIZE: usize = 256;

/// The greatest unroll count.
const TURNS: usize = 16;

/// Loops with a smaller trip count are left to LLVM, which may unroll them completely.
const COUNT: u64 = 64;

/// A loop that waits for memory gets the hint for any trip count if its body has no more
/// instructions.
const WAITING: usize = 16;

/// So many loads per iteration are worth it.
const LOADS: usize = 2;

/// So many requests on their way are as many as memory answers at once.
const REQUESTS: usize = 16;

/// Iterations of a loop whose end is in memory that become one.
const ROW: usize = 4;

/// Loads of elements that stand side by side which become one request.
const SIDE_BY_SIDE: usize = 4;

/// So many operations are looked at between a load and the end of a loop.
const STEPS: usize = 16;

/// A loop with an operation of this weight is not peeled.
const HEAVY: usize = 16;

/// LLVM's property for how many iterations are peeled already. From this number on it peels none.
const PEELED: &str = "llvm.loop.peeled.count";
const MOST_PEELED: usize = 7;

/// Runs the pass over a function with a body.
pub fn run(function: Value<'_>) {
    if function.has_function_attribute("optnone") {
        return;
    }
    let cfg = Cfg::of(function);
    for of in cfg.loops() {
        let unroll_count = if of.innermost { unroll_count(&cfg, &of) } else { None };
        // A loop around a small one becomes innermost when the small one is unrolled completely.
        let (property, number) = match unroll_count {
            Some(count) => (metadata::UNROLL_COUNT, count),
            None if is_heavy(&cfg, &of) => (PEELED, MOST_PEELED),
            None => continue,
        };
        let end = cfg.blocks[of.latch].end();
        metadata::mark(end, property, Some(number));
    }
}

/// The unroll count of a loop, if more than one.
fn unroll_count(cfg: &Cfg<'_>, of: &Loop) -> Option<usize> {
    let (mut size, mut loads) = (0, Vec::new());
    for instruction in cfg.instructions(&of.blocks) {
        match instruction.opcode() {
            Some(Opcode::Call) if !is_operation(instruction) => return None,
            Some(Opcode::Load) => loads.push(instruction),
            _ => {}
        }
        size += weight(instruction);
    }
    let (mut counted, mut ends) = (false, 0);
    for &block in &of.blocks {
        for &next in cfg.successors[block].iter().filter(|next| !of.blocks.contains(next)) {
            if panics(cfg, next) {
                return None;
            }
            counted |= counts_to(cfg.blocks[block]) >= COUNT;
            ends += 1;
        }
    }
    let most = (SIZE / size).min(TURNS);
    let most = if counted {
        most
    } else {
        // Loads of several iterations are in flight together.
        let waits = loads.len() >= LOADS && ends == 1 && size <= WAITING && is_compared(cfg, of);
        let side_by_side = loads.iter().filter(|load| goes_on(cfg, of, **load)).count();
        let requests = SIDE_BY_SIDE * loads.len() - (SIDE_BY_SIDE - 1) * side_by_side;
        let enough = (SIDE_BY_SIDE * REQUESTS).div_ceil(requests.max(1)).next_power_of_two();
        let is_row = || loads.len() == 1 && ends == 1 && size <= WAITING && ends_in_memory(cfg, of);
        match waits {
            true => most.min(enough),
            false if is_row() => most.min(ROW),
            false => 1,
        }
    };
    (most > 1).then(|| 1 << most.ilog2())
}

/// Whether a loop has something that becomes many instructions.
fn is_heavy(cfg: &Cfg<'_>, of: &Loop) -> bool {
    cfg.instructions(&of.blocks).any(|instruction| weight(instruction) >= HEAVY)
}

/// How many instructions of a GPU an instruction becomes, about.
fn weight(instruction: Value<'_>) -> usize {
    let is_wide = |value: Value<'_>| {
        let ty = value.ty();
        match ty.kind() {
            TypeKind::Integer => ty.int_width() > 32,
            kind => kind == TypeKind::Double,
        }
    };
    let is_precise = || {
        !instruction.has_fast_math() || instruction.fast_math_flags() & fast_math::APPROXIMATE == 0
    };
    match instruction.opcode() {
        Some(Opcode::Phi) => 0,
        Some(Opcode::FDiv | Opcode::FRem) if is_precise() => 16 << u32::from(is_wide(instruction)),
        Some(Opcode::Call) if is_root(instruction) && is_precise() => {
            16 << u32::from(is_wide(instruction))
        }
        Some(Opcode::UDiv | Opcode::SDiv | Opcode::URem | Opcode::SRem) => {
            let by_constant = instruction.operand(1).is_constant();
            match (by_constant, is_wide(instruction)) {
                (true, false) => 4,
                (true, true) => 8,
                (false, false) => 16,
                (false, true) => 64,
            }
        }
        // The next iteration's has to wait for it.
        Some(Opcode::AtomicRMW | Opcode::AtomicCmpXchg) => 16,
        // There are half as many units for numbers of 64 bits, or fewer.
        Some(Opcode::FAdd | Opcode::FSub | Opcode::FMul) if is_wide(instruction) => 2,
        _ => 1,
    }
}

/// Whether a call takes a square root.
fn is_root(call: Value<'_>) -> bool {
    call.calls_intrinsic(&["sqrt."])
}

/// Whether what a load reads stands beside what it reads in the next iteration: its address is a
/// value of the loop, or is counted by one, that continues by a constant.
fn goes_on<'m>(cfg: &Cfg<'m>, of: &Loop, load: Value<'m>) -> bool {
    let address = load.operands().next();
    let Some(address) = address else { return false };
    let latch = cfg.blocks[of.latch];
    let is_counter = |value: Value<'m>| {
        let is_phi = value.opcode() == Some(Opcode::Phi);
        if !is_phi || !of.blocks.contains(&cfg.block_of(value)) {
            return false;
        }
        value.incoming(latch).is_some_and(|next| {
            let is_step = matches!(next.opcode(), Some(Opcode::Add | Opcode::GetElementPtr));
            is_step && next.operands().all(|operand| operand == value || operand.is_constant())
        })
    };
    is_counter(address)
        || address.opcode() == Some(Opcode::GetElementPtr) && address.operands().any(is_counter)
}

/// Whether where the loop ends was computed from what was loaded before.
fn ends_in_memory(cfg: &Cfg<'_>, of: &Loop) -> bool {
    if !is_compared(cfg, of) {
        return false;
    }
    let is_outside =
        |value: &Value<'_>| value.opcode().is_some() && !of.blocks.contains(&cfg.block_of(*value));
    let condition = cfg.blocks[of.latch].end().condition();
    let mut open: Vec<_> = condition.operands().filter(is_outside).collect();
    let mut seen = HashSet::new();
    while let Some(value) = open.pop() {
        match value.opcode() {
            Some(Opcode::Load) => return true,
            // What else decides is not looked at.
            None | Some(Opcode::Phi | Opcode::Call) => {}
            Some(_) if seen.len() < STEPS && seen.insert(value) => open.extend(value.operands()),
            Some(_) => {}
        }
    }
    false
}

/// Whether the loop ends where a value of it equals, or exceeds, one from outside that is no
/// constant: of those that are counted to a small constant LLVM unrolls the loop completely.
fn is_compared(cfg: &Cfg<'_>, of: &Loop) -> bool {
    let condition = {
        let end = cfg.blocks[of.latch].end();
        if end.opcode() != Some(Opcode::Br) || !end.is_conditional() {
            return false;
        }
        end.condition()
    };
    let is_outside =
        |value: Value<'_>| value.opcode().is_none() || !of.blocks.contains(&cfg.block_of(value));
    condition.opcode() == Some(Opcode::ICmp)
        && condition.operands().filter(|operand| is_outside(*operand)).count() == 1
        && condition.operands().all(|operand| !operand.is_constant())
}

/// Whether a call is one of LLVM's own operations, such as a square root.
fn is_operation(call: Value<'_>) -> bool {
    call.callee().is_some_and(|function| {
        let is_intrinsic = function.intrinsic_id() != 0;
        is_intrinsic && !function.has_function_attribute("convergent")
    })
}

/// The constant that a block compares an integer with before it continues; 0 if there is none, or a
/// negative one.
fn counts_to(block: Block<'_>) -> u64 {
    let end = block.end();
    if end.opcode() != Some(Opcode::Br) || !end.is_conditional() {
        return 0;
    }
    let condition = end.condition();
    if condition.opcode() != Some(Opcode::ICmp) {
        return 0;
    }
    let bounds = [0, 1].map(|index| condition.operand(index));
    let constants =
        bounds.into_iter().filter(|&bound| bound.is_constant_int() && bound.ty().int_width() <= 64);
    let values = constants.map(|bound| bound.sext_value());
    values.filter_map(|value| u64::try_from(value).ok()).max().unwrap_or(0)
}
