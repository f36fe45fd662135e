//! Emits the strips of a loop, as [`plan`](super::plan) describes them.
//!
//! A strip is one iteration of a new loop. [`Emitter`] makes the values of the original iterations
//! on demand, each in a block that dominates everything emitted later.

use std::collections::HashMap;

use schism_llvm::{Block, Builder, ContextRef, IntPredicate, Opcode, Type, Value};

use super::plan::{Load, PAGE, Plan, VECTOR};
use crate::analysis::scev::{self, Emit};
use crate::bounds::conditions::Conditions;
use crate::ir::cfg::Cfg;
use crate::ir::clone;

/// Bytes that one load loads at most.
const VECTOR_BYTES: usize = 16;

/// More iterations than any loop worth it has: a strip more is a number of 32 bits with a sign,
/// too.
const TURNS: u64 = 1 << 30;

/// Makes the strips of a loop.
pub(crate) struct Emitter<'a, 'm> {
    cfg: &'a Cfg<'m>,
    plan: &'a Plan<'m>,
    builder: Builder<'m>,
    context: ContextRef<'m>,
    /// The block that is being made.
    block: Block<'m>,
    /// What values of an iteration are in each iteration of a strip.
    values: Vec<HashMap<Value<'m>, Value<'m>>>,
    /// What the phis of the header are in a strip.
    state: HashMap<Value<'m>, Value<'m>>,
    /// Which iterations of the strip exist; `None` for those that always do.
    active: Vec<Option<Value<'m>>>,
    /// How many iterations a strip makes, in 32 bits, the first of a first strip that are none
    /// among them.
    done: Value<'m>,
}

/// What the block before the loop has found out.
struct Start<'m> {
    /// Whether strips can be made.
    can: Value<'m>,
    /// How many iterations there are, in 32 bits.
    count: Value<'m>,
    /// How many iterations the first strip has before the first iteration, in 64 bits.
    place: Value<'m>,
}

