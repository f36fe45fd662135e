//! Cuts kernels at barriers, so that a group's work-items need no stacks to wait on.
//!
//! The loop function runs the work-items of a box one after the other, and a barrier is a call at
//! which each of them waits for the others:
//! ```llvm
//! define i32 @schism.loop(ptr %p, i64 %x.begin, i64 %x.end, i64 %x.range, ptr %group, ptr %panic, ptr %context) {
//! start:
//!   %memory = …                                   ; the group's local memory
//!   br label %x.head
//! x.head:
//!   %x = phi i64 [ %x.begin, %start ], [ %x.after, %x.next ]
//!   %more = icmp ult i64 %x, %x.end
//!   br i1 %more, label %item, label %done
//! item:
//!   %from = getelementptr i32, ptr %p, i64 %x
//!   %value = load i32, ptr %from
//!   %local = sub nuw nsw i64 %x, %x.first
//!   %to = getelementptr i32, ptr %memory, i64 %local
//!   store i32 %value, ptr %to
//!   call void @schism.meet.__schism_barrier(ptr %group)
//!   %other = xor i64 %local, 1
//!   %at = getelementptr i32, ptr %memory, i64 %other
//!   %others = load i32, ptr %at
//!   %sum = add i32 %value, %others
//!   store i32 %sum, ptr %from
//!   br label %x.next
//! x.next: …
//! ```
//! Afterwards the box is a whole group, and each part of the body between barriers, a region, is a
//! loop over its work-items. `%value` lives across the barrier, so it is in an array; `%from`,
//! `%local` and `%to` are computed again:
//! ```llvm
//! start:
//!   …
//!   %items = sub i64 %x.end, %x.begin
//!   %memory.size = mul i64 %items.rounded, 4
//!   %memory = call ptr @__schism_cpu_group_memory(ptr %group, i64 %memory.size)
//!   br label %region.0.x.head
//! region.0.x.head:
//!   %x.local = phi i64 [ 0, %start ], [ %after, %region.0.x.next ]
//!   %more = icmp ult i64 %x.local, %items         ; or the size of groups, if it is known
//!   br i1 %more, label %region.0.item, label %region.1.x.head
//! region.0.item:
//!   %x = add nuw nsw i64 %x.begin, %x.local
//!   …
//!   %kept.at = getelementptr inbounds i32, ptr %memory, i64 %x.local
//!   store i32 %value, ptr %kept.at
//!   br label %region.0.x.next
//! region.0.x.next:
//!   %after = add nuw nsw i64 %x.local, 1
//!   br label %region.0.x.head, !llvm.loop !0
//! region.1.x.head:
//!   …                                             ; the rest, with a load of %value
//! ```
//! This is continuation-based synchronisation (Karrenberg and Hack 2012, as in hipSYCL and pocl).
//!
//! **Order.** Work-items run a region one after the other, in the order of their ids, as they do on
//! stacks: the same one panics first, and the same stores precede that.
//!
//! **Loops over a grid's strides** are cut after each step, as at a barrier (`strides`).
//!
//! **What all share.** Blocks in which all work-items do the same, such as the head of a
//! loop around barriers, run once for the group, and so do values that are the same for all
//! (`uniformity`). Which block follows a region is then known to be the same for all.
//!
//! **Where they do not agree.** If it is not known, each work-item notes the barrier at which it
//! waits, or its end. The function `__schism_cpu_agree` of the process that loads the code compares
//! the notes after the region. If they differ it records that, and the loop function returns a
//! status for it.
//!
//! **Private memory** whose contents live across a barrier becomes an array with an element for each
//! work-item (`private`).
//!
//! **Local memory** belongs to the group, which runs on one thread. So relaxed atomic loads and
//! stores there become plain ones (`local_memory`).
//!
//! **Loops.** The innermost loop of each nest has the property `schism.work_item_loop`, beside those
//! of the loop that was there.
//!
//! **Sub-groups.** An operation of a sub-group is cut at like a barrier, by all work-items of the
//! group: each leaves its operands in arrays, and loops behind the region compute what the lanes
//! receive (`exchange`).
//!
//! **Refused** are kernels in which it would be seen that sub-groups wait for each other
//! (`sub_groups`). Refused are also kernels that unwind, those with barriers outside of the loop function (recursive
//! functions, calls through pointers), with work-items that never end, with more than 64 KiB of
//! memory for each work-item, and very large ones. They stay as they are, and the attribute
//! `schism-uncut` of the loop function says why.

