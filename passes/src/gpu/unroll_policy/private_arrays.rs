//! Unrolls loops over private arrays completely, before index checks are moved out of loops: with
//! constant indices there are none.
//!
//! Before:
//! ```llvm
//!   %words = alloca [64 x i32]
//! loop:
//!   %k = phi i64 [ 16, %begin ], [ %next, %loop ]
//!   …
//!   %word = getelementptr i32, ptr %words, i64 %k
//!   store i32 %new, ptr %word
//!   %next = add i64 %k, 1
//!   %more = icmp ult i64 %next, 64
//!   br i1 %more, label %loop, label %done
//! ```
//! After:
//! ```llvm
//!   …
//!   store i32 %new.16, ptr %word.16      ; of the element 16
//!   …
//!   store i32 %new.17, ptr %word.17
//!   …
//! ```
//!
//! Registers have no addresses. Once all loops are unrolled whose counters are indices of an array,
//! all indices are constants, LLVM makes a value of each element (`sroa`), and the array is in
//! registers. Otherwise each access is one of the work-item's own part of the device's memory.
//! LLVM's limit for complete unrolling is that of a processor with a cache for its stack.
//!
//! For processors the limits are lower: it is about arrays of few elements, such as in
//! `for half in [0, SIZE / 2]`, behind which LLVM sees that an index is inside, and work-items in lanes need no
//! memory of their own.
//!
//! An array qualifies if each of its indices is computed from constants and such counters alone. A
//! counter's loop has a constant trip count, or one that becomes constant when the loops around it
//! are unrolled, as those of triangular matrices do; it calls nothing, and is not too large.

use std::collections::{BTreeSet, HashMap, HashSet};

use schism_llvm::{Opcode, Value};

use crate::analysis::cold_paths::panics;
use crate::ir::cfg::{Cfg, Loop};
use crate::ir::metadata;
use crate::llvm_passes;

/// LLVM's property of loops that are unrolled completely.
const UNROLL_FULL: &str = "llvm.loop.unroll.full";

/// Bytes of an array that may be in registers. A GPU has 1020 bytes of them for a work-item, and not
/// all elements are needed at the same time.
const BYTES: u64 = 512;

/// Instructions that a loop may have when it is unrolled, with all loops inside. All such loops of a function
/// may have `MOST` times as many.
#[derive(Clone, Copy)]
pub(super) struct Limit(u64);

pub(super) const GPU: Limit = Limit(6000);
pub(super) const PROCESSOR: Limit = Limit(120);
const MOST: u64 = 4;

/// The trip count that is assumed of an inner loop whose count is not known.
const USUAL: u64 = 4;

/// A loop inside of another one may get a constant trip count when that is unrolled, so loops are
/// looked for so often.
const ROUNDS: usize = 3;

/// Unrolls the loops of a function that has a body.
///
/// # Errors
/// LLVM's message.
pub(super) fn unroll(function: Value<'_>, limit: Limit) -> Result<(), String> {
    if function.has_function_attribute("optnone") {
        return Ok(());
    }
    for _ in 0..ROUNDS {
        if accesses(function).iter().all(|access| access.phis.is_empty()) {
            return Ok(());
        }
        function.run_passes(llvm_passes::LOOP_SIMPLIFY)?;
        if !mark(function, limit) {
            return Ok(());
        }
        function.run_passes(llvm_passes::UNROLL_MARKED)?;
    }
    Ok(())
}

/// Marks the loops that are to be unrolled; returns whether there are some.
fn mark(function: Value<'_>, Limit(most): Limit) -> bool {
    let accesses = accesses(function);
    let cfg = Cfg::of(function);
    let loops = cfg.loops();
    let counts: Vec<Option<u64>> = loops.iter().map(|of| trip_count(&cfg, of)).collect();
    // The loop that each header belongs to.
    let by_header: HashMap<usize, usize> = loops.iter().map(|of| of.header).zip(0..).collect();
    let unrolled: Vec<bool> = (0..loops.len())
        .map(|number| {
            counts[number].is_some()
                && size(&cfg, &loops, &counts, number).is_some_and(|size| size <= most)
        })
        .collect();
    let counter_of = |phi: &Value<'_>| by_header.get(&cfg.block_of(*phi)).copied();
    let is_counter = |phi: &Value<'_>| counter_of(phi).is_some_and(|number| unrolled[number]);
    // An array with one index that stays unknown stays in memory, and so do those that may be meant
    // by the same address.
    let mut in_memory: HashSet<Value<'_>> = HashSet::new();
    for access in &accesses {
        if !access.is_known || !access.phis.iter().all(is_counter) {
            in_memory.extend(&access.arrays);
        }
    }
    let mut marked = BTreeSet::new();
    for access in &accesses {
        if access.arrays.iter().all(|array| !in_memory.contains(array)) {
            marked.extend(access.phis.iter().filter_map(counter_of));
        }
    }
    let sizes = marked.iter().filter_map(|&number| size(&cfg, &loops, &counts, number));
    if sizes.sum::<u64>() > MOST * most {
        return false;
    }
    let mut any = false;
    for number in marked {
        let end = cfg.blocks[loops[number].latch].end();
        // The kernel's author may have said something else.
        if !metadata::is_told_of_unrolling(end) {
            metadata::set_unroll(&[end], UNROLL_FULL, None);
            any = true;
        }
    }
    any
}

