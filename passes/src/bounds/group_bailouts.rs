//! Notes failed checks until the next barrier, and lets the whole group run the checked copy of the
//! kernel then (OpenCL).
//!
//! Before, in the copy of a kernel whose checks [`group_versioning`](super::group_versioning) has
//! decided, or in a kernel that is cloned now:
//! ```llvm
//!   %index = load i32, ptr addrspace(1) %indices.at
//!   %is.inside = icmp ult i32 %index, %len
//!   br i1 %is.inside, label %inside, label %panic
//! inside:
//!   ...                                          ; loads and computes
//!   store float %sum, ptr addrspace(3) %sum.at
//!   call void @barrier()
//!   ...
//! ```
//! After:
//! ```llvm
//! @__schism_bailout.0 = external addrspace(3) global i32
//!   store atomic i32 0, ptr addrspace(3) @__schism_bailout.0 syncscope("block") monotonic
//!   call void @barrier()
//!   ...
//!   br i1 %is.inside, label %inside, label %failed
//! inside:
//!   ...
//!   store float %sum, ptr addrspace(3) %sum.at
//!   br label %meet
//! failed:
//!   store atomic i32 1, ptr addrspace(3) @__schism_bailout.0 syncscope("block") monotonic
//!   br label %meet
//! meet:
//!   call void @barrier()
//!   %failed.one = load atomic i32, ptr addrspace(3) @__schism_bailout.0 syncscope("block") monotonic
//!   %bails.out = icmp ne i32 %failed.one, 0
//!   br i1 %bails.out, label %checked, label %rest
//! rest:
//!   ...
//! checked:                                       ; the kernel with all checks, from its begin
//!   ...
//! ```
//!
//! A work-item that panics leaves the kernel, and its neighbours in the lanes of a vector go on: all
//! that follows is computed under a mask, which a driver keeps in memory at each barrier, for each
//! work-item. Here no lane leaves in front of a barrier, and what comes behind it is decided for all of them.
//!
//! **Nothing else changes.** From the kernel's begin to the barrier the work-items only load, compute,
//! and store to memory of their own or of their group. The checked copy does that again, and panics
//! where the original does: all work-items of the group run it, from its begin.
//!
//! **The note** is 0 at the kernel's begin, where all work-items write that and meet: a driver may take
//! memory that nobody has written for any number. Each barrier has a note of its own, as a work-item
//! may write the next one while another has not read the last one.
//!
//! **What is left alone.** Barriers in loops; kernels some of whose work-items end in front of the
//! barrier; checks behind something that other groups see.

use std::collections::{BTreeSet, HashMap, HashSet};

use inkwell::module::Module;
use schism_llvm::{AsModule, AtomicOrdering, Block, Builder, IntPredicate, Opcode, Value};

use crate::analysis::cold_paths::{has_panics, panics_anyway};
use crate::analysis::effects::{is_barrier, is_computed, touches_no_memory};
use crate::bounds::versions::{Versions, can_clone, clone_kernel};
use crate::ir::cfg::Cfg;
use crate::spec::target::SPIRV;

/// What the names of notes begin with.
const NOTE: &str = "__schism_bailout.";

/// Whether failed checks are noted in the function's module.
pub(crate) fn has_notes(function: Value<'_>) -> bool {
    let globals = function.module().globals();
    globals.iter().any(|global| global.is_used() && global.name().starts_with(NOTE))
}

/// The address space of a group's memory, and that of a work-item.
const GROUP_SPACE: u32 = SPIRV.local;
const PRIVATE_SPACE: u32 = 5;

/// How many barriers of a kernel may have a note. All notes take less than what is left of a device's
/// local memory when its size is rounded for launches.
const BARRIERS: usize = 4;

/// How many instructions may be computed again behind a barrier.
const AGAIN: usize = 64;

/// Runs the pass over the kernels of a module.
///
/// # Errors
/// LLVM's message, if its passes fail.
pub fn run(module: &Module<'_>, kernels: &HashSet<&str>) -> Result<(), String> {
    for function in module.handle().functions() {
        if kernels.contains(&*function.name()) && !function.is_declaration() {
            run_on(function)?;
        }
    }
    Ok(())
}