mod body;
mod emit;
mod exchange;
mod group;
mod interface;
mod liveness;
mod local_memory;
mod memory;
mod nest;
mod private;
mod refusal;
mod region;
mod rows;
mod strides;
mod sub_groups;
mod tails;
mod uniformity;
mod unroll;
mod waits;

use std::collections::HashSet;

use inkwell::module::Module;
use schism_llvm::{AsModule, ModuleRef, Value};

use crate::ir::graph::reverse_post_order;
use crate::llvm_passes;
use crate::pass::Failure;
use crate::spec::builtins;
use body::Body;
use emit::{Analyses, Emitter, shared_blocks};
use liveness::Kept;
use memory::Memory;
use refusal::Refusal;
use uniformity::Varying;
use waits::{MEET, waits};

pub(crate) use strides::INTERCHANGED;

pub use interface::{
    AGREE, GROUP_FIRST, GROUP_LOCAL_MEMORY, GROUP_MEMORY, GROUP_SIZE, LOCAL_MEMORY, RUN_DIVERGED,
    RUN_NO_MEMORY,
};

/// The loop function.
const LOOP: &str = "schism.loop";

/// The functions of the process at which work-items wait on stacks of their own.
const WAITS: [&str; 2] = ["__schism_cpu_barrier", "__schism_cpu_sub_group"];

/// Called once for each work-item, where functions outside of the loop function need to know it.
const ITEM: &str = "schism.item";

/// The attribute of a loop function that was cut: its box is a whole group.
pub const CUT: &str = "schism-cut";

/// The attribute of a loop function that was not cut, with the reason.
pub const UNCUT: &str = "schism-uncut";

/// Begins a scope of the metadata `alias.scope` and `noalias`.
const SCOPE: &str = "llvm.experimental.noalias.scope.decl";

/// The most instructions of all regions together.
const SIZE: usize = 60_000;

/// Runs the pass over a module.
///
/// # Errors
/// LLVM's.
pub fn run(module: &Module<'_>) -> Result<(), Failure> {
    let handle = module.handle();
    let Some(function) = handle.function(LOOP).filter(|function| !function.is_declaration()) else {
        return Ok(());
    };
    let waits = |name: &str| handle.function(name).is_some_and(|function| function.is_used());
    if !WAITS.into_iter().any(waits) {
        return Ok(());
    }
    handle.run_passes(llvm_passes::BEFORE_SPLIT_AT_BARRIERS)?;
    if group::size_of(function).is_some() {
        unroll::run(function)?;
    }
    let branches = strides::run(function);
    match cut(handle, function) {
        Ok(true) => {
            function.add_string_attribute(CUT, "");
            handle.run_passes(llvm_passes::AFTER_SPLIT_AT_BARRIERS)?;
            for name in builtins::convergent().map(|builtin| format!("{MEET}{builtin}")) {
                if let Some(meet) = handle.function(&name).filter(|meet| !meet.is_used()) {
                    meet.delete_function();
                }
            }
        }
        Ok(false) => {}
        Err(refusal) => {
            strides::undo(function, &branches)?;
            function.add_string_attribute(UNCUT, &refusal.to_string());
        }
    }
    Ok(())
}

