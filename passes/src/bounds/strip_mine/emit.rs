//! Emits the strips of a loop, as [`plan`](super::plan) describes them.
//!
//! A strip is one iteration of a new loop. [`Emitter`] makes the values of the original iterations
//! on demand, each in a block that dominates everything emitted later.

use std::collections::HashMap;

use llvm_sys::LLVMIntPredicate::*;
use llvm_sys::LLVMOpcode;
use llvm_sys::core::*;
use llvm_sys::prelude::*;

use super::plan::{Load, PAGE, Plan, VECTOR};
use crate::analysis::scev::{self, Emit};
use crate::bounds::conditions::Conditions;
use crate::ir;
use crate::ir::cfg::Cfg;

/// Bytes that one load loads at most.
const VECTOR_BYTES: usize = 16;

/// More iterations than any loop worth it has: a strip more is a number of 32 bits with a sign, too.
const TURNS: u64 = 1 << 30;

/// Makes the strips of a loop.
pub(crate) struct Emitter<'a> {
    cfg: &'a Cfg,
    plan: &'a Plan,
    builder: LLVMBuilderRef,
    context: LLVMContextRef,
    /// The block that is being made.
    block: LLVMBasicBlockRef,
    /// What values of an iteration are in each iteration of a strip.
    values: Vec<HashMap<LLVMValueRef, LLVMValueRef>>,
    /// What the phis of the header are in a strip.
    state: HashMap<LLVMValueRef, LLVMValueRef>,
    /// Which iterations of the strip exist; `None` for those that always do.
    active: Vec<Option<LLVMValueRef>>,
    /// How many iterations a strip makes, in 32 bits, the first of a first strip that are none among them.
    done: LLVMValueRef,
}

const NAME: *const std::ffi::c_char = c"".as_ptr();

/// What the block in front of the loop has found out.
struct Start {
    /// Whether strips can be made.
    can: LLVMValueRef,
    /// How many iterations there are, in 32 bits.
    count: LLVMValueRef,
    /// How many iterations the first strip has in front of the first iteration, in 64 bits.
    place: LLVMValueRef,
}

