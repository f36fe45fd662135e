//! Has the lanes of a group run one item of a pipeline together, such as a row of a matrix.
//!
//! A kernel of `schism-stdpar` for few items has a group for each. Which item a work-item runs is the
//! result of the builtin [`ROW`]:
//! ```llvm
//!   call void @barrier()
//!   %item = call i64 @__schism_row(i64 %group, i64 %lanes, i64 %lane)
//!   …                                              ; the item's row and its end
//! loop:
//!   %to = phi ptr [ %row, %before ], [ %to.next, %loop ]
//!   …
//!   store float %value, ptr %to
//!   %to.next = getelementptr i8, ptr %to, i64 4
//!   %is.last = icmp eq ptr %to.next, %row.end
//!   br i1 %is.last, label %after, label %loop
//! after:
//!   store i64 %length, ptr %lengths
//! ```
//! Where there are loops of independent iterations ([`independent`]), it is the group's number, so all
//! lanes do the same: they load the same and branch the same. Such a loop is shared out among them, with
//! a barrier before and after it ([`share_out`](mod@super::share_out)), and what it reduces, all lanes
//! have then. What else is stored, one lane stores:
//! ```llvm
//! after:
//!   call void @barrier()
//!   %is.first = icmp eq i64 %lane, 0
//!   br i1 %is.first, label %once, label %on
//! once:
//!   store i64 %length, ptr %lengths
//!   br label %on
//! on:
//!   call void @barrier()
//! ```
//! Otherwise the builtin stays, and each work-item runs an item, as without groups: `%group * %lanes + %lane`.
//!
//! **Why that is sound.** Between two barriers, either all lanes read and none writes but its own locals,
//! or each runs iterations that have nothing to do with those of others, or one lane stores. What lanes
//! reduce is joined in memory that no item uses. So all lanes
//! have the same values wherever they run the same, and meet at the same barriers: what could differ is
//! refused, which is the number of the lane, atomic accesses, calls that are not known, and addresses
//! of locals that are kept. A panic outside of these loops is one of all lanes, with one message.
//! Iterations that may panic are not shared out, since those behind the first one that does would have
//! stored.

use std::collections::HashSet;

use schism_llvm::{Block, Builder, ModuleRef, Opcode, Value};

use super::independent;
use super::intrinsics::{self, Form};
use super::share_out::share_out;
use super::team::Team;
use crate::analysis::effects::{is_barrier, touches_no_memory};
use crate::ir::cfg::Cfg;
use crate::llvm_passes;
use crate::spec::builtins::{PANIC_SHAPED, PANIC_SITE, ROW, is_panic};
use crate::spec::target::AddressSpaces;

/// What the names of NVIDIA's intrinsics begin with, and of those that read registers.
const NVVM: &str = "llvm.nvvm.";
const NVVM_REGISTERS: &str = "llvm.nvvm.read.";

/// The address space of locals, where a target has one.
const PRIVATE: u32 = 5;

/// Runs the pass over the module, and says what became of each kernel with such a group.
///
/// # Errors
/// LLVM's message, if its passes fail.
pub(super) fn run(module: ModuleRef<'_>, spaces: &AddressSpaces) -> Result<Vec<String>, String> {
    let Some(row) = module.function(ROW) else { return Ok(Vec::new()) };
    let mut functions = Vec::new();
    for call in row.users() {
        if !functions.contains(&call.parent_function()) {
            functions.push(call.parent_function());
        }
    }
    let mut remarks = Vec::new();
    for function in functions {
        let outcome = spread(function, row, spaces)?;
        let name = function.name();
        remarks.push(match outcome {
            Ok(loops) => format!("{name}: {loops} loops are shared out among the lanes of a group"),
            Err(why) => format!("{name}: not shared out among lanes: {why}"),
        });
    }
    Ok(remarks)
}

