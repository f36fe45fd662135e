//! Between which numbers an index is, for all work-items of a group and all iterations of its
//! loops: both numbers as instructions that every work-item of the group computes alike.
//!
//! ```llvm
//!   %row = mul i64 %y, %side
//!   %at = add i64 %row, %x
//! ```
//! is between
//! ```llvm
//!   %y.first = mul i64 %ctaid.y, %ntid.y
//!   %row.first = mul i64 %y.first, %side
//!   %low = add i64 %row.first, %x.first
//! ```
//! and the same of the last `%y` and `%x`. A range holds if nothing overflows on the way to it, which
//! is among the conditions that it [needs](Range::needs). All numbers are without signs, in 64 bits.

use std::collections::HashMap;

use schism_llvm::{
    Attribute, Block, FUNCTION_INDEX, IntPredicate, Opcode, TypeKind, Value, intrinsic_id,
};

use crate::analysis::scev::Emit;
use crate::ir::cfg::{Cfg, Loop};
use crate::nvptx::launch_bounds::BLOCK;
use crate::spec::target::THREAD_ID;

/// The size of a group along an axis. The register of NVIDIA's promises at most 1024.
const GROUP_SIZE: &str = "llvm.spv.workgroup.size";

const AXES: [&str; 3] = ["x", "y", "z"];

/// What the names of special registers begin with.
const REGISTER: &str = "llvm.nvvm.read.ptx.sreg.";

/// How many operations an index may be made of.
const DEPTH: u32 = 32;

/// Numbers that a value is between, both included.
#[derive(Clone)]
pub(crate) struct Range<'m> {
    pub low: Value<'m>,
    pub high: Value<'m>,
    /// What must hold for that.
    pub needs: Vec<Value<'m>>,
}

/// The ranges of a kernel's values. Instructions are made at one place, in front of all others.
pub(crate) struct Ranges<'a, 'm> {
    cfg: &'a Cfg<'m>,
    loops: HashMap<Block<'m>, Loop>,
    emit: Emit<'m>,
    function: Value<'m>,
    /// The size of a group in each dimension, or zeros.
    group: [u64; 3],
    known: HashMap<Value<'m>, Option<Range<'m>>>,
    /// What is the same for all work-items, as it is computed at the front.
    uniform: HashMap<Value<'m>, Option<Value<'m>>>,
    iterations: HashMap<Block<'m>, Option<Range<'m>>>,
}

impl<'a, 'm> Ranges<'a, 'm> {
    /// Ranges of a function's values, computed in front of an instruction of its entry.
    pub fn new(cfg: &'a Cfg<'m>, front: Value<'m>) -> Self {
        let loops = cfg.loops().into_iter().map(|one| (cfg.blocks[one.header], one)).collect();
        Self {
            cfg,
            loops,
            emit: Emit::before(front),
            function: front.parent_function(),
            group: known_group(front.parent_function()),
            known: HashMap::new(),
            uniform: HashMap::new(),
            iterations: HashMap::new(),
        }
    }

