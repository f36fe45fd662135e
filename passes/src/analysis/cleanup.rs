//! What memory functions change while they unwind.
//!
//! A summary of each function: which of its parameters point to what its cleanup may change,
//! and whether it may change anything else. A local variable that a caller passes is the caller's own:
//! ```llvm
//! cleanup:
//!   %pad = landingpad { ptr, i32 } cleanup
//!   store i64 0, ptr %parameter                        ; whose memory that is, the caller knows
//!   store i64 0, ptr %local                            ; not read any more
//!   resume { ptr, i32 } %pad
//! ```

use std::collections::{BTreeSet, HashMap, HashSet};

use schism_llvm::{Block, Opcode, Value};

use crate::ir::address::roots;
use crate::ir::graph;
use crate::spec::builtins;

/// Memory as a function knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Place {
    /// What a parameter points to.
    Parameter(u32),
    /// Any other that is not a local variable.
    Elsewhere,
}

type Places = BTreeSet<Place>;

/// What functions may change.
#[derive(Default)]
pub(crate) struct Cleanup<'m> {
    /// In whatever they do.
    writes: HashMap<Value<'m>, Places>,
    /// In their cleanup, and in that of what they call.
    cleanup: HashMap<Value<'m>, Places>,
    /// The functions whose own cleanup changes something.
    changing: HashSet<Value<'m>>,
}

impl<'m> Cleanup<'m> {
    /// Looks at functions, among which are all that they call.
    pub(crate) fn of(functions: &[Value<'m>]) -> Self {
        let mut summaries = Self::default();
        let bodies: Vec<(Value<'m>, Vec<Value<'m>>, HashSet<Value<'m>>)> = functions
            .iter()
            .filter(|function| !function.is_declaration())
            .map(|&function| (function, function.instructions(), in_cleanup(function)))
            .collect();
        loop {
            let mut changed = false;
            for (function, instructions, in_cleanup) in &bodies {
                let (mut writes, mut cleanup) = (Places::new(), Places::new());
                for &instruction in instructions {
                    let written = summaries.written(instruction);
                    if in_cleanup.contains(&instruction) {
                        if !written.is_empty() {
                            summaries.changing.insert(*function);
                        }
                        cleanup.extend(&written);
                    }
                    writes.extend(written);
                    if let Some(called) = instruction.callee()
                        && let Some(of_callee) = summaries.cleanup.get(&called)
                    {
                        cleanup.extend(at_call(instruction, of_callee));
                    }
                }
                let (old_writes, old_cleanup) = (
                    summaries.writes.insert(*function, writes.clone()),
                    summaries.cleanup.insert(*function, cleanup.clone()),
                );
                changed |= old_writes != Some(writes) || old_cleanup != Some(cleanup);
            }
            if !changed {
                return summaries;
            }
        }
    }

    /// Whether a kernel's cleanup, or that of what it calls, changes what outlives its work-item.
    pub(crate) fn is_noticed(&self, kernel: Value<'m>) -> bool {
        self.cleanup.get(&kernel).is_some_and(|places| !places.is_empty())
    }

    /// Whether a function's own cleanup changes what is not a local variable of it.
    pub(crate) fn is_changing(&self, function: Value<'m>) -> bool {
        self.changing.contains(&function)
    }

    /// The memory that an instruction may change.
    fn written(&self, instruction: Value<'m>) -> Places {
        match instruction.opcode() {
            Some(Opcode::Store) => places(instruction.operand(1)),
            Some(Opcode::AtomicRMW | Opcode::AtomicCmpXchg) => places(instruction.operand(0)),
            Some(Opcode::Call | Opcode::Invoke | Opcode::CallBr) => {
                let Some(called) = instruction.callee() else {
                    return Places::from([Place::Elsewhere]);
                };
                if let Some(written) = self.writes.get(&called) {
                    return at_call(instruction, written);
                }
                if !called.is_declaration() {
                    // In the next round.
                    return Places::new();
                }
                let name = called.name();
                let copies = ["llvm.memcpy.", "llvm.memmove.", "llvm.memset."];
                if copies.iter().any(|prefix| name.starts_with(prefix)) {
                    return places(instruction.operand(0));
                }
                let is_known = name.starts_with("llvm.")
                    || (builtins::is_builtin(&name) && name != builtins::PRINT)
                    || called.has_function_attribute("noreturn");
                if is_known { Places::new() } else { Places::from([Place::Elsewhere]) }
            }
            _ => Places::new(),
        }
    }
}

/// What a call changes, by what the called function changes.
fn at_call(call: Value<'_>, of_callee: &Places) -> Places {
    let mut all = Places::new();
    for place in of_callee {
        match place {
            Place::Parameter(index) if *index < call.num_args() => {
                all.extend(places(call.operand(*index)));
            }
            _ => _ = all.insert(Place::Elsewhere),
        }
    }
    all
}

/// Where an address may point, besides local variables.
fn places(address: Value<'_>) -> Places {
    let roots = roots(address).into_iter().filter(|root| root.opcode() != Some(Opcode::Alloca));
    roots.map(|root| root.param_index().map_or(Place::Elsewhere, Place::Parameter)).collect()
}

/// The instructions of a function that are executed while it unwinds.
pub(crate) fn in_cleanup(function: Value<'_>) -> HashSet<Value<'_>> {
    let mut inside = HashSet::new();
    for block in reached(pads(function), false) {
        inside.extend(block.instructions());
    }
    inside
}

/// The instructions of a function that are executed while nothing unwinds, in their order.
pub(crate) fn outside_cleanup(function: Value<'_>) -> Vec<Value<'_>> {
    if function.is_declaration() || pads(function).is_empty() {
        return function.instructions();
    }
    let normal = reached(vec![function.entry()], true);
    let blocks = function.blocks().into_iter().filter(|block| normal.contains(block));
    blocks.flat_map(Block::instructions).collect()
}

/// Whether a function has landing pads.
pub(crate) fn has_pads(function: Value<'_>) -> bool {
    function.has_personality() && !pads(function).is_empty()
}

fn pads(function: Value<'_>) -> Vec<Block<'_>> {
    let begins = |block: &Block<'_>| block.first_non_phi().opcode() == Some(Opcode::LandingPad);
    function.blocks().into_iter().filter(begins).collect()
}

/// The blocks that control reaches from some, by all edges or by those on which nothing unwinds.
fn reached(from: Vec<Block<'_>>, only_normal: bool) -> HashSet<Block<'_>> {
    graph::reached(from, |block| match block.end() {
        end if only_normal && end.opcode() == Some(Opcode::Invoke) => vec![end.normal_dest()],
        _ => block.successors(),
    })
}
