//! Whether a work-item loop can be vectorised, and how.

use std::collections::HashSet;

use schism_llvm::{Block, DataLayout, FUNCTION_INDEX, Opcode, Type, TypeKind, Value};

use super::intrinsics::{self, Form};
use super::private::{Privates, is_fill, is_whole_memset};
use super::refusal::Refusal;
use super::region::{Part, Region};
use super::shape::Shape;
use super::shapes::Shapes;
use crate::cpu::split_at_barriers::{CUT, GROUP_MEMORY, LOCAL_MEMORY};
use crate::ir::address::base;
use crate::ir::cfg::Cfg;

/// How many instructions a loop may have.
const LIMIT: usize = 5_000;

/// What of which lanes could not be taken back.
const PANIC_AFTER_STORE: &str = "a panic after a store";

/// A loop that is vectorised.
pub(super) struct Plan<'m> {
    pub region: Region<'m>,
    pub shapes: Shapes<'m>,
    pub privates: Privates<'m>,
    pub lanes: u32,
    /// How many work-items that do not fill a vector are computed as one whose other lanes are off;
    /// fewer run in the scalar loop. Without a number all do.
    pub least: Option<u32>,
}

/// How the lanes' elements lie in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Access {
    /// All are one.
    Same,
    /// One behind the other.
    Consecutive,
    /// So many elements apart.
    Apart(u32),
    /// One behind the other, of so many bytes that vectors of them lie otherwise.
    Packed(u32),
    /// Anywhere.
    Any,
    /// Anywhere, and there are no vectors of them.
    Single,
}

/// How the elements of a type at addresses of a shape lie in memory.
pub(super) fn access<'m>(layout: &DataLayout<'m>, shape: Shape, ty: Type<'m>) -> Access {
    const FAR: i64 = 4;
    let size = bytes(layout, ty) as i64;
    match shape {
        Shape::Uniform => Access::Same,
        Shape::Strided(step) if step == size && is_element(ty) => Access::Consecutive,
        Shape::Strided(step) if step == size && is_packed(ty) => Access::Packed(size as u32),
        Shape::Strided(step)
            if is_element(ty) && step > 0 && step % size == 0 && step / size <= FAR =>
        {
            Access::Apart((step / size) as u32)
        }
        _ if is_packed(ty) => Access::Single,
        _ => Access::Any,
    }
}

/// How many bytes a value has in memory.
pub(super) fn bytes<'m>(layout: &DataLayout<'m>, ty: Type<'m>) -> u64 {
    layout.size_in_bits(ty).div_ceil(8)
}

/// Whether a type is of whole bytes, in a number that vectors of it do not have: three of a pixel.
fn is_packed(ty: Type<'_>) -> bool {
    ty.kind() == TypeKind::Integer && matches!(ty.int_width(), 24 | 40 | 48 | 56)
}

/// Whether vectors of a type lie in memory as arrays do.
fn is_element(ty: Type<'_>) -> bool {
    ty.is_plain_number() || ty.kind() == TypeKind::Pointer && ty.address_space() == 0
}

/// Whether control never reaches a block.
pub(super) fn is_dead_end(block: Block<'_>) -> bool {
    block.first().is_some_and(|first| first.opcode() == Some(Opcode::Unreachable))
}

/// Whether that is memory of the group, which ends with it: its local memory, or what its work-items keep across
/// barriers.
fn is_group_memory(base: Value<'_>) -> bool {
    let callee = base.direct_callee();
    callee.is_some_and(|callee| [LOCAL_MEMORY, GROUP_MEMORY].contains(&&*callee.name()))
}

