//! How many lanes pay, if any.
//!
//! Costs are in the time of one simple instruction. What an inner loop contains counts as often as
//! it iterates, if that is a constant, or else as a loop is assumed to. An iteration takes at least as long as
//! what it hands on to the next one takes to be computed (`latency`), for one work-item as for all lanes.
//! Code that only some work-items run counts half for the scalar loop, and fully for the vector one. A gather is as many loads, and slower ones: the vector loop
//! must win by its arithmetic.

use std::fmt;

use schism_llvm::{Block, FUNCTION_INDEX, Opcode, TypeKind, Value};

use super::intrinsics::{self, Form};
use super::latency;
use super::plan::{Access, Plan, access};
use super::refusal::Refusal;
use super::region::{InnerLoop, Part};
use super::shape::Shape;
use crate::cpu::split_at_barriers::CUT;
use crate::ir::address::base_and_offset;
use crate::spec::lanes::Lanes;

/// How often an inner loop is assumed to iterate.
const ITERATIONS: f64 = 8.0;
/// More iterations are not told apart.
const MOST: f64 = 4096.0;
/// How much longer lanes iterate together than one does alone.
const DIVERGENCE: f64 = 1.3;
/// An element that is loaded by itself into a vector.
const GATHERED: f64 = 4.0;
/// An element that is stored by itself out of a vector.
const SCATTERED: f64 = 4.0;
/// An element that is loaded or stored by itself where each lane goes along its own row: the
/// scalar loop finds the next one beside the last one, and the lanes' rows share no line of the
/// cache, and often its places.
const OF_ROW: f64 = 12.0;
/// An element of a lane's own private memory at an index of the lane's own: it lies in the first cache.
const PRIVATE: f64 = 2.0;
/// Bytes of a row of which all lanes' rows are in the first cache.
const SHORT_ROW: f64 = 512.0;
/// A call of a function of the library.
const CALL: f64 = 30.0;
/// Simple instructions in a cycle.
const PER_CYCLE: f64 = 3.0;
/// A branch that is often predicted wrongly.
const UNPREDICTED: f64 = 4.0;
/// How often code runs that is said to run rarely, beside other code.
const RARE: f64 = 0.05;
/// How much faster the vector loop must seem.
const MARGIN: f64 = 0.85;
/// Processors with registers of so many bits have thirty-two of them, others sixteen.
const WIDE: u32 = 512;

/// How many lanes, and what that comes of.
pub(super) struct Width {
    pub lanes: u32,
    of: Origin,
}

/// Where a number of lanes comes from.
enum Origin {
    Forced,
    Processor {
        register_bits: u32,
        /// The numbers that lanes are made for.
        element_bits: u32,
        registers: u32,
        /// What an item costs in the scalar loop and in the vector one.
        costs: (f64, f64),
    },
}

impl fmt::Display for Width {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lanes = self.lanes;
        match self.of {
            Origin::Forced => write!(f, "width: {lanes} lanes, as SCHISM_CPU_LANES says"),
            Origin::Processor { register_bits, element_bits, registers, costs } => {
                write!(f, "width: {lanes} lanes for ")?;
                match registers {
                    1 => write!(f, "a register")?,
                    _ => write!(f, "{registers} registers")?,
                }
                write!(f, " of {register_bits} bits with numbers of {element_bits}")?;
                match (element_bits, registers) {
                    (64, _) => f.write_str(", which most of the innermost work is on")?,
                    (_, 1) => f.write_str("; two where iterations wait for each other")?,
                    _ => f.write_str(", since iterations wait for each other")?,
                }
                write!(f, "; an item costs {:.0}, and {:.0} without lanes", costs.1, costs.0)
            }
        }
    }
}