/// Shares the loops of a kernel out. Returns how many, or why there are none.
fn spread(
    function: Value<'_>,
    row: Value<'_>,
    spaces: &AddressSpaces,
) -> Result<Result<usize, &'static str>, String> {
    function.run_passes(llvm_passes::BEFORE_VECTORIZE)?;
    function.run_passes(llvm_passes::BEFORE_VECTORIZE_ITERATIONS)?;
    let instructions = function.instructions();
    let asks: Vec<_> = instructions.iter().copied().filter(|one| one.calls(row)).collect();
    let &[row] = &asks[..] else { return Ok(Err("not one place asks for the item")) };
    let Some(&barrier) = instructions.iter().find(|&&one| is_barrier(one)) else {
        return Ok(Err("there is no barrier to copy"));
    };
    let (lanes, lane) = (row.operand(1), row.operand(2));
    let team = Team { lane, lanes, barrier, local: spaces.local };
    let locals = match locals(function) {
        Ok(locals) => locals,
        Err(why) => return Ok(Err(why)),
    };
    let cfg = Cfg::of(function);
    let loops = independent::shareable(&cfg, &[0, spaces.global, spaces.constants]);
    if loops.is_empty() {
        return Ok(Err("no loop stores or reduces, and has independent iterations"));
    }
    let shared: HashSet<Block<'_>> = loops
        .iter()
        .flat_map(|found| found.of.blocks.iter().map(|&block| cfg.blocks[block]))
        .collect();
    let begin = cfg.block_of(row);
    let mut is_known = false;
    for &one in &instructions {
        is_known |= one == row;
        let block = cfg.block_of(one);
        let is_behind = if block == begin { is_known } else { cfg.dominates(begin, block) };
        let is_shared = shared.contains(&one.block());
        let refused = match once(one, &locals, team) {
            Ok(true) | Ok(false) if is_shared && !is_behind => Some("a loop comes before the item"),
            Ok(true) if is_shared => None,
            Ok(false) => refusal(one, (row, barrier), spaces),
            Ok(true) if is_behind => None,
            Ok(true) => Some("it stores before the item is known"),
            Err(why) => Some(why),
        };
        if let Some(why) = refused {
            return Ok(Err(why));
        }
    }
    for found in &loops {
        share_out(&cfg, found, team);
    }
    for block in function.blocks() {
        if !shared.contains(&block) {
            store_once(block, &locals, team);
        }
    }
    row.replace_with(row.operand(0));
    barrier.erase();
    Ok(Ok(loops.len()))
}

/// Why an item is left that uses memory of its group.
const OF_GROUP: &str = "it uses the memory of a group";

/// The addresses of locals, which nothing else keeps; or why that is not so.
fn locals(function: Value<'_>) -> Result<HashSet<Value<'_>>, &'static str> {
    const KEPT: Result<HashSet<Value<'_>>, &str> = Err("the address of a local is kept");
    let mut all: HashSet<Value<'_>> = function.allocas().into_iter().collect();
    let mut open: Vec<Value<'_>> = all.iter().copied().collect();
    while let Some(address) = open.pop() {
        for user in address.users() {
            match user.opcode() {
                Some(
                    Opcode::GetElementPtr
                    | Opcode::BitCast
                    | Opcode::AddrSpaceCast
                    | Opcode::Phi
                    | Opcode::Select,
                ) => {
                    if all.insert(user) {
                        open.push(user);
                    }
                }
                Some(Opcode::Load) => {}
                Some(Opcode::Store) if user.operand(0) != address => {}
                Some(Opcode::Call) if fills(user).is_some() => {}
                Some(Opcode::Call)
                    if user.callee().and_then(intrinsics::form) == Some(Form::Dropped) => {}
                _ => return KEPT,
            }
        }
    }
    // What may be the address of a local must be one.
    let is_local = |value: Value<'_>| all.contains(&value) || value.is_undef();
    let is_fine = |one: &Value<'_>| match one.opcode() {
        Some(Opcode::Phi) => one.operands().all(is_local),
        Some(Opcode::Select) => is_local(one.operand(1)) && is_local(one.operand(2)),
        _ => true,
    };
    if all.iter().all(is_fine) { Ok(all) } else { Err("an address may be that of a local") }
}

/// Where a call of LLVM's `memset`, `memcpy` or `memmove` writes.
fn fills(call: Value<'_>) -> Option<Value<'_>> {
    call.calls_intrinsic(&["memset.", "memcpy.", "memmove."]).then(|| call.operand(0))
}

/// Whether an instruction is for one lane: it stores in memory that all lanes have in common.
fn once<'m>(
    one: Value<'m>,
    locals: &HashSet<Value<'m>>,
    team: Team<'m>,
) -> Result<bool, &'static str> {
    let address = match one.opcode() {
        Some(Opcode::Store) if one.is_simple() => one.operand(1),
        Some(Opcode::Call) => match fills(one) {
            Some(to) if one.operand(one.num_args() - 1).is_zero() => to,
            Some(_) => return Err("it accesses volatile memory"),
            None => return Ok(false),
        },
        _ => return Ok(false),
    };
    if locals.contains(&address) {
        return Ok(false);
    }
    if address.ty().address_space() == team.local {
        return Err(OF_GROUP);
    }
    let mut base = address;
    while let Some(Opcode::GetElementPtr | Opcode::BitCast | Opcode::AddrSpaceCast) = base.opcode()
    {
        base = base.operand(0);
    }
    let is_copy = base.is_argument()
        && ["byval", "byref"].iter().any(|name| base.parameter_attribute(name).is_some());
    if is_copy || address.ty().address_space() == PRIVATE {
        return Err("it stores in a parameter");
    }
    Ok(true)
}