/// Where a failed check is noted, if that is all that is done from a block on: there, or behind the
/// exit that a loop has for itself.
pub(crate) fn bailout<'m>(cfg: &Cfg<'m>, block: usize) -> Option<Block<'m>> {
    let notes = |block: Block<'m>| {
        let [store, _] = block.instructions()[..] else { return false };
        store.opcode() == Some(Opcode::Store) && store.operand(1).name().starts_with(NOTE)
    };
    let behind = match cfg.successors[block][..] {
        [behind] => behind,
        _ => block,
    };
    [block, behind].map(|block| cfg.blocks[block]).into_iter().find(|block| notes(*block))
}

/// Runs the pass over one kernel.
fn run_on(kernel: Value<'_>) -> Result<(), String> {
    if !has_panics(kernel) {
        return Ok(());
    }
    let versions = Versions::of(kernel);
    if versions.is_none() && !can_clone(kernel) {
        return Ok(());
    }
    let cfg = Cfg::of(kernel);
    let begin = versions.map_or(0, |versions| cfg.index[&versions.unchecked]);
    let segments = segments(&cfg, begin);
    if segments.is_empty() {
        return Ok(());
    }
    let versions = versions.unwrap_or_else(|| {
        let entry = kernel.entry();
        let front = Builder::at_end(entry.insert_before("")).br(entry);
        clone_kernel(front, kernel.context().int_type(1).const_int(1, false))
    });
    let (module, number) = (kernel.module(), kernel.context().int_type(32));
    // All work-items note that nothing has failed, before any of them notes more.
    let front = versions.front.block().instructions();
    let first = front.into_iter().find(|one| one.opcode() != Some(Opcode::Alloca));
    let before = Builder::before(first.unwrap_or(versions.front));
    let notes: Vec<Value<'_>> = (0..segments.len())
        .map(|index| {
            let note = module.add_global_in(number, &format!("{NOTE}{index}"), GROUP_SPACE);
            note.set_alignment(4);
            relaxed(before.store(number.const_int(0, false), note));
            note
        })
        .collect();
    if let Some(barrier) = segments[0].barrier.direct_callee() {
        before.call_function(barrier, &[number.const_int(0, false)]);
    }
    // From the last one on: what an earlier one finds behind its barrier is done with.
    for (segment, note) in segments.into_iter().zip(notes).rev() {
        segment.bail_out(&cfg, note, versions.checked);
    }
    Ok(())
}

/// Makes an access of a note one that others may make as well.
fn relaxed(access: Value<'_>) -> Value<'_> {
    access.set_ordering(AtomicOrdering::Monotonic);
    access.set_sync_scope(access.context().sync_scope("block"));
    access.set_alignment(4);
    access
}

/// What work-items do between two barriers, or before the first one.
struct Segment<'m> {
    /// The blocks, in the order of the function; the first part of the barrier's is the last of them.
    blocks: BTreeSet<usize>,
    /// The barrier at its end.
    barrier: Value<'m>,
    /// Where it goes on to a panic: from a block to a block.
    exits: Vec<(usize, usize)>,
}

/// The segments of a kernel that have checks and can be repeated, from a block on.
fn segments<'m>(cfg: &Cfg<'m>, begin: usize) -> Vec<Segment<'m>> {
    let mut found = Vec::new();
    // Where the next one begins: a block, and the barrier in it.
    let mut from: (usize, Option<Value<'m>>) = (begin, None);
    while let Some(segment) = Segment::of(cfg, from) {
        from = (cfg.block_of(segment.barrier), Some(segment.barrier));
        if !segment.exits.is_empty() {
            found.push(segment);
        }
        if found.len() == BARRIERS {
            break;
        }
    }
    found
}