/// The number of lanes for a plan.
pub(super) fn choose(plan: &Plan<'_>, lanes: &Lanes) -> Result<Width, Refusal> {
    if let Some(forced) = lanes.forced {
        return Ok(Width { lanes: forced, of: Origin::Forced });
    }
    let (narrow, wide) = widths(plan);
    let register_bits = lanes.register_bits;
    // Gathers wait for memory: the more of them at once, the better.
    let element_bits = if wide > narrow && !gathers_in_loop(plan) { 64 } else { 32 };
    let single = (register_bits / element_bits).clamp(2, 16);
    if plan.items().is_some_and(|items| items < u64::from(single)) {
        return Err(Refusal::Left);
    }
    if is_left_to_llvm(plan) && !plan.becomes_straight(single) {
        return Err(Refusal::Left);
    }
    let registers = interleaved(plan, single, register_bits);
    let count = single * registers;
    let (scalar, vector) = costs(plan, count, f64::from(register_bits));
    let per_item = vector / f64::from(count);
    if per_item < scalar * MARGIN {
        let costs = (scalar, per_item);
        let of = Origin::Processor { register_bits, element_bits, registers, costs };
        Ok(Width { lanes: count, of })
    } else {
        Err(Refusal::Cost { scalar: scalar as u32, vector: per_item as u32 })
    }
}

/// Whether LLVM's own vectoriser does it as well: one block of consecutive accesses.
fn is_left_to_llvm(plan: &Plan<'_>) -> bool {
    let [only] = &plan.region.loops[0].nodes[..] else { return false };
    let Part::Block(block) = only.part else { return false };
    if !plan.region.side_exits(block).is_empty() || !plan.privates.all.is_empty() {
        return false;
    }
    plan.region.cfg.blocks[block].instructions().into_iter().all(|one| match one.opcode() {
        Some(Opcode::Load | Opcode::Store) => plan
            .access(one)
            .is_some_and(|(.., access)| matches!(access, Access::Same | Access::Consecutive)),
        Some(Opcode::UDiv | Opcode::SDiv | Opcode::URem | Opcode::SRem) => {
            plan.shapes.get(one) == Shape::Uniform || one.operand(1).is_constant()
        }
        Some(Opcode::Call) => one.callee().is_some_and(|callee| match intrinsics::form(callee) {
            Some(Form::Dropped | Form::Lanewise { .. }) => true,
            _ => plan.shapes.get(one) == Shape::Uniform,
        }),
        Some(Opcode::AtomicRMW) => false,
        _ => true,
    })
}

/// How many registers each vector has. Two keep the processor busy where each iteration of a loop
/// waits for the one before it, and share what is the same for all lanes; there must be registers
/// for the values that go from one iteration to the next. So they do in long straight code, whose
/// next work-items begin too far behind for the processor to see, if it has thirty-two registers. The
/// rows of a group are often not longer than one register, and their length must be known.
fn interleaved(plan: &Plan<'_>, single: u32, register_bits: u32) -> u32 {
    /// Instructions of such a loop, and the registers that it carries values in.
    const MOST: usize = 60;
    const CARRIED: u32 = 6;
    let region = &plan.region;
    let is_group = region.function.string_attribute(FUNCTION_INDEX, CUT).is_some();
    if is_group && plan.items().is_none_or(|items| items % u64::from(2 * single) != 0) {
        return 1;
    }
    let is_varying = |value: Value<'_>| plan.shapes.get(value) == Shape::Varying;
    if region.loops.len() == 1 {
        return if register_bits >= WIDE && is_long_and_straight(plan) { 2 } else { 1 };
    }
    let stays_in_registers = |one: &Value<'_>| match one.opcode() {
        Some(Opcode::Load) => plan.privates.of(one.operand(0)).is_none(),
        Some(Opcode::Store | Opcode::AtomicRMW) => false,
        Some(Opcode::Call) => one.callee().is_some_and(|it| intrinsics::form(it).is_some()),
        _ => true,
    };
    let pays = |of: &InnerLoop| {
        let phis = region.cfg.blocks[of.header].phis().into_iter().filter(|&phi| is_varying(phi));
        let carried: u32 = phis.map(|phi| (bits(phi) as u32).div_ceil(32)).sum();
        let all: Vec<_> = region.cfg.instructions(&of.blocks).collect();
        (1..=CARRIED).contains(&carried) && all.len() <= MOST && all.iter().all(stays_in_registers)
    };
    let is_innermost =
        |index: usize| (1..region.loops.len()).all(|other| region.loops[other].parent != index);
    let mut innermost =
        (1..region.loops.len()).filter(|&at| is_innermost(at)).map(|at| &region.loops[at]);
    let mut any = false;
    let all = innermost.all(|of| {
        any = true;
        pays(of)
    });
    if any && all { 2 } else { 1 }
}

