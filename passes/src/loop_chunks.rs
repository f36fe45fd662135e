//! Makes several turns of a loop at once, if a loop checks in every turn what it has loaded in it. For GPUs only.
//!
//! Before, in the form that LLVM's `loop-simplify` and `lcssa` make:
//! ```llvm
//! before:
//!   br label %turn
//! turn:
//!   %k = phi i64 [ %begin, %before ], [ %k.next, %inside ]
//!   %sum = phi float [ 0.0, %before ], [ %sum.next, %inside ]
//!   %column.at = getelementptr i32, ptr addrspace(1) %columns, i64 %k
//!   %column = load i32, ptr addrspace(1) %column.at
//!   %is.inside = icmp ult i32 %column, %len
//!   br i1 %is.inside, label %inside, label %panic
//! inside:
//!   %x.at = getelementptr float, ptr addrspace(1) %x, i32 %column
//!   ...                                              ; the element at %x.at, to %sum.next
//!   %k.next = add i64 %k, 1
//!   %more = icmp ult i64 %k.next, %end
//!   br i1 %more, label %turn, label %done
//! ```
//! After:
//! ```llvm
//! before:
//!   ...                                              ; how many turns there are, and the first one's place in its chunk
//!   br i1 %can, label %chunk, label %turn
//! chunk:                                             ; turns %first to %first + 7; of the first and the last chunk, not all are turns
//!   %first = phi i32 [ %place.negated, %before ], [ %first.next, %rest ]
//!   %columns.0 = load <4 x i32>, ptr addrspace(1) %chunk.at, align 16
//!   %columns.4 = load <4 x i32>, ptr addrspace(1) %chunk.at.4, align 16
//!   ...
//!   br i1 %all.inside, label %rest, label %one.by.one
//! rest:
//!   ...                                              ; the elements of %x for all turns, and then the sums in their order
//!   br i1 %more.chunks, label %chunk, label %done
//! one.by.one:                                        ; a check fails: the loop as it was, from the chunk's first turn on
//!   br label %turn
//! turn:
//!   ...
//! ```
//!
//! A load does not go past a branch, so in the loop as it was a GPU waits for one element before it asks for the next; and when it comes to
//! the next, other work-items have taken the cache. In a chunk the loads stand together.
//!
//! **What is loaded early** is what a turn loads before its first check, at addresses that go on by a constant.
//! - If each load goes on by the size of what it loads, chunks are as memory is divided: eight elements from an address that is a
//!   multiple of their size. The first chunk begins before the first turn, and the last one ends behind the last turn. In each
//!   there is an element that is loaded anyway, and nothing that is accessible to a GPU ends in the middle of such a chunk (its pages have 4 KiB at least).
//!   Loads that are in different places in their chunks leave the loop as it was.
//! - If not, a chunk has up to four turns: as many as there are in the pages of its first turn's loads.
//!
//! Memory that is not the program's could be read like that, but not seen: values that no turn has loaded are used by none. On a CPU this would
//! be seen by tools that watch memory, and loads would be split where GPUs join them.
//!
//! **Nothing else changes.** All other loads are made when all checks of the chunk have passed, each only if its turn is one. What comes
//! after the other in turns comes after the other here, so sums of floating-point numbers are the same. What panics does so in the loop as it was. Loops
//! that do anything but load and compute are left alone, and so are loops whose turns cannot be counted beforehand.

use std::collections::{HashMap, HashSet};

use inkwell::module::Module;
use inkwell::values::AsValueRef;
use llvm_sys::LLVMIntPredicate::*;
use llvm_sys::LLVMOpcode;
use llvm_sys::LLVMTypeKind::*;
use llvm_sys::core::*;
use llvm_sys::prelude::*;
use llvm_sys::target::{LLVMABISizeOfType, LLVMGetModuleDataLayout, LLVMSizeOfTypeInBits};

use crate::affine::{self, Emit, Step, Values};
use crate::graph::{Graph, Loop};
use crate::ir;
use crate::loop_checks::{self, Conditions, Turns};

/// How many turns a chunk has whose loads are joined: 32 bytes, which GPUs load at once, are eight numbers.
const JOINED: usize = 8;

/// How many turns another chunk has at most.
const APART: usize = 4;

/// How many instructions a loop may have.
const LOOP: usize = 60;

