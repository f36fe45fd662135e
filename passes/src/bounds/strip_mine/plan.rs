//! Plans the strips of a loop.

use std::collections::HashMap;

use schism_llvm::{Opcode, TypeKind, Value};

use crate::analysis::cold_paths::panics;
use crate::analysis::effects::only_computes;
use crate::analysis::scev::{self, Step, Values};
use crate::analysis::trip_count::{TripCount, chain, exit, is_closed, trip_count};
use crate::ir::cfg::{Cfg, Loop};
use crate::ir::metadata;
use crate::spec::target::NVPTX;

/// How many iterations a strip has whose loads are vector loads: 32 bytes, which GPUs load at once,
/// are eight numbers.
pub(crate) const VECTOR: usize = 8;

/// How many iterations a scalar strip has at most: with more, such loops take so many registers
/// that fewer work-items run at a time.
const SCALAR: usize = 2;

/// How many instructions a loop may have.
const LOOP: usize = 60;

/// Bytes that are accessible together.
pub(crate) const PAGE: i64 = 4096;

/// Whether an instruction loads from global memory.
pub(crate) fn is_global(instruction: Value<'_>) -> bool {
    instruction.is_load_from(NVPTX.global)
}

/// What is going to be done with a loop.
pub(crate) struct Plan<'m> {
    pub of: Loop,
    pub trip_count: TripCount<'m>,
    /// How many iterations a strip has.
    pub strip: usize,
    /// Whether loads of several iterations are one vector load.
    pub vector: bool,
    /// The instructions of an iteration in their order, without phis and branches.
    pub body: Vec<Value<'m>>,
    pub loads: Vec<Load<'m>>,
    pub checks: Vec<Check<'m>>,
    pub counters: Counters<'m>,
    /// The phis of the header that are no counters.
    pub carried: Vec<Value<'m>>,
    /// Where the loop ends.
    pub out: usize,
}

/// The phis of the header that change by a constant in each iteration, and by how much.
pub(crate) type Counters<'m> = HashMap<Value<'m>, i64>;

pub(crate) struct Load<'m> {
    pub instruction: Value<'m>,
    /// Whether it comes before the first check, so that the first iteration of a strip makes it in
    /// any case.
    pub early: bool,
    /// By how many bytes its address continues.
    pub stride: Option<i64>,
    /// How many bytes it loads.
    pub size: i64,
}

impl<'m> Load<'m> {
    /// Whether the elements of several iterations can be loaded at once.
    pub fn is_consecutive(&self) -> bool {
        self.stride == Some(self.size) && is_global(self.instruction)
    }
}

/// The condition of a check, and whether the check is passed if it holds.
pub(crate) struct Check<'m> {
    pub condition: Value<'m>,
    pub passes: bool,
}

/// What a value of an iteration is made of.
#[derive(Clone, Copy, Default)]
struct Origin {
    /// What is loaded early.
    early: bool,
    /// What is loaded when all checks have passed.
    late: bool,
    /// What the iteration before has left.
    carried: bool,
}