/// How many iterations are worth a vector whose other lanes are off: where each has a loop, and
/// there are accesses of whole vectors in it only if the processor has them for some lanes alone.
/// What is done better if all lanes are on is outside of that loop, or there is no such vector. Work-items
/// mostly fill their vectors, since the runtime divides ranges at multiples.
pub(super) fn least<'m>(plan: &Plan<'m>, lanes: &Lanes) -> Option<u32> {
    let region = &plan.region;
    let is_filled = plan.items().is_some_and(|items| items % u64::from(plan.lanes) == 0);
    if region.loops.len() == 1 || !region.is_inside || is_filled {
        return None;
    }
    let masks = |one: Value<'m>, is_inside: bool| {
        let Some((address, value, access)) = plan.access(one) else { return true };
        let is_masked = lanes.register_bits >= WIDE || bits(value) >= 32.0;
        match access {
            _ if plan.privates.of(address).is_some() => true,
            Access::Same => true,
            Access::Consecutive => is_masked,
            Access::Packed(_) => is_masked && !is_inside,
            Access::Apart(_) | Access::Any | Access::Single => !is_inside,
        }
    };
    let fits = region.loop_of.iter().all(|(&block, &index)| {
        region.cfg.instructions([&block]).all(|one| masks(one, index != 0))
    });
    fits.then_some((plan.lanes / 4).max(2))
}

/// Whether code without loops computes much, and accesses memory in whole vectors.
fn is_long_and_straight<'m>(plan: &Plan<'m>) -> bool {
    /// Costs of an item. Shorter code overlaps by itself.
    const SHORT: f64 = 40.0;
    let is_whole = |one: Value<'m>| {
        plan.access(one).is_none_or(|(address, _, access)| {
            plan.privates.of(address).is_none()
                && matches!(access, Access::Same | Access::Consecutive | Access::Packed(_))
        })
    };
    let mut work = 0.0;
    for one in plan.region.cfg.instructions(plan.region.loop_of.keys()) {
        let fits = match one.opcode() {
            Some(Opcode::AtomicRMW) => false,
            Some(Opcode::Call) => one.callee().is_some_and(|it| intrinsics::form(it).is_some()),
            _ => is_whole(one),
        };
        if !fits {
            return false;
        }
        if plan.shapes.get(one) == Shape::Varying {
            work += scalar_cost(one);
        }
    }
    work >= SHORT
}

/// Whether a loop inside loads from anywhere.
fn gathers_in_loop(plan: &Plan<'_>) -> bool {
    let layout = plan.region.function.module().data_layout();
    let inner = plan.region.loop_of.iter().filter(|(_, index)| **index != 0);
    inner.flat_map(|(&block, _)| plan.region.cfg.blocks[block].instructions()).any(|one| {
        one.opcode() == Some(Opcode::Load) && plan.privates.of(one.operand(0)).is_none() && {
            let shape = plan.shapes.get(one.operand(0));
            access(&layout, shape, one.ty()) == Access::Any
        }
    })
}