/// How many a function may grow by.
const GROWTH: usize = 4_000;

/// Bytes that are accessible together.
const PAGE: i64 = 4096;

/// Bytes that one load loads at most.
const VECTOR: usize = 16;

/// More turns than any loop worth it has; a chunk more is a number of 32 bits with a sign, too.
const TURNS: u64 = 1 << 30;

/// The number of global memory.
const GLOBAL: u32 = 1;

/// Runs the pass over the module, which is one for a GPU.
///
/// # Errors
/// LLVM's message, if its passes fail.
pub fn run(module: &Module<'_>) -> Result<(), String> {
    for function in module.get_functions() {
        // SAFETY: the function is one of the live module, which the caller holds.
        unsafe { run_on(function.as_value_ref()) }?;
    }
    Ok(())
}

/// Runs the pass over one function; a declaration has nothing to do.
///
/// # Errors
/// LLVM's message, if its passes fail.
///
/// # Safety
/// `function` is a function of a live module for a GPU, which nobody else changes meanwhile.
pub unsafe fn run_on(function: LLVMValueRef) -> Result<(), String> {
    // SAFETY: as promised by the caller; a function with a way back has blocks.
    unsafe {
        if !loop_checks::has_panics(function)
            || !loop_checks::returns(function)
            || !may_have_chunks(function)
        {
            return Ok(());
        }
        ir::run_llvm_passes_on(function, "loop-simplify,lcssa")?;
    }
    let mut done = HashSet::new();
    let mut growth = 0;
    loop {
        let graph = Graph::of(function);
        let found = graph.loops().into_iter().find_map(|one| {
            let is_new = one.innermost && done.insert(graph.blocks[one.header]);
            is_new.then(|| plan(&graph, &one)).flatten()
        });
        let Some(plan) = found else { return Ok(()) };
        growth += plan.chunk * plan.body.len();
        if growth > GROWTH {
            return Ok(());
        }
        // SAFETY: the plan was made of the function as it is.
        done.insert(unsafe { Maker::carry_out(&graph, &plan) });
    }
}

/// Whether some block loads from global memory, and ends in a check.
fn may_have_chunks(function: LLVMValueRef) -> bool {
    ir::blocks(function).into_iter().any(|block| {
        ir::successors(block).len() == 2
            && ir::instructions_of(block).into_iter().any(|instruction| {
                ir::opcode(instruction) == Some(LLVMOpcode::LLVMLoad) && is_global(instruction)
            })
    })
}

/// Whether a load is from global memory.
fn is_global(load: LLVMValueRef) -> bool {
    // SAFETY: a live load has an address.
    unsafe { LLVMGetPointerAddressSpace(LLVMTypeOf(LLVMGetOperand(load, 0))) == GLOBAL }
}

/// What is going to be done with a loop.
struct Plan {
    of: Loop,
    turns: Turns,
    /// How many turns a chunk has.
    chunk: usize,
    /// Whether loads are joined to vectors.
    joined: bool,
    /// The instructions of a turn in their order, without phis and branches.
    body: Vec<LLVMValueRef>,
    loads: Vec<Load>,
    checks: Vec<Check>,
    counters: Counters,
    /// The phis of the header that are no counters.
    carried: Vec<LLVMValueRef>,
    /// Where the loop ends.
    out: usize,
}

/// The phis of the header that change by a constant in each turn, and by how much.
type Counters = HashMap<LLVMValueRef, i64>;

struct Load {
    instruction: LLVMValueRef,
    /// Whether it comes before the first check, so that the first turn of a chunk makes it in any case.
    early: bool,
    /// By how many bytes its address goes on.
    stride: Option<i64>,
    /// How many bytes it loads.
    size: i64,
}

impl Load {
    /// Whether the elements of several turns can be loaded at once.
    fn is_consecutive(&self) -> bool {
        self.stride == Some(self.size) && is_global(self.instruction)
    }
}

/// The condition of a check, and whether the check is passed if it holds.
struct Check {
    condition: LLVMValueRef,
    passes: bool,
}

/// What a value of a turn is made of.
#[derive(Clone, Copy, Default)]
struct Origin {
    /// What is loaded early.
    early: bool,
    /// What is loaded when all checks have passed.
    late: bool,
    /// What the turn before has left.
    carried: bool,
}

