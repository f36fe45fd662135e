//! Turns relaxed atomic loads of work-group memory into plain loads where no store is possible in
//! the same barrier interval. Runs in stage 2, for GPUs, before optimisation.
//!
//! Before:
//! ```llvm
//!   store atomic i32 %x, ptr addrspace(3) %mine syncscope("device") monotonic, align 4
//!   call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
//!   %a = load atomic i32, ptr addrspace(3) %first syncscope("device") monotonic, align 4
//!   %b = load atomic i32, ptr addrspace(3) %second syncscope("device") monotonic, align 4
//! ```
//! After:
//! ```llvm
//!   store atomic i32 %x, ptr addrspace(3) %mine syncscope("device") monotonic, align 4
//!   call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
//!   %a = load i32, ptr addrspace(3) %first, align 4
//!   %b = load i32, ptr addrspace(3) %second, align 4
//! ```
//!
//! Elements of work-group memory are atomic, since any work-item may store to them at any time.
//! LLVM and NVIDIA's assembler keep atomic loads nearly in their order. Plain loads can be
//! combined, and be in flight together.
//!
//! **Intervals.** All work-items of a group reach the same barriers, so execution is a sequence of
//! barrier intervals, each of which begins after one barrier (or at the entry) and ends in front of
//! the next. What two work-items do at the same time, they do in the same phase: behind the same
//! barrier of the code. So a load is alone if no store can be reached from any barrier that the
//! load can be reached from, without another barrier on the way. Work-items that panic leave the
//! group for good: what they stored was before the barrier that the others wait at.
//!
//! Only kernels that call nothing but operations of LLVM's, and panics, are looked at: their
//! barriers and stores are all in sight.

use std::collections::{BTreeSet, HashMap};

use inkwell::module::Module;
use llvm_sys::core::*;
use llvm_sys::prelude::*;
use llvm_sys::{LLVMAtomicOrdering, LLVMOpcode};

use crate::gpu::demote_private_atomics::make_plain;
use crate::gpu::merge_panic_exits;
use crate::ir;
use crate::ir::cfg::Cfg;
use crate::spec::target::{NVPTX, PTX_KERNEL};

/// The barrier of a whole group. What is not known as one only makes phases longer.
const BARRIER: &str = "llvm.nvvm.barrier.cta.sync.aligned.all";

/// The address space of the group's memory, and that of what may be any memory.
const SHARED: u32 = NVPTX.local;
const GENERIC: u32 = 0;

/// Runs the pass over the module.
pub fn run(module: &Module<'_>) {
    ir::on_each_function(module, run_on);
}

/// Runs the pass over one function; a declaration has nothing to do.
///
/// # Safety
/// `function` is a function of a live module that nobody else changes meanwhile.
pub unsafe fn run_on(function: LLVMValueRef) {
    // What a function that kernels call is beside, only they know.
    // SAFETY: as promised by the caller.
    let is_kernel = unsafe { LLVMGetFunctionCallConv(function) } == PTX_KERNEL;
    if !is_kernel || !ir::instructions(function).into_iter().any(is_relaxed_load) {
        return;
    }
    let cfg = Cfg::of(function);
    let Some(phases) = Phases::of(&cfg) else { return };
    let stores = phases.of_each(&cfg, |one| what(one) == What::Store);
    let noisy: BTreeSet<usize> = stores.into_iter().flat_map(|(_, phases)| phases).collect();
    for (load, phases) in phases.of_each(&cfg, is_relaxed_load) {
        if phases.is_disjoint(&noisy) {
            // SAFETY: the load is a live one; nobody stores to what it loads, as shown.
            unsafe { make_plain(load) };
        }
    }
}

/// Whether an instruction loads from the group's memory, at any time that suits.
fn is_relaxed_load(instruction: LLVMValueRef) -> bool {
    // SAFETY: a live instruction; only a load is asked for its ordering.
    unsafe {
        ir::is_load_from(instruction, SHARED)
            && LLVMGetVolatile(instruction) == 0
            && matches!(
                LLVMGetOrdering(instruction),
                LLVMAtomicOrdering::LLVMAtomicOrderingMonotonic
                    | LLVMAtomicOrdering::LLVMAtomicOrderingUnordered
            )
    }
}

/// What an instruction is to the group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum What {
    /// All wait for all.
    Barrier,
    /// It may change the group's memory.
    Store,
    /// Nothing is known of it.
    Unknown,
    /// It changes nothing for others.
    Nothing,
}