impl<'m> Segment<'m> {
    fn of(cfg: &Cfg<'m>, (begin, after): (usize, Option<Value<'m>>)) -> Option<Self> {
        let (mut blocks, mut open) = (BTreeSet::new(), vec![begin]);
        let (mut exits, mut barrier) = (Vec::new(), None);
        while let Some(block) = open.pop() {
            if !blocks.insert(block) {
                continue;
            }
            let mut instructions = cfg.blocks[block].instructions();
            if let Some(after) = after.filter(|_| block == begin) {
                let place = instructions.iter().position(|&it| it == after)?;
                instructions.drain(..=place);
            }
            if let Some(end) = instructions.iter().position(|&it| is_barrier(it)) {
                if barrier.is_some_and(|known| known != instructions[end]) {
                    return None;
                }
                barrier = Some(instructions[end]);
                if !instructions[..end].iter().all(|&it| is_repeatable(it)) {
                    return None;
                }
                continue;
            }
            let next = &cfg.successors[block];
            if next.is_empty() || !instructions.iter().all(|&it| is_repeatable(it)) {
                return None;
            }
            for &next in next {
                if panics_anyway(cfg, next) {
                    exits.push((block, next));
                } else {
                    open.push(next);
                }
            }
        }
        let barrier = barrier?;
        let end = cfg.block_of(barrier);
        // No loop leads from behind a barrier to its front.
        let from = |block: usize| cfg.predecessors[block].iter();
        let is_entered =
            |&block: &usize| block != begin && from(block).any(|from| !blocks.contains(from));
        let loops = from(begin).any(|from| blocks.contains(from))
            || cfg.successors[end].iter().any(|next| blocks.contains(next))
            || blocks.iter().any(is_entered);
        if loops {
            return None;
        }
        Some(Segment { blocks, barrier, exits })
    }

    /// Lets checks that fail go on at the barrier, and the group at the checked copy behind it.
    fn bail_out(self, cfg: &Cfg<'m>, note: Value<'m>, checked: Block<'m>) {
        let kernel = checked.function();
        let number = kernel.context().int_type(32);
        let old = self.barrier.block();
        let head = self.barrier.split_before();
        let behind = old.instructions()[1];
        let meet = behind.split_before();

        let failed = kernel.append_block("");
        failed.move_after(head);
        let builder = Builder::at_end(failed);
        relaxed(builder.store(number.const_int(1, false), note));
        builder.br(meet);
        for &(from, to) in &self.exits {
            let (from, to) = (cfg.blocks[from], cfg.blocks[to]);
            let end = from.end();
            for index in (0..end.num_successors()).filter(|&index| end.successor(index) == to) {
                end.set_successor(index, failed);
            }
            to.forget_edge(from);
        }

        let end = meet.end();
        let builder = Builder::before(end);
        let failed_one = relaxed(builder.load(number, note));
        let bails_out = builder.icmp(IntPredicate::NE, failed_one, number.const_int(0, false));
        builder.cond_br(bails_out, checked, old);
        end.erase();

        let mut inside: HashSet<Block<'m>> =
            self.blocks.iter().map(|&block| cfg.blocks[block]).filter(|&it| it != old).collect();
        inside.insert(head);
        let mut values = Values {
            cfg,
            sources: self.exits.iter().map(|(from, _)| cfg.blocks[*from]).collect(),
            ends: [head, failed],
            meet,
            behind,
            inside: &inside,
            known: HashMap::new(),
            again: 0,
        };
        let mut all: Vec<Block<'m>> = inside.iter().copied().collect();
        all.sort_by_key(|block| cfg.index.get(block).copied().unwrap_or(usize::MAX));
        for instruction in all.iter().flat_map(|block| block.instructions()) {
            values.hand_on(instruction);
        }
    }
}

/// Whether an instruction may run again from the kernel's begin: nobody but the group sees what it
/// does, and it waits for nobody.
fn is_repeatable(instruction: Value<'_>) -> bool {
    let is_own = |address: Value<'_>| {
        address.address_space().is_some_and(|space| [GROUP_SPACE, PRIVATE_SPACE].contains(&space))
    };
    let is_relaxed = |address: Value<'_>| {
        let relaxed = [AtomicOrdering::Monotonic, AtomicOrdering::Unordered];
        let order = instruction.ordering();
        !instruction.is_volatile()
            && (order == AtomicOrdering::NotAtomic || is_own(address) && relaxed.contains(&order))
    };
    match instruction.opcode() {
        Some(Opcode::Load) => is_relaxed(instruction.operand(0)),
        Some(Opcode::Store) => {
            let address = instruction.operand(1);
            is_own(address) && is_relaxed(address)
        }
        Some(Opcode::Br | Opcode::Switch | Opcode::Phi | Opcode::Select | Opcode::ICmp) => true,
        Some(Opcode::Call) => instruction.callee().is_some_and(|callee| {
            let name = callee.name();
            let tells = ["llvm.assume", "llvm.experimental.noalias.scope.decl"];
            tells.contains(&&*name)
                || name.starts_with("llvm.lifetime.")
                || callee.is_intrinsic() && touches_no_memory(instruction, callee)
                || is_computed(instruction)
        }),
        _ => is_computed(instruction) || is_conversion(instruction),
    }
}