/// Looks at a loop.
fn plan(graph: &Graph, of: &Loop) -> Option<Plan> {
    let chain = chain(graph, of)?;
    let mut values = Values::new(graph, of);
    let turns = loop_checks::turns(graph, of, &mut values, of.latch)?;
    let &out = graph.successors[of.latch].iter().find(|next| **next != of.header)?;
    let mut counters = Counters::new();
    let mut carried = Vec::new();
    let mut origins: HashMap<LLVMValueRef, Origin> = HashMap::new();
    for phi in ir::phis(graph.blocks[of.header]) {
        let step = values.affine(phi).and_then(|affine| match affine.step {
            Step::Up(size) => affine::known(&size).map(|size| size as i64),
            Step::Down(size) => affine::known(&size).map(|size| (size as i64).wrapping_neg()),
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
        for instruction in ir::instructions_of(graph.blocks[block]) {
            use LLVMOpcode::*;
            let opcode = ir::opcode(instruction)?;
            if matches!(opcode, LLVMPHI | LLVMBr) {
                continue;
            }
            if body.len() == LOOP || !loop_checks::is_closed(graph, of, instruction) {
                return None;
            }
            let mut origin = Origin::default();
            for from in ir::operands(instruction).filter_map(|operand| origins.get(&operand)) {
                origin.early |= from.early;
                origin.late |= from.late;
                origin.carried |= from.carried;
            }
            if opcode == LLVMLoad {
                let load = load(graph, of, &counters, instruction, checks.is_empty())?;
                if origin.carried {
                    return None;
                }
                origin = Origin { early: load.early, late: !load.early, carried: false };
                loads.push(load);
            } else if !is_computed(instruction) {
                return None;
            }
            origins.insert(instruction, origin);
            body.push(instruction);
        }
        if block != of.latch
            && let Some((condition, _, passes)) = loop_checks::exit(graph, of, block)
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
    let joined = loads.iter().all(|load| !load.early || load.is_consecutive());
    let chunk = if joined { JOINED } else { APART };
    Some(Plan { of: of.clone(), turns, chunk, joined, body, loads, checks, counters, carried, out })
}

/// The blocks of a loop in their order, if each turn goes through all of them, or leaves the loop to panic.
fn chain(graph: &Graph, of: &Loop) -> Option<Vec<usize>> {
    let mut chain = vec![of.header];
    let mut at = of.header;
    while at != of.latch {
        let next = graph.successors[at].iter().copied();
        let (inside, outside): (Vec<usize>, Vec<usize>) =
            next.partition(|next| of.blocks.contains(next));
        let &[next] = &inside[..] else { return None };
        let is_check =
            || loop_checks::exit(graph, of, at).is_some() && loop_checks::panics(graph, outside[0]);
        if next == of.header
            || graph.predecessors[next].len() != 1
            || !(outside.is_empty() || is_check())
        {
            return None;
        }
        chain.push(next);
        at = next;
    }
    let ends = loop_checks::exit(graph, of, of.latch).is_some();
    (ends && chain.len() == of.blocks.len()).then_some(chain)
}

/// What is known of a load, if it is one of a number and orders nothing.
fn load(
    graph: &Graph,
    of: &Loop,
    counters: &Counters,
    instruction: LLVMValueRef,
    early: bool,
) -> Option<Load> {
    // SAFETY: the instruction is a live load of a module.
    unsafe {
        if LLVMGetVolatile(instruction) != 0
            || LLVMGetOrdering(instruction)
                != llvm_sys::LLVMAtomicOrdering::LLVMAtomicOrderingNotAtomic
        {
            return None;
        }
        let ty = LLVMTypeOf(instruction);
        let module = LLVMGetGlobalParent(ir::parent_function(instruction));
        let bits = LLVMSizeOfTypeInBits(LLVMGetModuleDataLayout(module), ty);
        let is_number = matches!(
            LLVMGetTypeKind(ty),
            LLVMIntegerTypeKind | LLVMHalfTypeKind | LLVMFloatTypeKind | LLVMDoubleTypeKind
        ) && matches!(bits, 8 | 16 | 32 | 64);
        let size = i64::try_from(bits / 8).ok()?;
        let address = LLVMGetOperand(instruction, 0);
        let stride = stride(graph, of, counters, address).filter(|&stride| {
            is_number && stride != 0 && stride.unsigned_abs() <= PAGE as u64 / APART as u64
        });
        let early = early && stride.is_some() && is_global(instruction);
        Some(Load { instruction, early, stride, size })
    }
}

/// By how much a value, of which its bits count and no more, goes on from turn to turn; for an address, in bytes.
fn stride(graph: &Graph, of: &Loop, counters: &Counters, value: LLVMValueRef) -> Option<i64> {
    let stride = |value| stride(graph, of, counters, value);
    if let Some(&step) = counters.get(&value) {
        return Some(step);
    }
    if ir::opcode(value).is_none_or(|_| !of.blocks.contains(&graph.block_of(value))) {
        return Some(0);
    }
    // SAFETY: the value is an instruction of the loop; each opcode has the operands that are asked for, and numbers have up to 64 bits.
    unsafe {
        use LLVMOpcode::*;
        let ty = LLVMTypeOf(value);
        if LLVMGetTypeKind(ty) == LLVMIntegerTypeKind && LLVMGetIntTypeWidth(ty) != 64 {
            return None;
        }
        let operand = |index| LLVMGetOperand(value, index);
        let number = |value: LLVMValueRef| {
            (!LLVMIsAConstantInt(value).is_null()).then(|| LLVMConstIntGetSExtValue(value))
        };
        match ir::opcode(value)? {
            LLVMAdd => Some(stride(operand(0))?.wrapping_add(stride(operand(1))?)),
            LLVMOr if LLVMGetIsDisjoint(value) != 0 => {
                Some(stride(operand(0))?.wrapping_add(stride(operand(1))?))
            }
            LLVMSub => Some(stride(operand(0))?.wrapping_sub(stride(operand(1))?)),
            LLVMMul => Some(stride(operand(0))?.wrapping_mul(number(operand(1))?)),
            LLVMShl => {
                let by = u32::try_from(number(operand(1))?).ok().filter(|by| *by < 64)?;
                Some(stride(operand(0))?.wrapping_shl(by))
            }
            LLVMGetElementPtr if LLVMGetNumOperands(value) == 2 => {
                let module = LLVMGetGlobalParent(ir::parent_function(value));
                let layout = LLVMGetModuleDataLayout(module);
                let size = LLVMABISizeOfType(layout, LLVMGetGEPSourceElementType(value));
                let index = operand(1);
                if LLVMGetIntTypeWidth(LLVMTypeOf(index)) != 64 {
                    return None;
                }
                let by = stride(index)?.wrapping_mul(i64::try_from(size).ok()?);
                Some(stride(operand(0))?.wrapping_add(by))
            }
            _ => None,
        }
    }
}

/// Whether an instruction computes something of its operands, whatever they are.
fn is_computed(instruction: LLVMValueRef) -> bool {
    use LLVMOpcode::*;
    let is_known = ir::is_integer_arithmetic(instruction)
        || matches!(
            ir::opcode(instruction),
            Some(
                LLVMGetElementPtr
                    | LLVMIntToPtr
                    | LLVMAddrSpaceCast
                    | LLVMFreeze
                    | LLVMFAdd
                    | LLVMFSub
                    | LLVMFMul
                    | LLVMFDiv
                    | LLVMFNeg
                    | LLVMFCmp
                    | LLVMFPExt
                    | LLVMFPTrunc
                    | LLVMSIToFP
                    | LLVMUIToFP
                    | LLVMFPToSI
                    | LLVMFPToUI
                    | LLVMExtractValue
                    | LLVMInsertValue
            )
        );
    is_known
        || ir::callee(instruction).is_some_and(|callee| {
            ir::name_of(callee).starts_with("llvm.")
                && ir::has_function_attribute(callee, "speculatable")
                && !ir::has_function_attribute(callee, "convergent")
        })
}

/// Makes the chunks of a loop.
struct Maker<'a> {
    graph: &'a Graph,
    plan: &'a Plan,
    builder: LLVMBuilderRef,
    context: LLVMContextRef,
    /// The block that is being made.
    block: LLVMBasicBlockRef,
    /// What values of a turn are in each turn of a chunk.
    values: Vec<HashMap<LLVMValueRef, LLVMValueRef>>,
    /// What the phis of the header are in a chunk.
    state: HashMap<LLVMValueRef, LLVMValueRef>,
    /// Which turns of the chunk are turns; none is said of those that always are.
    active: Vec<Option<LLVMValueRef>>,
    /// How many turns a chunk makes, in 32 bits, the first of a first chunk that are none among them.
    done: LLVMValueRef,
}

const NAME: *const std::ffi::c_char = c"".as_ptr();

/// What the block in front of the loop has found out.
struct Start {
    /// Whether chunks can be made.
    can: LLVMValueRef,
    /// How many turns there are, in 32 bits.
    count: LLVMValueRef,
    /// How many turns the first chunk has in front of the first turn, in 64 bits.
    place: LLVMValueRef,
}

impl Maker<'_> {
    /// Puts chunks in front of a loop. Returns the header of the loop that they are.
    ///
    /// # Safety
    /// The plan is of the graph's function, which is as it was then.
    unsafe fn carry_out(graph: &Graph, plan: &Plan) -> LLVMBasicBlockRef {
        let preheader = graph.blocks[plan.of.preheader];
        // SAFETY: as promised by the caller. What is made in front of the loop is made of values that it uses, or of its phis' first
        // values. In a chunk, each value is made where it dominates all that is made later, but for loads, which have a phi.
        unsafe {
            let end = LLVMGetBasicBlockTerminator(preheader);
            let function = LLVMGetBasicBlockParent(preheader);
            let context = LLVMGetTypeContext(LLVMTypeOf(function));
            let builder = LLVMCreateBuilderInContext(context);
            let values = vec![HashMap::new(); plan.chunk];
            let mut maker = Maker {
                graph,
                plan,
                builder,
                context,
                block: preheader,
                values,
                state: HashMap::new(),
                active: Vec::new(),
                done: std::ptr::null_mut(),
            };
            let start = maker.start(end);
            let chunk = maker.chunks(&start);
            let old = graph.blocks[plan.of.header];
            LLVMPositionBuilderBefore(builder, end);
            LLVMBuildCondBr(builder, start.can, chunk, old);
            LLVMInstructionEraseFromParent(end);
            LLVMDisposeBuilder(builder);
            chunk
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
            let last = conditions.end(&plan.turns);
            for inner in &plan.turns.value.unwrapped {
                conditions.last(inner, last);
            }
            conditions.compare(LLVMIntULT, last, self.number(64, TURNS as i64));
            LLVMPositionBuilderBefore(self.builder, end);
            let mut place = self.number(64, 0);
            if plan.joined {
                let firsts: HashMap<LLVMValueRef, LLVMValueRef> = plan
                    .counters
                    .keys()
                    .filter_map(|&phi| {
                        Some((phi, ir::incoming(phi, self.graph.blocks[plan.of.preheader])?))
                    })
                    .collect();
                let mut first = true;
                for load in plan.loads.iter().filter(|load| load.is_consecutive()) {
                    let address = self.address(LLVMGetOperand(load.instruction, 0), &firsts);
                    let address = LLVMBuildPtrToInt(self.builder, address, self.int(64), NAME);
                    let address = LLVMBuildFreeze(self.builder, address, NAME);
                    let inside = self.number(64, load.size * JOINED as i64 - 1);
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
            let can = conditions.all.expect("the turns have a limit");
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
        if !self.is_of_turn(value) {
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
            if affine::is_pointer(counter) {
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

    /// `turns * step`, for turns of 64 bits.
    unsafe fn steps(&self, turns: LLVMValueRef, step: i64) -> LLVMValueRef {
        // SAFETY: as promised by the callers.
        unsafe { LLVMBuildMul(self.builder, turns, self.number(64, step), NAME) }
    }

    /// Makes the loop over chunks. Returns its header.
    unsafe fn chunks(&mut self, start: &Start) -> LLVMBasicBlockRef {
        let plan = self.plan;
        let block = |number: usize| self.graph.blocks[number];
        let (preheader, old, out) =
            (block(plan.of.preheader), block(plan.of.header), block(plan.out));
        // SAFETY: as promised by the caller; see `carry_out`.
        unsafe {
            // The builder stands in the block before the loop: what counters are in turn 0 of the first chunk.
            let back = LLVMBuildNeg(self.builder, start.place, NAME);
            let first_turn = LLVMBuildTrunc(self.builder, back, self.int(32), NAME);
            let mut begins = Vec::new();
            for phi in ir::phis(old) {
                let first = ir::incoming(phi, preheader).expect("an edge from the preheader");
                begins.push(match plan.counters.get(&phi) {
                    Some(&step) if plan.joined => self.forward(first, self.steps(back, step)),
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
            let turn = phi_of(self.int(32), first_turn);
            let phis: Vec<(LLVMValueRef, LLVMValueRef)> = ir::phis(old)
                .into_iter()
                .zip(&begins)
                .map(|(phi, &first)| (phi, phi_of(LLVMTypeOf(phi), first)))
                .collect();
            self.state = phis.iter().copied().collect();
            self.count_off(turn, start.count);

            // The loads, and the checks.
            for load in plan.loads.iter().filter(|load| load.early) {
                self.load(load);
            }
            let yes = self.number(1, 1);
            let mut all = yes;
            for number in 0..plan.chunk {
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

            // The loop as it was goes on at the chunk's first turn.
            self.go_on_in(resume);
            let none = self.number(32, 0);
            let before = LLVMBuildICmp(self.builder, LLVMIntSLT, turn, none, NAME);
            let place = LLVMBuildNeg(self.builder, turn, NAME);
            let place = LLVMBuildSelect(self.builder, before, place, none, NAME);
            let place = LLVMBuildZExt(self.builder, place, self.int(64), NAME);
            for &(phi, now) in &phis {
                let now = match plan.counters.get(&phi) {
                    Some(&step) if plan.joined => self.forward(now, self.steps(place, step)),
                    _ => now,
                };
                LLVMAddIncoming(phi, [now].as_mut_ptr(), [resume].as_mut_ptr(), 1);
            }
            LLVMBuildBr(self.builder, old);

            // All turns.
            self.go_on_in(rest);
            let (joined, apart): (Vec<&Load>, Vec<&Load>) = plan
                .loads
                .iter()
                .filter(|load| !load.early)
                .partition(|load| plan.joined && load.is_consecutive());
            for load in joined.into_iter().chain(apart) {
                self.load(load);
            }
            let nexts = self.turns();

            // The next chunk.
            let next_turn = LLVMBuildAdd(self.builder, turn, self.done, NAME);
            let done = LLVMBuildZExt(self.builder, self.done, self.int(64), NAME);
            let mut edges = vec![(turn, next_turn)];
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
            let more = LLVMBuildICmp(self.builder, LLVMIntSLT, next_turn, start.count, NAME);
            LLVMBuildCondBr(self.builder, more, header, out);
            for (phi, value) in edges.into_iter().chain(ends) {
                LLVMAddIncoming(phi, [value].as_mut_ptr(), [self.block].as_mut_ptr(), 1);
            }
            // Back to where the block before the loop ends.
            self.block = preheader;
            header
        }
    }

    /// Says which turns of a chunk are turns.
    unsafe fn count_off(&mut self, turn: LLVMValueRef, count: LLVMValueRef) {
        let plan = self.plan;
        let ty = self.int(32);
        // SAFETY: the type is an integer's.
        let int = |value: i64| unsafe { LLVMConstInt(ty, value as u64, 1) };
        // SAFETY: as promised by the caller: both numbers have 32 bits, and the builder stands in the header behind its phis.
        unsafe {
            if plan.joined {
                // In front of the first turn the number is negative, which is more than any count.
                let active = |number: usize| {
                    let this = LLVMBuildAdd(self.builder, turn, int(number as i64), NAME);
                    Some(LLVMBuildICmp(self.builder, LLVMIntULT, this, count, NAME))
                };
                self.active = (0..plan.chunk).map(active).collect();
                self.done = int(plan.chunk as i64);
                return;
            }
            let mut done = LLVMBuildSub(self.builder, count, turn, NAME);
            done = self.least(done, int(plan.chunk as i64));
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
                let turns = LLVMBuildAdd(self.builder, more, int(1), NAME);
                done = self.least(done, turns);
            }
            let active = |number: usize| {
                let this = int(number as i64);
                (number > 0).then(|| LLVMBuildICmp(self.builder, LLVMIntULT, this, done, NAME))
            };
            self.active = (0..plan.chunk).map(active).collect();
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

    /// One value in a turn that is one, and another in others.
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
    fn is_of_turn(&self, value: LLVMValueRef) -> bool {
        // SAFETY: an instruction that is asked stands in a block.
        ir::opcode(value).is_some_and(|_| unsafe {
            let block = self.graph.index.get(&LLVMGetInstructionParent(value));
            block.is_some_and(|block| self.plan.of.blocks.contains(block))
        })
    }

    /// What a value is in a turn of the chunk, computed here if it has not been before.
    unsafe fn value(&mut self, number: usize, value: LLVMValueRef) -> LLVMValueRef {
        if !self.is_of_turn(value) {
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
                let twin = LLVMInstructionClone(value);
                LLVMInsertIntoBuilder(self.builder, twin);
                for (operand, index) in operands.into_iter().zip(0..) {
                    LLVMSetOperand(twin, index, operand);
                }
                twin
            }
        };
        self.values[number].insert(value, made);
        made
    }

    /// Makes a load in all turns of the chunk.
    unsafe fn load(&mut self, load: &Load) {
        let plan = self.plan;
        let instruction = load.instruction;
        // SAFETY: as promised by the callers: all that the address is made of is there, and what is not early is made behind the checks.
        unsafe {
            let address = LLVMGetOperand(instruction, 0);
            if plan.joined && load.is_consecutive() {
                let first = self.address(address, &self.state);
                return self.load_joined(load, first);
            }
            let addresses: Vec<LLVMValueRef> = match load.stride.filter(|_| load.early) {
                Some(stride) => {
                    let first = self.address(address, &self.state);
                    let by = |number: usize| self.number(64, stride * number as i64);
                    (0..plan.chunk).map(|number| self.forward(first, by(number))).collect()
                }
                None => (0..plan.chunk).map(|number| self.value(number, address)).collect(),
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
                        let mut values = [loaded, LLVMGetPoison(ty)];
                        let mut blocks = [here, before];
                        LLVMAddIncoming(phi, values.as_mut_ptr(), blocks.as_mut_ptr(), 2);
                        phi
                    }
                };
                self.values[number].insert(instruction, value);
            }
        }
    }

    /// Makes a load of one turn.
    unsafe fn load_at(&self, load: &Load, address: LLVMValueRef) -> LLVMValueRef {
        // SAFETY: as promised by the callers: the address is one of what is loaded.
        unsafe {
            if load.early {
                let align = LLVMGetAlignment(load.instruction);
                let ty = LLVMTypeOf(load.instruction);
                return self.load_any(load, ty, address, align);
            }
            let twin = LLVMInstructionClone(load.instruction);
            LLVMInsertIntoBuilder(self.builder, twin);
            LLVMSetOperand(twin, 0, address);
            twin
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

    /// Loads the elements of all turns of a chunk from an address that is a multiple of their size.
    unsafe fn load_joined(&mut self, load: &Load, first: LLVMValueRef) {
        let size = load.size as usize;
        let width = (VECTOR / size).min(self.plan.chunk);
        // SAFETY: as promised by the callers; each element is one of the vector's.
        unsafe {
            let ty = LLVMVectorType(LLVMTypeOf(load.instruction), width as u32);
            for begin in (0..self.plan.chunk).step_by(width) {
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

    /// What each turn leaves to the next, in their order. Returns what the last one leaves.
    unsafe fn turns(&mut self) -> HashMap<LLVMValueRef, LLVMValueRef> {
        let plan = self.plan;
        let latch = self.graph.blocks[plan.of.latch];
        let mut now: HashMap<LLVMValueRef, LLVMValueRef> =
            plan.carried.iter().map(|&phi| (phi, self.state[&phi])).collect();
        for number in 0..plan.chunk {
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

    /// What a value is in the last turn.
    unsafe fn last(
        &mut self,
        value: LLVMValueRef,
        nexts: &HashMap<LLVMValueRef, LLVMValueRef>,
    ) -> LLVMValueRef {
        if !self.is_of_turn(value) {
            return value;
        }
        let latch = self.graph.blocks[self.plan.of.latch];
        let is_left = |phi: &&LLVMValueRef| ir::incoming(**phi, latch) == Some(value);
        if let Some(phi) = self.plan.carried.iter().find(is_left) {
            return nexts[phi];
        }
        // SAFETY: as promised by the caller: all turns are made.
        unsafe {
            let mut last = self.value(0, value);
            for number in 1..self.plan.chunk {
                let this = self.value(number, value);
                last = self.if_active(number, this, last);
            }
            last
        }
    }
}