/// Whether an address in a loop inside is one of the lane's own that the loop does not change, and
/// more that is the same for all lanes.
fn goes_along_row<'m>(plan: &Plan<'m>, one: Value<'m>, address: Value<'m>) -> bool {
    const STEPS: usize = 32;
    let region = &plan.region;
    let innermost = region.loop_of[&region.cfg.block_of(one)];
    if innermost == 0 {
        return false;
    }
    let of = &region.loops[innermost];
    let mut open = vec![address];
    // Whether the loop changes anything of it.
    let mut moves = false;
    for _ in 0..STEPS {
        let Some(value) = open.pop() else { return moves };
        let is_own = value.is_instruction() && of.blocks.contains(&region.cfg.block_of(value));
        if !is_own {
            continue;
        }
        if plan.shapes.get(value) == Shape::Uniform {
            moves = true;
            continue;
        }
        match value.opcode() {
            Some(Opcode::Phi) => {
                let next = value.incoming(region.cfg.blocks[of.latch]);
                let is_counter = next.is_some_and(|next| {
                    next.opcode() == Some(Opcode::Add)
                        && next.operands().any(|operand| operand == value)
                        && next.operands().any(|operand| plan.shapes.get(operand) == Shape::Uniform)
                });
                if !is_counter {
                    return false;
                }
                moves = true;
            }
            Some(
                Opcode::GetElementPtr
                | Opcode::Add
                | Opcode::Sub
                | Opcode::Or
                | Opcode::Mul
                | Opcode::Shl
                | Opcode::ZExt
                | Opcode::SExt
                | Opcode::Trunc,
            ) => open.extend(value.operands()),
            _ => return false,
        }
    }
    false
}

/// How often a block runs for each work-item.
fn weight(plan: &Plan<'_>, block: usize) -> f64 {
    let around = plan.loops_around(block);
    let counts = around.iter().map(|&index| iterations(plan, index).unwrap_or(ITERATIONS));
    counts.product::<f64>().min(MOST)
}

/// How many steps from a number to an address are looked at.
const INDEX_STEPS: usize = 4;

/// Whether a number only says where elements lie, and is compared: an address has 64 bits whatever they are.
fn is_index<'m>(plan: &Plan<'m>, number: Value<'m>, steps: usize) -> bool {
    number.is_integer_arithmetic() && makes_addresses(plan, number, steps) == Some(true)
}

/// Whether an address is made of a number; `None` if anything is but addresses and comparisons.
fn makes_addresses<'m>(plan: &Plan<'m>, number: Value<'m>, steps: usize) -> Option<bool> {
    let mut any = false;
    // A panic may show it.
    for user in number.users().into_iter().filter(|&user| plan.region.has(user)) {
        any |= match user.opcode() {
            Some(Opcode::GetElementPtr) => true,
            Some(Opcode::ICmp) => false,
            _ if steps > 0 && user.is_integer_arithmetic() => {
                makes_addresses(plan, user, steps - 1)?
            }
            _ => return None,
        };
    }
    Some(any)
}

/// How much of the deepest work is on values of up to 32 bits, and how much on wider ones.
fn widths(plan: &Plan<'_>) -> (f64, f64) {
    let (mut narrow, mut wide) = (0.0, 0.0);
    for &block in plan.region.loop_of.keys() {
        let weight = weight(plan, block);
        for one in plan.region.cfg.blocks[block].instructions() {
            let is_value = match one.ty().kind() {
                TypeKind::Void | TypeKind::Pointer | TypeKind::Struct => false,
                TypeKind::Integer => one.ty().int_width() > 1,
                _ => true,
            };
            if !is_value
                || plan.shapes.get(one) != Shape::Varying
                || is_index(plan, one, INDEX_STEPS)
            {
                continue;
            }
            let bits = bits(one);
            if bits > 32.0 { wide += weight } else { narrow += weight }
        }
    }
    (narrow, wide)
}

/// How often an inner loop iterates, if that is a constant.
fn iterations(plan: &Plan<'_>, index: usize) -> Option<f64> {
    let (region, of) = (&plan.region, &plan.region.loops[index]);
    let [header, latch] = [of.header, of.latch].map(|block| region.cfg.blocks[block]);
    let counted = |block: usize| {
        let end = region.cfg.blocks[block].end();
        let leaves = region.cfg.successors[block].iter().any(|next| !of.blocks.contains(next));
        if !leaves || !end.is_conditional() || end.condition().opcode() != Some(Opcode::ICmp) {
            return None;
        }
        let [a, b] = [0, 1].map(|at| end.condition().operand(at));
        header.phis().into_iter().find_map(|phi| {
            let next = phi.incoming(latch)?;
            let bound = if [phi, next].contains(&a) { b } else { a };
            if ![a, b].iter().any(|side| [phi, next].contains(side)) {
                return None;
            }
            let first = phi.incoming_edges().into_iter().find(|(_, from)| *from != latch)?.0;
            let step = distance(phi, next)?.unsigned_abs();
            let way = distance(first, bound)?.unsigned_abs();
            way.checked_div(step).filter(|&count| count > 0)
        })
    };
    let least = of.blocks.iter().filter_map(|&block| counted(block)).min();
    least.map(|count| count as f64)
}