/// Whether an instruction makes a value of another type of its operand.
fn is_conversion(instruction: Value<'_>) -> bool {
    matches!(
        instruction.opcode(),
        Some(
            Opcode::BitCast
                | Opcode::PtrToInt
                | Opcode::Alloca
                | Opcode::InsertElement
                | Opcode::ExtractElement
                | Opcode::ShuffleVector
        )
    )
}

/// What a segment's values become behind its barrier, which they no longer dominate.
struct Values<'a, 'm> {
    cfg: &'a Cfg<'m>,
    /// Where checks fail.
    sources: Vec<Block<'m>>,
    /// What comes in front of the barrier: where all was well, and where not.
    ends: [Block<'m>; 2],
    meet: Block<'m>,
    /// What came first behind it.
    behind: Value<'m>,
    inside: &'a HashSet<Block<'m>>,
    known: HashMap<Value<'m>, Value<'m>>,
    /// How many instructions have been computed again.
    again: usize,
}

impl<'m> Values<'_, 'm> {
    /// Gives users behind the barrier another value for one that is computed in front of it.
    fn hand_on(&mut self, value: Value<'m>) {
        if self.dominates(value) {
            return;
        }
        for user in value.users() {
            for index in 0..user.num_operands() {
                if user.operand(index) == value && !self.inside.contains(&user.used_at(index)) {
                    let new = self.behind(value);
                    user.set_operand(index, new);
                }
            }
        }
    }

    /// Whether a value is there on each way to the barrier.
    fn dominates(&self, value: Value<'m>) -> bool {
        let block = value.block();
        let number = |block: Block<'m>| self.cfg.index.get(&block).copied();
        let Some(block) = number(block) else { return false };
        let mut below = self.sources.iter().map(|&block| number(block));
        below.all(|below| below.is_some_and(|below| self.cfg.dominates(block, below)))
    }

    /// Whether a value is there at the barrier unless a check has failed.
    fn is_at_barrier(&self, value: Value<'m>) -> bool {
        let [head, _] = self.ends;
        let block = value.block();
        let end = self.cfg.index[&self.behind.block()];
        block == head
            || self.cfg.index.get(&block).is_some_and(|&block| self.cfg.dominates(block, end))
    }

    /// What a value of the segment is behind the barrier: computed again if that needs nothing that
    /// only the segment has, as a driver knows what it is then.
    fn behind(&mut self, value: Value<'m>) -> Value<'m> {
        if let Some(&known) = self.known.get(&value) {
            return known;
        }
        if !self.is_at_barrier(value) {
            // Only panics that are no longer come to use it.
            return value.ty().poison();
        }
        let new = self.compute_again(value).unwrap_or_else(|| {
            let phi = Builder::before(self.meet.begin()).phi(value.ty());
            let [well, failed] = self.ends;
            phi.add_incoming(value, well);
            phi.add_incoming(value.ty().poison(), failed);
            phi
        });
        self.known.insert(value, new);
        new
    }

    fn compute_again(&mut self, value: Value<'m>) -> Option<Value<'m>> {
        if !value.is_instruction() || !self.inside.contains(&value.block()) || self.dominates(value)
        {
            return Some(value);
        }
        if let Some(&known) = self.known.get(&value) {
            return (known.opcode() != Some(Opcode::Phi)).then_some(known);
        }
        let is_number = value
            .callee()
            .is_some_and(|callee| callee.is_intrinsic() && touches_no_memory(value, callee));
        let is_pure = is_computed(value) || value.opcode() == Some(Opcode::ICmp) || is_number;
        if !is_pure || self.again == AGAIN {
            return None;
        }
        self.again += 1;
        let operands: Option<Vec<Value<'m>>> =
            value.operands().map(|it| self.compute_again(it)).collect();
        let operands = operands?;
        let new = value.duplicate();
        Builder::before(self.behind).insert(new);
        for (operand, index) in operands.into_iter().zip(0..) {
            new.set_operand(index, operand);
        }
        self.known.insert(value, new);
        Some(new)
    }
}
