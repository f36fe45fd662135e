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
//! barrier intervals, each of which begins after one barrier (or at the entry) and ends before
//! the next. What two work-items do at the same time, they do in the same phase: behind the same
//! barrier of the code. So a load is alone if no store can be reached from any barrier that the
//! load can be reached from, without another barrier on the way. Work-items that panic leave the
//! group for good: what they stored was before the barrier that the others wait at.
//!
//! Only kernels that call nothing but operations of LLVM's, and panics, are looked at: their
//! barriers and stores are all in sight.

use std::collections::{BTreeSet, HashMap};

use schism_llvm::{AtomicOrdering, Opcode, Value};

use crate::gpu::demote_private_atomics::make_plain;
use crate::gpu::merge_panic_exits;
use crate::ir::cfg::Cfg;
use crate::spec::target::{GROUP_BARRIER, NVPTX, PTX_KERNEL};

/// The address space of the group's memory, and that of what may be any memory.
const SHARED: u32 = NVPTX.local;
const GENERIC: u32 = 0;

/// Runs the pass over a function with a body.
pub fn run(function: Value<'_>) {
    // What a function that kernels call is beside, only they know.
    let is_kernel = function.call_conv() == PTX_KERNEL;
    if !is_kernel || !function.instructions().into_iter().any(is_relaxed_load) {
        return;
    }
    let cfg = Cfg::of(function);
    let Some(phases) = Phases::of(&cfg) else { return };
    let stores = phases.of_each(&cfg, |one| what(one) == What::Store);
    let noisy: BTreeSet<usize> = stores.into_iter().flat_map(|(_, phases)| phases).collect();
    for (load, phases) in phases.of_each(&cfg, is_relaxed_load) {
        if phases.is_disjoint(&noisy) {
            make_plain(load);
        }
    }
}

/// Whether an instruction loads from the group's memory, at any time that suits.
fn is_relaxed_load(instruction: Value<'_>) -> bool {
    instruction.is_load_from(SHARED)
        && !instruction.is_volatile()
        && matches!(instruction.ordering(), AtomicOrdering::Monotonic | AtomicOrdering::Unordered)
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

fn what(instruction: Value<'_>) -> What {
    let at = |index| instruction.operand(index);
    let stores = |is_so: bool| if is_so { What::Store } else { What::Nothing };
    match instruction.opcode() {
        Some(Opcode::Store) => stores(may_be_shared(at(1))),
        Some(Opcode::AtomicRMW | Opcode::AtomicCmpXchg) => stores(may_be_shared(at(0))),
        Some(Opcode::Call) => {
            let Some(callee) = instruction.callee() else { return What::Unknown };
            let name = callee.name();
            let (is_operation, is_declared) =
                (callee.intrinsic_id() != 0, callee.num_blocks() == 0);
            // What is not known as a barrier only makes phases longer.
            if name == GROUP_BARRIER {
                What::Barrier
            } else if is_operation {
                // It stores only to what it is given the address of.
                stores(instruction.operands().any(may_be_shared))
            } else if is_declared && merge_panic_exits::words_of(&name).is_some() {
                What::Nothing
            } else {
                What::Unknown
            }
        }
        Some(Opcode::Invoke | Opcode::CallBr) => What::Unknown,
        _ => What::Nothing,
    }
}

/// Whether a value is an address that may be one in the group's memory.
fn may_be_shared(value: Value<'_>) -> bool {
    let mut at = value;
    loop {
        at = {
            match at.address_space() {
                Some(SHARED) => return true,
                Some(GENERIC) if at.is_function() => return false,
                Some(GENERIC) => {}
                _ => return false,
            }
            if !at.is_instruction() && !at.is_constant_expression() {
                return !at.is_a_constant();
            }
            let opcode = match !at.is_instruction() {
                true => Some(at.const_opcode()),
                false => at.opcode(),
            };
            match opcode {
                Some(Opcode::Alloca) => return false,
                Some(Opcode::GetElementPtr | Opcode::AddrSpaceCast) => at.operand(0),
                _ => return true,
            }
        };
    }
}

/// The barriers from which each block is reachable without another barrier on the path. The entry
/// counts as one: number 0.
struct Phases<'m> {
    begins: Vec<BTreeSet<usize>>,
    /// The numbers of the barriers.
    barriers: HashMap<Value<'m>, usize>,
}

impl<'m> Phases<'m> {
    /// Of a function all of whose barriers and stores are in sight; of others none.
    fn of(cfg: &Cfg<'m>) -> Option<Self> {
        let mut barriers = HashMap::new();
        for instruction in cfg.blocks.iter().flat_map(|&block| block.instructions()) {
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
            for instruction in cfg.blocks[block].instructions() {
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
    fn pass(&self, instruction: Value<'m>, phases: &mut BTreeSet<usize>) {
        if let Some(&barrier) = self.barriers.get(&instruction) {
            *phases = BTreeSet::from([barrier]);
        }
    }

    /// The phases of each instruction of a kind.
    fn of_each(
        &self,
        cfg: &Cfg<'m>,
        is_one: impl Fn(Value<'m>) -> bool,
    ) -> Vec<(Value<'m>, BTreeSet<usize>)> {
        let mut found = Vec::new();
        for (&block, begin) in cfg.blocks.iter().zip(&self.begins) {
            let mut phases = begin.clone();
            for instruction in block.instructions() {
                if is_one(instruction) {
                    found.push((instruction, phases.clone()));
                }
                self.pass(instruction, &mut phases);
            }
        }
        found
    }
}