impl<'m> Plan<'m> {
    /// Of the loop with this latch.
    pub fn of(function: Value<'m>, latch: Block<'m>) -> Result<Self, Refusal> {
        let region = |of: fn(Cfg<'m>, Value<'m>, usize) -> Result<Region<'m>, Refusal>| {
            let cfg = Cfg::of(function);
            let latch = cfg.index[&latch];
            of(cfg, function, latch)
        };
        match Self::of_region(region(Region::of)?) {
            Err(Refusal::Construct(PANIC_AFTER_STORE)) => {
                Self::of_region(region(Region::without_copies)?)
            }
            plan => plan,
        }
    }

    /// The address and the value of a load or a store, and how the lanes' elements lie.
    pub fn access(&self, one: Value<'m>) -> Option<(Value<'m>, Value<'m>, Access)> {
        let (address, value) = one.loaded_or_stored()?;
        let layout = self.region.function.module().data_layout();
        Some((address, value, access(&layout, self.shapes.get(address), value.ty())))
    }

    fn of_region(region: Region<'m>) -> Result<Self, Refusal> {
        let size: usize =
            region.loop_of.keys().map(|&block| region.cfg.blocks[block].instructions().len()).sum();
        if size > LIMIT {
            return Err(Refusal::Construct("very many instructions"));
        }
        check_exit(&region)?;
        // Locals are taken to be the same for all lanes until one is seen that is not.
        let mut apart = HashSet::new();
        let (privates, shapes) = loop {
            let privates = Privates::of_region(&region, &apart)?;
            let shapes = Shapes::of(&region, &privates);
            let different = different_locals(&region, &shapes, &privates);
            if different.is_empty() {
                break (privates, shapes);
            }
            apart.extend(different);
        };
        let plan = Self { region, shapes, privates, lanes: 0, least: None };
        plan.check()?;
        Ok(plan)
    }

    /// Whether the vector loop becomes straight code: over the work-items of a group, of which a
    /// known number do little. What they leave in the group's memory can then stay in registers.
    pub fn becomes_straight(&self, lanes: u32) -> bool {
        const MOST: u64 = 400;
        let region = &self.region;
        let is_group = region.function.string_attribute(FUNCTION_INDEX, CUT).is_some();
        let Some(items) = self.items() else { return false };
        if !is_group || region.loops.len() > 1 {
            return false;
        }
        let is_work = |one: &Value<'m>| {
            !one.is_terminator()
                && !matches!(one.opcode(), Some(Opcode::Phi | Opcode::GetElementPtr))
        };
        let blocks = region.loops[0].blocks.iter();
        let all = blocks.flat_map(|&block| region.cfg.blocks[block].instructions());
        let work = all.filter(is_work).count() as u64;
        items / u64::from(lanes.max(1)) * work <= MOST
    }

    /// How many work-items there are, if that is known.
    pub fn items(&self) -> Option<u64> {
        let (begin, end) = (self.region.begin.as_unsigned()?, self.region.end.as_unsigned()?);
        Some(end.saturating_sub(begin))
    }

    /// The loops that a block is in, the innermost first, without the work-item loop.
    pub fn loops_around(&self, block: usize) -> Vec<usize> {
        let mut all = Vec::new();
        let mut at = self.region.loop_of[&block];
        while at != 0 {
            all.push(at);
            at = self.region.loops[at].parent;
        }
        all
    }

    /// The blocks, in the order in which they run in lanes.
    pub fn order(&self) -> Vec<usize> {
        fn add(region: &Region<'_>, index: usize, order: &mut Vec<usize>) {
            for node in &region.loops[index].nodes {
                match node.part {
                    Part::Block(block) => order.push(block),
                    Part::Loop(inner) => add(region, inner, order),
                }
            }
        }
        let mut order = Vec::new();
        add(&self.region, 0, &mut order);
        order
    }

    fn check(&self) -> Result<(), Refusal> {
        let region = &self.region;
        let mut effects: Vec<usize> = Vec::new();
        let mut exits: Vec<usize> = Vec::new();
        let order = self.order();
        let repeats = self.group_memory_is_only_written();
        for (at, &block) in order.iter().enumerate() {
            let here = region.cfg.blocks[block];
            let leaves = region.side_exits(block);
            if leaves.iter().any(|&exit| !is_dead_end(region.cfg.blocks[exit])) {
                exits.push(at);
            }
            for one in here.instructions() {
                self.check_types(one)?;
                let is_repeated = repeats
                    && one.opcode() == Some(Opcode::Store)
                    && is_group_memory(base(one.operand(1)));
                if self.effect(block, one)? && !is_repeated {
                    effects.push(at);
                }
            }
        }
        // The scalar loop takes over where a lane panics, and begins with the vector's first
        // work-item. So nothing must have been done yet, by no lane.
        let follows = |&effect: &usize, &exit: &usize| {
            effect <= exit || {
                let around = self.loops_around(order[effect]);
                self.loops_around(order[exit]).iter().any(|one| around.contains(one))
            }
        };
        let late = exits.iter().any(|exit| effects.iter().any(|effect| follows(effect, exit)));
        if late {
            return Err(Refusal::Construct(PANIC_AFTER_STORE));
        }
        Ok(())
    }

    /// Whether no work-item of the region reads memory of the group. What it writes there before a lane panics
    /// the scalar loop writes again then, and what later lanes have written is not read: the group ends.
    fn group_memory_is_only_written(&self) -> bool {
        let reads_other = |one: Value<'m>| match one.opcode() {
            Some(Opcode::Load) => {
                let from = base(one.operand(0));
                from.is_argument() || from.is_alloca()
            }
            Some(Opcode::AtomicRMW) => false,
            Some(Opcode::Call) => one.callee().is_some_and(|callee| {
                intrinsics::form(callee).is_some() || intrinsics::is_pure(one, callee)
            }),
            _ => true,
        };
        let blocks = self.region.loop_of.keys().map(|&block| self.region.cfg.blocks[block]);
        blocks.flat_map(Block::instructions).all(reads_other)
    }

    /// Whether an instruction does what other work-items or the host may see.
    fn effect(&self, block: usize, one: Value<'m>) -> Result<bool, Refusal> {
        use Opcode::*;
        let refuse = |what| Err(Refusal::Construct(what));
        match one.opcode() {
            Some(Load) => {
                if !one.is_simple() {
                    return refuse("an atomic or volatile load");
                }
                let known = is_element(one.ty()) || is_packed(one.ty());
                if self.shapes.get(one) == Shape::Varying && !known {
                    return refuse("a load of an unusual type");
                }
                Ok(false)
            }
            Some(Store) => {
                if !one.is_simple() {
                    return refuse("an atomic or volatile store");
                }
                let (value, address) = (one.operand(0), one.operand(1));
                let same = self.shapes.get(address) == Shape::Uniform;
                if !is_element(value.ty()) && !is_packed(value.ty()) && !same {
                    return refuse("a store of an unusual type");
                }
                Ok(!self.privates.contains(address))
            }
            Some(AtomicRMW) => {
                let around = self.loops_around(block);
                if around.iter().any(|one| self.shapes.divergent_loops.contains(one)) {
                    return refuse(
                        "an atomic operation in a loop that work-items leave one by one",
                    );
                }
                if one.is_volatile() {
                    return refuse("a volatile operation");
                }
                Ok(true)
            }
            Some(Call) => self.effect_of_call(one),
            Some(Br | Switch | Phi | GetElementPtr | Select | ICmp | FCmp | FNeg | Freeze) => {
                Ok(false)
            }
            Some(
                Add | Sub | Mul | UDiv | SDiv | URem | SRem | Shl | LShr | AShr | And | Or | Xor
                | FAdd | FSub | FMul | FDiv | FRem,
            ) => Ok(false),
            Some(
                Trunc | ZExt | SExt | FPToUI | FPToSI | UIToFP | SIToFP | FPTrunc | FPExt
                | PtrToInt | IntToPtr | BitCast,
            ) => Ok(false),
            Some(ExtractValue) => Ok(false),
            Some(InsertValue) if one.aggregate_indices().len() == 1 => Ok(false),
            Some(Fence) => refuse("a fence"),
            Some(AtomicCmpXchg) => refuse("an atomic compare-exchange"),
            _ => refuse("an instruction without a form for vectors"),
        }
    }

    fn effect_of_call(&self, one: Value<'m>) -> Result<bool, Refusal> {
        let refuse = |what| Err(Refusal::Construct(what));
        let Some(callee) = one.callee() else { return refuse("a call through a pointer") };
        match intrinsics::form(callee) {
            Some(Form::Dropped) => return Ok(false),
            Some(_) if one.bundle_tags().is_empty() => return Ok(false),
            _ => {}
        }
        if intrinsics::is_called(callee, "memset") {
            let address = one.operand(0);
            if self.privates.of(address).is_some() {
                let same = self.shapes.get(address) == Shape::Uniform;
                return if same && is_whole_memset(one, address) {
                    Ok(false)
                } else {
                    refuse("private memory filled at an index")
                };
            }
        }
        let moves = ["memset", "memcpy", "memmove"];
        if moves.iter().any(|name| intrinsics::is_called(callee, name)) {
            if !one.operand(3).is_zero() {
                return refuse("a volatile copy");
            }
            let [to, from] = [one.operand(0), one.operand(1)];
            if self.privates.of(to).is_some() || self.privates.of(from).is_some() {
                return refuse("a copy of interleaved memory");
            }
            return Ok(!self.privates.contains(to));
        }
        if intrinsics::is_pure(one, callee) {
            let ty = one.ty();
            return if is_element(ty) { Ok(false) } else { refuse("a call of an unusual type") };
        }
        if intrinsics::is_confined(one, callee) {
            // Each lane calls it with its own memory.
            let is_own = |arg: Value<'m>| match arg.ty().kind() {
                TypeKind::Pointer => self.privates.is_apart(arg),
                _ => is_scalar(arg.ty()),
            };
            let returns = one.ty().kind() == TypeKind::Void || is_element(one.ty());
            if returns && one.args().into_iter().all(is_own) {
                return Ok(false);
            }
        }
        refuse("a call of a function that is not inlined")
    }

    fn check_types(&self, one: Value<'m>) -> Result<(), Refusal> {
        let mut all = vec![one.ty()];
        if !one.is_terminator() && one.opcode() != Some(Opcode::Call) {
            all.extend(one.operands().map(Value::ty));
        }
        let is_good = |ty: Type<'_>| is_scalar(ty) || is_plain_struct(ty);
        let varies = self.shapes.get(one) == Shape::Varying
            || one.operands().any(|operand| self.shapes.get(operand) == Shape::Varying);
        if varies && one.ty().kind() != TypeKind::Void && !all.into_iter().all(is_good) {
            return Err(Refusal::Construct("values of a type without a form for vectors"));
        }
        Ok(())
    }
}