/// How much a number is above another one, or an address in bytes, if that is a constant.
fn distance(from: Value<'_>, to: Value<'_>) -> Option<i64> {
    let ((a, from), (b, to)) = (offset(from), offset(to));
    (a == b).then(|| to.wrapping_sub(from))
}

/// A number, or an address, as the sum of another one, if there is any, and a constant.
fn offset(value: Value<'_>) -> (Option<Value<'_>>, i64) {
    if let Some(number) = value.as_signed() {
        return (None, number);
    }
    let more = value.get_operand(1).and_then(|more| more.as_signed());
    match (value.opcode(), more) {
        (Some(Opcode::Add), Some(more)) => {
            let (base, number) = offset(value.operand(0));
            (base, number.wrapping_add(more))
        }
        _ => {
            let (base, bytes) = base_and_offset(value);
            (Some(base), bytes)
        }
    }
}

/// The share of the work of an access: half if one before it has the lines of the cache already.
fn share_of_line(plan: &Plan<'_>, one: Value<'_>, address: Value<'_>) -> f64 {
    const LINE: u64 = 64;
    let block = plan.region.cfg.block_of(one);
    let before = plan.region.cfg.blocks[block].instructions();
    let mut before = before.into_iter().take_while(|other| *other != one);
    let is_beside = before.any(|other| {
        other.opcode() == Some(Opcode::Load)
            && distance(other.operand(0), address).is_some_and(|it| it.unsigned_abs() < LINE)
    });
    if is_beside { 0.5 } else { 1.0 }
}

/// Whether the loop around an access of the lanes' own rows ends before it has passed many elements.
fn is_of_short_row(plan: &Plan<'_>, one: Value<'_>, bytes: f64) -> bool {
    let innermost = plan.region.loop_of[&plan.region.cfg.block_of(one)];
    iterations(plan, innermost).is_some_and(|count| count * bytes <= SHORT_ROW)
}

fn bits(value: Value<'_>) -> f64 {
    match value.ty().kind() {
        TypeKind::Integer => f64::from(value.ty().int_width().max(8)),
        TypeKind::Half => 16.0,
        TypeKind::Float => 32.0,
        _ => 64.0,
    }
}

/// What one work-item costs in the scalar loop, and all lanes in the vector one.
fn costs(plan: &Plan<'_>, lanes: u32, register: f64) -> (f64, f64) {
    let (mut scalar, mut vector) = (0.0, 0.0);
    let region = &plan.region;
    for (index, of) in region.loops.iter().enumerate() {
        let before = (scalar, vector);
        for (at, node) in of.nodes.iter().enumerate() {
            let Part::Block(block) = node.part else { continue };
            let around = plan.loops_around(block);
            let weight = weight(plan, block);
            let mut share = 1.0;
            if plan.shapes.partial.contains(&(index, at)) {
                share *= 0.5;
            }
            for &one in &around {
                let parent = region.loops[one].parent;
                let is_partial = region.loops[parent].nodes.iter().enumerate().any(|(at, node)| {
                    node.part == Part::Loop(one) && plan.shapes.partial.contains(&(parent, at))
                });
                if is_partial {
                    share *= 0.5;
                }
            }
            let diverges = around.iter().any(|one| plan.shapes.divergent_loops.contains(one));
            let longer = if diverges { DIVERGENCE } else { 1.0 };
            let weight = if is_cold(region.cfg.blocks[block]) { weight * RARE } else { weight };
            for one in region.cfg.blocks[block].instructions() {
                let own = scalar_cost(one);
                scalar += own * weight * share;
                vector += longer * weight * vector_cost(plan, one, lanes, register, own);
            }
            if plan.shapes.diverges(region, block) {
                let leaves_loop = region
                    .successors(block)
                    .iter()
                    .any(|next| region.loop_of[next] != region.loop_of[&block]);
                scalar += weight * share * if leaves_loop { 1.0 } else { UNPREDICTED };
                vector += weight * 3.0 * longer;
            }
        }
        if index > 0 {
            let least = latency::of_iteration(region, of) * PER_CYCLE * weight(plan, of.header);
            scalar = scalar.max(before.0 + least);
            vector = vector.max(before.1 + least);
        }
    }
    (scalar, vector)
}