/// Why not all lanes may execute an instruction, with the same result.
fn refusal<'m>(
    one: Value<'m>,
    (row, barrier): (Value<'m>, Value<'m>),
    spaces: &AddressSpaces,
) -> Option<&'static str> {
    use Opcode::{
        AtomicCmpXchg, AtomicRMW, Call, CallBr, Fence, IndirectBr, Invoke, Load, Store, VAArg,
    };
    match one.opcode()? {
        Load | Store if !one.is_simple() => Some("it has atomic or volatile accesses"),
        Load if one.operand(0).ty().address_space() == spaces.local => Some(OF_GROUP),
        AtomicRMW | AtomicCmpXchg | Fence => Some("it has atomic accesses"),
        Invoke | CallBr | IndirectBr | VAArg => Some("it has control flow of another kind"),
        Call if one == row || one == barrier || fills(one).is_some() => None,
        Call => {
            let Some(callee) = one.callee() else { return Some("it calls through a pointer") };
            let name = callee.name();
            let is_end = is_panic(&name)
                || [PANIC_SHAPED, PANIC_SITE].iter().any(|site| name.starts_with(site));
            let same = intrinsics::is_plain(callee)
                || intrinsics::form(callee) == Some(Form::Dropped)
                || is_end
                || is_same_for_all(one, callee)
                // What tells lanes apart tells the item, and nothing else.
                || touches_no_memory(one, callee) && leads_to(one, row);
            (!same).then_some("it calls what may differ between lanes, or has effects")
        }
        _ => None,
    }
}

/// Whether a function gives the same to all lanes that call it with the same, and does nothing else.
fn is_same_for_all(call: Value<'_>, callee: Value<'_>) -> bool {
    let (mut seen, mut open) = (HashSet::from([callee]), vec![callee]);
    while let Some(function) = open.pop() {
        if function.is_declaration() {
            // Mathematics that the target has; its registers are read without arguments.
            let name = function.name();
            let computes = !function.is_intrinsic()
                || name.starts_with(NVVM) && !name.starts_with(NVVM_REGISTERS);
            if !computes || function.num_params() == 0 {
                return false;
            }
        }
        for call in function.instructions().into_iter().filter(|one| one.is_call()) {
            let Some(callee) = call.callee() else { return false };
            let is_plain =
                intrinsics::is_plain(callee) || intrinsics::form(callee) == Some(Form::Dropped);
            if !is_plain && seen.insert(callee) {
                open.push(callee);
            }
        }
    }
    intrinsics::is_pure(call, callee)
}

/// Whether all that is made of a value is for one instruction, or for nothing.
fn leads_to<'m>(value: Value<'m>, end: Value<'m>) -> bool {
    let (mut seen, mut open) = (HashSet::from([value]), vec![value]);
    while let Some(value) = open.pop() {
        for user in value.users().into_iter().filter(|user| *user != end) {
            let computes = matches!(
                user.opcode(),
                Some(
                    Opcode::ZExt
                        | Opcode::SExt
                        | Opcode::Trunc
                        | Opcode::Add
                        | Opcode::Mul
                        | Opcode::Sub
                        | Opcode::Or
                )
            );
            if !computes {
                return false;
            }
            if seen.insert(user) {
                open.push(user);
            }
        }
    }
    true
}

/// Has the first lane alone store what a block stores in memory that all lanes have in common, each time
/// between two barriers. Stores with nothing between them but arithmetic are one.
fn store_once<'m>(block: Block<'m>, locals: &HashSet<Value<'m>>, team: Team<'m>) {
    let mut runs: Vec<Vec<Value<'m>>> = Vec::new();
    let mut is_open = false;
    for one in block.instructions() {
        if once(one, locals, team) == Ok(true) {
            let joins = is_open && one.opcode() == Some(Opcode::Store);
            match runs.last_mut().filter(|_| joins) {
                Some(run) => run.push(one),
                None => runs.push(vec![one]),
            }
            is_open = one.opcode() == Some(Opcode::Store);
        } else if matches!(one.opcode(), Some(Opcode::Load | Opcode::Store | Opcode::Call)) {
            is_open = false;
        }
    }
    for run in runs {
        let (&last, earlier) = run.split_last().expect("a run has a store");
        let builder = Builder::before(last);
        for store in earlier {
            store.remove_from_block();
            builder.insert(*store);
        }
        let first = earlier.first().copied().unwrap_or(last);
        let before = first.split_before();
        let behind = last.next().expect("a block has an end");
        let inside = behind.split_before();
        let end = before.end();
        let builder = Builder::before(end);
        team.meet(&builder);
        let is_first = team.is_first(&builder);
        builder.cond_br(is_first, inside, behind.block());
        end.erase();
        team.meet(&Builder::before(behind));
    }
}