/// The locals that are taken to be the same for all lanes and are not: one lane stores there,
/// or each its own value.
fn different_locals<'m>(
    region: &Region<'m>,
    shapes: &Shapes<'m>,
    privates: &Privates<'m>,
) -> Vec<Value<'m>> {
    let uniform = |value: Value<'m>| shapes.get(value) == Shape::Uniform;
    let mut found = Vec::new();
    for (index, of) in region.loops.iter().enumerate() {
        for (at, node) in of.nodes.iter().enumerate() {
            let Part::Block(block) = node.part else { continue };
            let full = shapes.is_full(region, index, at);
            for one in region.cfg.blocks[block].instructions() {
                let (to, same) = match one.opcode() {
                    Some(Opcode::Store) => (one.operand(1), uniform(one.operand(0))),
                    Some(Opcode::Call) if is_fill(one) => {
                        // What is copied is the same if it is of memory that is.
                        let from = one.operand(1);
                        (one.operand(0), uniform(from) && privates.of(from).is_none())
                    }
                    _ => continue,
                };
                let Some(&local) = privates.shared.get(&to) else { continue };
                if !full || !same || !uniform(to) {
                    found.push(local);
                }
            }
        }
    }
    found
}

fn is_scalar(ty: Type<'_>) -> bool {
    match ty.kind() {
        TypeKind::Integer => ty.int_width() <= 64,
        TypeKind::Half | TypeKind::Float | TypeKind::Double => true,
        TypeKind::Pointer => ty.address_space() == 0,
        _ => false,
    }
}

fn is_plain_struct(ty: Type<'_>) -> bool {
    ty.kind() == TypeKind::Struct && (0..ty.num_fields()).all(|at| is_scalar(ty.field_type(at)))
}

/// The vector loop leaves to the block behind the scalar one, with the same values. How far the loop
/// has counted is known there.
fn check_exit(region: &Region<'_>) -> Result<(), Refusal> {
    let (from, to) = region.exit;
    for phi in region.cfg.blocks[to].phis() {
        let value = phi.incoming(region.cfg.blocks[from]);
        let inside = value.is_some_and(|value| {
            value != region.counted
                && value.is_instruction()
                && region.contains(region.cfg.block_of(value))
        });
        if inside || value.is_none() {
            return Err(Refusal::Form("a value of the last work-item is used behind the loop"));
        }
    }
    Ok(())
}