/// Whether a block calls what is said to be called rarely.
fn is_cold(block: Block<'_>) -> bool {
    let calls = block.instructions().into_iter().filter(|one| one.opcode() == Some(Opcode::Call));
    calls.filter_map(Value::callee).any(|callee| callee.has_function_attribute("cold"))
}

fn scalar_cost(one: Value<'_>) -> f64 {
    use Opcode::*;
    match one.opcode() {
        Some(Phi | BitCast | Freeze | ExtractValue | InsertValue | PtrToInt | IntToPtr | Trunc) => {
            0.0
        }
        Some(GetElementPtr) => 0.5,
        Some(UDiv | SDiv | URem | SRem) if one.operand(1).is_constant() => 3.0,
        Some(UDiv | SDiv | URem | SRem) => 12.0,
        Some(FDiv) => 5.0,
        Some(FRem) => CALL,
        Some(Call) => match one.callee().and_then(intrinsics::form) {
            Some(Form::Dropped) => 0.0,
            Some(Form::Converts) => 6.0,
            Some(Form::Lanewise { .. }) => {
                let is_root = one.callee().is_some_and(|it| intrinsics::is_called(it, "sqrt"));
                if is_root { 8.0 } else { 1.5 }
            }
            None => CALL,
        },
        Some(AtomicRMW) => 10.0,
        _ => 1.0,
    }
}

fn vector_cost<'m>(plan: &Plan<'m>, one: Value<'m>, lanes: u32, register: f64, scalar: f64) -> f64 {
    use Opcode::*;
    let count = f64::from(lanes);
    let registers = |value: Value<'m>| (count * bits(value) / register).ceil().max(1.0);
    let memory = |each: f64| {
        let (address, value, access) = plan.access(one).expect("a load or a store");
        if plan.privates.of(address).is_some() {
            let same = plan.shapes.get(address) == Shape::Uniform;
            return if same { registers(value) } else { count * PRIVATE };
        }
        match access {
            Access::Same => 1.0,
            Access::Consecutive => registers(value),
            Access::Packed(_) => registers(value) * 3.0,
            Access::Apart(step) => registers(value) * f64::from(step) * 2.0,
            Access::Any | Access::Single if goes_along_row(plan, one, address) => {
                let is_short = is_of_short_row(plan, one, bits(value) / 8.0);
                count * if is_short { each * share_of_line(plan, one, address) } else { OF_ROW }
            }
            Access::Any => count * each * share_of_line(plan, one, address),
            Access::Single => count * (each + 2.0),
        }
    };
    match one.opcode() {
        Some(Store) => memory(SCATTERED),
        Some(Load) => memory(GATHERED),
        _ if plan.shapes.get(one) != Shape::Varying => scalar,
        Some(Call) if one.callee().and_then(intrinsics::form).is_none() => count * (CALL + 3.0),
        Some(AtomicRMW) => count * 12.0,
        Some(UDiv | SDiv | URem | SRem) if !one.operand(1).is_constant() => {
            let is_one = plan.shapes.get(one.operand(1)) == Shape::Uniform;
            if is_one && (bits(one) <= 32.0 || matches!(one.opcode(), Some(UDiv | URem))) {
                registers(one) * 10.0
            } else if bits(one) > 32.0 {
                count * 6.0
            } else {
                registers(one) * 16.0
            }
        }
        Some(Mul) if bits(one) > 32.0 => registers(one) * 3.0,
        Some(FRem) => count * CALL,
        Some(ICmp | FCmp) => registers(one.operand(0)),
        Some(Phi) => registers(one) * 0.5 * f64::from(one.num_incoming() - 1),
        Some(GetElementPtr) => 0.5 * registers(one),
        _ => scalar * registers(one),
    }
}
