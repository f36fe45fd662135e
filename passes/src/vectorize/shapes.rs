//! Divergence: which values are the same for all work-items of a vector, which differ by a known
//! step from one to the next, and which branches and loops the work-items do not take together.
//!
//! The analysis begins with no shape at all and raises shapes until nothing changes. Control flow
//! is judged as [`emit`](super::emit) makes it: each node of a loop runs for a set of lanes, and
//! sets that are the same by construction have the same number. A phi is uniform only if all its
//! edges have the same set: then a uniform branch decides between them.

use std::collections::{HashMap, HashSet};

use schism_llvm::{DataLayout, IntPredicate, Opcode, TypeKind, Value};

use super::private::Privates;
use super::region::{Part, Region, body};
use super::shape::Shape;

use Shape::{Strided, Uniform, Varying};

/// The shapes of all values of a region.
pub(super) struct Shapes<'m> {
    shapes: HashMap<Value<'m>, Shape>,
    /// The loops that work-items leave in different iterations.
    pub divergent_loops: HashSet<usize>,
    /// The nodes, as loop and number, that may run for fewer lanes than the loop's header.
    pub partial: HashSet<(usize, usize)>,
}

impl<'m> Shapes<'m> {
    /// Of a region.
    pub fn of(region: &Region<'m>, privates: &Privates<'m>) -> Self {
        let layout = region.function.module().data_layout();
        let mut new = Self {
            shapes: HashMap::from([(region.item, Strided(1))]),
            divergent_loops: HashSet::new(),
            partial: HashSet::new(),
        };
        for (&pointer, shape) in privates.seeds() {
            new.shapes.insert(pointer, shape);
        }
        let mut work = Work { region, privates, layout, of: &mut new, changed: true, sets: 0 };
        loop {
            while std::mem::take(&mut work.changed) {
                work.sets = 0;
                work.walk(0);
            }
            if !work.begin_undefined() {
                return new;
            }
        }
    }

    /// The shape of a value; what does not come from the region is uniform.
    pub fn get(&self, value: Value<'m>) -> Shape {
        self.shapes.get(&value).copied().unwrap_or(Uniform)
    }

    /// Whether a node of a loop runs for all lanes whenever it runs.
    pub fn is_full(&self, region: &Region<'m>, index: usize, node: usize) -> bool {
        let (mut index, mut node) = (index, node);
        loop {
            if self.partial.contains(&(index, node)) || self.divergent_loops.contains(&index) {
                return false;
            }
            if index == 0 {
                return true;
            }
            let parent = region.loops[index].parent;
            let nodes = &region.loops[parent].nodes;
            let Some(at) = nodes.iter().position(|one| one.part == Part::Loop(index)) else {
                return false;
            };
            (index, node) = (parent, at);
        }
    }

    /// Whether lanes take different ways at a block's end.
    pub fn diverges(&self, region: &Region<'m>, block: usize) -> bool {
        let end = region.cfg.blocks[block].end();
        region.successors(block).len() > 1
            && match end.opcode() {
                Some(Opcode::Br) => self.get(end.condition()) != Uniform,
                Some(Opcode::Switch) => self.get(end.operand(0)) != Uniform,
                _ => true,
            }
    }
}

struct Work<'a, 'm> {
    region: &'a Region<'m>,
    privates: &'a Privates<'m>,
    layout: DataLayout<'m>,
    of: &'a mut Shapes<'m>,
    changed: bool,
    /// How many sets of lanes there are yet.
    sets: usize,
}