impl<'m> Emitter<'_, 'm> {
    /// Puts strips before a loop. Returns the header of the loop that they are.
    pub(crate) fn apply(cfg: &Cfg<'m>, plan: &Plan<'m>) -> Block<'m> {
        let preheader = cfg.blocks[plan.of.preheader];
        let end = preheader.end();
        let function = preheader.function();
        let context = function.ty().context();
        let builder = Builder::new(context);
        let values = vec![HashMap::new(); plan.strip];
        let mut emitter = Emitter {
            cfg,
            plan,
            builder,
            context,
            block: preheader,
            values,
            state: HashMap::new(),
            active: Vec::new(),
            done: context.int_type(32).const_int(0, false),
        };
        let start = emitter.start(end);
        let strip = emitter.strips(&start);
        let old = cfg.blocks[plan.of.header];
        emitter.builder.position_before(end);
        emitter.builder.cond_br(start.can, strip, old);
        end.erase();
        strip
    }

    fn int(&self, bits: u32) -> Type<'m> {
        self.context.int_type(bits)
    }

    fn number(&self, bits: u32, value: i64) -> Value<'m> {
        self.int(bits).const_int(value as u64, true)
    }

    /// A new block behind the one that is being made, which is not being made yet.
    fn new_block(&self) -> Block<'m> {
        let function = self.block.function();
        let block = function.append_block("");
        block.move_after(self.block);
        block
    }

    fn go_on_in(&mut self, block: Block<'m>) {
        self.block = block;
        self.builder.position_at_end(block);
    }

    /// Makes what is known before the loop, before the end of the block before it.
    fn start(&mut self, end: Value<'m>) -> Start<'m> {
        let plan = self.plan;
        let mut emit = Emit::before(end);
        let mut conditions = Conditions { emit: &mut emit, all: None };
        let last = conditions.end(&plan.trip_count);
        for inner in &plan.trip_count.value.no_wrap {
            conditions.last(inner, last);
        }
        conditions.compare(IntPredicate::ULT, last, self.number(64, TURNS as i64));
        self.builder.position_before(end);
        let mut place = self.number(64, 0);
        if plan.vector {
            let firsts: HashMap<Value<'m>, Value<'m>> = plan
                .counters
                .keys()
                .filter_map(|&phi| Some((phi, phi.incoming(self.cfg.blocks[plan.of.preheader])?)))
                .collect();
            let mut first = true;
            for load in plan.loads.iter().filter(|load| load.is_consecutive()) {
                let address = self.address(load.instruction.operand(0), &firsts);
                let address = self.builder.ptrtoint(address, self.int(64));
                let address = self.builder.freeze(address);
                let inside = self.number(64, load.size * VECTOR as i64 - 1);
                let offset = self.builder.and(address, inside);
                let shift = self.number(64, i64::from(load.size.trailing_zeros()));
                if first {
                    place = self.builder.lshr(offset, shift);
                }
                let is_aligned = i64::from(load.instruction.alignment()) >= load.size;
                if !(first && is_aligned) {
                    let wanted = self.builder.shl(place, shift);
                    conditions.compare(IntPredicate::EQ, offset, wanted);
                }
                first = false;
            }
        }
        let can = conditions.all.expect("the iterations have a limit");
        let count = self.builder.trunc(last, self.int(32));
        let count = self.builder.add(count, self.number(32, 1));
        Start { can, count, place }
    }

    /// An address, computed once more of what counters are somewhere: of bits alone, so that it may
    /// lie outside of what is pointed to.
    fn address(&self, value: Value<'m>, counters: &HashMap<Value<'m>, Value<'m>>) -> Value<'m> {
        if let Some(&counter) = counters.get(&value) {
            return counter;
        }
        if !self.is_of_iteration(value) {
            return value;
        }
        let operands: Vec<Value<'m>> =
            value.operands().map(|operand| self.address(operand, counters)).collect();
        let (a, b) = (operands[0], operands[1]);
        match value.opcode() {
            Some(Opcode::Add | Opcode::Or) => self.builder.add(a, b),
            Some(Opcode::Sub) => self.builder.sub(a, b),
            Some(Opcode::Mul) => self.builder.mul(a, b),
            Some(Opcode::Shl) => self.builder.shl(a, b),
            _ => self.builder.gep(value.gep_source_type(), a, &[b]),
        }
    }

    /// A counter that has gone on.
    fn forward(&self, counter: Value<'m>, by: Value<'m>) -> Value<'m> {
        let ty = counter.ty();
        if scev::is_pointer(counter) {
            return self.builder.gep(self.int(8), counter, &[by]);
        }
        let by = self.builder.int_cast(by, ty, true);
        self.builder.add(counter, by)
    }

    /// `iterations * step`, for iterations of 64 bits.
    fn steps(&self, iterations: Value<'m>, step: i64) -> Value<'m> {
        self.builder.mul(iterations, self.number(64, step))
    }

    /// Makes the loop over strips. Returns its header.
    fn strips(&mut self, start: &Start<'m>) -> Block<'m> {
        let plan = self.plan;
        let block = |number: usize| self.cfg.blocks[number];
        let (preheader, old, out) =
            (block(plan.of.preheader), block(plan.of.header), block(plan.out));
        // The builder stands in the block before the loop: what counters are in iteration 0 of
        // the first strip.
        let back = self.builder.neg(start.place);
        let first_iteration = self.builder.trunc(back, self.int(32));
        let mut begins = Vec::new();
        for phi in old.phis() {
            let first = phi.incoming(preheader).expect("an edge from the preheader");
            begins.push(match plan.counters.get(&phi) {
                Some(&step) if plan.vector => self.forward(first, self.steps(back, step)),
                _ => first,
            });
        }

        let header = self.new_block();
        self.go_on_in(header);
        let phi_of = |ty: Type<'m>, first: Value<'m>| {
            let phi = self.builder.phi(ty);
            phi.add_incoming(first, preheader);
            phi
        };
        let iteration =
            phi_of(self.int(32), if plan.vector { first_iteration } else { start.count });
        let phis: Vec<(Value<'m>, Value<'m>)> = old
            .phis()
            .into_iter()
            .zip(&begins)
            .map(|(phi, &first)| (phi, phi_of(phi.ty(), first)))
            .collect();
        self.state = phis.iter().copied().collect();
        self.count_off(iteration, start.count);

        // The loads, and the checks.
        for load in plan.loads.iter().filter(|load| load.early) {
            self.load(load);
        }
        let yes = self.number(1, 1);
        let mut all = yes;
        for number in 0..plan.strip {
            for check in &plan.checks {
                let condition = self.value(number, check.condition);
                let passed = match check.passes {
                    true => condition,
                    false => self.builder.not(condition),
                };
                let passed = self.if_active(number, passed, yes);
                let no = self.number(1, 0);
                all = self.builder.select(all, passed, no);
            }
        }
        let (resume, rest) = (self.new_block(), self.new_block());
        self.builder.cond_br(all, rest, resume);

        // The loop as it was continues at the strip's first iteration.
        self.go_on_in(resume);
        let none = self.number(32, 0);
        let mut place = self.number(64, 0);
        if plan.vector {
            let before = self.builder.icmp(IntPredicate::SLT, iteration, none);
            let back = self.builder.neg(iteration);
            let back = self.builder.select(before, back, none);
            place = self.builder.zext(back, self.int(64));
        }
        for &(phi, now) in &phis {
            let now = match plan.counters.get(&phi) {
                Some(&step) if plan.vector => self.forward(now, self.steps(place, step)),
                _ => now,
            };
            phi.add_incoming(now, resume);
        }
        self.builder.br(old);

        // All iterations.
        self.go_on_in(rest);
        let (vector, scalar): (Vec<&Load>, Vec<&Load>) = plan
            .loads
            .iter()
            .filter(|load| !load.early)
            .partition(|load| plan.vector && load.is_consecutive());
        for load in vector.into_iter().chain(scalar) {
            self.load(load);
        }
        let nexts = self.iterations();

        // The next strip.
        let next_iteration = match plan.vector {
            true => self.builder.add(iteration, self.done),
            false => self.builder.sub(iteration, self.done),
        };
        let done = self.builder.zext(self.done, self.int(64));
        let mut edges = vec![(iteration, next_iteration)];
        for &(phi, now) in &phis {
            let next = match plan.counters.get(&phi) {
                Some(&step) => self.forward(now, self.steps(done, step)),
                None => nexts[&phi],
            };
            edges.push((now, next));
        }
        let ends: Vec<(Value<'m>, Value<'m>)> = out
            .phis()
            .into_iter()
            .map(|phi| {
                let last = phi.incoming(block(plan.of.latch)).expect("an edge of the loop");
                (phi, self.last(last, &nexts))
            })
            .collect();
        let more = match plan.vector {
            true => self.builder.icmp(IntPredicate::SLT, next_iteration, start.count),
            false => self.builder.icmp(IntPredicate::NE, next_iteration, none),
        };
        self.builder.cond_br(more, header, out);
        for (phi, value) in edges.into_iter().chain(ends) {
            phi.add_incoming(value, self.block);
        }
        // Back to where the block before the loop ends.
        self.block = preheader;
        header
    }

    /// Computes which iterations of a strip exist. `iteration` is the strip's first one if loads
    /// are vector loads, else how many iterations are left.
    fn count_off(&mut self, iteration: Value<'m>, count: Value<'m>) {
        let plan = self.plan;
        let ty = self.int(32);
        let int = |value: i64| ty.const_int(value as u64, true);
        if plan.vector {
            // Before the first iteration the number is negative, which is more than any
            // count.
            let active = |number: usize| {
                let this = self.builder.add(iteration, int(number as i64));
                Some(self.builder.icmp(IntPredicate::ULT, this, count))
            };
            self.active = (0..plan.strip).map(active).collect();
            self.done = int(plan.strip as i64);
            return;
        }
        let mut done = self.least(iteration, int(plan.strip as i64));
        for load in plan.loads.iter().filter(|load| load.early) {
            let stride = load.stride.expect("hoisted loads have a constant stride");
            let address = self.address(load.instruction.operand(0), &self.state);
            let address = self.builder.ptrtoint(address, self.int(64));
            let address = self.builder.trunc(address, self.int(32));
            let offset = self.builder.and(address, int(PAGE - 1));
            // How far it is to the last place in the page, or to the first.
            let mut room = offset;
            if stride > 0 {
                let last = int(PAGE - load.size);
                let inside = self.builder.icmp(IntPredicate::ULE, offset, last);
                room = self.builder.sub(last, offset);
                room = self.builder.select(inside, room, int(0));
            }
            let more = self.builder.udiv(room, int(stride.abs()));
            let iterations = self.builder.add(more, int(1));
            done = self.least(done, iterations);
        }
        let active = |number: usize| {
            let this = int(number as i64);
            (number > 0).then(|| self.builder.icmp(IntPredicate::ULT, this, done))
        };
        self.active = (0..plan.strip).map(active).collect();
        self.done = done;
    }

    /// The lesser of two numbers.
    fn least(&self, a: Value<'m>, b: Value<'m>) -> Value<'m> {
        let less = self.builder.icmp(IntPredicate::ULT, a, b);
        self.builder.select(less, a, b)
    }

    /// One value in an iteration that is one, and another in others.
    fn if_active(&self, number: usize, value: Value<'m>, other: Value<'m>) -> Value<'m> {
        match self.active[number] {
            Some(active) => self.builder.select(active, value, other),
            None => value,
        }
    }

    /// Whether a value is made in the loop as it was.
    fn is_of_iteration(&self, value: Value<'m>) -> bool {
        value.opcode().is_some_and(|_| {
            let block = self.cfg.index.get(&value.block());
            block.is_some_and(|block| self.plan.of.blocks.contains(block))
        })
    }

    /// What a value is in an iteration of the strip, computed here if it has not been before.
    fn value(&mut self, number: usize, value: Value<'m>) -> Value<'m> {
        if !self.is_of_iteration(value) {
            return value;
        }
        if let Some(&known) = self.values[number].get(&value) {
            return known;
        }
        let made = if let Some(&step) = self.plan.counters.get(&value) {
            let by = self.number(64, step.wrapping_mul(number as i64));
            self.forward(self.state[&value], by)
        } else {
            let operands: Vec<Value<'m>> =
                value.operands().map(|operand| self.value(number, operand)).collect();
            clone::insert_copy(&self.builder, value, &operands)
        };
        self.values[number].insert(value, made);
        made
    }

    /// Makes a load in all iterations of the strip.
    fn load(&mut self, load: &Load<'m>) {
        let plan = self.plan;
        let instruction = load.instruction;
        let address = instruction.operand(0);
        if plan.vector && load.is_consecutive() {
            let first = self.address(address, &self.state);
            return self.load_joined(load, first);
        }
        let addresses: Vec<Value<'m>> = match load.stride.filter(|_| load.early) {
            Some(stride) => {
                let first = self.address(address, &self.state);
                let by = |number: usize| self.number(64, stride * number as i64);
                (0..plan.strip).map(|number| self.forward(first, by(number))).collect()
            }
            None => (0..plan.strip).map(|number| self.value(number, address)).collect(),
        };
        for (number, address) in addresses.into_iter().enumerate() {
            let value = match self.active[number] {
                None => self.load_at(load, address),
                Some(active) => {
                    let before = self.block;
                    let next = self.new_block();
                    let here = self.new_block();
                    self.builder.cond_br(active, here, next);
                    self.go_on_in(here);
                    let loaded = self.load_at(load, address);
                    self.builder.br(next);
                    self.go_on_in(next);
                    let ty = instruction.ty();
                    let phi = self.builder.phi(ty);
                    // Checks look at what is loaded early. What an inactive iteration makes of
                    // the rest is not selected; a zero would be one more register for each
                    // iteration to set, and the device's compiler then asks for the elements
                    // later.
                    let none = if load.early { ty.zero() } else { ty.poison() };
                    phi.add_incoming(loaded, here);
                    phi.add_incoming(none, before);
                    phi
                }
            };
            self.values[number].insert(instruction, value);
        }
    }

    /// Makes a load of one iteration.
    fn load_at(&self, load: &Load<'m>, address: Value<'m>) -> Value<'m> {
        if load.early {
            let align = load.instruction.alignment();
            let ty = load.instruction.ty();
            return self.load_any(load, ty, address, align);
        }
        let clone = load.instruction.duplicate();
        self.builder.insert(clone);
        clone.set_operand(0, address);
        clone
    }

    /// Loads what may be no value of the program's: of what is known of a load, only what it does
    /// not overlap is kept.
    fn load_any(&self, load: &Load<'m>, ty: Type<'m>, address: Value<'m>, align: u32) -> Value<'m> {
        let value = self.builder.load(ty, address);
        value.set_alignment(align);
        for kind in ["alias.scope", "noalias"] {
            let kind = self.context.metadata_kind(kind);
            if let Some(known) = load.instruction.metadata(kind) {
                value.set_metadata(kind, known);
            }
        }
        value
    }

    /// Loads the elements of all iterations of a strip from an address that is a multiple of their
    /// size.
    fn load_joined(&mut self, load: &Load<'m>, first: Value<'m>) {
        let size = load.size as usize;
        let width = (VECTOR_BYTES / size).min(self.plan.strip);
        let ty = load.instruction.ty().vector(width as u32);
        for begin in (0..self.plan.strip).step_by(width) {
            let address = self.forward(first, self.number(64, (begin * size) as i64));
            let vector = self.load_any(load, ty, address, (width * size) as u32);
            for lane in 0..width {
                let index = self.number(32, lane as i64);
                let value = self.builder.extract_element(vector, index);
                self.values[begin + lane].insert(load.instruction, value);
            }
        }
    }

    /// What each iteration leaves to the next, in their order. Returns what the last one leaves.
    fn iterations(&mut self) -> HashMap<Value<'m>, Value<'m>> {
        let plan = self.plan;
        let latch = self.cfg.blocks[plan.of.latch];
        let mut now: HashMap<Value<'m>, Value<'m>> =
            plan.carried.iter().map(|&phi| (phi, self.state[&phi])).collect();
        for number in 0..plan.strip {
            self.values[number].extend(&now);
            for &phi in &plan.carried {
                let next = phi.incoming(latch).expect("an edge from the latch");
                let next = {
                    let next = self.value(number, next);
                    self.if_active(number, next, self.values[number][&phi])
                };
                now.insert(phi, next);
            }
        }
        now
    }

    /// What a value is in the last iteration.
    fn last(&mut self, value: Value<'m>, nexts: &HashMap<Value<'m>, Value<'m>>) -> Value<'m> {
        if !self.is_of_iteration(value) {
            return value;
        }
        let latch = self.cfg.blocks[self.plan.of.latch];
        let is_left = |phi: &&Value<'m>| (**phi).incoming(latch) == Some(value);
        if let Some(phi) = self.plan.carried.iter().find(is_left) {
            return nexts[phi];
        }
        let mut last = self.value(0, value);
        for number in 1..self.plan.strip {
            let this = self.value(number, value);
            last = self.if_active(number, this, last);
        }
        last
    }
}