/// The accesses of private arrays.
fn accesses(function: Value<'_>) -> Vec<Access<'_>> {
    function.instructions().into_iter().filter_map(access).collect()
}

/// What an address, or an index, is computed from.
struct Access<'m> {
    /// The arrays that it may be in.
    arrays: Vec<Value<'m>>,
    /// Phis of several values.
    phis: Vec<Value<'m>>,
    /// Whether there is nothing else but constants.
    is_known: bool,
}

impl<'m> Access<'m> {
    fn of(address: Value<'m>) -> Self {
        let mut access = Self { arrays: Vec::new(), phis: Vec::new(), is_known: true };
        let (mut seen, mut open) = (HashSet::new(), vec![address]);
        while let Some(value) = open.pop() {
            if value.is_constant() || !seen.insert(value) {
                continue;
            }
            match value.opcode() {
                Some(Opcode::Alloca) => access.arrays.push(value),
                Some(Opcode::Phi) => {
                    let edges = value.incoming_edges();
                    // One with a single value stands behind a loop.
                    if edges.len() > 1 {
                        access.phis.push(value);
                    }
                    open.extend(edges.into_iter().map(|(value, _)| value));
                }
                Some(
                    Opcode::GetElementPtr
                    | Opcode::AddrSpaceCast
                    | Opcode::BitCast
                    | Opcode::Add
                    | Opcode::Sub
                    | Opcode::Mul
                    | Opcode::Shl
                    | Opcode::LShr
                    | Opcode::And
                    | Opcode::Or
                    | Opcode::Xor
                    | Opcode::ZExt
                    | Opcode::SExt
                    | Opcode::Trunc,
                ) => open.extend(value.operands()),
                _ => access.is_known = false,
            }
        }
        access
    }
}

/// What an instruction accesses, if that may be a private array.
fn access(instruction: Value<'_>) -> Option<Access<'_>> {
    let (address, _) = instruction.loaded_or_stored()?;
    let mut access = Access::of(address);
    let is_small = |array: &Value<'_>| {
        let layout = array.block().function().module().data_layout();
        array.operand(0).as_unsigned() == Some(1)
            && layout.abi_size(array.allocated_type()) <= BYTES
    };
    access.is_known &= access.arrays.iter().all(is_small);
    (!access.arrays.is_empty()).then_some(access)
}

/// The trip count of a loop that counts by a constant to a constant. Where it begins or ends may be
/// computed from the counters of loops around it; then it is the largest that there may be, or a
/// guess.
fn trip_count(cfg: &Cfg<'_>, of: &Loop) -> Option<u64> {
    let (header, latch) = (cfg.blocks[of.header], cfg.blocks[of.latch]);
    let counted = |condition: Value<'_>| {
        let (a, b) = (condition.operand(0), condition.operand(1));
        let known = Access::of(b);
        if !known.is_known || !known.arrays.is_empty() {
            return None;
        }
        let phi = header
            .phis()
            .into_iter()
            .find(|phi| a == *phi || phi.incoming(latch).is_some_and(|next| a == next))?;
        let next = phi.incoming(latch)?;
        let is_step = next.opcode() == Some(Opcode::Add) && next.operand(0) == phi;
        let step = if is_step { next.operand(1).as_signed()? } else { return None };
        let Some(end) = b.as_signed() else { return Some(USUAL) };
        let begin = phi.incoming(cfg.blocks[of.preheader])?.as_signed().unwrap_or(0);
        // In the counter's direction, and past the end of its numbers if need be.
        let compared = if a == phi { begin } else { begin.wrapping_add(step) };
        let way = end.wrapping_sub(compared).wrapping_mul(step.signum()).cast_unsigned();
        let numbers = u64::MAX >> u64::BITS.saturating_sub(b.ty().int_width());
        (way & numbers).checked_div(step.unsigned_abs())?.checked_add(1)
    };
    let mut ends = of.blocks.iter().filter_map(|&block| {
        let leaves = cfg.successors[block]
            .iter()
            .any(|next| !of.blocks.contains(next) && !panics(cfg, *next));
        let end = cfg.blocks[block].end();
        (leaves && end.opcode() == Some(Opcode::Br) && end.is_conditional())
            .then(|| end.condition())
    });
    let condition = ends.next()?;
    let is_comparison = condition.opcode() == Some(Opcode::ICmp);
    if is_comparison && ends.next().is_none() { counted(condition) } else { None }
}

/// The instructions that a loop has when it is unrolled; `None` if it calls something.
fn size(cfg: &Cfg<'_>, loops: &[Loop], counts: &[Option<u64>], number: usize) -> Option<u64> {
    let of = &loops[number];
    let mut size = 0_u64;
    for &block in of.blocks.iter().filter(|block| !panics(cfg, **block)) {
        let instructions = cfg.blocks[block].instructions();
        let calls = |call: &Value<'_>| {
            call.opcode() == Some(Opcode::Call)
                && call.callee().is_none_or(|function| {
                    function.intrinsic_id() == 0 || function.has_function_attribute("convergent")
                })
        };
        if instructions.iter().any(calls) {
            return None;
        }
        let inner = loops.iter().zip(counts).filter(|(inner, _)| {
            inner.blocks.contains(&block) && inner.blocks.is_subset(&of.blocks)
        });
        let turns =
            inner.fold(1_u64, |turns, (_, count)| turns.saturating_mul(count.unwrap_or(USUAL)));
        size = size.saturating_add(turns.saturating_mul(instructions.len() as u64));
    }
    Some(size)
}