fn what(instruction: LLVMValueRef) -> What {
    use LLVMOpcode::*;
    // SAFETY: a live instruction, which has the operands of its kind.
    let at = |index| unsafe { LLVMGetOperand(instruction, index) };
    let stores = |is_so: bool| if is_so { What::Store } else { What::Nothing };
    match ir::opcode(instruction) {
        Some(LLVMStore) => stores(may_be_shared(at(1))),
        Some(LLVMAtomicRMW | LLVMAtomicCmpXchg) => stores(may_be_shared(at(0))),
        Some(LLVMCall) => {
            let Some(callee) = ir::callee(instruction) else { return What::Unknown };
            let name = ir::name_of(callee);
            // SAFETY: any function may be asked for the number of its intrinsic, and for its blocks.
            let (is_operation, is_declared) =
                unsafe { (LLVMGetIntrinsicID(callee) != 0, LLVMCountBasicBlocks(callee) == 0) };
            if name == BARRIER {
                What::Barrier
            } else if is_operation {
                // It stores only to what it is given the address of.
                stores(ir::operands(instruction).any(may_be_shared))
            } else if is_declared && merge_panic_exits::words_of(&name).is_some() {
                What::Nothing
            } else {
                What::Unknown
            }
        }
        Some(LLVMInvoke | LLVMCallBr) => What::Unknown,
        _ => What::Nothing,
    }
}

/// Whether a value is an address that may be one in the group's memory.
fn may_be_shared(value: LLVMValueRef) -> bool {
    let mut at = value;
    loop {
        // SAFETY: any live value may be asked what it is; an instruction or a constant expression of these kinds has a pointer.
        at = unsafe {
            match ir::address_space(at) {
                Some(SHARED) => return true,
                Some(GENERIC) if !LLVMIsAFunction(at).is_null() => return false,
                Some(GENERIC) => {}
                _ => return false,
            }
            if LLVMIsAInstruction(at).is_null() && LLVMIsAConstantExpr(at).is_null() {
                return LLVMIsAConstant(at).is_null();
            }
            let opcode = match LLVMIsAInstruction(at).is_null() {
                true => LLVMGetConstOpcode(at),
                false => LLVMGetInstructionOpcode(at),
            };
            match opcode {
                LLVMOpcode::LLVMAlloca => return false,
                LLVMOpcode::LLVMGetElementPtr | LLVMOpcode::LLVMAddrSpaceCast => {
                    LLVMGetOperand(at, 0)
                }
                _ => return true,
            }
        };
    }
}

/// The barriers from which each block is reachable without another barrier on the path. The entry counts as one: number 0.
struct Phases {
    begins: Vec<BTreeSet<usize>>,
    /// The numbers of the barriers.
    barriers: HashMap<LLVMValueRef, usize>,
}

impl Phases {
    /// Of a function all of whose barriers and stores are in sight; of others none.
    fn of(cfg: &Cfg) -> Option<Self> {
        let mut barriers = HashMap::new();
        for instruction in cfg.blocks.iter().flat_map(|&block| ir::instructions_of(block)) {
            match what(instruction) {
                What::Barrier => drop(barriers.insert(instruction, barriers.len() + 1)),
                What::Unknown => return None,
                What::Store | What::Nothing => {}
            }
        }
        let mut begins = vec![BTreeSet::new(); cfg.blocks.len()];
        begins[0].insert(0);
        let mut phases = Phases { begins, barriers };
        let mut open = vec![0];
        while let Some(block) = open.pop() {
            let mut end = phases.begins[block].clone();
            for instruction in ir::instructions_of(cfg.blocks[block]) {
                phases.pass(instruction, &mut end);
            }
            for &next in &cfg.successors[block] {
                let before = phases.begins[next].len();
                phases.begins[next].extend(&end);
                if phases.begins[next].len() > before {
                    open.push(next);
                }
            }
        }
        Some(phases)
    }

    /// Goes past an instruction.
    fn pass(&self, instruction: LLVMValueRef, phases: &mut BTreeSet<usize>) {
        if let Some(&barrier) = self.barriers.get(&instruction) {
            *phases = BTreeSet::from([barrier]);
        }
    }

    /// The phases of each instruction of a kind.
    fn of_each(
        &self,
        cfg: &Cfg,
        is_one: impl Fn(LLVMValueRef) -> bool,
    ) -> Vec<(LLVMValueRef, BTreeSet<usize>)> {
        let mut found = Vec::new();
        for (&block, begin) in cfg.blocks.iter().zip(&self.begins) {
            let mut phases = begin.clone();
            for instruction in ir::instructions_of(block) {
                if is_one(instruction) {
                    found.push((instruction, phases.clone()));
                }
                self.pass(instruction, &mut phases);
            }
        }
        found
    }
}