/// Cuts the loop function, if it has barriers.
fn cut(module: ModuleRef<'_>, function: Value<'_>) -> Result<bool, Refusal> {
    check_callers(module, function)?;
    let call = function.instructions().into_iter().find(|&call| waits(call));
    let Some(call) = call else { return Ok(false) };
    let group = call.operand(0);
    if !group.is_argument() {
        return Err(Refusal::Nest);
    }
    let find = || -> Result<_, Refusal> {
        let body = Body::find(function)?;
        let varying = Varying::of(&body);
        let kept = Kept::of(&body, &varying);
        let shared = shared_blocks(&body, &varying, &kept);
        Ok((body, varying, kept, shared))
    };
    let (mut body, mut varying, mut kept, mut shared) = find()?;
    if tails::cut(&body, &varying, &shared, call) {
        (body, varying, kept, shared) = find()?;
    }
    let locals = private::kept_across_barriers(&body);
    let layout = module.data_layout();
    sub_groups::check(&body, &varying, &shared)?;
    let size = size_of_regions(&body, &shared);
    if size > SIZE {
        return Err(Refusal::Size(size));
    }
    memory::check(&layout, &locals, kept.all_across(&body).filter(|&it| varying.has(it)))?;
    // From here on the function changes.
    let locals: HashSet<Value<'_>> = locals.into_iter().collect();
    local_memory::make_plain(&body, group);
    // Before anything of the body is erased: a new instruction may lie where an erased one lay, and
    // what the body uses must not be taken for that.
    group::own_local_memory(&body, group);
    group::begin_at_first(&body, group);
    private::forget_lifetimes(function);
    forget_scopes(function);
    let memory = Memory::take(&body, group, kept.in_place_of_phis(&body, &varying));
    let analyses = Analyses {
        body: &body,
        varying: &varying,
        kept: &kept,
        locals: &locals,
        shared: &shared,
        group,
    };
    Emitter::new(analyses, memory).run();
    Ok(true)
}

/// Refuses modules in which functions other than the loop function wait, or need the work-item.
fn check_callers(module: ModuleRef<'_>, function: Value<'_>) -> Result<(), Refusal> {
    for name in WAITS {
        let Some(waits) = module.function(name) else { continue };
        let callers = waits.users();
        if callers
            .iter()
            .any(|user| !user.is_call() || !user.parent_function().name().starts_with(MEET))
        {
            return Err(Refusal::OutOfLine);
        }
    }
    let calls: Vec<Value<'_>> = function.instructions();
    let called = calls.iter().filter_map(|call| call.direct_callee());
    for callee in called {
        if callee.name() == ITEM {
            return Err(Refusal::OutOfLine);
        }
    }
    Ok(())
}

/// Removes what inlined functions promised of their parameters: that two accesses of one work-item
/// do not alias says nothing of two work-items, one of which has come to a barrier meanwhile.
fn forget_scopes(function: Value<'_>) {
    let context = function.module().context();
    let kinds = ["alias.scope", "noalias"].map(|name| context.metadata_kind(name));
    for instruction in function.instructions() {
        let callee = instruction.direct_callee();
        if callee.is_some_and(|callee| callee.name() == SCOPE) {
            instruction.erase();
            continue;
        }
        for kind in kinds {
            if instruction.metadata(kind).is_some() {
                instruction.remove_metadata(kind);
            }
        }
    }
}

/// The instructions of all regions, with copies.
fn size_of_regions(body: &Body<'_>, shared: &[bool]) -> usize {
    let sizes: Vec<usize> = body.blocks.iter().map(|block| block.instructions().len()).collect();
    let successors: Vec<Vec<usize>> =
        (0..body.blocks.len()).map(|block| body.inner_successors(block).to_vec()).collect();
    let (mut seen, mut open, mut total) = (HashSet::from([0]), vec![0], 0_usize);
    while let Some(block) = open.pop() {
        let mut next = Vec::new();
        if shared[block] {
            total += sizes[block];
            next.extend(&body.successors[block]);
        } else {
            for inside in reverse_post_order(block, &successors) {
                total += sizes[inside];
                if body.barrier[inside].is_some() {
                    next.extend(&body.successors[inside]);
                }
            }
        }
        if total > SIZE {
            break;
        }
        open.extend(next.into_iter().filter(|&next| seen.insert(next)));
    }
    total
}