impl Emitter<'_> {
    /// Puts strips in front of a loop. Returns the header of the loop that they are.
    ///
    /// # Safety
    /// The plan is of the CFG's function, which is as it was then.
    pub(crate) unsafe fn apply(cfg: &Cfg, plan: &Plan) -> LLVMBasicBlockRef {
        let preheader = cfg.blocks[plan.of.preheader];
        // SAFETY: as promised by the caller. What is made in front of the loop is made of values that it uses, or of its phis' first
        // values. In a strip, each value is made where it dominates all that is made later, but for loads, which have a phi.
        unsafe {
            let end = LLVMGetBasicBlockTerminator(preheader);
            let function = LLVMGetBasicBlockParent(preheader);
            let context = LLVMGetTypeContext(LLVMTypeOf(function));
            let builder = LLVMCreateBuilderInContext(context);
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
                done: std::ptr::null_mut(),
            };
            let start = emitter.start(end);
            let strip = emitter.strips(&start);
            let old = cfg.blocks[plan.of.header];
            LLVMPositionBuilderBefore(builder, end);
            LLVMBuildCondBr(builder, start.can, strip, old);
            LLVMInstructionEraseFromParent(end);
            LLVMDisposeBuilder(builder);
            strip
        }
    }

    fn int(&self, bits: u32) -> LLVMTypeRef {
        // SAFETY: the context is live.
        unsafe { LLVMIntTypeInContext(self.context, bits) }
    }

    fn number(&self, bits: u32, value: i64) -> LLVMValueRef {
        // SAFETY: the type is an integer's.
        unsafe { LLVMConstInt(self.int(bits), value as u64, 1) }
    }

    /// A new block behind the one that is being made, which is not being made yet.
    unsafe fn new_block(&self) -> LLVMBasicBlockRef {
        // SAFETY: as promised by the callers: the current block is one of a live function.
        unsafe {
            let function = LLVMGetBasicBlockParent(self.block);
            let block = LLVMAppendBasicBlockInContext(self.context, function, NAME);
            LLVMMoveBasicBlockAfter(block, self.block);
            block
        }
    }

    unsafe fn go_on_in(&mut self, block: LLVMBasicBlockRef) {
        self.block = block;
        // SAFETY: as promised by the callers: the block is live.
        unsafe { LLVMPositionBuilderAtEnd(self.builder, block) };
    }

    /// Makes what is known before the loop, in front of the end of the block before it.
    unsafe fn start(&mut self, end: LLVMValueRef) -> Start {
        let plan = self.plan;
        // SAFETY: as promised by the caller; numbers that are combined have the same type.
        unsafe {
            let mut emit = Emit::before(end);
            let mut conditions = Conditions { emit: &mut emit, all: None };
            let last = conditions.end(&plan.trip_count);
            for inner in &plan.trip_count.value.no_wrap {
                conditions.last(inner, last);
            }
            conditions.compare(LLVMIntULT, last, self.number(64, TURNS as i64));
            LLVMPositionBuilderBefore(self.builder, end);
            let mut place = self.number(64, 0);
            if plan.vector {
                let firsts: HashMap<LLVMValueRef, LLVMValueRef> = plan
                    .counters
                    .keys()
                    .filter_map(|&phi| {
                        Some((phi, ir::incoming(phi, self.cfg.blocks[plan.of.preheader])?))
                    })
                    .collect();
                let mut first = true;
                for load in plan.loads.iter().filter(|load| load.is_consecutive()) {
                    let address = self.address(LLVMGetOperand(load.instruction, 0), &firsts);
                    let address = LLVMBuildPtrToInt(self.builder, address, self.int(64), NAME);
                    let address = LLVMBuildFreeze(self.builder, address, NAME);
                    let inside = self.number(64, load.size * VECTOR as i64 - 1);
                    let offset = LLVMBuildAnd(self.builder, address, inside, NAME);
                    let shift = self.number(64, i64::from(load.size.trailing_zeros()));
                    if first {
                        place = LLVMBuildLShr(self.builder, offset, shift, NAME);
                    }
                    let is_aligned = i64::from(LLVMGetAlignment(load.instruction)) >= load.size;
                    if !(first && is_aligned) {
                        let wanted = LLVMBuildShl(self.builder, place, shift, NAME);
                        conditions.compare(LLVMIntEQ, offset, wanted);
                    }
                    first = false;
                }
            }
            let can = conditions.all.expect("the iterations have a limit");
            let count = LLVMBuildTrunc(self.builder, last, self.int(32), NAME);
            let count = LLVMBuildAdd(self.builder, count, self.number(32, 1), NAME);
            Start { can, count, place }
        }
    }

    /// An address, computed once more of what counters are somewhere: of bits alone, so that it may lie outside of what is pointed to.
    unsafe fn address(
        &self,
        value: LLVMValueRef,
        counters: &HashMap<LLVMValueRef, LLVMValueRef>,
    ) -> LLVMValueRef {
        if let Some(&counter) = counters.get(&value) {
            return counter;
        }
        if !self.is_of_iteration(value) {
            return value;
        }
        // SAFETY: the value has a stride, so it is one of these instructions.
        unsafe {
            let operands: Vec<LLVMValueRef> =
                ir::operands(value).map(|operand| self.address(operand, counters)).collect();
            let (a, b) = (operands[0], operands[1]);
            use LLVMOpcode::*;
            match ir::opcode(value) {
                Some(LLVMAdd | LLVMOr) => LLVMBuildAdd(self.builder, a, b, NAME),
                Some(LLVMSub) => LLVMBuildSub(self.builder, a, b, NAME),
                Some(LLVMMul) => LLVMBuildMul(self.builder, a, b, NAME),
                Some(LLVMShl) => LLVMBuildShl(self.builder, a, b, NAME),
                _ => LLVMBuildGEP2(
                    self.builder,
                    LLVMGetGEPSourceElementType(value),
                    a,
                    [b].as_mut_ptr(),
                    1,
                    NAME,
                ),
            }
        }
    }

    /// A counter that has gone on.
    unsafe fn forward(&self, counter: LLVMValueRef, by: LLVMValueRef) -> LLVMValueRef {
        // SAFETY: as promised by the callers: the counter is an integer or a pointer, `by` an integer of 64 bits.
        unsafe {
            let ty = LLVMTypeOf(counter);
            if scev::is_pointer(counter) {
                return LLVMBuildGEP2(
                    self.builder,
                    self.int(8),
                    counter,
                    [by].as_mut_ptr(),
                    1,
                    NAME,
                );
            }
            let by = LLVMBuildIntCast2(self.builder, by, ty, 1, NAME);
            LLVMBuildAdd(self.builder, counter, by, NAME)
        }
    }

    /// `iterations * step`, for iterations of 64 bits.
    unsafe fn steps(&self, iterations: LLVMValueRef, step: i64) -> LLVMValueRef {
        // SAFETY: as promised by the callers.
        unsafe { LLVMBuildMul(self.builder, iterations, self.number(64, step), NAME) }
    }

    /// Makes the loop over strips. Returns its header.
    unsafe fn strips(&mut self, start: &Start) -> LLVMBasicBlockRef {
        let plan = self.plan;
        let block = |number: usize| self.cfg.blocks[number];
        let (preheader, old, out) =
            (block(plan.of.preheader), block(plan.of.header), block(plan.out));
        // SAFETY: as promised by the caller; see `apply`.
        unsafe {
            // The builder stands in the block before the loop: what counters are in iteration 0 of the first strip.
            let back = LLVMBuildNeg(self.builder, start.place, NAME);
            let first_iteration = LLVMBuildTrunc(self.builder, back, self.int(32), NAME);
            let mut begins = Vec::new();
            for phi in ir::phis(old) {
                let first = ir::incoming(phi, preheader).expect("an edge from the preheader");
                begins.push(match plan.counters.get(&phi) {
                    Some(&step) if plan.vector => self.forward(first, self.steps(back, step)),
                    _ => first,
                });
            }

            let header = self.new_block();
            self.go_on_in(header);
            let phi_of = |ty: LLVMTypeRef, first: LLVMValueRef| {
                let phi = LLVMBuildPhi(self.builder, ty, NAME);
                LLVMAddIncoming(phi, [first].as_mut_ptr(), [preheader].as_mut_ptr(), 1);
                phi
            };
            let iteration =
                phi_of(self.int(32), if plan.vector { first_iteration } else { start.count });
            let phis: Vec<(LLVMValueRef, LLVMValueRef)> = ir::phis(old)
                .into_iter()
                .zip(&begins)
                .map(|(phi, &first)| (phi, phi_of(LLVMTypeOf(phi), first)))
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
                        false => LLVMBuildNot(self.builder, condition, NAME),
                    };
                    let passed = self.if_active(number, passed, yes);
                    let no = self.number(1, 0);
                    all = LLVMBuildSelect(self.builder, all, passed, no, NAME);
                }
            }
            let (resume, rest) = (self.new_block(), self.new_block());
            LLVMBuildCondBr(self.builder, all, rest, resume);

            // The loop as it was goes on at the strip's first iteration.
            self.go_on_in(resume);
            let none = self.number(32, 0);
            let mut place = self.number(64, 0);
            if plan.vector {
                let before = LLVMBuildICmp(self.builder, LLVMIntSLT, iteration, none, NAME);
                let back = LLVMBuildNeg(self.builder, iteration, NAME);
                let back = LLVMBuildSelect(self.builder, before, back, none, NAME);
                place = LLVMBuildZExt(self.builder, back, self.int(64), NAME);
            }
            for &(phi, now) in &phis {
                let now = match plan.counters.get(&phi) {
                    Some(&step) if plan.vector => self.forward(now, self.steps(place, step)),
                    _ => now,
                };
                LLVMAddIncoming(phi, [now].as_mut_ptr(), [resume].as_mut_ptr(), 1);
            }
            LLVMBuildBr(self.builder, old);

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
                true => LLVMBuildAdd(self.builder, iteration, self.done, NAME),
                false => LLVMBuildSub(self.builder, iteration, self.done, NAME),
            };
            let done = LLVMBuildZExt(self.builder, self.done, self.int(64), NAME);
            let mut edges = vec![(iteration, next_iteration)];
            for &(phi, now) in &phis {
                let next = match plan.counters.get(&phi) {
                    Some(&step) => self.forward(now, self.steps(done, step)),
                    None => nexts[&phi],
                };
                edges.push((now, next));
            }
            let ends: Vec<(LLVMValueRef, LLVMValueRef)> = ir::phis(out)
                .into_iter()
                .map(|phi| {
                    let last =
                        ir::incoming(phi, block(plan.of.latch)).expect("an edge of the loop");
                    (phi, self.last(last, &nexts))
                })
                .collect();
            let more = match plan.vector {
                true => LLVMBuildICmp(self.builder, LLVMIntSLT, next_iteration, start.count, NAME),
                false => LLVMBuildICmp(self.builder, LLVMIntNE, next_iteration, none, NAME),
            };
            LLVMBuildCondBr(self.builder, more, header, out);
            for (phi, value) in edges.into_iter().chain(ends) {
                LLVMAddIncoming(phi, [value].as_mut_ptr(), [self.block].as_mut_ptr(), 1);
            }
            // Back to where the block before the loop ends.
            self.block = preheader;
            header
        }
    }

    /// Computes which iterations of a strip exist. `iteration` is the strip's first one if loads are vector loads, else how many iterations are left.
    unsafe fn count_off(&mut self, iteration: LLVMValueRef, count: LLVMValueRef) {
        let plan = self.plan;
        let ty = self.int(32);
        // SAFETY: the type is an integer's.
        let int = |value: i64| unsafe { LLVMConstInt(ty, value as u64, 1) };
        // SAFETY: as promised by the caller: both numbers have 32 bits, and the builder stands in the header behind its phis.
        unsafe {
            if plan.vector {
                // In front of the first iteration the number is negative, which is more than any count.
                let active = |number: usize| {
                    let this = LLVMBuildAdd(self.builder, iteration, int(number as i64), NAME);
                    Some(LLVMBuildICmp(self.builder, LLVMIntULT, this, count, NAME))
                };
                self.active = (0..plan.strip).map(active).collect();
                self.done = int(plan.strip as i64);
                return;
            }
            let mut done = self.least(iteration, int(plan.strip as i64));
            for load in plan.loads.iter().filter(|load| load.early) {
                let stride = load.stride.expect("early loads go on by a constant");
                let address = self.address(LLVMGetOperand(load.instruction, 0), &self.state);
                let address = LLVMBuildPtrToInt(self.builder, address, self.int(64), NAME);
                let address = LLVMBuildTrunc(self.builder, address, self.int(32), NAME);
                let offset = LLVMBuildAnd(self.builder, address, int(PAGE - 1), NAME);
                // How far it is to the last place in the page, or to the first.
                let mut room = offset;
                if stride > 0 {
                    let last = int(PAGE - load.size);
                    let inside = LLVMBuildICmp(self.builder, LLVMIntULE, offset, last, NAME);
                    room = LLVMBuildSub(self.builder, last, offset, NAME);
                    room = LLVMBuildSelect(self.builder, inside, room, int(0), NAME);
                }
                let more = LLVMBuildUDiv(self.builder, room, int(stride.abs()), NAME);
                let iterations = LLVMBuildAdd(self.builder, more, int(1), NAME);
                done = self.least(done, iterations);
            }
            let active = |number: usize| {
                let this = int(number as i64);
                (number > 0).then(|| LLVMBuildICmp(self.builder, LLVMIntULT, this, done, NAME))
            };
            self.active = (0..plan.strip).map(active).collect();
            self.done = done;
        }
    }

    /// The lesser of two numbers.
    unsafe fn least(&self, a: LLVMValueRef, b: LLVMValueRef) -> LLVMValueRef {
        // SAFETY: as promised by the callers: both have the same type.
        unsafe {
            let less = LLVMBuildICmp(self.builder, LLVMIntULT, a, b, NAME);
            LLVMBuildSelect(self.builder, less, a, b, NAME)
        }
    }

    /// One value in an iteration that is one, and another in others.
    unsafe fn if_active(
        &self,
        number: usize,
        value: LLVMValueRef,
        other: LLVMValueRef,
    ) -> LLVMValueRef {
        match self.active[number] {
            // SAFETY: as promised by the callers: both have the same type.
            Some(active) => unsafe { LLVMBuildSelect(self.builder, active, value, other, NAME) },
            None => value,
        }
    }

    /// Whether a value is made in the loop as it was.
    fn is_of_iteration(&self, value: LLVMValueRef) -> bool {
        // SAFETY: an instruction that is asked stands in a block.
        ir::opcode(value).is_some_and(|_| unsafe {
            let block = self.cfg.index.get(&LLVMGetInstructionParent(value));
            block.is_some_and(|block| self.plan.of.blocks.contains(block))
        })
    }

    /// What a value is in an iteration of the strip, computed here if it has not been before.
    unsafe fn value(&mut self, number: usize, value: LLVMValueRef) -> LLVMValueRef {
        if !self.is_of_iteration(value) {
            return value;
        }
        if let Some(&known) = self.values[number].get(&value) {
            return known;
        }
        // SAFETY: as promised by the callers: loads are made before what uses them, and so are the phis that are no counters. The copy
        // stands behind all that it is made of.
        let made = unsafe {
            if let Some(&step) = self.plan.counters.get(&value) {
                let by = self.number(64, step.wrapping_mul(number as i64));
                self.forward(self.state[&value], by)
            } else {
                let operands: Vec<LLVMValueRef> =
                    ir::operands(value).map(|operand| self.value(number, operand)).collect();
                let clone = LLVMInstructionClone(value);
                LLVMInsertIntoBuilder(self.builder, clone);
                for (operand, index) in operands.into_iter().zip(0..) {
                    LLVMSetOperand(clone, index, operand);
                }
                clone
            }
        };
        self.values[number].insert(value, made);
        made
    }

    /// Makes a load in all iterations of the strip.
    unsafe fn load(&mut self, load: &Load) {
        let plan = self.plan;
        let instruction = load.instruction;
        // SAFETY: as promised by the callers: all that the address is made of is there, and what is not early is made behind the checks.
        unsafe {
            let address = LLVMGetOperand(instruction, 0);
            if plan.vector && load.is_consecutive() {
                let first = self.address(address, &self.state);
                return self.load_joined(load, first);
            }
            let addresses: Vec<LLVMValueRef> = match load.stride.filter(|_| load.early) {
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
                        LLVMBuildCondBr(self.builder, active, here, next);
                        self.go_on_in(here);
                        let loaded = self.load_at(load, address);
                        LLVMBuildBr(self.builder, next);
                        self.go_on_in(next);
                        let ty = LLVMTypeOf(instruction);
                        let phi = LLVMBuildPhi(self.builder, ty, NAME);
                        // Checks look at what is loaded early. What an inactive iteration makes of the rest is not selected; a zero would be
                        // one more register for each iteration to set, and the device's compiler then asks for the elements later.
                        let none = if load.early { LLVMConstNull(ty) } else { LLVMGetPoison(ty) };
                        let mut values = [loaded, none];
                        let mut blocks = [here, before];
                        LLVMAddIncoming(phi, values.as_mut_ptr(), blocks.as_mut_ptr(), 2);
                        phi
                    }
                };
                self.values[number].insert(instruction, value);
            }
        }
    }

    /// Makes a load of one iteration.
    unsafe fn load_at(&self, load: &Load, address: LLVMValueRef) -> LLVMValueRef {
        // SAFETY: as promised by the callers: the address is one of what is loaded.
        unsafe {
            if load.early {
                let align = LLVMGetAlignment(load.instruction);
                let ty = LLVMTypeOf(load.instruction);
                return self.load_any(load, ty, address, align);
            }
            let clone = LLVMInstructionClone(load.instruction);
            LLVMInsertIntoBuilder(self.builder, clone);
            LLVMSetOperand(clone, 0, address);
            clone
        }
    }

    /// Loads what may be no value of the program's: of what is known of a load, only what it does not overlap is kept.
    unsafe fn load_any(
        &self,
        load: &Load,
        ty: LLVMTypeRef,
        address: LLVMValueRef,
        align: u32,
    ) -> LLVMValueRef {
        // SAFETY: as promised by the callers: the address is one of the type's values in accessible memory.
        unsafe {
            let value = LLVMBuildLoad2(self.builder, ty, address, NAME);
            LLVMSetAlignment(value, align);
            for kind in ["alias.scope", "noalias"] {
                let kind =
                    LLVMGetMDKindIDInContext(self.context, kind.as_ptr().cast(), kind.len() as u32);
                let known = LLVMGetMetadata(load.instruction, kind);
                if !known.is_null() {
                    LLVMSetMetadata(value, kind, known);
                }
            }
            value
        }
    }

    /// Loads the elements of all iterations of a strip from an address that is a multiple of their size.
    unsafe fn load_joined(&mut self, load: &Load, first: LLVMValueRef) {
        let size = load.size as usize;
        let width = (VECTOR_BYTES / size).min(self.plan.strip);
        // SAFETY: as promised by the callers; each element is one of the vector's.
        unsafe {
            let ty = LLVMVectorType(LLVMTypeOf(load.instruction), width as u32);
            for begin in (0..self.plan.strip).step_by(width) {
                let address = self.forward(first, self.number(64, (begin * size) as i64));
                let vector = self.load_any(load, ty, address, (width * size) as u32);
                for lane in 0..width {
                    let index = self.number(32, lane as i64);
                    let value = LLVMBuildExtractElement(self.builder, vector, index, NAME);
                    self.values[begin + lane].insert(load.instruction, value);
                }
            }
        }
    }

    /// What each iteration leaves to the next, in their order. Returns what the last one leaves.
    unsafe fn iterations(&mut self) -> HashMap<LLVMValueRef, LLVMValueRef> {
        let plan = self.plan;
        let latch = self.cfg.blocks[plan.of.latch];
        let mut now: HashMap<LLVMValueRef, LLVMValueRef> =
            plan.carried.iter().map(|&phi| (phi, self.state[&phi])).collect();
        for number in 0..plan.strip {
            self.values[number].extend(&now);
            for &phi in &plan.carried {
                let next = ir::incoming(phi, latch).expect("an edge from the latch");
                // SAFETY: as promised by the caller: all loads are made; the value is of the phi's type.
                let next = unsafe {
                    let next = self.value(number, next);
                    self.if_active(number, next, self.values[number][&phi])
                };
                now.insert(phi, next);
            }
        }
        now
    }

    /// What a value is in the last iteration.
    unsafe fn last(
        &mut self,
        value: LLVMValueRef,
        nexts: &HashMap<LLVMValueRef, LLVMValueRef>,
    ) -> LLVMValueRef {
        if !self.is_of_iteration(value) {
            return value;
        }
        let latch = self.cfg.blocks[self.plan.of.latch];
        let is_left = |phi: &&LLVMValueRef| ir::incoming(**phi, latch) == Some(value);
        if let Some(phi) = self.plan.carried.iter().find(is_left) {
            return nexts[phi];
        }
        // SAFETY: as promised by the caller: all iterations are made.
        unsafe {
            let mut last = self.value(0, value);
            for number in 1..self.plan.strip {
                let this = self.value(number, value);
                last = self.if_active(number, this, last);
            }
            last
        }
    }
}