impl<'m> Work<'_, 'm> {
    /// Goes through a loop once.
    fn walk(&mut self, index: usize) {
        let region = self.region;
        let of = &region.loops[index];
        self.sets += 1;
        let header_set = self.sets;
        let mut sets: Vec<usize> = Vec::new();
        let mut edge_sets: HashMap<(usize, usize), usize> = HashMap::new();
        for (at, node) in of.nodes.iter().enumerate() {
            let incoming: Vec<usize> = node.incoming.iter().map(|edge| edge_sets[edge]).collect();
            let joins = incoming.windows(2).any(|two| two[0] != two[1]);
            let set = if at == 0 {
                header_set
            } else if node.always_follows {
                sets[node.dominator]
            } else if joins {
                self.sets += 1;
                self.sets
            } else {
                incoming.first().copied().unwrap_or(header_set)
            };
            sets.push(set);
            if set != header_set && self.of.partial.insert((index, at)) {
                self.changed = true;
            }
            match node.part {
                Part::Block(block) => {
                    self.phis(block, at == 0, joins);
                    for one in body(region.cfg.blocks[block]) {
                        let shape = self.shape(one);
                        self.raise(one, shape);
                    }
                    let diverges = self.of.diverges(region, block);
                    for next in region.successors(block) {
                        if diverges {
                            self.sets += 1;
                        }
                        edge_sets.insert((block, next), if diverges { self.sets } else { set });
                    }
                }
                Part::Loop(inner) => {
                    self.walk(inner);
                    let exits = region.exits(inner);
                    let split = self.of.divergent_loops.contains(&inner) && exits.len() > 1;
                    for exit in exits {
                        if split {
                            self.sets += 1;
                        }
                        edge_sets.insert(exit, if split { self.sets } else { set });
                    }
                }
            }
        }
        let back = (of.latch, of.header);
        let edges = region.exits(index).into_iter().chain([back]);
        if index > 0
            && edges
                .into_iter()
                .any(|edge| edge_sets.get(&edge).is_some_and(|&it| it != header_set))
            && self.of.divergent_loops.insert(index)
        {
            self.changed = true;
        }
    }

    /// Raises phis that have no shape although nothing changes any more: they begin as `undef`, and
    /// all else that they take is computed of them. `undef` is the same for all lanes. Whether there
    /// are any.
    fn begin_undefined(&mut self) -> bool {
        let region = self.region;
        let phis = region.loop_of.keys().flat_map(|&block| region.cfg.blocks[block].phis());
        let begins = |phi: &Value<'m>| {
            !self.of.shapes.contains_key(phi)
                && region.incoming(*phi).iter().any(|(value, _)| value.is_undef())
        };
        let undefined: Vec<_> = phis.filter(begins).collect();
        for &phi in &undefined {
            self.raise(phi, Some(Uniform));
        }
        !undefined.is_empty()
    }

    /// The phis at the beginning of a block.
    fn phis(&mut self, block: usize, is_header: bool, joins: bool) {
        let region = self.region;
        for phi in region.cfg.blocks[block].phis() {
            if phi == region.item {
                continue;
            }
            let mut shape = None;
            let mut first = None;
            let mut all_same = true;
            for (value, from) in region.incoming(phi) {
                if value.is_undef() {
                    continue;
                }
                all_same &= *first.get_or_insert(value) == value;
                let one = if self.leaves_divergent_loop(from, block, value) {
                    Some(Varying)
                } else {
                    self.known(value)
                };
                shape = match (shape, one) {
                    (known, None) | (None, known) => known,
                    (Some(a), Some(b)) if a == b => Some(a),
                    _ => Some(Varying),
                };
            }
            if joins && !is_header && !all_same {
                shape = Some(Varying);
            }
            self.raise(phi, shape);
        }
    }

    /// Whether a value was computed in a loop that lanes leave in different iterations, and that
    /// the edge leaves.
    fn leaves_divergent_loop(&self, from: usize, to: usize, value: Value<'m>) -> bool {
        let region = self.region;
        if !value.is_instruction() || !region.contains(from) {
            return false;
        }
        let Some(&defined) = region.cfg.index.get(&value.block()) else { return false };
        self.of.divergent_loops.iter().any(|&index| {
            let blocks = &region.loops[index].blocks;
            blocks.contains(&from) && !blocks.contains(&to) && blocks.contains(&defined)
        })
    }

    /// The shape of an operand, if it is known already.
    fn known(&self, value: Value<'m>) -> Option<Shape> {
        let is_own = value.is_instruction()
            && self
                .region
                .cfg
                .index
                .get(&value.block())
                .is_some_and(|&it| self.region.contains(it));
        let shape = self.of.shapes.get(&value).copied();
        if is_own { shape } else { Some(shape.unwrap_or(Uniform)) }
    }

    /// Gives a value a shape, or the one above that and the one it has.
    fn raise(&mut self, value: Value<'m>, shape: Option<Shape>) {
        let Some(shape) = shape else { return };
        let old = self.of.shapes.get(&value).copied();
        let new = match old {
            Some(old) if old == shape => return,
            Some(_) => Varying,
            None => shape,
        };
        if old != Some(new) {
            self.of.shapes.insert(value, new);
            self.changed = true;
        }
    }

    /// The shape of an instruction's result; `None` while that of an operand is unknown.
    fn shape(&self, one: Value<'m>) -> Option<Shape> {
        let is_call = one.opcode() == Some(Opcode::Call);
        let operands: Vec<Value<'m>> = if is_call { one.args() } else { one.operands().collect() };
        let mut shapes = Vec::with_capacity(operands.len());
        for &operand in &operands {
            shapes.push(self.known(operand)?);
        }
        let all_uniform = shapes.iter().all(|&shape| shape == Uniform);
        let or_varying = if all_uniform { Uniform } else { Varying };
        Some(match one.opcode()? {
            Opcode::Add | Opcode::Sub => {
                let sign = if one.opcode() == Some(Opcode::Sub) { -1 } else { 1 };
                sum(shapes[0], shapes[1], sign)
            }
            Opcode::Or if one.is_disjoint() => sum(shapes[0], shapes[1], 1),
            Opcode::Mul => match (shapes[0], operands[1].as_signed()) {
                (Strided(step), Some(factor)) => strided(step.checked_mul(factor)),
                _ => or_varying,
            },
            Opcode::Shl => match (shapes[0], operands[1].as_signed()) {
                (Strided(step), Some(bits @ 0..=32)) => strided(step.checked_mul(1 << bits)),
                _ => or_varying,
            },
            Opcode::Trunc if one.ty().kind() == TypeKind::Integer && one.ty().int_width() >= 8 => {
                shapes[0]
            }
            Opcode::PtrToInt | Opcode::IntToPtr if width_of(one) == width_of(operands[0]) => {
                shapes[0]
            }
            // If the numbers are poison, they may be any, so those with this step, too.
            Opcode::Freeze => shapes[0],
            // The lanes' elements are apart already.
            Opcode::GetElementPtr if self.privates.of(one).is_some() => or_varying,
            Opcode::GetElementPtr => self.address(one, &shapes),
            Opcode::Select => match (shapes[0], shapes[1], shapes[2]) {
                (Uniform, a, b) if a == b => a,
                _ => or_varying,
            },
            // What differs between lanes is the same on both sides.
            Opcode::ICmp if matches!(one.icmp_predicate(), IntPredicate::EQ | IntPredicate::NE) => {
                match (shapes[0], shapes[1]) {
                    (Strided(a), Strided(b)) if a == b => Uniform,
                    _ => or_varying,
                }
            }
            Opcode::Load => {
                let is_shared = self.privates.of(operands[0]).is_none();
                if is_shared && !one.is_atomic() { or_varying } else { Varying }
            }
            Opcode::Call if is_uniform_call(one) => or_varying,
            Opcode::Call
            | Opcode::AtomicRMW
            | Opcode::AtomicCmpXchg
            | Opcode::Alloca
            | Opcode::VAArg => Varying,
            _ => or_varying,
        })
    }

    /// The shape of an address.
    fn address(&self, one: Value<'m>, shapes: &[Shape]) -> Shape {
        let mut shape = shapes[0];
        let mut ty = one.gep_source_type();
        for (at, (index, &own)) in one.operands().skip(1).zip(&shapes[1..]).enumerate() {
            if at > 0 {
                if ty.kind() == TypeKind::Struct {
                    let Some(field) = index.as_unsigned() else { return Varying };
                    ty = ty.field_type(field as u32);
                    continue;
                }
                ty = ty.element_type();
            }
            let size = self.layout.abi_size(ty) as i64;
            let own = match own {
                Uniform => Uniform,
                Strided(step) if index.ty().int_width() == 64 => strided(step.checked_mul(size)),
                _ => Varying,
            };
            shape = sum(shape, own, 1);
        }
        shape
    }
}

/// The number of bits of an integer or an address.
fn width_of(value: Value<'_>) -> Option<u32> {
    match value.ty().kind() {
        TypeKind::Integer => Some(value.ty().int_width()),
        TypeKind::Pointer => Some(64),
        _ => None,
    }
}

fn strided(step: Option<i64>) -> Shape {
    match step {
        Some(0) => Uniform,
        Some(step) if step.unsigned_abs() < 1 << 31 => Strided(step),
        _ => Varying,
    }
}

fn sum(a: Shape, b: Shape, sign: i64) -> Shape {
    match (a, b) {
        (Uniform, Uniform) => Uniform,
        (Strided(step), Uniform) => Strided(step),
        (Uniform, Strided(step)) => strided(step.checked_mul(sign)),
        (Strided(a), Strided(b)) => strided(b.checked_mul(sign).and_then(|b| a.checked_add(b))),
        _ => Varying,
    }
}

/// Whether a call's result depends on its arguments only, and it does nothing else.
pub(super) fn is_uniform_call(call: Value<'_>) -> bool {
    let Some(callee) = call.callee() else { return false };
    super::intrinsics::is_pure_or_plain(call, callee)
}