    /// A condition on two numbers.
    pub fn compare(&self, predicate: IntPredicate, a: Value<'m>, b: Value<'m>) -> Value<'m> {
        self.emit.builder().icmp(predicate, a, b)
    }

    /// Whether all of these hold.
    pub fn all(&self, conditions: &[Value<'m>]) -> Value<'m> {
        let always = self.emit.number(1, 1);
        conditions.iter().fold(always, |all, &one| self.emit.builder().and(all, one))
    }

    /// The opposite of a condition.
    pub fn not(&self, condition: Value<'m>) -> Value<'m> {
        self.emit.builder().not(condition)
    }

    /// A value that is the same for all work-items and in all iterations, computed at the front.
    pub fn uniform(&mut self, value: Value<'m>) -> Option<Value<'m>> {
        self.uniform_at(value, DEPTH)
    }

    fn uniform_at(&mut self, value: Value<'m>, depth: u32) -> Option<Value<'m>> {
        if let Some(known) = self.uniform.get(&value) {
            return *known;
        }
        let early = self.make_uniform(value, depth);
        self.uniform.insert(value, early);
        early
    }

    fn make_uniform(&mut self, value: Value<'m>, depth: u32) -> Option<Value<'m>> {
        if value.ty().kind() != TypeKind::Integer || value.ty().int_width() > 64 || depth == 0 {
            return None;
        }
        if value.is_constant_int() {
            return Some(value);
        }
        if value.is_argument() {
            return Some(match value.parameter_attribute("noundef") {
                Some(_) => value,
                None => self.emit.builder().freeze(value),
            });
        }
        let opcode = value.opcode()?;
        if opcode == Opcode::Call {
            let name = value.callee()?.name();
            let register = name.strip_prefix(REGISTER)?;
            let same = ["ctaid.", "ntid.", "nctaid."];
            let is_same = same.iter().any(|prefix| register.starts_with(prefix));
            return is_same.then(|| self.register(register));
        }
        let mut early = |index| self.uniform_at(value.operand(index), depth - 1);
        match opcode {
            Opcode::ZExt | Opcode::Trunc | Opcode::SExt => {
                let of = early(0)?;
                Some(self.emit.builder().cast(opcode, of, value.ty()))
            }
            // Made once more, without promises that only hold where the value is used.
            Opcode::Add | Opcode::Sub | Opcode::Mul | Opcode::And | Opcode::Or | Opcode::Xor => {
                let (a, b) = (early(0)?, early(1)?);
                Some(self.emit.builder().binary(opcode, a, b))
            }
            Opcode::Shl | Opcode::LShr | Opcode::UDiv | Opcode::URem => {
                let by = value.operand(1);
                let bits = u64::from(value.ty().int_width());
                let by = by.is_constant_int().then(|| by.zext_value())?;
                let is_shift = matches!(opcode, Opcode::Shl | Opcode::LShr);
                if by == 0 || (is_shift && by >= bits) {
                    return None;
                }
                let of = early(0)?;
                Some(self.emit.builder().binary(opcode, of, value.operand(1)))
            }
            Opcode::ICmp => {
                let (a, b) = (early(0)?, early(1)?);
                Some(self.emit.builder().icmp(value.icmp_predicate(), a, b))
            }
            Opcode::Select => {
                let (condition, a, b) = (early(0)?, early(1)?, early(2)?);
                Some(self.emit.builder().select(condition, a, b))
            }
            _ => None,
        }
    }

    /// A special register, in 32 bits.
    fn register(&self, register: &str) -> Value<'m> {
        let module = self.function.module();
        let function = module.intrinsic(intrinsic_id(&format!("{REGISTER}{register}")), &[]);
        self.emit.builder().call_function(function, &[])
    }

    /// How many work-items a group has along an axis.
    fn group_size(&self, axis: usize) -> Value<'m> {
        if self.group[axis] != 0 {
            return self.number(self.group[axis]);
        }
        let module = self.function.module();
        let (long, word) = (module.context().int_type(64), module.context().int_type(32));
        let size = module.intrinsic(intrinsic_id(GROUP_SIZE), &[long]);
        self.emit.builder().call_function(size, &[word.const_int(axis as u64, false)])
    }

    fn number(&self, value: u64) -> Value<'m> {
        self.emit.number(64, value)
    }

    /// Between which numbers a value is.
    pub fn range(&mut self, value: Value<'m>) -> Option<Range<'m>> {
        self.range_at(value, DEPTH)
    }

    fn range_at(&mut self, value: Value<'m>, depth: u32) -> Option<Range<'m>> {
        if let Some(known) = self.known.get(&value) {
            return known.clone();
        }
        if value.ty().kind() != TypeKind::Integer || value.ty().int_width() > 64 || depth == 0 {
            return None;
        }
        // A value that depends on itself has no range, unless it is the variable of a loop.
        self.known.insert(value, None);
        let range = match self.uniform(value) {
            Some(same) => Some(self.one(same)),
            None => self.make_range(value, depth - 1),
        };
        self.known.insert(value, range.clone());
        range
    }

    /// The range of a number that all have in common.
    fn one(&self, value: Value<'m>) -> Range<'m> {
        let long = value.ty().context().int_type(64);
        let value = if value.ty().int_width() == 64 {
            value
        } else {
            self.emit.builder().zext(value, long)
        };
        Range { low: value, high: value, needs: Vec::new() }
    }

    fn make_range(&mut self, value: Value<'m>, depth: u32) -> Option<Range<'m>> {
        let bits = value.ty().int_width();
        let opcode = value.opcode()?;
        match opcode {
            Opcode::Call => return self.call(value, depth),
            Opcode::Phi => return self.phi(value, depth),
            _ => {}
        }
        let constant = |index: u32| {
            let operand = value.get_operand(index)?;
            operand.is_constant_int().then(|| operand.zext_value())
        };
        match opcode {
            Opcode::ZExt => self.range_at(value.operand(0), depth),
            Opcode::Trunc => {
                let range = self.range_at(value.operand(0), depth)?;
                Some(self.below(range, bits))
            }
            Opcode::SExt => {
                let of = value.operand(0);
                let range = self.range_at(of, depth)?;
                Some(self.below(range, of.ty().int_width() - 1))
            }
            Opcode::Add => {
                let a = self.range_at(value.operand(0), depth)?;
                if let Some(by) = constant(1)
                    && by >> (bits - 1) != 0
                {
                    let by = self.number(by.wrapping_neg() & (u64::MAX >> (64 - bits)));
                    return Some(self.less(a, Range { low: by, high: by, needs: Vec::new() }));
                }
                let b = self.range_at(value.operand(1), depth)?;
                let sum = self.sum(a, b);
                Some(self.below(sum, bits))
            }
            Opcode::Sub => {
                let a = self.range_at(value.operand(0), depth)?;
                let b = self.range_at(value.operand(1), depth)?;
                Some(self.less(a, b))
            }
            Opcode::Mul => {
                let a = self.range_at(value.operand(0), depth)?;
                let b = self.range_at(value.operand(1), depth)?;
                let product = self.product(a, b);
                Some(self.below(product, bits))
            }
            Opcode::Shl => {
                let by = constant(1).filter(|&by| by < u64::from(bits.min(63)))?;
                let a = self.range_at(value.operand(0), depth)?;
                let by = self.number(1 << by);
                let product = self.product(a, Range { low: by, high: by, needs: Vec::new() });
                Some(self.below(product, bits))
            }
            // Neither more than both together, nor less than either.
            Opcode::Or => {
                let a = self.range_at(value.operand(0), depth)?;
                let b = self.range_at(value.operand(1), depth)?;
                let low = self.emit.intrinsic("llvm.umax", a.low, b.low);
                let sum = self.sum(a, b);
                Some(Range { low, ..sum })
            }
            Opcode::And => {
                let most = constant(1)?;
                let most = self.number(most);
                let none = self.number(0);
                Some(match self.range_at(value.operand(0), depth) {
                    Some(of) => {
                        let high = self.emit.intrinsic("llvm.umin", of.high, most);
                        Range { low: none, high, needs: of.needs }
                    }
                    None => Range { low: none, high: most, needs: Vec::new() },
                })
            }
            Opcode::LShr | Opcode::UDiv => {
                let by = constant(1)?;
                let is_shift = opcode == Opcode::LShr;
                if by == 0 || (is_shift && by >= u64::from(bits)) {
                    return None;
                }
                let of = self.range_at(value.operand(0), depth)?;
                let by = self.number(by);
                let [low, high] =
                    [of.low, of.high].map(|one| self.emit.builder().binary(opcode, one, by));
                Some(Range { low, high, needs: of.needs })
            }
            Opcode::URem => {
                let by = constant(1).filter(|&by| by != 0)?;
                let (low, high) = (self.number(0), self.number(by - 1));
                Some(Range { low, high, needs: Vec::new() })
            }
            Opcode::Select => {
                let a = self.range_at(value.operand(1), depth)?;
                let b = self.range_at(value.operand(2), depth)?;
                Some(self.either(a, b))
            }
            _ => None,
        }
    }

    fn call(&mut self, call: Value<'m>, depth: u32) -> Option<Range<'m>> {
        let name = call.callee()?.name();
        let one = self.number(1);
        if name == THREAD_ID {
            let axis = usize::try_from(call.operand(0).as_unsigned()?).ok()?;
            let size = self.group_size(axis);
            let group = self.register(&format!("ctaid.{}", AXES[axis]));
            let builder = self.emit.builder();
            let group = builder.zext(group, size.ty());
            let low = builder.mul(group, size);
            let high = builder.add(low, builder.sub(size, one));
            return Some(Range { low, high, needs: Vec::new() });
        }
        if let Some(axis) = name.strip_prefix(REGISTER).and_then(|name| name.strip_prefix("tid.")) {
            let size = self.group_size(AXES.iter().position(|it| *it == axis)?);
            let high = self.emit.builder().sub(size, one);
            return Some(Range { low: self.number(0), high, needs: Vec::new() });
        }
        let which = ["llvm.umin", "llvm.umax"].into_iter().find(|which| name.starts_with(which))?;
        let [a, b] = [0, 1].map(|index| self.range_at(call.operand(index), depth));
        if which == "llvm.umax" {
            let (a, b) = (a?, b?);
            let [low, high] =
                [(a.low, b.low), (a.high, b.high)].map(|(a, b)| self.emit.intrinsic(which, a, b));
            return Some(Range { low, high, needs: together(a.needs, b.needs) });
        }
        Some(match (a, b) {
            (Some(a), Some(b)) => {
                let [low, high] = [(a.low, b.low), (a.high, b.high)]
                    .map(|(a, b)| self.emit.intrinsic(which, a, b));
                Range { low, high, needs: together(a.needs, b.needs) }
            }
            (Some(known), None) | (None, Some(known)) => Range { low: self.number(0), ..known },
            (None, None) => return None,
        })
    }

    fn phi(&mut self, phi: Value<'m>, depth: u32) -> Option<Range<'m>> {
        if let Some(of) = self.loops.get(&phi.block()).cloned() {
            return self.variable(&of, phi, depth);
        }
        // Values of other loops depend on themselves.
        let edges = phi.incoming_edges();
        let mut all: Option<Range<'m>> = None;
        for (value, _) in edges {
            let one = self.range_at(value, depth)?;
            all = Some(match all {
                Some(all) => self.either(all, one),
                None => one,
            });
        }
        all
    }

    /// The range of a number that each iteration changes by the same amount.
    fn variable(&mut self, of: &Loop, phi: Value<'m>, depth: u32) -> Option<Range<'m>> {
        let (first, step) = self.step(of, phi)?;
        let first = self.range_at(first, depth)?;
        let times = self.iterations(of, depth)?;
        let size = self.number(step.unsigned_abs());
        let way = self.product(times, Range { low: size, high: size, needs: Vec::new() });
        let none = self.number(0);
        let way = Range { low: none, ..way };
        let range = if step > 0 { self.sum(first, way) } else { self.less(first, way) };
        Some(self.below(range, phi.ty().int_width()))
    }

    /// What a variable of a loop is first, and by how much it changes.
    fn step(&self, of: &Loop, phi: Value<'m>) -> Option<(Value<'m>, i64)> {
        let [before, latch] = [of.preheader, of.latch].map(|block| self.cfg.blocks[block]);
        let next = phi.incoming(latch)?;
        let is_sum = next.opcode() == Some(Opcode::Add) && next.operand(0) == phi;
        let step = next.get_operand(1).filter(|step| is_sum && step.is_constant_int())?;
        let step = step.as_signed().filter(|&step| step != 0 && step.unsigned_abs() < 1 << 31)?;
        Some((phi.incoming(before)?, step))
    }

    /// In which iteration a loop ends at the latest; the first has the number 0.
    fn iterations(&mut self, of: &Loop, depth: u32) -> Option<Range<'m>> {
        let header = self.cfg.blocks[of.header];
        if let Some(known) = self.iterations.get(&header) {
            return known.clone();
        }
        self.iterations.insert(header, None);
        let exits: Vec<usize> = of.blocks.iter().copied().collect();
        let found = exits.into_iter().find_map(|block| self.end(of, block, depth));
        self.iterations.insert(header, found.clone());
        found
    }

    /// In which iteration a loop is left from a block at the latest.
    fn end(&mut self, of: &Loop, block: usize, depth: u32) -> Option<Range<'m>> {
        use IntPredicate::*;
        let (condition, _, stays) = crate::analysis::trip_count::exit(self.cfg, of, block)?;
        if !self.cfg.dominates(block, of.latch) || condition.opcode() != Some(Opcode::ICmp) {
            return None;
        }
        let mut predicate = condition.icmp_predicate();
        if !stays {
            predicate = crate::analysis::trip_count::opposite(predicate);
        }
        let [mut tested, mut bound] = [0, 1].map(|index| condition.operand(index));
        let is_of = |value: Value<'m>| self.tested(of, value).is_some();
        if !is_of(tested) {
            (tested, bound) = (bound, tested);
            predicate = crate::analysis::trip_count::swapped(predicate);
        }
        let (phi, is_next) = self.tested(of, tested)?;
        let (first, step) = self.step(of, phi)?;
        let bits = tested.ty().int_width();
        let is_inside = |value: Value<'m>| {
            value.is_instruction() && of.blocks.contains(&self.cfg.block_of(value))
        };
        if is_inside(bound) {
            return None;
        }
        let mut first = self.range_at(first, depth)?;
        let bound = self.range_at(bound, depth)?;
        let size = self.number(step.unsigned_abs());
        let fixed = |value| Range { low: value, high: value, needs: Vec::new() };
        if is_next {
            first = if step > 0 {
                let sum = self.sum(first, fixed(size));
                self.below(sum, bits)
            } else {
                self.less(first, fixed(size))
            };
        }
        let mut needs = together(first.needs.clone(), bound.needs.clone());
        let distance = match (predicate, step > 0) {
            (NE, up) => {
                // Each reaches the bound, and does not step over it.
                let (from, to) = if up { (&first, &bound) } else { (&bound, &first) };
                needs.push(self.compare(ULE, from.high, to.low));
                let distance = self.emit.builder().sub(to.high, from.low);
                if step.unsigned_abs() != 1 {
                    let is_one = |range: &Range<'m>| range.low == range.high;
                    if !is_one(&first) || !is_one(&bound) {
                        return None;
                    }
                    let rest = self.emit.builder().urem(distance, size);
                    let none = self.number(0);
                    needs.push(self.compare(EQ, rest, none));
                }
                self.emit.builder().udiv(distance, size)
            }
            (ULT | SLT, true) => {
                // The number that ends the loop has not wrapped.
                let own = if predicate == SLT { bits - 1 } else { bits };
                let most = (u64::MAX >> (64 - own)) - step.unsigned_abs();
                let most = self.number(most);
                needs.push(self.compare(ULE, bound.high, most));
                needs.push(self.compare(ULE, first.high, most));
                let distance = self.emit.intrinsic("llvm.usub.sat", bound.high, first.low);
                let builder = self.emit.builder();
                let less = builder.udiv(distance, size);
                let rest = builder.urem(distance, size);
                let more = self.compare(NE, rest, self.number(0));
                let long = rest.ty();
                builder.add(less, builder.zext(more, long))
            }
            _ => return None,
        };
        Some(Range { low: self.number(0), high: distance, needs })
    }

    /// The variable of a loop that a condition looks at, and whether it is that of the next
    /// iteration.
    fn tested(&self, of: &Loop, value: Value<'m>) -> Option<(Value<'m>, bool)> {
        let header = self.cfg.blocks[of.header];
        let is_variable =
            |value: Value<'m>| value.opcode() == Some(Opcode::Phi) && value.block() == header;
        if is_variable(value) {
            return Some((value, false));
        }
        let phi = value.get_operand(0).filter(|phi| is_variable(*phi))?;
        let is_next = phi.incoming(self.cfg.blocks[of.latch]) == Some(value);
        is_next.then_some((phi, true))
    }

    /// The same numbers, which must have so many bits.
    fn below(&self, mut range: Range<'m>, bits: u32) -> Range<'m> {
        if bits < 64 {
            let most = self.number((1 << bits) - 1);
            range.needs.push(self.compare(IntPredicate::ULE, range.high, most));
        }
        range
    }

    fn sum(&self, a: Range<'m>, b: Range<'m>) -> Range<'m> {
        let mut needs = together(a.needs, b.needs);
        let both = self.emit.intrinsic("llvm.uadd.with.overflow", a.high, b.high);
        let builder = self.emit.builder();
        needs.push(builder.not(builder.extract_value(both, 1)));
        Range { low: builder.add(a.low, b.low), high: builder.extract_value(both, 0), needs }
    }

    /// The product of two numbers, each of at most 32 bits. That is easy to see; of the upper half of
    /// a product Intel's driver does not know that work-items have it in common.
    fn product(&self, a: Range<'m>, b: Range<'m>) -> Range<'m> {
        let mut needs = together(a.needs, b.needs);
        let builder = self.emit.builder();
        let most = self.number(u64::from(u32::MAX));
        needs.push(self.compare(IntPredicate::ULE, builder.or(a.high, b.high), most));
        Range { low: builder.mul(a.low, b.low), high: builder.mul(a.high, b.high), needs }
    }

    /// The difference of two numbers, which is not below zero.
    fn less(&self, a: Range<'m>, b: Range<'m>) -> Range<'m> {
        let mut needs = together(a.needs, b.needs);
        needs.push(self.compare(IntPredicate::UGE, a.low, b.high));
        let builder = self.emit.builder();
        Range { low: builder.sub(a.low, b.high), high: builder.sub(a.high, b.low), needs }
    }

    fn either(&self, a: Range<'m>, b: Range<'m>) -> Range<'m> {
        let low = self.emit.intrinsic("llvm.umin", a.low, b.low);
        let high = self.emit.intrinsic("llvm.umax", a.high, b.high);
        Range { low, high, needs: together(a.needs, b.needs) }
    }
}

/// The size of the groups that a kernel is compiled for, or zeros.
fn known_group(kernel: Value<'_>) -> [u64; 3] {
    let size = kernel.string_attribute(FUNCTION_INDEX, BLOCK);
    let size = size.and_then(Attribute::string_value).unwrap_or_default();
    let mut sizes = size.split(',').map(|size| size.parse().unwrap_or(0));
    std::array::from_fn(|_| sizes.next().unwrap_or(0))
}

/// All conditions of both lists, each once.
fn together<'m>(mut all: Vec<Value<'m>>, others: Vec<Value<'m>>) -> Vec<Value<'m>> {
    for other in others {
        if !all.contains(&other) {
            all.push(other);
        }
    }
    all
}