/// Looks at a loop.
pub(crate) fn plan<'m>(cfg: &Cfg<'m>, of: &Loop) -> Option<Plan<'m>> {
    if metadata::has(cfg.blocks[of.latch].end(), metadata::UNROLL_DISABLE) {
        return None;
    }
    let chain = chain(cfg, of, |block| panics(cfg, block))?;
    let mut values = Values::new(cfg, of);
    let trip_count = trip_count(cfg, of, &mut values, of.latch)?;
    let &out = cfg.successors[of.latch].iter().find(|next| **next != of.header)?;
    let mut counters = Counters::new();
    let mut carried = Vec::new();
    let mut origins: HashMap<Value<'m>, Origin> = HashMap::new();
    for phi in cfg.blocks[of.header].phis() {
        let step = values.add_rec(phi).and_then(|add_rec| match add_rec.step {
            Step::Up(size) => scev::known(&size).map(|size| size as i64),
            Step::Down(size) => scev::known(&size).map(|size| (size as i64).wrapping_neg()),
            Step::None => None,
        });
        if let Some(step) = step {
            counters.insert(phi, step);
            origins.insert(phi, Origin::default());
        } else {
            carried.push(phi);
            origins.insert(phi, Origin { carried: true, ..Origin::default() });
        }
    }
    let (mut body, mut loads, mut checks) = (Vec::new(), Vec::new(), Vec::new());
    let mut has_cause = false;
    for &block in &chain {
        for instruction in cfg.blocks[block].instructions() {
            let opcode = instruction.opcode()?;
            if matches!(opcode, Opcode::Phi | Opcode::Br) {
                continue;
            }
            if body.len() == LOOP || !is_closed(cfg, of, instruction) {
                return None;
            }
            let mut origin = Origin::default();
            for from in instruction.operands().filter_map(|operand| origins.get(&operand)) {
                origin.early |= from.early;
                origin.late |= from.late;
                origin.carried |= from.carried;
            }
            if opcode == Opcode::Load {
                let load = load(cfg, of, &counters, instruction, checks.is_empty())?;
                if origin.carried {
                    return None;
                }
                origin = Origin { early: load.early, late: !load.early, carried: false };
                loads.push(load);
            } else if !only_computes(instruction) {
                return None;
            }
            origins.insert(instruction, origin);
            body.push(instruction);
        }
        if block != of.latch
            && let Some((condition, _, passes)) = exit(cfg, of, block)
        {
            let origin = origins.get(&condition).copied().unwrap_or_default();
            if origin.late || origin.carried {
                return None;
            }
            has_cause |= origin.early;
            checks.push(Check { condition, passes });
        }
    }
    if !has_cause {
        return None;
    }
    let vector = loads.iter().all(|load| !load.early || load.is_consecutive());
    let strip = if vector { VECTOR } else { SCALAR };
    Some(Plan {
        of: of.clone(),
        trip_count,
        strip,
        vector,
        body,
        loads,
        checks,
        counters,
        carried,
        out,
    })
}

/// What is known of a load, if it is one of a number and orders nothing.
fn load<'m>(
    cfg: &Cfg<'m>,
    of: &Loop,
    counters: &Counters<'m>,
    instruction: Value<'m>,
    early: bool,
) -> Option<Load<'m>> {
    if !instruction.is_simple() {
        return None;
    }
    let ty = instruction.ty();
    let module = instruction.parent_function().module();
    let bits = module.data_layout().size_in_bits(ty);
    let size = i64::try_from(bits / 8).ok()?;
    let address = instruction.operand(0);
    let stride = stride(cfg, of, counters, address).filter(|&stride| {
        ty.is_plain_number() && stride != 0 && stride.unsigned_abs() <= PAGE as u64 / SCALAR as u64
    });
    let early = early && stride.is_some() && is_global(instruction);
    Some(Load { instruction, early, stride, size })
}

/// By how much a value, of which its bits count and no more, continues from iteration to iteration;
/// for an address, in bytes.
fn stride<'m>(cfg: &Cfg<'m>, of: &Loop, counters: &Counters<'m>, value: Value<'m>) -> Option<i64> {
    let stride = |value| stride(cfg, of, counters, value);
    if let Some(&step) = counters.get(&value) {
        return Some(step);
    }
    if value.opcode().is_none_or(|_| !of.blocks.contains(&cfg.block_of(value))) {
        return Some(0);
    }
    let ty = value.ty();
    if ty.kind() == TypeKind::Integer && ty.int_width() != 64 {
        return None;
    }
    let operand = |index| value.operand(index);
    let number = |value: Value<'m>| (value.is_constant_int()).then(|| value.sext_value());
    match value.opcode()? {
        Opcode::Add => Some(stride(operand(0))?.wrapping_add(stride(operand(1))?)),
        Opcode::Or if value.is_disjoint() => {
            Some(stride(operand(0))?.wrapping_add(stride(operand(1))?))
        }
        Opcode::Sub => Some(stride(operand(0))?.wrapping_sub(stride(operand(1))?)),
        Opcode::Mul => Some(stride(operand(0))?.wrapping_mul(number(operand(1))?)),
        Opcode::Shl => {
            let by = u32::try_from(number(operand(1))?).ok().filter(|by| *by < 64)?;
            Some(stride(operand(0))?.wrapping_shl(by))
        }
        Opcode::GetElementPtr => {
            let (base, index, size) = value.element()?;
            if index.ty().int_width() != 64 {
                return None;
            }
            let by = stride(index)?.wrapping_mul(i64::try_from(size).ok()?);
            Some(stride(base)?.wrapping_add(by))
        }
        _ => None,
    }
}
